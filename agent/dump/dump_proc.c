/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc says of a process's threads. Its texts are the kernel's; names in them are the
 * process's own, and may hold anything.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "dump_int.h"

/* ---- the list ---- */

static int thread_add(struct dump *dump, uint32_t tid)
{
    if (dump->count == DUMP_THREADS_MAX) {
        dump->left_out++;
        return SKEIN_OK;
    }
    if (!array_grow(dump->threads, dump->count + 1, &dump->cap))
        return SKEIN_NO_MEMORY;
    dump->threads[dump->count++] = (struct dump_thread){.tid = tid, .call = -1};
    return SKEIN_OK;
}

int dump_list(struct dump *dump)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", dump->pid);
    dump->task = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int again = dump->task < 0 ? -1 : openat(dump->task, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (folder == NULL) {
        if (again >= 0)
            close(again);
        return dump->task < 0 && errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    }
    int status = SKEIN_OK;
    const struct dirent *entry;
    while (status == SKEIN_OK && (entry = readdir(folder)) != NULL) {
        char *end;
        unsigned long tid = strtoul(entry->d_name, &end, 10);
        if (tid > 0 && *end == '\0')
            status = thread_add(dump, (uint32_t)tid);
    }
    closedir(folder);
    return status;
}

/* ---- one thread ---- */

/* Reads TID/NAME as text. Returns its length, or -errno. */
static ssize_t thread_read(const struct dump *dump, uint32_t tid, const char *name, char *out,
                           size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "%" PRIu32 "/%s", tid, name);
    int fd = openat(dump->task, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, out, bytes - 1);
    if (n < 0)
        n = -errno;
    close(fd);
    out[n < 0 ? 0 : n] = '\0';
    return n;
}

static void name_take(struct dump_thread *thread, const char *name, size_t n)
{
    n = n < sizeof thread->name - 1 ? n : sizeof thread->name - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        thread->name[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    thread->name[n] = '\0';
}

/* The number at *at, behind spaces; *at is then behind it. */
static bool number_take(const char **at, int base, uint64_t *number)
{
    char *end;
    *number = strtoull(*at, &end, base);
    bool found = end != *at;
    *at = end;
    return found;
}

/* "TID (name) S ppid …": a name may hold brackets and spaces. Field 14 and 15 are CPU time. */
static bool stat_take(struct dump_thread *thread, const char *text)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open || close[1] != ' ')
        return false;
    name_take(thread, open + 1, (size_t)(close - open - 1));
    thread->state = close[2];
    uint64_t user, system, tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    const char *at = close + 3; /* behind field 3 */
    for (int field = 4; field < 14; field++)
        at += strcspn(at + 1, " ") + 1;
    if (!number_take(&at, 10, &user) || !number_take(&at, 10, &system))
        return false;
    thread->cpu_ns = (user + system) * tick_ns;
    return true;
}

