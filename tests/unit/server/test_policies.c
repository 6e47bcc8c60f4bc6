/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling policies through HTTP: push, who is on, samples of many processes as one capture,
 * budget, pauses, and what a restart keeps.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "sampling.h"
#include "support.h"

#define MS     UINT64_C(1000000)
#define PATH   "/api/v1/policies/all"
#define POLICY "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000}"
#define FLEET  8u

static const struct sampling_plan plan = {500, 1000};

/* The next push, acknowledged; the caller frees. */
static cJSON *take_push(struct fixture *f)
{
    cJSON *command = wire_agent_command(&f->agent, "policies", (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no policies command");
    wire_agent_ack(&f->agent, command, NULL);
    return command;
}

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

/* What an agent says of a process's part of the sample that begins now, and the capture's id. */
static cJSON *fired_of(struct fixture *f, uint32_t process, uint64_t begin_ns,
                       char id[ID_TEXT_BYTES])
{
    struct capture_id capture = sampling_capture(&plan, "all", 1, begin_ns);
    id_text(capture.bytes, id);
    cJSON *fired = wire_fired(&f->agent, id, process, NULL, begin_ns);
    cJSON_ReplaceItemInObject(fired, "trigger", cJSON_CreateString("policy"));
    cJSON_AddStringToObject(fired, "policy", "all");
    cJSON_ReplaceItemInObject(fired, "pre_ms", cJSON_CreateNumber(0));
    cJSON_ReplaceItemInObject(fired, "post_ms", cJSON_CreateNumber(500));
    return fired;
}

static void fire(struct fixture *f, uint32_t process, uint64_t begin_ns, char id[ID_TEXT_BYTES])
{
    report(f, fired_of(f, process, begin_ns, id));
}

START_TEST(policy_is_created_replaced_listed_and_deleted)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, POLICY, 201));
    cJSON *json = call_json(&f, "PUT", PATH, POLICY, 200);
    ck_assert_double_eq(number_at(json, "state.generation"), 2);
    ck_assert_str_eq(text_at(json, "state.status"), "active");
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/policies", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.name"), "all");
    cJSON_Delete(json);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    json = call_json(&f, "GET", PATH "/matches", NULL, 200);
    ck_assert_double_eq(number_at(json, "matches"), 3);
    cJSON_Delete(json);
    json = call_json(&f, "PUT", PATH, "{\"selector\":\"\",\"enabled\":false}", 200);
    ck_assert_str_eq(text_at(json, "state.status"), "paused");
    cJSON_Delete(json);
    call(&f, "DELETE", PATH, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    expect_problem(&f, "GET", PATH, NULL, 404, NULL);
    expect_problem(&f, "DELETE", PATH, NULL, 404, NULL);
    expect_problem(&f, "GET", PATH "/matches", NULL, 404, NULL);
    expect_problem(&f, "PUT", "/api/v1/policies/BAD", POLICY, 422, "name");
    expect_problem(&f, "PUT", PATH, "{\"selector\":\"\",\"every_ms\":1}", 422, "every_ms");
    json = call_json(&f, "GET", "/api/v1/audit?action=policy.*", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.action"), "policy.delete");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* How many of the processes 1 to FLEET an agent has on in the slot. */
static unsigned count_on(uint32_t slot)
{
    unsigned on = 0;
    for (uint32_t i = 1; i <= FLEET; i++) {
        struct process_uid uid = process_of(i);
        on += sampling_slot_of(&plan, &uid) == slot;
    }
    return on;
}

/* The state within one slot, which is told. */
static cJSON *get_state(struct fixture *f, uint32_t *slot)
{
    for (;;) {
        uint64_t before_ns = clock_realtime_ns();
        cJSON *json = call_json(f, "GET", PATH, NULL, 200);
        *slot = sampling_slot_at(&plan, before_ns);
        if (clock_realtime_ns() / (plan.record_ms * MS) == before_ns / (plan.record_ms * MS))
            return json;
        cJSON_Delete(json);
    }
}

static long change(struct fixture *f, const char *method, const char *body, const char *header,
                   char etag[128], char detail[512])
{
    struct http_response response;
    call(f, method, PATH, body, header, &response);
    snprintf(etag, 128, "%s", response.etag);
    cJSON *json = cJSON_ParseWithLength((const char *)response.body.data, response.body.len);
    snprintf(detail, 512, "%s", text_at(json, "detail"));
    cJSON_Delete(json);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

START_TEST(a_change_of_another_version_is_refused)
{
    struct fixture f;
    char first[128], now[128], header[160], detail[512];
    fixture_start(&f);
    ck_assert_int_eq(change(&f, "PUT", POLICY, "If-None-Match: *", first, detail), 201);
    ck_assert(first[0] == '"');
    ck_assert_int_eq(change(&f, "PUT", POLICY, "If-None-Match: *", now, detail), 412);
    ck_assert_msg(strstr(detail, "there is a policy all already, put by local at ") == detail, "%s",
                  detail);
    snprintf(header, sizeof header, "If-Match: %s", first);
    ck_assert_int_eq(change(&f, "PATCH", "{\"enabled\":false}", header, now, detail), 200);
    ck_assert_str_ne(now, first);
    ck_assert_int_eq(change(&f, "PUT", POLICY, header, first, detail), 412);
    ck_assert_msg(strstr(detail, "has been changed since by local at ") != NULL, "%s", detail);
    ck_assert_int_eq(change(&f, "DELETE", NULL, header, first, detail), 412);
    ck_assert_int_eq(change(&f, "GET", NULL, NULL, first, detail), 200);
    ck_assert_str_eq(first, now);
    snprintf(header, sizeof header, "If-Match: %s", now);
    ck_assert_int_eq(change(&f, "DELETE", NULL, header, first, detail), 204);
    fixture_stop(&f);
}
END_TEST

START_TEST(every_agent_is_told_the_policies_and_who_is_on_is_known)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, FLEET, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, POLICY, 201));
    cJSON *push = take_push(&f);
    ck_assert_str_eq(text_at(push, "policies.0.name"), "all");
    ck_assert_double_eq(number_at(push, "policies.0.generation"), 1);
    ck_assert_ptr_null(at_path(push, "policies.0.slots"));
    cJSON_Delete(push);
    f.agent.policies_generation = 1;
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    uint32_t slot;
    cJSON *json = get_state(&f, &slot);
    ck_assert_double_eq(number_at(json, "state.share_of_agents"), 1);
    ck_assert_double_eq(number_at(json, "state.processes.matching"), FLEET);
    ck_assert_double_eq(number_at(json, "state.processes.planned_on"), FLEET / 2.0);
    ck_assert_double_eq(number_at(json, "state.processes.on"), count_on(slot));
    ck_assert_uint_eq(count_on(0) + count_on(1), FLEET);
    cJSON_Delete(json);
    /* An agent that has lost them says so by its heartbeat, and gets them. */
    f.agent.policies_generation = 0;
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    cJSON_Delete(take_push(&f));
    fixture_stop(&f);
}
END_TEST

