/* SPDX-License-Identifier: Apache-2.0
 *
 * What a statement may do, what ends it, and what it reads. The sums are truth.py's, and what a lack
 * of memory does is fault/test_sql_memory.c's. One thread, but for the one that interrupts.
 */
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sql_asked.h"

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
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
