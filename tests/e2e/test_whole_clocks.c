/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody sets the clock of the collector, or of a host, and asks for a capture in the same
 * moment: what was asked for is in the file, on the clock that it was asked by. The truth is what
 * the traced program says in memory of its own, and this test's clock, which nobody sets. One
 * thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "whole.h"

#define S UINT64_C(1000000000)

/* The window reaches back before the program began: all of its events are in it. */
#define PRE "\"selector\":\"service=clock\",\"pre_ms\":15000"

struct scene {
    struct whole w;
    struct load load;
    uint64_t began_ns;
    long ahead_s; /* the collector's clock */
};

static void scene_start(struct scene *s)
{
    struct load_options options = {.service = "clock", .threads = 2, .burst = 5, .pause_us = 2000};
    *s = (struct scene){.ahead_s = 0};
    whole_init(&s->w, NULL, NULL);
    s->w.own_clocks = true;
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
    s->began_ns = clock_realtime_ns();
    load_start(&s->w, &options, &s->load);
    load_wait_attached(&s->load);
    whole_wait_live(&s->w, "service=clock", 1);
    load_wait_events(&s->load, 1000);
}

static void scene_end(struct scene *s)
{
    load_free(&s->load);
    whole_fini(&s->w);
}

/* Times of the file are those of the collector's clock when it was asked. */
struct bounds {
    uint64_t from_ns, to_ns;
};

static void check_times(void *context, const cJSON *item)
{
    const struct bounds *bounds = context;
    uint64_t from_ns, to_ns;
    ck_assert_int_eq(clock_parse(whole_str(item, "from"), &from_ns), SKEIN_OK);
    ck_assert_int_eq(clock_parse(whole_str(item, "to"), &to_ns), SKEIN_OK);
    ck_assert_msg(from_ns >= bounds->from_ns && to_ns <= bounds->to_ns,
                  "from %s to %s is not within %" PRIu64 " to %" PRIu64, whole_str(item, "from"),
                  whole_str(item, "to"), bounds->from_ns, bounds->to_ns);
}

static void check_capture(struct scene *s, const struct capture_id *id, const uint64_t *written)
{
    char text[ID_TEXT_BYTES], path[160];
    struct buf bytes = {0};
    struct tally tally;
    id_text(id->bytes, text);
    cJSON *capture = whole_capture_final(&s->w, text);
    ck_assert_str_eq(whole_str(capture, "status"), "complete");
    cJSON_Delete(capture);
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace", text);
    ck_assert_int_eq(whole_http(&s->w, "GET", path, NULL, &bytes), 200);
    tally_trace(&bytes, &tally);
    buf_fini(&bytes);
    for (unsigned i = 0; i < s->load.threads; i++) {
        const struct seen *seen = &tally.threads[i];
        ck_assert_msg(seen->first == 0 && seen->holes == 0 && seen->last + 1 >= written[i],
                      "thread %u: %" PRIu64 " events to %" PRIu64 " of %" PRIu64, i, seen->count,
                      seen->last, written[i]);
    }
    uint64_t ahead_ns = (uint64_t)s->ahead_s * S;
    struct bounds bounds = {s->began_ns + ahead_ns - S / 2, clock_realtime_ns() + ahead_ns + S / 2};
    (void)snprintf(path, sizeof path, "/api/v1/partitions?capture=%s", text);
    ck_assert_uint_gt(whole_list(&s->w, path, check_times, &bounds), 0);
}

static void note_written(const struct scene *s, uint64_t *written)
{
    for (unsigned i = 0; i < s->load.threads; i++)
        written[i] = s->load.page->committed[i];
}

/* What a clock is ahead of this test's, which nobody sets, and what the collector is told of it. */
struct truth {
    struct scene *s;
    int64_t offset_ns; /* the collector's clock less the host's */
    int64_t told_ns;
    uint64_t error_ns;
};

