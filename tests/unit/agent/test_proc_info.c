/* SPDX-License-Identifier: Apache-2.0
 * What processes call themselves. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc_info.h"
#include "process.h"
#include "support.h"

static bool is_title(void *context)
{
    const char **pid_and_title = context;
    char title[128];
    proc_title((pid_t)strtol(pid_and_title[0], NULL, 10), title, sizeof title);
    return strcmp(title, pid_and_title[1]) == 0;
}

/* Until it has become the program. */
static void expect_title(const char *const *argv, const char *title)
{
    char pid[16];
    pid_t child = spawn(argv, &(struct spawn_options){0});
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    const char *wanted[] = {pid, title};
    ck_assert_msg(wait_until(is_title, wanted, 0), "it is never called %s", title);
    (void)spawn_stop(child, SIGKILL, 0);
}

START_TEST(a_title_is_the_command_line_up_to_the_first_option)
{
    expect_title((const char *[]){"/bin/sleep", "600", NULL}, "sleep 600");
    expect_title((const char *[]){"sh", "-c", "sleep 600; : --password hunter2", NULL}, "sh");
    expect_title((const char *[]){"tail", "/dev/null", "-f", NULL}, "tail /dev/null");
}
END_TEST

START_TEST(a_title_is_cut_and_absent_where_there_is_none)
{
    char title[4] = "abc";
    proc_title(getpid(), title, sizeof title);
    ck_assert_uint_le(strlen(title), 3);
    proc_title(0x7ffffff0, title, sizeof title);
    ck_assert_str_eq(title, "");
}
END_TEST

