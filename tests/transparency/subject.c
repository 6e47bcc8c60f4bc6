/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that do what a tracer is most likely to be in the way of: subject NAME. Each prints what
 * it finds and ends with a status of its own; transparency.py compares that with a run alone. One
 * thread, but where the case is threads.
 */
#include "subject_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Long enough for a tracer to have come, however late it comes. */
static void grow_old(void)
{
    const struct timespec some = {0, 30 * 1000 * 1000};
    for (int i = 0; i < 4; i++)
        nanosleep(&some, NULL);
}

static void say(const char *text)
{
    ssize_t n = write(1, text, strlen(text));
    (void)n;
}

static int numbers(void)
{
    int odd = 0;
    for (int i = 0; i < 300; i++) {
        close(0);
        odd += open("/dev/null", O_RDONLY) != 0;
        int pair[2];
        if (pipe(pair) || pair[0] != 3 || pair[1] != 4)
            odd++;
        close(pair[0]);
        close(pair[1]);
        usleep(300);
    }
    printf("odd %d\n", odd);
    return odd != 0;
}

static int closer(void)
{
    grow_old();
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    int fd = open("out.txt", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    char text[64];
    int n = snprintf(text, sizeof text, "number %d\n", fd);
    n = (int)write(fd, text, (size_t)n);
    grow_old();
    return n > 0 ? 7 : 8;
}

static int close_range_all(void)
{
    grow_old();
    syscall(SYS_close_range, 0, ~0u, 0);
    int a = open("a.txt", O_CREAT | O_RDWR, 0600), b = dup(a), c = socket(AF_UNIX, SOCK_STREAM, 0);
    dprintf(a, "%d %d %d\n", a, b, c);
    return a * 100 + b * 10 + c;
}

/* As daemons do it; the grandchild's word comes by a file. */
static int twice(void)
{
    int pair[2];
    char c;
    if (pipe(pair) || fork() != 0) {
        close(pair[1]);
        int n = (int)read(pair[0], &c, 1);
        wait(NULL);
        printf("heard %d\n", n);
        return 0;
    }
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; fd < 64; fd++)
        if (fd != pair[1])
            close(fd);
    grow_old();
    int fd = open("daemon.txt", O_CREAT | O_WRONLY, 0600);
    dprintf(fd, "I have %d\n", fd);
    c = 'x';
    return write(pair[1], &c, 1) == 1 ? 0 : 1;
}

static int libc_daemon(void)
{
    int pair[2];
    char c = 'x';
    if (pipe(pair) == 0 && fork() == 0) {
        if (daemon(1, 0))
            _exit(1);
        grow_old();
        _exit(write(pair[1], &c, 1) == 1 ? 0 : 1);
    }
    close(pair[1]);
    int n = (int)read(pair[0], &c, 1);
    wait(NULL);
    printf("heard %d\n", n);
    return 0;
}

/* A line of each thread's status; one that differs from the first thread's is printed. */
static void threads_compare(const char *key)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    char first[200] = "", line[200], name[300];
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "/proc/self/task/%.20s/status", entry->d_name);
        FILE *file = fopen(name, "r");
        while (file && fgets(line, sizeof line, file))
            if (!strncmp(line, key, strlen(key))) {
                if (!first[0])
                    strcpy(first, line);
                else if (strcmp(first, line) != 0)
                    printf("one thread has %s", line);
            }
        if (file)
            fclose(file);
    }
    closedir(folder);
    printf("%s", first);
}

static int dropper(void)
{
    grow_old();
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
        printf("not root: %d\n", errno);
    for (int i = 0; i < 50; i++)
        usleep(3000);
    static const char *const keys[] = {"Uid",    "Gid",    "Groups", "CapEff",
                                       "CapPrm", "CapInh", "CapAmb"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        threads_compare(keys[i]);
    printf("setuid back: %d\n", setuid(0));
    return 0;
}

static int no_new_privs(void)
{
    grow_old();
    printf("%d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    threads_compare("NoNewPrivs");
    return 0;
}

static int new_user(void)
{
    grow_old();
    printf("unshare %d\n", unshare(CLONE_NEWUSER) ? errno : 0);
    printf("uid %d\n", getuid() == 65534);
    return 0;
}

static int new_user_raw(void)
{
    grow_old();
    printf("unshare %d\n", syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) ? errno : 0);
    return 0;
}

static long threads_now(void)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = '\0';
    if (file)
        fclose(file);
    long count = -1;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 20; field++) /* the 20th */
        at = strchr(at + 1, ' ');
    if (at)
        count = strtol(at, NULL, 10);
    return count;
}