/* Whether a heartbeat since the step has said how far its offset may be from the true one. */
static bool offset_is_told(void *context)
{
    struct truth *truth = context;
    cJSON *json = whole_get(&truth->s->w, "/api/v1/agents");
    const cJSON *agent = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "items"), 0);
    const cJSON *offset = cJSON_GetObjectItem(agent, "clock_offset_ns");
    const cJSON *error = cJSON_GetObjectItem(agent, "clock_error_ns");
    truth->told_ns = cJSON_IsNumber(offset) ? (int64_t)offset->valuedouble : INT64_MAX;
    truth->error_ns = cJSON_IsNumber(error) ? (uint64_t)error->valuedouble : 0;
    cJSON_Delete(json);
    return truth->error_ns != 0 && llabs(truth->told_ns - truth->offset_ns) < (int64_t)S / 2;
}

static void check_offset(struct scene *s, int64_t offset_ns)
{
    struct truth truth = {.s = s, .offset_ns = offset_ns};
    ck_assert_msg(wait_until(offset_is_told, &truth, 0),
                  "told %" PRId64 " ns give or take %" PRIu64 ", and it is %" PRId64, truth.told_ns,
                  truth.error_ns, offset_ns);
    ck_assert_msg((uint64_t)llabs(truth.told_ns - offset_ns) <= truth.error_ns,
                  "told %" PRId64 " ns give or take %" PRIu64 ", and it is %" PRId64, truth.told_ns,
                  truth.error_ns, offset_ns);
    ck_assert_uint_lt(truth.error_ns, S); /* it says something */
}

/* In the moment of the step, and again once there are some samples of the new clock. */
static void step_and_capture(const char *daemon, long ahead_s)
{
    struct scene s;
    uint64_t written[LOAD_THREADS_MAX];
    scene_start(&s);
    for (int i = 0; i < 2; i++) {
        note_written(&s, written);
        if (i == 0)
            whole_clock_set(&s.w, daemon, ahead_s);
        s.ahead_s = strcmp(daemon, "collector") == 0 ? ahead_s : 0;
        struct capture_id id = whole_capture(&s.w, "{" PRE "}");
        check_capture(&s, &id, written);
        load_wait_events(&s.load, 500);
    }
    check_offset(&s, (strcmp(daemon, "collector") == 0 ? ahead_s : -ahead_s) * (int64_t)S);
    scene_end(&s);
}

START_TEST(the_collector_s_clock_goes_ahead)
{
    step_and_capture("collector", 20);
}
END_TEST

START_TEST(the_collector_s_clock_goes_back)
{
    step_and_capture("collector", -20);
}
END_TEST

START_TEST(the_host_s_clock_goes_ahead)
{
    step_and_capture("agent", 30);
}
END_TEST

START_TEST(the_host_s_clock_goes_back)
{
    step_and_capture("agent", -60);
}
END_TEST

/* While the window's end is still waited for. */
static void step_within(const char *daemon, long ahead_s)
{
    struct scene s;
    uint64_t written[LOAD_THREADS_MAX];
    scene_start(&s);
    struct capture_id id = whole_capture(&s.w, "{" PRE ",\"post_ms\":1500}");
    load_wait_events(&s.load, 200);
    whole_clock_set(&s.w, daemon, ahead_s);
    load_wait_events(&s.load, 200);
    note_written(&s, written);
    check_capture(&s, &id, written);
    scene_end(&s);
}

START_TEST(a_window_outlasts_a_step_of_the_collector_s_clock)
{
    step_within("collector", _i == 0 ? 40 : -40);
}
END_TEST

START_TEST(a_window_outlasts_a_step_of_the_host_s_clock)
{
    step_within("agent", _i == 0 ? 40 : -40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_clocks");
    TCase *c = tcase_create("steps");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, the_collector_s_clock_goes_ahead);
    tcase_add_test(c, the_collector_s_clock_goes_back);
    tcase_add_test(c, the_host_s_clock_goes_ahead);
    tcase_add_test(c, the_host_s_clock_goes_back);
    tcase_add_loop_test(c, a_window_outlasts_a_step_of_the_collector_s_clock, 0, 2);
    tcase_add_loop_test(c, a_window_outlasts_a_step_of_the_host_s_clock, 0, 2);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
