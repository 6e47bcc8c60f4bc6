/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a capture where it is: `skein sql --remote` and `skein report --remote` say what the
 * same commands say of the file that `skein fetch` writes. Real daemons, two traced programs. One
 * thread.
 */
#include <dirent.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static struct load front, back;
static char *out, collector[64], secret[160], id[33];

#define ENDLESS                                                                                    \
    "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"

static pid_t start(const char *const *words)
{
    const char *argv[24] = {SKEIN_PROGRAM};
    for (size_t n = 0; words[n] != NULL; n++)
        argv[n + 1] = words[n];
    (void)remove(out); /* spawn() appends */
    return spawn(argv,
                 &(struct spawn_options){.env = (const char *const[]){collector, secret, NULL},
                                         .folder = w.folder,
                                         .out_file = out});
}

/* What it prints, standard error with it; freed by the caller. */
static char *said(int status, const char *const *words)
{
    int got = spawn_wait(start(words), 0);
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(got == status, "skein %s %s: %d instead of %d: %s", words[0], words[1], got,
                  status, text);
    return text;
}
#define SAID(status, ...)   said(status, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT(status, ...) free(SAID(status, __VA_ARGS__))

static void expect_same(const char *here, const char *there, const char *what)
{
    ck_assert_msg(strcmp(here, there) == 0, "%s\n---- here:\n%.4000s\n---- there:\n%.4000s", what,
                  here, there);
}

static void expect_part(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

/* One capture of both programs, as a file, too. */
static void set_up(void)
{
    static const struct load_options options[] = {
        {.service = "shop/front", .threads = 2, .burst = 20, .pause_us = 2000},
        {.service = "shop/back", .threads = 1, .burst = 5, .pause_us = 3000}};
    whole_init(&w, "\"analysis\":{\"sql_timeout_ms\":600000}", NULL);
    out = whole_path(&w, "out");
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", w.http);
    (void)snprintf(secret, sizeof secret, "UNUSED=");
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options[0], &front);
    load_start(&w, &options[1], &back);
    load_wait_attached(&front);
    load_wait_attached(&back);
    whole_wait_live(&w, "service%3Dshop%2Ffront", 1);
    whole_wait_live(&w, "service%3Dshop%2Fback", 1);
    load_wait_events(&front, 300);
    load_wait_events(&back, 100);
    char *text = SAID(0, "snapshot", "-l", "service in (shop/front,shop/back)", "--json");
    cJSON *capture = cJSON_Parse(text);
    (void)snprintf(id, sizeof id, "%s", whole_str(capture, "capture"));
    cJSON_Delete(capture);
    free(text);
    EXPECT(0, "fetch", id, "-o", "a.skein");
}

static void tear_down(void)
{
    load_free(&front);
    load_free(&back);
    whole_fini(&w);
    free(out);
}

/* ---- sql ---- */

static void expect_same_rows(int status, const char *form, const char *question)
{
    char *here = SAID(status, "sql", form, "a.skein", question);
    char *there = SAID(status, "sql", form, "--remote", id, question);
    ck_assert_str_ne(here, "");
    expect_same(here, there, question);
    free(here);
    free(there);
}

