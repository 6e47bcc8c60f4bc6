/* SPDX-License-Identifier: Apache-2.0
 * Queries over the footer index: whichever way one goes, it gives what a plain loop finds, in
 * order, in one piece and page by page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_delete.h"
#include "partition_make.h"
#include "support.h"

#define SECOND UINT64_C(1000000000)
#define T0     (UINT64_C(1700000000) * SECOND)
#define DAYS   3
#define ROWS   12000u

static char *folder;
static struct store *store;
static struct index *index_;
static struct partition_row rows[ROWS]; /* in the order of answers */
static struct partition_ranges had[2];  /* what captures 1 and 2 have: much, and little */

static void setup(void)
{
    char error[256] = "";
    folder = temp_dir_new();
    struct store_settings settings = {.folder = folder};
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void teardown(void)
{
    for (size_t k = 0; k < 2; k++)
        partition_ranges_fini(&had[k]);
    index_close(&index_);
    store_close(&store);
    temp_dir_free(&folder);
}

/* The same numbers every run (splitmix64). */
static uint64_t random_below(uint64_t n)
{
    static uint64_t state = 7;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static int by_answer(const void *a, const void *b)
{
    const struct partition_row *x = a, *y = b;
    if (x->to_ns != y->to_ns)
        return x->to_ns < y->to_ns ? -1 : 1;
    const struct partition_key *k = &x->record.key, *l = &y->record.key;
    int process = memcmp(k->process.bytes, l->process.bytes, sizeof k->process.bytes);
    return process != 0 ? process : k->sequence < l->sequence ? -1 : 1;
}

/* Minutes in which most of the partitions end, hours apart, some at the same time; a few of them
 * are longer than an hour. Of 1,500 processes, services have 3, 97 and 1,400. */
static struct partition_row row_random(uint32_t i)
{
    uint64_t burst = random_below(3) * 86400 + 17;
    uint64_t at =
        random_below(8) == 0 ? random_below(DAYS * UINT64_C(86400)) : burst + random_below(60);
    uint64_t length = random_below(300) == 0 ? 4000 + random_below(20000) : random_below(30);
    uint32_t process = (uint32_t)(random_below(3) == 0 ? random_below(100) : random_below(1500));
    return (struct partition_row){
        .record = {.key = key_of(process, 1, i), .capture = capture_of(1 + (i % 50 == 0))},
        .place = {1, 0, 100},
        .from_ns = T0 + at * SECOND - length * SECOND,
        .to_ns = T0 + at * SECOND,
        .host = process % 2 ? "odd" : "even",
        .service = process < 3     ? "few"
                   : process < 100 ? "some"
                                   : "many",
        .labels = process % 10 == 0 ? "canary=yes,zone=a" : "zone=a",
        .exe = "/bin/service"};
}

static void rows_put(void)
{
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = row_random(i);
    for (uint32_t i = 0; i < ROWS; i += 1000)
        ck_assert_int_eq(index_add(index_, &rows[i], 1000), SKEIN_OK);
    qsort(rows, ROWS, sizeof *rows, by_answer);
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct partition_key *key = &rows[i].record.key;
        struct capture_id second = capture_of(2);
        struct partition_ranges *of = &had[capture_id_equal(&rows[i].record.capture, &second)];
        const struct partition_range range = {*key, key->sequence};
        of->low_ns = of->count == 0 ? rows[i].to_ns : of->low_ns;
        of->high_ns = rows[i].to_ns;
        ck_assert_int_eq(partition_ranges_add(of, &range), SKEIN_OK);
        if (i % 7 == 0) /* as two reports may list it, one of them with what is not stored */
            ck_assert_int_eq(partition_ranges_add(of, &range), SKEIN_OK);
    }
    for (size_t k = 0; k < 2; k++)
        partition_ranges_ready(&had[k]);
}

/* What a question asks for, in the words of a selector and for a plain loop. */
struct question {
    const char *selector, *service, *host, *label;
};

static const struct question questions[] = {
    {"", NULL, NULL, NULL},
    {"service=few", "few", NULL, NULL},
    {"service=some", "some", NULL, NULL},
    {"service=many", "many", NULL, NULL},
    {"service=many,canary=yes", "many", NULL, "canary=yes"},
    {"zone=a,service=some,host=odd", "some", "odd", "zone=a"},
    {"host=even,zone=a", NULL, "even", "zone=a"},
    {"service=few,service!=many,host", "few", NULL, NULL},
    {"service=nobody", "nobody", NULL, NULL},
    {"service=some,canary=no", "some", NULL, "canary=no"},
};

static bool row_wanted(const struct partition_query *q, const struct question *text,
                       const struct partition_row *row)
{
    return row->to_ns >= q->from_ns && row->from_ns <= q->to_ns &&
           (!q->process || process_uid_equal(q->process, &row->record.key.process)) &&
           (!q->ranges || (size_t)(q->ranges - had) == row->record.capture.bytes[15] - 1u) &&
           (!text->service || strcmp(text->service, row->service) == 0) &&
           (!text->host || strcmp(text->host, row->host) == 0) &&
           (!text->label || strstr(row->labels, text->label));
}

struct answer {
    struct partition_key keys[ROWS];
    size_t count;
    uint64_t last_to;
};

static int collect(void *context, const struct partition_row *row)
{
    struct answer *a = context;
    ck_assert_uint_lt(a->count, ROWS);
    a->keys[a->count++] = row->record.key;
    a->last_to = row->to_ns;
    return 0;
}

static void check_query(struct partition_query query, const struct question *text)
{
    static struct answer want, all, pages;
    char error[128];
    struct selector *selector;
    ck_assert_int_eq(selector_new(text->selector, &selector, error, sizeof error), SKEIN_OK);
    query.selector = selector;
    want.count = all.count = pages.count = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        if (row_wanted(&query, text, &rows[i]))
            want.keys[want.count++] = rows[i].record.key;
    ck_assert_msg(index_query(index_, &query, collect, &all) == (int64_t)want.count,
                  "\"%s\": %zu rows, not %zu", text->selector, all.count, want.count);
    ck_assert_int_eq(memcmp(all.keys, want.keys, want.count * sizeof *want.keys), 0);
    query.limit = want.count / 3 + 1;
    while (index_query(index_, &query, collect, &pages) == (int64_t)query.limit) {
        query.after = true;
        query.after_time = pages.last_to;
        query.after_key = pages.keys[pages.count - 1];
    }
    ck_assert_uint_eq(pages.count, want.count);
    ck_assert_int_eq(memcmp(pages.keys, want.keys, want.count * sizeof *want.keys), 0);
    selector_free(&selector);
}

START_TEST(every_way_gives_what_a_plain_loop_finds)
{
    static const uint64_t windows[] = {1, 600, 5 * 3600};
    rows_put();
    ck_assert_uint_eq(had[0].partitions + had[1].partitions, ROWS);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        struct partition_query query = {.to_ns = UINT64_MAX};
        check_query(query, &questions[i]);
        for (size_t k = 0; k < 2; k++) {
            query.ranges = &had[k];
            check_query(query, &questions[i]);
        }
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
            struct process_uid process = process_of((uint32_t)random_below(4));
            query.from_ns = T0 + random_below(DAYS * UINT64_C(86400)) * SECOND;
            query.to_ns = query.from_ns + windows[w] * SECOND;
            query.ranges = NULL;
            query.process = NULL;
            check_query(query, &questions[i]);
            query.process = &process;
            check_query(query, &questions[i]);
            query.ranges = &had[w % 2];
            check_query(query, &questions[i]);
            query.process = NULL;
            check_query(query, &questions[i]);
        }
    }
}
END_TEST