static uint64_t status_number(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static bool switches_read(const struct dump *dump, uint32_t tid, struct dump_thread *to)
{
    char text[4096];
    if (thread_read(dump, tid, "status", text, sizeof text) <= 0)
        return false;
    to->tracer = (uint32_t)status_number(text, "\nTracerPid:");
    to->involuntary = status_number(text, "\nnonvoluntary_ctxt_switches:");
    to->voluntary = status_number(text, "\nvoluntary_ctxt_switches:");
    return true;
}

/* "running", "-1 sp pc", or "number six arguments sp pc". */
static void call_take(struct dump_thread *thread, const char *text)
{
    uint64_t call, sp, pc;
    bool sound = number_take(&text, 10, &call); /* -1: the highest */
    thread->call = -1;
    thread->blocked = false;
    for (int i = 0; i < 6 && sound && (int64_t)call >= 0; i++)
        sound = number_take(&text, 16, &thread->args[i]);
    if (!sound || !number_take(&text, 16, &sp) || !number_take(&text, 16, &pc))
        return;
    thread->call = (int64_t)call;
    thread->blocked = true;
    thread->registers[DUMP_SP] = sp;
    thread->registers[DUMP_PC] = pc;
}

static void call_read(const struct dump *dump, struct dump_thread *thread)
{
    char text[256];
    ssize_t n = thread_read(dump, thread->tid, "syscall", text, sizeof text);
    call_take(thread, n > 0 ? text : "");
    if (n == -EPERM || n == -EACCES)
        thread->fate = DUMP_STACK_REFUSED;
}

bool dump_look(const struct dump *dump, struct dump_thread *thread)
{
    char text[1024];
    thread->fate = DUMP_STACK_NONE;
    thread->at_ns = clock_monotonic_ns();
    if (thread_read(dump, thread->tid, "stat", text, sizeof text) <= 0 ||
        !stat_take(thread, text) || !switches_read(dump, thread->tid, thread))
        return false;
    if (thread_read(dump, thread->tid, "wchan", thread->wchan, sizeof thread->wchan) <= 0 ||
        strcmp(thread->wchan, "0") == 0)
        thread->wchan[0] = '\0';
    call_read(dump, thread);
    if (thread->state == 'Z' || thread->state == 'X')
        thread->fate = DUMP_STACK_ENDED;
    return true;
}

bool dump_same(const struct dump *dump, const struct dump_thread *thread)
{
    struct dump_thread now = {.tid = thread->tid};
    call_read(dump, &now);
    return now.blocked && now.call == thread->call &&
           memcmp(now.args, thread->args, sizeof now.args) == 0 &&
           now.registers[DUMP_SP] == thread->registers[DUMP_SP] &&
           now.registers[DUMP_PC] == thread->registers[DUMP_PC] &&
           switches_read(dump, thread->tid, &now) && now.voluntary == thread->voluntary &&
           now.involuntary == thread->involuntary;
}

/* ---- system calls ---- */

/* Those that threads are found in, and how many arguments of them are shown. */
#define CALL_LIST(X)                                                                               \
    X(read, 3)                                                                                     \
    X(write, 3)                                                                                    \
    X(readv, 3)                                                                                    \
    X(writev, 3)                                                                                   \
    X(pread64, 4)                                                                                  \
    X(pwrite64, 4)                                                                                 \
    X(close, 1)                                                                                    \
    X(ioctl, 3) X(fsync, 1) X(fdatasync, 1) X(sync_file_range, 4) X(ftruncate, 2) X(flock, 2)      \
        X(fcntl, 3) X(openat, 4) X(fallocate, 4) X(ppoll, 4) X(pselect6, 6) X(epoll_pwait, 5)      \
            X(futex, 6) X(nanosleep, 2) X(clock_nanosleep, 4) X(restart_syscall, 0) X(accept, 3)   \
                X(accept4, 4) X(connect, 3) X(recvfrom, 6) X(recvmsg, 3) X(recvmmsg, 5)            \
                    X(sendto, 6) X(sendmsg, 3) X(sendmmsg, 4) X(wait4, 4) X(waitid, 5)             \
                        X(rt_sigtimedwait, 4) X(rt_sigsuspend, 2) X(io_getevents, 5)               \
                            X(io_uring_enter, 6) X(semtimedop, 4) X(semop, 3) X(msgrcv, 5)         \
                                X(msgsnd, 4) X(mq_timedreceive, 5) X(mq_timedsend, 5) X(mmap, 6)   \
                                    X(munmap, 2) X(mprotect, 3) X(madvise, 3) X(msync, 3)          \
                                        X(splice, 6) X(sendfile, 4) X(exit, 1) X(exit_group, 1)    \
                                            X(execve, 3) X(clone, 5) X(clone3, 2) X(unlinkat, 3)   \
                                                X(getrandom, 3)

#define CALL_LIST_X86(X)                                                                           \
    X(open, 3)                                                                                     \
    X(poll, 3)                                                                                     \
    X(select, 5)                                                                                   \
    X(epoll_wait, 4) X(pause, 0) X(vfork, 0) X(fork, 0) X(stat, 2) X(unlink, 1) X(rename, 2)

struct call_name {
    long number;
    const char *name;
    int args;
};
#define X(name, args) {SYS_##name, #name, args},
static const struct call_name call_names[] = {CALL_LIST(X)
#ifdef __x86_64__
                                                  CALL_LIST_X86(X)
#endif
};
#undef X

void dump_call_text(const struct dump_thread *thread, char *out, size_t bytes)
{
    out[0] = '\0';
    if (!thread->blocked || thread->call < 0)
        return;
    const struct call_name *call = NULL;
    for (size_t i = 0; call == NULL && i < sizeof call_names / sizeof call_names[0]; i++)
        if (call_names[i].number == thread->call)
            call = &call_names[i];
    int args = call == NULL ? 6 : call->args;
    int n = call == NULL ? snprintf(out, bytes, "syscall_%" PRId64 "(", thread->call)
                         : snprintf(out, bytes, "%s(", call->name);
    for (int i = 0; i < args && n > 0 && (size_t)n < bytes; i++)
        n += snprintf(out + n, bytes - (size_t)n, "%s0x%" PRIx64, i == 0 ? "" : ", ",
                      thread->args[i]);
    if (n > 0 && (size_t)n + 1 < bytes)
        memcpy(out + n, ")", 2);
}
