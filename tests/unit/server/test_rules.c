/* SPDX-License-Identifier: Apache-2.0
 * Rules through HTTP: push, acknowledgement, health, cooldown, and what a restart keeps. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define PATH "/api/v1/rules/ping"
#define RULE                                                                                       \
    "{\"selector\":\"service=shop\",\"when\":{\"health\":{\"exec\":{\"command\":[\"true\"]}}},"    \
    "\"limits\":{\"cooldown_ms\":60000}}"

static void ack_rules(struct fixture *f, double generation)
{
    cJSON *command = wire_agent_command(&f->agent, "rules", (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no rules command");
    double got = number_at(command, "generation");
    wire_agent_ack(&f->agent, command, NULL);
    cJSON_Delete(command);
    if (got < generation)
        ack_rules(f, generation);
}

static cJSON *health_report(struct fixture *f, const char *health, unsigned suppressed)
{
    char process[ID_TEXT_BYTES];
    cJSON *report = wire_report(&f->agent, "rule");
    id_text(process_of(1).bytes, process);
    cJSON_AddStringToObject(report, "rule", "ping");
    cJSON_AddStringToObject(report, "process", process);
    cJSON_AddStringToObject(report, "health", health);
    json_add_u64(report, "since_ns", clock_realtime_ns());
    json_add_u64(report, "checks", 10);
    json_add_u64(report, "failures", 2);
    cJSON_AddStringToObject(report, "last_error", "no PONG");
    json_add_u64(report, "fired", 1);
    json_add_u64(report, "suppressed", suppressed);
    return report;
}

START_TEST(rule_is_created_replaced_listed_and_deleted)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    cJSON *json = call_json(&f, "PUT", PATH, RULE, 200);
    ck_assert_double_eq(number_at(json, "state.generation"), 2);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/rules", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.name"), "ping");
    cJSON_Delete(json);
    call(&f, "DELETE", PATH, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    expect_problem(&f, "GET", PATH, NULL, 404, NULL);
    expect_problem(&f, "DELETE", PATH, NULL, 404, NULL);
    expect_problem(&f, "PUT", "/api/v1/rules/BAD", RULE, 422, "name");
    expect_problem(&f, "PUT", PATH, "{\"selector\":\"\",\"when\":{\"health\":{\"every_ms\":1}}}",
                   422, "when.health.every_ms");
    expect_problem(&f, "PUT", PATH, "[]", 400, NULL);
    expect_problem(&f, "PUT", PATH, "{", 400, NULL);
    fixture_stop(&f);
}
END_TEST

static long change(struct fixture *f, const char *method, const char *body, const char *header,
                   char etag[128])
{
    struct http_response response;
    call(f, method, PATH, body, header, &response);
    snprintf(etag, 128, "%s", response.etag);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

START_TEST(a_change_of_another_version_is_refused)
{
    struct fixture f;
    char first[128], now[128], header[160];
    fixture_start(&f);
    ck_assert_int_eq(change(&f, "PUT", RULE, "If-Match: *", now), 412); /* there is nothing */
    ck_assert_int_eq(change(&f, "PUT", RULE, "If-None-Match: *", first), 201);
    ck_assert_int_eq(change(&f, "PUT", RULE, "If-None-Match: *", now), 412);
    ck_assert_int_eq(change(&f, "GET", NULL, NULL, now), 200);
    ck_assert_str_eq(now, first);
    ck_assert(first[0] == '"');
    snprintf(header, sizeof header, "If-Match: %s", first);
    ck_assert_int_eq(change(&f, "PATCH", "{\"description\":\"two\"}", header, now), 200);
    ck_assert_str_ne(now, first);
    ck_assert_int_eq(change(&f, "PATCH", "{\"description\":\"three\"}", header, first), 412);
    ck_assert_int_eq(change(&f, "PUT", RULE, header, first), 412);
    ck_assert_int_eq(change(&f, "DELETE", NULL, header, first), 412);
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "description"), "two");
    cJSON_Delete(json);
    snprintf(header, sizeof header, "If-Match: W/%s", now); /* says that it may be another */
    ck_assert_int_eq(change(&f, "DELETE", NULL, header, first), 412);
    snprintf(header, sizeof header, "If-Match: \"a\", %s", now);
    ck_assert_int_eq(change(&f, "PATCH", "{\"description\":\"two\"}", header, first), 200);
    snprintf(header, sizeof header, "If-Match: \"a\", \"b\"");
    ck_assert_int_eq(change(&f, "DELETE", NULL, header, first), 412);
    /* the list goes on in another line */
    char url[128];
    snprintf(header, sizeof header, "If-Match: %s", now);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", f.http_port, PATH);
    const char *lines[] = {"If-Match: \"a\", \"b\"", header, NULL};
    const struct http_request both = {
        .method = "DELETE", .url = url, .headers = lines, .timeout_ms = support_deadline_ms()};
    struct http_response response;
    ck_assert_int_eq(http_request(&both, &response), SKEIN_OK);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

