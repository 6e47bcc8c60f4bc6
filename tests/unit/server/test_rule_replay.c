/* SPDX-License-Identifier: Apache-2.0
 * Rules tried on what is stored, through HTTP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "partition_writer.h"
#include "support.h"

#define S         UINT64_C(1000000000)
#define TICK(ns)  (1000 + (ns))
#define TEST      "/api/v1/rules:test"
#define LATENCY   "\"when\":{\"latency\":{\"region\":\"query\",\"over_us\":500000}}"
#define RULE(...) "{\"selector\":\"service=shop\"," __VA_ARGS__ "}"

static const struct partition_event_type span = {
    .name = "query", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN};
static const struct partition_event_type range = {
    .name = "query", .text = "", .file = "", .klass = SKEIN_CLASS_RANGE_BEGIN};
static const struct partition_event_type line = {
    .name = "log",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_LOG,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "level", ""}, {SKEIN_T_STR, "text", ""}}};

/* The collector's time less the host's, in what is made. */
static int64_t clock_offset_ns = 0;
static bool evidence = false; /* what is made */

/* One that is being written: 100 s of a process from from_ns on. */
struct made {
    struct partition_writer *w;
    struct partition_key key;
    uint32_t span, range, line;
};

static struct made made_new(uint32_t process, uint64_t sequence, uint64_t from_ns,
                            const char *service, int signal)
{
    struct made m = {.key = key_of(process, 1, sequence)};
    uint64_t end = TICK(100 * S);
    struct partition_info info = {.key = m.key,
                                  .pid = 100 + process,
                                  .clock = PARTITION_CLOCK_MONOTONIC,
                                  .begin = {1000, 1000, 1000, from_ns},
                                  .end = {end, end, end, from_ns + 100 * S},
                                  .clock_offset_ns = clock_offset_ns,
                                  .window_from_ticks = 1000,
                                  .window_to_ticks = end,
                                  .host = "host-a",
                                  .service = service,
                                  .labels = "",
                                  .exe = "/usr/bin/shop",
                                  .death = {.signal = signal, .known = signal != 0},
                                  .evidence = evidence};
    struct partition_thread thread = {.tid = 1, .name = "main", .incarnation = 1};
    ck_assert_int_eq(partition_writer_new(&info, &m.w), SKEIN_OK);
    m.span = (uint32_t)partition_writer_type(m.w, &span);
    if (!evidence)
        m.range = (uint32_t)partition_writer_type(m.w, &range);
    m.line = (uint32_t)partition_writer_type(m.w, &line);
    partition_writer_batch(m.w, (uint32_t)partition_writer_thread(m.w, &thread), 1, 1, false);
    return m;
}

static void add_span(struct made *m, uint64_t at_ns, uint64_t dur_ns)
{
    partition_writer_event(m->w, m->span, TICK(at_ns), dur_ns, NULL);
}

static void add_line(struct made *m, uint64_t at_ns, const char *text)
{
    struct partition_value args[2] = {{.u64 = SKEIN_WARN},
                                      {.str = {text, (uint32_t)strlen(text), false}}};
    partition_writer_event(m->w, m->line, TICK(at_ns), 0, args);
}

