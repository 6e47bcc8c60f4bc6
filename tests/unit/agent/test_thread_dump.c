/* SPDX-License-Identifier: Apache-2.0
 * Dumps of programs that know what each of their threads does. What they must not notice, they tell
 * themselves, over a pipe; whether a thread has run, the kernel's counts of switches say. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "dump_int.h"
#include "look_apart.h"
#include "support.h"
#include "symbolizer.h"

/* ---- children ---- */

struct child {
    pid_t pid;
    int out; /* what it says */
};

typedef void child_fn(int out, const void *context);

static struct child child_start(child_fn *fn, const void *context)
{
    int pipes[2];
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        fn(pipes[1], context);
        _exit(0);
    }
    close(pipes[1]);
    return (struct child){pid, pipes[0]};
}

static void child_end(struct child *child)
{
    kill(child->pid, SIGKILL);
    kill(child->pid, SIGCONT);
    waitpid(child->pid, NULL, 0);
    close(child->out);
}

/* What it says within the deadline; false: nothing, or it has ended. */
static bool child_says(const struct child *child, int *value, int timeout_ms)
{
    struct pollfd ready = {.fd = child->out, .events = POLLIN};
    return poll(&ready, 1, timeout_ms) == 1 &&
           read(child->out, value, sizeof *value) == sizeof *value;
}

static void say(int out, int value)
{
    if (write(out, &value, sizeof value) != sizeof value)
        _exit(2);
}

/* When what may take many looks to be seen is given up. */
static uint64_t soon(void)
{
    return clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
}

/* No test is about how long it takes. */
static int dump_try(pid_t pid, struct dump **dump)
{
    *dump = dump_new((uint32_t)pid, UINT64_MAX);
    ck_assert_ptr_nonnull(*dump);
    return dump_run(dump);
}

static struct dump *dump_of(pid_t pid)
{
    struct dump *dump;
    ck_assert_int_eq(dump_try(pid, &dump), SKEIN_OK);
    return dump;
}

static const struct dump_thread *thread_of(const struct dump *dump, uint32_t tid)
{
    for (size_t i = 0; i < dump->count; i++)
        if (dump->threads[i].tid == tid)
            return &dump->threads[i];
    ck_abort_msg("thread %" PRIu32 " is not in the dump", tid);
    return NULL;
}

struct awaited_call {
    pid_t pid;
    long number;
};

/* From /proc, read here. */
static bool sleeps_in(void *context)
{
    const struct awaited_call *call = context;
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)call->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return strncmp(text, "running", 7) != 0 && n > 0 && strtol(text, NULL, 10) == call->number;
}

/* ---- system calls ---- */

/* Makes the call of its number, and says with which errno it came back. */
static int blocked_pair[2];

static long call_epoll_wait(void)
{
    struct epoll_event event;
    return syscall(SYS_epoll_wait, epoll_create1(0), &event, 1, -1);
}
static long call_epoll_timed(void)
{
    struct epoll_event event;
    return syscall(SYS_epoll_pwait, epoll_create1(0), &event, 1, 60000, NULL, 8);
}
static long call_poll(void)
{
    struct pollfd wait = {.fd = blocked_pair[0], .events = POLLIN};
    return syscall(SYS_poll, &wait, 1, 60000);
}
static long call_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(blocked_pair[0], &set);
    struct timeval minute = {.tv_sec = 60};
    return syscall(SYS_select, blocked_pair[0] + 1, &set, NULL, NULL, &minute);
}
static long call_nanosleep(void)
{
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_nanosleep, &minute, NULL);
}
static long call_clock_nanosleep(void)
{
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &minute, NULL);
}
static uint32_t futex_word;
static long call_futex(void)
{
    return syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}
static long call_futex_timed(void)
{
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &minute, NULL, 0);
}
static long call_read_pipe(void)
{
    char c;
    return syscall(SYS_read, blocked_pair[0], &c, 1);
}
static long call_read_inotify(void)
{
    char room[4096];
    return syscall(SYS_read, inotify_init1(0), room, sizeof room);
}
static long call_read_eventfd(void)
{
    uint64_t value;
    return syscall(SYS_read, eventfd(0, 0), &value, sizeof value);
}
static int listening(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) != 0 || listen(fd, 1) != 0)
        _exit(4);
    return fd;
}
static long call_accept(void)
{
    return syscall(SYS_accept, listening(), NULL, NULL);
}
static long call_accept_timed(void)
{
    int fd = listening();
    struct timeval minute = {.tv_sec = 60};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute) != 0)
        _exit(4);
    return syscall(SYS_accept, fd, NULL, NULL);
}
static int socket_one(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
        _exit(4);
    return pair[0];
}
static long call_recvfrom(void)
{
    char c;
    return syscall(SYS_recvfrom, socket_one(), &c, 1, 0, NULL, NULL);
}
static long call_recvmmsg(void)
{
    char c;
    struct iovec room = {.iov_base = &c, .iov_len = 1};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &room, .msg_iovlen = 1}};
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_recvmmsg, socket_one(), &message, 1, 0, &minute);
}
static long call_semtimedop(void)
{
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {.sem_op = -1};
    struct timespec minute = {.tv_sec = 60};
    if (fork() == 0) { /* removes it when this one is gone: the set outlives its makers */
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(SIG_BLOCK, &term, NULL); /* first: check's handler ends the whole group */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int got;
        sigwait(&term, &got);
        semctl(set, 0, IPC_RMID);
        _exit(0);
    }
    return syscall(SYS_semtimedop, set, &down, 1, &minute);
}
static long call_msgrcv(void)
{
    struct {
        long type;
        char c;
    } message;
    int queue = msgget(IPC_PRIVATE, 0600);
    if (fork() == 0) {
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(SIG_BLOCK, &term, NULL); /* first: check's handler ends the whole group */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int got;
        sigwait(&term, &got);
        msgctl(queue, IPC_RMID, NULL);
        _exit(0);
    }
    return syscall(SYS_msgrcv, queue, &message, 1, 0, 0);
}
static long call_sigtimedwait(void)
{
    uint64_t set = 1u << (SIGUSR1 - 1);
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_rt_sigtimedwait, &set, NULL, &minute, sizeof set);
}
static long call_sigsuspend(void)
{
    uint64_t set = 0;
    return syscall(SYS_rt_sigsuspend, &set, sizeof set);
}
static long call_io_getevents(void)
{
    aio_context_t context = 0;
    struct io_event event;
    if (syscall(SYS_io_setup, 1, &context) != 0)
        _exit(5);
    return syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}
