/* SPDX-License-Identifier: Apache-2.0 */
#include "vitals_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skein/status.h"
#include "support.h"

#define S UINT64_C(1000000000)

struct found {
    size_t count;
    char first_name[STORE_NAME_BYTES];
    const char *unit;
    uint64_t first_ns, last_ns;
    double first, last;
};

static void found_take(void *context, const char *name, const char *unit, uint64_t at_ns,
                       double value)
{
    struct found *found = context;
    if (found->count++ == 0) {
        snprintf(found->first_name, sizeof found->first_name, "%s", name);
        found->first_ns = at_ns;
        found->first = value;
    }
    found->unit = unit;
    found->last_ns = at_ns;
    found->last = value;
}

static struct found values_of(struct vitals_store *store, uint64_t from_ns, uint64_t to_ns)
{
    struct found found = {.count = 0};
    store_values_each(store, from_ns, to_ns, found_take, &found);
    return found;
}

START_TEST(the_newest_ten_minutes_are_kept)
{
    struct vitals_store *store;
    uint64_t first_ns, last_ns;
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    ck_assert(!store_bounds(store, &first_ns, &last_ns));
    for (uint64_t i = 1; i <= 1000; i++) {
        store_begin(store, i * S);
        store_gauge(store, "a", "u", (double)i);
        store_commit(store);
    }
    struct found found = values_of(store, 0, UINT64_MAX);
    ck_assert_uint_eq(found.count, VITALS_SECONDS);
    ck_assert_uint_eq(found.first_ns, 401 * S);
    ck_assert(found.first == 401 && found.last == 1000);
    ck_assert_str_eq(found.unit, "u");
    ck_assert(store_bounds(store, &first_ns, &last_ns));
    ck_assert_uint_eq(first_ns, 401 * S);
    ck_assert_uint_eq(last_ns, 1000 * S);
    found = values_of(store, 500 * S, 502 * S);
    ck_assert_uint_eq(found.count, 3);
    vitals_store_free(&store);
    ck_assert_ptr_null(store);
}
END_TEST

START_TEST(a_rate_is_growth_by_the_second_and_never_negative)
{
    struct vitals_store *store;
    static const uint64_t raw[] = {100, 300, 300, 50, 60};
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (uint64_t i = 0; i < 5; i++) {
        store_begin(store, (10 + 2 * i) * S);
        store_rate(store, "a", "/s", raw[i], 0.5);
        store_commit(store);
    }
    struct found found = values_of(store, 0, UINT64_MAX);
    ck_assert_uint_eq(found.count, 3); /* the first has none before it, the fourth went back */
    ck_assert(found.first == 50);
    ck_assert_uint_eq(found.first_ns, 12 * S);
    ck_assert(found.last == 2.5);
    vitals_store_free(&store);
}
END_TEST

START_TEST(a_ratio_is_there_where_something_was_done)
{
    struct vitals_store *store;
    static const uint64_t raw[][2] = {{100, 10}, {160, 13}, {200, 13}};
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (uint64_t i = 0; i < 3; i++) {
        store_begin(store, (i + 1) * S);
        store_ratio(store, "await", "ms", raw[i][0], raw[i][1]);
        store_commit(store);
    }
    struct found found = values_of(store, 0, UINT64_MAX);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(found.first == 20);
    vitals_store_free(&store);
}
END_TEST

START_TEST(what_is_not_put_is_not_there)
{
    struct vitals_store *store;
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (uint64_t i = 1; i <= 6; i++) {
        store_begin(store, i * S);
        if (i % 2 == 0)
            store_gauge(store, "even", "", (double)i);
        store_commit(store);
    }
    struct found found = values_of(store, 0, UINT64_MAX);
    ck_assert_uint_eq(found.count, 3);
    ck_assert(found.first == 2 && found.last == 6);
    vitals_store_free(&store);
}
END_TEST

