/* SPDX-License-Identifier: Apache-2.0
 *
 * The look at a program that is about to be started. It opens files, so that a thread of its own looks
 * (preload_apart.h), which the caller waits for.
 *
 *   fork() or vfork() child, one thread, no record locks of its own    looks itself
 *   anybody else                                                       a thread looks
 *   system calls are barred, or no thread is to be had                 looks itself
 *
 * The first is what shells do; a program that is started in another's place keeps that one's locks,
 * which nobody can ask for.
 */
#include "preload_look.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attach_client.h"
#include "placement.h"
#include "preload_apart.h"
#include "preload_real.h"
#include "sys_raw.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#define PATH_ELSE  "/bin:/usr/bin" /* where there is no PATH, as the C library has it */
#define PAGE       4096            /* or a part of one */
#define LINE_BYTES 32              /* of a variable that is of no interest: its name */
#define HANDED_ON  8               /* arguments that may name a program */

static bool is_forked BESIDE_DATA, has_locks BESIDE_DATA; /* relaxed */

/* ---- what can be read ---- */

struct probe {
    uintptr_t page; /* that is known to be there */
};
#define PROBE_NONE                                                                                 \
    {                                                                                              \
        1                                                                                          \
    } /* where no page begins */

static bool page_is_here(struct probe *probe, const void *at)
{
    uintptr_t page = (uintptr_t)at / PAGE * PAGE;
    if (page == probe->page)
        return true;
    /* Not by a call that takes what lies there: a checker of memory tells of what nobody has written. */
    long read = RAW3(SYS_madvise, page, PAGE, MADV_POPULATE_READ);
    if (read == -EINVAL) /* before Linux 5.14 */
        read = raw_futex_wait((const uint32_t *)page, UINT32_C(0x5ca1ab1e), 0, 0);
    if (read == -EFAULT || read == -ENOMEM)
        return false;
    probe->page = page;
    return true;
}

/* Up to its end, or `most` bytes of it. */
static bool text_is_here(struct probe *probe, const char *text, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        if ((i == 0 || (uintptr_t)(text + i) % PAGE == 0) && !page_is_here(probe, text + i))
            return false;
        if (text[i] == '\0')
            break;
    }
    return true;
}

static bool line_is_here(struct probe *probe, const char *line)
{
    return text_is_here(probe, line, LINE_BYTES) && ((line_value(line, "LD_PRELOAD=") == NULL &&
                                                      line_value(line, "ASAN_OPTIONS=") == NULL) ||
                                                     text_is_here(probe, line, SIZE_MAX));
}

static bool lines_are_here(char *const *lines)
{
    struct probe of_lines = PROBE_NONE, of_texts = PROBE_NONE;
    for (;; lines++) {
        if (!page_is_here(&of_lines, lines))
            return false;
        if (*lines == NULL)
            return true;
        if (!line_is_here(&of_texts, *lines))
            return false;
    }
}

bool start_is_readable(const struct start *start, char *const *lines)
{
    struct probe probe = PROBE_NONE;
    return attach_client_is_barred() ||
           ((uintptr_t)lines % sizeof *lines == 0 &&
            text_is_here(&probe, start->call.path, PATH_MAX) &&
            (start->call.arguments == NULL || page_is_here(&probe, start->call.arguments)) &&
            lines_are_here(lines));
}

/* ---- where it is ---- */

/* What a child of posix_spawn() does before it begins the program, as glibc keeps it since 2.29. Of a
 * form that is another, a folder is read that is not there, and the program is not found. */
struct spawn_action {
    int what;
    union {
        const char *path;
        int fd;
    } folder;
    uint64_t more[2];
};
enum { SPAWN_CHDIR = 3, SPAWN_FCHDIR = 4 };

static void folder_close(int *fd)
{
    if (*fd >= 0)
        (void)RAW1(SYS_close, *fd);
    *fd = -1;
}

