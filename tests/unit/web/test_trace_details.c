/* SPDX-License-Identifier: Apache-2.0
 *
 * One event's details over a small trace that is written here: regions of one record each, as the tracer
 * of unmodified programs leaves them, and a range, in each other. Ticks:
 *
 *   loop   100 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 900      loop   1000 ▇▇▇▇▇▇▇▇▇ 1400     wait  2000 ▇▇▇▇ in progress
 *   range    200 ▇▇▇▇▇▇▇▇▇▇▇ 800         sleep    1010 ▇▇▇▇▇▇ 1390
 *   sleep      300 ▇▇ 400, 500 ▇▇ 700
 *
 * and at 1500 three sleeps and a loop of the same time.
 */
#include "trace_api.h"

#include <string.h>

#include "../format/sample.h"
#include "cJSON.h"
#include "skein/trace.h"
#include "support.h"

static const struct partition_event_type loop_type = {
    .name = "loop", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN};
static const struct partition_event_type range_type = {
    .name = "range", .text = "", .file = "", .klass = SKEIN_CLASS_RANGE_BEGIN};
static const struct partition_event_type sleep_type = {.name = "sleep",
                                                       .text = "",
                                                       .file = "",
                                                       .klass = SKEIN_CLASS_SPAN,
                                                       .nargs = 1,
                                                       .args = {{SKEIN_T_U64, "wanted", "ns"}}};

static const struct partition_event_type wait_type = {.name = "wait",
                                                      .text = "",
                                                      .file = "",
                                                      .klass = SKEIN_CLASS_SPAN,
                                                      .nargs = 3,
                                                      .args = {{SKEIN_T_PTR, "cond", "address"},
                                                               {SKEIN_T_PTR, "mutex", "address"},
                                                               {SKEIN_T_I64, "result", "errno"}}};

#define TID      4711
#define IN_CUT   1000000 /* ticks: the cut's end */
#define THE_COND INT64_C(94065861110720)

static struct buf bytes;
static struct api_trace *trace;

static void set_up(void)
{
    const struct partition_info info = sample_info();
    const struct partition_thread main_thread = {TID, "main", 1};
    const struct partition_value args[SKEIN_ARGS_MAX] = {sample_u64(77)};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    uint32_t thread = (uint32_t)partition_writer_thread(w, &main_thread);
    uint32_t loop = (uint32_t)partition_writer_type(w, &loop_type);
    uint32_t range = (uint32_t)partition_writer_type(w, &range_type);
    uint32_t sleep = (uint32_t)partition_writer_type(w, &sleep_type);
    uint32_t wait = (uint32_t)partition_writer_type(w, &wait_type);
    partition_writer_batch(w, thread, 7, 1, false);
    partition_writer_event(w, range, 200, 0, args);
    partition_writer_event(w, sleep, 400, 100, args);
    partition_writer_event(w, sleep, 700, 200, args);
    partition_writer_end(w, 800);
    partition_writer_event(w, loop, 900, 800, args);
    partition_writer_event(w, sleep, 1390, 380, args);
    partition_writer_event(w, loop, 1400, 400, args);
    for (int i = 0; i < 4; i++)
        partition_writer_event(w, i == 1 ? loop : sleep, 1600, 100, args);
    partition_writer_open(w, &(struct partition_open){thread, wait, 2000, THE_COND});
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    trace = api_trace_new();
    ck_assert_int_eq(api_trace_add(trace, bytes.data, bytes.len, "made"), SKEIN_OK);
    ck_assert_int_eq(api_trace_window(trace, SAMPLE_NS(0), SAMPLE_NS(3000)), SKEIN_OK);
}

static void tear_down(void)
{
    api_trace_free(trace);
    buf_fini(&bytes);
}

/* Of what begins at a tick; the caller deletes. */
static cJSON *details(unsigned begin, unsigned ticks, uint32_t depth)
{
    int status = api_details(trace, 0, TID, begin * 64.0, ticks * 64.0, depth);
    must_hold(status == SKEIN_OK, "at %u: %d", begin, status);
    cJSON *json = cJSON_ParseWithLength((const char *)api_answer(), api_answer_bytes());
    ck_assert_ptr_nonnull(json);
    return json;
}

static int number(const cJSON *json, const char *key)
{
    return (int)cJSON_GetNumberValue(cJSON_GetObjectItem(json, key));
}

static int arg_count(const cJSON *json)
{
    return cJSON_GetArraySize(cJSON_GetObjectItem(json, "args"));
}

/* A list's rows are those: begin and length in ticks, depth; ended by a length of 0. */
static void must_list(const cJSON *json, const char *key, const unsigned rows[][3])
{
    const cJSON *list = cJSON_GetObjectItem(json, key);
    int count = 0;
    for (; rows[count][1] > 0; count++) {
        const cJSON *row = cJSON_GetArrayItem(list, count);
        must_hold(row != NULL && number(row, "begin") == (int)rows[count][0] * 64 &&
                      number(row, "length") == (int)rows[count][1] * 64 &&
                      number(row, "depth") == (int)rows[count][2],
                  "%s, row %d: at %d for %d, depth %d", key, count, number(row, "begin"),
                  number(row, "length"), number(row, "depth"));
    }
    ck_assert_int_eq(cJSON_GetArraySize(list), count);
}

