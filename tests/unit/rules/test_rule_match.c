/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_match.h"

#include <stdio.h>
#include <string.h>

#include "partition_reader.h"
#include "skein/skein.h"
#include "support.h"

static struct rule_spec *spec_of(const char *when)
{
    char text[512], error[256] = "";
    struct rule_spec *spec;
    snprintf(text, sizeof text, "{\"name\":\"r\",\"selector\":\"\",\"when\":{%s}}", when);
    cJSON *json = cJSON_Parse(text);
    int status = rule_spec_new(json, &spec, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    cJSON_Delete(json);
    return spec;
}

START_TEST(so_many_events_within_the_window_fire_once_and_then_count_anew)
{
    struct scan_window w;
    ck_assert_int_eq(scan_window_init(&w, 3), SKEIN_OK);
    ck_assert(!scan_window_add(&w, 100, 50));
    ck_assert(!scan_window_add(&w, 120, 50));
    ck_assert(!scan_window_add(&w, 160, 50)); /* the first is too old */
    ck_assert(!scan_window_holds(&w, 160, 50));
    ck_assert(scan_window_add(&w, 165, 50));
    ck_assert(scan_window_holds(&w, 170, 50));
    ck_assert(!scan_window_holds(&w, 171, 50));
    ck_assert(!scan_window_add(&w, 166, 50)); /* used up: three new ones are wanted */
    ck_assert(!scan_window_add(&w, 167, 50));
    ck_assert(scan_window_add(&w, 164, 50)); /* threads may be a little apart */
    scan_window_fini(&w);
}
END_TEST

START_TEST(a_region_matches_by_name_when_it_took_longer)
{
    struct partition_event_type type = {.name = "query", .klass = SKEIN_CLASS_SPAN};
    struct trace_event event = {
        .kind = TRACE_REGION, .time_ns = 1000, .dur_ns = 500000, .type = &type};
    struct scan_hit hit;
    struct rule_spec *spec = spec_of("\"latency\":{\"region\":\"query\",\"over_us\":500}");
    ck_assert(!scan_event_matches(spec, &event, &hit)); /* just as long */
    event.dur_ns = 812000000;
    ck_assert(scan_event_matches(spec, &event, &hit));
    ck_assert_uint_eq(hit.at_ns, 812001000);
    ck_assert_str_eq(hit.reason, "region query took 812.000 ms (limit 0.500 ms)");
    event.end_clipped = true; /* its end was lost: nobody knows */
    ck_assert(!scan_event_matches(spec, &event, &hit));
    event.end_clipped = false;
    event.kind = TRACE_OPEN;
    ck_assert(!scan_event_matches(spec, &event, &hit));
    event.kind = TRACE_REGION;
    type.name = "query2";
    ck_assert(!scan_event_matches(spec, &event, &hit));
    event.type = NULL;
    ck_assert(!scan_event_matches(spec, &event, &hit));
    rule_spec_free(&spec);
}
END_TEST

START_TEST(a_log_line_matches_by_level_and_pattern)
{
    struct partition_event_type type = {.name = "log", .klass = SKEIN_CLASS_LOG, .nargs = 2};
    type.args[0].type = SKEIN_T_U64;
    type.args[1].type = SKEIN_T_STR;
    struct trace_event event = {.kind = TRACE_LOG, .time_ns = 7, .type = &type};
    event.args[0].u64 = SKEIN_ERROR;
    event.args[1].str.text = "disk\nfull, and more";
    event.args[1].str.len = 9;
    struct scan_hit hit;
    struct rule_spec *spec = spec_of("\"log\":{\"level\":\"error\",\"match\":\"disk.full$\"}");
    ck_assert(scan_event_matches(spec, &event, &hit));
    ck_assert_str_eq(hit.reason, "the log says (error): disk?full");
    event.args[0].u64 = SKEIN_WARN;
    ck_assert(!scan_event_matches(spec, &event, &hit));
    event.args[0].u64 = UINT64_MAX; /* a level that is none */
    ck_assert(scan_event_matches(spec, &event, &hit));
    type.args[1].type = SKEIN_T_U64; /* a log line that holds no text */
    ck_assert(!scan_event_matches(spec, &event, &hit));
    rule_spec_free(&spec);
}
END_TEST

START_TEST(a_counter_matches_above_or_below)
{
    struct partition_event_type type = {.name = "free", .klass = SKEIN_CLASS_COUNTER, .nargs = 1};
    type.args[0].type = SKEIN_T_I64;
    struct trace_event event = {.kind = TRACE_COUNTER, .type = &type};
    event.args[0].i64 = -3;
    struct scan_hit hit;
    struct rule_spec *below = spec_of("\"counter\":{\"name\":\"free\",\"below\":-2.5}");
    struct rule_spec *above = spec_of("\"counter\":{\"name\":\"free\",\"above\":-2.5}");
    ck_assert(scan_event_matches(below, &event, &hit));
    ck_assert_str_eq(hit.reason, "counter free was -3 (limit not below -2.5)");
    ck_assert(!scan_event_matches(above, &event, &hit));
    event.args[0].i64 = 1;
    ck_assert(scan_event_matches(above, &event, &hit));
    type.args[0].type = SKEIN_T_F64;
    event.args[0].f64 = 0.0 / 1.0;
    ck_assert(scan_event_matches(above, &event, &hit));
    type.args[0].type = SKEIN_T_STR;
    event.args[0].str.text = NULL;
    ck_assert(!scan_event_matches(above, &event, &hit));
    rule_spec_free(&below);
    rule_spec_free(&above);
}
END_TEST

START_TEST(a_failing_exit_counts_of_a_service)
{
    const uint64_t start = UINT64_C(1700000000000000000), second = UINT64_C(1000000000);
    ck_assert(rule_exit_counts(true, start, start));
    ck_assert(rule_exit_counts(false, start, start + second));
    ck_assert(!rule_exit_counts(false, start, start + second - 1));
    ck_assert(!rule_exit_counts(false, start, start - 5 * second)); /* the clock was set back */
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "rule_match", so_many_events_within_the_window_fire_once_and_then_count_anew,
        a_region_matches_by_name_when_it_took_longer, a_log_line_matches_by_level_and_pattern,
        a_counter_matches_above_or_below, a_failing_exit_counts_of_a_service, NULL));
}