/* The words of a refused change have `who` in them, and a time where there is one. */
static void expect_refused(struct fixture *f, const char *method, const char *header,
                           const char *body, const char *words, const char *who)
{
    struct http_response response;
    call(f, method, PATH, body, header, &response);
    ck_assert_int_eq(response.status, 412);
    cJSON *json = cJSON_ParseWithLength((const char *)response.body.data, response.body.len);
    const char *detail = text_at(json, "detail"), *at = strstr(detail, words);
    ck_assert_msg(at != NULL, "%s: %s", words, detail);
    const char *by = strstr(at, " by ");
    ck_assert_msg((by == NULL) == (who == NULL), "%s", detail);
    if (who != NULL) {
        ck_assert_msg(strncmp(by + 4, who, strlen(who)) == 0, "%s", detail);
        uint64_t ns = 0;
        char time[32];
        snprintf(time, sizeof time, "%.24s", by + 4 + strlen(who) + strlen(" at "));
        ck_assert_msg(clock_parse(time, &ns) == SKEIN_OK, "%s", detail);
        ck_assert(ns <= clock_realtime_ns() && ns > clock_realtime_ns() - UINT64_C(600000000000));
    }
    cJSON_Delete(json);
    http_response_fini(&response);
}

START_TEST(refused_change_says_who_came_before)
{
    struct fixture f;
    static const char old[] = "If-Match: \"0123456789abcdef\"";
    fixture_start(&f);
    expect_refused(&f, "PUT", old, RULE, "there is no rule", NULL);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    expect_refused(&f, "PUT", old, RULE, "has been changed since", "local");
    expect_refused(&f, "PATCH", old, "{\"description\":\"x\"}", "has been changed since", "local");
    expect_refused(&f, "DELETE", old, NULL, "has been changed since", "local");
    expect_refused(&f, "PUT", "If-None-Match: *", RULE, "already, put", "local");
    struct http_response response;
    call(&f, "DELETE", PATH, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
    expect_refused(&f, "PUT", old, RULE, "was deleted", "local");
    fixture_stop(&f);
}
END_TEST

START_TEST(members_are_changed_alone)
{
    struct fixture f;
    char etag[128];
    fixture_start(&f);
    expect_problem(&f, "PATCH", PATH, "{\"enabled\":false}", 404, NULL);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    cJSON_Delete(call_json(&f, "PATCH", PATH, "{\"limits\":{\"firings\":3}}", 200));
    cJSON *json = call_json(&f, "PATCH", PATH, "{\"capture\":{\"pre_ms\":\"7s\"}}", 200);
    ck_assert_double_eq(number_at(json, "capture.pre_ms"), 7000);
    ck_assert_double_eq(number_at(json, "limits.firings"), 3);
    cJSON_Delete(json);
    json = call_json(
        &f, "PATCH", PATH,
        "{\"when\":{\"health\":null,\"crash\":{}},\"limits\":{\"firings\":null,\"window_ms\":null}}",
        200);
    ck_assert_ptr_nonnull(at_path(json, "when.crash"));
    ck_assert_ptr_null(at_path(json, "limits.firings"));
    cJSON_Delete(json);
    expect_problem(&f, "PATCH", PATH, "{\"when\":{\"health\":{}}}", 422, "when.health");
    expect_problem(&f, "PATCH", PATH, "{\"colour\":1}", 422, "colour");
    expect_problem(&f, "PATCH", PATH, "{\"name\":\"other\"}", 422, "name");
    ck_assert_int_eq(change(&f, "PATCH", "{\"enabled\":false}",
                            "Content-Type: application/merge-patch+json", etag),
                     200);
    ck_assert_int_eq(change(&f, "PUT", RULE, "Content-Type: application/merge-patch+json", etag),
                     415);
    fixture_stop(&f);
}
END_TEST

START_TEST(rules_are_pushed_until_every_agent_has_them)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    cJSON *command = wire_agent_command(&f.agent, "rules", (int)support_deadline_ms());
    ck_assert_str_eq(text_at(command, "rules.0.name"), "ping");
    ck_assert_double_eq(number_at(command, "generation"), 1);
    cJSON_Delete(command);
    /* Not acknowledged: it comes again. */
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    ack_rules(&f, 1);
    wait_for_text(&f, PATH, "name", "ping");
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 1));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.agents_current"), 1);
    cJSON_Delete(json);
    /* An agent that has lost them says so by its heartbeat, and gets them. */
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    ack_rules(&f, 1);
    fixture_stop(&f);
}
END_TEST