START_TEST(rows_are_those_of_the_file)
{
    static const char *const questions[] = {
        "select * from process",
        "select * from thread order by process_id, tid",
        "select * from event limit 500",
        "select name, count(*) as n, sum(dur), avg(dur), min(ts) from slice group by name",
        "select * from slice order by dur desc, ts limit 50",
        "select name, kind, args from event where args is not null limit 100",
        "select name, count(*) from event join process using (pid) group by 1 order by 1",
        "select sequence, events, lost, from_ns, to_ns from partition",
        "select * from stats",
        "select * from loss",
        "select name, value, typeof(value) from counter limit 200",
        "select 1 as a, 1.0 as a, 'x', x'00ff', null, 9223372036854775807, -0.5, ''",
        "select 1 as mixed union all select 1.0 union all select '1' union all select x'31'",
        "select 1 where 0",
        "select 'a;b' as \"c;d\"; -- two\nselect 2 /* ; */ as two;",
        "explain query plan select * from event where ts > 5",
        "pragma table_info(slice)"};
    static const char *const forms[] = {"--json", "--csv", "--table"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            expect_same_rows(strstr(questions[i], "from_ns") != NULL, forms[f], questions[i]);
}
END_TEST

START_TEST(errors_are_those_of_the_file_with_their_place)
{
    static const char *const wrong[] = {"select nosuch from event", "selec 1",
                                        "select 1;\n  select 2 frm slice",
                                        "select json_extract('{', '$.a')", "select * from nowhere"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_same_rows(1, "--table", wrong[i]);
    char *text = SAID(1, "sql", "--remote", id, "select 1;\n select nosuch from event");
    expect_part(text, "no such column: nosuch (line 2, column 9)");
    free(text);
    text = SAID(1, "sql", "--remote", id, "create table t(a)");
    expect_part(text, "only questions are answered");
    free(text);
    EXPECT(2, "sql", "--remote", id, "a.skein", "select 1");
    EXPECT(2, "sql", "select 1");
}
END_TEST

START_TEST(rows_beyond_the_limit_are_told)
{
    static const char many[] = "with recursive c(x) as (select 1 union all select x + 1 from c "
                               "limit 10001) select x from c";
    char *text = SAID(3, "sql", "--csv", "--remote", id, many);
    expect_part(text, "\r\n10000\r\n");
    ck_assert_ptr_null(strstr(text, "\r\n10001\r\n"));
    expect_part(text, "more rows than these 10000");
    free(text);
    EXPECT(0, "sql", "--csv", "a.skein", many);
}
END_TEST

START_TEST(a_shell_asks_each_statement)
{
    static const char command[] =
        "printf '.tables\\nselect 1\\n as one;select 2 as two;' | " SKEIN_PROGRAM
        " sql --csv --remote \"$0\"";
    const char *argv[] = {"sh", "-c", command, id, NULL};
    (void)remove(out);
    int status = spawn_wait(
        spawn(argv, &(struct spawn_options){.env = (const char *const[]){collector, NULL},
                                            .folder = w.folder,
                                            .out_file = out}),
        0);
    char *text = file_read(out, NULL);
    ck_assert_msg(status == 0, "%d: %s", status, text);
    expect_part(text, "thread_state\n");
    expect_part(text, "one\r\n1\r\ntwo\r\n2\r\n");
    free(text);
}
END_TEST

START_TEST(a_confined_token_asks_its_own_processes)
{
    char admin[160], *text = SAID(0, "token", "create", "me", "--scope", "admin", "-o", "json");
    cJSON *token = cJSON_Parse(text);
    (void)snprintf(admin, sizeof admin, "SKEIN_TOKEN=%s", whole_str(token, "secret"));
    cJSON_Delete(token);
    free(text);
    EXPECT(1, "sql", "--remote", id, "select 1");
    memcpy(secret, admin, sizeof secret);
    text = SAID(0, "token", "create", "own", "-l", "service=shop/back", "-o", "json");
    token = cJSON_Parse(text);
    (void)snprintf(secret, sizeof secret, "SKEIN_TOKEN=%s", whole_str(token, "secret"));
    cJSON_Delete(token);
    free(text);
    text = SAID(0, "sql", "--csv", "--remote", id,
                "select distinct p.service from event e join process p on p.id = e.process_id");
    ck_assert_str_eq(text, "service\r\nshop/back\r\n");
    free(text);
    text = SAID(0, "report", "--remote", id, "--json");
    ck_assert_ptr_null(strstr(text, "shop/front"));
    expect_part(text, "\"processes\":\t1,");
    free(text);
    memcpy(secret, admin, sizeof secret);
}
END_TEST

/* Processes that the collector has started and not yet waited for. */
static size_t children(void)
{
    char path[64], text[512] = "";
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)w.collector);
    DIR *threads = opendir(path);
    struct dirent *thread;
    ck_assert_ptr_nonnull(threads);
    while ((thread = readdir(threads)) != NULL) {
        char file[400];
        (void)snprintf(file, sizeof file, "%s/%s/children", path, thread->d_name);
        FILE *in = fopen(file, "re");
        size_t n = in != NULL ? fread(text, 1, sizeof text - 1, in) : 0;
        for (size_t i = 0; i < n; i++)
            count += text[i] == ' ';
        if (in != NULL)
            (void)fclose(in);
    }
    (void)closedir(threads);
    return count;
}

static bool has_child(void *context)
{
    return children() > 0 || context != NULL;
}

static bool has_none(void *context)
{
    return children() == 0 || context != NULL;
}

START_TEST(an_interrupt_ends_the_statement_at_the_collector)
{
    ck_assert(wait_until(has_none, NULL, 0)); /* who sums captures up has ended */
    pid_t asks = start((const char *const[]){"sql", "--remote", id, ENDLESS, NULL});
    ck_assert(wait_until(has_child, NULL, 0));
    ck_assert_int_ne(spawn_stop(asks, SIGINT, 0), 0);
    ck_assert(wait_until(has_none, NULL, 0)); /* long before the statement's ten minutes */
    EXPECT(0, "sql", "--remote", id, "select 1");
}
END_TEST