static long call_wait4(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
    }
    return syscall(SYS_wait4, pid, NULL, 0, NULL);
}
static long call_flock(void)
{
    char path[] = "/tmp/skein-dump-XXXXXX";
    int held = mkstemp(path), wanted = open(path, O_RDWR);
    unlink(path);
    if (flock(held, LOCK_EX) != 0)
        _exit(4);
    return syscall(SYS_flock, wanted, LOCK_EX);
}
static long call_pause(void)
{
    return syscall(SYS_pause);
}
static long call_ppoll(void)
{
    struct pollfd wait = {.fd = blocked_pair[0], .events = POLLIN};
    struct timespec minute = {.tv_sec = 60};
    return syscall(SYS_ppoll, &wait, 1, &minute, NULL, 8);
}

struct blocking {
    const char *name;
    long number;
    long (*make)(void);
};
#define BLOCKING(call, number)                                                                     \
    {                                                                                              \
#call, SYS_##number, call_##call                                                           \
    }
static const struct blocking blockings[] = {BLOCKING(epoll_wait, epoll_wait),
                                            BLOCKING(epoll_timed, epoll_pwait),
                                            BLOCKING(poll, poll),
                                            BLOCKING(ppoll, ppoll),
                                            BLOCKING(select, select),
                                            BLOCKING(nanosleep, nanosleep),
                                            BLOCKING(clock_nanosleep, clock_nanosleep),
                                            BLOCKING(futex, futex),
                                            BLOCKING(futex_timed, futex),
                                            BLOCKING(read_pipe, read),
                                            BLOCKING(read_inotify, read),
                                            BLOCKING(read_eventfd, read),
                                            BLOCKING(accept, accept),
                                            BLOCKING(accept_timed, accept),
                                            BLOCKING(recvfrom, recvfrom),
                                            BLOCKING(recvmmsg, recvmmsg),
                                            BLOCKING(semtimedop, semtimedop),
                                            BLOCKING(msgrcv, msgrcv),
                                            BLOCKING(sigtimedwait, rt_sigtimedwait),
                                            BLOCKING(sigsuspend, rt_sigsuspend),
                                            BLOCKING(io_getevents, io_getevents),
                                            BLOCKING(wait4, wait4),
                                            BLOCKING(flock, flock),
                                            BLOCKING(pause, pause)};

static void make_call(int out, const void *context)
{
    const struct blocking *blocking = context;
    if (pipe(blocked_pair) != 0)
        _exit(3);
    long result = blocking->make();
    say(out, result < 0 ? errno : 0);
}

START_TEST(a_blocked_system_call_does_not_notice)
{
    const struct blocking *blocking = &blockings[_i];
    struct child child = child_start(make_call, blocking);
    struct awaited_call call = {child.pid, blocking->number};
    if (!wait_until(sleeps_in, &call, 0)) {
        int error = 0;
        bool said = child_says(&child, &error, 0);
        ck_abort_msg("%s: does not block (%s)", blocking->name, said ? strerror(error) : "?");
    }
    struct dump *first = dump_of(child.pid), *second = dump_of(child.pid);
    const struct dump_thread *before = thread_of(first, (uint32_t)child.pid);
    const struct dump_thread *after = thread_of(second, (uint32_t)child.pid);
    ck_assert_int_eq(before->fate, DUMP_STACK_TAKEN);
    ck_assert_int_eq(after->call, blocking->number);
    ck_assert_uint_eq(first->stopped + second->stopped, 0);
    /* It has not run: the first dump did not wake it. */
    ck_assert_uint_eq(after->voluntary, before->voluntary);
    ck_assert_uint_eq(after->involuntary, before->involuntary);
    ck_assert_uint_ge(before->stack_bytes, 256);
    int error;
    ck_assert_msg(!child_says(&child, &error, 0), "%s came back: %s", blocking->name,
                  strerror(error));
    dump_discard(&first);
    dump_discard(&second);
    child_end(&child);
}
END_TEST

/* ---- threads that run ---- */

/* Goes to sleep and wakes all the time, so that a stop may meet it on its way into the call: it runs
 * long enough to be met at all on a machine that others use, and at times so shortly that the call is
 * near. */
static void doze(int out, const void *context)
{
    (void)context;
    int epoll = epoll_create1(0);
    struct epoll_event event;
    say(out, 1);
    for (unsigned turn = 0;; turn++) {
        for (volatile unsigned i = 0; i < 20000 * (turn % 16); i++)
            continue;
        if (syscall(SYS_epoll_pwait, epoll, &event, 1, 1, NULL, 8) < 0)
            say(out, errno);
    }
}