static void put_named(struct fixture *f, const char *name, const char *selector, int status)
{
    char path[64], body[256];
    snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    snprintf(body, sizeof body, "{\"selector\":\"%s\",\"when\":{\"crash\":{}}}", selector);
    cJSON_Delete(call_json(f, "PUT", path, body, status));
}

/* The next change, of this base and generation, with so many rules and removed names. One before it
 * that was not acknowledged may have come again. */
static cJSON *expect_change(struct fixture *f, double base, double generation, int put, int removed)
{
    cJSON *command = wire_agent_command(&f->agent, "rules_change", (int)support_deadline_ms());
    ck_assert_msg(command != NULL, "no change");
    if (number_at(command, "generation") < generation) {
        cJSON_Delete(command);
        return expect_change(f, base, generation, put, removed);
    }
    ck_assert_double_eq(number_at(command, "base"), base);
    ck_assert_double_eq(number_at(command, "generation"), generation);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "rules")), put);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "removed")), removed);
    return command;
}

/* Behind the whole set, an agent hears of what has changed alone, and of nothing that only another
 * host may have. */
START_TEST(agents_are_pushed_what_has_changed_where_it_concerns_them)
{
    struct fixture f;
    fixture_start(&f);
    put_named(&f, "first", "service=shop", 201);
    ack_rules(&f, 1);
    put_named(&f, "second", "service=pay", 201);
    cJSON *command = expect_change(&f, 1, 2, 1, 0);
    ck_assert_str_eq(text_at(command, "rules.0.name"), "second");
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);

    put_named(&f, "elsewhere", "service=shop,host in (host-b,host-c)", 201);
    put_named(&f, "here", "host=host-a", 201);
    command = expect_change(&f, 2, 4, 1, 1); /* nothing of 3 was sent */
    ck_assert_str_eq(text_at(command, "rules.0.name"), "here");
    ck_assert_str_eq(text_at(command, "removed.0"), "elsewhere");
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    put_named(&f, "elsewhere", "host!=host-a", 200);
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/ours",
                           "{\"selector\":\"\",\"when\":{\"schedule\":{\"every_ms\":3600000}}}",
                           201));
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 4)); /* it has all that concerns it */
    cJSON *json = call_json(&f, "GET", "/api/v1/rules/elsewhere", NULL, 200);
    ck_assert_double_eq(number_at(json, "state.agents_current"), 1);
    ck_assert_double_eq(number_at(json, "state.generation"), 6);
    cJSON_Delete(json);

    struct http_response response; /* gone, and moved away: it must let go of both */
    call(&f, "DELETE", "/api/v1/rules/first", NULL, NULL, &response);
    http_response_fini(&response);
    cJSON_Delete(expect_change(&f, 4, 7, 0, 3)); /* which it does not acknowledge */
    put_named(&f, "here", "host=host-b", 200);
    command = expect_change(&f, 4, 8, 0, 4);
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    fixture_stop(&f);
}
END_TEST

