/* SPDX-License-Identifier: Apache-2.0
 * What rules do with captures: begin them with bounds, extend them to neighbours, and make an
 * incident of those that overlap, which is listed, fetched, changed and deleted as one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "capture_control.h"
#include "clock.h"
#include "collector_fixture.h"
#include "db.h"
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

/* ---- incidents ---- */

#define CAPTURE(n) "01a1000000000000000000000000000" #n
#define FIRST      CAPTURE(1)
#define JOINED     CAPTURE(2)
#define OTHER      CAPTURE(3)

/* A rule, and two firings of it that overlap: of process 1, and of 1 and 2; another one is alone.
 * Process 1 was cut once for both: its first partition is in both captures. */
static void begin_incident(struct fixture *f)
{
    uint64_t now = clock_realtime_ns();
    wire_agent_processes(&f->agent, 1, 3, "shop");
    cJSON_Delete(call_json(f, "PUT", "/api/v1/rules/ping",
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},"
                           "\"limits\":{\"cooldown_ms\":0}}",
                           201));
    report(f, wire_fired(&f->agent, FIRST, 1, "ping", now));
    report(f, wire_fired(&f->agent, JOINED, 1, "ping", now + 1000000000u));
    report(f, wire_fired(&f->agent, JOINED, 2, "ping", now + 1000000000u));
    report(f, wire_fired(&f->agent, OTHER, 3, "ping", now + 60000000000u));
    report(f, wire_target(&f->agent, FIRST, 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 0, FIRST, 0), WIRE_STORED);
    report(f, wire_target(&f->agent, JOINED, 1, "uploading", 2, 1));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 1, JOINED, 0), WIRE_STORED);
    report(f, wire_target(&f->agent, JOINED, 2, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 2, 0, JOINED, 0), WIRE_STORED);
    report(f, wire_target(&f->agent, OTHER, 3, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 3, 0, OTHER, 0), WIRE_STORED);
    wait_for_text(f, "/api/v1/captures/" FIRST, "status", "complete");
    wait_for_text(f, "/api/v1/captures/" JOINED, "status", "complete");
    wait_for_text(f, "/api/v1/captures/" OTHER, "status", "complete");
}

static int listed(struct fixture *f, const char *query)
{
    char path[160];
    snprintf(path, sizeof path, "/api/v1/captures%s", query);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return count;
}

/* What each is, and whose. */
static void expect_incident(struct fixture *f)
{
    static const struct {
        const char *capture, *incident;
        int targets, partitions;
    } all[] = {{FIRST, FIRST, 1, 1}, {JOINED, FIRST, 2, 3}, {OTHER, OTHER, 1, 1}};
    char path[96];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/api/v1/captures/%s", all[i].capture);
        wait_for_text(f, path, "status", "complete");
        cJSON *json = call_json(f, "GET", path, NULL, 200);
        ck_assert_str_eq(text_at(json, "capture"), all[i].capture);
        ck_assert_str_eq(text_at(json, "incident"), all[i].incident);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), all[i].targets);
        ck_assert(cJSON_IsTrue(at_path(json, "ledger.complete")));
        ck_assert_double_gt(number_at(json, "ledger.stored"), 0);
        cJSON_Delete(json);
        ck_assert_int_eq(partitions_of(f, all[i].capture), all[i].partitions);
    }
    ck_assert_int_eq(listed(f, ""), 3);
    ck_assert_int_eq(listed(f, "?incident=" FIRST), 2);
    ck_assert_int_eq(listed(f, "?incident=" FIRST "&status=complete"), 2);
    ck_assert_int_eq(listed(f, "?incident=" FIRST "&status=running"), 0);
    ck_assert_int_eq(listed(f, "?incident=" FIRST "&id=" JOINED), 1);
    ck_assert_int_eq(listed(f, "?incident=" JOINED), 0);
    ck_assert_int_eq(listed(f, "?incident=" OTHER), 1);
}

START_TEST(each_firing_keeps_its_capture_and_says_of_which_incident_it_is)
{
    struct fixture f;
    fixture_start(&f);
    begin_incident(&f);
    expect_incident(&f);
    fixture_restart(&f);
    expect_incident(&f);
    expect_problem(&f, "GET", "/api/v1/captures?incident=xy", NULL, 400, "incident");
    fixture_stop(&f);
}
END_TEST

