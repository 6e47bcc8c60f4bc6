/* SPDX-License-Identifier: Apache-2.0
 * Captures through HTTP and an agent on the real transport, in whatever order things happen. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "metrics.h"
#include "support.h"

#define REQUEST "{\"selector\":\"service=shop\",\"pre_ms\":\"5s\",\"deadline_ms\":20000}"

/* Begins a capture of the fixture's processes; its id goes to `id`, its path to `path`. */
static void begin(struct fixture *f, const char *request, char id[ID_TEXT_BYTES], char path[96])
{
    cJSON *json = call_json(f, "POST", "/api/v1/captures", request, 202);
    snprintf(id, ID_TEXT_BYTES, "%s", text_at(json, "capture"));
    snprintf(path, 96, "/api/v1/captures/%s", id);
    cJSON_Delete(json);
}

static void ack_command(struct fixture *f, const char *kind)
{
    cJSON *command = wire_agent_command(&f->agent, kind, (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no command %s", kind);
    wire_agent_ack(&f->agent, command, NULL);
    cJSON_Delete(command);
}

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

START_TEST(capture_completes_when_the_listed_partitions_are_stored)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    begin(&f, REQUEST, id, path);
    cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
    ck_assert_str_eq(text_at(command, "capture"), id);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "processes")), 2);
    ck_assert_double_eq(number_at(command, "pre_ms"), 5000);
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    report(&f, wire_target(&f.agent, id, 1, "capturing", 0, 0));
    wait_for_text(&f, path, "targets.0.status", "capturing");
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 1, id, 0), WIRE_STORED);
    wait_for_text(&f, path, "targets.0.status", "complete");
    wait_for_text(&f, path, "status", "running");
    report(&f, wire_target(&f.agent, id, 2, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_double_eq(number_at(json, "target_counts.complete"), 1);
    ck_assert_double_eq(number_at(json, "target_counts.nothing"), 1);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets.0.partitions")), 1);
    ck_assert_double_eq(number_at(json, "targets.0.partitions.0.last"), 1);
    ck_assert(cJSON_IsTrue(at_path(json, "verdict.complete"))); /* one was idle: no loss */
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "complete: 2 of 2 targets"));
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), ", 1 idle"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(partitions_may_arrive_before_the_report)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    ack_command(&f, "capture");
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wait_for_text(&f, path, "status", "complete");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert(cJSON_IsTrue(at_path(json, "verdict.complete")));
    ck_assert_double_eq(number_at(json, "ledger.produced"), number_at(json, "ledger.stored"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(gaps_make_a_capture_incomplete_and_are_named)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    ack_command(&f, "capture");
    cJSON *target = wire_target(&f.agent, id, 1, "uploading", 1, 1);
    cJSON *gap = cJSON_CreateObject();
    json_add_u64(gap, "from_ns", UINT64_C(1790000000000000000));
    json_add_u64(gap, "to_ns", UINT64_C(1790000001000000000));
    cJSON_AddStringToObject(gap, "reason", "overwritten");
    cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    report(&f, target);
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, path, "status", "incomplete");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "complete");
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "overwritten"));
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.from"), "2026-09-21T14:13:20.000Z");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* What an agent says of a process that it watches from outside. */
static cJSON *watched_target(struct fixture *f, const char *id, const char *state, unsigned listed)
{
    cJSON *target = wire_target(&f->agent, id, 1, state, listed, 1), *gap = cJSON_CreateObject();
    json_add_u64(gap, "from_ns", UINT64_C(1790000000000000000));
    json_add_u64(gap, "to_ns", UINT64_C(1790000001000000000));
    cJSON_AddStringToObject(gap, "reason", "watched");
    cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    return target;
}

static void watched_says(struct fixture *f, const char *path)
{
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "targets.0.status"), "watched");
    ck_assert_double_eq(number_at(json, "target_counts.watched"), 1);
    ck_assert(cJSON_IsFalse(at_path(json, "verdict.complete")));
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "0 of 1 targets"));
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), ", 1 watched"));
    ck_assert_ptr_null(strstr(text_at(json, "verdict.text"), "nothing lost"));
    ck_assert_str_eq(text_at(json, "targets.0.ledger.gaps.0.reason"), "watched");
    cJSON_Delete(json);
}