START_TEST(a_process_runs_on_until_it_calls_exec)
{
    uint64_t ticks, before;
    int go[2];
    char byte;
    ck_assert_int_eq(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        if (read(go[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
    ck_assert_int_eq(proc_start_ticks(child, &ticks), SKEIN_OK);
    before = proc_start_stack(child);
    ck_assert_uint_ne(before, 0);
    ck_assert_int_eq(proc_runs_on(child, ticks, before), PROC_RUNS_ON);
    ck_assert_int_eq(proc_runs_on(child, ticks + 1, before),
                     PROC_RUNS_ELSE); /* another one, of the same pid */
    ck_assert_int_eq(proc_runs_on(child, ticks, 0),
                     PROC_RUNS_ELSE); /* we were not allowed to know */
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    const char *wanted[] = {pid, "sleep 600"};
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    ck_assert(wait_until(is_title, wanted, 0));
    ck_assert_int_eq(proc_runs_on(child, ticks, before), PROC_RUNS_ELSE);
    (void)spawn_stop(child, SIGKILL, 0);
    ck_assert_int_eq(proc_runs_on(child, ticks, before), PROC_RUNS_ELSE);
    close(go[0]);
    close(go[1]);
}
END_TEST

/* Its stack begins at one place each time. */
START_TEST(of_a_program_without_random_addresses_exec_is_not_known)
{
    char pid[16];
    pid_t child = fork();
    if (child == 0) {
        (void)personality(ADDR_NO_RANDOMIZE);
        execl("/bin/sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    const char *wanted[] = {pid, "sleep 600"};
    ck_assert(wait_until(is_title, wanted, 0));
    ck_assert_uint_ne(proc_start_stack(child), 0);
    ck_assert_uint_eq(proc_random_stack(child), 0);
    ck_assert_uint_eq(proc_random_stack(getpid()), proc_start_stack(getpid()));
    (void)spawn_stop(child, SIGKILL, 0);
}
END_TEST

/* The child hides its memory at a word, and becomes another program at the next. */
static void hide_and_exec(const int pipes[2], const int said[2])
{
    char byte;
    if (read(pipes[0], &byte, 1) != 1 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
        write(said[1], "x", 1) != 1 || read(pipes[0], &byte, 1) != 1)
        _exit(1);
    execl("/bin/sleep", "sleep", "600", (char *)NULL);
    _exit(1);
}

/* As another user, who may look at his own. */
static int hidden_look(void)
{
    int pipes[2], said[2];
    char byte;
    struct process p = {.watched = false};
    if (setgid(65534) != 0 || setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
        pipe(pipes) != 0 || pipe(said) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        hide_and_exec(pipes, said);
    p.pid = (uint32_t)child;
    p.start_stack = proc_random_stack(child);
    p.code_kib = proc_code_kib(child);
    if (p.start_stack == 0 || p.code_kib == 0 ||
        proc_start_ticks(child, &p.start_clock_ticks) != SKEIN_OK || process_runs_else(&p))
        return 2;
    if (write(pipes[1], "x", 1) != 1 || read(said[0], &byte, 1) != 1)
        return 3;
    if (proc_runs_on(child, p.start_clock_ticks, p.start_stack) != PROC_RUNS_UNKNOWN)
        return 4;
    if (process_runs_else(&p) || process_runs_on(&p))
        return 5;
    if (write(pipes[1], "x", 1) != 1)
        return 6;
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    const char *wanted[] = {pid, "sleep 600"};
    bool ended = wait_until(is_title, wanted, 0) && process_runs_else(&p);
    kill(child, SIGKILL);
    return ended ? 0 : 7;
}

START_TEST(who_hides_his_memory_is_not_taken_for_another_program)
{
    if (geteuid() != 0)
        return;
    pid_t child = fork();
    if (child == 0)
        _exit(hidden_look());
    ck_assert_int_eq(spawn_wait(child, 0), 0);
}
END_TEST

static void *ready_and_wait(void *context)
{
    const int *ready = context;
    const pid_t leader = getpid();
    char text[256] = "";
    while (strstr(text, ") Z ") == NULL) { /* the main thread has ended */
        char path[40];
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)leader);
        FILE *stat = fopen(path, "r");
        if (stat == NULL || fgets(text, sizeof text, stat) == NULL)
            _exit(2);
        (void)fclose(stat);
    }
    if (write(*ready, "x", 1) != 1)
        _exit(3);
    for (;;)
        pause();
    return NULL;
}

/* It has no memory to be seen by then, and the process runs on. */
START_TEST(a_process_runs_on_without_its_main_thread)
{
    int go[2], ready[2];
    char byte;
    uint64_t ticks, stack;
    ck_assert_int_eq(pipe(go), 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        close(ready[0]);
        if (read(go[0], &byte, 1) != 1 ||
            pthread_create(&thread, NULL, ready_and_wait, &ready[1]) != 0)
            _exit(1);
        syscall(SYS_exit, 0); /* this thread alone */
    }
    close(ready[1]);
    ck_assert_int_eq(proc_start_ticks(child, &ticks), SKEIN_OK);
    stack = proc_start_stack(child);
    ck_assert_int_eq(write(go[1], "g", 1), 1);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_uint_eq(proc_start_stack(child), 0);
    ck_assert_int_eq(proc_runs_on(child, ticks, stack), PROC_RUNS_ON);
    ck_assert_int_eq(proc_runs_on(child, ticks, stack + 16), PROC_RUNS_ELSE);
    kill(child, SIGKILL);
    ck_assert_int_eq(read(ready[0], &byte, 1), 0); /* it has ended, but nobody has reaped it */
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(proc_runs_on(child, ticks, stack), PROC_RUNS_NOT);
    (void)spawn_stop(child, SIGKILL, 0);
    ck_assert_int_eq(proc_runs_on(child, ticks, stack), PROC_RUNS_ELSE);
    close(go[0]);
    close(go[1]);
    close(ready[0]);
}
END_TEST

/* A process in a user namespace that `maker` made, as user 5 there; -1: none can be made here. */
static pid_t namespaced(uid_t maker, int *stop)
{
    int made[2], mapped[2], ready[2], end[2];
    char path[48], c;
    ck_assert(pipe(made) == 0 && pipe(mapped) == 0 && pipe(ready) == 0 && pipe(end) == 0);
    pid_t child = fork();
    if (child == 0) {
        bool is = (maker == 0 || setuid(maker) == 0) && unshare(CLONE_NEWUSER) == 0;
        if (write(made[1], is ? "y" : "n", 1) != 1 || !is || read(mapped[0], &c, 1) != 1 ||
            setuid(5) != 0 || write(ready[1], "y", 1) != 1)
            _exit(1);
        close(end[1]);
        (void)!read(end[0], &c, 1);
        _exit(0);
    }
    ck_assert(child > 0 && read(made[0], &c, 1) == 1);
    snprintf(path, sizeof path, "/proc/%d/uid_map", (int)child);
    FILE *map = c == 'y' ? fopen(path, "w") : NULL;
    bool is = map != NULL && fputs("0 100000 65536\n", map) >= 0;
    is = map != NULL && fclose(map) == 0 && is;
    if (!is || write(mapped[1], "y", 1) != 1) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        return -1;
    }
    close(ready[1]);
    ck_assert(read(ready[0], &c, 1) == 1);
    *stop = end[1];
    return child;
}

/* Who may choose among thousands of users is one, whoever gave him that choice. */
START_TEST(a_namespace_of_users_is_charged_as_one)
{
    char path[48];
    struct stat about;
    int stop[2];
    pid_t roots = geteuid() == 0 ? namespaced(0, &stop[0]) : -1;
    if (roots < 0) {
        fprintf(stderr, "skipped: no user namespace can be made here\n");
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)roots);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(proc_user(roots), 100005);
    ck_assert_uint_ge(about.st_ino, UINT64_C(0xf0000000));
    ck_assert_uint_eq(proc_user_charged(roots, 100005), about.st_ino);
    ck_assert_uint_eq(proc_user_charged(roots, 100007), about.st_ino);
    pid_t users = namespaced(65534, &stop[1]);
    ck_assert(users > 0);
    ck_assert_uint_eq(proc_user_charged(users, 100005), 65534);
    ck_assert_uint_eq(proc_user_charged(getpid(), 33), 33); /* in ours */
    close(stop[0]);
    close(stop[1]);
    (void)waitpid(roots, NULL, 0);
    (void)waitpid(users, NULL, 0);
}
END_TEST

static void *just_wait(void *context)
{
    const int *ready = context;
    const pid_t self = (pid_t)syscall(SYS_gettid);
    if (write(*ready, &self, sizeof self) != (ssize_t)sizeof self)
        _exit(1);
    for (;;)
        pause();
    return NULL;
}

/* As a busy machine leaves one for long: its files are closed, and its pidfd does not tell yet. A thread that
 * ended is kept by whoever traces it, and the process with it. */
START_TEST(who_is_being_ended_has_not_become_another_program)
{
    int ready[2];
    pid_t thread_id;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, just_wait, &ready[1]) != 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &thread_id, sizeof thread_id), (ssize_t)sizeof thread_id);
    struct process p = {.pid = (uint32_t)child, .start_stack = proc_start_stack(child)};
    ck_assert_int_eq(proc_start_ticks(child, &p.start_clock_ticks), SKEIN_OK);
    ck_assert(!process_is_being_ended(&p));
    ck_assert(!process_runs_else(&p));
    if (ptrace(PTRACE_SEIZE, thread_id, NULL, NULL) != 0) { /* where that is forbidden */
        (void)spawn_stop(child, SIGKILL, 0);
        return;
    }
    p.pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    ck_assert_int_ge(p.pidfd, 0);
    kill(child, SIGKILL);
    char byte;
    ck_assert_int_eq(read(ready[0], &byte, 1), 0); /* its files are closed */
    ck_assert(!pidfd_ended(p.pidfd));
    ck_assert(process_is_being_ended(&p));
    ck_assert(!process_runs_else(&p));
    p.start_stack = 0; /* also where that is not known */
    ck_assert(process_is_being_ended(&p));
    close(p.pidfd);
    close(ready[0]);
    ck_assert_int_eq(waitpid(thread_id, NULL, __WALL), thread_id);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "proc_info", a_title_is_the_command_line_up_to_the_first_option,
        a_title_is_cut_and_absent_where_there_is_none, a_process_runs_on_until_it_calls_exec,
        of_a_program_without_random_addresses_exec_is_not_known,
        who_hides_his_memory_is_not_taken_for_another_program,
        who_is_being_ended_has_not_become_another_program,
        a_process_runs_on_without_its_main_thread, a_namespace_of_users_is_charged_as_one, NULL));
}