/* As an older agent, or one whose set is another: the whole set comes, now and from then on. */
START_TEST(an_agent_that_takes_no_change_gets_the_whole_set)
{
    struct fixture f;
    fixture_start(&f);
    put_named(&f, "first", "service=shop", 201);
    ack_rules(&f, 1);
    put_named(&f, "second", "service=pay", 201);
    cJSON *command = expect_change(&f, 1, 2, 1, 0);
    wire_agent_ack(&f.agent, command, "kind: this agent knows capture, stop and rules");
    cJSON_Delete(command);
    command = wire_agent_command(&f.agent, "rules", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "rules")), 2);
    wire_agent_ack(&f.agent, command, NULL);
    cJSON_Delete(command);
    put_named(&f, "third", "", 201);
    ack_rules(&f, 3);
    fixture_stop(&f);
}
END_TEST

START_TEST(agents_that_do_not_understand_a_rule_are_shown)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, "{\"selector\":\"\",\"when\":{\"crash\":{}}}", 201));
    cJSON *command = wire_agent_command(&f.agent, "rules", (int)support_deadline_ms());
    ck_assert(cJSON_IsObject(at_path(command, "rules.0.when.crash")));
    wire_agent_ack(&f.agent, command, "rule pin: odd; rule ping: when: no crash here; rule x: y");
    cJSON_Delete(command);
    wait_for_text(&f, PATH, "state.unsupported.why", "when: no crash here");
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.unsupported.agents"), 1);
    ck_assert_str_eq(text_at(json, "state.unsupported.hosts.0"), "host-a");
    cJSON_Delete(json);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 200));
    ack_rules(&f, 2);
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 2));
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_ptr_null(at_path(json, "state.unsupported"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(health_of_each_process_is_shown)
{
    struct fixture f;
    char error[256];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    ck_assert(wire_agent_report(&f.agent, health_report(&f, "failing", 2), error, sizeof error));
    ck_assert(wire_agent_report(&f.agent, health_report(&f, "failing", 3), error, sizeof error));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.processes.0.health"), "failing");
    ck_assert_str_eq(text_at(json, "state.processes.0.host"), "host-a");
    ck_assert_double_eq(number_at(json, "state.processes.0.pid"), 101);
    ck_assert_double_eq(number_at(json, "state.suppressed"), 3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(cooldown_holds_across_restarts_of_agent_and_collector)
{
    struct fixture f;
    char error[256];
    const char *first = "01a10000000000000000000000000001";
    const char *second = "01a10000000000000000000000000002";
    const char *third = "01a10000000000000000000000000003";
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    for (int i = 0; i < 2; i++) /* a repeat is no second firing */
        ck_assert(wire_agent_report(&f.agent, wire_fired(&f.agent, first, 1, "ping", now), error,
                                    sizeof error));
    fixture_restart(&f);
    f.agent.epoch++;
    cJSON_Delete(wire_agent_hello(&f.agent));
    ck_assert(!wire_agent_report(&f.agent,
                                 wire_fired(&f.agent, second, 1, "ping", now + 30000000000u), error,
                                 sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "held back"));
    /* What its agent has cut for it is not kept either. */
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, second, 1, "uploading", 1, 1),
                                error, sizeof error));
    expect_problem(&f, "GET", "/api/v1/captures/01a10000000000000000000000000002", NULL, 404, NULL);
    /* Another process, and the same one later, may fire. */
    ck_assert(wire_agent_report(
        &f.agent, wire_fired(&f.agent, third, 2, "ping", now - 60000000000u), error, sizeof error));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.fired"), 2);
    ck_assert_double_eq(number_at(json, "state.suppressed"), 1);
    ck_assert_str_eq(text_at(json, "state.last_capture"), third);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures/01a10000000000000000000000000001", NULL, 200);
    ck_assert_str_eq(text_at(json, "trigger.rule"), "ping");
    ck_assert_str_eq(text_at(json, "trigger.type"), "health");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(firing_counts_though_a_report_of_it_came_first)
{
    struct fixture f;
    char error[256];
    const char *id = "01a10000000000000000000000000004";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, id, 1, "capturing", 0, 0), error,
                                sizeof error));
    ck_assert(wire_agent_report(&f.agent, wire_fired(&f.agent, id, 1, "ping", clock_realtime_ns()),
                                error, sizeof error));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.fired"), 1);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures/01a10000000000000000000000000004", NULL, 200);
    ck_assert_str_eq(text_at(json, "trigger.rule"), "ping");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static bool fire(struct fixture *f, unsigned n, unsigned process, uint64_t at_ns, char error[256])
{
    char id[40];
    snprintf(id, sizeof id, "01a1000000000000000000000000%04x", n);
    return wire_agent_report(&f->agent, wire_fired(&f->agent, id, process, "ping", at_ns), error,
                             256);
}

