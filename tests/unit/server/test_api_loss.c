/* SPDX-License-Identifier: Apache-2.0
 * Ledgers over HTTP: of a process over its captures and its ring, of the fleet in every grouping,
 * and across a restart of the collector. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_handlers.h"
#include "capture_has.h"
#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define FIRST  "01a10000000000000000000000000001"
#define SECOND "01a10000000000000000000000000002"

/* A capture of the process with one stored partition, and `lost` events for the reason. */
static void capture_with_loss(struct fixture *f, const char *id, uint32_t process,
                              const char *reason, unsigned lost)
{
    char error[256], path[96];
    ck_assert(wire_agent_report(&f->agent,
                                wire_fired(&f->agent, id, process, NULL, clock_realtime_ns()),
                                error, sizeof error));
    cJSON *target = wire_target(&f->agent, id, process, "uploading", 1, 1);
    json_add_u64(cJSON_GetObjectItem(cJSON_GetObjectItem(target, "ledger"), "lost"), reason, lost);
    ck_assert(wire_agent_report(&f->agent, target, error, sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f->agent, process, 0, id, 0), WIRE_STORED);
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(f, path, "targets.0.status", "complete");
}

/* A capture of the process of which the ring has overwritten a second, nobody knows how many
 * events. */
static void capture_with_gap(struct fixture *f, const char *id, uint32_t process)
{
    char error[256], path[96];
    uint64_t now_ns = clock_realtime_ns();
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, id, process, NULL, now_ns), error,
                                sizeof error));
    cJSON *target = wire_target(&f->agent, id, process, "uploading", 1, 1);
    cJSON *gaps = cJSON_GetObjectItem(target, "gaps");
    cJSON *gap = cJSON_CreateObject();
    cJSON_AddItemToArray(gaps, gap);
    json_add_u64(gap, "from_ns", now_ns - UINT64_C(2000000000));
    json_add_u64(gap, "to_ns", now_ns - UINT64_C(1000000000));
    cJSON_AddStringToObject(gap, "reason", "overwritten");
    ck_assert_msg(wire_agent_report(&f->agent, target, error, sizeof error), "%s", error);
    ck_assert_int_eq(wire_agent_upload(&f->agent, process, 0, id, 0), WIRE_STORED);
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(f, path, "targets.0.status", "complete");
}

START_TEST(what_nobody_could_count_is_a_reason_too)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with_gap(&f, FIRST, 1);
    cJSON *page = call_json(&f, "GET", "/api/v1/loss?by=reason", NULL, 200);
    ck_assert(cJSON_IsFalse(at_path(page, "total.complete")));
    ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 1);
    ck_assert_str_eq(text_at(page, "items.0.reason"), "overwritten");
    ck_assert_double_eq(number_at(page, "items.0.events"), 0);
    ck_assert_double_eq(number_at(page, "items.0.gaps"), 1);
    cJSON_Delete(page);
    fixture_stop(&f);
}
END_TEST

/* Process 1 lists what its ring has lost. */
static void ring_lost(struct fixture *f, unsigned events)
{
    char error[256], id[ID_TEXT_BYTES];
    struct process_uid uid = process_of(1);
    cJSON *report = wire_report(&f->agent, "processes");
    json_add_u64(report, "version", 1000);
    json_add_u64(report, "page", 0);
    json_add_u64(report, "pages", 1);
    cJSON *p = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(report, "processes"), p);
    id_text(uid.bytes, id);
    cJSON_AddStringToObject(p, "process", id);
    json_add_u64(p, "pid", 101);
    cJSON_AddStringToObject(p, "service", "shop");
    cJSON_AddStringToObject(p, "labels", "");
    cJSON_AddStringToObject(p, "exe", "/bin/shop");
    cJSON_AddStringToObject(p, "state", "live");
    cJSON_AddStringToObject(p, "mode", "circular");
    json_add_u64(p, "events_lost", events);
    ck_assert_msg(wire_agent_report(&f->agent, report, error, sizeof error), "%s", error);
}

static void expect_balance(const cJSON *ledger)
{
    ck_assert_ptr_nonnull(ledger);
    ck_assert_double_eq(number_at(ledger, "produced"),
                        number_at(ledger, "stored") + number_at(ledger, "lost.ring") +
                            number_at(ledger, "lost.spool") + number_at(ledger, "lost.wire") +
                            number_at(ledger, "lost.quota"));
}

