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
#include "program_starter.h"
#include "sys_raw.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#define PAGE       4096 /* or a part of one */
#define LINE_BYTES 32   /* of a variable that is of no interest: its name */

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

/* Those that may name a program. */
static bool arguments_are_here(char *const *argument)
{
    struct probe of_list = PROBE_NONE, of_text = PROBE_NONE;
    for (size_t i = 0; i < STARTER_ARGUMENTS; i++, argument++) {
        if (!page_is_here(&of_list, argument))
            return false;
        if (*argument == NULL)
            return true;
        if (i > 0 && !text_is_here(&of_text, *argument, PATH_MAX))
            return false;
    }
    return true;
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

static const char *path_variable(void)
{
    const char *value;
    for (char **line = real_environ(); line != NULL && *line != NULL; line++)
        if ((value = line_value(*line, "PATH=")) != NULL)
            return value;
    return NULL;
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
    if (l->start->searched)
        program_look_along(&call, path_variable(), &l->kind);
    else
        program_look(&call, &l->kind);
    if (l->kind.is_static && call.arguments != NULL && arguments_are_here(call.arguments) &&
        program_hands_on(&call, path_variable()))
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
        thread_apart_run(may_look_itself(), look_run, &look);
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