START_TEST(samples_of_one_span_are_one_capture)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], other[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(
        &f, "PUT", PATH,
        "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000,\"retain\":{\"ttl_ms\":60000}}",
        201));
    uint64_t span_ns = clock_realtime_ns() / 1000000000 * 1000000000;
    fire(&f, 1, span_ns, id);
    fire(&f, 1, span_ns, id); /* a repeat */
    fire(&f, 2, span_ns + 500000000, other);
    ck_assert_str_eq(id, other);
    for (uint32_t i = 1; i <= 2; i++) {
        report(&f, wire_target(&f.agent, id, i, "uploading", 1, 1));
        wire_agent_upload(&f.agent, i, 0, id, 0);
    }
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(&f, path, "status", "complete"); /* once its span is over */
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "kind"), "sample");
    ck_assert_str_eq(text_at(json, "trigger.type"), "policy");
    ck_assert_str_eq(text_at(json, "trigger.policy"), "all");
    ck_assert_ptr_null(at_path(json, "trigger.rule"));
    ck_assert_str_eq(text_at(json, "selector"), "service=shop");
    ck_assert_double_eq(number_at(json, "post_ms"), 1500);
    ck_assert_double_eq(number_at(json, "ttl_ms"), 60000);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    cJSON_Delete(json);
    /* What comes late, after an hour in a spool, joins it. */
    fire(&f, 3, span_ns, other);
    report(&f, wire_target(&f.agent, id, 3, "nothing", 0, 0));
    wait_for_text(&f, path, "targets.2.status", "nothing");
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.captures"), 1);
    ck_assert_str_eq(text_at(json, "state.last_capture"), id);
    ck_assert_double_gt(number_at(json, "state.bytes_today"), 0);
    cJSON_Delete(json);
    /* Nobody joins it for another policy, and not by the id of somebody else's capture. */
    char error[256];
    cJSON *fired = wire_fired(&f.agent, id, 3, NULL, span_ns);
    cJSON_ReplaceItemInObject(fired, "trigger", cJSON_CreateString("policy"));
    cJSON_AddStringToObject(fired, "policy", "other");
    ck_assert(!wire_agent_report(&f.agent, fired, error, sizeof error));
    fixture_stop(&f);
}
END_TEST