START_TEST(a_process_without_a_ring_is_neither_complete_nor_failed)
{
    static const char *const states[] = {"uploading", "nothing", "failed"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct fixture f;
        char id[ID_TEXT_BYTES], path[96];
        bool uploads = i == 0;
        fixture_start(&f);
        wire_agent_processes(&f.agent, 1, 1, "shop");
        begin(&f, REQUEST, id, path);
        ack_command(&f, "capture");
        report(&f, watched_target(&f, id, states[i], uploads ? 1 : 0));
        if (uploads) {
            wait_for_text(&f, path, "targets.0.status", "uploading");
            ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
        }
        wait_for_text(&f, path, "status", "incomplete");
        watched_says(&f, path);
        report(&f, watched_target(&f, id, "uploading", 2)); /* late: it changes nothing */
        watched_says(&f, path);
        fixture_stop(&f);
    }
}
END_TEST

START_TEST(a_ring_that_was_too_short_is_told_by_how_far_it_reached)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    ack_command(&f, "capture");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    uint64_t from_ns = 0;
    ck_assert_int_eq(clock_parse(text_at(json, "window.from"), &from_ns), SKEIN_OK);
    cJSON_Delete(json);
    cJSON *target = wire_target(&f.agent, id, 1, "nothing", 0, 0), *gap = cJSON_CreateObject();
    json_add_u64(gap, "from_ns", from_ns);
    json_add_u64(gap, "to_ns", from_ns + 2000000000u);
    cJSON_AddStringToObject(gap, "reason", "overwritten");
    cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    report(&f, target);
    wait_for_text(&f, path, "status", "incomplete"); /* not idle for certain */
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "reaches back to "));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

#define MS UINT64_C(1000000)

/* Reports a process that began after_ms behind the window's begin, and lacks what lies between two
 * times behind its own begin. */
static void young_report(struct fixture *f, const char *id, unsigned n, uint64_t began_ns,
                         uint64_t lacks_ms, uint64_t to_ms, const char *reason)
{
    cJSON *target = wire_target(&f->agent, id, n, "nothing", 0, 0), *gap = cJSON_CreateObject();
    json_add_u64(target, "began_ns", began_ns);
    json_add_u64(gap, "from_ns", began_ns + lacks_ms * MS);
    json_add_u64(gap, "to_ns", began_ns + to_ms * MS);
    cJSON_AddStringToObject(gap, "reason", reason);
    if (to_ms > 0)
        cJSON_AddItemToArray(cJSON_GetObjectItem(target, "gaps"), gap);
    else
        cJSON_Delete(gap);
    report(f, target);
}

/* The verdict of three processes, of which the third is as the arguments say. The caller frees it. */
static cJSON *young_verdict(struct fixture *f, int64_t began_ms, uint64_t lacks_ms, uint64_t to_ms,
                            const char *reason)
{
    char id[ID_TEXT_BYTES], path[96];
    uint64_t from_ns = 0;
    begin(f, REQUEST, id, path);
    ack_command(f, "capture");
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    ck_assert_int_eq(clock_parse(text_at(json, "window.from"), &from_ns), SKEIN_OK);
    cJSON_Delete(json);
    young_report(f, id, 1, from_ns - 60000 * MS, 0, 0, "");
    young_report(f, id, 2, from_ns + 200 * MS, 0, 0, "");
    young_report(f, id, 3, (uint64_t)((int64_t)from_ns + began_ms * (int64_t)MS), lacks_ms, to_ms,
                 reason);
    wait_for_text(f, path, "status", to_ms > 0 ? "incomplete" : "complete");
    return call_json(f, "GET", path, NULL, 200);
}

