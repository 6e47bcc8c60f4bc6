/* SPDX-License-Identifier: Apache-2.0
 * The control lock knows who holds it, and what it saves is dirty until it is saved. */
#include "control.h"

#include <pthread.h>
#include <signal.h>

#include "capture_int.h"
#include "capture_state.h"
#include "catalog_now.h"
#include "db.h"
#include "segment_io.h"
#include "support.h"

static struct control *lock_new(void)
{
    struct control *control;
    ck_assert_int_eq(control_new(NULL, &(struct control_hooks){0}, &control), SKEIN_OK);
    return control;
}

/* ---- planted ---- */

START_TEST(a_call_without_the_lock)
{
    struct capture_engine e = {.control = lock_new()};
    struct capture c = {.status = CAPTURE_RUNNING};
    capture_touch(&e, &c);
}
END_TEST

START_TEST(a_call_with_the_lock)
{
    struct capture_engine e = {.control = lock_new()};
    struct capture c = {.status = CAPTURE_RUNNING};
    control_lock(e.control);
    capture_touch(&e, &c);
    control_unlock(e.control);
    control_free(&e.control);
}
END_TEST

START_TEST(a_lock_that_is_taken_twice)
{
    struct control *control = lock_new();
    control_lock(control);
    control_lock(control);
}
END_TEST

static void *call_without(void *control)
{
    control_assert_locked(control);
    return NULL;
}

START_TEST(a_call_while_another_thread_holds_the_lock)
{
    pthread_t other;
    struct control *control = lock_new();
    control_lock(control);
    ck_assert_int_eq(pthread_create(&other, NULL, call_without, control), 0);
    pthread_join(other, NULL);
}
END_TEST

START_TEST(a_commit_with_the_lock)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    struct control *control = lock_new();
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);
    control_lock(control);
    (void)catalog_end(catalog, true);
}
END_TEST

START_TEST(a_statement_that_commits_by_itself_with_the_lock)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    struct control *control = lock_new();
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    control_lock(control);
    (void)catalog_drop_notice(catalog, 1);
}
END_TEST

static struct db *numbers_new(void)
{
    char error[256], *folder = temp_dir_new(), *path = path_join(folder, "x.db");
    struct db *db;
    ck_assert_int_eq(db_open(path, false, &db, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(db_exec(db, "CREATE TABLE t(a INTEGER PRIMARY KEY)"), SKEIN_OK);
    return db;
}

START_TEST(a_question_to_a_connection_that_commits_with_the_lock)
{
    struct control *control = lock_new();
    struct db *db = numbers_new();
    ck_assert_int_eq(db_run(db, "SELECT a FROM t", NULL, NULL, NULL), 0);
    control_lock(control);
    (void)db_run(db, "SELECT a FROM t", NULL, NULL, NULL);
}
END_TEST

START_TEST(a_commit_of_a_connection_that_reads)
{
    char error[256], *folder = temp_dir_new(), *path = path_join(folder, "x.db");
    struct db *db;
    ck_assert_int_eq(db_open_reading(path, &db, error, sizeof error), SKEIN_OK);
    (void)db_begin(db);
}
END_TEST

START_TEST(a_wait_for_the_commit_of_others_with_the_lock)
{
    struct control *control = lock_new();
    control_lock(control);
    control_catch_up(control);
}
END_TEST

START_TEST(a_sync_of_the_store_with_the_lock)
{
    struct control *control = lock_new();
    control_lock(control);
    (void)segment_io_sync(2);
}
END_TEST

/* ---- what is saved ---- */

struct saver {
    struct catalog *catalog;
    int status;
    unsigned saves, saved;
    bool dirty;
};

static bool is_dirty(void *context)
{
    return ((struct saver *)context)->dirty;
}

static void save(void *context)
{
    struct saver *s = context;
    s->saves++;
    catalog_refuse(s->catalog, s->status);
}

static void saved(void *context, bool ok)
{
    ((struct saver *)context)->saved += ok;
}

START_TEST(what_could_not_be_saved_is_saved_again)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    struct control *control;
    struct saver s = {0};
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    s.catalog = catalog;
    ck_assert_int_eq(
        control_new(catalog, &(struct control_hooks){&s, is_dirty, save, saved}, &control),
        SKEIN_OK);
    control_lock(control);
    ck_assert_int_eq(control_save(control), SKEIN_OK); /* nothing is dirty */
    ck_assert_uint_eq(s.saves, 0);
    control_mark_dirty(control);
    s.status = SKEIN_FULL;
    ck_assert_int_eq(control_save(control), SKEIN_FULL);
    ck_assert_int_eq(control_last_save(control), SKEIN_FULL);
    ck_assert_uint_eq(s.saved, 0);
    s.status = SKEIN_OK;
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    ck_assert_int_eq(control_last_save(control), SKEIN_OK);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    ck_assert_uint_eq(s.saves, 2);
    s.dirty = true; /* by others than who holds the lock */
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    ck_assert_uint_eq(s.saved, 2);
    control_unlock(control);
    control_free(&control);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}
END_TEST

/* ---- many at once ---- */

#define SAVERS 8
#define ROUNDS 200

/* `value` is what is saved: taken by save, known by saved. Every third commit is not made. */
struct many {
    struct catalog *catalog;
    struct control *control;
    unsigned value, taken, kept, turn;
};

static void many_save(void *context)
{
    struct many *m = context;
    m->taken = m->value;
    catalog_refuse(m->catalog, ++m->turn % 3 == 0 ? SKEIN_IO : SKEIN_OK);
}

static void many_saved(void *context, bool ok)
{
    struct many *m = context;
    m->kept = ok ? m->taken : m->kept;
}

static void *many_change(void *context)
{
    struct many *m = context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        control_lock(m->control);
        unsigned mine = ++m->value;
        uint64_t number = control_next_save(m->control);
        control_mark_dirty(m->control);
        int status = control_save(m->control);
        ck_assert(status != SKEIN_OK || m->kept >= mine);
        ck_assert(status == SKEIN_OK || m->kept < mine);
        ck_assert(control_has_saved(m->control, number) == (status == SKEIN_OK));
        control_unlock(m->control);
    }
    return NULL;
}

START_TEST(each_is_told_what_became_of_its_own_change)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    struct many m = {.value = 0};
    pthread_t threads[SAVERS];
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    m.catalog = catalog;
    ck_assert_int_eq(
        control_new(catalog, &(struct control_hooks){&m, NULL, many_save, many_saved}, &m.control),
        SKEIN_OK);
    for (size_t i = 0; i < SAVERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many_change, &m), 0);
    for (size_t i = 0; i < SAVERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(m.value, SAVERS * ROUNDS);
    control_free(&m.control);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("control");
    TCase *tests = tcase_create("control");
    tcase_add_test_raise_signal(tests, a_call_without_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_lock_that_is_taken_twice, SIGABRT);
    tcase_add_test_raise_signal(tests, a_call_while_another_thread_holds_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_commit_with_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_statement_that_commits_by_itself_with_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_question_to_a_connection_that_commits_with_the_lock,
                                SIGABRT);
    tcase_add_test_raise_signal(tests, a_commit_of_a_connection_that_reads, SIGABRT);
    tcase_add_test_raise_signal(tests, a_wait_for_the_commit_of_others_with_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_sync_of_the_store_with_the_lock, SIGABRT);
    tcase_add_test(tests, a_call_with_the_lock);
    tcase_add_test(tests, each_is_told_what_became_of_its_own_change);
    tcase_add_test(tests, what_could_not_be_saved_is_saved_again);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