/* As Python does since 3.12: looks how many threads it has, just after each fork. */
static int forker(void)
{
    for (int i = 0; i < 40; i++) {
        usleep(20000);
        pid_t pid = fork();
        if (pid == 0)
            _exit(threads_now() == 1 ? 0 : 1);
        long threads = threads_now();
        int status = 0;
        waitpid(pid, &status, 0);
        if (threads != 1 || status)
            printf("round %d: %ld threads, child %d\n", i, threads, status);
    }
    return 0;
}

static int raw_forker(void)
{
    grow_old();
    for (int i = 0; i < 20; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            usleep(1000);
            printf("child %ld\n", threads_now());
            fflush(stdout);
            _exit(i);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        printf("%d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
    return 0;
}

static int vforker(void)
{
    grow_old();
    for (int i = 0; i < 50; i++) {
        int status = -1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        pid_t pid = vfork();
#pragma GCC diagnostic pop
        if (pid == 0) {
            /* It shares our memory: that it may trace is what is tested.
             * NOLINTNEXTLINE(clang-analyzer-unix.Vfork): the rule forbids just that */
            say("child\n");
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        waitpid(pid, &status, 0);
        if (status)
            printf("round %d: %d\n", i, status);
    }
    return 0;
}

/* ---- sandboxes ---- */

#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What a cautious program leaves itself: no mmap, no clock, no clone, no futex. */
static int tight(bool by_syscall, bool young)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(write),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (!young)
        grow_old();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 2;
    if (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 3;
    int from = 0;
    for (int i = 0; i < 20000; i++) {
        char c;
        from += (int)read(0, &c, 1);
        (void)!write(3, &c, 0);
    }
    say("survived\n");
    _exit(5 + from);
}

/* As sandboxes look whether they may begin: in each way that there is. */
static int tasks(void)
{
    struct stat about;
    struct statx more;
    int proc = open("/proc", O_DIRECTORY | O_RDONLY);
    for (int way = 0; way < 5; way++) {
        int count = -2;             /* "." and ".." */
        for (int i = 0; i < 9; i++) /* time for a tracer to come back */
            grow_old();
        DIR *folder = way == 3   ? opendir("/proc/self/task")
                      : way == 4 ? fdopendir(openat(proc, "self/task/", O_DIRECTORY | O_RDONLY))
                                 : NULL;
        while (folder && readdir(folder))
            count++;
        if (folder)
            closedir(folder);
        else if (way == 2)
            count = statx(proc, "self/task/", 0, STATX_NLINK, &more) ? -1 : (int)more.stx_nlink - 2;
        else
            count = (way ? fstatat(proc, "self/task/", &about, 0) : stat("/proc/self/task", &about))
                        ? -1
                        : (int)about.st_nlink - 2;
        printf("%d: %d\n", way, count);
    }
    return stat((const char *)1, &about) == 0 || errno != EFAULT;
}

/* As a service manager starts who needs no powers: without any, and asking for some is the end. */
static int powerless(void)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (setgid(54323) || setuid(54323) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            _exit(2);
        execl("/bin/sh", "sh", "-c", "for i in 1 2 3; do sleep 0.05; done; exit 4", NULL);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("%x\n", (unsigned)status);
    return 0;
}

static int tight_prctl(void)
{
    return tight(false, false);
}
static int tight_syscall(void)
{
    return tight(true, false);
}
static int tight_young(void)
{
    return tight(false, true);
}

static int strict(void)
{
    grow_old();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return 2;
    for (int i = 0; i < 1000; i++) {
        char c;
        (void)!read(0, &c, 1);
    }
    say("survived\n");
    syscall(SYS_exit, 6);
    return 9;
}

static void *strict_thread(void *unused)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    say("one of two\n");
    syscall(SYS_exit, 0);
    return unused;
}

static int strict_beside(void)
{
    pthread_t thread;
    grow_old();
    pthread_create(&thread, NULL, strict_thread, NULL);
    grow_old();
    pthread_join(thread, NULL); /* it ends also where strict mode has killed it */
    say("the other\n");
    return 4;
}

static int no_tsc(void)
{
#ifdef __x86_64__
    grow_old();
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
        return 2;
    for (int i = 0; i < 1000; i++) {
        char c;
        (void)!read(0, &c, 1);
    }
#endif
    say("survived\n");
    _exit(3);
}

/* ---- limits, signals, threads ---- */

static int signals(void)
{
    sigset_t mask, pending;
    grow_old();
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGURG);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGURG);
    grow_old();
    sigpending(&pending);
    int got = 0, which;
    printf("%d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGURG));
    sigwait(&mask, &which);
    got += which;
    sigwait(&mask, &which);
    printf("%d\n", got + which);
    return 0;
}

static void on_alarm(int signal)
{
    (void)signal;
}

static int interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    int pair[2];
    char c;
    if (pipe(pair))
        return 1;
    for (int i = 0; i < 3; i++) {
        ualarm(30000, 0);
        printf("%zd %d\n", read(pair[0], &c, 1), errno == EINTR);
        ualarm(30000, 0);
        struct timespec long_time = {10, 0};
        printf("%d %d\n", nanosleep(&long_time, NULL), errno == EINTR);
    }
    return 0;
}