/* As an agent makes it whose host began with a clock a year ahead. */
START_TEST(sample_named_by_a_far_time_ends_now_all_the_same)
{
    const uint64_t year_ns = UINT64_C(365) * 86400 * 1000000000;
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(
        call_json(&f, "PUT", PATH, "{\"selector\":\"\",\"record_ms\":500,\"every_ms\":1000}", 201));
    fire(&f, 1, clock_realtime_ns() + year_ns, id);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(&f, path, "status", "complete");
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "selector"), ""); /* the policy's */
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static size_t export_bytes(const struct fixture *f, const char *capture, const char *query,
                           int status)
{
    struct http_response response;
    char url[200];
    (void)snprintf(url, sizeof url, "%s/trace?%s", capture, query);
    call(f, "GET", url, NULL, NULL, &response);
    ck_assert_int_eq(response.status, status);
    size_t bytes = response.body.len;
    http_response_fini(&response);
    return bytes;
}

/* The policy's groups are the capture's, whatever becomes of the policy; and of its exports, where
 * nobody asks for others. What is stored is all. */
static void check_groups(struct fixture *f, const char *capture)
{
    cJSON_Delete(call_json(f, "PUT", PATH, POLICY, 200));
    cJSON *json = call_json(f, "GET", capture, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "groups")), 2);
    ck_assert_str_eq(text_at(json, "groups.0"), "net");
    ck_assert_str_eq(text_at(json, "groups.1"), "63");
    cJSON_Delete(json);
    size_t own = export_bytes(f, capture, "format=perfetto", 200);
    size_t all = export_bytes(f, capture, "format=perfetto&groups=all", 200);
    ck_assert_uint_lt(own, all);
    ck_assert_uint_eq(export_bytes(f, capture, "format=perfetto&groups=63,net", 200), own);
    ck_assert_uint_gt(export_bytes(f, capture, "format=perfetto&groups=app,io", 200), own);
    (void)export_bytes(f, capture, "format=perfetto&groups=nets", 400);
    (void)export_bytes(f, capture, "groups=net", 400);
}

START_TEST(a_restart_keeps_policies_budgets_and_running_samples)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000,"
                           "\"groups\":[\"net\",\"63\"],\"limits\":{\"bytes_per_day\":1}}",
                           201));
    fire(&f, 1, clock_realtime_ns(), id);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 2, 1));
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    wait_for_text(&f, PATH, "state.status", "suspended");
    cJSON *push = take_push(&f);
    while (!cJSON_IsTrue(at_path(push, "policies.0.paused"))) {
        cJSON_Delete(push);
        push = take_push(&f);
    }
    ck_assert_ptr_null(at_path(push, "policies.0.groups")); /* agents cut everything */
    cJSON_Delete(push);
    fixture_restart(&f);
    cJSON_Delete(wire_agent_hello(&f.agent));
    push = take_push(&f);
    ck_assert_double_eq(number_at(push, "generation"), 1);
    cJSON_Delete(push);
    wait_for_text(&f, PATH, "state.status", "suspended");
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.captures"), 1);
    cJSON_Delete(json);
    wire_agent_upload(&f.agent, 1, 1, id, 0);
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(&f, path, "status", "complete");
    check_groups(&f, path);
    fixture_stop(&f);
}
END_TEST

static bool has_bytes(void *context)
{
    cJSON *json = call_json(context, "GET", PATH, NULL, 200);
    bool has = number_at(json, "state.bytes_today") > 50000;
    cJSON_Delete(json);
    return has;
}

