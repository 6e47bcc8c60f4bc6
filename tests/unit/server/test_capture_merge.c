/* SPDX-License-Identifier: Apache-2.0
 * What rules do with captures: begin them with bounds, extend them to neighbours, merge them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "capture_control.h"
#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

static struct selector *selector_of(const char *text)
{
    struct selector *selector;
    char error[160];
    ck_assert_msg(selector_new(text, &selector, error, sizeof error) == SKEIN_OK, "%s", error);
    return selector;
}

/* As a rule on a schedule does; the status of capture_create_locked. */
static int begin(struct fixture *f, const char *selector_text, uint64_t min, uint64_t max,
                 struct capture_id *id, char path[96])
{
    char text[ID_TEXT_BYTES];
    uint64_t matched;
    struct selector *selector = selector_of(selector_text);
    struct capture_request request = {.selector_text = selector_text,
                                      .selector = selector,
                                      .pre_ms = 5000,
                                      .deadline_ms = 20000,
                                      .reason = "every hour",
                                      .trigger = "schedule",
                                      .rule = "hourly",
                                      .min_targets = min,
                                      .max_targets = max,
                                      .matched = &matched};
    control_lock(fleet_control(f->collector.fleet));
    int status = capture_create_locked(f->collector.captures, &request, id, NULL);
    control_unlock(fleet_control(f->collector.fleet));
    selector_free(&selector);
    ck_assert_uint_eq(matched, 3);
    id_text(id->bytes, text);
    snprintf(path, 96, "/api/v1/captures/%s", text);
    return status;
}

static int64_t extend(struct fixture *f, const struct capture_id *id, const char *selector_text,
                      bool same_host, uint64_t max)
{
    struct selector *selector = selector_of(selector_text);
    control_lock(fleet_control(f->collector.fleet));
    int64_t added = capture_extend(f->collector.captures, id, selector, same_host, max);
    control_unlock(fleet_control(f->collector.fleet));
    selector_free(&selector);
    return added;
}

static int merge(struct fixture *f, const struct capture_id *from, const struct capture_id *into)
{
    control_lock(fleet_control(f->collector.fleet));
    int status = capture_merge(f->collector.captures, from, into);
    if (status == SKEIN_OK)
        status = control_save(fleet_control(f->collector.fleet));
    control_unlock(fleet_control(f->collector.fleet));
    return status;
}

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

static void take_command(struct fixture *f, const char *kind, int processes)
{
    cJSON *command = wire_agent_command(&f->agent, kind, (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no command %s", kind);
    if (processes >= 0)
        ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "processes")), processes);
    wire_agent_ack(&f->agent, command, NULL);
    cJSON_Delete(command);
}

static int partitions_of(struct fixture *f, const char *capture)
{
    char path[128];
    snprintf(path, sizeof path, "/api/v1/partitions?capture=%s", capture);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return count;
}

static int targets_of(struct fixture *f, const char *path)
{
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "targets"));
    cJSON_Delete(json);
    return count;
}

START_TEST(bounds_on_targets_hold_when_a_capture_begins)
{
    struct fixture f;
    struct capture_id id;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 4, 0, &id, path), SKEIN_NOT_FOUND);
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    ck_assert_int_eq(begin(&f, "service=shop", 3, 2, &id, path), SKEIN_OK);
    take_command(&f, "capture", 2);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    ck_assert_str_eq(text_at(json, "trigger.type"), "schedule");
    ck_assert_str_eq(text_at(json, "trigger.rule"), "hourly");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(extending_sends_the_same_window_to_those_that_are_new)
{
    struct fixture f;
    struct capture_id id;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 0, 1, &id, path), SKEIN_OK);
    take_command(&f, "capture", 1);
    ck_assert_int_eq(extend(&f, &id, "service=shop", false, 2), 1);
    cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "processes")), 2);
    ck_assert_double_eq(number_at(command, "pre_ms"), 5000);
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    ck_assert_int_eq(targets_of(&f, path), 2);
    ck_assert_int_eq(extend(&f, &id, "service=shop", false, 2), 0);
    struct capture_id unknown = capture_id_new();
    ck_assert_int_eq(extend(&f, &unknown, "service=shop", false, 0), SKEIN_NOT_FOUND);
    fixture_stop(&f);
}
END_TEST