static cJSON *process_one(const struct fixture *f)
{
    char path[96], id[ID_TEXT_BYTES];
    struct process_uid uid = process_of(1);
    id_text(uid.bytes, id);
    snprintf(path, sizeof path, "/api/v1/processes/%s", id);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    expect_balance(at_path(json, "ledger"));
    return json;
}

START_TEST(process_adds_up_its_captures_and_its_ring_also_after_a_restart)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with_loss(&f, FIRST, 1, "ring_full", 5);
    cJSON *json = process_one(&f);
    double stored = number_at(json, "ledger.stored");
    ck_assert_double_gt(stored, 0);
    ck_assert_double_eq(number_at(json, "ledger.lost.ring"), 5);
    ck_assert_str_eq(text_at(json, "status"), "live");
    cJSON_Delete(json);
    ring_lost(&f, 12); /* five of them in the capture's window */
    json = process_one(&f);
    ck_assert_double_eq(number_at(json, "ledger.lost.ring"), 12);
    ck_assert(cJSON_IsFalse(at_path(json, "ledger.complete")));
    cJSON_Delete(json);
    fixture_restart(&f); /* whoever asks before its agent lists it hears of it all the same */
    json = process_one(&f);
    ck_assert_double_eq(number_at(json, "ledger.lost.ring"), 12);
    ck_assert_double_eq(number_at(json, "ledger.stored"), stored);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(what_was_evicted_stays_told_and_what_was_deleted_does_not)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with_loss(&f, FIRST, 1, "spool_full", 3);
    cJSON *json = process_one(&f);
    double stored = number_at(json, "ledger.stored");
    cJSON_Delete(json);
    struct capture_id id;
    ck_assert_int_eq(id_parse(FIRST, id.bytes), SKEIN_OK);
    ck_assert_int_eq(capture_retire(f.collector.captures, &id, 0, "no room"), SKEIN_OK);
    json = process_one(&f);
    ck_assert_double_eq(number_at(json, "ledger.stored"), 0);
    ck_assert_double_eq(number_at(json, "ledger.lost.quota"), stored);
    ck_assert_double_eq(number_at(json, "ledger.reasons.evicted"), stored);
    ck_assert_double_eq(number_at(json, "ledger.lost.spool"), 3);
    cJSON_Delete(json);
    capture_with_loss(&f, SECOND, 1, "spool_full", 3);
    struct http_response response;
    call(&f, "DELETE", "/api/v1/captures/" SECOND, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    json = process_one(&f);
    ck_assert_double_eq(number_at(json, "ledger.stored"), 0);
    ck_assert_double_eq(number_at(json, "ledger.lost.spool"), 3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(fleet_is_told_by_process_service_host_and_reason)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    capture_with_loss(&f, FIRST, 1, "ring_full", 5);
    capture_with_loss(&f, SECOND, 2, "rejected", 7);
    cJSON *all = call_json(&f, "GET", "/api/v1/loss", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(all, "items")), 2);
    expect_balance(at_path(all, "total"));
    expect_balance(at_path(all, "items.0.ledger"));
    ck_assert_double_eq(number_at(all, "total.lost.ring"), 5);
    ck_assert_double_eq(number_at(all, "total.lost.wire"), 7);
    ck_assert_double_eq(number_at(all, "processes"), 2);
    cJSON *page = call_json(&f, "GET", "/api/v1/loss?limit=1", NULL, 200);
    char path[160];
    snprintf(path, sizeof path, "/api/v1/loss?limit=1&cursor=%s", text_at(page, "next_cursor"));
    ck_assert(cJSON_Compare(at_path(page, "total"), at_path(all, "total"), true));
    cJSON_Delete(page);
    page = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(page, "items.0.process"), text_at(all, "items.1.process"));
    ck_assert_ptr_null(at_path(page, "next_cursor"));
    ck_assert_ptr_null(at_path(page, "total")); /* the first page has told */
    ck_assert_ptr_null(at_path(page, "processes"));
    cJSON_Delete(page);
    static const char *const groupings[] = {"service", "host"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/api/v1/loss?by=%s", groupings[i]);
        page = call_json(&f, "GET", path, NULL, 200);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 1);
        ck_assert(cJSON_Compare(at_path(page, "items.0.ledger"), at_path(all, "total"), true));
        ck_assert_double_eq(number_at(page, "items.0.processes"), 2);
        cJSON_Delete(page);
    }
    page = call_json(&f, "GET", "/api/v1/loss?by=reason&selector=pid%3D101", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 1);
    ck_assert_str_eq(text_at(page, "items.0.reason"), "ring_full");
    ck_assert_double_eq(number_at(page, "items.0.events"), 5);
    cJSON_Delete(page);
    page = call_json(&f, "GET", "/api/v1/loss?to=2020-01-01T00:00:00Z", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 0);
    ck_assert(cJSON_IsTrue(at_path(page, "total.complete")));
    cJSON_Delete(page);
    expect_problem(&f, "GET", "/api/v1/loss?by=colour", NULL, 400, "by");
    expect_problem(&f, "GET", "/api/v1/processes/" FIRST, NULL, 404, NULL);
    cJSON_Delete(all);
    fixture_stop(&f);
}
END_TEST

