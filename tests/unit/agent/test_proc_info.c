/* SPDX-License-Identifier: Apache-2.0
 * What processes call themselves. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc_info.h"
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

int main(void)
{
    return suite_run(suite_of("proc_info", a_title_is_the_command_line_up_to_the_first_option,
                              a_title_is_cut_and_absent_where_there_is_none,
                              a_process_runs_on_until_it_calls_exec,
                              a_process_runs_on_without_its_main_thread, NULL));
}