START_TEST(who_goes_to_sleep_does_not_notice)
{
    struct child child = child_start(doze, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    size_t stopped = 0;
    uint64_t until = soon();
    for (size_t rounds = 0; (stopped < 50 || rounds < 300) && clock_monotonic_ns() < until;
         rounds++) {
        struct dump *dump = dump_of(child.pid);
        stopped += dump->stopped;
        dump_discard(&dump);
        ck_assert_msg(!child_says(&child, &value, 0), "told: %s", strerror(value));
    }
    ck_assert_uint_ge(stopped, 50);
    child_end(&child);
}
END_TEST

/* Waits for a signal that is barred but in the call, as a server does: told EINTR once it has been
 * handled, it answers. A call that is made again behind the handler waits for ever. */
static volatile sig_atomic_t handled;

static void signal_handle(int number)
{
    (void)number;
    handled = 1;
}

static void serve_signals(int out, const void *context)
{
    (void)context;
    int epoll = epoll_create1(0);
    struct epoll_event event;
    uint64_t none = 0;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    signal(SIGUSR1, signal_handle);
    say(out, 1);
    for (;;) {
        for (volatile unsigned i = 0; i < 3000; i++)
            continue;
        (void)syscall(SYS_epoll_pwait, epoll, &event, 1, -1, &none, sizeof none);
        if (handled)
            say(out, 2);
        handled = 0;
    }
}

static void *signals_send(void *context)
{
    const struct child *child = context;
    int value, rounds = 4000;
    do
        kill(child->pid, SIGUSR1);
    while (--rounds > 0 && child_says(child, &value, (int)support_deadline_ms()));
    return (void *)(intptr_t)rounds;
}

START_TEST(a_signal_that_is_handled_ends_the_call)
{
    struct child child = child_start(serve_signals, NULL);
    int value;
    pthread_t sender;
    void *left;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    ck_assert_int_eq(pthread_create(&sender, NULL, signals_send, &child), 0);
    size_t stopped = 0;
    while (pthread_tryjoin_np(sender, &left) != 0) {
        struct dump *dump = dump_of(child.pid);
        stopped += dump->stopped;
        dump_discard(&dump);
    }
    ck_assert_int_eq((intptr_t)left, 0);
    ck_assert_uint_gt(stopped, 0);
    child_end(&child);
}
END_TEST

/* Each thread sleeps and runs in turn, too shortly for anybody to know which. */
static void *flicker(void *context)
{
    (void)context;
    const struct timespec moment = {.tv_nsec = 300000};
    for (;;) {
        for (volatile unsigned i = 0; i < 10000; i++)
            continue;
        syscall(SYS_nanosleep, &moment, NULL);
    }
    return NULL;
}

static void flicker_all(int out, const void *context)
{
    pthread_t thread;
    for (int i = 0; i < 7; i++)
        pthread_create(&thread, NULL, flicker, NULL);
    say(out, 1);
    (void)flicker((void *)(uintptr_t)context);
}

START_TEST(state_and_stack_are_of_one_moment)
{
    struct child child = child_start(flicker_all, NULL);
    int value;
    size_t ran = 0, slept = 0;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    uint64_t until = soon();
    for (int round = 0; clock_monotonic_ns() < until && (round < 300 || ran < 50 || slept < 50);
         round++) {
        struct dump *dump = dump_of(child.pid);
        ck_assert_uint_eq(dump->fates[DUMP_STACK_NONE], 0);
        ck_assert_uint_eq(dump->fates[DUMP_STACK_BEYOND], 0);
        for (size_t i = 0; i < dump->count; i++) {
            const struct dump_thread *thread = &dump->threads[i];
            if (thread->fate != DUMP_STACK_TAKEN)
                continue;
            ck_assert_int_eq(thread->whole_registers, thread->state == 'R');
            ck_assert_int_eq(thread->whole_registers, !thread->blocked);
            *(thread->whole_registers ? &ran : &slept) += 1;
        }
        dump_discard(&dump);
    }
    ck_assert_uint_ge(ran, 50);
    ck_assert_uint_ge(slept, 50);
    child_end(&child);
}
END_TEST

static __attribute__((noinline, section("spin_text"))) void spin_here(volatile uint64_t *count)
{
    for (;;)
        ++*count;
}
extern const char __start_spin_text[], __stop_spin_text[];

static void spin(int out, const void *context)
{
    (void)context;
    volatile uint64_t count = 0;
    say(out, 1);
    spin_here(&count);
}

START_TEST(who_runs_is_stopped_and_goes_on)
{
    struct child child = child_start(spin, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    bool inside = false;
    uint64_t cpu_ns = 0;
    for (int i = 0; i < 1000 && !inside; i++) { /* it may be in `say` still */
        struct dump *dump = dump_of(child.pid);
        const struct dump_thread *thread = thread_of(dump, (uint32_t)child.pid);
        uint64_t pc = thread->registers[DUMP_PC];
        if (thread->fate == DUMP_STACK_TAKEN && thread->whole_registers)
            inside = pc >= (uintptr_t)__start_spin_text && pc < (uintptr_t)__stop_spin_text;
        if (inside) {
            ck_assert_uint_ge(dump->stopped, 1);
            ck_assert_uint_gt(dump->stop_ns, 0);
            cpu_ns = thread->cpu_ns;
        }
        dump_discard(&dump);
    }
    ck_assert(inside);
    struct dump *later = NULL;
    do { /* goes on */
        dump_discard(&later);
        later = dump_of(child.pid);
    } while (thread_of(later, (uint32_t)child.pid)->cpu_ns <= cpu_ns);
    ck_assert_uint_eq(thread_of(later, (uint32_t)child.pid)->tracer, 0);
    dump_discard(&later);
    child_end(&child);
}
END_TEST

/* ---- stopped, traced, refused, ended ---- */

static bool is_stopped(void *context)
{
    struct dump *dump = dump_of(*(const pid_t *)context);
    bool stopped = dump->count == 1 && dump->threads[0].state == 'T';
    dump_discard(&dump);
    return stopped;
}

START_TEST(a_stopped_process_stays_stopped)
{
    struct child child = child_start(spin, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    ck_assert_int_eq(kill(child.pid, SIGSTOP), 0);
    ck_assert(wait_until(is_stopped, &child.pid, 0));
    struct dump *dump = dump_of(child.pid);
    ck_assert_int_eq(dump->threads[0].fate, DUMP_STACK_TAKEN);
    ck_assert_uint_eq(dump->stopped, 0);
    uint64_t cpu_ns = dump->threads[0].cpu_ns;
    dump_discard(&dump);
    dump = dump_of(child.pid);
    ck_assert_int_eq(dump->threads[0].state, 'T');
    ck_assert_uint_eq(dump->threads[0].cpu_ns, cpu_ns);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

struct traced {
    pid_t pid;
};

static void trace(int out, const void *context)
{
    const struct traced *traced = context;
    say(out, ptrace(PTRACE_SEIZE, traced->pid, NULL, NULL) == 0 ? 0 : errno);
    pause();
}

START_TEST(who_is_traced_by_another_is_left_alone)
{
    struct child child = child_start(spin, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    const struct traced traced = {child.pid};
    struct child tracer = child_start(trace, &traced);
    ck_assert(child_says(&tracer, &value, (int)support_deadline_ms()));
    ck_assert_msg(value == 0, "no test without ptrace: %s", strerror(value));
    struct dump *dump = dump_of(child.pid);
    ck_assert_int_eq(dump->threads[0].fate, DUMP_STACK_TRACED);
    ck_assert_uint_eq(dump->threads[0].tracer, (uint32_t)tracer.pid);
    dump_discard(&dump);
    child_end(&tracer);
    child_end(&child);
}
END_TEST

#ifdef __x86_64__
/* A stack pointer that leads nowhere is the program's business. */
static void stack_nowhere(int out, const void *context)
{
    say(out, 1);
    if (*(const int *)context == 0)
        __asm__ volatile("mov $64, %%rsp\n1: jmp 1b" ::: "memory");
    else
        __asm__ volatile("mov $64, %%rsp\n1: mov $34, %%eax\nsyscall\njmp 1b" ::: "memory");
    __builtin_unreachable();
}

START_TEST(what_cannot_be_read_is_not_called_refused)
{
    const int sleeps = _i;
    struct child child = child_start(stack_nowhere, &sleeps);
    struct awaited_call call = {child.pid, SYS_pause};
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    if (sleeps)
        ck_assert(wait_until(sleeps_in, &call, 0));
    /* Still in `say`; or so short of a CPU that it does not stop in time, as it is told then. */
    enum dump_stack_fate fate = DUMP_STACK_TAKEN;
    for (uint64_t until = soon();
         (fate == DUMP_STACK_TAKEN || fate == DUMP_STACK_LATE) && clock_monotonic_ns() < until;) {
        struct dump *dump = dump_of(child.pid);
        fate = dump->threads[0].fate;
        dump_discard(&dump);
    }
    ck_assert_int_eq(fate, DUMP_STACK_UNREADABLE);
    child_end(&child);
}
END_TEST
#endif

#define GROUPS 60000

static void in_many_groups(int out, const void *context)
{
    static gid_t groups[GROUPS];
    (void)context;
    for (gid_t i = 0; i < GROUPS; i++)
        groups[i] = 100000 + i;
    int status = setgroups(GROUPS, groups);
    for (int i = 0; i < 20; i++)
        (void)poll(NULL, 0, 1);
    say(out, status);
    pause();
}

START_TEST(switches_are_counted_behind_any_number_of_groups)
{
    if (geteuid() != 0)
        return;
    struct child child = child_start(in_many_groups, NULL);
    struct awaited_call call = {child.pid, SYS_pause};
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    ck_assert_int_eq(value, 0);
    ck_assert(wait_until(sleeps_in, &call, 0));
    struct dump *dump = dump_of(child.pid);
    ck_assert_uint_ge(dump->threads[0].voluntary, 20);
    ck_assert_uint_eq(dump->threads[0].inner_tid, (uint32_t)child.pid);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

static void exec_when_told(int out, const void *context)
{
    int pipes[2];
    (void)context;
    if (pipe(pipes) != 0)
        _exit(3);
    say(out, 1);
    dup2(pipes[0], 0);
    signal(SIGUSR1, SIG_IGN);
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    int got;
    sigwait(&usr2, &got);
    execlp("cat", "cat", (char *)NULL);
    _exit(6);
}

static bool is_cat(void *context)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", *(const pid_t *)context);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && strcmp(name, "cat\n") == 0;
}

START_TEST(another_program_is_told_from_the_one_before)
{
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    struct child child = child_start(exec_when_told, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    const struct dump_program before = dump_program((uint32_t)child.pid);
    const struct dump_program same = dump_program((uint32_t)child.pid);
    ck_assert_uint_ne(before.stack_begin, 0);
    ck_assert_mem_eq(&before, &same, sizeof before);
    ck_assert_int_eq(kill(child.pid, SIGUSR2), 0);
    ck_assert(wait_until(is_cat, &child.pid, 0));
    const struct dump_program after = dump_program((uint32_t)child.pid);
    ck_assert_mem_ne(&before, &after, sizeof before);
    child_end(&child);
}
END_TEST

/* As another user, without a capability. */
static void dump_without_rights(int out, const void *context)
{
    const pid_t *pids = context;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        _exit(7);
    for (int i = 0; i < 2; i++) {
        struct dump *dump;
        if (dump_try(pids[i], &dump) != SKEIN_OK)
            _exit(8);
        say(out, dump->count == 1 ? (int)dump->threads[0].fate : -1);
        say(out, dump->count == 1 ? dump->threads[0].state : -1);
        dump_discard(&dump);
    }
}

START_TEST(who_may_not_look_says_so)
{
    if (geteuid() != 0)
        return; /* the user's own processes are his to look at */
    struct child spinning = child_start(spin, NULL);
    struct child sleeping = child_start(make_call, &blockings[0]);
    struct awaited_call call = {sleeping.pid, blockings[0].number};
    int value;
    ck_assert(child_says(&spinning, &value, (int)support_deadline_ms()));
    ck_assert(wait_until(sleeps_in, &call, 0));
    const pid_t pids[2] = {spinning.pid, sleeping.pid};
    struct child other = child_start(dump_without_rights, pids);
    for (int i = 0; i < 2; i++) {
        ck_assert(child_says(&other, &value, (int)support_deadline_ms()));
        ck_assert_int_eq(value, DUMP_STACK_REFUSED);
        ck_assert(child_says(&other, &value, (int)support_deadline_ms()));
        ck_assert_int_eq(value, i == 0 ? 'R' : 'S'); /* what anybody may see is there */
    }
    child_end(&other);
    child_end(&sleeping);
    child_end(&spinning);
}
END_TEST

static void end_at_once(int out, const void *context)
{
    (void)out, (void)context;
}

START_TEST(a_zombie_has_no_stack)
{
    struct child child = child_start(end_at_once, NULL);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    struct dump *dump = dump_of(child.pid);
    ck_assert_int_eq(dump->threads[0].state, 'Z');
    ck_assert_int_eq(dump->threads[0].fate, DUMP_STACK_ENDED);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

/* ---- who comes and goes ---- */

static void *thread_brief(void *context)
{
    return context;
}

static void *threads_churn(void *context)
{
    for (;;) {
        pthread_t thread;
        void *back;
        if (pthread_create(&thread, NULL, thread_brief, context) != 0 ||
            pthread_join(thread, &back) != 0 || back != context)
            _exit(10);
    }
    return NULL;
}

/* Threads that end, children by vfork, and a child that stops and goes on. */
static void churn(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, threads_churn, NULL);
    for (;;) {
        int status;
        pid_t pid = vfork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(11);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            _exit(12);
    }
}

/* As a shell does: to be told when its child ends, stops, or goes on. */
static void watch_churn(int out, const void *context)
{
    int status = 0;
    (void)context;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_DFL); /* check has it otherwise */
        churn();
    }
    say(out, (int)pid);
    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED | WCONTINUED);
        say(out, got == pid ? status : -1);
    }
}

static size_t descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

START_TEST(who_comes_and_goes_does_not_notice)
{
    struct child child = child_start(watch_churn, NULL);
    int pid, status = 0;
    ck_assert(child_says(&child, &pid, (int)support_deadline_ms()));
    size_t before = descriptors(), stopped = 0, taken = 0;
    uint64_t until = soon();
    for (int round = 0; clock_monotonic_ns() < until && (round < 300 || stopped < 50); round++) {
        struct dump *dump = dump_of(pid);
        ck_assert_uint_eq(dump->fates[DUMP_STACK_REFUSED] + dump->fates[DUMP_STACK_TRACED], 0);
        stopped += dump->stopped;
        taken += dump->fates[DUMP_STACK_TAKEN];
        dump_discard(&dump);
        ck_assert_msg(!child_says(&child, &status, 0), "its parent was told 0x%x", status);
    }
    ck_assert_uint_ge(stopped, 50);
    ck_assert_uint_gt(taken, 0);
    ck_assert_uint_eq(descriptors(), before);
    /* What its parent is to be told comes through. */
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert(child_says(&child, &status, (int)support_deadline_ms()));
    ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    struct dump *dump = dump_of(pid);
    dump_discard(&dump);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    ck_assert(child_says(&child, &status, (int)support_deadline_ms()));
    ck_assert(WIFCONTINUED(status));
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert(child_says(&child, &status, (int)support_deadline_ms()));
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    child_end(&child);
}
END_TEST

/* ---- many threads ---- */

#define MANY 600

static void *thread_wait(void *context)
{
    (void)context;
    pause();
    return NULL;
}

static void threads_many(int out, const void *context)
{
    (void)context;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < MANY - 1; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, thread_wait, NULL) != 0)
            _exit(9);
    }
    say(out, 1);
    pause();
}