/* Whether the process sleeps in a wait for descriptors. */
static bool is_waiting(pid_t pid)
{
    static const long waits[] = {
#ifdef SYS_poll
        SYS_poll, SYS_epoll_wait,
#endif
        SYS_epoll_pwait, SYS_ppoll};
    char path[64], line[128] = "";
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    FILE *file = fopen(path, "r");
    bool is = file && fgets(line, sizeof line, file) && line[0] >= '0' && line[0] <= '9';
    if (file)
        fclose(file);
    for (size_t i = 0; is && i < sizeof waits / sizeof *waits; i++)
        if (strtol(line, NULL, 10) == waits[i])
            return true;
    return false;
}

static long us_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000000 + (now.tv_nsec - then->tv_nsec) / 1000;
}

static void alarmed_child(int i, long alarm_us)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval alarm_at = {{0, 0}, {0, alarm_us}};
    struct epoll_event event;
    sigaction(SIGALRM, &action, NULL);
    int fd = i % 2 ? epoll_create1(0) : -1;
    setitimer(ITIMER_REAL, &alarm_at, NULL);
    int ready = fd >= 0 ? epoll_wait(fd, &event, 1, -1) : poll(NULL, 0, -1);
    _exit(ready < 0 && errno == EINTR ? 0 : 1);
}

/* Whether its alarm ended its wait, within this time. It is gone then in any case. */
static bool was_woken(pid_t pid, long us)
{
    struct timespec begin;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t ended = waitpid(pid, &status, WNOHANG);
    while (ended == 0 && us_since(&begin) < us) {
        sched_yield();
        ended = waitpid(pid, &status, WNOHANG);
    }
    if (ended != 0)
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return false;
}

/* Children that wait for ever, each for an alarm at another moment: none that was seen to wait
 * before may miss it. Of one that a busy machine held up until then, nothing is to be said. */
static int alarmed(void)
{
    enum { SEEN = 300, TRIED = 3000, AT_ONCE = 30 };
    int seen = 0, woken = 0;
    for (int tried = 0; seen < SEEN && woken == seen && tried < TRIED; tried += AT_ONCE) {
        pid_t children[AT_ONCE];
        bool waits[AT_ONCE] = {false};
        for (int i = 0; i < AT_ONCE; i++) {
            long alarm_us = 59000 + (tried + i) % SEEN * 20;
            struct timespec begin;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            if ((children[i] = fork()) == 0)
                alarmed_child(i, alarm_us);
            while (!waits[i] && us_since(&begin) < 40000)
                waits[i] = is_waiting(children[i]) && us_since(&begin) < alarm_us;
        }
        for (int i = 0; i < AT_ONCE; i++) {
            bool was = was_woken(children[i], waits[i] && woken == seen ? 10000000 : 0);
            seen += waits[i];
            woken += waits[i] && was;
        }
    }
    printf("%s of those that were seen to wait missed its alarm\n", woken == seen ? "none" : "one");
    if (seen < SEEN && woken == seen)
        printf("only %d were seen to wait\n", seen);
    return 0;
}

static void *short_work(void *unused)
{
    return unused;
}