START_TEST(limits_hold_firings_back_and_say_which)
{
    struct fixture f;
    char error[256];
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 4, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{"
                           "\"firings\":2,\"window_ms\":600000,\"captures_per_hour\":3}}",
                           201));
    ck_assert(fire(&f, 0x51, 1, now - 700000000000u, error));
    ck_assert(fire(&f, 0x52, 2, now, error));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.status"), "armed");
    ck_assert_double_eq(number_at(json, "state.limits.firings.used"), 1);
    ck_assert_double_eq(number_at(json, "state.limits.captures_per_hour.used"), 2);
    cJSON_Delete(json);
    ck_assert(fire(&f, 0x53, 3, now - 100000000000u, error));
    fixture_restart(&f);
    f.agent.epoch++;
    cJSON_Delete(wire_agent_hello(&f.agent));
    ck_assert(!fire(&f, 0x54, 4, now - 50000000000u, error));
    ck_assert_ptr_nonnull(strstr(error, "firings: 2 of 2 are used"));
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.status"), "throttled");
    ck_assert_ptr_nonnull(strstr(text_at(json, "state.last_not_fired_why"), "firings: 2 of 2"));
    ck_assert_double_eq(number_at(json, "state.suppressed"), 1);
    ck_assert_double_gt(number_at(json, "state.limits.firings.next_free_ms"), 0);
    cJSON_Delete(json);
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{"
                           "\"captures_per_hour\":3}}",
                           200));
    ck_assert(!fire(&f, 0x55, 4, now - 50000000000u, error));
    ck_assert_ptr_nonnull(strstr(error, "captures_per_hour: 3 of 3"));
    fixture_stop(&f);
}
END_TEST

