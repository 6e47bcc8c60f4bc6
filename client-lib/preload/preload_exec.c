/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls by which a program starts another, and LD_PRELOAD in the environment that it gives: a
 * program that the tracer cannot enter must not be told to load it. Another C library, or the runtime
 * of AddressSanitizer, does not start then; a dynamic linker that cannot read the library, or not as
 * one of its machine, complains on standard error. So the program is looked at before the call
 * (program_kind.h), and our entry alone is left out, also where the program may be executed but not
 * read.
 *
 * These are the only system calls that a traced thread makes of itself where the program has barred
 * some: who may start a program may nearly always read it, for its dynamic linker has to.
 *
 * Any thread, also in a signal handler or a vfork child, whose memory is its parent's: what is made
 * anew lies on the caller's stack, as in the C library's own exec functions; no descriptor stays
 * open, and errno is as it was. Never allocates, but for a shell (below).
 */
#include "preload_exec.h"

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attach_client.h"
#include "placement.h"
#include "preload_look.h"
#include "preload_wait.h"
#include "program_kind.h"
#include "sys_raw.h"

#define NAME_PRELOAD "LD_PRELOAD="
#define NAME_ASAN    "ASAN_OPTIONS="
#define NAME_LISTS   "LD_TRACE_LOADED_OBJECTS=" /* ldd: the libraries are listed, no program runs */
#define ASAN_ALLOWS  "verify_asan_link_order=0"

static bool has_text(const char *text, const char *part)
{
    for (; *text; text++)
        if (line_value(text, part) != NULL)
            return true;
    return false;
}

/* ---- LD_PRELOAD ---- */

/* The path that the dynamic linker loaded this library by; "": it is part of a program. */
static const char *own_path(void)
{
    const struct link_map *library = _r_debug.r_map;
    while (library != NULL && library->l_ld != _DYNAMIC)
        library = library->l_next;
    return library != NULL ? library->l_name : "";
}

/* One entry of LD_PRELOAD, which blanks and colons part. */
struct entry {
    const char *at, *name; /* behind its last slash */
    size_t bytes;          /* 0: there are no more */
    const char *next;
};

static struct entry entry_of(const char *value)
{
    while (*value == ':' || *value == ' ')
        value++;
    struct entry e = {.at = value, .name = value};
    for (; *value && *value != ':' && *value != ' '; value++)
        if (*value == '/')
            e.name = value + 1;
    e.bytes = (size_t)(value - e.at);
    e.next = value;
    return e;
}

/* By its name: the folder may be written in several ways. */
static bool entry_is_own(const struct entry *e)
{
    const char *own = own_path(), *name = own;
    for (; *own; own++)
        if (*own == '/')
            name = own + 1;
    size_t bytes = (size_t)(e->at + e->bytes - e->name);
    return bytes > 0 && text_bytes(name) == bytes && memcmp(e->name, name, bytes) == 0;
}

static bool value_has_own(const char *value)
{
    for (struct entry e = entry_of(value); e.bytes > 0; e = entry_of(e.next))
        if (entry_is_own(&e))
            return true;
    return false;
}

static bool entry_is_asan(const struct entry *e)
{
    char name[16] = "";
    size_t bytes = (size_t)(e->at + e->bytes - e->name);
    memcpy(name, e->name, bytes < sizeof name ? bytes : sizeof name);
    return program_library_is_asan(name);
}

/* Writes the value without our entry, and returns what is behind it. */
static char *value_write(const char *value, char *to)
{
    char *begin = to;
    for (struct entry e = entry_of(value); e.bytes > 0; e = entry_of(e.next)) {
        if (entry_is_own(&e))
            continue;
        if (to != begin)
            *to++ = ':';
        for (size_t i = 0; i < e.bytes; i++) /* it may be the value itself, which gets shorter */
            *to++ = e.at[i];
    }
    *to++ = '\0';
    return to;
}