static void young_is_told(struct fixture *f, bool begins, int64_t began_ms, uint64_t lacks_ms,
                          uint64_t to_ms, const char *reason)
{
    cJSON *json = young_verdict(f, began_ms, lacks_ms, to_ms, reason);
    const char *text = text_at(json, "verdict.text");
    ck_assert_msg(cJSON_IsFalse(at_path(json, "verdict.complete")), "%s", text);
    ck_assert_msg((strncmp(text, "complete but for begins: 3 of 3", 31) == 0) == begins, "%s",
                  text);
    ck_assert_msg(strstr(text, reason) != NULL, "%s", text); /* with its bounds */
    if (begins) {
        ck_assert_double_eq(number_at(json, "verdict.begins.late"), 1);
        ck_assert_double_eq(number_at(json, "verdict.begins.young"), 2);
        ck_assert_double_eq(number_at(json, "verdict.begins.longest_ms"), (double)to_ms);
        ck_assert(cJSON_IsTrue(at_path(json, "verdict.begins.rest_complete")));
        ck_assert_msg(strstr(text, "1 of 2 young processes begin late") != NULL, "%s", text);
    } else {
        ck_assert_msg(at_path(json, "verdict.begins") == NULL, "%s", text);
    }
    cJSON_Delete(json);
}

START_TEST(begins_of_young_processes_are_told_beside_a_verdict_on_the_rest)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    young_is_told(&f, true, 1000, 5, 250, "attached_late");
    young_is_told(&f, true, 1000, 0, 900, "ring_replaced");   /* a shim that called exec */
    young_is_told(&f, true, -100, 100, 150, "attached_late"); /* it began just before the window */
    cJSON *whole = young_verdict(&f, 1000, 0, 0, "");
    ck_assert(cJSON_IsTrue(at_path(whole, "verdict.complete")));
    ck_assert_ptr_null(at_path(whole, "verdict.begins"));
    cJSON_Delete(whole);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_gap_that_is_none_of_a_begin_is_told_as_ever)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    young_is_told(&f, false, 1000, 5, 1500, "attached_late");        /* its agent came late */
    young_is_told(&f, false, 1000, 5, 250, "overwritten");           /* another reason */
    young_is_told(&f, false, -60000, 60100, 60200, "attached_late"); /* it is old */
    fixture_stop(&f);
}
END_TEST

/* A list without processes, as of an agent that had to forget some. */
static void list_known_from(struct fixture *f, uint64_t known_from_ns)
{
    cJSON *list = wire_report(&f->agent, "processes");
    json_add_u64(list, "version", ++f->agent.version);
    json_add_u64(list, "page", 0);
    json_add_u64(list, "pages", 2); /* it goes on, so that nobody is gone */
    json_add_u64(list, "known_from_ns", known_from_ns);
    cJSON_AddArrayToObject(list, "processes");
    report(f, list);
}

START_TEST(a_window_of_which_not_all_processes_are_known_is_not_complete)
{
    static const struct {
        const char *selector;
        int64_t ago_ms; /* that it is known from; -1: said after the capture began */
        bool complete;
    } cases[] = {{"service=shop", 10000, true},
                 {"service=shop", 2000, false},
                 {"service=shop,host!=elsewhere", 2000, false},
                 {"service=shop", -1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        char id[ID_TEXT_BYTES], path[96], request[200];
        fixture_start(&f);
        wire_agent_processes(&f.agent, 1, 1, "shop");
        if (cases[i].ago_ms >= 0)
            list_known_from(&f, clock_realtime_ns() - (uint64_t)cases[i].ago_ms * 1000000u);
        snprintf(request, sizeof request,
                 "{\"selector\":\"%s\",\"pre_ms\":\"5s\",\"deadline_ms\":20000}",
                 cases[i].selector);
        begin(&f, request, id, path);
        ack_command(&f, "capture");
        if (cases[i].ago_ms < 0)
            list_known_from(&f, clock_realtime_ns() - 2000000000u);
        report(&f, wire_target(&f.agent, id, 1, "nothing", 0, 0));
        wait_for_text(&f, path, "targets.0.status", "nothing");
        wait_for_text(&f, path, "status", cases[i].complete ? "complete" : "incomplete");
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        ck_assert_int_eq(cJSON_IsTrue(at_path(json, "verdict.complete")), cases[i].complete);
        ck_assert_int_eq(at_path(json, "known_from") == NULL, cases[i].complete);
        ck_assert_int_eq(strstr(text_at(json, "verdict.text"), "may not be known") == NULL,
                         cases[i].complete);
        cJSON_Delete(json);
        fixture_stop(&f);
    }
}
END_TEST

START_TEST(late_truth_beats_an_early_verdict)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"deadline_ms\":100}", id, path);
    wait_for_text(&f, path, "status", "incomplete");
    wait_for_text(&f, path, "targets.0.status", "expired");
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wait_for_text(&f, path, "targets.0.status", "expired");
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, path, "targets.0.status", "complete");
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

