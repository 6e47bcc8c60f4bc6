/* SPDX-License-Identifier: Apache-2.0
 * Sums of what is missing as the catalog makes them, in every grouping, against sums over the same
 * accounts that are made here; and what a page costs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_capture.h"
#include "catalog_int.h"
#include "catalog_loss.h"
#include "catalog_now.h"
#include "process_labels.h"
#include "support.h"

#define PROCESSES 50
#define CAPTURES  60 /* windows of 1 ms, 2 ms apart */
#define EVICTED   10 /* of the captures, the first ones */
#define MS        UINT64_C(1000000)
#define ROWS      (PROCESSES * (CAPTURES + 1))
#define GROUPS    64

struct account {
    struct process_uid process;
    char capture[ID_TEXT_BYTES]; /* "": a ring's */
    const char *rule;
    bool kept;
    uint64_t from_ns, to_ns, ring_lost;
    struct ledger ledger;
    struct loss_gap gap; /* its ledger's one; to_ns 0: none */
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

/* Whose it is follows from the process. */
static const char *service_of(const struct process_uid *process)
{
    static const char *const services[] = {"", "cart", "shop"};
    return services[process->bytes[7] % 3];
}

static const char *host_of(const struct process_uid *process)
{
    return process->bytes[7] % 4 == 0 ? "east" : "west";
}

static struct catalog_account account_of(const struct process_uid *process)
{
    return (struct catalog_account){.process = *process,
                                    .agent = 7,
                                    .pid = 1000u + process->bytes[7],
                                    .host = host_of(process),
                                    .service = service_of(process),
                                    .labels = "zone=a",
                                    .exe = "/bin/shop"};
}

/* Of the n-th account; some have lost nothing. */
static void ledger_make(struct account *a, unsigned n)
{
    a->ledger = (struct ledger){.stored = n % 97, .open = n % 501 == 0};
    a->ledger.implausible = n % 503 == 0 ? n : 0;
    if (n % 3 == 0)
        ledger_lose(&a->ledger, LOSS_RING_FULL, 1 + n % 11);
    if (n % 5 == 0)
        ledger_lose(&a->ledger, LOSS_NOT_ARRIVED, 1 + n % 13);
    if (n % 7 == 0)
        ledger_lose(&a->ledger, LOSS_NAME, 1);
    /* Nobody should say this of what is not deleted, but an agent may. */
    if (n < EVICTED * PROCESSES && n % 11 == 0)
        ledger_lose(&a->ledger, LOSS_EVICTED, 2);
    if (n % 10 == 0)
        a->gap = (struct loss_gap){a->from_ns + n % 4, a->from_ns + MS / 2, LOSS_OVERWRITTEN};
    if (n % 10 == 0)
        ledger_gap(&a->ledger, &a->gap);
}

static void put_capture(unsigned n, const char *rule, struct capture_id *id)
{
    struct catalog_capture row = {.at_ns = (100 + 2 * n) * MS,
                                  .post_ms = 1,
                                  .status = "complete",
                                  .kind = "snapshot",
                                  .selector = "",
                                  .trigger = "request",
                                  .rule = rule,
                                  .process = "",
                                  .reason = "",
                                  .listing = "{}"};
    id_put(row.id.bytes, 1, n);
    *id = row.id;
    catalog_put_capture(catalog_, &row);
}

static void put_accounts(unsigned n)
{
    static const char *const rules[] = {"", "ping", "slow"};
    struct capture_id id;
    put_capture(n, rules[n % 3], &id);
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct account *a = &accounts_[count_++];
        *a = (struct account){
            .rule = rules[n % 3], .from_ns = (100 + 2 * n) * MS, .to_ns = (101 + 2 * n) * MS};
        id_put(a->process.bytes, 2, i);
        id_text(id.bytes, a->capture);
        ledger_make(a, n * PROCESSES + i);
        struct catalog_account account = account_of(&a->process);
        catalog_put_ledger(catalog_, &id, &account, &a->ledger);
        a->kept = n < EVICTED;
        if (!a->kept)
            continue;
        ledger_lose(&a->ledger, LOSS_EVICTED, a->ledger.stored);
        a->ledger.stored = 0;
    }
    if (n < EVICTED) {
        catalog_keep_ledgers(catalog_, &id, 1);
        catalog_delete_capture(catalog_, &id, 1);
    }
}