/* The line without our entry; NULL: nothing is left. *to grows by its bytes. */
static char *line_write(const char *value, char **to)
{
    char *line = *to, *text = line + sizeof NAME_PRELOAD - 1;
    memcpy(line, NAME_PRELOAD, sizeof NAME_PRELOAD - 1);
    *to = value_write(value, text);
    return *text ? line : NULL;
}

/* ---- the environment ---- */

/* Bytes for the environment without our entry; 0: it has none. */
static size_t lines_room(char *const *lines)
{
    size_t count = 0, texts = 0;
    for (; lines[count] != NULL; count++) {
        const char *value = line_value(lines[count], NAME_PRELOAD);
        if (value != NULL && value_has_own(value))
            texts += text_bytes(lines[count]) + 1;
    }
    return texts ? (count + 1) * sizeof *lines + texts : 0;
}

static char *const *lines_without(char *const *lines, void *room)
{
    size_t count = 0;
    while (lines[count] != NULL)
        count++;
    char **out = room, *texts = (char *)(out + count + 1);
    for (; *lines != NULL; lines++) {
        const char *value = line_value(*lines, NAME_PRELOAD);
        char *line = *lines;
        if (value != NULL && value_has_own(value))
            line = line_write(value, &texts);
        if (line != NULL)
            *out++ = line;
    }
    *out = NULL;
    return room;
}

void exec_entry_drop(char *const *lines)
{
    for (; *lines != NULL; lines++) {
        const char *value = line_value(*lines, NAME_PRELOAD);
        char *line = *lines, *text = line + sizeof NAME_PRELOAD - 1;
        if (value == NULL || !value_has_own(value))
            continue;
        (void)value_write(text, text);
        if (*text == '\0')
            *line =
                '\0'; /* a line without a name is none: Go leaves it out for its children, too */
    }
}

/* What the environment itself says of it. AddressSanitizer's runtime may be told not to look whether
 * it is the first library, and a program may be given one by LD_PRELOAD. */
static bool lines_allow(char *const *lines, bool is_asan)
{
    bool told = false;
    for (; *lines != NULL; lines++) {
        const char *value = line_value(*lines, NAME_ASAN);
        told |= value != NULL && has_text(value, ASAN_ALLOWS);
        if (line_value(*lines, NAME_LISTS) != NULL)
            return false;
        value = line_value(*lines, NAME_PRELOAD);
        for (struct entry e = entry_of(value != NULL ? value : ""); e.bytes > 0;
             e = entry_of(e.next))
            is_asan |= entry_is_asan(&e);
    }
    return told || !is_asan;
}

/* ---- the program ---- */

static bool tracer_may_enter(const struct start *s, char *const *lines)
{
    struct program_kind kind;
    return start_look(s, own_path(), &kind) && program_takes_preload(&kind) &&
           lines_allow(lines, kind.is_asan);
}

/* Bytes for an environment that the tracer's entry has to be left out of; 0: it stays as it is. */
static __attribute__((noinline)) size_t start_room(const struct start *s, char *const *lines)
{
    if (lines == NULL || !start_is_readable(s, lines))
        return 0;
    size_t room = lines_room(lines);
    return room && !tracer_may_enter(s, lines) ? room : 0;
}

/* Declares `given`, the environment for the start; `lines` itself where nothing is left out. */
#define GIVEN(start, lines)                                                                        \
    char *const *given = (lines);                                                                  \
    size_t room = start_room(&(start), given);                                                     \
    if (room > 0)                                                                                  \
    given = lines_without(given, __builtin_alloca(room))

/* ---- exec ---- */

/* The others are made of these two, as in the C library. */
static int path_exec(const char *path, char *const *arguments, char *const *lines)
{
    const struct start start = {.call = {.folder = AT_FDCWD, .path = path, .arguments = arguments}};
    GIVEN(start, lines);
    return REAL(execve)(path, arguments, given);
}

