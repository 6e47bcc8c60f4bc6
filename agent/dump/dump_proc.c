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
#include "descriptor.h"
#include "dump_int.h"
#include "proc_info.h"
#include "proc_text.h"

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
    if (dump->task < 0)
        return errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    DIR *folder = folder_list(dump->task);
    if (folder == NULL)
        return SKEIN_IO;
    int status = SKEIN_OK;
    const struct dirent *entry;
    while (status == SKEIN_OK && (entry = readdir(folder)) != NULL) {
        uint32_t tid;
        if (text_id(entry->d_name, &tid))
            status = thread_add(dump, tid);
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

/* The number at *at, behind spaces; *at is then behind it. */
static bool number_take(const char **at, int base, uint64_t *number)
{
    char *end;
    *number = strtoull(*at, &end, base);
    bool found = end != *at;
    *at = end;
    return found;
}

/* Field 14 and 15 are CPU time. */
static bool stat_take(struct dump_thread *thread, const char *text)
{
    uint64_t user, system, tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    const char *fields = text_stat(text, thread->name, sizeof thread->name);
    if (fields == NULL || !text_stat_number(fields, 14, &user) ||
        !text_stat_number(fields, 15, &system))
        return false;
    for (char *c = thread->name; *c != '\0'; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    thread->state = fields[0];
    thread->cpu_ns = (user + system) * tick_ns;
    return true;
}

/* The begin of a file, and its end: in the middle of `status` are the groups of the process, which
 * may be half a million bytes. */
#define HEAD_BYTES 2048
#define TAIL_BYTES 8192
struct head_tail {
    char head[HEAD_BYTES], tail[TAIL_BYTES];
};

static bool status_read(const struct dump *dump, uint32_t tid, struct head_tail *out)
{
    char path[64];
    snprintf(path, sizeof path, "%" PRIu32 "/status", tid);
    int fd = openat(dump->task, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out->head, HEAD_BYTES - 1);
    bool there = n > 0;
    size_t have = there ? (size_t)n : 0;
    out->head[have] = '\0';
    memcpy(out->tail, out->head, have + 1);
    while (n > 0) { /* the last bytes so far, then what follows */
        size_t keep = have < TAIL_BYTES / 2 ? have : TAIL_BYTES / 2;
        memmove(out->tail, out->tail + have - keep, keep);
        n = read(fd, out->tail + keep, TAIL_BYTES - keep - 1);
        have = keep + (n > 0 ? (size_t)n : 0);
        out->tail[have] = '\0';
    }
    fd_close(&fd);
    return there && n == 0;
}

static bool switches_read(const struct dump *dump, uint32_t tid, struct dump_thread *to)
{
    struct head_tail text;
    if (!status_read(dump, tid, &text))
        return false;
    uint64_t inner = 0, tracer = 0;
    to->involuntary = to->voluntary = 0;
    (void)(text_last_number(text.tail, "NSpid:", &inner) ||
           text_last_number(text.head, "NSpid:", &inner));
    (void)text_value(text.head, "TracerPid", &tracer);
    (void)text_value(text.tail, "nonvoluntary_ctxt_switches", &to->involuntary);
    (void)text_value(text.tail, "voluntary_ctxt_switches", &to->voluntary);
    to->inner_tid = inner != 0 ? (uint32_t)inner : tid;
    to->tracer = (uint32_t)tracer;
    return true;
}

/* "running", "-1 sp pc", or "number six arguments sp pc". */
static void call_take(struct dump_thread *thread, const char *text)
{
    uint64_t call, sp, pc;
    thread->call = -1;
    thread->blocked = false;
    thread->runs = strncmp(text, "running", 7) == 0;
    bool sound = number_take(&text, 10, &call); /* -1: the highest */
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
    char text[256], path[16];
    ssize_t n = thread_read(dump, thread->tid, "syscall", text, sizeof text);
    call_take(thread, n > 0 ? text : "");
    snprintf(path, sizeof path, "%" PRIu32, thread->tid);
    if (n == -EPERM || n == -EACCES)
        thread->fate = DUMP_STACK_REFUSED;
    else if (n <= 0 && faccessat(dump->task, path, F_OK, 0) != 0)
        thread->fate = DUMP_STACK_ENDED;
    else if (!thread->blocked && !thread->runs)
        thread->fate = DUMP_STACK_UNREADABLE;
}

bool dump_look(const struct dump *dump, struct dump_thread *thread)
{
    char text[1024];
    thread->fate = DUMP_STACK_NONE;
    thread->at_ns = clock_monotonic_ns();
    /* Switches first: what is read behind them is of one sleep if they are the same at the end. */
    if (!switches_read(dump, thread->tid, thread) ||
        thread_read(dump, thread->tid, "stat", text, sizeof text) <= 0 || !stat_take(thread, text))
        return false;
    if (thread_read(dump, thread->tid, "wchan", thread->wchan, sizeof thread->wchan) <= 0 ||
        strcmp(thread->wchan, "0") == 0)
        thread->wchan[0] = '\0';
    call_read(dump, thread);
    if (thread->state == 'Z' || thread->state == 'X') {
        thread->fate = DUMP_STACK_ENDED;
    } else if (thread->runs) { /* woken since its state was read */
        thread->state = 'R';
        thread->wchan[0] = '\0';
    } else if (thread->blocked && thread->state == 'R') {
        /* Asleep since its state was read; or somebody just wakes it (TASK_WAKING, which stat shows
         * as R too), and it has not run yet. */
        thread->state = 'S';
    }
    return true;
}

bool dump_runs(const struct dump *dump, const struct dump_thread *thread)
{
    struct dump_thread now = {.tid = thread->tid};
    call_read(dump, &now);
    return now.runs;
}

/* Fields 26 to 28 of stat, as proc(5) counts them. */
struct dump_program dump_program(uint32_t pid)
{
    char name[16], text[1024];
    struct dump_program program = {0};
    const char *fields = proc_file_read((pid_t)pid, "stat", text, sizeof text) > 0
                             ? text_stat(text, name, sizeof name)
                             : NULL;
    if (fields == NULL || !text_stat_number(fields, 26, &program.code_begin) ||
        !text_stat_number(fields, 27, &program.code_end) ||
        !text_stat_number(fields, 28, &program.stack_begin))
        return (struct dump_program){0};
    return program;
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
/* clang-format off */
#define CALL_LIST(X) \
    X(read, 3) X(write, 3) X(readv, 3) X(writev, 3) X(pread64, 4) X(pwrite64, 4) X(close, 1) \
    X(ioctl, 3) X(fsync, 1) X(fdatasync, 1) X(sync_file_range, 4) X(ftruncate, 2) X(flock, 2) \
    X(fcntl, 3) X(openat, 4) X(fallocate, 4) X(ppoll, 4) X(pselect6, 6) X(epoll_pwait, 5) \
    X(futex, 6) X(nanosleep, 2) X(clock_nanosleep, 4) X(restart_syscall, 0) X(accept, 3) \
    X(accept4, 4) X(connect, 3) X(recvfrom, 6) X(recvmsg, 3) X(recvmmsg, 5) X(sendto, 6) \
    X(sendmsg, 3) X(sendmmsg, 4) X(wait4, 4) X(waitid, 5) X(rt_sigtimedwait, 4) \
    X(rt_sigsuspend, 2) X(io_getevents, 5) X(io_uring_enter, 6) X(semtimedop, 4) X(semop, 3) \
    X(msgrcv, 5) X(msgsnd, 4) X(mq_timedreceive, 5) X(mq_timedsend, 5) X(mmap, 6) X(munmap, 2) \
    X(mprotect, 3) X(madvise, 3) X(msync, 3) X(splice, 6) X(sendfile, 4) X(exit, 1) \
    X(exit_group, 1) X(execve, 3) X(clone, 5) X(clone3, 2) X(unlinkat, 3) X(getrandom, 3)

#define CALL_LIST_X86(X) \
    X(open, 3) X(poll, 3) X(select, 5) X(epoll_wait, 4) X(pause, 0) X(vfork, 0) X(fork, 0) \
    X(stat, 2) X(unlink, 1) X(rename, 2)
/* clang-format on */

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
