/* SPDX-License-Identifier: Apache-2.0
 *
 * What a statement may do, what ends it, what it reads, and that it bears a lack of memory. The sums
 * are truth.py's. One thread, but for the one that interrupts.
 */
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "shop_trace.h"
#include "sql.h"
#include "support.h"

static struct skein_trace *trace;
static struct sql_engine *engine;
static struct sql_limits limits;
static struct buf bytes;
static uint64_t bytes_read;

static int bytes_give(void *context, uint64_t offset, void *out, size_t n)
{
    const struct buf *from = context;
    must_hold(offset <= from->len && n <= from->len - offset, "beyond the trace");
    memcpy(out, from->data + offset, n);
    bytes_read += n;
    return SKEIN_OK;
}

static void trace_open(void)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace_source source = {bytes_give, &bytes, bytes.len, "made"};
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_source(trace, &source, error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(sql_open(trace, &limits, &engine), SKEIN_OK);
}

static void trace_close(void)
{
    sql_close(&engine);
    skein_trace_free(&trace);
}

static void set_up(void)
{
    limits = (struct sql_limits){0};
    shop_trace(&bytes);
    wood_trace(&bytes, 5, 40);
    trace_open();
}

static void tear_down(void)
{
    trace_close();
    buf_fini(&bytes);
}

/* To its end: the status, and how many rows there were; *first: the first value of the last row. */
static int asked(const char *text, uint64_t *rows, int64_t *first)
{
    struct sql_statement *statement;
    struct sql_value value;
    size_t used;
    int status = sql_prepare(engine, text, strlen(text), &statement, &used);
    *rows = 0;
    while (status == SKEIN_OK && (status = sql_next(statement)) > 0) {
        status = SKEIN_OK;
        (*rows)++;
        sql_value(statement, 0, &value);
        *first = value.integer;
    }
    sql_statement_free(&statement);
    return status;
}

static int64_t number(const char *text)
{
    uint64_t rows = 0;
    int64_t first = -1;
    int status = asked(text, &rows, &first);
    ck_assert_msg(status == SKEIN_OK, "%s: %d %s", text, status, sql_error(engine));
    ck_assert_uint_eq(rows, 1);
    return first;
}

START_TEST(questions_are_let_through_and_nothing_else)
{
    static const char *const allowed[] = {
        "select 1",
        "values (1)",
        "with x as (select 1) select * from x",
        "explain select * from event",
        "explain query plan select * from slice where tid = 1",
        "pragma table_info(slice)",
        "select * from pragma_table_info('event')",
        "select * from json_each('[1,2]')",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select i from n"};
    static const char *const refused[] = {"create table t(a)",
                                          "create temp table t(a)",
                                          "create view v as select 1",
                                          "insert into event(name) values ('x')",
                                          "delete from slice",
                                          "update event set name = ''",
                                          "drop table event",
                                          "attach ':memory:' as other",
                                          "attach '/tmp/x.db' as other",
                                          "detach main",
                                          "vacuum",
                                          "vacuum into '/tmp/x.db'",
                                          "analyze",

                                          "begin",
                                          "savepoint s",
                                          "pragma writable_schema = 1",
                                          "pragma temp_store_directory = '/tmp'",
                                          "pragma database_list",
                                          "pragma trusted_schema = 1",
                                          "select load_extension('x.so')",
                                          "select * from pragma_database_list",
                                          "create virtual table t using event",
                                          "alter table event rename to e",
                                          "pragma query_only = 0",
                                          "pragma hard_heap_limit = 1",
                                          "insert into sqlite_master values (1, 2, 3, 4, 5)",
                                          "delete from sqlite_master"};
    uint64_t rows;
    int64_t first;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        ck_assert_msg(asked(allowed[i], &rows, &first) == SKEIN_OK && rows > 0, "%s: %s",
                      allowed[i], sql_error(engine));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_msg(asked(refused[i], &rows, &first) < 0, "%s", refused[i]);
        ck_assert_str_ne(sql_error(engine), "");
    }
    ck_assert_int_eq(asked("create table t(a)", &rows, &first), SKEIN_DENIED);
}
END_TEST

START_TEST(an_error_says_where)
{
    uint64_t rows;
    int64_t first;
    ck_assert_int_eq(asked("select nam from slice", &rows, &first), SKEIN_INVALID);
    ck_assert_ptr_nonnull(strstr(sql_error(engine), "nam"));
    ck_assert_int_eq(sql_error_at(engine), 7);
    ck_assert_int_eq(asked("select * from slices", &rows, &first), SKEIN_INVALID);
    ck_assert_int_eq(asked("select 1", &rows, &first), SKEIN_OK);
    ck_assert_str_eq(sql_error(engine), "");
}
END_TEST

