/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs under the preload library behave as they do without it: same output, same errno, same
 * exit status. One thread.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES 65536
#define DEADLINE_MS  60000

struct outcome {
    char output[OUTPUT_BYTES];
    size_t length;
    int status;
};

static void child_run(const char *const *command, const char *preload, int out)
{
    setenv("SKEIN_SOCKET", "/nonexistent/agent.sock", 1);
    if (preload)
        setenv("LD_PRELOAD", preload, 1);
    if (dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    execvp(command[0], (char *const *)(uintptr_t)command);
    _exit(127);
}

/* Runs a command to its end and keeps what it printed. */
static void run(const char *const *command, const char *preload, struct outcome *outcome)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        child_run(command, preload, ends[1]);
    close(ends[1]);
    outcome->length = 0;
    for (;;) {
        struct pollfd wanted = {ends[0], POLLIN, 0};
        ck_assert_msg(poll(&wanted, 1, DEADLINE_MS) == 1, "%s hangs", command[0]);
        ssize_t n = read(ends[0], outcome->output + outcome->length,
                         sizeof(outcome->output) - 1 - outcome->length);
        ck_assert_int_ge(n, 0);
        if (n == 0)
            break;
        outcome->length += (size_t)n;
    }
    outcome->output[outcome->length] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &outcome->status, 0), pid);
}

/* Fails with the first line that differs: whole outputs are too long for a message. */
static void check_same_output(const char *a, const char *b)
{
    size_t line = 0, i = 0;
    for (; a[i] == b[i]; i++) {
        if (a[i] == '\0')
            return;
        if (a[i] == '\n')
            line = i + 1;
    }
    ck_abort_msg("without: %.*s\nwith: %.*s", (int)strcspn(a + line, "\n"), a + line,
                 (int)strcspn(b + line, "\n"), b + line);
}

static void same_with_and_without(const char *const *command)
{
    static struct outcome plain, traced;
    run(command, NULL, &plain);
    run(command, PRELOAD, &traced);
    ck_assert_uint_gt(plain.length, 0);
    check_same_output(plain.output, traced.output);
    ck_assert_int_eq(traced.status, plain.status);
}

static bool installed(const char *program)
{
    static struct outcome found;
    run((const char *[]){"sh", "-c", "command -v \"$0\"", program, NULL}, NULL, &found);
    return found.length > 0;
}

START_TEST(every_wrapped_call_gives_the_same_result_and_errno)
{
    const char *command[] = {SUBJECT, NULL};
    static struct outcome traced;
    same_with_and_without(command);
    run(command, PRELOAD, &traced);
    ck_assert(WIFEXITED(traced.status) && WEXITSTATUS(traced.status) == 3);
}
END_TEST

START_TEST(checked_variants_give_the_same_result_and_errno)
{
    same_with_and_without((const char *[]){SUBJECT_FORTIFIED, NULL});
}
END_TEST

START_TEST(bad_environment_changes_nothing)
{
    static struct outcome plain, traced;
    const char *command[] = {SUBJECT, "child", NULL};
    run(command, NULL, &plain);
    setenv("SKEIN_LABELS", "not a label", 1);
    setenv("SKEIN_IO_THRESHOLD_US", "many", 1);
    run(command, PRELOAD, &traced);
    unsetenv("SKEIN_LABELS");
    unsetenv("SKEIN_IO_THRESHOLD_US");
    check_same_output(plain.output, traced.output);
    ck_assert_int_eq(traced.status, plain.status);
}
END_TEST

START_TEST(a_first_call_needs_no_lock_of_the_dynamic_linker)
{
    same_with_and_without((const char *[]){SUBJECT, "plugin", PLUGIN, NULL});
}
END_TEST

START_TEST(nothing_is_loaded_beside_the_library)
{
    static struct outcome traced;
    run((const char *[]){"cat", "/proc/self/maps", NULL}, PRELOAD, &traced);
    ck_assert_ptr_nonnull(strstr(traced.output, PRELOAD));
    ck_assert_ptr_null(strstr(traced.output, "libgcc_s"));
}
END_TEST