START_TEST(a_region_of_one_record_lies_in_another)
{
    cJSON *sleep = details(1010, 380, 1), *loop = details(1000, 400, 0);
    ck_assert_int_eq(number(sleep, "depth"), 1);
    must_list(sleep, "enclosing", (const unsigned[][3]){{1000, 400, 0}, {0, 0, 0}});
    must_list(sleep, "inside", (const unsigned[][3]){{0, 0, 0}});
    ck_assert_int_eq(number(loop, "depth"), 0);
    must_list(loop, "enclosing", (const unsigned[][3]){{0, 0, 0}});
    must_list(loop, "inside", (const unsigned[][3]){{1010, 380, 1}, {0, 0, 0}});
    cJSON_Delete(sleep);
    cJSON_Delete(loop);
}
END_TEST

START_TEST(a_range_in_a_region_of_one_record_holds_others)
{
    cJSON *loop = details(100, 800, 0), *range = details(200, 600, 1),
          *sleep = details(500, 200, 2);
    must_list(loop, "inside", (const unsigned[][3]){{200, 600, 1}, {0, 0, 0}});
    must_list(range, "enclosing", (const unsigned[][3]){{100, 800, 0}, {0, 0, 0}});
    must_list(range, "inside", (const unsigned[][3]){{300, 100, 2}, {500, 200, 2}, {0, 0, 0}});
    must_list(sleep, "enclosing", (const unsigned[][3]){{100, 800, 0}, {200, 600, 1}, {0, 0, 0}});
    cJSON_Delete(loop);
    cJSON_Delete(range);
    cJSON_Delete(sleep);
}
END_TEST

/* Reports and SQL count ranges alone: their links are as good. */
START_TEST(a_link_that_does_not_know_the_depth_leads_to_the_same)
{
    cJSON *sleep = details(1010, 380, 0);
    ck_assert_int_eq(number(sleep, "depth"), 1);
    must_list(sleep, "enclosing", (const unsigned[][3]){{1000, 400, 0}, {0, 0, 0}});
    cJSON_Delete(sleep);
}
END_TEST

/* Each is found at its own depth, with those above it; one that is asked for too deep is the deepest
 * of a type. */
START_TEST(regions_of_the_same_time_are_told_apart_by_their_depths)
{
    int loops = 0;
    for (uint32_t depth = 0; depth < 4; depth++) {
        cJSON *json = details(1500, 100, depth);
        ck_assert_int_eq(number(json, "depth"), (int)depth);
        ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "enclosing")), (int)depth);
        loops += arg_count(json) == 0;
        cJSON_Delete(json);
    }
    ck_assert_int_eq(loops, 1);
    cJSON *deepest = details(1500, 100, 9);
    must_hold(number(deepest, "depth") >= 2, "depth %d", number(deepest, "depth"));
    cJSON_Delete(deepest);
}
END_TEST

static void must_be(const cJSON *json, int i, const char *key, const char *text)
{
    const cJSON *arg = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "args"), i);
    const char *is = cJSON_GetStringValue(cJSON_GetObjectItem(arg, key));
    must_hold(is != NULL && strcmp(is, text) == 0, "%s of %d: %s", key, i, is);
}

/* Of one in progress the tracer knows one number, and nothing of the rest. */
START_TEST(arguments_that_are_not_recorded_are_not_told)
{
    cJSON *wait = details(2000, IN_CUT - 2000, 0), *sleep = details(1010, 380, 1);
    ck_assert_int_eq(number(wait, "kind"), SKEIN_ROW_OPEN);
    ck_assert_int_eq(arg_count(wait), 1);
    must_be(wait, 0, "name", "cond");
    must_be(wait, 0, "unit", "address");
    must_be(wait, 0, "value", "94065861110720");
    ck_assert_int_eq(arg_count(sleep), 1);
    must_be(sleep, 0, "name", "wanted");
    must_be(sleep, 0, "value", "77");
    cJSON_Delete(wait);
    cJSON_Delete(sleep);
}
END_TEST

static double found_by(const char *terms)
{
    struct api_search *s =
        api_search_new(trace, terms, strlen(terms), -9e18, 9e18, API_BY_BEGIN, 9);
    ck_assert_ptr_nonnull(s);
    while (api_search_step(s, 1) == 1)
        ;
    double total = api_search_total(s);
    api_search_free(s);
    return total;
}

START_TEST(arguments_that_are_not_recorded_are_not_found)
{
    static const struct {
        const char *terms;
        int total;
    } cases[] = {{"arg/mutex\t=\t0\n", 0},
                 {"arg/result\t<\t5\n", 0},
                 {"arg/cond\t=\t94065861110720\n", 1},
                 {"arg/cond\t=\t0\n", 0},
                 {"arg/wanted\t=\t77\n", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_hold((int)found_by(cases[i].terms) == cases[i].total, "%s: %d", cases[i].terms,
                  (int)found_by(cases[i].terms));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_details");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_region_of_one_record_lies_in_another);
    tcase_add_test(all, a_range_in_a_region_of_one_record_holds_others);
    tcase_add_test(all, regions_of_the_same_time_are_told_apart_by_their_depths);
    tcase_add_test(all, a_link_that_does_not_know_the_depth_leads_to_the_same);
    tcase_add_test(all, arguments_that_are_not_recorded_are_not_told);
    tcase_add_test(all, arguments_that_are_not_recorded_are_not_found);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
