/* SPDX-License-Identifier: Apache-2.0
 * What captures have, as rows: replaced process by process, given page by page, and asked for who
 * has a partition, against a plain loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_capture.h"
#include "catalog_int.h"
#include "catalog_now.h"
#include "catalog_ranges.h"
#include "partition_make.h"
#include "support.h"

static char *folder;
static struct catalog *catalog;

static void setup(void)
{
    char error[256] = "";
    folder = temp_dir_new();
    ck_assert_msg(catalog_open(folder, &catalog, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void teardown(void)
{
    catalog_close(&catalog);
    temp_dir_free(&folder);
}

static void put_capture(uint32_t n, const char *status, bool pin)
{
    struct catalog_capture row = {.id = capture_of(n),
                                  .created_ns = n,
                                  .status = status,
                                  .kind = "snapshot",
                                  .selector = "",
                                  .trigger = "",
                                  .rule = "",
                                  .process = "",
                                  .reason = "",
                                  .listing = "{}",
                                  .pin = pin};
    CATALOG_NOW(catalog, catalog_put_capture(catalog, &row));
}

static void put(uint32_t capture, uint32_t process, const struct partition_range *ranges, size_t n)
{
    struct capture_id id = capture_of(capture);
    struct process_uid uid = process_of(process);
    CATALOG_NOW(catalog, catalog_put_ranges(catalog, &id, &uid, ranges, n));
}

static struct partition_range range_of(uint32_t process, uint64_t epoch, uint64_t first,
                                       uint64_t last)
{
    return (struct partition_range){key_of(process, epoch, first), last};
}

/* Of one capture, by pages of two. */
static size_t ranges_of(uint32_t capture, struct partition_range *out)
{
    struct capture_id id = capture_of(capture);
    struct partition_range after = {.last = 0};
    size_t count = 0;
    int64_t n;
    while ((n = catalog_ranges(catalog, &id, &after, out + count, 2)) > 0)
        count += (size_t)n;
    ck_assert_int_eq(n, 0);
    return count;
}

START_TEST(a_report_replaces_what_was_listed_of_its_process)
{
    const struct partition_range first[] = {range_of(1, 1, 0, 3), range_of(1, 2, 0, 0)},
                                 second[] = {range_of(1, 1, 0, 5), range_of(1, 1, 8, 8),
                                             range_of(1, UINT64_MAX, 0, UINT64_MAX)},
                                 other[] = {range_of(2, 1, 7, 7)};
    struct partition_range got[16];
    put(1, 1, first, 2);
    put(1, 2, other, 1);
    put(2, 1, first, 2);
    ck_assert_uint_eq(ranges_of(1, got), 3);
    put(1, 1, second, 3);
    ck_assert_uint_eq(ranges_of(1, got), 4);
    for (size_t i = 0, at = 0; i < 4; i++) {
        const struct partition_range *range = &got[i];
        if (process_uid_equal(&range->key.process, &other->key.process)) {
            ck_assert_uint_eq(range->key.sequence, 7);
            continue;
        }
        if (range->key.epoch == UINT64_MAX) { /* what is huge stays so, and stays ordered */
            ck_assert_uint_ge(range->last, INT64_MAX);
            continue;
        }
        ck_assert_uint_eq(range->key.sequence, second[at].key.sequence);
        ck_assert_uint_eq(range->last, second[at++].last);
    }
    ck_assert_uint_eq(ranges_of(2, got), 2);
    put(1, 1, NULL, 0);
    ck_assert_uint_eq(ranges_of(1, got), 1);
}
END_TEST

static int owner_any(void *context, const struct catalog_owner *owner)
{
    (void)context;
    ck_assert_uint_le(owner->first, owner->last);
    return 0;
}

