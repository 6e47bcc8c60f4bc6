/* SPDX-License-Identifier: Apache-2.0
 * The control lock knows who holds it, and what it saves is dirty until it is saved. */
#include "control.h"

#include <pthread.h>
#include <signal.h>

#include "capture_int.h"
#include "capture_state.h"
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

/* ---- what is saved ---- */

struct saver {
    int status;
    unsigned saves, saved;
    bool dirty;
};

static bool is_dirty(void *context)
{
    return ((struct saver *)context)->dirty;
}

static int save(void *context)
{
    struct saver *s = context;
    s->saves++;
    return s->status;
}

static void saved(void *context)
{
    ((struct saver *)context)->saved++;
}

START_TEST(what_could_not_be_saved_is_saved_again)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    struct control *control;
    struct saver s = {0};
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
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

int main(void)
{
    Suite *suite = suite_create("control");
    TCase *tests = tcase_create("control");
    tcase_add_test_raise_signal(tests, a_call_without_the_lock, SIGABRT);
    tcase_add_test_raise_signal(tests, a_lock_that_is_taken_twice, SIGABRT);
    tcase_add_test_raise_signal(tests, a_call_while_another_thread_holds_the_lock, SIGABRT);
    tcase_add_test(tests, a_call_with_the_lock);
    tcase_add_test(tests, what_could_not_be_saved_is_saved_again);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
