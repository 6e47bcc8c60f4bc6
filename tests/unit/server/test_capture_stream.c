/* SPDX-License-Identifier: Apache-2.0
 * Streams: what is asked of agents, what can be had while they run, how they end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define CAPTURES "/api/v1/captures"
#define EVENTS   2 /* of a partition that the agent uploads */

struct stream {
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    cJSON *command;
};

static cJSON *next_command(struct fixture *f, const char *kind)
{
    cJSON *command = wire_agent_command(&f->agent, kind, (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no command %s", kind);
    wire_agent_ack(&f->agent, command, NULL);
    return command;
}

/* A stream of one process, begun; `members` are further ones of the request. */
static void stream_start(struct stream *s, const char *members)
{
    char request[256];
    fixture_start(&s->f);
    wire_agent_processes(&s->f.agent, 1, 1, "shop");
    snprintf(request, sizeof request, "{\"selector\":\"service=shop\",\"kind\":\"stream\"%s}",
             members);
    cJSON *json = call_json(&s->f, "POST", CAPTURES, request, 202);
    snprintf(s->id, sizeof s->id, "%s", text_at(json, "capture"));
    snprintf(s->path, sizeof s->path, CAPTURES "/%s", s->id);
    ck_assert_str_eq(text_at(json, "kind"), "stream");
    cJSON_Delete(json);
    s->command = next_command(&s->f, "capture");
}

static void stream_fini(struct stream *s)
{
    cJSON_Delete(s->command);
    fixture_stop(&s->f);
}

static void report(struct stream *s, const char *state, unsigned sequences)
{
    char error[256];
    cJSON *json = wire_target(&s->f.agent, s->id, 1, state, sequences, EVENTS);
    ck_assert_msg(wire_agent_report(&s->f.agent, json, error, sizeof error), "%s", error);
}

static void upload(struct stream *s, uint64_t sequence)
{
    ck_assert_int_eq(wire_agent_upload(&s->f.agent, 1, sequence, s->id, 0), WIRE_STORED);
}

struct wait {
    struct stream *s;
    double events;
};

static bool has_events(void *context)
{
    struct wait *w = context;
    cJSON *json = call_json(&w->s->f, "GET", w->s->path, NULL, 200);
    double events = number_at(json, "targets.0.events");
    cJSON_Delete(json);
    return events == w->events;
}

static void wait_for_events(struct stream *s, double events)
{
    struct wait w = {s, events};
    ck_assert_msg(wait_until(has_events, &w, 0), "%f events are not counted", events);
}

static int manifest_partitions(struct stream *s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/manifest", s->path);
    cJSON *json = call_json(&s->f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "targets.0.partitions"));
    cJSON_Delete(json);
    return count;
}

static size_t trace_bytes(struct stream *s)
{
    char path[128];
    struct http_response response;
    snprintf(path, sizeof path, "%s/trace", s->path);
    call(&s->f, "GET", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    size_t n = response.body.len;
    http_response_fini(&response);
    return n;
}

START_TEST(stream_is_sent_with_its_bound_and_how_often_it_is_cut)
{
    struct stream s;
    stream_start(&s, ",\"max_ms\":60000");
    ck_assert_double_eq(number_at(s.command, "pre_ms"), 0);
    ck_assert_double_eq(number_at(s.command, "post_ms"), 60000);
    ck_assert_double_eq(number_at(s.command, "stream_ms"), 1000);
    expect_problem(&s.f, "POST", CAPTURES,
                   "{\"selector\":\"service=shop\",\"kind\":\"stream\",\"for_ms\":5}", 422,
                   "for_ms");
    expect_problem(&s.f, "POST", CAPTURES,
                   "{\"selector\":\"service=shop\",\"kind\":\"stream\",\"max_ms\":0}", 422,
                   "max_ms");
    expect_problem(&s.f, "POST", CAPTURES, "{\"selector\":\"service=shop\",\"max_ms\":5}", 422,
                   "max_ms");
    cJSON *json = call_json(&s.f, "POST", CAPTURES,
                            "{\"selector\":\"service=shop\",\"kind\":\"stream\"}", 202);
    ck_assert_double_eq(number_at(json, "post_ms"), 3600000);
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

START_TEST(running_stream_gives_what_is_stored_so_far_and_ends_when_it_is_stopped)
{
    struct stream s;
    stream_start(&s, "");
    report(&s, "capturing", 0);
    report(&s, "capturing", 1);
    upload(&s, 0);
    wait_for_events(&s, EVENTS);
    size_t before = trace_bytes(&s);
    ck_assert_int_eq(manifest_partitions(&s), 1);
    upload(&s, 1); /* before it is listed */
    report(&s, "capturing", 2);
    wait_for_events(&s, 2 * EVENTS);
    ck_assert_int_eq(manifest_partitions(&s), 2);
    ck_assert_uint_gt(trace_bytes(&s), before);
    cJSON *json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "capturing");
    ck_assert_double_eq(number_at(json, "targets.0.partitions.0.last"), 1);
    cJSON_Delete(json);

    char stop[128];
    snprintf(stop, sizeof stop, "%s:stop", s.path);
    json = call_json(&s.f, "POST", stop, NULL, 202);
    ck_assert_double_lt(number_at(json, "post_ms"), 3600000);
    cJSON_Delete(json);
    cJSON_Delete(next_command(&s.f, "stop"));
    report(&s, "uploading", 3);
    upload(&s, 2);
    wait_for_text(&s.f, s.path, "status", "stopped");
    json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "complete");
    ck_assert(cJSON_IsTrue(at_path(json, "verdict.complete")));
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

START_TEST(list_so_far_that_is_stored_whole_is_no_end)
{
    struct stream s;
    stream_start(&s, ",\"max_ms\":1,\"deadline_ms\":3000");
    report(&s, "capturing", 1);
    wait_for_text(&s.f, s.path, "targets.0.status", "expired");
    upload(&s, 0);
    wait_for_events(&s, EVENTS);
    cJSON *json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "expired");
    cJSON_Delete(json);
    report(&s, "uploading", 2);
    upload(&s, 1);
    wait_for_text(&s.f, s.path, "status", "complete");
    stream_fini(&s);
}
END_TEST

START_TEST(gap_of_an_agent_that_did_not_finish_is_the_whole_window)
{
    struct stream s;
    stream_start(&s, ",\"max_ms\":1,\"deadline_ms\":3000");
    cJSON *target = wire_target(&s.f.agent, s.id, 1, "capturing", 1, EVENTS);
    cJSON *window = cJSON_CreateObject();
    cJSON *json = call_json(&s.f, "GET", s.path, NULL, 200);
    char error[256];
    uint64_t from;
    ck_assert_int_eq(clock_parse(text_at(json, "window.from"), &from), SKEIN_OK);
    json_add_u64(window, "from_ns", from);
    json_add_u64(window, "to_ns", from);
    cJSON_DeleteItemFromObject(target, "window");
    cJSON_AddItemToObject(target, "window", window);
    ck_assert_msg(wire_agent_report(&s.f.agent, target, error, sizeof error), "%s", error);
    cJSON_Delete(json);
    wait_for_text(&s.f, s.path, "targets.0.status", "expired");
    json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.reason"), "no_answer");
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.to"), text_at(json, "window.to"));
    ck_assert_double_gt(number_at(json, "ledger.reasons.not_arrived"), 0); /* what it had listed */
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

START_TEST(gap_of_an_agent_that_was_restarted_is_the_rest_of_the_window)
{
    struct stream s;
    stream_start(&s, ",\"max_ms\":600000");
    cJSON *target = wire_target(&s.f.agent, s.id, 1, "uploading", 1, EVENTS);
    cJSON *gap = cJSON_CreateObject();
    cJSON *json = call_json(&s.f, "GET", s.path, NULL, 200);
    char error[256];
    uint64_t from;
    ck_assert_int_eq(clock_parse(text_at(json, "window.from"), &from), SKEIN_OK);
    json_add_u64(gap, "from_ns", from);
    json_add_u64(gap, "to_ns", from + 1000000);
    cJSON_AddStringToObject(gap, "reason", "agent_restarted");
    cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    ck_assert_msg(wire_agent_report(&s.f.agent, target, error, sizeof error), "%s", error);
    upload(&s, 0);
    cJSON_Delete(json);
    wait_for_text(&s.f, s.path, "targets.0.status", "complete");
    json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.from"), text_at(json, "window.from"));
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.to"), text_at(json, "window.to"));
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

/* Its last cut is made when it hears of the stop: what it lacks from then on nobody asked for. */
START_TEST(a_stopped_stream_lacks_nothing_behind_its_end)
{
    struct stream s;
    stream_start(&s, ",\"max_ms\":600000");
    report(&s, "capturing", 1);
    upload(&s, 0);
    char path[128], error[256];
    snprintf(path, sizeof path, "%s:stop", s.path);
    cJSON *json = call_json(&s.f, "POST", path, NULL, 202);
    uint64_t end;
    ck_assert_int_eq(clock_parse(text_at(json, "window.to"), &end), SKEIN_OK);
    cJSON_Delete(json);
    cJSON *target = wire_target(&s.f.agent, s.id, 1, "uploading", 1, EVENTS);
    for (uint64_t ms = 0; ms < 2; ms++) { /* one reaches over the end, one is behind it */
        cJSON *gap = cJSON_CreateObject();
        json_add_u64(gap, "from_ns", end - 40000000 + ms * 50000000);
        json_add_u64(gap, "to_ns", end + 30000000 + ms);
        cJSON_AddStringToObject(gap, "reason", "overwritten");
        cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    }
    ck_assert_msg(wire_agent_report(&s.f.agent, target, error, sizeof error), "%s", error);
    wait_for_text(&s.f, s.path, "targets.0.status", "complete");
    json = call_json(&s.f, "GET", s.path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets.0.ledger.gaps")), 1);
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.to"), text_at(json, "window.to"));
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

START_TEST(agent_that_goes_on_with_what_was_deleted_is_told_to_stop)
{
    struct stream s;
    struct http_response response;
    stream_start(&s, "");
    report(&s, "capturing", 1);
    call(&s.f, "DELETE", s.path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    cJSON_Delete(next_command(&s.f, "stop"));
    report(&s, "capturing", 2); /* it has missed that */
    cJSON *command = next_command(&s.f, "stop");
    ck_assert_str_eq(text_at(command, "capture"), s.id);
    cJSON_Delete(command);
    stream_fini(&s);
}
END_TEST

START_TEST(target_says_when_it_entered_each_state_also_after_a_restart)
{
    struct stream s;
    static const char *const states[] = {"pending", "sent", "capturing", "uploading"};
    char member[64], times[4][40];
    stream_start(&s, "");
    report(&s, "capturing", 1);
    report(&s, "uploading", 1);
    cJSON *json = call_json(&s.f, "GET", s.path, NULL, 200);
    for (int i = 0; i < 4; i++) {
        snprintf(member, sizeof member, "targets.0.times.%s", states[i]);
        snprintf(times[i], sizeof times[i], "%s", text_at(json, member));
        ck_assert_msg(times[i][0] != '\0', "no time of %s", states[i]);
        ck_assert(i == 0 || strcmp(times[i - 1], times[i]) <= 0);
    }
    ck_assert_ptr_null(at_path(json, "targets.0.times.complete"));
    cJSON_Delete(json);
    fixture_restart(&s.f);
    json = call_json(&s.f, "GET", s.path, NULL, 200);
    for (int i = 0; i < 4; i++) {
        snprintf(member, sizeof member, "targets.0.times.%s", states[i]);
        ck_assert_str_eq(text_at(json, member), times[i]);
    }
    cJSON_Delete(json);
    stream_fini(&s);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("capture_stream", stream_is_sent_with_its_bound_and_how_often_it_is_cut,
                 running_stream_gives_what_is_stored_so_far_and_ends_when_it_is_stopped,
                 list_so_far_that_is_stored_whole_is_no_end,
                 gap_of_an_agent_that_did_not_finish_is_the_whole_window,
                 gap_of_an_agent_that_was_restarted_is_the_rest_of_the_window,
                 a_stopped_stream_lacks_nothing_behind_its_end,
                 agent_that_goes_on_with_what_was_deleted_is_told_to_stop,
                 target_says_when_it_entered_each_state_also_after_a_restart, NULL));
}