/* Reads what a terminal shows until it has `part` behind what it had before. */
static void shows(int terminal, struct buf *shown, const char *part)
{
    size_t n = strlen(part);
    for (;;) {
        uint8_t *at = shown->len >= n ? memmem(shown->data, shown->len, part, n) : NULL;
        struct pollfd ready = {.fd = terminal, .events = POLLIN};
        char bytes[512];
        if (at != NULL) {
            at += n; /* what is behind it is looked at next */
            shown->len -= (size_t)(at - shown->data);
            memmove(shown->data, at, shown->len);
            return;
        }
        ck_assert_msg(poll(&ready, 1, (int)support_deadline_ms()) == 1, "no \"%s\" in: %.*s", part,
                      (int)shown->len, (const char *)shown->data);
        ssize_t got = read(terminal, bytes, sizeof bytes);
        ck_assert_int_gt(got, 0);
        buf_put(shown, bytes, (size_t)got);
    }
}

static void types(int terminal, const char *keys)
{
    ck_assert_int_eq(write(terminal, keys, strlen(keys)), (ssize_t)strlen(keys));
}

START_TEST(a_shell_goes_on_after_its_statement_is_interrupted)
{
    int terminal;
    struct buf shown = {0};
    ck_assert(wait_until(has_none, NULL, 0));
    pid_t shell = forkpty(&terminal, NULL, NULL, NULL);
    ck_assert_int_ge(shell, 0);
    if (shell == 0) {
        (void)putenv(collector);
        (void)setenv("XDG_STATE_HOME", w.folder, 1);
        (void)setenv("TERM", "dumb", 1);
        (void)execl(SKEIN_PROGRAM, "skein", "sql", "--remote", id, (char *)NULL);
        _exit(127);
    }
    shows(terminal, &shown, "sql> ");
    types(terminal, ENDLESS ";\n");
    ck_assert(wait_until(has_child, NULL, 0));
    types(terminal, "\003");
    shows(terminal, &shown, "interrupted");
    shows(terminal, &shown, "sql> ");
    ck_assert(wait_until(has_none, NULL, 0));
    types(terminal, "select 6 * 7 as answer;\n");
    shows(terminal, &shown, "\n    42");
    types(terminal, ".quit\n");
    ck_assert_int_eq(spawn_wait(shell, 0), 0);
    (void)close(terminal);
    buf_fini(&shown);
}
END_TEST

START_TEST(who_cannot_be_asked_is_told)
{
    char *text = SAID(1, "sql", "--remote", "0193a5c0e1f27d3b8c4e5f60718293a4", "select 1");
    expect_part(text, "404");
    free(text);
    EXPECT(1, "report", "--remote", "0193a5c0e1f27d3b8c4e5f60718293a4");
    EXPECT(2, "sql", "--remote", "no-id", "select 1");
    whole_kill(&w.collector);
    EXPECT(4, "sql", "--remote", id, "select 1");
    EXPECT(4, "report", "--remote", id);
    whole_collector_start(&w);
}
END_TEST

/* ---- report ---- */

START_TEST(reports_are_those_of_the_file)
{
    static const char *const forms[] = {"json", "table"};
    static const char *const tops[] = {"20", "3"};
    for (size_t f = 0; f < 2; f++)
        for (size_t t = 0; t < 2; t++) {
            char *here = SAID(0, "report", id, "--top", tops[t], "-o", forms[f]);
            char *there = SAID(0, "report", "--remote", id, "--top", tops[t], "-o", forms[f]);
            expect_same(here, there, forms[f]);
            if (t == 0) { /* what the collector keeps, or makes as such */
                char *kept = SAID(0, "report", "--remote", id, "-o", forms[f]);
                expect_same(here, kept, "without --top");
                free(kept);
            }
            free(here);
            free(there);
        }
    EXPECT(0, "report", "--remote", id, "--from", "-500ms");
    EXPECT(2, "report", "--remote", id, "--from", "yesterday");
    EXPECT(2, "report", "--remote", id, id);
    char *text = SAID(2, "report", "--remote", id, "--html", "page.html");
    expect_part(text, "--html draws from the trace itself");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_remote");
    TCase *tests = tcase_create("whole_remote");
    tcase_set_timeout(tests, 0);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, rows_are_those_of_the_file);
    tcase_add_test(tests, errors_are_those_of_the_file_with_their_place);
    tcase_add_test(tests, rows_beyond_the_limit_are_told);
    tcase_add_test(tests, a_shell_asks_each_statement);
    tcase_add_test(tests, a_confined_token_asks_its_own_processes);
    tcase_add_test(tests, an_interrupt_ends_the_statement_at_the_collector);
    tcase_add_test(tests, a_shell_goes_on_after_its_statement_is_interrupted);
    tcase_add_test(tests, who_cannot_be_asked_is_told);
    tcase_add_test(tests, reports_are_those_of_the_file);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