START_TEST(incident_is_one_file_with_each_partition_once)
{
    struct fixture f;
    struct http_response whole, joined;
    fixture_start(&f);
    begin_incident(&f);
    /* The second capture has all that the first has: the file is its file, byte by byte. */
    call(&f, "GET", "/api/v1/captures/trace?incident=" FIRST, NULL, NULL, &whole);
    call(&f, "GET", "/api/v1/captures/" JOINED "/trace", NULL, NULL, &joined);
    ck_assert_int_eq(whole.status, 200);
    ck_assert_int_eq(joined.status, 200);
    ck_assert_uint_eq(whole.body.len, joined.body.len);
    ck_assert_mem_eq(whole.body.data, joined.body.data, whole.body.len);
    http_response_fini(&whole);
    http_response_fini(&joined);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/manifest?incident=" FIRST, NULL, 200);
    ck_assert_str_eq(text_at(json, "incident"), FIRST);
    ck_assert_str_eq(text_at(json, "url"), "/api/v1/captures/trace?incident=" FIRST);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets.0.partitions")), 2);
    call(&f, "GET", text_at(json, "targets.0.url"), NULL, NULL, &whole);
    ck_assert_int_eq(whole.status, 200);
    http_response_fini(&whole);
    cJSON_Delete(json);
    call(&f, "GET", "/api/v1/captures/trace?format=perfetto&incident=" FIRST, NULL, NULL, &whole);
    ck_assert_int_eq(whole.status, 200);
    http_response_fini(&whole);
    expect_problem(&f, "GET", "/api/v1/captures/trace", NULL, 400, "incident");
    expect_problem(&f, "GET", "/api/v1/captures/trace?incident=" JOINED, NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/" FIRST "/trace?incident=" FIRST, NULL, 400,
                   "incident");
    fixture_stop(&f);
}
END_TEST

/* How often the audit log has the action on the object, as done. */
static int audited(struct fixture *f, const char *action, const char *object)
{
    char path[160];
    snprintf(path, sizeof path, "/api/v1/audit?action=%s&object=%s", action, object);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, at_path(json, "items"))
        count += strcmp(text_at(entry, "result"), "ok") == 0 &&
                 strcmp(text_at(entry, "detail"), "of the incident " FIRST) == 0;
    cJSON_Delete(json);
    return count;
}