static void store(struct fixture *f, struct made *m)
{
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    ck_assert_int_eq(partition_writer_finish(m->w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&m->w);
    if (f->agent.data == NULL) /* the agent dials with its first upload */
        wire_agent_upload(&f->agent, 90, 0, "ca000000000000000000000000000002", 0);
    ck_assert_int_eq(partition_upload(f->agent.data, &m->key, &capture, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

/* Asks about the 200 s from from_ns on. */
static cJSON *test_rule(struct fixture *f, const char *path, uint64_t from_ns, const char *rule)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES], body[1024];
    clock_text(from_ns, from);
    clock_text(from_ns + 200 * S, to);
    snprintf(body, sizeof body, "{\"from\":\"%s\",\"to\":\"%s\"%s%s}", from, to,
             rule != NULL ? ",\"rule\":" : "", rule != NULL ? rule : "");
    return call_json(f, "POST", path, body, 200);
}

static uint64_t begin_ns(void)
{
    return clock_realtime_ns() / S * S - 1000 * S;
}

START_TEST(stored_records_tell_when_a_rule_would_have_fired)
{
    struct fixture f;
    uint64_t from = begin_ns();
    char time[CLOCK_TEXT_BYTES];
    fixture_start(&f);
    struct made m = made_new(1, 0, from, "shop", 0);
    add_span(&m, 5 * S, S / 4); /* fast enough */
    add_span(&m, 10 * S, S);
    add_span(&m, 20 * S, S); /* within the cooldown */
    add_span(&m, 90 * S, S);
    store(&f, &m);
    m = made_new(2, 0, from, "other", 0);
    add_span(&m, 10 * S, S);
    store(&f, &m);
    cJSON *json = test_rule(&f, TEST, from, RULE(LATENCY));
    ck_assert(cJSON_IsTrue(at_path(json, "evaluated")));
    ck_assert_str_eq(text_at(json, "source"), "records");
    ck_assert_double_eq(number_at(json, "met"), 3);
    ck_assert_double_eq(number_at(json, "fired"), 2);
    ck_assert_double_eq(number_at(json, "held"), 1);
    ck_assert_ptr_null(at_path(json, "left_out"));
    clock_text(from + 10 * S, time);
    ck_assert_str_eq(text_at(json, "instants.0.time"), time);
    ck_assert_str_eq(text_at(json, "instants.0.result"), "fired");
    ck_assert_str_eq(text_at(json, "instants.0.reason"),
                     "region query took 1000.000 ms (limit 500.000 ms)");
    ck_assert_double_eq(number_at(json, "instants.0.pid"), 101);
    ck_assert_str_eq(text_at(json, "instants.0.service"), "shop");
    ck_assert_ptr_null(at_path(json, "instants.2"));
    ck_assert(cJSON_IsTrue(at_path(json, "covered.complete")));
    ck_assert_double_eq(number_at(json, "covered.partitions_read"), 1);
    cJSON_Delete(json);
    json =
        test_rule(&f, TEST, from,
                  RULE(LATENCY ",\"limits\":{\"captures_per_hour\":1,\"bytes_per_hour\":\"1kB\"}"));
    ck_assert_double_eq(number_at(json, "fired"), 1);
    ck_assert_str_eq(text_at(json, "left_out"), "limits.bytes_per_hour");
    ck_assert_str_eq(text_at(json, "instants.1.result"), "held");
    ck_assert_ptr_nonnull(strstr(text_at(json, "instants.1.why"), "captures_per_hour: 1 of 1"));
    cJSON_Delete(json);
    json =
        test_rule(&f, TEST, from,
                  RULE(LATENCY ",\"limits\":{\"cooldown_ms\":0},\"capture\":{\"pre_ms\":15000}"));
    ck_assert_double_eq(number_at(json, "fired"), 3);
    ck_assert_double_eq(number_at(json, "incidents"), 2);
    ck_assert_double_eq(number_at(json, "instants.0.incident"), 1);
    ck_assert_double_eq(number_at(json, "instants.1.incident"), 1);
    ck_assert_double_eq(number_at(json, "instants.2.incident"), 2);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(records_of_a_host_whose_clock_is_wrong_are_tried_at_the_collectors_time)
{
    struct fixture f;
    uint64_t from = begin_ns();
    char time[CLOCK_TEXT_BYTES];
    fixture_start(&f);
    clock_offset_ns = 3000 * (int64_t)S;
    struct made m = made_new(1, 0, from - (uint64_t)clock_offset_ns, "shop", 0);
    clock_offset_ns = 0;
    add_span(&m, 10 * S, S);
    store(&f, &m);
    cJSON *json = test_rule(&f, TEST, from, RULE(LATENCY));
    ck_assert_double_eq(number_at(json, "fired"), 1);
    clock_text(from + 10 * S, time);
    ck_assert_str_eq(text_at(json, "instants.0.time"), time);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(region_over_two_partitions_is_one)
{
    struct fixture f;
    uint64_t from = begin_ns();
    fixture_start(&f);
    struct made m = made_new(1, 0, from, "shop", 0);
    partition_writer_event(m.w, m.range, TICK(99 * S), 0, NULL);
    store(&f, &m);
    evidence = true; /* beside the two: it lies between them, and no rule is about it */
    m = made_new(1, 1, from + 50 * S, "shop", 0);
    evidence = false;
    add_span(&m, 60 * S, 20 * S);
    store(&f, &m);
    m = made_new(1, 2, from + 100 * S, "shop", 0);
    partition_writer_open_range(m.w, m.range, 1000);
    partition_writer_end(m.w, TICK(3 * S));
    store(&f, &m);
    cJSON *json = test_rule(&f, TEST, from, RULE(LATENCY));
    ck_assert_double_eq(number_at(json, "met"), 1);
    ck_assert_double_eq(number_at(json, "covered.partitions_read"), 3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static void add_lines(struct made *m, unsigned from_s, unsigned to_s)
{
    for (unsigned s = from_s; s <= to_s; s += 10)
        add_line(m, s * S, "disk full");
}

START_TEST(record_that_captures_have_in_common_counts_once)
{
    struct fixture f;
    uint64_t from = begin_ns();
    fixture_start(&f);
    struct made m = made_new(1, 0, from, "shop", 0);
    add_lines(&m, 10, 60);
    store(&f, &m);
    m = made_new(1, 1, from, "shop", 0);
    add_lines(&m, 10, 30);
    store(&f, &m);
    m = made_new(1, 2, from, "shop", 0);
    add_lines(&m, 40, 80);
    add_line(&m, 80 * S, "disk full"); /* another one, of the same time */
    store(&f, &m);
    m = made_new(1, 3, from, "shop", 0); /* holds a thread's time that others have lost */
    add_lines(&m, 0, 0);
    add_lines(&m, 80, 80);
    add_line(&m, 80 * S, "disk full");
    store(&f, &m);
    cJSON *json = test_rule(&f, TEST, from, RULE("\"when\":{\"log\":{}}"));
    ck_assert_double_eq(number_at(json, "met"), 10);
    ck_assert_double_eq(number_at(json, "covered.partitions_read"), 4);
    cJSON_Delete(json);
    json = test_rule(&f, TEST, from, RULE("\"when\":{\"log\":{\"count\":10,\"window_ms\":80000}}"));
    ck_assert_double_eq(number_at(json, "met"), 1);
    cJSON_Delete(json);
    json = test_rule(&f, TEST, from, RULE("\"when\":{\"log\":{\"count\":3,\"window_ms\":19999}}"));
    ck_assert_double_eq(number_at(json, "met"), 1); /* 70, 80, 80 */
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(more_matching_records_than_are_compared_at_a_time_count_once)
{
    struct fixture f;
    uint64_t from = begin_ns();
    const unsigned lines = 70000, more = 10;
    fixture_start(&f);
    for (unsigned i = 0; i < 2; i++) {
        struct made m = made_new(1, i, from, "shop", 0);
        for (unsigned n = 0; n < lines + i * more; n++)
            add_line(&m, n * (S / 1000), "disk full");
        store(&f, &m);
        cJSON *json = test_rule(&f, TEST, from, RULE("\"when\":{\"log\":{}}"));
        ck_assert_double_eq(number_at(json, "met"), lines + i * more);
        ck_assert(cJSON_IsTrue(at_path(json, "covered.complete")));
        cJSON_Delete(json);
    }
    fixture_stop(&f);
}
END_TEST

START_TEST(log_lines_and_deaths_are_found)
{
    struct fixture f;
    uint64_t from = begin_ns();
    fixture_start(&f);
    struct made m = made_new(1, 0, from, "shop", 11);
    add_line(&m, 10 * S, "disk full");
    add_line(&m, 11 * S, "disk fine");
    add_line(&m, 12 * S, "disk full");
    store(&f, &m);
    m = made_new(2, 0, from, "shop", 15); /* asked to end: no crash */
    add_line(&m, 10 * S, "disk full");
    store(&f, &m);
    cJSON *json =
        test_rule(&f, TEST, from, RULE("\"when\":{\"log\":{\"match\":\"full$\",\"count\":2}}"));
    ck_assert_double_eq(number_at(json, "met"), 1);
    ck_assert_str_eq(text_at(json, "instants.0.reason"),
                     "the log says (warn): disk full, 2 times in 60000 ms");
    cJSON_Delete(json);
    json = test_rule(&f, TEST, from, RULE("\"when\":{\"crash\":{}}"));
    ck_assert_double_eq(number_at(json, "fired"), 1);
    ck_assert_str_eq(text_at(json, "instants.0.reason"), "the process died by signal 11");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(what_no_trace_shows_is_said_or_taken_from_history)
{
    struct fixture f;
    char error[256];
    uint64_t now = clock_realtime_ns();
    static const char health[] = RULE("\"when\":{\"health\":{\"exec\":{\"command\":[\"true\"]}}}");
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON *json = test_rule(&f, TEST, begin_ns(), health);
    ck_assert(cJSON_IsFalse(at_path(json, "evaluated")));
    ck_assert_str_ne(text_at(json, "why"), "");
    cJSON_Delete(json);
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/ping", health, 201));
    ck_assert(wire_agent_report(
        &f.agent,
        wire_fired(&f.agent, "01a100000000000000000000000000a1", 1, "ping", now - 100 * S), error,
        sizeof error));
    json = test_rule(&f, "/api/v1/rules/ping:test", now - 150 * S, NULL);
    ck_assert_str_eq(text_at(json, "source"), "history");
    ck_assert_double_eq(number_at(json, "fired"), 1);
    ck_assert_str_eq(text_at(json, "instants.0.service"), "shop");
    cJSON_Delete(json);
    /* Another condition has no history; other limits have. */
    json = test_rule(&f, "/api/v1/rules/ping:test", now - 150 * S,
                     RULE("\"when\":{\"health\":{\"unix\":{\"path\":\"/a\"}}}"));
    ck_assert(cJSON_IsFalse(at_path(json, "evaluated")));
    cJSON_Delete(json);
    json = test_rule(&f, TEST, begin_ns(), RULE("\"when\":{\"schedule\":{\"every_ms\":100000}}"));
    ck_assert_str_eq(text_at(json, "source"), "schedule");
    ck_assert_double_ge(number_at(json, "fired"), 2);
    ck_assert_double_le(number_at(json, "fired"), 3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(rule_that_nothing_stored_meets_would_not_have_fired)
{
    struct fixture f;
    fixture_start(&f);
    cJSON *json = test_rule(&f, TEST, begin_ns(), RULE("\"when\":{\"crash\":{}}"));
    ck_assert_double_eq(number_at(json, "met"), 0);
    ck_assert_double_eq(number_at(json, "fired"), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(wrong_questions_are_named)
{
    struct fixture f;
    fixture_start(&f);
    expect_problem(&f, "POST", TEST, "{}", 422, "rule");
    expect_problem(&f, "POST", TEST, "{\"rule\":{\"selector\":\"\"}}", 422, "rule.when");
    expect_problem(&f, "POST", TEST, "{\"rule\":1}", 422, "rule");
    expect_problem(&f, "POST", TEST, "{\"from\":\"x\"}", 422, "from");
    expect_problem(&f, "POST", TEST,
                   "{\"to\":\"2020-01-01T00:00:00Z\",\"from\":\"2020-01-02T00:00:00Z\"}", 422,
                   "from");
    expect_problem(&f, "POST", "/api/v1/rules/none:test", "{}", 404, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(confined_token_tries_rules_on_its_own_processes)
{
    struct fixture f;
    struct token token = {.name = "t", .scope = HTTP_OPERATOR, .selector = "service=mine"},
                 first = {.name = "first", .scope = HTTP_ADMIN};
    char text[TOKEN_TEXT_BYTES], error[256], header[160];
    struct http_response response;
    uint64_t from = begin_ns();
    fixture_start(&f);
    struct made m = made_new(1, 0, from, "shop", 11);
    add_line(&m, 10 * S, "a");
    store(&f, &m);
    m = made_new(2, 0, from, "mine", 11);
    add_line(&m, 10 * S, "a");
    store(&f, &m);
    ck_assert_int_eq(
        tokens_create(f.collector.tokens, &first, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    ck_assert_int_eq(
        tokens_create(f.collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    snprintf(header, sizeof header, "Authorization: Bearer %s", text);
    call(&f, "POST", TEST, "{\"rule\":{\"selector\":\"\",\"when\":{\"crash\":{}}}}", header,
         &response);
    ck_assert_int_eq(response.status, 200);
    buf_put_u8(&response.body, 0);
    ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\"service\":\"mine\""));
    ck_assert_ptr_null(strstr((char *)response.body.data, "\"service\":\"shop\""));
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("rule_replay", stored_records_tell_when_a_rule_would_have_fired,
                 records_of_a_host_whose_clock_is_wrong_are_tried_at_the_collectors_time,
                 region_over_two_partitions_is_one, record_that_captures_have_in_common_counts_once,
                 more_matching_records_than_are_compared_at_a_time_count_once,
                 log_lines_and_deaths_are_found, what_no_trace_shows_is_said_or_taken_from_history,
                 rule_that_nothing_stored_meets_would_not_have_fired, wrong_questions_are_named,
                 confined_token_tries_rules_on_its_own_processes, NULL));
}
