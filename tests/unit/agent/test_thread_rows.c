/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_rows.h"

#include <stdlib.h>

#include "skein/status.h"
#include "support.h"
#include "vitals_store.h"

#define S UINT64_C(1000000000)

static struct thread_rows *rows;
static struct thread_row *list;
static size_t count;
static uint64_t whole_ns;

static void set_up(void)
{
    ck_assert_int_eq(thread_rows_new(&rows), SKEIN_OK);
}

static void tear_down(void)
{
    free(list);
    list = NULL;
    thread_rows_free(&rows);
    thread_rows_free(&rows);
}

static void row_add(uint64_t at_ns, uint32_t pid, uint32_t tid)
{
    thread_rows_add(rows, &(struct thread_row){.at_ns = at_ns,
                                               .start_ticks = pid * 10,
                                               .pid = pid,
                                               .tid = tid,
                                               .run_us = tid + (uint32_t)(at_ns / S)});
}

static void take(uint32_t pid, uint64_t start_ticks, uint64_t from_ns, uint64_t to_ns)
{
    free(list);
    ck_assert_int_eq(
        thread_rows_of(rows, pid, start_ticks, from_ns, to_ns, &list, &count, &whole_ns), SKEIN_OK);
}

START_TEST(a_process_has_its_own_rows_by_thread_and_time)
{
    take(7, 70, 0, UINT64_MAX);
    ck_assert_uint_eq(count, 0);
    for (uint64_t s = 1; s <= 5; s++) {
        row_add(s * S, 7, 72);
        row_add(s * S, 8, 81);
        row_add(s * S, 7, 71);
    }
    take(7, 70, 2 * S, 4 * S);
    ck_assert_uint_eq(count, 6);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(list[i].tid, 71 + i / 3);
        ck_assert_uint_eq(list[i].at_ns, (2 + i % 3) * S);
        ck_assert_uint_eq(list[i].run_us, list[i].tid + 2 + i % 3);
    }
    ck_assert_uint_eq(whole_ns, 0);
    take(7, 71, 0, UINT64_MAX); /* another one, which had the pid before */
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(the_newest_ten_minutes_are_kept)
{
    for (uint64_t s = 1; s <= VITALS_SECONDS + 100; s++)
        row_add(s * S, 7, 71);
    take(7, 70, 0, UINT64_MAX);
    ck_assert_uint_eq(count, VITALS_SECONDS + 1);
    ck_assert_uint_eq(list[0].at_ns, 100 * S);
    ck_assert_uint_eq(whole_ns, 0); /* their time was over */
}
END_TEST

START_TEST(what_has_no_room_is_the_oldest_and_said)
{
    for (uint32_t i = 0; i < THREAD_ROWS_MAX + 1000; i++)
        row_add(1000 * S + i, 7, 71);
    ck_assert_uint_le(thread_rows_bytes(rows), (4u << 20) + 4096);
    take(7, 70, 0, UINT64_MAX);
    ck_assert_uint_eq(count, THREAD_ROWS_MAX);
    ck_assert_uint_eq(list[0].at_ns, 1000 * S + 1000);
    ck_assert_uint_eq(whole_ns, 1000 * S + 999); /* the last that went */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread_rows");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_process_has_its_own_rows_by_thread_and_time);
    tcase_add_test(t, the_newest_ten_minutes_are_kept);
    tcase_add_test(t, what_has_no_room_is_the_oldest_and_said);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