START_TEST(stored_bytes_hold_firings_back)
{
    struct fixture f;
    char error[256];
    const char *id = "01a10000000000000000000000000056";
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{"
                           "\"bytes_per_hour\":2000}}",
                           201));
    ck_assert(fire(&f, 0x56, 1, now - 100000000000u, error));
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, id, 1, "uploading", 1, 1), error,
                                sizeof error));
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.status"), "armed");
    ck_assert_double_eq(number_at(json, "state.limits.bytes_per_hour.used"), 0);
    cJSON_Delete(json);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 3000), WIRE_STORED);
    wait_for_text(&f, PATH, "state.status", "throttled");
    fixture_restart(&f);
    f.agent.epoch++;
    cJSON_Delete(wire_agent_hello(&f.agent));
    ck_assert(!fire(&f, 0x57, 2, now, error));
    ck_assert_msg(strncmp(error, "held back: rule ping: bytes_per_hour: ", 38) == 0, "%s", error);
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.reason"), "the limit bytes_per_hour is used up");
    ck_assert_double_gt(number_at(json, "state.limits.bytes_per_hour.next_free_ms"), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(captures_of_agents_are_kept_as_the_rule_says)
{
    struct fixture f;
    char error[256];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"retain\":{\"ttl_ms\":5000,"
                           "\"pin\":true},\"capture\":{\"deadline_ms\":100}}",
                           201));
    ck_assert(fire(&f, 0x58, 1, clock_realtime_ns(), error));
    wait_for_text(&f, "/api/v1/captures/01a10000000000000000000000000058", "status", "incomplete");
    cJSON *json =
        call_json(&f, "GET", "/api/v1/captures/01a10000000000000000000000000058", NULL, 200);
    ck_assert(cJSON_IsTrue(at_path(json, "pin")));
    ck_assert_double_eq(number_at(json, "ttl_ms"), 5000);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(overlapping_firings_become_one_incident)
{
    struct fixture f;
    char error[256];
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{"
                           "\"captures_per_hour\":1}}",
                           201));
    ck_assert(fire(&f, 0x71, 1, now, error));
    ck_assert(fire(&f, 0x72, 2, now + 1000000000u, error)); /* the limit is of captures */
    ck_assert(!fire(&f, 0x73, 3, now + 20000000000u, error));
    static const char first[] = "01a10000000000000000000000000071";
    for (int i = 0; i < 2; i++) {
        cJSON *json =
            call_json(&f, "GET", "/api/v1/captures/01a10000000000000000000000000072", NULL, 200);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 1);
        ck_assert_str_eq(text_at(json, "incident"), first);
        cJSON_Delete(json);
        json = call_json(&f, "GET", "/api/v1/captures?incident=01a10000000000000000000000000071",
                         NULL, 200);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
        cJSON_Delete(json);
        json = call_json(&f, "GET", PATH "/history", NULL, 200);
        ck_assert_str_eq(text_at(json, "items.1.what"), "joined");
        ck_assert_str_eq(text_at(json, "items.1.capture"), "01a10000000000000000000000000072");
        ck_assert_str_eq(text_at(json, "items.1.incident"), first);
        ck_assert_str_eq(text_at(json, "items.2.what"), "fired");
        ck_assert_str_eq(text_at(json, "items.2.incident"), first);
        cJSON_Delete(json);
        if (i == 0)
            fixture_restart(&f);
    }
    /* Limits count incidents, also after a restart. */
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 3, "shop");
    ck_assert(fire(&f, 0x74, 3, now + 2000000000u, error));
    ck_assert(!fire(&f, 0x75, 1, now + 70000000000u, error));
    ck_assert_ptr_nonnull(strstr(error, "captures_per_hour: 1 of 1"));
    fixture_stop(&f);
}
END_TEST

START_TEST(watchers_hear_of_firings)
{
    struct fixture f;
    char error[256], text[4096] = "";
    size_t n = 0;
    struct events_query query = {.types = "rule.*"};
    struct events_watch *watch = NULL;
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    ck_assert_int_eq(events_watch_new(f.collector.events, &query, &watch), SKEIN_OK);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 200));
    ck_assert(fire(&f, 0x91, 1, now, error));
    ck_assert(!fire(&f, 0x92, 1, now + 1, error));
    ck_assert(fire(&f, 0x93, 2, now + 60000000000u, error));
    for (int64_t got; (got = events_watch_read(watch, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    events_watch_free(watch);
    ck_assert_ptr_nonnull(strstr(text, "event: rule.changed"));
    ck_assert_ptr_nonnull(strstr(text, "\"change\":\"replaced\""));
    ck_assert_ptr_nonnull(strstr(text, "event: rule.fired"));
    ck_assert_ptr_nonnull(strstr(text, "event: rule.suppressed"));
    ck_assert_ptr_nonnull(strstr(text, "cooldown: the rule fired"));
    ck_assert_ptr_nonnull(strstr(text, "01a10000000000000000000000000091"));
    ck_assert_ptr_nonnull(strstr(text, "01a10000000000000000000000000093"));
    fixture_stop(&f);
}
END_TEST

START_TEST(neighbours_get_the_same_window)
{
    struct fixture f;
    char error[256], fired[ID_TEXT_BYTES];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"pid=101\",\"when\":{\"crash\":{}},\"capture\":{"
                           "\"include\":\"service=shop\",\"same_host\":true}}",
                           201));
    ck_assert(fire(&f, 0x81, 1, clock_realtime_ns(), error));
    cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    ck_assert_str_eq(text_at(command, "capture"), "01a10000000000000000000000000081");
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "processes")), 2);
    id_text(process_of(1).bytes, fired);
    ck_assert_str_ne(text_at(command, "processes.0"), fired);
    ck_assert_str_ne(text_at(command, "processes.1"), fired);
    cJSON_Delete(command);
    fixture_stop(&f);
}
END_TEST