static bool all_sleep(void *context)
{
    struct dump *dump = dump_of(*(const pid_t *)context);
    size_t asleep = 0;
    for (size_t i = 0; i < dump->count; i++)
        asleep += dump->threads[i].call == SYS_pause;
    dump_discard(&dump);
    return asleep == MANY;
}

START_TEST(of_many_threads_some_have_no_stack_and_are_counted)
{
    struct child child = child_start(threads_many, NULL);
    int value;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    ck_assert(wait_until(all_sleep, &child.pid, 0));
    struct dump *dump = dump_of(child.pid);
    ck_assert_uint_eq(dump->count, MANY);
    ck_assert_uint_eq(dump->left_out, 0);
    ck_assert_uint_eq(dump->fates[DUMP_STACK_TAKEN], DUMP_STACKS_MAX);
    ck_assert_uint_eq(dump->fates[DUMP_STACK_BEYOND], MANY - DUMP_STACKS_MAX);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

/* ---- locks ---- */

static pthread_mutex_t locks[2];
static pthread_barrier_t both_hold;
static int told;
static bool inheriting; /* the kernel itself refuses a deadlock of these: the first just holds */

static void *lock_both(void *context)
{
    int first = (int)(intptr_t)context;
    pthread_mutex_lock(&locks[first]);
    if (first == 0)
        say(told, (int)gettid());
    pthread_barrier_wait(&both_hold);
    if (first == 1)
        say(told, (int)gettid());
    if (first == 0 && inheriting)
        pthread_barrier_wait(&both_hold);  /* for ever */
    pthread_mutex_lock(&locks[1 - first]); /* for ever */
    return NULL;
}

static void deadlock(int out, const void *context)
{
    pthread_mutexattr_t kind;
    pthread_t thread[2];
    pthread_mutexattr_init(&kind);
    int which = *(const int *)context;
    if (which == 1)
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    inheriting = which == 2;
    if (inheriting)
        pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    told = out;
    pthread_barrier_init(&both_hold, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&locks[i], &kind);
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, lock_both, (void *)i);
    pthread_join(thread[0], NULL);
}