START_TEST(limits_end_a_statement)
{
    static const char endless[] =
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    static const char much[] = "select max(length(x)) from (select group_concat(hex(randomblob("
                               "100000)) || e.name) as x from event e, event f group by e.id)";
    uint64_t rows;
    int64_t first;
    trace_close();
    limits = (struct sql_limits){.rows = 3};
    trace_open();
    ck_assert_int_eq(asked("select id from event limit 3", &rows, &first), SKEIN_OK);
    ck_assert_int_eq(asked("select id from event", &rows, &first), SKEIN_TOO_LARGE);
    ck_assert_uint_eq(rows, 3);
    trace_close();
    limits = (struct sql_limits){.steps = 100000};
    trace_open();
    ck_assert_int_eq(asked(endless, &rows, &first), SKEIN_TOO_LARGE);
    ck_assert_int_eq(
        asked("select count(*) from event e, event f, event g, event h where e.ts = -1", &rows,
              &first),
        SKEIN_OK);
    trace_close();
    limits = (struct sql_limits){.time_ns = 20000000};
    trace_open();
    ck_assert_int_eq(asked(endless, &rows, &first), SKEIN_TIMEOUT);
    ck_assert_int_eq(asked("select 1", &rows, &first), SKEIN_OK); /* each has its own time */
    trace_close();
    limits = (struct sql_limits){.memory_bytes = 8 << 20};
    trace_open();
    ck_assert_int_eq(asked(much, &rows, &first), SKEIN_TOO_LARGE);
    ck_assert_int_gt(number("select count(*) from event"), 0);
}
END_TEST

/* Temporary files of SQLite that this process has open; they have no name in any folder. */
static unsigned files_open(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    must_hold(folder != NULL, "the list of descriptors");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char target[256] = "";
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) > 0)
            count += strstr(target, "etilqs") != NULL;
    }
    closedir(folder);
    return count;
}

START_TEST(what_is_sorted_never_gets_into_a_file)
{
    static const char much[] =
        "with recursive n(i) as (select 1 union all select i + 1 from n "
        "where i < 40000) select hex(randomblob(500)) as x from n order by x";
    struct sql_statement *statement;
    size_t used;
    ck_assert_int_eq(sql_prepare(engine, much, strlen(much), &statement, &used), SKEIN_OK);
    ck_assert_int_eq(sql_next(statement), 1); /* all of it is sorted now */
    ck_assert_uint_eq(files_open(), 0);
    sql_statement_free(&statement);
    uint64_t rows;
    int64_t first;
    trace_close();
    limits = (struct sql_limits){.memory_bytes = 8 << 20};
    trace_open();
    ck_assert_int_eq(asked(much, &rows, &first), SKEIN_TOO_LARGE);
}
END_TEST

static void *thread_interrupt(void *done)
{
    while (!atomic_load((atomic_bool *)done))
        sql_interrupt(engine);
    return NULL;
}

START_TEST(a_statement_can_be_ended_from_outside)
{
    static const char endless[] =
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    uint64_t rows;
    int64_t first;
    pthread_t thread;
    atomic_bool done = false, cancel = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, thread_interrupt, &done), 0);
    ck_assert_int_eq(asked(endless, &rows, &first), SKEIN_CLOSED);
    ck_assert_str_eq(sql_error(engine), "interrupted");
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    ck_assert_int_gt(number("select count(*) from event"), 0);
    trace_close();
    limits.cancel = &cancel;
    trace_open();
    ck_assert_int_gt(number("select count(*) from event"), 0);
    atomic_store(&cancel, true);
    ck_assert_int_eq(asked("select count(*) from event", &rows, &first), SKEIN_CLOSED);
    ck_assert_int_eq(asked("select * from stats", &rows, &first), SKEIN_CLOSED);
}
END_TEST

/* What a statement reads of the file, in a trace that was just opened. */
static uint64_t bytes_of(const char *text)
{
    trace_close();
    trace_open();
    bytes_read = 0;
    number(text);
    return bytes_read;
}

START_TEST(what_is_excluded_is_not_read)
{
    uint64_t all = bytes_of("select count(dur) from event");
    ck_assert_uint_gt(all, bytes.len / 2);
    ck_assert_uint_lt(bytes_of("select count(dur) from event where pid = 41"), all / 2);
    ck_assert_uint_lt(bytes_of("select count(dur) from event where service = 'shop'"), all / 2);
    ck_assert_uint_eq(bytes_of("select count(*) from event where pid = null"), 0);
    ck_assert_uint_eq(bytes_of("select count(*) from event where kind = 'nothing'"), 0);
    ck_assert_uint_eq(bytes_of("select count(*) from partition"), 0);
}
END_TEST

