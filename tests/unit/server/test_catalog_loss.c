/* SPDX-License-Identifier: Apache-2.0
 * Accounts of processes as the catalog gives them: each once and in order, also over many pages,
 * against a list that is sorted here; and what a page costs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_capture.h"
#include "catalog_int.h"
#include "catalog_loss.h"
#include "support.h"

#define PROCESSES 50
#define CAPTURES  60 /* windows of 1 ms, 2 ms apart */
#define EVICTED   10 /* of the captures, the first ones */
#define MS        UINT64_C(1000000)
#define ROWS      (PROCESSES * (CAPTURES + 1))

struct account {
    char key[2 * ID_TEXT_BYTES];
    struct process_uid process;
    uint32_t pid; /* tells rows apart */
    bool captured, evicted;
    uint64_t from_ns, to_ns;
};

static struct catalog *catalog_;
static char *folder_;
static struct account accounts_[ROWS];
static size_t count_;

/* Ids that do not sort as their numbers. */
static void id_put(uint8_t bytes[16], unsigned kind, unsigned n)
{
    memset(bytes, 0, 16);
    bytes[0] = (uint8_t)(n * 149 + kind);
    bytes[7] = (uint8_t)n;
}

static void note(const struct process_uid *process, const char *capture, struct account a)
{
    char text[ID_TEXT_BYTES];
    id_text(process->bytes, text);
    a.process = *process;
    snprintf(a.key, sizeof a.key, "%s/%s", text, capture);
    accounts_[count_++] = a;
}

static void put_targets(unsigned n)
{
    struct catalog_capture row = {.at_ns = (100 + 2 * n) * MS,
                                  .post_ms = 1,
                                  .status = "complete",
                                  .kind = "snapshot",
                                  .selector = "",
                                  .trigger = "request",
                                  .rule = "",
                                  .process = "",
                                  .reason = "",
                                  .listing = "{}"};
    id_put(row.id.bytes, 1, n);
    ck_assert_int_eq(catalog_put_capture(catalog_, &row), SKEIN_OK);
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct catalog_target target = {.capture = row.id,
                                        .pid = 1000 + n * PROCESSES + i,
                                        .host = "host",
                                        .service = "shop",
                                        .labels = "",
                                        .exe = "",
                                        .status = "complete",
                                        .reason = "",
                                        .report = "",
                                        .times = "",
                                        .ledger = "{}"};
        char capture[ID_TEXT_BYTES];
        id_put(target.process.bytes, 2, i);
        ck_assert_int_eq(catalog_put_target(catalog_, &target), SKEIN_OK);
        id_text(target.capture.bytes, capture);
        note(&target.process, capture,
             (struct account){.pid = target.pid,
                              .captured = true,
                              .evicted = n < EVICTED,
                              .from_ns = row.at_ns,
                              .to_ns = row.at_ns + MS});
    }
    if (n < EVICTED) {
        ck_assert_int_eq(catalog_keep_ledgers(catalog_, &row.id, 1), SKEIN_OK);
        ck_assert_int_eq(catalog_delete_capture(catalog_, &row.id, 1), SKEIN_OK);
    }
}

static int compare(const void *left, const void *right)
{
    return strcmp(((const struct account *)left)->key, ((const struct account *)right)->key);
}