static bool all_in_futex(void *context)
{
    struct dump *dump = dump_of(*(const pid_t *)context);
    size_t waiting = 0;
    for (size_t i = 0; i < dump->count; i++)
        waiting += dump->threads[i].call == SYS_futex;
    dump_discard(&dump);
    return waiting == 3;
}

/* The three kinds: plain, robust, priority inheritance. */
START_TEST(a_deadlock_names_who_holds_what)
{
    const int which = _i;
    struct child child = child_start(deadlock, &which);
    int one, other;
    ck_assert(child_says(&child, &one, (int)support_deadline_ms()));
    ck_assert(child_says(&child, &other, (int)support_deadline_ms()));
    ck_assert(wait_until(all_in_futex, &child.pid, 0));
    struct dump *dump = dump_of(child.pid);
    const int tids[2] = {one, other};
    for (int i = which == 2 ? 1 : 0; i < 2; i++) {
        const struct dump_thread *thread = thread_of(dump, (uint32_t)tids[i]);
        ck_assert_str_eq(thread->waits_for != NULL ? thread->waits_for : "?", "mutex");
        ck_assert_uint_eq(thread->holder, (uint32_t)tids[1 - i]);
        ck_assert(thread->object == (uintptr_t)&locks[0] || thread->object == (uintptr_t)&locks[1]);
    }
    /* The main thread waits for the first one's end. */
    const struct dump_thread *main_thread = thread_of(dump, (uint32_t)child.pid);
    ck_assert_str_eq(main_thread->waits_for != NULL ? main_thread->waits_for : "?", "thread");
    ck_assert_uint_eq(main_thread->holder, (uint32_t)one);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

/* In a pid namespace the program knows its threads by other numbers. */
static void deadlock_within(int out, const void *context)
{
    if (unshare(CLONE_NEWPID) != 0)
        _exit(3);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        deadlock(out, context);
    }
    say(out, (int)pid);
    pause();
}