/* What the captures of the process tell of its ring. */
static uint64_t told(const struct process_uid *process)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count_; i++)
        if (process_uid_equal(&accounts_[i].process, process) && accounts_[i].capture[0] != '\0')
            sum += accounts_[i].ledger.events[LOSS_RING_FULL];
    return sum;
}

/* Some rings have lost more than their captures tell, and some less. */
static void put_ring(unsigned i)
{
    struct account *a = &accounts_[count_];
    *a = (struct account){.rule = "", .kept = true};
    id_put(a->process.bytes, 2, i);
    a->ring_lost = 100 + 3 * i;
    uint64_t known = told(&a->process);
    if (a->ring_lost > known)
        ledger_lose(&a->ledger, LOSS_RING_FULL, a->ring_lost - known);
    struct catalog_account account = account_of(&a->process);
    catalog_put_ring_lost(catalog_, &account, a->ring_lost, 1);
    catalog_put_ring_lost(catalog_, &account, 3, 1); /* never less */
    count_++;
}

static void setup(void)
{
    char error[256] = "";
    folder_ = temp_dir_new();
    ck_assert_msg(catalog_open(folder_, &catalog_, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(catalog_begin(catalog_), SKEIN_OK);
    count_ = 0;
    for (unsigned n = 0; n < CAPTURES; n++)
        put_accounts(n);
    for (unsigned i = 0; i < PROCESSES; i++)
        put_ring(i);
    ck_assert_int_eq(catalog_end(catalog_, true), SKEIN_OK);
    ck_assert_uint_eq(count_, ROWS);
}

static void teardown(void)
{
    for (size_t i = 0; i < count_; i++)
        ledger_fini(&accounts_[i].ledger);
    catalog_close(&catalog_);
    temp_dir_free(&folder_);
}

/* ---- the same sums, made here ---- */

struct group {
    char name[ID_TEXT_BYTES];
    bool seen[PROCESSES];
    uint64_t processes;
    struct ledger ledger;
};
struct groups {
    struct group items[GROUPS];
    size_t count;
};

static void groups_fini(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        ledger_fini(&groups->items[i].ledger);
    free(groups);
}

static bool is_wanted(const struct account *a, const struct catalog_loss_query *q)
{
    const struct catalog_account who = account_of(&a->process);
    const struct process_labels labels = {who.service, who.host, who.exe,
                                          who.labels,  who.pid,  who.process.bytes};
    char capture[ID_TEXT_BYTES] = "";
    if (q->capture != NULL)
        id_text(q->capture->bytes, capture);
    if ((q->process != NULL && !process_uid_equal(q->process, &a->process)) ||
        (q->capture != NULL && strcmp(capture, a->capture) != 0) ||
        (q->by == CATALOG_LOSS_BY_CAPTURE && a->capture[0] == '\0') ||
        !process_labels_match(q->selector, &labels))
        return false;
    if (a->kept)
        return q->from_ns == 0 && q->to_ns == UINT64_MAX;
    return a->to_ns >= q->from_ns && a->from_ns <= q->to_ns;
}

static void name_of(const struct account *a, enum catalog_loss_by by, char out[ID_TEXT_BYTES])
{
    const char *const names[CATALOG_LOSS_BYS] = {
        [CATALOG_LOSS_ALL] = "",
        [CATALOG_LOSS_BY_PROCESS] = "",
        [CATALOG_LOSS_BY_SERVICE] = service_of(&a->process),
        [CATALOG_LOSS_BY_HOST] = host_of(&a->process),
        [CATALOG_LOSS_BY_RULE] = a->rule,
        [CATALOG_LOSS_BY_CAPTURE] = a->capture,
    };
    snprintf(out, ID_TEXT_BYTES, "%s", names[by]);
    if (by == CATALOG_LOSS_BY_PROCESS)
        id_text(a->process.bytes, out);
}

static struct group *group_of(struct groups *groups, const char *name)
{
    size_t i = 0;
    while (i < groups->count && strcmp(groups->items[i].name, name) != 0)
        i++;
    ck_assert_uint_lt(i, GROUPS);
    if (i == groups->count)
        snprintf(groups->items[groups->count++].name, ID_TEXT_BYTES, "%s", name);
    return &groups->items[i];
}

static int compare(const void *left, const void *right)
{
    return strcmp(((const struct group *)left)->name, ((const struct group *)right)->name);
}

static struct groups *expected(const struct catalog_loss_query *q)
{
    struct groups *groups = calloc(1, sizeof *groups);
    for (size_t i = 0; i < count_; i++) {
        const struct account *a = &accounts_[i];
        char name[ID_TEXT_BYTES];
        if (!is_wanted(a, q))
            continue;
        name_of(a, q->by, name);
        struct group *group = group_of(groups, name);
        group->processes += !group->seen[a->process.bytes[7]];
        group->seen[a->process.bytes[7]] = true;
        group->ledger.stored += a->ledger.stored;
        group->ledger.implausible += a->ledger.implausible;
        group->ledger.open |= a->ledger.open;
        for (int k = 0; k < LOSS_REASONS; k++)
            group->ledger.events[k] += a->ledger.events[k];
        if (a->gap.to_ns != 0)
            ledger_gap(&group->ledger, &a->gap);
    }
    qsort(groups->items, groups->count, sizeof groups->items[0], compare);
    return groups;
}

static struct ledger *take(void *context, const struct catalog_loss_group *group)
{
    struct groups *groups = context;
    ck_assert_uint_lt(groups->count, GROUPS);
    struct group *to = &groups->items[groups->count++];
    snprintf(to->name, sizeof to->name, "%s", group->name);
    to->processes = group->processes;
    return &to->ledger;
}

static void same_group(struct group *left, struct group *right)
{
    cJSON *a = ledger_json(&left->ledger), *b = ledger_json(&right->ledger);
    ck_assert_str_eq(left->name, right->name);
    ck_assert_uint_eq(left->processes, right->processes);
    ck_assert_msg(cJSON_Compare(a, b, true), "%s: another ledger", left->name);
    ck_assert_uint_eq(left->ledger.gap_count, right->ledger.gap_count);
    cJSON_Delete(a);
    cJSON_Delete(b);
}

/* How many groups there are. */
static size_t expect(struct catalog_loss_query query)
{
    struct groups *want = expected(&query), *got = calloc(1, sizeof *got);
    size_t count = want->count;
    ck_assert_int_eq(catalog_loss(catalog_, &query, take, got, NULL), SKEIN_OK);
    ck_assert_uint_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++)
        same_group(&got->items[i], &want->items[i]);
    groups_fini(want);
    groups_fini(got);
    return count;
}

START_TEST(each_account_counts_once_in_every_grouping)
{
    static const size_t groups[CATALOG_LOSS_BYS] = {
        [CATALOG_LOSS_ALL] = 1,        [CATALOG_LOSS_BY_PROCESS] = PROCESSES,
        [CATALOG_LOSS_BY_SERVICE] = 3, [CATALOG_LOSS_BY_HOST] = 2,
        [CATALOG_LOSS_BY_RULE] = 3,    [CATALOG_LOSS_BY_CAPTURE] = CAPTURES};
    for (int by = 0; by < CATALOG_LOSS_BYS; by++)
        ck_assert_uint_eq(expect((struct catalog_loss_query){.by = (enum catalog_loss_by)by,
                                                             .to_ns = UINT64_MAX}),
                          groups[by]);
}
END_TEST

START_TEST(selector_leaves_what_matches)
{
    struct selector *selector;
    char error[160];
    ck_assert_int_eq(
        selector_new("service=shop,host!=east,zone,pid!=1002", &selector, error, sizeof error),
        SKEIN_OK);
    for (int by = 0; by < CATALOG_LOSS_BYS; by++)
        ck_assert_uint_gt(expect((struct catalog_loss_query){.by = (enum catalog_loss_by)by,
                                                             .selector = selector,
                                                             .to_ns = UINT64_MAX}),
                          0);
    selector_free(&selector);
}
END_TEST

START_TEST(time_leaves_what_overlaps_and_nothing_that_is_kept)
{
    for (int by = 0; by < CATALOG_LOSS_BYS; by++) {
        struct catalog_loss_query query = {
            .by = (enum catalog_loss_by)by, .from_ns = 120 * MS, .to_ns = 121 * MS};
        ck_assert_uint_gt(expect(query), 0);
        query.from_ns = 121 * MS;
        query.to_ns = 122 * MS;
        ck_assert_uint_gt(expect(query), 0);
        query.from_ns = 0;
        query.to_ns = 100 * MS - 1;
        ck_assert_uint_eq(expect(query), 0);
        query.from_ns = 1;
        query.to_ns = UINT64_MAX;
        ck_assert_uint_gt(expect(query), 0);
    }
}
END_TEST

START_TEST(one_process_or_one_capture_is_summed_alone)
{
    for (size_t i = 0; i < ROWS; i += 7 * (ROWS / PROCESSES)) {
        struct capture_id capture;
        struct catalog_loss_query query = {
            .by = CATALOG_LOSS_BY_PROCESS, .to_ns = UINT64_MAX, .process = &accounts_[i].process};
        ck_assert_uint_eq(expect(query), 1);
        ck_assert_int_eq(id_parse(accounts_[i].capture, capture.bytes), SKEIN_OK);
        query = (struct catalog_loss_query){.to_ns = UINT64_MAX, .capture = &capture};
        ck_assert_uint_eq(expect(query), 1);
    }
    struct process_uid none = {{0}};
    ck_assert_uint_eq(expect((struct catalog_loss_query){
                          .by = CATALOG_LOSS_BY_PROCESS, .to_ns = UINT64_MAX, .process = &none}),
                      0);
}
END_TEST

/* Page after page, as if they were one walk. */
static void expect_pages(enum catalog_loss_by by, size_t limit)
{
    struct catalog_loss_query query = {.by = by, .to_ns = UINT64_MAX};
    struct groups *want = expected(&query), *got = calloc(1, sizeof *got);
    char next[ID_TEXT_BYTES] = "", after[ID_TEXT_BYTES];
    query.limit = limit;
    do {
        size_t before = got->count;
        memcpy(after, next, sizeof after);
        query.after = after;
        ck_assert_int_eq(catalog_loss(catalog_, &query, take, got, next), SKEIN_OK);
        ck_assert_uint_le(got->count - before, limit);
        ck_assert(next[0] == '\0' || got->count - before == limit);
    } while (next[0] != '\0');
    ck_assert_uint_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++)
        same_group(&got->items[i], &want->items[i]);
    groups_fini(want);
    groups_fini(got);
}