/* Where the child is when it looks for the program. *opened is what to close, or below 0. */
static int folder_find(const struct start *start, int *opened)
{
    const posix_spawn_file_actions_t *actions = start->actions;
    const struct spawn_action *action = actions != NULL ? (const void *)actions->__actions : NULL;
    int folder = start->call.folder, count = 0;
    if (action != NULL && start->call.path[0] != '/')
        count = actions->__used;
    for (; count > 0; count--, action++) {
        if (action->what == SPAWN_FCHDIR)
            folder = action->folder.fd;
        if (action->what != SPAWN_CHDIR)
            continue;
        folder = (int)RAW4(SYS_openat, folder, RAW_POINTER(action->folder.path),
                           O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        folder_close(opened);
        *opened = folder;
    }
    return folder;
}

static bool is_program(int folder, const char *path)
{
    struct stat about = {0};
    return RAW4(SYS_newfstatat, folder, RAW_POINTER(path), RAW_POINTER(&about), 0) == 0 &&
           S_ISREG(about.st_mode) && (about.st_mode & 0111) != 0;
}

static const char *path_variable(void)
{
    const char *value;
    for (char **line = real_environ(); line != NULL && *line != NULL; line++)
        if ((value = line_value(*line, "PATH=")) != NULL)
            return value;
    return PATH_ELSE;
}

/* Of the first folder of PATH that has the program; as execvp() looks it up. What is too long for a
 * path is not found there either. */
static void path_look(const struct program_call *call, struct program_kind *kind)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct program_call in_folder = *call;
    const char *file = call->path, *end;
    size_t file_bytes = text_bytes(file) + 1;
    for (const char *folder = path_variable(); file_bytes <= NAME_MAX + 1; folder = end + 1) {
        for (end = folder; *end && *end != ':';)
            end++;
        size_t bytes = (size_t)(end - folder);
        if (bytes < PATH_MAX) {
            memcpy(path, folder, bytes);
            if (bytes > 0)
                path[bytes++] = '/';
            memcpy(path + bytes, file, file_bytes);
            in_folder.path = path;
            if (is_program(call->folder, path)) {
                program_look(&in_folder, kind);
                return;
            }
        }
        if (*end == '\0')
            return;
    }
}

static bool has_slash(const char *file)
{
    while (*file && *file != '/')
        file++;
    return *file == '/';
}

/* ---- what a static program hands on ---- */

/* tini, gosu, dumb-init and their like become the program that their arguments name, and give it the
 * environment as it is. A shell, or a program that is many, may start others that no argument names. */
static const char starters[][8] = {"busybox", "toybox", "sh",   "ash", "bash",
                                   "dash",    "ksh",    "mksh", "zsh"};

static const char *base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        base = *path == '/' ? path + 1 : base;
    return base;
}

static bool starts_any(const char *path)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        const char *rest = line_value(base_name(path), starters[i]);
        if (rest != NULL && *rest == '\0')
            return true;
    }
    return false;
}

/* Whether its first arguments name programs, and the tracer can enter each of them. */
static bool hands_on(const struct program_call *starter)
{
    struct probe of_list = PROBE_NONE, of_text = PROBE_NONE;
    bool named = false;
    if (starter->arguments == NULL || starts_any(starter->path))
        return false;
    char *const *argument = starter->arguments;
    for (size_t i = 0; i < HANDED_ON; i++, argument++) {
        if (!page_is_here(&of_list, argument) || *argument == NULL)
            break;
        if (i == 0)
            continue;
        struct program_kind kind = {.is_no_program = true};
        const struct program_call call = {.folder = starter->folder, .path = *argument};
        if (!text_is_here(&of_text, call.path, PATH_MAX) || *call.path == '-')
            continue;
        if (!has_slash(call.path))
            path_look(&call, &kind);
        else if (is_program(call.folder, call.path)) {
            kind.is_no_program = false;
            program_look(&call, &kind);
        }
        if (kind.is_no_program)
            continue;
        if (!program_takes_preload(&kind) || kind.is_asan)
            return false;
        named = true;
    }
    return named;
}

/* ---- the look ---- */

struct look {
    const struct start *start;
    const char *tracer;
    struct program_kind kind;
    bool tracer_is_here;
};

static uint32_t look_run(void *context)
{
    struct look *l = context;
    const struct program_call shell = {.folder = AT_FDCWD, .path = LOOK_SHELL};
    struct program_call call = l->start->call;
    int opened = -1;
    memset(&l->kind, 0, sizeof l->kind);
    l->tracer_is_here = program_library_is_here(l->tracer);
    if (!l->tracer_is_here)
        return 0;
    call.folder = folder_find(l->start, &opened);
    if (l->start->searched && !has_slash(call.path))
        path_look(&call, &l->kind);
    else
        program_look(&call, &l->kind);
    if (l->kind.is_static && hands_on(&call))
        l->kind.is_static = false;
    folder_close(&opened);
    if (l->start->searched && l->kind.is_no_program)
        program_look(&shell, &l->kind);
    return 0;
}

static bool may_look_itself(void)
{
    return attach_client_is_borrower() ||
           (__atomic_load_n(&is_forked, __ATOMIC_RELAXED) &&
            !__atomic_load_n(&has_locks, __ATOMIC_RELAXED) && __libc_single_threaded);
}

bool start_look(const struct start *start, const char *tracer, struct program_kind *kind)
{
    struct look look = {.start = start, .tracer = tracer};
    if (attach_client_is_barred())
        (void)look_run(&look);
    else
        apart_run(may_look_itself(), look_run, &look);
    *kind = look.kind;
    return look.tracer_is_here;
}

void look_forked(void)
{
    __atomic_store_n(&is_forked, true, __ATOMIC_RELAXED);
    __atomic_store_n(&has_locks, false, __ATOMIC_RELAXED);
}

void look_locks_taken(void)
{
    __atomic_store_n(&has_locks, true, __ATOMIC_RELAXED);
}