START_TEST(a_deleted_captures_ranges_own_nothing_and_stay_until_it_is_purged)
{
    const struct partition_range range = range_of(1, 1, 0, 3);
    struct capture_id id = capture_of(1);
    struct partition_range got[4];
    put_capture(1, "complete", false);
    put(1, 1, &range, 1);
    ck_assert_int_eq(catalog_owners(catalog, &range, owner_any, NULL), 1);
    CATALOG_NOW(catalog, catalog_delete_capture(catalog, &id, 9));
    ck_assert_int_eq(catalog_owners(catalog, &range, owner_any, NULL), 0);
    ck_assert_uint_eq(ranges_of(1, got), 1);
    CATALOG_NOW(catalog, catalog_set_purged(catalog, &id));
    ck_assert_uint_eq(ranges_of(1, got), 0);
}
END_TEST

/* The same numbers every run (splitmix64). */
static uint64_t random_below(uint64_t n)
{
    static uint64_t state = 11;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

#define CAPTURES 60
static struct partition_range listed[CAPTURES][2][2]; /* of two processes, two each */

/* Some are longer than those that are found by where they begin, some just as long. */
static void list_random(uint32_t capture)
{
    static const uint64_t lengths[] = {0, 1, 62, 63, 64, 65, 1022, 1023, 1024, 1025, 9000};
    for (uint32_t process = 0; process < 2; process++) {
        for (unsigned i = 0; i < 2; i++) {
            uint64_t first = random_below(12000);
            listed[capture][process][i] =
                range_of(process, 1 + i, first, first + lengths[random_below(11)]);
        }
        put(capture, process, listed[capture][process], 2);
    }
    put_capture(capture, capture % 5 == 0 ? "running" : "complete", capture % 7 == 0);
}

static int owner_check(void *context, const struct catalog_owner *owner)
{
    bool *got = context;
    uint32_t n = owner->capture.bytes[15];
    ck_assert_uint_lt(n, CAPTURES);
    ck_assert(!got[n]);
    ck_assert(owner->kept == (n % 5 == 0 || n % 7 == 0));
    got[n] = true;
    return 0;
}

START_TEST(owners_are_those_that_a_plain_loop_finds)
{
    for (uint32_t i = 0; i < CAPTURES; i++)
        list_random(i);
    for (unsigned round = 0; round < 4000; round++) {
        uint32_t process = (uint32_t)random_below(3);
        uint64_t epoch = 1 + random_below(3), first = random_below(22000);
        uint64_t last = first + (round % 2 == 0 ? 0 : random_below(3000));
        struct partition_range range = range_of(process, epoch, first, last);
        bool got[CAPTURES] = {false};
        ck_assert_int_ge(catalog_owners(catalog, &range, owner_check, got), 0);
        for (uint32_t i = 0; i < CAPTURES; i++) {
            const struct partition_range *has =
                process < 2 && epoch < 3 ? &listed[i][process][epoch - 1] : NULL;
            bool want = has && has->key.sequence <= last && has->last >= first;
            must_hold(got[i] == want, "round %u, capture %u", round, i);
        }
    }
}
END_TEST

static int plan_line(void *context, struct db_row *row)
{
    const char *line = db_text(row, 3);
    unsigned *found = context;
    *found |= strstr(line, "ranges_by_partition (process=? AND epoch=? AND first>? AND first<?)")
                  ? 1u
                  : 0;
    *found |= strstr(line, "ranges_some (process=? AND epoch=? AND first>? AND first<?)") ? 2u : 0;
    *found |= strstr(line, "ranges_long (process=? AND epoch=? AND first<?)") ? 4u : 0;
    ck_assert_msg(strstr(line, "SCAN") == NULL, "%s", line);
    return 0;
}

START_TEST(owners_are_looked_for_by_how_long_their_ranges_are)
{
    char sql[2048];
    unsigned found = 0;
    (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", catalog_owners_sql);
    ck_assert_int_gt(db_run(catalog->db, sql, plan_line, &found, NULL), 0);
    ck_assert_uint_eq(found, 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog_ranges");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_report_replaces_what_was_listed_of_its_process);
    tcase_add_test(c, a_deleted_captures_ranges_own_nothing_and_stay_until_it_is_purged);
    tcase_add_test(c, owners_are_looked_for_by_how_long_their_ranges_are);
    tcase_add_test(c, owners_are_those_that_a_plain_loop_finds);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