START_TEST(pages_follow_one_another)
{
    static const size_t limits[] = {1, 7, CAPTURES, PROCESSES, 1000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        expect_pages(CATALOG_LOSS_BY_PROCESS, limits[i]);
        expect_pages(CATALOG_LOSS_BY_CAPTURE, limits[i]);
    }
}
END_TEST

static struct ledger *count_group(void *context, const struct catalog_loss_group *group)
{
    static struct ledger nobody;
    *(size_t *)context += group->processes;
    return &nobody;
}

static void *sum_all(void *processes)
{
    struct catalog_loss_query query = {.to_ns = UINT64_MAX};
    if (catalog_loss(catalog_, &query, count_group, processes, NULL) != SKEIN_OK)
        *(size_t *)processes = 0;
    return NULL;
}

START_TEST(sum_does_not_wait_for_a_transaction)
{
    pthread_t thread;
    size_t processes = 0;
    ck_assert_int_eq(catalog_begin(catalog_), SKEIN_OK);
    catalog_put_generation(catalog_, "rules", 7);
    ck_assert_int_eq(pthread_create(&thread, NULL, sum_all, &processes), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(processes, PROCESSES);
    ck_assert_int_eq(catalog_end(catalog_, true), SKEIN_OK);
}
END_TEST

/* ---- what becomes of rows ---- */

static int take_count(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 0;
}

static int64_t rows_in(const char *table)
{
    int64_t rows = -1;
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    ck_assert_int_eq(db_run(catalog_->read, sql, take_count, &rows, NULL), 1);
    return rows;
}

START_TEST(ledger_takes_the_place_of_the_one_before)
{
    struct capture_id id;
    const int64_t accounts = rows_in("account"), losses = rows_in("loss");
    ck_assert_int_eq(catalog_begin(catalog_), SKEIN_OK);
    put_capture(CAPTURES, "", &id);
    ck_assert_int_eq(catalog_end(catalog_, true), SKEIN_OK);
    struct catalog_account account = account_of(&accounts_[0].process);
    struct ledger ledger = {.stored = 1};
    ledger_lose(&ledger, LOSS_SIZE, 3);
    ledger_gap(&ledger, &(struct loss_gap){0, 0, LOSS_SIZE}); /* no time is a count's */
    ledger_gap(&ledger, &(struct loss_gap){5, UINT64_MAX, LOSS_SIZE});
    CATALOG_NOW(catalog_, catalog_put_ledger(catalog_, &id, &account, &ledger));
    ck_assert_int_eq(rows_in("loss"), losses + 3);
    ledger_fini(&ledger);
    ledger.stored = 2;
    ledger_lose(&ledger, LOSS_DAMAGED, 1);
    CATALOG_NOW(catalog_, catalog_put_ledger(catalog_, &id, &account, &ledger));
    ck_assert_int_eq(rows_in("account"), accounts + 1);
    ck_assert_int_eq(rows_in("loss"), losses + 1);
    CATALOG_NOW(catalog_, catalog_delete_capture(catalog_, &id, 9));
    ck_assert_int_eq(rows_in("account"), accounts);
    ck_assert_int_eq(rows_in("loss"), losses);
    ledger_fini(&ledger);
}
END_TEST

START_TEST(what_is_kept_goes_with_its_losses_and_nothing_else_does)
{
    const int64_t kept = PROCESSES * (EVICTED + 1), of_targets = ROWS - kept;
    ck_assert_int_gt(catalog_trim_losses(catalog_, 10), 0);
    ck_assert_int_eq(rows_in("account"), ROWS - 10);
    const struct process_uid another = {{255}};
    struct catalog_account account = account_of(&another);
    CATALOG_NOW(catalog_, catalog_put_ring_lost(catalog_, &account, 1, CATALOG_LOSS_KEPT_NS + 1));
    ck_assert_int_eq(rows_in("account"), ROWS - 10 + 1); /* those are as old as may be */
    CATALOG_NOW(catalog_, catalog_put_ring_lost(catalog_, &account, 1, CATALOG_LOSS_KEPT_NS + 2));
    ck_assert_int_eq(rows_in("account"), of_targets + 1);
    ck_assert_int_gt(catalog_trim_losses(catalog_, 10), 0);
    ck_assert_int_eq(catalog_trim_losses(catalog_, 10), 0);
    ck_assert_int_eq(rows_in("account"), of_targets);
    ck_assert_int_eq(rows_in("loss WHERE capture='' OR reason='evicted'"), 0);
    ck_assert_int_eq(rows_in("loss WHERE NOT EXISTS (SELECT 1 FROM account a WHERE"
                             " a.capture=loss.capture AND a.process=loss.process)"),
                     0);
}
END_TEST

static struct ledger *take_who(void *context, const struct catalog_loss_group *group)
{
    static struct ledger nobody;
    *(bool *)context = group->account.agent == 7 && group->account.pid == 1001 &&
                       strcmp(group->account.host, "west") == 0 &&
                       strcmp(group->account.service, "cart") == 0 &&
                       strcmp(group->account.labels, "zone=a") == 0 &&
                       strcmp(group->account.exe, "/bin/shop") == 0;
    return &nobody;
}

START_TEST(account_that_nobody_has_described_hides_nobody)
{
    struct process_uid process;
    struct capture_id first = {{0}}, last = {{255}};
    id_put(process.bytes, 2, 1);
    struct catalog_account nobody = {
        .process = process, .host = "elsewhere", .service = "", .labels = "", .exe = ""};
    struct ledger open = {.open = true};
    bool described = false;
    CATALOG_NOW(catalog_, catalog_put_ledger(catalog_, &first, &nobody, &open));
    CATALOG_NOW(catalog_, catalog_put_ledger(catalog_, &last, &nobody, &open));
    struct catalog_loss_query query = {
        .by = CATALOG_LOSS_BY_PROCESS, .to_ns = UINT64_MAX, .process = &process};
    ck_assert_int_eq(catalog_loss(catalog_, &query, take_who, &described, NULL), SKEIN_OK);
    ck_assert(described);
}
END_TEST

/* ---- what it costs ---- */

struct plan {
    bool by_index, sorts;
};

static int plan_line(void *context, struct db_row *row)
{
    struct plan *plan = context;
    const char *line = db_text(row, 3);
    plan->by_index |= strstr(line, "SEARCH a USING INDEX account_by_process (process>? AND"
                                   " process<?)") != NULL;
    plan->sorts |= strstr(line, "TEMP B-TREE") != NULL;
    ck_assert_msg(strstr(line, "SCAN") == NULL, "%s", line);
    return 0;
}

static struct plan plan_of(const char *statement)
{
    struct plan plan = {.by_index = false};
    char sql[4096];
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", statement);
    ck_assert_int_gt(db_run(catalog_->read, sql, plan_line, &plan, NULL), 0);
    return plan;
}

START_TEST(page_is_read_from_an_index_and_so_is_its_sum)
{
    char sql[3072];
    catalog_loss_page_sql(CATALOG_LOSS_BY_PROCESS, sql, sizeof sql);
    struct plan page = plan_of(sql);
    ck_assert(page.by_index && !page.sorts);
    catalog_loss_sql(CATALOG_LOSS_BY_PROCESS, sql, sizeof sql);
    ck_assert(plan_of(sql).by_index); /* what it sorts is the page's */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog_loss");
    TCase *c = tcase_create("sums");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, each_account_counts_once_in_every_grouping);
    tcase_add_test(c, selector_leaves_what_matches);
    tcase_add_test(c, time_leaves_what_overlaps_and_nothing_that_is_kept);
    tcase_add_test(c, one_process_or_one_capture_is_summed_alone);
    tcase_add_test(c, pages_follow_one_another);
    tcase_add_test(c, sum_does_not_wait_for_a_transaction);
    tcase_add_test(c, ledger_takes_the_place_of_the_one_before);
    tcase_add_test(c, what_is_kept_goes_with_its_losses_and_nothing_else_does);
    tcase_add_test(c, account_that_nobody_has_described_hides_nobody);
    tcase_add_test(c, page_is_read_from_an_index_and_so_is_its_sum);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
