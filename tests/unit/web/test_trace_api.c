/* SPDX-License-Identifier: Apache-2.0
 * The browser's interface natively: what memory that is missing does to it, and what it refuses. That its
 * answers are right is the matter of what it calls; that they are the browser's, of wasm_is_native.mjs. */
#include "trace_api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "skein/trace.h"
#include "support.h"

#define EVER 9e18

static uint8_t *bytes;
static size_t byte_count;

static void set_up(void)
{
    FILE *file = fopen(GOLDEN_DIR "/partition-v1-3.skein", "rb");
    ck_assert_ptr_nonnull(file);
    bytes = malloc(1 << 16);
    byte_count = fread(bytes, 1, 1 << 16, file);
    fclose(file);
}

static void tear_down(void)
{
    free(bytes);
}

static struct api_trace *opened(void)
{
    struct api_trace *t = api_trace_new();
    if (t != NULL && api_trace_add(t, bytes, byte_count, "golden") == SKEIN_OK)
        return t;
    api_trace_free(t);
    return NULL;
}

/* Each returns whether all of it was made. */

static bool lanes_made(struct api_trace *t)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    struct api_lanes *l = api_lanes_new(t, SKEIN_NONE, -EVER, EVER, 0);
    int status = l == NULL ? -1 : 1;
    while (status == 1)
        status = api_lanes_step(l, 1);
    bool made = status == 0 && api_lanes_list(l) == 0 && api_answer_bytes() > 1000 &&
                api_lanes_view(l, all, 4, 0, 1e9, 100) > 4;
    api_lanes_free(l);
    return made;
}

static bool rows_made(struct api_trace *t)
{
    struct api_search *s = api_search_new(t, "dur\t>\t0\n", 8, -EVER, EVER, API_BY_LENGTH, 5);
    int status = s == NULL ? -1 : 1;
    while (status == 1)
        status = api_search_step(s, 1);
    bool made = status == 0 && api_search_total(s) > 40 && api_search_rows(s, 0, 5) == 5;
    api_search_free(s);
    return made && api_trace_facts(t) == 0 && api_trace_names(t, 0, 0) == 0;
}

/* The longest `read` of a thread. */
struct row {
    double begin, length;
    uint32_t depth;
};

static bool read_find(struct api_trace *t, struct row *row)
{
    static const char terms[] = "name\t=\tread\ntid\t=\t4711\nkind\t=\tregion\n";
    struct api_search *s =
        api_search_new(t, terms, sizeof terms - 1, -EVER, EVER, API_BY_LENGTH, 1);
    int status = s == NULL ? -1 : 1;
    while (status == 1)
        status = api_search_step(s, 1);
    bool found = status == 0 && api_search_rows(s, 0, 1) == 1;
    if (found) {
        memcpy(&row->begin, api_answer(), sizeof row->begin);
        memcpy(&row->length, api_answer() + 8, sizeof row->length);
        memcpy(&row->depth, api_answer() + 28, sizeof row->depth);
    }
    api_search_free(s);
    return found;
}

static bool details_made(struct api_trace *t)
{
    struct row row;
    return read_find(t, &row) &&
           api_details(t, 0, 4711, row.begin, row.length, row.depth) == SKEIN_OK &&
           api_answer_bytes() > 100;
}

static bool summary_made(struct api_trace *t)
{
    const struct api_part part = {.from = -EVER, .to = EVER};
    struct api_job *job = api_job_new(t, API_SUMMARY, &part);
    int status = job == NULL ? -1 : 1;
    while (status == 1)
        status = api_job_step(job, 1);
    bool made = status == 0 && api_job_json(job) == 0 && api_jobs_diff(job, job) == 0;
    api_job_free(job);
    return made;
}

/* As long as an allocation fails, a call fails, and nothing else. */
static void with_each_allocation_failing(bool (*make)(struct api_trace *t))
{
    for (unsigned n = 1;; n++) {
        alloc_fail_at(n);
        struct api_trace *t = opened();
        bool made = t != NULL && make(t);
        bool failed = alloc_fail_end();
        api_trace_free(t);
        if (!failed) {
            ck_assert(made);
            return;
        }
    }
}

START_TEST(no_memory_is_a_status_of_lanes)
{
    with_each_allocation_failing(lanes_made);
}
END_TEST

START_TEST(no_memory_is_a_status_of_rows)
{
    with_each_allocation_failing(rows_made);
}
END_TEST

START_TEST(no_memory_is_a_status_of_details)
{
    with_each_allocation_failing(details_made);
}
END_TEST

START_TEST(no_memory_is_a_status_of_summaries)
{
    with_each_allocation_failing(summary_made);
}
END_TEST

