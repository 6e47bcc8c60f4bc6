/* SPDX-License-Identifier: Apache-2.0
 * Of whom a capture speaks: those that lived in its window, also where they had ended before it was
 * asked for, were never recorded, or are named only while it runs. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define CAPTURES "/api/v1/captures"
#define SECOND   UINT64_C(1000000000)

/* One line of a list; ended_ns 0: it lives; not_recorded NULL: it has, or had, a ring. */
static void add_line(cJSON *list, uint32_t process, uint64_t start_ns, uint64_t ended_ns,
                     const char *not_recorded)
{
    char id[ID_TEXT_BYTES];
    cJSON *p = cJSON_CreateObject();
    id_text(process_of(process).bytes, id);
    cJSON_AddStringToObject(p, "process", id);
    json_add_u64(p, "pid", 100 + process);
    cJSON_AddStringToObject(p, "service", "shop");
    cJSON_AddStringToObject(p, "state", ended_ns == 0 ? "live" : "gone");
    json_add_u64(p, "start_ns", start_ns);
    if (ended_ns != 0)
        json_add_u64(p, "ended_ns", ended_ns);
    if (not_recorded != NULL)
        cJSON_AddStringToObject(p, "not_recorded", not_recorded);
    cJSON_AddItemToArray(list, p);
}

static cJSON *list_new(struct fixture *f)
{
    cJSON *report = wire_report(&f->agent, "processes");
    json_add_u64(report, "version", ++f->agent.version);
    cJSON_AddArrayToObject(report, "processes");
    return report;
}

static void list_send(struct fixture *f, cJSON *report)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, report, error, sizeof error), "%s", error);
}

static void begin(struct fixture *f, const char *request, char path[96])
{
    cJSON *json = call_json(f, "POST", CAPTURES, request, 202);
    snprintf(path, 96, CAPTURES "/%s", text_at(json, "capture"));
    cJSON_Delete(json);
}

/* The command's processes, each an "1"; taken and acknowledged. */
static size_t commanded(struct fixture *f)
{
    cJSON *command = wire_agent_command(&f->agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    wire_agent_ack(&f->agent, command, NULL);
    size_t n = (size_t)cJSON_GetArraySize(at_path(command, "processes"));
    cJSON_Delete(command);
    return n;
}

START_TEST(whoever_lived_in_the_window_is_a_target)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    uint64_t now = clock_realtime_ns();
    cJSON *report = list_new(&f), *list = cJSON_GetObjectItem(report, "processes");
    add_line(list, 1, now - 600 * SECOND, 0, NULL);
    add_line(list, 2, now - 600 * SECOND, now - 3 * SECOND, NULL);   /* ended in the window */
    add_line(list, 3, now - 600 * SECOND, now - 200 * SECOND, NULL); /* before it */
    add_line(list, 4, now - 2 * SECOND, now - SECOND, NULL);         /* came and went in it */
    add_line(list, 5, now - 600 * SECOND, 0, "attach_refused");
    list_send(&f, report);
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":60000}", path);
    ck_assert_uint_eq(commanded(&f), 4);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 4);
    cJSON_Delete(json);
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":60000,\"post_ms\":1000,\"max_targets\":2}",
          path);
    ck_assert_uint_eq(commanded(&f), 2);
    fixture_stop(&f);
}
END_TEST

START_TEST(one_that_no_list_names_any_more_has_ended_by_then)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":60000}", path);
    ck_assert_uint_eq(commanded(&f), 2);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_capture_that_runs_takes_those_that_are_named_later)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":5000,\"post_ms\":60000}", path);
    ck_assert_uint_eq(commanded(&f), 1);
    uint64_t now = clock_realtime_ns();
    cJSON *report = list_new(&f), *list = cJSON_GetObjectItem(report, "processes");
    add_line(list, 1, now - 60 * SECOND, 0, NULL);
    add_line(list, 2, now, 0, NULL);
    add_line(list, 3, now - 60 * SECOND, now - 30 * SECOND, NULL);
    list_send(&f, report);
    ck_assert_uint_eq(commanded(&f), 1);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* Its agent was started anew, and named it only when it had come back to that. */
START_TEST(one_that_comes_back_to_its_agent_is_taken_too)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"kind\":\"record\",\"for_ms\":60000}", path);
    (void)commanded(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    ck_assert_uint_eq(commanded(&f), 1);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* Nobody knows yet whether the other one runs. */
START_TEST(one_that_may_come_back_to_an_agent_that_was_started_anew_is_a_target)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    f.agent.epoch++;
    cJSON *welcome = wire_agent_hello(&f.agent);
    ck_assert_ptr_nonnull(welcome);
    cJSON_Delete(welcome);
    f.agent.version = 0;
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"kind\":\"record\",\"for_ms\":60000}", path);
    ck_assert_uint_eq(commanded(&f), 2);
    fixture_stop(&f);
}
END_TEST

/* It began in the window, and was attached a moment after the capture had ended. */
START_TEST(a_capture_that_has_just_ended_runs_again_for_who_began_in_its_window)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":5000}", path);
    ck_assert_uint_eq(commanded(&f), 1);
    list_send(&f, wire_target(&f.agent, strrchr(path, '/') + 1, 1, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    uint64_t now = clock_realtime_ns();
    cJSON *report = list_new(&f), *list = cJSON_GetObjectItem(report, "processes");
    add_line(list, 1, now - 60 * SECOND, 0, NULL);
    add_line(list, 2, now - 4 * SECOND, 0, NULL);
    add_line(list, 3, now + SECOND, 0, NULL); /* behind the window */
    list_send(&f, report);
    ck_assert_uint_eq(commanded(&f), 1);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "status"), "running");
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    cJSON_Delete(json);
    list_send(&f, wire_target(&f.agent, strrchr(path, '/') + 1, 2, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

/* What an agent says of one that it never had. */
START_TEST(one_that_was_not_recorded_is_named_with_its_time)
{
    struct fixture f;
    char path[96];
    fixture_start(&f);
    uint64_t now = clock_realtime_ns();
    cJSON *report = list_new(&f);
    add_line(cJSON_GetObjectItem(report, "processes"), 1, now - 600 * SECOND, 0, "attach_refused");
    list_send(&f, report);
    begin(&f, "{\"selector\":\"service=shop\",\"pre_ms\":60000}", path);
    ck_assert_uint_eq(commanded(&f), 1);
    cJSON *target = wire_target(&f.agent, strrchr(path, '/') + 1, 1, "failed", 0, 0);
    cJSON_AddStringToObject(target, "reason", "the agent had no room for it");
    cJSON *gap = cJSON_CreateObject();
    json_add_u64(gap, "from_ns", now - 60 * SECOND);
    json_add_u64(gap, "to_ns", now);
    cJSON_AddStringToObject(gap, "reason", "attach_refused");
    cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    list_send(&f, target);
    wait_for_text(&f, path, "status", "incomplete");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "failed");
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.reason"), "attach_refused");
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets.0.ledger.gaps")), 1);
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "no room for it"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.not_recorded"), "attach_refused");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("capture_scope", whoever_lived_in_the_window_is_a_target,
                              one_that_no_list_names_any_more_has_ended_by_then,
                              a_capture_that_runs_takes_those_that_are_named_later,
                              one_that_comes_back_to_its_agent_is_taken_too,
                              one_that_may_come_back_to_an_agent_that_was_started_anew_is_a_target,
                              a_capture_that_has_just_ended_runs_again_for_who_began_in_its_window,
                              one_that_was_not_recorded_is_named_with_its_time, NULL));
}
