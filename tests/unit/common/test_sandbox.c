/* SPDX-License-Identifier: Apache-2.0
 * A process in the sandbox, which tries what it must not: each attempt fails, and what it was given
 * goes on to work. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"
#include "support.h"

#define MEMORY (UINT64_C(512) << 20)

static const struct sandbox_limits limits = {.memory_bytes = MEMORY, .descriptors = 16};

/* What a case says of itself, by its exit code. */
enum { HELD = 0, ENTERED_NOT = 90, BROKE = 1 };

static pid_t daemon_pid; /* the sandbox does not tell */

/* Runs it as a child, in the sandbox; its exit code, 128 and the signal where one ended it. */
static int in_sandbox(int (*attempt)(void))
{
    daemon_pid = getpid();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGTERM, SIG_DFL); /* libcheck's */
        _exit(sandbox_enter(&limits) ? attempt() : ENTERED_NOT);
    }
    return spawn_wait(pid, 0);
}

static int files_try(void)
{
    char name[] = "/tmp/skein-sandbox";
    if (open("/etc/passwd", O_RDONLY) >= 0 || open(name, O_CREAT | O_WRONLY, 0600) >= 0 ||
        open("/proc/self/mem", O_RDWR) >= 0 || syscall(SYS_open, "/etc/passwd", O_RDONLY) >= 0 ||
        syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0) >= 0 || unlink(name) == 0 ||
        mkdir(name, 0700) == 0 || memfd_create("x", 0) >= 0 || chdir("/") == 0)
        return BROKE;
    return errno == EACCES ? HELD : BROKE;
}

static int network_try(void)
{
    int pair[2];
    for (int family = AF_UNIX; family <= AF_INET6; family++)
        if (socket(family, SOCK_STREAM, 0) >= 0 || socket(family, SOCK_DGRAM, 0) >= 0)
            return BROKE;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80)};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 || pipe(pair) == 0 ||
        connect(STDIN_FILENO, (const struct sockaddr *)&address, sizeof address) == 0)
        return BROKE;
    return HELD;
}

static int programs_try(void)
{
    char *const arguments[] = {NULL};
    if (execve("/bin/true", arguments, arguments) == 0 ||
        syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0 || kill(daemon_pid, 0) == 0 ||
        syscall(SYS_ptrace, 0, 0, 0, 0) == 0 ||
        syscall(SYS_process_vm_readv, daemon_pid, NULL, 0, NULL, 0, 0) >= 0)
        return BROKE;
    return HELD;
}

/* The daemon has the same user: whatever takes the number of a process could end it. */
static int parent_try(void)
{
    struct rlimit none = {0, 0};
    const struct f_owner_ex owner = {F_OWNER_PID, daemon_pid};
    if (syscall(SYS_tgkill, daemon_pid, daemon_pid, 0) == 0 ||
        syscall(SYS_prlimit64, daemon_pid, RLIMIT_CORE, &none, NULL) == 0 ||
        syscall(SYS_prlimit64, daemon_pid, RLIMIT_CORE, NULL, &none) == 0 ||
        fcntl(STDOUT_FILENO, F_SETOWN, daemon_pid) == 0 ||
        fcntl(STDOUT_FILENO, F_SETOWN_EX, &owner) == 0)
        return BROKE;
    return syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0
               ? HELD
               : BROKE;
}

static int end_itself(void)
{
    abort();
}

static int code_try(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
            MAP_FAILED)
        return BROKE;
    return HELD;
}

START_TEST(no_file_is_opened)
{
    ck_assert_int_eq(in_sandbox(files_try), HELD);
}
END_TEST

START_TEST(nothing_is_connected)
{
    ck_assert_int_eq(in_sandbox(network_try), HELD);
}
END_TEST

START_TEST(no_program_is_begun_and_no_process_reached)
{
    ck_assert_int_eq(in_sandbox(programs_try), HELD);
}
END_TEST

START_TEST(the_daemon_is_out_of_reach)
{
    struct rlimit before, after;
    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &before), 0);
    ck_assert_int_eq(in_sandbox(parent_try), HELD);
    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &after), 0);
    ck_assert_uint_eq(after.rlim_max, before.rlim_max);
    ck_assert_int_eq(in_sandbox(end_itself), 128 + SIGABRT);
}
END_TEST

START_TEST(no_code_is_made)
{
    ck_assert_int_eq(in_sandbox(code_try), HELD);
}
END_TEST

/* ---- and what it may ---- */

static int given[2];

static int socket_use(void)
{
    char byte;
    if (recv(given[1], &byte, 1, 0) != 1 || send(given[1], &byte, 1, MSG_NOSIGNAL) != 1)
        return BROKE;
    free(malloc(1 << 20));
    return HELD;
}

START_TEST(the_socket_that_it_was_given_goes_on)
{
    char byte = 'x', back = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, given), 0);
    ck_assert_int_eq(write(given[0], &byte, 1), 1);
    ck_assert_int_eq(in_sandbox(socket_use), HELD);
    ck_assert_int_eq(read(given[0], &back, 1), 1);
    ck_assert_int_eq(back, 'x');
    close(given[0]);
    close(given[1]);
}
END_TEST

static int memory_take(void)
{
    return mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                   MAP_FAILED
               ? HELD
               : BROKE;
}

START_TEST(memory_ends)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)memory_take; /* has terabytes of addresses */
#else
    ck_assert_int_eq(in_sandbox(memory_take), HELD);
#endif
}
END_TEST

static int spin(void)
{
    if (!sandbox_allow(1))
        return BROKE;
    for (volatile unsigned i = 0;; i++)
        continue;
}

START_TEST(processor_time_ends)
{
    ck_assert_int_eq(in_sandbox(spin), 128 + SIGXCPU);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "sandbox", no_file_is_opened, nothing_is_connected,
        no_program_is_begun_and_no_process_reached, the_daemon_is_out_of_reach, no_code_is_made,
        the_socket_that_it_was_given_goes_on, memory_ends, processor_time_ends, NULL));
}