/* The plan of a query for a page of this, in static memory. */
static const char *plan_of(const char *text, const struct partition_ranges *ranges)
{
    static char plan[2048];
    char error[128];
    struct buf out = {0};
    struct selector *selector;
    ck_assert_int_eq(selector_new(text, &selector, error, sizeof error), SKEIN_OK);
    struct partition_query query = {
        .selector = selector, .ranges = ranges, .from_ns = T0, .to_ns = UINT64_MAX, .limit = 9};
    ck_assert_int_eq(index_query_plan(index_, &query, &out), SKEIN_OK);
    (void)snprintf(plan, sizeof plan, "%.*s", (int)out.len, out.len ? (const char *)out.data : "");
    buf_fini(&out);
    selector_free(&selector);
    return plan;
}

START_TEST(few_series_lead_to_rows_and_many_are_met_in_time)
{
    rows_put();
    ck_assert_ptr_nonnull(strstr(plan_of("service=few", NULL), "by_series (bucket=? AND series=?"));
    ck_assert_ptr_nonnull(strstr(plan_of("service=many,canary=yes", NULL), "by_series"));
    ck_assert_ptr_nonnull(strstr(plan_of("zone=a", NULL), "by_time (to_ns>"));
    ck_assert_ptr_nonnull(strstr(plan_of("", NULL), "by_time (to_ns>"));
    ck_assert_ptr_nonnull(strstr(plan_of("service=few", &had[0]), "by_series"));
    ck_assert_ptr_nonnull(strstr(plan_of("service=few", &had[1]), "by_key (key>? AND key<?"));
    ck_assert_ptr_nonnull(strstr(plan_of("", &had[0]), "by_time (to_ns>"));
    ck_assert_str_eq(plan_of("service=nobody", NULL), "");
}
END_TEST