START_TEST(shell_pipelines_work)
{
    same_with_and_without((const char *[]){
        "sh", "-c", "seq 1 1000 | sort -r | head -3; ls /nonexistent; exit 5", NULL});
}
END_TEST

/* With the visitor there from the first moment on. */
static void same_when_attached_at_once(const char *script)
{
    setenv("SKEIN_ATTACH_MS", "0", 1);
    same_with_and_without((const char *[]){"bash", "-c", script, NULL});
    unsetenv("SKEIN_ATTACH_MS");
}

START_TEST(a_shell_has_all_its_descriptors)
{
    same_when_attached_at_once("exec 3>&1\n"
                               "v=$( { echo progress >&3; echo result; } )\n"
                               "echo \"v=$v\"; ls /proc/self/fd");
    same_when_attached_at_once("for i in 3 4 5 6 7 8 9; do eval \"exec $i>&1\"; done\n"
                               "for i in 3 4 5 6 7 8 9; do eval \"echo $i >&$i\"; done\n"
                               "exec 4>&-; echo x >&4; ls /proc/self/fd");
}
END_TEST

START_TEST(a_program_can_change_who_it_is)
{
    same_when_attached_at_once("unshare -Ur sh -c 'id -u; cat /proc/self/uid_map' || echo none");
    same_when_attached_at_once("sleep 0.1; unshare -Ur id -u || echo none");
}
END_TEST

START_TEST(python_with_threads_and_sqlite_works)
{
    if (!installed("python3"))
        return;
    same_with_and_without(
        (const char *[]){"python3", "-c",
                         "import sqlite3, threading, time, subprocess\n"
                         "c = sqlite3.connect(':memory:')\n"
                         "c.execute('create table t(a)')\n"
                         "c.executemany('insert into t values(?)', [(i,) for i in range(1000)])\n"
                         "print(c.execute('select sum(a) from t').fetchone())\n"
                         "n = []\n"
                         "ts = [threading.Thread(target=lambda: (time.sleep(0.001), n.append(1)))"
                         " for _ in range(20)]\n"
                         "[t.start() for t in ts]\n"
                         "[t.join() for t in ts]\n"
                         "print(len(n), subprocess.run(['true']).returncode)\n",
                         NULL});
}
END_TEST

/* The server listens on a Unix socket in a folder of its own and ends itself. */
START_TEST(redis_serves)
{
    static struct outcome served;
    if (!installed("redis-server") || !installed("redis-cli"))
        return;
    run(
        (const char *[]){
            "sh", "-c",
            "d=$(mktemp -d) || exit 1\n"
            "redis-server --port 0 --unixsocket $d/s --save '' --dir $d >/dev/null &\n"
            "until redis-cli -s $d/s ping >/dev/null 2>&1; do kill -0 $! || exit 1; done\n"
            "redis-cli -s $d/s set key value\n"
            "redis-cli -s $d/s get key\n"
            "redis-cli -s $d/s shutdown nosave\n"
            "wait $!\n"
            "echo ended $?\n"
            "rm -r $d\n",
            NULL},
        PRELOAD, &served);
    ck_assert_str_eq(served.output, "OK\nvalue\nended 0\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preload");
    TCase *all = tcase_create("preload");
    tcase_set_timeout(all, 280);
    tcase_add_test(all, every_wrapped_call_gives_the_same_result_and_errno);
    tcase_add_test(all, checked_variants_give_the_same_result_and_errno);
    tcase_add_test(all, bad_environment_changes_nothing);
    tcase_add_test(all, a_first_call_needs_no_lock_of_the_dynamic_linker);
    tcase_add_test(all, nothing_is_loaded_beside_the_library);
    tcase_add_test(all, shell_pipelines_work);
    tcase_add_test(all, a_shell_has_all_its_descriptors);
    tcase_add_test(all, a_program_can_change_who_it_is);
    tcase_add_test(all, python_with_threads_and_sqlite_works);
    tcase_add_test(all, redis_serves);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