START_TEST(conditions_that_are_no_filter_still_hold)
{
    ck_assert_int_eq(number("select count(*) from event where tid = '41' and evidence = 0"), 7);
    ck_assert_int_eq(number("select count(*) from event where tid = 41.0 and evidence = 0"), 7);
    ck_assert_int_eq(number("select count(*) from event where name = 'QUERY'"), 0);
    ck_assert_int_eq(number("select count(*) from event where name = 'QUERY' collate nocase"), 2);
    ck_assert_int_eq(number("select count(*) from slice where name in ('read', 'query')"), 3);
    ck_assert_int_eq(number("select count(*) from slice where name = 'read' and name = 'query'"),
                     0);
    ck_assert_int_eq(number("select count(*) from slice where tid = 41 and tid = 42"), 0);
    ck_assert_int_eq(number("select count(*) from event where ts <= -1"), 0);
    ck_assert_int_eq(number("select count(*) from event where ts < 1e30 and pid = 41"), 19);
    ck_assert_int_eq(number("select count(*) from event where ts > 1800000000005000000 and ts < "
                            "1800000000001000000"),
                     0);
    ck_assert_int_eq(number("select count(*) from event where ts > 0 and ts <= 0"), 0);
    ck_assert_int_eq(number("select count(*) from slice where thread_id = 99999999999"), 0);
    ck_assert_int_eq(number("select count(*) from slice where thread_id = -1"), 0);
    ck_assert_int_eq(number("select count(*) from slice where process_id = 4294967296"), 0);
    ck_assert_int_eq(number("select count(*) from event where id = 0"), 0);
    ck_assert_int_eq(number("select count(*) from event where id = -9223372036854775807 - 1"), 0);
    ck_assert_int_eq(number("select count(*) from event where id = 9223372036854775807"), 0);
    ck_assert_int_eq(number("select count(*) from event e join event f using (id)"),
                     number("select count(*) from event"));
    ck_assert_int_eq(number("select count(*) from stack s join frame f using (event_id) where "
                            "s.stack_id <> f.stack_id"),
                     0);
}
END_TEST

START_TEST(a_lack_of_memory_is_told)
{
    static const char *const statements[] = {
        "select id, args, stack_id, parent_id, process from event where thread = 'main'",
        "select sum(self_dur) from slice", "select * from stats", "select * from frame",
        "select count(*) from slice s join args a on a.event_id = s.id"};
    trace_close();
    buf_clear(&bytes);
    shop_trace(&bytes); /* regions lie over two cuts */
    wood_trace(&bytes, 5, 3);
    trace_open();
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        uint64_t whole = 0, rows = 0;
        int64_t first;
        ck_assert_int_eq(asked(statements[i], &whole, &first), SKEIN_OK);
        for (unsigned n = 1;; n++) {
            int opened = SKEIN_OK, status = SKEIN_OK;
            sql_close(&engine);
            alloc_fail_at(n);
            opened = sql_open(trace, &limits, &engine);
            if (opened == SKEIN_OK)
                status = asked(statements[i], &rows, &first);
            bool failed = alloc_fail_end();
            if (!failed) {
                ck_assert_int_eq(opened, SKEIN_OK);
                ck_assert_int_eq(status, SKEIN_OK);
                ck_assert_uint_eq(rows, whole);
                break;
            }
            must_hold(opened == SKEIN_NO_MEMORY || status == SKEIN_NO_MEMORY ||
                          (status == SKEIN_OK && rows == whole),
                      "%s, %u: %d %d %s", statements[i], n, opened, status,
                      engine != NULL ? sql_error(engine) : "not opened");
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql");
    TCase *tcase = tcase_create("sql");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, questions_are_let_through_and_nothing_else);
    tcase_add_test(tcase, an_error_says_where);
    tcase_add_test(tcase, limits_end_a_statement);
    tcase_add_test(tcase, what_is_sorted_never_gets_into_a_file);
    tcase_add_test(tcase, a_statement_can_be_ended_from_outside);
    tcase_add_test(tcase, what_is_excluded_is_not_read);
    tcase_add_test(tcase, conditions_that_are_no_filter_still_hold);
    tcase_add_test(tcase, a_lack_of_memory_is_told);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