START_TEST(steps_come_before_answers)
{
    struct api_trace *t = opened();
    const struct api_part part = {.from = -EVER, .to = EVER};
    struct api_job *job = api_job_new(t, API_REPORT, &part);
    struct api_search *s = api_search_new(t, "", 0, -EVER, EVER, API_BY_BEGIN, 5);
    ck_assert_int_eq(api_job_json(job), SKEIN_BUSY);
    ck_assert_int_eq(api_jobs_diff(job, job), SKEIN_INVALID);
    ck_assert_int_eq(api_search_rows(s, 0, 5), SKEIN_BUSY);
    ck_assert_int_eq(api_trace_window(t, 5, 4), SKEIN_INVALID);
    ck_assert_int_eq(api_trace_add(t, bytes, byte_count, "again"), SKEIN_INVALID);
    ck_assert_uint_gt(api_answer_bytes(), 0);
    ck_assert_int_eq(api_details(t, 0, 4711, 12345.6, 1, 0), SKEIN_NOT_FOUND);
    ck_assert_ptr_null(api_search_new(t, "no term", 7, 0, 1, 0, 5));
    api_search_free(s);
    api_job_free(job);
    api_trace_free(t);
}
END_TEST

/* Who made a link may not know how deep the event lies; what is meant is found by its times. */
START_TEST(event_is_found_by_its_times_whatever_its_depth)
{
    struct api_trace *t = opened();
    struct row row;
    ck_assert(t != NULL && read_find(t, &row));
    ck_assert_int_eq(api_details(t, 0, 4711, row.begin, row.length, row.depth), SKEIN_OK);
    size_t n = api_answer_bytes();
    uint8_t *exact = malloc(n);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, api_answer(), n);
    const uint32_t depths[] = {0, 1, row.depth + 1, 77, UINT32_MAX};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        ck_assert_int_eq(api_details(t, 0, 4711, row.begin, row.length, depths[i]), SKEIN_OK);
        ck_assert_uint_eq(api_answer_bytes(), n);
        ck_assert_mem_eq(api_answer(), exact, n);
    }
    /* of another length at that depth, of nobody, at no time */
    ck_assert_int_eq(api_details(t, 0, 4711, row.begin, row.length * 3 + 100, 77), SKEIN_NOT_FOUND);
    ck_assert_int_eq(api_details(t, 0, 1, row.begin, row.length, row.depth), SKEIN_NOT_FOUND);
    ck_assert_int_eq(api_details(t, 9, 4711, row.begin, row.length, row.depth), SKEIN_NOT_FOUND);
    static const double never[] = {
        -EVER, EVER, 1e300, -1e300, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ck_assert_int_ne(api_details(t, 0, 4711, never[i], never[i], row.depth), SKEIN_OK);
    free(exact);
    api_trace_free(t);
}
END_TEST

struct listed {
    double total;
    int count;
    double begins[1000], lengths[1000];
};

/* All rows in an order; those behind `bound`, where it is not NULL, are counted alone. */
static void list(struct api_trace *t, uint32_t order, const double *bound, struct listed *out)
{
    struct api_search *s = api_search_new(t, "", 0, -EVER, EVER, order, 1000);
    int status = 1;
    ck_assert_ptr_nonnull(s);
    if (bound != NULL)
        api_search_bound(s, *bound);
    while (status == 1)
        status = api_search_step(s, 1);
    ck_assert_int_eq(status, 0);
    out->total = api_search_total(s);
    out->count = api_search_rows(s, 0, 1000);
    ck_assert_int_gt(out->count, 0);
    memcpy(out->begins, api_answer(), (size_t)out->count * sizeof(double));
    memcpy(out->lengths, api_answer() + (size_t)out->count * sizeof(double),
           (size_t)out->count * sizeof(double));
    api_search_free(s);
}

START_TEST(rows_behind_the_bound_are_counted_alone)
{
    static struct listed all, some;
    struct api_trace *t = opened();
    for (uint32_t order = API_BY_BEGIN; order <= API_BY_LENGTH; order++) {
        const double *keys = order == API_BY_BEGIN ? all.begins : all.lengths;
        list(t, order, NULL, &all);
        ck_assert_double_eq(all.total, all.count);
        double bound = keys[all.count / 3];
        int before = 0;
        for (; before < all.count; before++)
            if (order == API_BY_BEGIN ? keys[before] > bound : keys[before] < bound)
                break;
        ck_assert_int_lt(before, all.count);
        list(t, order, &bound, &some);
        ck_assert_double_eq(some.total, all.total);
        ck_assert_int_eq(some.count, before);
        ck_assert_mem_eq(some.begins, all.begins, (size_t)before * sizeof(double));
        ck_assert_mem_eq(some.lengths, all.lengths, (size_t)before * sizeof(double));
    }
    api_trace_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_api");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, no_memory_is_a_status_of_lanes);
    tcase_add_test(all, no_memory_is_a_status_of_rows);
    tcase_add_test(all, no_memory_is_a_status_of_details);
    tcase_add_test(all, no_memory_is_a_status_of_summaries);
    tcase_add_test(all, event_is_found_by_its_times_whatever_its_depth);
    tcase_add_test(all, steps_come_before_answers);
    tcase_add_test(all, rows_behind_the_bound_are_counted_alone);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