static int file_exec(const char *file, char *const *arguments, char *const *lines)
{
    const struct start start = {.call = {.folder = AT_FDCWD, .path = file, .arguments = arguments},
                                .searched = true};
    GIVEN(start, lines);
    return REAL(execvpe)(file, arguments, given);
}

EXPORT int execve(const char *path, char *const *arguments, char *const *lines)
{
    return path_exec(path, arguments, lines);
}

EXPORT int execv(const char *path, char *const *arguments)
{
    return path_exec(path, arguments, real_environ());
}

EXPORT int execvpe(const char *file, char *const *arguments, char *const *lines)
{
    return file_exec(file, arguments, lines);
}

EXPORT int execvp(const char *file, char *const *arguments)
{
    return file_exec(file, arguments, real_environ());
}

EXPORT int fexecve(int fd, char *const *arguments, char *const *lines)
{
    const struct start start = {.call = {.folder = fd, .path = "", .arguments = arguments}};
    GIVEN(start, lines);
    return REAL(fexecve)(fd, arguments, given);
}

EXPORT int execveat(int folder, const char *path, char *const *arguments, char *const *lines,
                    int flags)
{
    const struct start start = {.call = {.folder = folder, .path = path, .arguments = arguments}};
    GIVEN(start, lines);
    return REAL(execveat)(folder, path, arguments, given, flags);
}

long exec_call(long number, const long a[6])
{
    const bool at = number == SYS_execveat;
    const long *b = at ? a + 1 : a; /* path, arguments, environment */
    const struct start start = {.call = {.folder = at ? (int)a[0] : AT_FDCWD,
                                         .path = (const char *)b[0],
                                         .arguments = (char *const *)b[1]}};
    GIVEN(start, (char *const *)b[2]);
    if (at)
        return REAL(syscall)(number, a[0], a[1], a[2], given, a[4], a[5]);
    return REAL(syscall)(number, a[0], a[1], given, a[3], a[4], a[5]);
}

static size_t arguments_count(va_list list)
{
    size_t count = 0;
    while (va_arg(list, const char *) != NULL)
        count++;
    return count;
}

/* Declares `arguments`: first, and those that follow up to NULL; `list` stands behind it then. */
#define ARGUMENTS(first, list)                                                                     \
    va_list list;                                                                                  \
    va_start(list, first);                                                                         \
    size_t count = 1 + arguments_count(list);                                                      \
    va_end(list);                                                                                  \
    const char **arguments = __builtin_alloca((count + 1) * sizeof *arguments);                    \
    va_start(list, first);                                                                         \
    arguments[0] = (first);                                                                        \
    for (size_t i = 1; i <= count; i++)                                                            \
    arguments[i] = va_arg(list, const char *)

EXPORT int execl(const char *path, const char *first, ...)
{
    ARGUMENTS(first, list);
    va_end(list);
    return path_exec(path, (char *const *)(uintptr_t)arguments, real_environ());
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    ARGUMENTS(first, list);
    va_end(list);
    return file_exec(file, (char *const *)(uintptr_t)arguments, real_environ());
}

EXPORT int execle(const char *path, const char *first, ...)
{
    ARGUMENTS(first, list);
    char *const *lines = va_arg(list, char *const *);
    va_end(list);
    return path_exec(path, (char *const *)(uintptr_t)arguments, lines);
}

/* ---- posix_spawn ---- */