static int threads(void)
{
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_work, NULL) || pthread_join(thread, NULL))
            printf("round %d\n", i);
    }
    puts("done");
    return 0;
}

static int session(void)
{
    grow_old();
    printf("%d", setsid() < 0);
    printf(" %d\n", setpgid(0, 0) < 0);
    printf("children %d\n", waitpid(-1, NULL, __WALL | WNOHANG) < 0 ? errno : 0);
    return 0;
}

/* The program ends with its last thread, by the system call. */
static int last_call(void)
{
    grow_old();
    syscall(SYS_exit, 6);
    return 9;
}

static int last_instruction(void)
{
    grow_old();
#ifdef __x86_64__
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(7) : "rcx", "r11", "memory");
#endif
    return 9;
}

static void *thread_call(void *unused)
{
    grow_old();
    syscall(SYS_exit, 0);
    return unused;
}

static int last_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_call, NULL))
        return 1;
    syscall(SYS_exit, 4);
    return 9;
}

static volatile sig_atomic_t notices;

static void on_notice(int signal)
{
    (void)signal;
    notices++;
}

static int queue_notice(void)
{
    char name[64];
    const struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    snprintf(name, sizeof name, "/skein-subject-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
    signal(SIGUSR1, on_notice);
    printf("asked %d\n", queue < 0 ? errno : mq_notify(queue, &how));
    for (int i = 0; i < 11; i++) /* time for a tracer to come, and to come back */
        grow_old();
    mq_send(queue, "x", 1, 0);
    printf("heard %d\n", notices);
    mq_unlink(name);
    return 0;
}

/* A task beside the thread, made by hand: it has the thread's storage, too. */
static int beside(void *done)
{
    for (int i = 0; i < 20000; i++)
        (void)!write(1, "", 0);
    __atomic_store_n((int *)done, 1, __ATOMIC_SEQ_CST);
    return 7;
}

static int same_storage(void)
{
    static char memory[1 << 17];
    int done = 0, status = 0;
    char c;
    pid_t pid = clone(beside, memory + sizeof memory,
                      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, &done);
    for (int i = 0; i < 20000; i++)
        (void)!read(0, &c, 0);
    waitpid(pid, &status, 0);
    printf("%d %d\n", done, WEXITSTATUS(status));
    return 0;
}

static void *long_work(void *unused)
{
    grow_old();
    return unused;
}

/* All tasks that the user may have are the program's. */
static int c11_work(void *unused)
{
    return unused != NULL;
}

/* The loop's pipe is full, and the handler leaves its error number, as handlers do. */
static int full[2];

static void tell_loop(int signal)
{
    (void)signal;
    ssize_t n = write(full[1], "x", 1);
    (void)n;
}

static int system_once(void)
{
    struct sigaction action = {.sa_handler = tell_loop, .sa_flags = SA_RESTART};
    if (pipe2(full, O_NONBLOCK) || sigaction(SIGALRM, &action, NULL))
        return 1;
    while (write(full[1], "x", 1) == 1) {
    }
    /* NOLINTNEXTLINE(cert-env33-c): what is tested */
    int status = system("echo ran; kill -ALRM $PPID; exit 127");
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}

/* How many threads the kernel says there are. */
static int task_numbers(void)
{
    static const char *const paths[] = {"/proc/self/status", "/proc/self/stat"};
    char text[4096];
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 9; n++) /* time for a tracer to come, and to come back */
            grow_old();
        FILE *file = fopen(paths[i], "r");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        text[n] = '\0';
        const char *at = i ? strrchr(text, ')') : strstr(text, "Threads:");
        for (int field = 2; i && at && field < 20; field++)
            at = strchr(at + 1, ' ');
        printf("%s %ld\n", paths[i], at ? strtol(at + (i ? 1 : 8), NULL, 10) : -1);
        if (file)
            fclose(file);
    }
    return 0;
}

/* On one processor, with more right to it than a tracer that came before. What is waited for by
 * looking is seen in the thread's own time. */
static int realtime(void)
{
    struct sched_param right = {.sched_priority = 10};
    struct timespec used;
    grow_old();
    if (sched_setscheduler(0, SCHED_FIFO, &right))
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    printf("%s\n", used.tv_sec || used.tv_nsec > 300000000 ? "spins" : "forks");
    return 0;
}

/* Not by a name that is still to be bound: that takes more of the stack than all else. */
static ssize_t (*volatile const speak_by)(int, const void *, size_t) = write;

