/* SPDX-License-Identifier: Apache-2.0
 * Listings of captures by what is asked for, all of it and any of it, page by page, against a plain
 * loop; and that each is read from an index in its order. */
#include <stdio.h>
#include <string.h>

#include "catalog_capture.h"
#include "catalog_int.h"
#include "catalog_now.h"
#include "db.h"
#include "support.h"

#define CAPTURES 600u
#define NAMES    3u

static char *folder;
static struct catalog *catalog;

/* What is stored, as the plain loop sees it. */
struct truth {
    struct capture_id id, incident;
    uint64_t created_ns, from_ns, to_ns;
    const char *status, *kind, *name; /* name: of the rule, or of a sample's policy */
};
static struct truth truths[CAPTURES];

static const char *const statuses[] = {"running", "complete", "incomplete", "stopped"};
static const char *const kinds[] = {"snapshot", "record", "stream", "sample"};
static const char *const names[NAMES] = {"", "ping", "slow"};

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

static struct capture_id id_of(uint32_t n)
{
    struct capture_id id = {
        {(uint8_t)(n * 37), (uint8_t)(n * 11)}}; /* ids are in no order of time */
    id.bytes[14] = (uint8_t)(n >> 8);
    id.bytes[15] = (uint8_t)n;
    return id;
}

/* Several are of one time, as captures of one firing are. */
static void fill(void)
{
    uint32_t seed = 7;
    ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);
    for (uint32_t n = 0; n < CAPTURES; n++) {
        seed = seed * 1664525u + 1013904223u;
        struct truth *t = &truths[n];
        t->id = id_of(n);
        t->incident = id_of(n - n % 5);
        t->created_ns = 1000000000u + n / 4 * 1000000u;
        t->status = statuses[seed >> 28 & 3];
        t->kind = kinds[seed >> 20 & 3];
        t->name = names[(seed >> 12 & 0xff) % NAMES];
        t->from_ns = t->created_ns - 1000000;
        t->to_ns = t->created_ns + 2000000;
        struct catalog_capture row = {.id = t->id,
                                      .incident = t->incident,
                                      .created_ns = t->created_ns,
                                      .at_ns = t->created_ns,
                                      .pre_ms = 1,
                                      .post_ms = 2,
                                      .status = t->status,
                                      .kind = t->kind,
                                      .selector = "",
                                      .trigger = "",
                                      .rule = t->name,
                                      .process = "",
                                      .reason = "",
                                      .listing = "{}"};
        catalog_put_capture(catalog, &row);
    }
    ck_assert_int_eq(catalog_end(catalog, true), SKEIN_OK);
}

static bool is_asked_for(const struct truth *t, const struct catalog_capture_query *q)
{
    char id[ID_TEXT_BYTES];
    bool sample = strcmp(t->kind, "sample") == 0;
    id_text(t->id.bytes, id);
    return (q->status == NULL || strcmp(q->status, t->status) == 0) &&
           (q->kind == NULL || strcmp(q->kind, t->kind) == 0) &&
           (q->rule == NULL || (!sample && strcmp(q->rule, t->name) == 0)) &&
           (q->policy == NULL || (sample && strcmp(q->policy, t->name) == 0)) &&
           (q->incident == NULL || memcmp(q->incident, &t->incident, sizeof t->incident) == 0) &&
           (q->id_begins == NULL || strncmp(id, q->id_begins, strlen(q->id_begins)) == 0) &&
           t->to_ns >= q->from_ns && t->from_ns <= q->to_ns;
}

static bool is_newer(const struct truth *a, const struct truth *b)
{
    if (a->created_ns != b->created_ns)
        return a->created_ns > b->created_ns;
    return memcmp(&a->id, &b->id, sizeof a->id) > 0;
}

/* The newest that is asked for behind `last` (NULL: of all); NULL: there is none. */
static const struct truth *next_of(const struct catalog_capture_query *q, const struct truth *last)
{
    const struct truth *found = NULL;
    for (size_t i = 0; i < CAPTURES; i++)
        if (is_asked_for(&truths[i], q) && (last == NULL || is_newer(last, &truths[i])) &&
            (found == NULL || is_newer(&truths[i], found)))
            found = &truths[i];
    return found;
}

struct page {
    struct capture_id ids[16];
    uint64_t created_ns[16];
    size_t count;
};

static int page_take(void *context, const struct catalog_capture *row)
{
    struct page *page = context;
    page->ids[page->count] = row->id;
    page->created_ns[page->count++] = row->created_ns;
    return 0;
}

static void expect_listing(struct catalog_capture_query q)
{
    const struct truth *truth = NULL;
    q.limit = 16;
    q.before = false;
    for (;;) {
        struct page page = {.count = 0};
        ck_assert_int_eq(catalog_captures(catalog, &q, page_take, &page), (int64_t)page.count);
        for (size_t i = 0; i < page.count; i++) {
            truth = next_of(&q, truth);
            must_hold(truth != NULL && memcmp(&truth->id, &page.ids[i], sizeof truth->id) == 0,
                      "row %zu of a page is another", i);
        }
        if (page.count < q.limit)
            break;
        q.before = true;
        q.before_created_ns = page.created_ns[page.count - 1];
        q.before_id = page.ids[page.count - 1];
    }
    ck_assert_ptr_null(next_of(&q, truth));
}

#define OR_NONE(list, at) ((at) < 0 ? NULL : (list)[at])