/* Three partitions of four events each, of which window_events lie in the window, and what a capture
 * tells where `arrive` of them did. */
static void wire_loss(struct fixture *f, int window_events, bool at_most, unsigned arrive,
                      double lost, bool bound)
{
    char id[ID_TEXT_BYTES], path[96], words[64];
    begin(f, "{\"selector\":\"service=shop\",\"deadline_ms\":100}", id, path);
    wait_for_text(f, path, "targets.0.status", "expired");
    cJSON *target = wire_target(&f->agent, id, 1, "uploading", 3, 4);
    cJSON *ledger = cJSON_GetObjectItem(target, "ledger");
    if (window_events >= 0)
        json_add_u64(ledger, "window_events", (uint64_t)window_events);
    if (at_most)
        cJSON_AddBoolToObject(ledger, "at_most", true);
    report(f, target);
    for (unsigned i = 0; i < arrive; i++) /* of three events each */
        ck_assert_int_eq(wire_agent_upload(&f->agent, 1, i, id, 0), WIRE_STORED);
    snprintf(words, sizeof words, "%s%.0f events lost, not_arrived", bound ? "at most " : ": ",
             lost);
    cJSON *json = NULL;
    do { /* until what arrived is counted */
        cJSON_Delete(json);
        json = call_json(f, "GET", path, NULL, 200);
    } while ((unsigned)number_at(json, "ledger.stored") < arrive * 3);
    ck_assert_double_eq(number_at(json, "ledger.reasons.not_arrived"), lost);
    ck_assert_msg(strstr(text_at(json, "verdict.text"), words) != NULL, "%s",
                  text_at(json, "verdict.text"));
    ck_assert_int_eq(at_path(json, "ledger.at_most") != NULL, bound);
    ck_assert(!bound || strcmp(text_at(json, "ledger.at_most.0"), "not_arrived") == 0);
    cJSON_Delete(json);
}

START_TEST(of_what_did_not_arrive_the_window_counts)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    wire_loss(&f, 12, false, 0, 12, false); /* all of it */
    wire_loss(&f, 5, false, 0, 5, false);   /* the window cuts partitions */
    wire_loss(&f, 5, true, 0, 5, true);     /* the agent knows a bound */
    wire_loss(&f, -1, false, 0, 12, true);  /* an older agent says nothing */
    fixture_stop(&f);
}
END_TEST

START_TEST(command_is_repeated_until_it_is_acknowledged)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    for (int i = 0; i < 2; i++) {
        cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
        ck_assert_ptr_nonnull(command);
        ck_assert_str_eq(text_at(command, "capture"), id);
        if (i == 1)
            wire_agent_ack(&f.agent, command, "no such process");
        cJSON_Delete(command);
        cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    }
    wait_for_text(&f, path, "targets.0.status", "failed");
    wait_for_text(&f, path, "targets.0.reason", "no such process");
    /* What its spool still held comes after all. */
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