static void speak(int signal)
{
    (void)signal;
    ssize_t n = speak_by(1, "handled\n", 8);
    (void)n;
}

/* A handler's stack with little more than the kernel itself needs, and what lies below it. */
static int small_stack(void)
{
    static uint8_t memory[1 << 16];
    size_t bytes = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048, below = sizeof memory - bytes;
    stack_t stack = {.ss_sp = memory + below, .ss_size = bytes};
    struct sigaction action = {.sa_handler = speak, .sa_flags = SA_ONSTACK};
    int changed = 0;
    grow_old();
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
        return 1;
    raise(SIGUSR1);
    for (size_t i = 0; i < below; i++)
        changed += memory[i] != 0;
    printf("%d changed\n", changed);
    return changed != 0;
}

static int tasks_limit(void)
{
    const struct rlimit most = {4, 4};
    pthread_t made[8];
    int count = 0, error = 0;
    if (setgid(54321) || setuid(54321) || setrlimit(RLIMIT_NPROC, &most))
        return 1;
    for (int i = 0; i < 12; i++) /* time for a tracer to come back */
        grow_old();
    while (count < 8 && (error = pthread_create(&made[count], NULL, long_work, NULL)) == 0)
        count++;
    printf("%d threads, then %d\n", count, error);
    for (int i = 0; i < count; i++)
        pthread_join(made[i], NULL);
    return 0;
}

/* A child at a time, and no more. */
static int spawn_limit(void)
{
    const struct rlimit most = {2, 2};
    char *const arguments[] = {"/bin/true", NULL};
    thrd_t thread;
    if (setgid(54322) || setuid(54322) || setrlimit(RLIMIT_NPROC, &most))
        return 1;
    for (int call = 0; call < 5; call++) {
        pid_t child = 0;
        FILE *stream = NULL;
        int result = 0;
        for (int i = 0; i < 9; i++) /* time for a tracer to come back */
            grow_old();
        if (call < 2)
            result = (call ? posix_spawn : posix_spawnp)(&child, "/bin/true", NULL, NULL, arguments,
                                                         NULL);
        else if (call == 2)
            result = system("exit 3"); /* NOLINT(cert-env33-c): what is tested */
        else if (call == 3)
            result =
                (stream = popen("exit 4", "r")) ? pclose(stream) : -1; /* NOLINT(cert-env33-c) */
        else
            result = thrd_create(&thread, c11_work, NULL);
        printf("%d: %d\n", call, result);
        if (child)
            waitpid(child, NULL, 0);
        if (call == 4 && result == thrd_success)
            thrd_join(thread, NULL);
    }
    return 0;
}

/* Two stacks that a signal switches between, in the midst of waits, which so end in any order;
 * then jumps out of a handler. */
static ucontext_t sides[2];
static sigjmp_buf back;
static int side, ends[2][2], rounds[2];

static void switch_sides(int signal)
{
    (void)signal;
    int from = side;
    side = !from;
    swapcontext(&sides[from], &sides[side]);
}

static void jump_back(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void play(int own)
{
    char c;
    while (own == 1 || rounds[0] < 200 || rounds[1] < 200) {
        if (write(ends[own][1], "x", 1) == 1 && read(ends[own][0], &c, 1) == 1)
            rounds[own]++;
        struct pollfd wait = {ends[own][0], POLLIN, 0};
        kill(getpid(),
             SIGUSR2); /* blocked but while ppoll() waits: it ends there, on either side */
        const struct timespec time = {0, 1000};
        sigset_t none;
        sigemptyset(&none);
        (void)ppoll(&wait, 1, &time, &none);
    }
    raise(SIGUSR1); /* the other's wait, which began within the last one here, ends behind it */
    struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 50; i++)
        if (!sigsetjmp(back, 1))
            raise(SIGUSR1);
    say("jumped\n");
    _exit(5);
}

static int stacks(void)
{
    static char memory[2][1 << 17];
    struct sigaction action = {.sa_handler = switch_sides, .sa_flags = SA_NODEFER};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (pipe(ends[0]) || pipe(ends[1]) || sigaction(SIGUSR1, &action, NULL) ||
        sigaction(SIGUSR2, &action, NULL))
        return 1;
    for (int i = 0; i < 2; i++) {
        getcontext(&sides[i]);
        sides[i].uc_stack.ss_sp = memory[i];
        sides[i].uc_stack.ss_size = sizeof memory[i];
        makecontext(&sides[i], (void (*)(void))(uintptr_t)play, 1, i);
    }
    setcontext(&sides[0]);
    return 9;
}

