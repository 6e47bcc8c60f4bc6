/* SPDX-License-Identifier: Apache-2.0
 *
 * Subjects whose stacks are hostile: hardly any is left, their frames lead astray, their code is
 * made at run time; and one whose own filter bars every system call that it does not make itself.
 */
#include "subject_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void nap(long ns)
{
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

/* Long enough for a tracer to have come, and for this thread's first event. */
static void grow_old(void)
{
    for (int i = 0; i < 4; i++)
        nap(30 * 1000 * 1000);
}

/* ---- a handler's stack with little more than the kernel itself needs ---- */

/* Not by names that are still to be bound: that takes more of the stack than all else. */
static int (*volatile const sleep_by)(const struct timespec *, struct timespec *) = nanosleep;
static int (*volatile const unlink_by)(const char *) = unlink;
static int (*volatile const rename_by)(const char *, const char *) = rename;
static int (*volatile const connect_by)(int, __CONST_SOCKADDR_ARG, socklen_t) = connect;
static volatile int step, answer, endpoint;

static void wait_in_handler(int signal)
{
    static const struct sockaddr_un nobody = {AF_UNIX, "/nonexistent/socket"};
    const struct timespec time = {0, 60 * 1000 * 1000};
    (void)signal;
    if (step == 0)
        answer = sleep_by(&time, NULL);
    else if (step == 1)
        answer = unlink_by("/nonexistent/file");
    else if (step == 2)
        answer = rename_by("/nonexistent/from", "/nonexistent/to");
    else
        answer = connect_by(endpoint, (const struct sockaddr *)&nobody, sizeof nobody);
}

/* The first wait of the process, and the first with a name, in a handler. */
int waits_on_small_stack(void)
{
    static uint8_t memory[1 << 16];
    const size_t bytes = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048, below = sizeof memory - bytes;
    const stack_t stack = {.ss_sp = memory + below, .ss_size = bytes};
    struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK};
    int wrong = 0;
    endpoint = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
        return 1;
    for (step = 0; step < 4; step++) {
        size_t changed = 0;
        memset(memory, 0, sizeof memory);
        raise(SIGUSR1);
        for (size_t i = 0; i < below; i++)
            changed += memory[i] != 0;
        printf("step %d: %d, %s\n", step, answer, changed ? "overflow" : "room");
        wrong += changed != 0;
    }
    return wrong;
}

/* ---- frames that lead astray ---- */

#if defined(__x86_64__)
typedef void leaf_fn(void);
void lead_astray(leaf_fn *leaf, uint64_t frame);

/* Without rules, and its frame pointer is any number. */
__asm__(".text\n"
        ".globl lead_astray\n.type lead_astray, @function\n"
        "lead_astray:\n"
        "push %rbp\nmov %rsi, %rbp\nsub $16, %rsp\ncall *%rdi\nadd $16, %rsp\npop %rbp\nret\n"
        ".size lead_astray, .-lead_astray\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");

static void short_wait(void)
{
    nap(1);
    (void)!access("/nonexistent", 0);
}

static void *astray(void *count)
{
    uint64_t frame[64], here = (uint64_t)(uintptr_t)frame;
    const uint64_t top = (uint64_t)(uintptr_t)pthread_self(), random = getauxval(AT_RANDOM);
    const uint64_t ways[] = {0,
                             8,
                             UINT64_MAX,
                             UINT64_MAX - 7,
                             top,
                             top - 8,
                             top - 16,
                             top + 8,
                             random,
                             (random & ~UINT64_C(7)) - 8,
                             (random & ~UINT64_C(7)) - 16,
                             here,
                             here + 4,
                             here - 8,
                             UINT64_C(0x7ffffffffff8),
                             UINT64_C(0xffffffffff600000),
                             (uint64_t)(uintptr_t)lead_astray};
    for (unsigned i = 0; i < 64; i++)
        frame[i] = here + (uint64_t)8 * (i * 7 % 64); /* also frames that lead to themselves */
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++, ++*(int *)count)
        lead_astray(short_wait, ways[i]);
    for (unsigned i = 0; i < 500; i++, ++*(int *)count) {
        frame[(i + 1) % 64] = here + (uint64_t)8 * (i * 13 % 64);
        frame[(i + 2) % 64] = (uint64_t)(uintptr_t)short_wait + i % 64;
        lead_astray(short_wait, here + (uint64_t)8 * (i * 5 % 60));
    }
    return NULL;
}

/* push %rbp; mov %rsp, %rbp; mov $FUNCTION, %rax; call *%rax; pop %rbp; ret */
static const uint8_t made_code[18] = {0x55, 0x48,        0x89, 0xe5, 0x48,
                                      0xb8, [14] = 0xff, 0xd0, 0x5d, 0xc3};

/* Each of many functions, of which nothing is left then, waits on a stack of its own. */
static int made_at_run_time(void)
{
    const size_t bytes = 1 << 16;
    const uint64_t leaf = (uint64_t)(uintptr_t)short_wait;
    int calls = 0;
    for (int round = 0; round < 2; round++) {
        uint8_t *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED)
            return -1;
        for (uint8_t *to = code; to < code + bytes; to += 32, calls++) {
            memcpy(to, made_code, sizeof made_code);
            memcpy(to + 6, &leaf, 8);
            ((leaf_fn *)(uintptr_t)to)();
        }
        munmap(code, bytes);
    }
    return calls;
}
#else
static void *astray(void *count)
{
    (void)count;
    return NULL;
}
static int made_at_run_time(void)
{
    return 0;
}
#endif

int frames_astray(void)
{
    int calls[2] = {0, 0};
    pthread_t thread;
    grow_old();
    astray(&calls[0]);
    if (pthread_create(&thread, NULL, astray, &calls[1]))
        return 1;
    pthread_join(thread, NULL);
    printf("%d and %d, and %d that were made\n", calls[0], calls[1], made_at_run_time());
    return 7;
}

/* ---- a sandbox by an instruction of the program's own ---- */

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void *caller(void *unused)
{
    for (int i = 0; i < 3; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&address, sizeof address))
            printf("not connected: %d\n", errno);
    }
    return unused;
}

#define ALLOWED(call)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static long prctl_by_instruction(long option, long mode, const struct sock_fprog *program)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_prctl), "D"(option), "S"(mode), "d"(program)
                     : "rcx", "r11", "memory");
    return result;
#else
    return prctl((int)option, mode, program);
#endif
}

/* The one thread that it holds for accepts who calls, and asks for their addresses. */
int sandbox_by_hand(void)
{
    static struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOWED(SYS_accept),
        ALLOWED(SYS_write),
        ALLOWED(SYS_getpid),
        ALLOWED(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const struct sock_fprog filter = {sizeof lines / sizeof *lines, lines};
    int server = socket(AF_UNIX, SOCK_STREAM, 0), count = 0;
    pthread_t thread;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "skein-subject-%d", getpid());
    if (bind(server, (const struct sockaddr *)&address, sizeof address) || listen(server, 8))
        return 1;
    grow_old();
    if (pthread_create(&thread, NULL, caller, NULL) || pthread_join(thread, NULL) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl_by_instruction(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 2;
    for (int i = 0; i < 3; i++) {
        struct sockaddr_un from;
        socklen_t bytes = sizeof from;
        count += accept(server, (struct sockaddr *)&from, &bytes) >= 0;
    }
    (void)!write(1, count == 3 ? "three\n" : "fewer\n", 6);
    _exit(3);
}
