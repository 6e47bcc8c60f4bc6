/* SPDX-License-Identifier: Apache-2.0
 * The door to SQLite: binding, rows, transactions, and statements inside statements. */
#include "db_batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support.h"

static char *folder, *path;
static struct db *db;

static void setup(void)
{
    char error[256] = "";
    folder = temp_dir_new();
    path = path_join(folder, "x.db");
    ck_assert_msg(db_open(path, true, &db, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(db_exec(db, "CREATE TABLE t(a INTEGER PRIMARY KEY, s TEXT, b BLOB)"),
                     SKEIN_OK);
}

static void teardown(void)
{
    db_close(&db);
    free(path);
    temp_dir_free(&folder);
}

static int64_t insert(int64_t a, const char *s, const void *b, size_t n)
{
    return db_run(db, "INSERT INTO t VALUES(?1, ?2, ?3)", NULL, NULL,
                  DB(DB_I64(a), DB_TEXT(s), DB_BLOB(b, n)));
}

static int row_one(void *context, struct db_row *row)
{
    size_t n;
    const void *bytes = db_blob(row, 2, &n);
    ck_assert_int_eq(db_i64(row, 0), INT64_MIN);
    ck_assert_str_eq(db_text(row, 1), "");
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(memcmp(bytes, "a\0b", 3), 0);
    ++*(int *)context;
    return 0;
}

START_TEST(values_come_back)
{
    int rows = 0;
    ck_assert_int_eq(insert(INT64_MIN, NULL, "a\0b", 3), 1);
    ck_assert_int_eq(db_run(db, "SELECT * FROM t", row_one, &rows, NULL), 1);
    ck_assert_int_eq(rows, 1);
}
END_TEST

START_TEST(each_place_of_a_statement_wants_its_bind)
{
    int rows = 0;
    ck_assert_int_eq(insert(INT64_MIN, NULL, "a\0b", 3), 1);
    ck_assert_int_eq(db_run(db, "SELECT * FROM t WHERE a=?1", row_one, &rows, NULL), SKEIN_INVALID);
    ck_assert_int_eq(
        db_run(db, "SELECT * FROM t WHERE a=?1", row_one, &rows, DB(DB_I64(1), DB_I64(2))),
        SKEIN_INVALID);
    ck_assert_int_eq(rows, 0);
    ck_assert_int_eq(
        db_run(db, "SELECT * FROM t WHERE a=?1", row_one, &rows, DB(DB_I64(INT64_MIN))), 1);
}
END_TEST

START_TEST(constraint_is_exists_and_bad_sql_is_io)
{
    ck_assert_int_eq(insert(1, "x", "", 0), 1);
    ck_assert_int_eq(insert(1, "y", "", 0), SKEIN_EXISTS);
    ck_assert_int_eq(db_run(db, "SELECT nonsense FROM t", NULL, NULL, NULL), SKEIN_IO);
    ck_assert_ptr_nonnull(strstr(db_error(db), "nonsense"));
    ck_assert_int_eq(db_run(db, "DELETE FROM t", NULL, NULL, NULL), 1);
}
END_TEST

START_TEST(rolled_back_rows_are_gone)
{
    ck_assert_int_eq(db_begin(db), SKEIN_OK);
    ck_assert_int_eq(insert(1, "x", "", 0), 1);
    ck_assert_int_eq(db_end(db, SKEIN_CLOSED), SKEIN_CLOSED);
    ck_assert_int_eq(db_run(db, "SELECT * FROM t", NULL, NULL, NULL), 0);
    ck_assert_int_eq(db_begin(db), SKEIN_OK);
    ck_assert_int_eq(insert(1, "x", "", 0), 1);
    ck_assert_int_eq(db_end(db, SKEIN_OK), SKEIN_OK);
    ck_assert_int_eq(db_run(db, "SELECT * FROM t", NULL, NULL, NULL), 1);
}
END_TEST

static int row_nested(void *context, struct db_row *row)
{
    int *depth = context;
    if (*depth < 3) {
        ++*depth;
        ck_assert_int_gt(db_run(db, "SELECT a FROM t WHERE a >= ?1", row_nested, depth,
                                DB(DB_I64(db_i64(row, 0)))),
                         0);
    }
    return 1;
}

START_TEST(log_is_emptied_for_a_disk_that_is_short)
{
    struct stat st;
    char *wal = calloc(1, strlen(path) + 5);
    ck_assert_ptr_nonnull(wal);
    memcpy(wal, path, strlen(path));
    memcpy(wal + strlen(path), "-wal", 4);
    ck_assert_int_eq(insert(1, "one", "", 0), 1);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_gt(st.st_size, 0);
    db_trim(db);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    ck_assert_int_eq(insert(2, "two", "", 0), 1);
    free(wal);
}
END_TEST

START_TEST(callback_may_run_the_same_statement)
{
    int depth = 0;
    for (int i = 0; i < 5; i++)
        insert(i, "", "", 0);
    ck_assert_int_eq(
        db_run(db, "SELECT a FROM t WHERE a >= ?1", row_nested, &depth, DB(DB_I64(INT64_C(0)))), 1);
    ck_assert_int_eq(depth, 3);
    ck_assert_int_eq(
        db_run(db, "SELECT a FROM t WHERE a >= ?1", NULL, NULL, DB(DB_I64(INT64_C(2)))), 3);
}
END_TEST

static bool is_word(struct db_row *arguments)
{
    const char *word = db_pointer(arguments, 0);
    return word != NULL && strcmp(word, db_text(arguments, 1)) == 0 && db_i64(arguments, 2) == 7;
}

START_TEST(function_of_ours_reads_columns_and_what_was_bound)
{
    static const char sql[] = "SELECT a, s, b FROM t WHERE is_word(?1, s, a)";
    ck_assert_int_eq(insert(7, "yes", "", 0), 1);
    ck_assert_int_eq(insert(8, "yes", "", 0), 1);
    ck_assert_int_eq(insert(9, NULL, "", 0), 1);
    ck_assert_int_eq(db_run(db, sql, NULL, NULL, DB(DB_POINTER("yes"))), SKEIN_IO);
    ck_assert_int_eq(db_define(db, "is_word", 3, is_word), SKEIN_OK);
    ck_assert_int_eq(db_run(db, sql, NULL, NULL, DB(DB_POINTER("yes"))), 1);
    ck_assert_int_eq(db_run(db, sql, NULL, NULL, DB(DB_POINTER("no"))), 0);
    /* No text of a row is taken for a pointer, nor is NULL. */
    ck_assert_int_eq(db_run(db, sql, NULL, NULL, DB(DB_TEXT("yes"))), 0);
    ck_assert_int_eq(db_run(db, sql, NULL, NULL, DB(DB_POINTER(NULL))), 0);
}
END_TEST

START_TEST(batch_keeps_what_it_was_given_and_runs_whole_or_not_at_all)
{
    static const char put[] = "INSERT INTO t VALUES(?1, ?2, ?3)";
    char text[] = "word", bytes[] = {1, 2};
    struct db_batch *good = db_batch_new(), *bad = db_batch_new();
    db_batch_add(good, put, DB(DB_I64(1), DB_TEXT(text), DB_BLOB(bytes, 2)));
    db_batch_add(good, put, DB(DB_I64(2), DB_TEXT(NULL), DB_BLOB(NULL, 0)));
    db_batch_add(good, "DELETE FROM t WHERE s='none'", NULL);
    memset(text, 'x', 4);
    memset(bytes, 9, 2);
    db_batch_add(bad, put, DB(DB_I64(3), DB_TEXT("c"), DB_BLOB("", 0)));
    db_batch_add(bad, put, DB(DB_I64(3), DB_TEXT("c"), DB_BLOB("", 0)));
    ck_assert_int_eq(db_batch_run(db, good), SKEIN_OK);
    ck_assert_int_eq(db_batch_run(db, bad), SKEIN_EXISTS);
    ck_assert_int_eq(db_run(db, "SELECT 1 FROM t WHERE s='word' AND b=x'0102'", NULL, NULL, NULL),
                     1);
    ck_assert_int_eq(db_run(db, "SELECT 1 FROM t WHERE s IS NULL AND b=x''", NULL, NULL, NULL), 1);
    ck_assert_int_eq(db_run(db, "SELECT 1 FROM t", NULL, NULL, NULL), 2);
    db_batch_free(&good);
    db_batch_free(&bad);
}
END_TEST

START_TEST(batch_that_is_refused_never_runs_and_says_the_first_reason)
{
    static const char put[] = "INSERT INTO t VALUES(?1, ?2, ?3)";
    char unended[4]; /* as of a buf that had no memory for its last byte: it is not read */
    struct db_batch *batch = db_batch_new();
    memset(unended, 'x', sizeof unended);
    db_batch_add(batch, put, DB(DB_I64(1), DB_TEXT("a"), DB_BLOB("", 0)));
    db_batch_refuse(batch, SKEIN_OK);
    db_batch_refuse(batch, SKEIN_FULL);
    db_batch_refuse(batch, SKEIN_IO);
    db_batch_refuse(batch, SKEIN_OK);
    db_batch_add(batch, put, DB(DB_I64(2), DB_TEXT(unended), DB_BLOB("", 0)));
    ck_assert_int_eq(db_batch_run(db, batch), SKEIN_FULL);
    ck_assert_int_eq(db_run(db, "SELECT 1 FROM t", NULL, NULL, NULL), 0);
    db_batch_free(&batch);
}
END_TEST

START_TEST(file_that_is_no_database_is_corrupt)
{
    char *other = path_join(folder, "other.db"), error[256] = "";
    struct db *none;
    char junk[8192];
    memset(junk, 'j', sizeof junk);
    file_write(other, junk, sizeof junk);
    ck_assert_int_eq(db_open(other, false, &none, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_null(none);
    ck_assert_uint_gt(strlen(error), 0);
    free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("db_sqlite");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, values_come_back);
    tcase_add_test(c, each_place_of_a_statement_wants_its_bind);
    tcase_add_test(c, constraint_is_exists_and_bad_sql_is_io);
    tcase_add_test(c, rolled_back_rows_are_gone);
    tcase_add_test(c, log_is_emptied_for_a_disk_that_is_short);
    tcase_add_test(c, callback_may_run_the_same_statement);
    tcase_add_test(c, function_of_ours_reads_columns_and_what_was_bound);
    tcase_add_test(c, batch_keeps_what_it_was_given_and_runs_whole_or_not_at_all);
    tcase_add_test(c, batch_that_is_refused_never_runs_and_says_the_first_reason);
    tcase_add_test(c, file_that_is_no_database_is_corrupt);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
