/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein sql` as people and scripts use it: statements of the command line and of a pipe, its forms,
 * exit statuses, and the shell at a terminal of the test's. Runs the real program. One thread.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "shop_trace.h"
#include "support.h"

static char *folder, *trace, *out, *input;

static void set_up(void)
{
    struct buf bytes = {0};
    folder = temp_dir_new();
    trace = path_join(folder, "shop.skein");
    out = path_join(folder, "out");
    input = path_join(folder, "in.sql");
    shop_trace(&bytes);
    file_write(trace, bytes.data, bytes.len);
    buf_fini(&bytes);
}

static void tear_down(void)
{
    free(trace);
    free(out);
    free(input);
    temp_dir_free(&folder);
}

/* Its exit status; what it printed, errors too, must be `wanted`, or have `part` in it. */
static void runs(int status, const char *wanted, const char *part, const char *const *words)
{
    const char *argv[16] = {SKEIN_PROGRAM, "sql"};
    for (size_t n = 2; words[n - 2] != NULL; n++)
        argv[n] = words[n - 2];
    remove(out);
    int got = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(got == status, "status %d: %s", got, text);
    if (wanted != NULL)
        ck_assert_str_eq(text, wanted);
    if (part != NULL)
        ck_assert_msg(strstr(text, part) != NULL, "%s", text);
    free(text);
}
#define RUNS(status, wanted, part, ...)                                                            \
    runs(status, wanted, part, (const char *const[]){__VA_ARGS__, NULL})

/* The same of a script on its standard input. */
static void takes(int status, const char *wanted, const char *part, const char *script)
{
    char command[1024];
    file_write_text(input, script);
    snprintf(command, sizeof command, "%s sql --csv %s <%s", SKEIN_PROGRAM, trace, input);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    remove(out);
    int got = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
    char *text = file_read(out, NULL);
    ck_assert_msg(got == status, "status %d: %s", got, text);
    if (wanted != NULL)
        ck_assert_str_eq(text, wanted);
    if (part != NULL)
        ck_assert_msg(strstr(text, part) != NULL, "%s", text);
    free(text);
}

START_TEST(forms_are_what_they_promise)
{
    RUNS(0,
         "[{\"a\":1,\"a_2\":\"9007199254740993\",\"c\":null,\"d\":0.5,\"e\":\"x\\u001b\\\"\"},\n"
         "{\"a\":2,\"a_2\":\"2\",\"c\":\"00ff\",\"d\":1e+30,\"e\":\"\"}]\n",
         NULL, "--json", trace,
         ("select 1 a, 9007199254740993 a, null c, 0.5 d, 'x' || char(27) || '\"' e union all "
          "select 2, '2', x'00ff', 1e30, ''"));
    RUNS(0, "[]\n", NULL, "-j", trace, "select 1 where 0");
    RUNS(
        0, "a,\"b,\"\r\n1,\"x\"\"y\"\r\n,\"\"\r\n2.0,\"p\nq\"\r\n", NULL, "-o", "csv", trace,
        ("select 1 a, 'x\"y' \"b,\" union all select null, '' union all select 2.0, 'p' || char(10) "
         "|| 'q'"));
    RUNS(0, "n  t\n1  a\\x0ab\n-  long text\n", NULL, trace,
         "select 1 n, 'a' || char(10) || 'b' t union all select null, 'long text'");
    RUNS(0, "no rows\n", NULL, "--table", trace, "select 1 where 0");
}
END_TEST

START_TEST(mistakes_are_told_with_their_place)
{
    RUNS(1, NULL, "no such column: nam (line 2, column 8)", trace,
         "select 1;\nselect nam from slice");
    RUNS(1, NULL, "not authorized", trace, "create table t(a)");
    RUNS(1, NULL, "there is no table x", trace, ".schema x");
    RUNS(1, NULL, "No such file", "/nowhere.skein", "select 1");
    RUNS(1, NULL, "No such file", "/nowhere.skein");
    RUNS(2, NULL, "which trace file", "select 1");
    RUNS(2, NULL, "only one of", "--json", "--csv", trace, "select 1");
    takes(1, "n\r\n1\r\nskein: sql: no such table: nowhere\n", NULL,
          "select 1 n;\nselect * from nowhere;\nselect 2;\n");
    takes(1, NULL, "(line 3, column 3)", "\nselect 1,\n  nam from slice;");
}
END_TEST

START_TEST(statements_come_from_a_pipe)
{
    takes(0, "n\r\n1\r\nn\r\n6\r\n", NULL, "select 1\n n; select\ncount(*) n from slice -- all\n");
    takes(0, "a\r\n;\r\n", NULL, "select ';' a;");
    takes(0, NULL, "create table event(id INTEGER, ts INTEGER", ".schema event\n");
    takes(0, "a\r\n1\r\n", NULL, "select 1 a;\n.quit\nselect 2 a;\n");
    takes(0, "", NULL, "\n\n");
}
END_TEST

START_TEST(several_files_are_one_trace)
{
    struct buf bytes = {0};
    char *other = path_join(folder, "wood.skein");
    wood_trace(&bytes, 3, 10);
    file_write(other, bytes.data, bytes.len);
    buf_fini(&bytes);
    RUNS(0, "[{\"count(distinct service)\":2,\"max(file)\":1}]\n", NULL, "--json", trace, other,
         "select count(distinct service), max(file) from partition");
    free(other);
}
END_TEST

/* ---- at a terminal ---- */

static int terminal;
static pid_t shell;
static char seen[65536];
static size_t seen_bytes;

static void shell_start(void)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    shell = forkpty(&terminal, NULL, NULL, &size);
    ck_assert_int_ge(shell, 0);
    if (shell == 0) {
        setenv("XDG_STATE_HOME", folder, 1);
        setenv("TERM", "xterm", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("COLUMNS");
        execl(SKEIN_PROGRAM, SKEIN_PROGRAM, "sql", trace, (char *)NULL);
        _exit(127);
    }
    seen_bytes = 0;
}

/* Reads on until the terminal has shown this, behind what was waited for before. */
static void shell_shows(const char *text)
{
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000;
    for (;;) {
        seen[seen_bytes] = '\0';
        char *at = strstr(seen, text);
        if (at != NULL) {
            at += strlen(text);
            seen_bytes -= (size_t)(at - seen);
            memmove(seen, at, seen_bytes);
            return;
        }
        struct pollfd wait = {.fd = terminal, .events = POLLIN};
        uint64_t now = clock_monotonic_ns();
        must_hold(now < until && poll(&wait, 1, (int)((until - now) / 1000000) + 1) > 0,
                  "'%s' was not shown: %s", text, seen);
        ssize_t n = read(terminal, seen + seen_bytes, sizeof seen - 1 - seen_bytes);
        must_hold(n > 0, "'%s' was not shown before the end: %s", text, seen);
        seen_bytes += (size_t)n;
    }
}

static void shell_types(const char *text)
{
    ck_assert_int_eq(write(terminal, text, strlen(text)), (ssize_t)strlen(text));
}

/* Its output is read to the end, for it waits until that is shown. What is typed while the terminal
 * changes its mode is thrown away, or a part of it, as a person would see: then the rest of the line is
 * cleared, and the end typed, turn by turn. */
static int shell_end(void)
{
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000;
    struct pollfd wait = {.fd = terminal, .events = POLLIN};
    ssize_t n = 1;
    for (bool clear = false; n > 0;) {
        uint64_t now = clock_monotonic_ns();
        must_hold(now < until, "the shell does not end");
        if (poll(&wait, 1, 1000) > 0) {
            n = read(terminal, seen, sizeof seen);
            continue;
        }
        shell_types(clear ? "\003" : "\x04");
        clear = !clear;
    }
    int status = spawn_wait(shell, 0);
    close(terminal);
    return status;
}

START_TEST(a_person_asks)
{
    struct stat st;
    char *history = path_join(folder, "skein/sql_history");
    shell_start();
    shell_shows("sql> ");
    shell_types("select name, self_d\tfrom slice where name\n");
    shell_shows("...> ");
    shell_types("= 'read';\n");
    shell_shows("read   1000000");
    shell_shows("sql> ");
    shell_types("select message from log;\n"); /* hostile */
    shell_shows("slow,\\x0a\\x1b[31m \"cart\"");
    shell_shows("sql> ");
    shell_types(".tab\t\n");
    shell_shows("thread_state");
    shell_shows("sql> ");
    shell_types("select 'dropped',\n");
    shell_shows("...> ");
    shell_types("\003"); /* drops the statement, also where its next line is empty */
    shell_shows("sql> ");
    shell_types("\003");
    shell_shows("sql> ");
    shell_types("selec 1;\n");
    shell_shows("syntax error (line 1, column 1)");
    shell_shows("sql> ");
    shell_types(".quit\n");
    ck_assert_int_eq(shell_end(), 0);
    ck_assert_int_eq(stat(history, &st), 0);
    ck_assert_int_eq((int)(st.st_mode & 0777), 0600);
    char *lines = file_read(history, NULL);
    ck_assert_ptr_nonnull(strstr(lines, "read"));
    free(lines);
    free(history);
    history = path_join(folder, "skein");
    ck_assert_int_eq(stat(history, &st), 0);
    ck_assert_int_eq((int)(st.st_mode & 0777), 0700);
    free(history);
    shell_start(); /* and finds what was asked before */
    shell_shows("sql> ");
    shell_types("\033[A\033[A");
    shell_shows("selec 1;");
    shell_types("\003"); /* Ctrl-C clears a line */
    shell_shows("sql> ");
    shell_types("\004");
    ck_assert_int_eq(shell_end(), 0);
}
END_TEST

START_TEST(ctrl_c_ends_the_statement_and_not_the_shell)
{
    shell_start();
    shell_shows("sql> ");
    shell_types("select 'begun'; with recursive n(i) as (select 1 union all select i + 1 from n) "
                "select count(*) from n;\n");
    shell_shows("begun'");
    shell_shows("begun"); /* so the second one runs, or will */
    shell_shows("begun");
    shell_types("\003");
    shell_shows("interrupted");
    shell_shows("sql> ");
    shell_types("select 6 * 7;\n");
    shell_shows("42");
    shell_shows("sql> "); /* before it, the terminal has no line editor that would take a key */
    shell_types("\004");
    ck_assert_int_eq(shell_end(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql_command");
    TCase *tcase = tcase_create("sql_command");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, forms_are_what_they_promise);
    tcase_add_test(tcase, mistakes_are_told_with_their_place);
    tcase_add_test(tcase, statements_come_from_a_pipe);
    tcase_add_test(tcase, several_files_are_one_trace);
    tcase_add_test(tcase, a_person_asks);
    tcase_add_test(tcase, ctrl_c_ends_the_statement_and_not_the_shell);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