/* One user's processes cannot use up what the policy may store in a day; those of others, and
 * root's, are still sampled. */
START_TEST(day_of_a_policy_is_shared_among_users)
{
    enum { FIRST, FLOODER, SAME_USER, OTHER_USER, ROOT, COUNT };
    static const uint32_t users[COUNT] = {0, 65534, 65534, 1000, 0};
    struct fixture f;
    char id[ID_TEXT_BYTES], error[256];
    fixture_start(&f);
    f.agent.users = users;
    wire_agent_processes(&f.agent, FLOODER, ROOT, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000,"
                           "\"limits\":{\"bytes_per_day\":60000}}",
                           201));
    uint64_t now_ns = clock_realtime_ns();
    fire(&f, FLOODER, now_ns, id);
    report(&f, wire_target(&f.agent, id, FLOODER, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, FLOODER, 0, id, 55000), WIRE_STORED);
    ck_assert(wait_until(has_bytes, &f, 0));
    fire(&f, FLOODER, now_ns, id); /* said again: it is one of the capture's */
    ck_assert(
        !wire_agent_report(&f.agent, fired_of(&f, SAME_USER, now_ns, id), error, sizeof error));
    ck_assert_msg(strstr(error, "the share of user 65534 on host-a is used up") != NULL, "%s",
                  error);
    fire(&f, OTHER_USER, now_ns, id);
    fire(&f, ROOT, now_ns, id);
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.status"), "active");
    ck_assert_double_eq(number_at(json, "state.held_back.samples"), 1);
    ck_assert_ptr_nonnull(strstr(text_at(json, "state.held_back.why"), "limits.bytes_per_day"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static void report_pause(struct fixture *f, bool paused)
{
    cJSON *json = wire_report(&f->agent, "policy");
    cJSON_AddStringToObject(json, "policy", "all");
    cJSON_AddBoolToObject(json, "paused", paused);
    json_add_u64(json, "cpu_percent", 42);
    report(f, json);
}

START_TEST(agents_that_pause_are_shown)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, POLICY, 201));
    for (int paused = 1; paused >= 0; paused--) {
        report_pause(&f, paused);
        cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
        ck_assert_int_eq(at_path(json, "state.paused_agents") != NULL, paused);
        if (paused) {
            ck_assert_double_eq(number_at(json, "state.paused_agents.agents"), 1);
            ck_assert_str_eq(text_at(json, "state.paused_agents.hosts.0.host"), "host-a");
            ck_assert_double_eq(number_at(json, "state.paused_agents.hosts.0.cpu_percent"), 42);
        }
        cJSON_Delete(json);
    }
    fixture_stop(&f);
}
END_TEST

START_TEST(agent_that_is_gone_does_not_pause)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, POLICY, 201));
    report_pause(&f, true);
    fixture_lease_end(&f);
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_ptr_null(at_path(json, "state.paused_agents"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(evidence_and_a_rate_are_pushed)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000,"
                           "\"evidence\":[\"threads\",\"vitals\"],\"samples_hz\":400}",
                           201));
    cJSON *push = take_push(&f);
    ck_assert_str_eq(text_at(push, "policies.0.evidence.0"), "threads");
    ck_assert_str_eq(text_at(push, "policies.0.evidence.1"), "vitals");
    ck_assert_double_eq(number_at(push, "policies.0.samples_hz"), 400);
    cJSON_Delete(push);
    /* One that names none has none. */
    cJSON_Delete(call_json(&f, "PUT", PATH, POLICY, 200));
    push = take_push(&f);
    ck_assert_ptr_null(at_path(push, "policies.0.evidence"));
    ck_assert_ptr_null(at_path(push, "policies.0.samples_hz"));
    cJSON_Delete(push);
    fixture_stop(&f);
}
END_TEST

/* "": nobody is slower. */
static void slower_expect(struct fixture *f, const char *samples, const char *why)
{
    f->agent.samples = samples;
    cJSON_Delete(wire_agent_beat(&f->agent, 0, 0));
    cJSON *json = call_json(f, "GET", PATH, NULL, 200);
    const cJSON *slower = at_path(json, "state.slower_agents");
    ck_assert_msg((slower != NULL) == (why[0] != '\0'), "%s", samples != NULL ? samples : "none");
    if (slower != NULL) {
        ck_assert_double_eq(number_at(slower, "agents"), 1);
        ck_assert_str_eq(text_at(slower, "hosts.0.host"), "host-a");
        ck_assert_msg(strstr(text_at(slower, "hosts.0.why"), why) != NULL, "%s",
                      text_at(slower, "hosts.0.why"));
    }
    cJSON_Delete(json);
}