START_TEST(a_deadlock_in_a_namespace_is_told_by_the_hosts_numbers)
{
    if (geteuid() != 0)
        return;
    const int plain = 0;
    struct child child = child_start(deadlock_within, &plain);
    int said[3], pid = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert(child_says(&child, &said[i], (int)support_deadline_ms()));
        pid = said[i] > 3 ? said[i] : pid; /* the two others are 2 and 3 */
    }
    ck_assert(wait_until(all_in_futex, &pid, 0));
    struct dump *dump = dump_of(pid);
    size_t mutexes = 0, ends = 0;
    for (size_t i = 0; i < dump->count; i++) {
        const struct dump_thread *thread = &dump->threads[i];
        ck_assert(thread->waits_for != NULL);
        const struct dump_thread *holder = thread_of(dump, thread->holder);
        ck_assert_uint_ne(thread->tid, thread->holder);
        mutexes += strcmp(thread->waits_for, "mutex") == 0 && holder->holder == thread->tid;
        ends += strcmp(thread->waits_for, "thread") == 0 && thread->tid == (uint32_t)pid;
    }
    ck_assert_uint_eq(mutexes, 2);
    ck_assert_uint_eq(ends, 1);
    dump_discard(&dump);
    child_end(&child);
}
END_TEST

/* Threads that hold one of two mutexes at a time: no circle can be. */
static void *take_turns(void *context)
{
    unsigned which = (unsigned)(uintptr_t)context;
    for (;;) {
        which = which * 1103515245 + 12345;
        pthread_mutex_t *lock = &locks[which >> 16 & 1];
        const struct timespec moment = {.tv_nsec = (long)(which >> 17 & 1) * 20000 + 1000};
        pthread_mutex_lock(lock);
        nanosleep(&moment, NULL);
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

static void contend(int out, const void *context)
{
    (void)context;
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (uintptr_t i = 0; i < 12; i++)
        pthread_create(&thread, NULL, take_turns, (void *)i);
    say(out, 1);
    pause();
}

/* Follows holders as far as there are threads. */
static bool in_circle(const struct dump *dump, const struct dump_thread *from)
{
    const struct dump_thread *at = from;
    for (size_t i = 0; i < dump->count && at->waits_for != NULL; i++) {
        at = thread_of(dump, at->holder);
        if (at == from)
            return true;
    }
    return false;
}

START_TEST(no_deadlock_is_named_where_there_is_none)
{
    struct child child = child_start(contend, NULL);
    int value;
    size_t waits = 0;
    ck_assert(child_says(&child, &value, (int)support_deadline_ms()));
    uint64_t until = soon();
    for (int round = 0; round < 400 || (waits == 0 && clock_monotonic_ns() < until); round++) {
        struct dump *dump = dump_of(child.pid);
        for (size_t i = 0; i < dump->count; i++) {
            waits += dump->threads[i].waits_for != NULL;
            ck_assert_msg(!in_circle(dump, &dump->threads[i]), "round %d", round);
        }
        dump_discard(&dump);
    }
    ck_assert_uint_gt(waits, 0);
    child_end(&child);
}
END_TEST

/* ---- memory that does not answer ---- */

/* A page that nobody ever fills: who touches it waits. NULL: this machine does not let us. */
static uint8_t *page_hanging(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    const int rights = PROT_READ | PROT_WRITE;
    void *page = mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || page == MAP_FAILED)
        return NULL;
    struct uffdio_register whole = {.range = {.start = (uintptr_t)page, .len = 4096},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    return ioctl(fd, UFFDIO_REGISTER, &whole) == 0 ? page : NULL;
}

/* With its stack on such a page: sleeps in a call, or runs, and never touches it. */
static void stand_on_hanging(int out, const void *context)
{
    const bool runs = *(const bool *)context;
    const uint8_t *page = page_hanging();
    say(out, page != NULL);
#ifdef __x86_64__
    if (page != NULL && runs)
        __asm__ volatile("mov %0, %%rsp\n1: pause\n jmp 1b" ::"r"(page + 2048));
    else if (page != NULL)
        __asm__ volatile("mov %0, %%rsp\n1: mov %1, %%eax\n syscall\n jmp 1b" ::"r"(page + 2048),
                         "i"(SYS_pause)
                         : "rax", "rcx", "r11", "memory");
#else
    (void)runs;
#endif
    for (;;)
        pause();
}

static bool hanging_start(bool runs, struct child *child)
{
    int can = 0;
    *child = child_start(stand_on_hanging, &runs);
    ck_assert(child_says(child, &can, (int)support_deadline_ms()));
    return can != 0;
}

START_TEST(a_stack_that_does_not_answer_holds_up_nobody)
{
#ifdef __x86_64__
    struct child child, other = child_start(make_call, &blockings[0]);
    struct awaited_call paused, blocked = {other.pid, blockings[0].number};
    ck_assert(wait_until(sleeps_in, &blocked, 0));
    if (hanging_start(false, &child)) {
        paused = (struct awaited_call){child.pid, SYS_pause};
        ck_assert(wait_until(sleeps_in, &paused, 0));
        uint64_t given_up = apart_given_up();
        struct dump *dump = dump_new((uint32_t)child.pid, clock_monotonic_ns());
        dump->deadline_ns += 50000000;
        ck_assert_int_eq(dump_run(&dump), SKEIN_TIMEOUT);
        ck_assert_ptr_null(dump);
        ck_assert_uint_eq(apart_given_up(), given_up + 1);
        ck_assert_int_eq(dump_try(child.pid, &dump), SKEIN_BUSY);
        dump_discard(&dump);
    }
    struct dump *dump = dump_of(other.pid);
    ck_assert_int_eq(thread_of(dump, (uint32_t)other.pid)->fate, DUMP_STACK_TAKEN);
    dump_discard(&dump);
    child_end(&child);
    child_end(&other);
#endif
}
END_TEST

START_TEST(who_runs_on_memory_that_does_not_answer_goes_on)
{
#ifdef __x86_64__
    struct child child;
    if (hanging_start(true, &child)) {
        struct dump *dump = dump_of(child.pid);
        while (dump->threads[0].fate != DUMP_STACK_HANGS) { /* not met, or not yet on that page */
            dump_discard(&dump);
            dump = dump_of(child.pid);
        }
        ck_assert_int_eq(dump->threads[0].state, 'R');
        const uint64_t cpu_ns = dump->threads[0].cpu_ns;
        struct dump_thread now = dump->threads[0];
        do { /* it was let go */
            dump->task = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
            ck_assert(dump_look(dump, &now));
            close(dump->task);
        } while (now.cpu_ns <= cpu_ns);
        ck_assert_uint_eq(now.tracer, 0);
        dump_discard(&dump);
    }
    child_end(&child);
#endif
}
END_TEST

/* ---- stacks ---- */

/* Compiled with frame pointers, as all of this program: of a thread that sleeps, the frame pointer
 * has to be found. */
static __attribute__((noinline, section("hold_text"))) long hold_here(int depth)
{
    long result = depth > 0 ? hold_here(depth - 1) : call_epoll_wait();
    __asm__ volatile("" : "+r"(result)); /* the call is not the last thing, nor made a loop */
    return result;
}
extern const char __start_hold_text[], __stop_hold_text[];

#define DEPTH 5

static void hold(int out, const void *context)
{
    (void)context;
    say(out, (int)hold_here(DEPTH));
}

/* Frames of a stack that lie in the section. */
static unsigned frames_within(const struct partition_stack *stack, const char *from, const char *to)
{
    unsigned within = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t address = partition_stack_address(stack, i);
        within += address >= (uintptr_t)from && address < (uintptr_t)to;
    }
    return within;
}

static uint64_t minute_ahead(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec + 60) * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Asks the source, as an agent does, and gives the stack of the child's one thread. */
static void stack_check(const struct child *child, struct symbolizer *symbolizer, const char *from,
                        const char *to, unsigned frames)
{
    struct process *process;
    struct evidence_out *out;
    struct evidence_note note = {.state = EVIDENCE_NONE};
    struct partition_info info = {.host = "", .service = "", .labels = "", .exe = ""};
    struct partition_writer *writer;
    struct partition_stack stack = {.count = 0};
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    process->pid = (uint32_t)child->pid;
    const struct evidence_ask ask = {
        .process = process, .deadline_ns = minute_ahead(), .symbolizer = symbolizer};
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    thread_dump_source.collect(NULL, &ask, out, &note);
    ck_assert_msg(note.state == EVIDENCE_TAKEN, "%s", note.why);
    ck_assert_int_eq(evidence_out_pour(out, &info, 1, 2, &writer), SKEIN_OK);
    ck_assert(partition_writer_stack_at(writer, 1, &stack));
    ck_assert_uint_eq(frames_within(&stack, from, to), frames);
    ck_assert((stack.end & PARTITION_STACK_EXACT) != 0);
    partition_writer_free(&writer);
    evidence_out_free(&out);
    process_unref(&process);
}

START_TEST(a_stack_leads_through_all_callers)
{
    struct symbolizer *symbolizer;
    const struct symbolizer_settings settings = {.program = SKEIN_SYMBOLIZER, .hang_ms = 60000};
    ck_assert_int_eq(symbolizer_new(&settings, &symbolizer), SKEIN_OK);
    struct child holding = child_start(hold, NULL);
    struct awaited_call call = {holding.pid, SYS_epoll_wait};
    int value;
    ck_assert(wait_until(sleeps_in, &call, 0));
    stack_check(&holding, symbolizer, __start_hold_text, __stop_hold_text, DEPTH + 1);
    ck_assert(!child_says(&holding, &value, 0));
    child_end(&holding);
    ck_assert(symbolizer_free(&symbolizer));
}
END_TEST

/* What the source says of a child whose stack is copied, and not walked. */
static void unwalked_check(struct symbolizer *symbolizer, const char *why)
{
    struct child holding = child_start(hold, NULL);
    struct awaited_call call = {holding.pid, SYS_epoll_wait};
    struct process *process;
    struct evidence_out *out;
    struct evidence_note note = {.state = EVIDENCE_NONE};
    ck_assert(wait_until(sleeps_in, &call, 0));
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    process->pid = (uint32_t)holding.pid;
    const struct evidence_ask ask = {
        .process = process, .deadline_ns = minute_ahead(), .symbolizer = symbolizer};
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    thread_dump_source.collect(NULL, &ask, out, &note);
    ck_assert_int_eq(note.state, EVIDENCE_PARTIAL);
    ck_assert_str_eq(note.why, why);
    evidence_out_free(&out);
    process_unref(&process);
    child_end(&holding);
}

START_TEST(stacks_that_nobody_walks_are_named)
{
    unwalked_check(NULL, "1 thread; stacks of 1 not walked: no symbolizer");
}
END_TEST

/* It is given the memory that it may have, and sleeps for as many seconds. */
START_TEST(a_symbolizer_that_hangs_is_named)
{
    struct symbolizer *symbolizer;
    const struct symbolizer_settings settings = {.program = "/usr/bin/sleep", .hang_ms = 100};
    ck_assert_int_eq(symbolizer_new(&settings, &symbolizer), SKEIN_OK);
    unwalked_check(symbolizer, "1 thread; stacks of 1 not walked: "
                               "the symbolizer has died, or hung, of late");
    ck_assert(symbolizer_free(&symbolizer));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread dump");
    TCase *t = tcase_create("calls");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_blocked_system_call_does_not_notice, 0,
                        (int)(sizeof blockings / sizeof blockings[0]));
    suite_add_tcase(suite, t);
    t = tcase_create("threads");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, who_goes_to_sleep_does_not_notice);
    tcase_add_test(t, a_signal_that_is_handled_ends_the_call);
    tcase_add_test(t, state_and_stack_are_of_one_moment);
    tcase_add_test(t, who_runs_is_stopped_and_goes_on);
    tcase_add_test(t, a_stopped_process_stays_stopped);
    tcase_add_test(t, who_is_traced_by_another_is_left_alone);
#ifdef __x86_64__
    tcase_add_loop_test(t, what_cannot_be_read_is_not_called_refused, 0, 2);
#endif
    tcase_add_test(t, switches_are_counted_behind_any_number_of_groups);
    tcase_add_test(t, another_program_is_told_from_the_one_before);
    tcase_add_test(t, who_may_not_look_says_so);
    tcase_add_test(t, a_zombie_has_no_stack);
    tcase_add_test(t, who_comes_and_goes_does_not_notice);
    tcase_add_test(t, of_many_threads_some_have_no_stack_and_are_counted);
    tcase_add_loop_test(t, a_deadlock_names_who_holds_what, 0, 3);
    tcase_add_test(t, a_deadlock_in_a_namespace_is_told_by_the_hosts_numbers);
    tcase_add_test(t, no_deadlock_is_named_where_there_is_none);
    tcase_add_test(t, a_stack_that_does_not_answer_holds_up_nobody);
    tcase_add_test(t, who_runs_on_memory_that_does_not_answer_goes_on);
    tcase_add_test(t, a_stack_leads_through_all_callers);
    tcase_add_test(t, stacks_that_nobody_walks_are_named);
    tcase_add_test(t, a_symbolizer_that_hangs_is_named);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