/* The visitor is a task. If no more tasks are allowed, a child is tried again without it. */
#define SPAWN_LIST(X) X(posix_spawn, pid_t, false) X(posix_spawnp, pid_t, true) PIDFD_SPAWN_LIST(X)
#define X(function, type, along_path)                                                              \
    EXPORT int function(type *restrict pid, const char *restrict program,                          \
                        const posix_spawn_file_actions_t *restrict actions,                        \
                        const posix_spawnattr_t *restrict attributes,                              \
                        char *const *restrict arguments, char *const *restrict environment)        \
    {                                                                                              \
        const struct start start = {                                                               \
            .call = {.folder = AT_FDCWD, .path = program, .arguments = arguments},                 \
            .searched = (along_path),                                                              \
            .actions = actions};                                                                   \
        GIVEN(start, environment);                                                                 \
        int error = REAL(function)(pid, program, actions, attributes, arguments, given);           \
        if (error == EAGAIN) {                                                                     \
            attach_client_hold();                                                                  \
            error = REAL(function)(pid, program, actions, attributes, arguments, given);           \
            attach_client_release();                                                               \
        }                                                                                          \
        return error;                                                                              \
    }
SPAWN_LIST(X)
#undef X

/* ---- shells that the C library starts: system(), popen(), wordexp() ----
 *
 * They get `environ`, whatever it is at that moment. While such a call is made for a shell that the
 * tracer cannot enter, its line is one without our entry: another thread reads one or the other, both
 * as good. The line that was there comes back with the last of the calls. What stood in for it stays
 * mapped, for a thread may still look at it, and does so again. */
static struct {
    uint32_t lock, calls;
    char *shown, *hidden; /* the line as it was, NULL: it is there; and what stands in for it */
} shell;

static void shell_lock(void)
{
    unsigned steps = 0;
    while (__atomic_exchange_n(&shell.lock, 1, __ATOMIC_ACQUIRE) != 0)
        raw_step_aside(&steps);
}

static void shell_unlock(void)
{
    __atomic_store_n(&shell.lock, 0, __ATOMIC_RELEASE);
}

static void line_swap(char *from, char *to)
{
    for (char **line = real_environ(); line != NULL && *line != NULL; line++)
        if (*line == from)
            __atomic_store_n(line, to, __ATOMIC_SEQ_CST);
}

static char *own_line(void)
{
    const char *value;
    for (char **line = real_environ(); line != NULL && *line != NULL; line++)
        if ((value = line_value(*line, NAME_PRELOAD)) != NULL && value_has_own(value))
            return *line;
    return NULL;
}

static void line_hide(char *line)
{
    size_t bytes = text_bytes(line) + 1;
    char *made = raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *room = made;
    if (made == NULL)
        return;
    if (line_write(line + sizeof NAME_PRELOAD - 1, &room) == NULL)
        *made = '\0'; /* a line without a name is none to a shell */
    if (shell.hidden != NULL && text_is_same(shell.hidden, made))
        raw_munmap(made, bytes);
    else
        shell.hidden = made;
    shell.shown = line;
    line_swap(line, shell.hidden);
}

static void line_show(void)
{
    if (shell.shown != NULL)
        line_swap(shell.hidden, shell.shown);
    shell.shown = NULL;
}

bool exec_shell_begin(void)
{
    const struct start start = {.call = {.folder = AT_FDCWD, .path = LOOK_SHELL}};
    char *line = own_line();
    if ((line == NULL && __atomic_load_n(&shell.calls, __ATOMIC_RELAXED) == 0) ||
        tracer_may_enter(&start, real_environ()))
        return false;
    shell_lock();
    (void)__atomic_fetch_add(&shell.calls, 1, __ATOMIC_RELAXED);
    line = own_line();
    if (shell.shown == NULL && line != NULL)
        line_hide(line);
    shell_unlock();
    return true;
}

void exec_shell_end(const bool *begun)
{
    if (!*begun)
        return;
    shell_lock();
    if (__atomic_sub_fetch(&shell.calls, 1, __ATOMIC_RELAXED) == 0)
        line_show();
    shell_unlock();
}

void exec_forked(void)
{
    if (__atomic_load_n(&shell.calls, __ATOMIC_RELAXED) == 0)
        return;
    line_show();
    __atomic_store_n(&shell.calls, 0, __ATOMIC_RELAXED);
    shell_unlock();
}