START_TEST(agents_that_sample_less_often_are_shown)
{
    static const char policy[] = "{\"selector\":\"service=shop\",\"samples_hz\":400}";
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, policy, 201));
    slower_expect(&f, NULL, ""); /* no process of it runs there */
    wire_agent_processes(&f.agent, 1, 1, "shop");
    slower_expect(&f, NULL, "does not say");
    slower_expect(&f, "{\"hz\":0,\"cpus\":0,\"bytes\":0,\"reach_ms\":0}",
                  "switched off by the agent's configuration");
    slower_expect(&f, "{\"hz\":400,\"cpus\":0,\"bytes\":0,\"reach_ms\":0,\"refused\":\"EPERM\"}",
                  "EPERM");
    slower_expect(&f, "{\"hz\":99,\"cpus\":2,\"bytes\":1,\"reach_ms\":1}", "samples.max_hz");
    slower_expect(&f, "{\"hz\":99,\"cpus\":2,\"bytes\":1,\"reach_ms\":1,\"refused\":\"ENOMEM\"}",
                  "ENOMEM");
    slower_expect(&f, "{\"hz\":400,\"cpus\":2,\"bytes\":1,\"reach_ms\":1}", "");
    slower_expect(&f, "{\"hz\":99,\"cpus\":2,\"bytes\":1,\"reach_ms\":1}", "samples.max_hz");
    cJSON_Delete(call_json(&f, "PATCH", PATH, "{\"enabled\":false}", 200));
    slower_expect(&f, "{\"hz\":99,\"cpus\":2,\"bytes\":1,\"reach_ms\":1}", "");
    fixture_stop(&f);
}
END_TEST

/* Agents take no samples of what they only watch, and do not sample more often for it. */
START_TEST(processes_without_a_ring_do_not_count)
{
    static const char *const reasons[] = {"watched", "attach_refused"};
    struct fixture f;
    char error[256], id[ID_TEXT_BYTES];
    fixture_start(&f);
    cJSON_Delete(
        call_json(&f, "PUT", PATH, "{\"selector\":\"service=shop\",\"samples_hz\":400}", 201));
    cJSON *report = wire_report(&f.agent, "processes");
    json_add_u64(report, "version", ++f.agent.version);
    cJSON *list = cJSON_AddArrayToObject(report, "processes");
    for (uint32_t i = 0; i < 2; i++) {
        cJSON *p = cJSON_CreateObject();
        id_text(process_of(i + 1).bytes, id);
        cJSON_AddStringToObject(p, "process", id);
        json_add_u64(p, "pid", 100 + i);
        cJSON_AddStringToObject(p, "service", "shop");
        cJSON_AddStringToObject(p, "state", "live");
        json_add_u64(p, "start_ns", clock_realtime_ns());
        cJSON_AddStringToObject(p, "not_recorded", reasons[i]);
        cJSON_AddItemToArray(list, p);
    }
    ck_assert_msg(wire_agent_report(&f.agent, report, error, sizeof error), "%s", error);
    slower_expect(&f, "{\"hz\":99,\"cpus\":2,\"bytes\":1,\"reach_ms\":1}", "");
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.processes.matching"), 0);
    ck_assert_double_eq(number_at(json, "state.processes.planned_on"), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "policies", policy_is_created_replaced_listed_and_deleted,
        a_change_of_another_version_is_refused,
        every_agent_is_told_the_policies_and_who_is_on_is_known,
        samples_of_one_span_are_one_capture, sample_named_by_a_far_time_ends_now_all_the_same,
        a_restart_keeps_policies_budgets_and_running_samples, day_of_a_policy_is_shared_among_users,
        evidence_and_a_rate_are_pushed, agents_that_sample_less_often_are_shown,
        processes_without_a_ring_do_not_count, agents_that_pause_are_shown,
        agent_that_is_gone_does_not_pause, NULL));
}