START_TEST(extending_to_the_same_hosts_leaves_others_out)
{
    struct fixture f;
    struct wire_agent other;
    struct capture_id id;
    char path[96];
    fixture_start(&f);
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&f.agent, 1, 2, "shop");
    wire_agent_processes(&other, 50, 1, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 0, 1, &id, path), SKEIN_OK);
    ck_assert_int_eq(extend(&f, &id, "service=shop", true, 0), 1);
    ck_assert_int_eq(extend(&f, &id, "service=shop", false, 0), 1);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

START_TEST(extended_capture_of_an_agent_is_sent_again_when_it_returns)
{
    struct fixture f;
    char path[96];
    const char *text = "01a1000000000000000000000000abcd";
    struct capture_id id;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    id_parse(text, id.bytes);
    snprintf(path, sizeof path, "/api/v1/captures/%s", text);
    report(&f, wire_fired(&f.agent, text, 1, NULL, clock_realtime_ns()));
    ck_assert_int_eq(extend(&f, &id, "service=shop", false, 0), 2);
    take_command(&f, "capture", 2);
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    take_command(&f, "capture", 2); /* not for the one that the agent began itself */
    ck_assert_int_eq(targets_of(&f, path), 3);
    fixture_stop(&f);
}
END_TEST

/* A service's check has failed: all its processes are one firing. */
START_TEST(firing_is_not_over_before_all_that_it_names_have_reported)
{
    struct fixture f;
    char path[96], id[ID_TEXT_BYTES];
    struct process_uid uid = process_of(2);
    const char *text = "01a1000000000000000000000000abcd";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    snprintf(path, sizeof path, "/api/v1/captures/%s", text);
    cJSON *fired = wire_fired(&f.agent, text, 1, NULL, clock_realtime_ns());
    cJSON *with = cJSON_AddArrayToObject(fired, "with");
    id_text(uid.bytes, id);
    cJSON_AddItemToArray(with, cJSON_CreateString(id));
    cJSON_AddItemToArray(with, cJSON_CreateString("00000000000000000000000000000099"));
    report(&f, fired);
    ck_assert_int_eq(targets_of(&f, path), 2); /* none of a process that nobody knows */
    report(&f, wire_target(&f.agent, text, 1, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "running");
    /* One that was not named joins all the same: it is of the agent that has begun the capture. */
    report(&f, wire_fired(&f.agent, text, 3, NULL, clock_realtime_ns()));
    report(&f, wire_fired(&f.agent, text, 2, NULL, clock_realtime_ns()));
    ck_assert_int_eq(targets_of(&f, path), 3);
    report(&f, wire_target(&f.agent, text, 2, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "running");
    report(&f, wire_target(&f.agent, text, 3, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

START_TEST(nobody_joins_a_capture_that_another_agent_has_begun)
{
    struct fixture f;
    struct wire_agent other;
    char error[256], path[96];
    const char *text = "01a1000000000000000000000000abcd";
    fixture_start(&f);
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&f.agent, 1, 1, "shop");
    wire_agent_processes(&other, 50, 1, "shop");
    snprintf(path, sizeof path, "/api/v1/captures/%s", text);
    report(&f, wire_fired(&f.agent, text, 1, NULL, clock_realtime_ns()));
    (void)wire_agent_report(&other, wire_fired(&other, text, 50, NULL, clock_realtime_ns()), error,
                            sizeof error);
    ck_assert(!wire_agent_report(&other, wire_target(&other, text, 50, "nothing", 0, 0), error,
                                 sizeof error));
    ck_assert_int_eq(targets_of(&f, path), 1);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

START_TEST(ended_capture_runs_again_when_it_is_extended)
{
    struct fixture f;
    struct capture_id id;
    char path[96], text[ID_TEXT_BYTES];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 0, 1, &id, path), SKEIN_OK);
    take_command(&f, "capture", 1);
    id_text(id.bytes, text);
    report(&f, wire_target(&f.agent, text, 1, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    ck_assert_int_eq(extend(&f, &id, "service=shop", false, 0), 2);
    wait_for_text(&f, path, "status", "running");
    report(&f, wire_target(&f.agent, text, 2, "nothing", 0, 0));
    report(&f, wire_target(&f.agent, text, 3, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

START_TEST(merged_capture_takes_what_comes_under_the_old_id)
{
    struct fixture f;
    struct capture_id into, from;
    char path[96], old_path[96], text[ID_TEXT_BYTES];
    const char *old = "01a1000000000000000000000000abcd";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 0, 1, &into, path), SKEIN_OK);
    take_command(&f, "capture", 1);
    id_parse(old, from.bytes);
    snprintf(old_path, sizeof old_path, "/api/v1/captures/%s", old);
    /* Before anything is known of it: the firing comes only after. */
    ck_assert_int_eq(merge(&f, &from, &into), SKEIN_OK);
    ck_assert_int_eq(merge(&f, &from, &into), SKEIN_OK);
    report(&f, wire_fired(&f.agent, old, 2, NULL, clock_realtime_ns()));
    report(&f, wire_fired(&f.agent, old, 2, NULL, clock_realtime_ns()));
    ck_assert_int_eq(targets_of(&f, path), 2);
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    report(&f, wire_target(&f.agent, old, 2, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 2, 0, old, 0), WIRE_STORED);
    id_text(into.bytes, text);
    report(&f, wire_target(&f.agent, text, 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, text, 0), WIRE_STORED);
    wait_for_text(&f, path, "status", "complete");
    /* Whoever asks for the old id is answered with the capture that it is now. */
    wait_for_text(&f, old_path, "capture", text);
    ck_assert_int_eq(partitions_of(&f, text), 2);
    ck_assert_int_eq(partitions_of(&f, old), 1); /* it was sent for this one too */
    cJSON *json = call_json(&f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(merging_a_known_capture_moves_its_targets_and_deleting_deletes_both)
{
    struct fixture f;
    struct capture_id into, from;
    char path[96], old_path[96], text[ID_TEXT_BYTES];
    const char *old = "01a1000000000000000000000000abcd";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert_int_eq(begin(&f, "service=shop", 0, 1, &into, path), SKEIN_OK);
    take_command(&f, "capture", 1);
    id_parse(old, from.bytes);
    report(&f, wire_fired(&f.agent, old, 1, NULL, clock_realtime_ns()));
    report(&f, wire_target(&f.agent, old, 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, old, 0), WIRE_STORED);
    snprintf(old_path, sizeof old_path, "/api/v1/captures/%s", old);
    wait_for_text(&f, old_path, "status", "complete");
    ck_assert_int_eq(merge(&f, &from, &into), SKEIN_OK);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    ck_assert_double_eq(number_at(json, "target_counts.complete"), 1);
    double events = number_at(json, "ledger.stored");
    ck_assert_double_gt(events, 0);
    cJSON_Delete(json);
    /* The other target of the process lists the same partition: it is there once. */
    id_text(into.bytes, text);
    report(&f, wire_target(&f.agent, text, 1, "uploading", 1, 1));
    for (int i = 0; i < 2; i++) {
        wait_for_text(&f, path, "status", "complete");
        json = call_json(&f, "GET", path, NULL, 200);
        ck_assert_double_eq(number_at(json, "target_counts.complete"), 2);
        ck_assert_double_eq(number_at(json, "ledger.stored"), events);
        ck_assert_double_eq(number_at(json, "ledger.produced"), events);
        ck_assert(cJSON_IsTrue(at_path(json, "ledger.complete")));
        cJSON_Delete(json);
        if (i == 0)
            fixture_restart(&f);
    }
    cJSON_Delete(wire_agent_hello(&f.agent));
    struct http_response response;
    call(&f, "DELETE", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    /* Late, under the old id: acknowledged, and gone again. */
    report(&f, wire_fired(&f.agent, old, 1, NULL, clock_realtime_ns()));
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    ck_assert_int_eq(merge(&f, &from, &into), SKEIN_NOT_FOUND);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("capture_merge", bounds_on_targets_hold_when_a_capture_begins,
                              extending_sends_the_same_window_to_those_that_are_new,
                              extending_to_the_same_hosts_leaves_others_out,
                              extended_capture_of_an_agent_is_sent_again_when_it_returns,
                              firing_is_not_over_before_all_that_it_names_have_reported,
                              nobody_joins_a_capture_that_another_agent_has_begun,
                              ended_capture_runs_again_when_it_is_extended,
                              merged_capture_takes_what_comes_under_the_old_id,
                              merging_a_known_capture_moves_its_targets_and_deleting_deletes_both,
                              NULL));
}