START_TEST(names_that_come_and_go_take_turns_in_bounded_room)
{
    struct vitals_store *store;
    char name[STORE_NAME_BYTES], tiresome[STORE_NAME_BYTES + 8];
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    store_begin(store, S);
    for (unsigned i = 0; i < STORE_SERIES_MAX + 3; i++) {
        snprintf(name, sizeof name, "veth%u", i);
        store_gauge(store, name, "", i);
    }
    memset(tiresome, 'x', sizeof tiresome - 1);
    tiresome[sizeof tiresome - 1] = '\0';
    store_gauge(store, tiresome, "", 1);
    store_commit(store);
    ck_assert_uint_eq(store_left_out(store), 4);
    ck_assert_uint_eq(values_of(store, 0, UINT64_MAX).count, STORE_SERIES_MAX);
    ck_assert_uint_lt(store_bytes(store), 8u << 20);
    /* Eleven minutes later their places are free. */
    store_begin(store, 662 * S);
    store_gauge(store, "new", "", 7);
    store_commit(store);
    ck_assert_uint_eq(store_left_out(store), 0);
    struct found found = values_of(store, 2 * S, UINT64_MAX);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_str_eq(found.first_name, "new");
    vitals_store_free(&store);
}
END_TEST

struct rows {
    size_t count;
    double last;
};

static void rows_take(void *context, const struct process_row *row)
{
    struct rows *rows = context;
    rows->count++;
    rows->last = row->values[PROCESS_MEMORY];
}

static struct rows rows_of(struct vitals_store *store, uint32_t pid, uint64_t start_ticks)
{
    struct rows rows = {.count = 0};
    store_rows_each(store, pid, start_ticks, 0, UINT64_MAX, rows_take, &rows);
    return rows;
}

START_TEST(rows_are_kept_for_ten_minutes_and_within_bounds)
{
    struct vitals_store *store;
    struct process_row row = {.pid = 7};
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (uint64_t i = 1; i <= 5000; i++) {
        row.at_ns = i * S;
        row.start_ticks = i % 2;
        row.values[PROCESS_MEMORY] = (double)i;
        store_row_add(store, &row);
    }
    ck_assert_uint_eq(rows_of(store, 7, 0).count, 301); /* both ends count */
    ck_assert_uint_eq(rows_of(store, 7, 1).count, 300);
    ck_assert(rows_of(store, 7, 0).last == 5000);
    ck_assert_uint_eq(rows_of(store, 8, 0).count, 0);
    for (unsigned i = 0; i < 2 * STORE_ROWS_MAX; i++) {
        row.start_ticks = 9;
        row.values[PROCESS_MEMORY] = i;
        store_row_add(store, &row);
    }
    ck_assert_uint_eq(rows_of(store, 7, 9).count, STORE_ROWS_MAX);
    ck_assert(rows_of(store, 7, 9).last == 2 * STORE_ROWS_MAX - 1);
    ck_assert_uint_lt(store_bytes(store), 10u << 20);
    vitals_store_free(&store);
}
END_TEST

static void top_take(void *context, const struct top_row *top)
{
    *(uint64_t *)context += top->at_ns / S;
}

START_TEST(tops_are_kept_by_time)
{
    struct vitals_store *store;
    struct top_row top = {.took_ns = 1};
    uint64_t sum = 0;
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (uint64_t i = 1; i <= VITALS_SECONDS + 10; i++) {
        top.at_ns = i * S;
        store_top_add(store, &top);
    }
    store_tops_each(store, 0, 13 * S, top_take, &sum);
    ck_assert_uint_eq(sum, 11 + 12 + 13);
    vitals_store_free(&store);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("vitals_store", the_newest_ten_minutes_are_kept,
                 a_rate_is_growth_by_the_second_and_never_negative,
                 a_ratio_is_there_where_something_was_done, what_is_not_put_is_not_there,
                 names_that_come_and_go_take_turns_in_bounded_room,
                 rows_are_kept_for_ten_minutes_and_within_bounds, tops_are_kept_by_time, NULL));
}