START_TEST(fleet_is_told_by_capture_rule_and_place)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    capture_with_loss(&f, FIRST, 1, "ring_full", 5);
    capture_with_loss(&f, SECOND, 2, "rejected", 7);
    ring_lost(&f, 12); /* seven of them outside of captures */
    cJSON *all = call_json(&f, "GET", "/api/v1/loss", NULL, 200);
    ck_assert_double_eq(number_at(all, "total.lost.ring"), 12);
    cJSON *page = call_json(&f, "GET", "/api/v1/loss?by=capture&limit=1", NULL, 200);
    ck_assert(cJSON_Compare(at_path(page, "total"), at_path(all, "total"), true));
    ck_assert_str_eq(text_at(page, "items.0.capture"), FIRST);
    ck_assert_double_eq(number_at(page, "items.0.processes"), 1);
    ck_assert_double_eq(number_at(page, "items.0.ledger.lost.ring"), 5);
    ck_assert_str_eq(text_at(page, "next_cursor"), FIRST);
    cJSON_Delete(page);
    page = call_json(&f, "GET", "/api/v1/loss?by=capture&limit=1&cursor=" FIRST, NULL, 200);
    ck_assert_str_eq(text_at(page, "items.0.capture"), SECOND);
    ck_assert_ptr_null(at_path(page, "next_cursor"));
    cJSON_Delete(page);
    page = call_json(&f, "GET", "/api/v1/loss?by=rule", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 1);
    ck_assert(cJSON_Compare(at_path(page, "items.0.ledger"), at_path(all, "total"), true));
    cJSON_Delete(page);
    page = call_json(&f, "GET", "/api/v1/loss?by=place", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(page, "items")), 2);
    ck_assert_str_eq(text_at(page, "items.0.place"), "ring");
    ck_assert_double_eq(number_at(page, "items.0.events"), 12);
    ck_assert_str_eq(text_at(page, "items.1.place"), "wire");
    ck_assert_double_eq(number_at(page, "items.1.events"), 7);
    cJSON_Delete(page);
    cJSON_Delete(all);
    fixture_stop(&f);
}
END_TEST

#define ASKERS 12

static void *ask(void *fixture)
{
    struct http_response response;
    call(fixture, "GET", "/api/v1/loss?by=service", NULL, NULL, &response);
    void *answered = response.status == 200 ? fixture : NULL;
    http_response_fini(&response);
    return answered;
}

START_TEST(sums_are_answered_however_many_ask)
{
    struct fixture f;
    pthread_t threads[ASKERS];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with_loss(&f, FIRST, 1, "ring_full", 5);
    for (int i = 0; i < ASKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &f), 0);
    for (int i = 0; i < ASKERS; i++) {
        void *answered;
        ck_assert_int_eq(pthread_join(threads[i], &answered), 0);
        ck_assert_ptr_nonnull(answered);
    }
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api_loss", process_adds_up_its_captures_and_its_ring_also_after_a_restart,
        what_was_evicted_stays_told_and_what_was_deleted_does_not,
        what_nobody_could_count_is_a_reason_too, fleet_is_told_by_process_service_host_and_reason,
        fleet_is_told_by_capture_rule_and_place, sums_are_answered_however_many_ask, NULL));
}