/* A scheduler of a program's own takes a stack away in the midst of a wait, and gives it up. */
static ucontext_t scheduler, taken;

static void take_away(int signal)
{
    (void)signal;
    swapcontext(&taken, &scheduler);
}

static void wait_in_vain(void)
{
    char c;
    (void)!read(ends[0][0], &c, 1);
    say("read\n");
    _exit(1);
}

static int given_up(void)
{
    const size_t bytes = 1 << 18;
    struct sigaction action = {.sa_handler = take_away, .sa_flags = SA_NODEFER};
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || pipe(ends[0]) || sigaction(SIGALRM, &action, NULL))
        return 1;
    const struct itimerval soon = {.it_value.tv_usec = 100000};
    setitimer(ITIMER_REAL, &soon, NULL);
    getcontext(&taken);
    taken.uc_stack.ss_sp = memory;
    taken.uc_stack.ss_size = bytes;
    makecontext(&taken, wait_in_vain, 0);
    swapcontext(&scheduler, &taken);
    munmap(memory, bytes);
    if (!sigsetjmp(back, 1))
        siglongjmp(back, 1);
    say("jumped\n");
    return 5;
}

static const struct {
    const char *name;
    int (*run)(void);
} subjects[] = {
    {"numbers", numbers},
    {"closer", closer},
    {"close_range", close_range_all},
    {"twice", twice},
    {"daemon", libc_daemon},
    {"dropper", dropper},
    {"no_new_privs", no_new_privs},
    {"new_user", new_user},
    {"new_user_raw", new_user_raw},
    {"forker", forker},
    {"raw_forker", raw_forker},
    {"vforker", vforker},
    {"tasks", tasks},
    {"powerless", powerless},
    {"tight", tight_prctl},
    {"tight_syscall", tight_syscall},
    {"tight_young", tight_young},
    {"strict", strict},
    {"strict_beside", strict_beside},
    {"no_tsc", no_tsc},
    {"signals", signals},
    {"interrupted", interrupted},
    {"alarmed", alarmed},
    {"threads", threads},
    {"session", session},
    {"last_call", last_call},
    {"last_instruction", last_instruction},
    {"last_thread", last_thread},
    {"tasks_limit", tasks_limit},
    {"system_once", system_once},
    {"task_numbers", task_numbers},
    {"realtime", realtime},
    {"small_stack", small_stack},
    {"spawn_limit", spawn_limit},
    {"stacks", stacks},
    {"given_up", given_up},
    {"queue_notice", queue_notice},
    {"same_storage", same_storage},
    {"memory_locked", memory_locked},
    {"bad_pointers", bad_pointers},
    {"calls_in_handler", calls_in_handler},
    {"calls_in_children", calls_in_children},
    {"calls_in_threads", calls_in_threads},
    {"waits_of_all_kinds", waits_of_all_kinds},
    {"ends_exit", ends_exit},
    {"ends_abort", ends_abort},
    {"ends_assert", ends_assert},
    {"waits_on_small_stack", waits_on_small_stack},
    {"frames_astray", frames_astray},
    {"sandbox_by_hand", sandbox_by_hand},
    {"crash_plain", crash_plain},
    {"crash_thread", crash_thread},
    {"crash_caught", crash_caught},
    {"crash_barrier", crash_barrier},
    {"crash_once", crash_once},
    {"crash_logged", crash_logged},
    {"crash_blocked", crash_blocked},
    {"crash_ignored", crash_ignored},
    {"crash_deep", crash_deep},
    {"crash_deep_handled", crash_deep_handled},
    {"crash_deep_twice", crash_deep_twice},
    {"crash_abort", crash_abort},
    {"crash_abort_handled", crash_abort_handled},
    {"crash_trap", crash_trap},
    {"crash_killed", crash_killed},
    {"crash_bus", crash_bus},
    {"ends_by_status", ends_by_status},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof subjects / sizeof *subjects; i++)
        if (!strcmp(argv[1], subjects[i].name))
            return subjects[i].run();
    fprintf(stderr, "no such subject\n");
    return 99;
}