static int count_one(void *context, const struct partition_row *row)
{
    (void)row;
    ++*(unsigned *)context;
    return 0;
}

/* A page of what one process, or few ranges, have does not walk the fleet's rows. */
START_TEST(few_ranges_lead_to_rows_and_so_does_one_process)
{
    struct partition_ranges one = {.high_ns = UINT64_MAX}, few = {.high_ns = UINT64_MAX};
    const struct partition_range all = {key_of(5, 1, 0), ROWS};
    struct process_uid process = process_of(5);
    struct partition_query query = {.process = &process, .to_ns = UINT64_MAX, .limit = ROWS};
    unsigned want = 0, got = 0;
    rows_put();
    ck_assert_int_eq(partition_ranges_add(&one, &all), SKEIN_OK);
    partition_ranges_ready(&one);
    ck_assert_ptr_nonnull(strstr(plan_of("", &one), "by_series (bucket=? AND series=?"));
    ck_assert_int_ge(index_query(index_, &query, count_one, &want), 5);
    query.process = NULL;
    query.ranges = &one;
    ck_assert_int_ge(index_query(index_, &query, count_one, &got), 5);
    ck_assert_uint_eq(got, want);
    for (uint32_t i = 0; i < 65; i++) { /* of 65,000 partitions */
        const struct partition_range range = {key_of(i, 1, 0), 999};
        if (i == 64) {
            partition_ranges_ready(&few);
            ck_assert_ptr_nonnull(strstr(plan_of("", &few), "by_key (key>? AND key<?"));
        }
        ck_assert_int_eq(partition_ranges_add(&few, &range), SKEIN_OK);
    }
    partition_ranges_ready(&few);
    ck_assert_ptr_nonnull(strstr(plan_of("", &few), "by_time (to_ns>"));
    partition_ranges_fini(&one);
    partition_ranges_fini(&few);
}
END_TEST

START_TEST(ranges_are_sorted_joined_and_asked_at_their_ends)
{
    static const struct {
        uint32_t process;
        uint64_t epoch, first, last;
    } added[] = {{2, 1, 7, 9},          {1, 1, 5, 5}, {2, 1, 0, 3},   {2, 1, 2, 4},
                 {2, 2, 3, UINT64_MAX}, {2, 1, 8, 8}, {1, 1, 20, 30}, {2, 1, 7, 9}};
    struct partition_ranges *r = &had[0];
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const struct partition_range range = {
            key_of(added[i].process, added[i].epoch, added[i].first), added[i].last};
        ck_assert_int_eq(partition_ranges_add(r, &range), SKEIN_OK);
    }
    partition_ranges_ready(r);
    ck_assert_uint_eq(r->count, 5);
    ck_assert_uint_eq(r->partitions, UINT64_MAX); /* more than that */
    for (uint32_t process = 0; process < 4; process++)
        for (uint64_t epoch = 0; epoch < 4; epoch++)
            for (uint64_t n = 0; n < 40; n++) {
                bool has = false;
                for (size_t i = 0; i < sizeof added / sizeof *added; i++)
                    has |= added[i].process == process && added[i].epoch == epoch &&
                           added[i].first <= n && n <= added[i].last;
                struct partition_key key = key_of(process, epoch, n);
                ck_assert(partition_ranges_have(r, &key) == has);
            }
}
END_TEST

START_TEST(labels_go_with_the_last_partition_of_their_bucket)
{
    rows_put();
    ck_assert_str_ne(plan_of("service=few", NULL), "");
    struct store_record *gone = calloc(ROWS, sizeof *gone);
    ck_assert_ptr_nonnull(gone);
    for (uint32_t i = 0; i < ROWS; i++)
        gone[i].key = rows[i].record.key;
    ck_assert_int_eq(index_tombstones_add(index_, gone, ROWS), SKEIN_OK);
    ck_assert_str_eq(plan_of("service=few", NULL), "");
    ck_assert_str_eq(plan_of("", NULL), "");
    free(gone);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_query");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, every_way_gives_what_a_plain_loop_finds);
    tcase_add_test(c, few_series_lead_to_rows_and_many_are_met_in_time);
    tcase_add_test(c, few_ranges_lead_to_rows_and_so_does_one_process);
    tcase_add_test(c, ranges_are_sorted_joined_and_asked_at_their_ends);
    tcase_add_test(c, labels_go_with_the_last_partition_of_their_bucket);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