static void setup(void)
{
    char error[256] = "";
    folder_ = temp_dir_new();
    ck_assert_msg(catalog_open(folder_, &catalog_, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(catalog_begin(catalog_), SKEIN_OK);
    count_ = 0;
    for (unsigned n = 0; n < CAPTURES; n++)
        put_targets(n);
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct catalog_ledger row = {
            .pid = i + 1, .host = "", .service = "", .labels = "", .exe = "", .ring_lost = i + 7};
        id_put(row.process.bytes, 2, i);
        ck_assert_int_eq(catalog_put_ring_lost(catalog_, &row, 1), SKEIN_OK);
        note(&row.process, "", (struct account){.pid = row.pid});
    }
    ck_assert_int_eq(catalog_end(catalog_, true), SKEIN_OK);
    ck_assert_uint_eq(count_, ROWS);
    qsort(accounts_, ROWS, sizeof accounts_[0], compare);
}

static void teardown(void)
{
    catalog_close(&catalog_);
    temp_dir_free(&folder_);
}

struct expected {
    const struct catalog_ledger_query *query;
    size_t at, left; /* left: rows until the walk is told to stop */
};

static bool is_wanted(const struct account *a, const struct catalog_ledger_query *q)
{
    bool any_time = q->from_ns == 0 && q->to_ns == UINT64_MAX;
    if (q->process != NULL && !process_uid_equal(q->process, &a->process))
        return false;
    if (q->after != NULL && memcmp(a->process.bytes, q->after->bytes, sizeof a->process.bytes) <= 0)
        return false;
    if (!a->captured || a->evicted)
        return any_time;
    return a->to_ns >= q->from_ns && a->from_ns <= q->to_ns;
}

static void skip_unwanted(struct expected *e)
{
    while (e->at < ROWS && !is_wanted(&accounts_[e->at], e->query))
        e->at++;
}

static bool is_row_of(const struct catalog_ledger *row, const struct account *a)
{
    return process_uid_equal(&row->process, &a->process) && row->pid == a->pid &&
           row->evicted == a->evicted && row->ring_lost == (a->captured ? 0 : a->pid + 6) &&
           strcmp(row->ledger, a->captured ? "{}" : "") == 0;
}

static int take(void *context, const struct catalog_ledger *row)
{
    struct expected *e = context;
    skip_unwanted(e);
    if (e->at == ROWS || !is_row_of(row, &accounts_[e->at]))
        ck_abort_msg("row %u of a target comes out of turn", row->pid);
    e->at++;
    return --e->left == 0;
}

static void expect(struct catalog_ledger_query query, size_t rows)
{
    struct expected e = {.query = &query, .left = SIZE_MAX};
    ck_assert_int_eq(catalog_ledgers(catalog_, &query, take, &e), (int64_t)rows);
    skip_unwanted(&e);
    ck_assert_uint_eq(e.at, ROWS);
}

START_TEST(each_account_comes_once_in_the_order_of_processes)
{
    expect((struct catalog_ledger_query){.to_ns = UINT64_MAX}, ROWS);
}
END_TEST

START_TEST(time_leaves_what_overlaps_and_no_rings)
{
    const size_t one = PROCESSES;
    expect((struct catalog_ledger_query){.from_ns = 120 * MS, .to_ns = 121 * MS}, one);
    expect((struct catalog_ledger_query){.from_ns = 121 * MS, .to_ns = 122 * MS}, 2 * one);
    expect((struct catalog_ledger_query){.from_ns = 0, .to_ns = 100 * MS - 1}, 0);
    expect((struct catalog_ledger_query){.from_ns = 1, .to_ns = UINT64_MAX},
           (CAPTURES - EVICTED) * one);
}
END_TEST

START_TEST(walk_begins_at_one_process_or_behind_it)
{
    for (size_t i = 0; i < ROWS; i += 7 * (ROWS / PROCESSES)) {
        const struct process_uid *process = &accounts_[i].process;
        expect((struct catalog_ledger_query){.process = process, .to_ns = UINT64_MAX},
               ROWS / PROCESSES);
        expect((struct catalog_ledger_query){.after = process, .to_ns = UINT64_MAX},
               ROWS - i - ROWS / PROCESSES);
    }
    struct process_uid none = {{0}};
    expect((struct catalog_ledger_query){.process = &none, .to_ns = UINT64_MAX}, 0);
}
END_TEST

START_TEST(walk_ends_where_it_is_told_to)
{
    struct catalog_ledger_query query = {.to_ns = UINT64_MAX};
    for (size_t rows = 1; rows < ROWS; rows += 511) {
        struct expected e = {.query = &query, .left = rows};
        ck_assert_int_eq(catalog_ledgers(catalog_, &query, take, &e), (int64_t)rows);
    }
}
END_TEST

static int count_row(void *context, const struct catalog_ledger *row)
{
    (void)context;
    (void)row;
    return 0;
}

static void *walk_all(void *rows)
{
    struct catalog_ledger_query query = {.to_ns = UINT64_MAX};
    *(int64_t *)rows = catalog_ledgers(catalog_, &query, count_row, NULL);
    return NULL;
}

START_TEST(walk_does_not_wait_for_a_transaction)
{
    pthread_t thread;
    int64_t rows = 0;
    ck_assert_int_eq(catalog_begin(catalog_), SKEIN_OK);
    ck_assert_int_eq(catalog_put_generation(catalog_, "rules", 7), SKEIN_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, walk_all, &rows), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(rows, ROWS);
    ck_assert_int_eq(catalog_end(catalog_, true), SKEIN_OK);
}
END_TEST

static int plan_line(void *context, struct db_row *row)
{
    const char *line = db_text(row, 3);
    *(bool *)context |= strstr(line, "USING COVERING INDEX targets_by_process") != NULL;
    ck_assert_ptr_null(strstr(line, "TEMP B-TREE"));
    ck_assert_msg(strstr(line, "SCAN") == NULL, "%s", line);
    return 0;
}

START_TEST(page_is_read_from_indexes_and_not_sorted)
{
    char sql[2048];
    bool covered = false;
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", catalog_ledgers_sql);
    ck_assert_int_gt(db_run(catalog_->db, sql, plan_line, &covered, NULL), 0);
    ck_assert(covered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog_loss");
    TCase *c = tcase_create("walk");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, each_account_comes_once_in_the_order_of_processes);
    tcase_add_test(c, time_leaves_what_overlaps_and_no_rings);
    tcase_add_test(c, walk_begins_at_one_process_or_behind_it);
    tcase_add_test(c, walk_ends_where_it_is_told_to);
    tcase_add_test(c, walk_does_not_wait_for_a_transaction);
    tcase_add_test(c, page_is_read_from_indexes_and_not_sorted);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