START_TEST(offline_target_is_sent_when_its_agent_returns)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    fixture_lease_end(&f);
    wait_for_text(&f, "/api/v1/processes", "items.0.status", "offline");
    begin(&f, REQUEST, id, path);
    wait_for_text(&f, path, "targets.0.status", "offline");
    cJSON *answer = wire_agent_beat(&f.agent, 0, 0);
    ck_assert(cJSON_IsTrue(at_path(answer, "hello")));
    cJSON_Delete(answer);
    cJSON_Delete(wire_agent_hello(&f.agent));
    wait_for_text(&f, path, "targets.0.status", "sent");
    ack_command(&f, "capture");
    fixture_stop(&f);
}
END_TEST

START_TEST(agent_begins_a_capture_once_however_often_it_reports)
{
    struct fixture f;
    char path[96];
    const char *id = "01a1000000000000000000000000abcd";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    for (int i = 0; i < 3; i++)
        report(&f, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()));
    wait_for_text(&f, path, "targets.0.status", "capturing");
    cJSON *json = call_json(&f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    ck_assert_str_eq(text_at(json, "items.0.trigger.type"), "application");
    ck_assert_double_eq(number_at(json, "items.0.pre_ms"), 5000);
    cJSON_Delete(json);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

START_TEST(firing_names_a_process_that_no_list_ever_held)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    struct capture_id minted = capture_id_new();
    id_text(minted.bytes, id);
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    cJSON *fired = wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns());
    cJSON_AddNumberToObject(fired, "pid", 4711);
    cJSON_AddStringToObject(fired, "service", "short-lived");
    cJSON_AddStringToObject(fired, "labels", "zone=a");
    cJSON_AddStringToObject(fired, "exe", "/bin/short");
    report(&f, fired);
    report(&f, wire_target(&f.agent, id, 1, "nothing", 0, 0));
    wait_for_text(&f, path, "status", "complete");
    fixture_restart(&f);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    const cJSON *target = cJSON_GetArrayItem(at_path(json, "targets"), 0);
    ck_assert_str_eq(cJSON_GetStringValue(at_path(target, "service")), "short-lived");
    ck_assert_int_eq(at_path(target, "pid")->valueint, 4711);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(stop_tells_the_agent_and_the_capture_ends_stopped)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96], stop[112];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"post_ms\":60000}", id, path);
    ack_command(&f, "capture");
    report(&f, wire_target(&f.agent, id, 1, "capturing", 0, 0));
    snprintf(stop, sizeof stop, "%s:stop", path);
    cJSON_Delete(call_json(&f, "POST", stop, NULL, 202));
    ack_command(&f, "stop");
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, path, "status", "stopped");
    cJSON_Delete(call_json(&f, "POST", stop, NULL, 200)); /* and is not told as a change */
    cJSON *audit = call_json(&f, "GET", "/api/v1/audit?action=capture.stop", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(audit, "items")), 1);
    cJSON_Delete(audit);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert(cJSON_IsTrue(at_path(json, "verdict.complete")));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

struct deleter {
    struct fixture *f;
    const char *path;
    long status;
};

static void *delete_it(void *argument)
{
    struct deleter *d = argument;
    struct http_response response;
    call(d->f, "DELETE", d->path, NULL, NULL, &response);
    d->status = response.status;
    http_response_fini(&response);
    return NULL;
}