/* What the rule says by name holds for its neighbours, too; its defaults are of what fires. */
START_TEST(neighbours_give_the_evidence_that_the_rule_names)
{
    static const struct {
        const char *members;
        bool threads;
        int kinds; /* -1: the usual */
    } rows[] = {{"", false, -1},
                {",\"threads\":true", true, -1},
                {",\"evidence\":[\"vitals\",\"files\"]", false, 2}};
    struct fixture f;
    char error[256], rule[256];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_response response;
        (void)snprintf(rule, sizeof rule,
                       "{\"selector\":\"pid=101\",\"when\":{\"latency\":{\"region\":\"q\","
                       "\"over_us\":1}},\"limits\":{\"cooldown_ms\":0},"
                       "\"capture\":{\"pre_ms\":1,\"include\":\"service=shop\"%s}}",
                       rows[i].members);
        call(&f, "PUT", PATH, rule, NULL, &response);
        ck_assert_int_eq(response.status / 100, 2);
        http_response_fini(&response);
        /* apart, so that they are incidents of their own */
        uint64_t at_ns = clock_realtime_ns() - (3 - i) * UINT64_C(1000000000);
        ck_assert(fire(&f, 0x91 + i, 1, at_ns, error));
        cJSON *command = wire_agent_command(&f.agent, "capture", (int)support_deadline_ms());
        ck_assert_ptr_nonnull(command);
        wire_agent_ack(&f.agent, command, NULL);
        ck_assert_int_eq(cJSON_IsTrue(at_path(command, "threads")), rows[i].threads);
        const cJSON *kinds = at_path(command, "evidence");
        ck_assert_int_eq(kinds != NULL ? cJSON_GetArraySize(kinds) : -1, rows[i].kinds);
        cJSON_Delete(command);
    }
    fixture_stop(&f);
}
END_TEST