/* Each combination of what can be asked for; `each` gets it. */
static void combine(void (*each)(struct catalog_capture_query q))
{
    static const struct capture_id *const incidents[] = {NULL, &truths[100].id};
    for (int status = -1; status < 2; status++)
        for (int kind = -1; kind < 4; kind += 2)
            for (int began = 0; began < 5; began++)
                for (int rest = 0; rest < 8; rest++)
                    each((struct catalog_capture_query){
                        .status = OR_NONE(statuses, status),
                        .kind = OR_NONE(kinds, kind),
                        .rule = began == 1 || began == 2 ? names[began] : NULL,
                        .policy = began == 3 || began == 4 ? names[began - 2] : NULL,
                        .incident = incidents[rest & 1],
                        .id_begins = (rest & 2) != 0 ? "2" : NULL,
                        .from_ns = (rest & 4) != 0 ? 1030000000 : 0,
                        .to_ns = (rest & 4) != 0 ? 1120000000 : UINT64_MAX});
}

START_TEST(listings_are_those_of_a_plain_loop)
{
    fill();
    combine(expect_listing);
}
END_TEST

START_TEST(what_no_capture_has_is_an_empty_listing)
{
    fill();
    expect_listing((struct catalog_capture_query){.rule = "other", .to_ns = UINT64_MAX});
    expect_listing((struct catalog_capture_query){.policy = "other", .to_ns = UINT64_MAX});
    expect_listing(
        (struct catalog_capture_query){.kind = "sample", .rule = "ping", .to_ns = UINT64_MAX});
    expect_listing((struct catalog_capture_query){.to_ns = 0});
    expect_listing((struct catalog_capture_query){.from_ns = UINT64_MAX, .to_ns = UINT64_MAX});
}
END_TEST

/* ---- what it costs ---- */

static char plan[512];

static int plan_line(void *context, struct db_row *row)
{
    (void)context;
    size_t at = strlen(plan);
    (void)snprintf(plan + at, sizeof plan - at, "%s; ", db_text(row, 3));
    return 0;
}

static void expect_plan(struct catalog_capture_query q, const char *index)
{
    char statement[1024], sql[1100];
    plan[0] = '\0';
    q.to_ns = UINT64_MAX;
    q.before = true;
    catalog_captures_sql(&q, statement, sizeof statement);
    (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", statement);
    ck_assert_int_gt(db_run(catalog->read, sql, plan_line, NULL, NULL), 0);
    ck_assert_msg(strstr(plan, index) != NULL && strstr(plan, "TEMP B-TREE") == NULL, "%s\n%s",
                  statement, plan);
}

/* The index has all that the conditions ask: the table's row is read of what matches alone. */
static void expect_conditions_in_index(struct catalog_capture_query q)
{
    char statement[1024], sql[1100];
    plan[0] = '\0';
    q.to_ns = UINT64_MAX;
    q.before = true;
    catalog_captures_sql(&q, statement, sizeof statement);
    (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN SELECT id%s", strstr(statement, " FROM "));
    ck_assert_int_gt(db_run(catalog->read, sql, plan_line, NULL, NULL), 0);
    ck_assert_msg(strstr(plan, "COVERING INDEX captures_by_rule (rule=?") != NULL, "%s\n%s", sql,
                  plan);
}

START_TEST(listing_is_read_from_an_index_in_its_order)
{
    const struct capture_id id = {{1}};
    expect_plan((struct catalog_capture_query){.limit = 1}, "captures_by_time (");
    expect_plan((struct catalog_capture_query){.kind = "stream"}, "captures_by_kind (kind=?");
    expect_plan((struct catalog_capture_query){.status = "running"},
                "captures_by_status (status=?");
    expect_plan((struct catalog_capture_query){.kind = "sample", .status = "running"},
                "captures_by_kind_and_status (kind=? AND status=?");
    expect_plan((struct catalog_capture_query){.incident = &id, .kind = "sample", .rule = "r"},
                "captures_by_incident (incident=?");
    const struct catalog_capture_query led[] = {
        {.rule = "r"},
        {.policy = "p"},
        {.rule = "r", .kind = "snapshot"},
        {.rule = "r", .status = "running"},
        {.policy = "p", .kind = "sample", .status = "complete"}};
    for (size_t i = 0; i < sizeof led / sizeof led[0]; i++) {
        expect_plan(led[i], "captures_by_rule (rule=?");
        expect_conditions_in_index(led[i]);
    }
}
END_TEST

START_TEST(contradiction_reads_nothing)
{
    const struct catalog_capture_query asked[] = {
        {.rule = "ping", .kind = "sample"},
        {.policy = "ping", .kind = "snapshot"},
        {.policy = "ping", .kind = "stream", .status = "running"},
        {.rule = "ping", .policy = "ping"},
    };
    fill();
    ck_assert_int_eq(db_exec(catalog->db, "DROP TABLE captures"), SKEIN_OK);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct catalog_capture_query q = asked[i];
        struct page page = {.count = 0};
        q.to_ns = UINT64_MAX;
        q.limit = 16;
        ck_assert_int_eq(catalog_captures(catalog, &q, page_take, &page), 0);
        q.kind = NULL;
        q.policy = NULL; /* what is none fails here */
        ck_assert_int_lt(catalog_captures(catalog, &q, page_take, &page), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog_listing");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, listings_are_those_of_a_plain_loop);
    tcase_add_test(c, what_no_capture_has_is_an_empty_listing);
    tcase_add_test(c, listing_is_read_from_an_index_in_its_order);
    tcase_add_test(c, contradiction_reads_nothing);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