START_TEST(capture_is_deleted_once_by_however_many)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    struct deleter deleters[4];
    pthread_t threads[4];
    int deleted = 0, gone = 0;
    for (int i = 0; i < 4; i++) {
        deleters[i] = (struct deleter){&f, path, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, delete_it, &deleters[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        deleted += deleters[i].status == 204;
        gone += deleters[i].status == 404;
    }
    ck_assert_int_eq(deleted, 1);
    ck_assert_int_eq(gone, 3);
    fixture_stop(&f);
}
END_TEST

/* Stops a capture of the time from `from_s` to `to_s` from now; what its window then is. */
static void stop_window(struct fixture *f, int64_t from_s, int64_t to_s, uint64_t *from_ns,
                        uint64_t *to_ns)
{
    char id[ID_TEXT_BYTES], path[96], stop[112], body[256];
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    int64_t now_ns = (int64_t)clock_realtime_ns();
    clock_text((uint64_t)(now_ns + from_s * 1000000000), from);
    clock_text((uint64_t)(now_ns + to_s * 1000000000), to);
    snprintf(body, sizeof body, "{\"selector\":\"service=shop\",\"from\":\"%s\",\"to\":\"%s\"}",
             from, to);
    begin(f, body, id, path);
    snprintf(stop, sizeof stop, "%s:stop", path);
    cJSON *json = call_json(f, "POST", stop, NULL, 202);
    ck_assert_int_eq(clock_parse(text_at(json, "window.from"), from_ns), SKEIN_OK);
    ck_assert_int_eq(clock_parse(text_at(json, "window.to"), to_ns), SKEIN_OK);
    ck_assert_uint_le(*to_ns, clock_realtime_ns());
    cJSON_Delete(json);
    if (from_s < 0) {
        uint64_t asked_ns = (uint64_t)(now_ns + from_s * 1000000000);
        ck_assert_uint_le(*from_ns, asked_ns);
        ck_assert_uint_gt(*from_ns, asked_ns - 2000000);
    }
}

START_TEST(stopped_window_claims_no_time_that_was_still_to_come)
{
    struct fixture f;
    uint64_t from_ns, to_ns;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    stop_window(&f, -600, 1800, &from_ns, &to_ns);
    ck_assert_uint_gt(to_ns, from_ns);
    stop_window(&f, 600, 1800, &from_ns, &to_ns);
    ck_assert_uint_eq(from_ns, to_ns);
    fixture_stop(&f);
}
END_TEST

START_TEST(deleted_capture_does_not_come_back)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    struct http_response response;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    ack_command(&f, "capture");
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    call(&f, "DELETE", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    /* Late: a partition, a report, and the agent's own word that it began it. */
    ck_assert_int_le(wire_agent_upload(&f.agent, 1, 1, id, 0), WIRE_STORED_BEFORE);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    report(&f, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()));
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    expect_problem(&f, "DELETE", path, NULL, 404, NULL);
    fixture_stop(&f);
}
END_TEST

static bool next_command_shares(struct fixture *f)
{
    cJSON *command = wire_agent_command(&f->agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    bool shares = !cJSON_IsFalse(at_path(command, "share"));
    wire_agent_ack(&f->agent, command, NULL);
    cJSON_Delete(command);
    return shares;
}

START_TEST(nothing_is_shared_with_what_was_deleted)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    struct http_response response;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, REQUEST, id, path);
    ck_assert(next_command_shares(&f));
    call(&f, "DELETE", path, NULL, NULL, &response);
    http_response_fini(&response);
    begin(&f, REQUEST, id, path);
    ck_assert(!next_command_shares(&f));
    fixture_stop(&f);
}
END_TEST

START_TEST(running_capture_goes_on_after_a_restart)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    begin(&f, REQUEST, id, path);
    ack_command(&f, "capture");
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    fixture_restart(&f);
    wait_for_text(&f, path, "targets.0.status", "complete");
    wait_for_text(&f, path, "status", "running");
    cJSON_Delete(wire_agent_hello(&f.agent));
    cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "the command is not sent again");
    ck_assert_str_eq(text_at(command, "capture"), id);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "processes")), 1);
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    report(&f, wire_target(&f.agent, id, 2, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 2, 0, id, 0);
    wait_for_text(&f, path, "status", "complete");
    fixture_stop(&f);
}
END_TEST