/* At each full second, of which several may pass on a busy machine before the test asks. */
START_TEST(schedule_fires_by_itself)
{
    struct fixture f;
    uint64_t began_s = clock_realtime_ns() / NS_PER_S;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"schedule\":{\"every_ms\":1000}}}", 201));
    wait_for_text(&f, PATH, "state.last_fired_why", "schedule");
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    uint64_t passed_s = clock_realtime_ns() / NS_PER_S - began_s;
    ck_assert_double_ge(number_at(json, "state.fired"), 1);
    ck_assert_double_le(number_at(json, "state.fired"), (double)passed_s);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(history_tells_what_a_rule_did_and_why)
{
    struct fixture f;
    char error[256], path[128];
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    expect_problem(&f, "GET", PATH "/history", NULL, 404, NULL);
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    ck_assert(wire_agent_report(&f.agent, health_report(&f, "failing", 0), error, sizeof error));
    ck_assert(fire(&f, 0x61, 1, now, error));
    ck_assert(!fire(&f, 0x62, 1, now + 1, error));
    fixture_restart(&f);
    cJSON *json = call_json(&f, "GET", PATH "/history", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.what"), "suppressed");
    ck_assert_ptr_nonnull(strstr(text_at(json, "items.0.why"), "cooldown"));
    ck_assert_str_eq(text_at(json, "items.1.what"), "fired");
    ck_assert_str_eq(text_at(json, "items.1.capture"), "01a10000000000000000000000000061");
    ck_assert_str_eq(text_at(json, "items.2.what"), "failing");
    ck_assert_str_eq(text_at(json, "items.2.why"), "no PONG");
    ck_assert_ptr_null(at_path(json, "items.3"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", PATH "/history?limit=2", NULL, 200);
    snprintf(path, sizeof path, PATH "/history?limit=2&cursor=%s", text_at(json, "next_cursor"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.what"), "failing");
    ck_assert_ptr_null(at_path(json, "items.1"));
    ck_assert_ptr_null(at_path(json, "next_cursor"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", PATH "/history?to=2001-01-01T00:00:00Z", NULL, 200);
    ck_assert_ptr_null(at_path(json, "items.0"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_ptr_nonnull(strstr(text_at(json, "state.last_not_fired_why"), "cooldown"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(dry_run_tells_who_matches)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH, RULE, 201));
    cJSON *json = call_json(&f, "GET", PATH "/matches", NULL, 200);
    ck_assert_double_eq(number_at(json, "matches"), 2);
    ck_assert_str_eq(text_at(json, "items.0.service"), "shop");
    cJSON_Delete(json);
    json = call_json(&f, "POST", "/api/v1/selectors:match", "{\"selector\":\"pid=101\"}", 200);
    ck_assert_double_eq(number_at(json, "matches"), 1);
    cJSON_Delete(json);
    expect_problem(&f, "POST", "/api/v1/selectors:match", "{\"selector\":\"a in\"}", 422,
                   "selector");
    expect_problem(&f, "POST", "/api/v1/selectors:match", "{}", 422, "selector");
    expect_problem(&f, "GET", "/api/v1/rules/nope/matches", NULL, 404, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(set_that_fits_no_message_is_refused)
{
    struct fixture f;
    static char rule[9000];
    char path[64], word[4001], error[256];
    bool refused = false;
    uint64_t now = clock_realtime_ns();
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{"
                           "\"captures_per_hour\":1}}",
                           201));
    ck_assert(fire(&f, 0x51, 1, now - 200000000000u, error));
    memset(word, 'x', 4000);
    word[4000] = '\0';
    snprintf(rule, sizeof rule,
             "{\"selector\":\"\",\"when\":{\"health\":{\"exec\":{\"command\":[\"%s\",\"%s\"]}}}}",
             word, word);
    for (int i = 0; i < 10 && !refused; i++) {
        struct http_response response;
        snprintf(path, sizeof path, "/api/v1/rules/big-%d", i);
        call(&f, "PUT", path, rule, NULL, &response);
        refused = response.status == 422;
        ck_assert(refused || response.status == 201);
        http_response_fini(&response);
    }
    ck_assert(refused);
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    /* One that is there stays as it was, with what it has done. */
    expect_problem(&f, "PUT", PATH, rule, 422, NULL);
    cJSON *json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_ptr_nonnull(at_path(json, "when.crash"));
    ck_assert_double_eq(number_at(json, "state.limits.captures_per_hour.used"), 1);
    cJSON_Delete(json);
    ck_assert(!fire(&f, 0x52, 2, now, error));
    ck_assert_ptr_nonnull(strstr(error, "captures_per_hour: 1 of 1"));
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "rules", rule_is_created_replaced_listed_and_deleted,
        a_change_of_another_version_is_refused, refused_change_says_who_came_before,
        members_are_changed_alone, rules_are_pushed_until_every_agent_has_them,
        agents_are_pushed_what_has_changed_where_it_concerns_them,
        an_agent_that_takes_no_change_gets_the_whole_set,
        agents_that_do_not_understand_a_rule_are_shown, health_of_each_process_is_shown,
        cooldown_holds_across_restarts_of_agent_and_collector,
        firing_counts_though_a_report_of_it_came_first, limits_hold_firings_back_and_say_which,
        history_tells_what_a_rule_did_and_why, dry_run_tells_who_matches,
        stored_bytes_hold_firings_back, captures_of_agents_are_kept_as_the_rule_says,
        overlapping_firings_become_one_incident, neighbours_get_the_same_window,
        neighbours_give_the_evidence_that_the_rule_names, watchers_hear_of_firings,
        schedule_fires_by_itself, set_that_fits_no_message_is_refused, NULL));
}