START_TEST(incident_is_pinned_and_deleted_in_one_request)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    begin_incident(&f);
    cJSON *json = call_json(&f, "PATCH", "/api/v1/captures?incident=" FIRST,
                            "{\"pin\":true,\"reason\":\"the outage\"}", 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
    cJSON_Delete(json);
    fixture_restart(&f);
    static const char *const captures[] = {FIRST, JOINED, OTHER};
    for (size_t i = 0; i < 3; i++) {
        char path[96];
        snprintf(path, sizeof path, "/api/v1/captures/%s", captures[i]);
        json = call_json(&f, "GET", path, NULL, 200);
        ck_assert_int_eq(cJSON_IsTrue(at_path(json, "pin")), i < 2);
        ck_assert_int_eq(strcmp(text_at(json, "trigger.reason"), "the outage") == 0, i < 2);
        cJSON_Delete(json);
        ck_assert_int_eq(audited(&f, "capture.update", captures[i]), i < 2);
    }
    cJSON_Delete(wire_agent_hello(&f.agent));
    expect_problem(&f, "DELETE", "/api/v1/captures", NULL, 400, "incident");
    expect_problem(&f, "DELETE", "/api/v1/captures?incident=" JOINED, NULL, 404, NULL);
    ck_assert_int_eq(listed(&f, ""), 3);
    call(&f, "DELETE", "/api/v1/captures?incident=" FIRST, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(audited(&f, "capture.delete", captures[i]), i < 2);
    /* What comes late is acknowledged, and gone again. */
    report(&f, wire_fired(&f.agent, JOINED, 2, "ping", clock_realtime_ns()));
    report(&f, wire_target(&f.agent, FIRST, 1, "uploading", 1, 1));
    ck_assert_int_eq(listed(&f, ""), 1);
    json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    cJSON_Delete(json);
    expect_problem(&f, "DELETE", "/api/v1/captures?incident=" FIRST, NULL, 404, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(one_capture_of_an_incident_goes_alone)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    begin_incident(&f);
    call(&f, "DELETE", "/api/v1/captures/" FIRST, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    ck_assert_int_eq(listed(&f, "?incident=" FIRST), 1);
    ck_assert_int_eq(partitions_of(&f, JOINED), 3); /* with the one that they shared */
    call(&f, "GET", "/api/v1/captures/trace?incident=" FIRST, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

/* The report of a capture may come before anything tells that a rule fired. */
START_TEST(firing_that_its_report_overtakes_joins_all_the_same)
{
    struct fixture f;
    fixture_start(&f);
    begin_incident(&f);
    report(&f, wire_target(&f.agent, CAPTURE(4), 2, "capturing", 0, 0));
    report(&f, wire_target(&f.agent, CAPTURE(5), 3, "capturing", 0, 0));
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/" CAPTURE(4), NULL, 200);
    ck_assert_str_eq(text_at(json, "incident"), CAPTURE(4));
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures/" OTHER, NULL, 200);
    uint64_t at_ns;
    ck_assert_int_eq(clock_parse(text_at(json, "at"), &at_ns), SKEIN_OK);
    cJSON_Delete(json);
    report(&f, wire_fired(&f.agent, CAPTURE(4), 2, "ping", at_ns + 1));
    report(&f, wire_fired(&f.agent, CAPTURE(5), 3, "ping", at_ns + 60000000000u));
    wait_for_text(&f, "/api/v1/captures/" CAPTURE(4), "incident", OTHER);
    wait_for_text(&f, "/api/v1/captures/" CAPTURE(5), "incident", CAPTURE(5));
    fixture_stop(&f);
}
END_TEST

/* ---- folders of before there were incidents ---- */

static void change_database(struct fixture *f, const char *name, const char *sql)
{
    struct db *db;
    char error[256] = "", path[4096];
    snprintf(path, sizeof path, "%s/data/%s", f->folder, name);
    ck_assert_msg(db_open(path, true, &db, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(db_exec(db, sql) == SKEIN_OK, "%s", db_error(db));
    db_close(&db);
}

/* As if the second capture had been merged into the first. */
static const char merged_state[] =
    "CREATE TABLE aliases(id TEXT PRIMARY KEY, capture TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT INTO aliases VALUES('" JOINED "', '" FIRST "');"
    "DROP INDEX captures_by_incident; DROP INDEX captures_unlisted;"
    "DROP INDEX captures_by_kind; DROP INDEX captures_by_kind_and_status;"
    "DROP INDEX captures_by_rule; DROP INDEX captures_by_holder;"
    "DELETE FROM captures WHERE id='" JOINED "';"
    "ALTER TABLE captures DROP COLUMN share_rank; ALTER TABLE captures DROP COLUMN holder;"
    "ALTER TABLE captures DROP COLUMN bytes; ALTER TABLE captures DROP COLUMN event_groups;"
    "ALTER TABLE captures DROP COLUMN incident;"
    "ALTER TABLE rule_history DROP COLUMN incident; ALTER TABLE rule_history DROP COLUMN user;"
    "CREATE TABLE t(capture TEXT NOT NULL, process TEXT NOT NULL, source TEXT NOT NULL,"
    " own INTEGER NOT NULL, agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL,"
    " exe TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " times TEXT NOT NULL, ledger TEXT NOT NULL, PRIMARY KEY(capture, process, source));"
    "INSERT INTO t SELECT CASE capture WHEN '" JOINED "' THEN '" FIRST "' ELSE capture END,"
    " process, capture, own, agent, updated_ns, pid, host, service, labels, exe, status, reason,"
    " report, times, (SELECT json_object('stored', stored) FROM account a"
    " WHERE a.capture=targets.capture AND a.process=targets.process) FROM targets;"
    "DROP TABLE targets; ALTER TABLE t RENAME TO targets;"
    "DROP TABLE loss; DROP TABLE account; DROP TABLE ranges;"
    "CREATE TABLE losses(process TEXT NOT NULL, capture TEXT NOT NULL, source TEXT NOT NULL,"
    " agent INTEGER NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL,"
    " labels TEXT NOT NULL, exe TEXT NOT NULL, ledger TEXT NOT NULL, ring_lost INTEGER NOT NULL,"
    " updated_ns INTEGER NOT NULL, PRIMARY KEY(process, capture, source)) WITHOUT ROWID;"
    "UPDATE meta SET value=8 WHERE key='schema'";
static const char merged_index[] =
    "DROP INDEX by_capture;"
    "CREATE TABLE member(capture BLOB, to_ns INTEGER, key BLOB, PRIMARY KEY(capture, to_ns, key))"
    " WITHOUT ROWID; CREATE INDEX member_of ON member(key);"
    "INSERT INTO member SELECT capture, to_ns, key FROM partitions;"
    "INSERT OR IGNORE INTO member SELECT x'" FIRST "', to_ns, key FROM member"
    " WHERE capture=x'" JOINED "'; DELETE FROM member WHERE capture=x'" JOINED "';"
    "PRAGMA user_version=6";

START_TEST(folder_with_merged_captures_opens_with_an_incident)
{
    struct fixture f;
    fixture_start(&f);
    begin_incident(&f);
    fixture_halt(&f);
    change_database(&f, "state.db", merged_state);
    change_database(&f, "index.db", merged_index);
    fixture_resume(&f);
    wait_for_text(&f, "/api/v1/captures?incident=" FIRST "&id=" JOINED, "items.0.status",
                  "complete");
    expect_incident(&f);
    /* Now and after the next start, with the listings that are saved meanwhile. */
    fixture_restart(&f);
    expect_incident(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures?incident=" FIRST, NULL, 200);
    ck_assert_double_eq(number_at(json, "items.0.target_counts.complete") +
                            number_at(json, "items.1.target_counts.complete"),
                        3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("incidents", bounds_on_targets_hold_when_a_capture_begins,
                              extending_sends_the_same_window_to_those_that_are_new,
                              extending_to_the_same_hosts_leaves_others_out,
                              extended_capture_of_an_agent_is_sent_again_when_it_returns,
                              firing_is_not_over_before_all_that_it_names_have_reported,
                              nobody_joins_a_capture_that_another_agent_has_begun,
                              ended_capture_runs_again_when_it_is_extended,
                              each_firing_keeps_its_capture_and_says_of_which_incident_it_is,
                              incident_is_one_file_with_each_partition_once,
                              incident_is_pinned_and_deleted_in_one_request,
                              one_capture_of_an_incident_goes_alone,
                              firing_that_its_report_overtakes_joins_all_the_same,
                              folder_with_merged_captures_opens_with_an_incident, NULL));
}