/* The next command's kinds, as JSON; the caller frees. */
static char *command_evidence(struct fixture *f)
{
    cJSON *command = wire_agent_command(&f->agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    char *text = cJSON_PrintUnformatted(at_path(command, "evidence"));
    ck_assert(cJSON_IsTrue(at_path(command, "threads")));
    cJSON_Delete(command);
    return text;
}

/* The agent is told until it answers, whoever was restarted in between. */
START_TEST(kinds_of_evidence_are_asked_for_by_name)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f,
          "{\"selector\":\"service=shop\",\"pre_ms\":1,\"evidence\":[\"sched\",\"samples\"],"
          "\"threads\":true}",
          id, path);
    char *before = command_evidence(&f);
    ck_assert_str_eq(before, "[\"threads\",\"samples\",\"sched\"]");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    char *shown = cJSON_PrintUnformatted(at_path(json, "evidence"));
    ck_assert_str_eq(shown, before);
    free(shown);
    cJSON_Delete(json);
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    char *after = command_evidence(&f);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"\",\"evidence\":[\"all\"]}",
                   422, "evidence");
    expect_problem(&f, "POST", "/api/v1/captures",
                   "{\"selector\":\"\",\"evidence\":[\"threads\"],\"threads\":false}", 422,
                   "threads");
    json = call_json(&f, "POST", "/api/v1/captures", REQUEST, 202);
    ck_assert_ptr_null(at_path(json, "evidence")); /* the usual */
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static int partitions_of(struct fixture *f, const char *capture)
{
    char path[128];
    snprintf(path, sizeof path, "/api/v1/partitions?capture=%s", capture);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return count;
}

static bool unexpected_is(void *context)
{
    return __atomic_load_n(&metrics.ingest_unexpected_total, __ATOMIC_RELAXED) ==
           *(const uint64_t *)context;
}

START_TEST(a_partition_is_kept_out_of_a_capture_without_its_process)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96], other[ID_TEXT_BYTES], request[256];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    id_text(process_of(1).bytes, other);
    snprintf(request, sizeof request, "{\"selector\":\"process=%s\",\"deadline_ms\":20000}", other);
    begin(&f, request, id, path);
    ack_command(&f, "capture");
    uint64_t before = __atomic_load_n(&metrics.ingest_unexpected_total, __ATOMIC_RELAXED);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 2, 0, id, 0), WIRE_STORED);
    ck_assert(wait_until(unexpected_is, &(uint64_t){before + 1}, 0));
    ck_assert_int_eq(partitions_of(&f, id), 0);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    wait_for_text(&f, path, "status", "complete");
    /* Neither when the capture is loaded again nor when the index is made anew does it get in. */
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 2, 1, id, 0), WIRE_STORED);
    ck_assert_int_eq(index_rebuild(f.collector.index), SKEIN_OK);
    ck_assert_int_eq(partitions_of(&f, id), 1);
    fixture_stop(&f);
}
END_TEST

START_TEST(what_an_agent_sends_before_it_says_why_becomes_its_captures)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    static const char path[] = "/api/v1/captures/0123456789abcdef0123456789abcdef";
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    report(&f, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 1, id, 0), WIRE_STORED);
    wait_for_text(&f, path, "status", "complete");
    ck_assert_int_eq(partitions_of(&f, id), 2);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "captures", capture_completes_when_the_listed_partitions_are_stored,
        partitions_may_arrive_before_the_report, gaps_make_a_capture_incomplete_and_are_named,
        a_process_without_a_ring_is_neither_complete_nor_failed,
        a_ring_that_was_too_short_is_told_by_how_far_it_reached,
        begins_of_young_processes_are_told_beside_a_verdict_on_the_rest,
        a_gap_that_is_none_of_a_begin_is_told_as_ever,
        a_window_of_which_not_all_processes_are_known_is_not_complete,
        of_what_did_not_arrive_the_window_counts, late_truth_beats_an_early_verdict,
        command_is_repeated_until_it_is_acknowledged, offline_target_is_sent_when_its_agent_returns,
        agent_begins_a_capture_once_however_often_it_reports,
        firing_names_a_process_that_no_list_ever_held,
        stop_tells_the_agent_and_the_capture_ends_stopped, capture_is_deleted_once_by_however_many,
        stopped_window_claims_no_time_that_was_still_to_come, deleted_capture_does_not_come_back,
        nothing_is_shared_with_what_was_deleted, running_capture_goes_on_after_a_restart,
        kinds_of_evidence_are_asked_for_by_name,
        a_partition_is_kept_out_of_a_capture_without_its_process,
        what_an_agent_sends_before_it_says_why_becomes_its_captures, NULL));
}
