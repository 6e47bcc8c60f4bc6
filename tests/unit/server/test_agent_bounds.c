/* SPDX-License-Identifier: Apache-2.0
 * What one agent may do to the collector, whatever it reports: captures that it begins by itself,
 * and losses that it passes on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_capture.h"
#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "metrics.h"
#include "sampling.h"
#include "support.h"

#define LIMIT 16

/* As an agent of before: it does not say whose the process is. */
static bool fire(struct wire_agent *agent, unsigned number, uint32_t process, char error[256])
{
    char capture[40];
    snprintf(capture, sizeof capture, "0199000000000000%016x", number);
    return wire_agent_report(agent, wire_fired(agent, capture, process, "", 0), error, 256);
}

/* A process of the user, by this rule ("": by none). */
static bool fire_of(struct wire_agent *agent, unsigned number, uint32_t user, const char *rule,
                    char error[256])
{
    char capture[40];
    snprintf(capture, sizeof capture, "0199000000000000%016x", number);
    cJSON *report = wire_fired(agent, capture, 1, rule, 0);
    json_add_u64(report, "uid", user);
    return wire_agent_report(agent, report, error, 256);
}

static void bounded_start(struct fixture *f)
{
    fixture_start_with(f, NULL,
                       ",\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":3600000,"
                       "\"captures_per_hour\":16}");
}

START_TEST(agent_begins_so_many_captures_an_hour_and_another_as_many)
{
    struct fixture f;
    struct wire_agent other;
    char error[256] = "";
    unsigned granted = 0;
    bounded_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    uint64_t before = __atomic_load_n(&metrics.captures_refused_total, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 4 * LIMIT; i++)
        granted += fire(&f.agent, i, 1, error);
    ck_assert_msg(strstr(error, "agents.captures_per_hour") != NULL, "%s", error);
    ck_assert_uint_ge(granted, LIMIT / 2); /* one program for one cause */
    ck_assert_uint_le(granted, LIMIT - LIMIT / 8);
    ck_assert(fire(&f.agent, 0, 1, error)); /* what is known is no news */
    char late[40];
    snprintf(late, sizeof late, "0199000000000000%016x", 999u);
    cJSON *report = wire_target(&f.agent, late, 1, "nothing", 0, 0);
    bool taken = wire_agent_report(&f.agent, report, error, sizeof error);
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&other, 100, 1, "shop");
    ck_assert_msg(fire(&other, 5000, 100, error), "%s", error);

    cJSON *list = call_json(&f, "GET", "/api/v1/captures?limit=100", NULL, 200);
    ck_assert_uint_eq((unsigned)cJSON_GetArraySize(at_path(list, "items")), granted + taken + 1);
    cJSON_Delete(list);
    cJSON *agents = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert(number_at(agents, "items.0.own_captures.last_hour") == granted + taken);
    ck_assert(number_at(agents, "items.0.own_captures.refused") == 4 * LIMIT - granted + !taken);
    ck_assert(number_at(agents, "items.1.own_captures.refused") == 0);
    cJSON_Delete(agents);
    ck_assert_uint_eq(__atomic_load_n(&metrics.captures_refused_total, __ATOMIC_RELAXED) - before,
                      4 * LIMIT - granted + !taken);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

/* The agent of an older version refuses nothing by itself; the collector does, by the same shares. */
START_TEST(a_users_firings_leave_others_theirs_and_the_rule_says_whose_share_it_was)
{
    struct fixture f;
    char error[256] = "";
    unsigned granted = 0;
    bounded_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(
        &f, "PUT", "/api/v1/rules/asked",
        "{\"selector\":\"service=shop\",\"when\":{\"health\":{\"tcp\":{\"address\":\"127.0.0.1:1\"}}},"
        "\"limits\":{\"cooldown_ms\":0}}",
        201));
    for (unsigned i = 0; i < 4 * LIMIT; i++)
        granted += fire_of(&f.agent, i, 65534, i % 2 != 0 ? "asked" : "", error);
    ck_assert_uint_le(granted, LIMIT - LIMIT / 8);
    ck_assert_uint_ge(granted, LIMIT / 2);
    cJSON *rule = call_json(&f, "GET", "/api/v1/rules/asked", NULL, 200);
    const char *why = text_at(rule, "state.last_not_fired_why");
    ck_assert_msg(strstr(why, "agents.captures_per_hour: ") != NULL, "%s", why);
    ck_assert_ptr_nonnull(strstr(why, "is used up on host-a"));
    ck_assert(number_at(rule, "state.suppressed") > 0);
    cJSON_Delete(rule);
    ck_assert_msg(fire_of(&f.agent, 1000, 0, "asked", error), "%s", error);
    ck_assert_msg(fire_of(&f.agent, 1001, 33, "", error), "%s", error);
    fixture_stop(&f);
}
END_TEST

#define SAMPLED      "/api/v1/policies/all"
#define SAMPLE_EVERY "{\"selector\":\"service=shop\",\"every_ms\":60000,\"record_ms\":500}"

static struct capture_id sample_of(uint64_t begin_ns)
{
    const struct sampling_plan plan = {.every_ms = 60000, .record_ms = 500};
    return sampling_capture(&plan, "all", 1, begin_ns);
}

/* A process of the user has its part in the sample. */
static bool join(struct wire_agent *agent, const struct capture_id *sample, uint32_t process,
                 uint32_t user, char error[256])
{
    char id[ID_TEXT_BYTES];
    id_text(sample->bytes, id);
    cJSON *fired = wire_fired(agent, id, process, NULL, clock_realtime_ns());
    cJSON_ReplaceItemInObject(fired, "trigger", cJSON_CreateString("policy"));
    cJSON_AddStringToObject(fired, "policy", "all");
    cJSON_ReplaceItemInObject(fired, "pre_ms", cJSON_CreateNumber(0));
    cJSON_ReplaceItemInObject(fired, "post_ms", cJSON_CreateNumber(500));
    json_add_u64(fired, "uid", user);
    return wire_agent_report(agent, fired, error, 256);
}

/* All that the agent can begin is begun, by the user and then by others until nothing is left. */
static void use_up(struct wire_agent *agent, uint32_t user, uint32_t users)
{
    for (uint32_t i = 0; i < users * 4 * LIMIT; i++) {
        char capture[40], program[32], error[256];
        snprintf(capture, sizeof capture, "0199000000000000%016x", i);
        snprintf(program, sizeof program, "/bin/p%" PRIu32, i);
        cJSON *report = wire_fired(agent, capture, 2, "", 0);
        json_add_u64(report, "uid", user + i % users);
        cJSON_AddStringToObject(report, "exe", program);
        (void)wire_agent_report(agent, report, error, sizeof error);
    }
}

static void expect_targets(const struct fixture *f, const struct capture_id *capture, int targets)
{
    char id[ID_TEXT_BYTES], path[96];
    id_text(capture->bytes, id);
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "kind"), "sample");
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), targets);
    cJSON_Delete(json);
}

/* A sample is one capture of all hosts and users. Whose share is used up has no part in it; it is
 * there for the others, also where his part would have been the first. */
START_TEST(a_sample_is_not_lost_to_who_has_had_his_share)
{
    struct fixture f;
    struct wire_agent other;
    char error[256] = "";
    bounded_start(&f);
    cJSON_Delete(call_json(&f, "PUT", SAMPLED, SAMPLE_EVERY, 201));
    wire_agent_processes(&f.agent, 1, 4, "shop");
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&other, 100, 2, "shop");
    const uint64_t now_ns = clock_realtime_ns();
    const struct capture_id running = sample_of(now_ns), next = sample_of(now_ns + 60000000000u);
    ck_assert_msg(join(&other, &running, 100, 0, error), "%s", error);
    ck_assert_msg(join(&f.agent, &running, 1, 0, error), "%s", error);

    use_up(&f.agent, 1001, 1);
    uint32_t joined = 0;
    while (joined < 20 * LIMIT && join(&f.agent, &running, 300 + joined, 1001, error))
        joined++;
    ck_assert_uint_lt(joined, 20 * LIMIT); /* there is an end of it */
    expect_targets(&f, &running, 2 + (int)joined);
    ck_assert_msg(join(&other, &running, 101, 0, error), "%s", error);
    expect_targets(&f, &running, 3 + (int)joined);

    ck_assert(!join(&f.agent, &next, 3, 1001, error));
    ck_assert_msg(join(&f.agent, &next, 1, 0, error), "%s", error);
    ck_assert_msg(join(&other, &next, 100, 0, error), "%s", error);
    expect_targets(&f, &next, 2);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

/* An agent that means harm is past its bound, and names the ids of others' samples. */
START_TEST(refusals_of_an_agent_cost_nobody_else_anything)
{
    struct fixture f;
    struct wire_agent other;
    char error[256] = "", id[ID_TEXT_BYTES];
    bounded_start(&f);
    cJSON_Delete(call_json(&f, "PUT", SAMPLED, SAMPLE_EVERY, 201));
    wire_agent_processes(&f.agent, 1, 4, "shop");
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&other, 100, 2, "shop");
    const uint64_t now_ns = clock_realtime_ns();
    const struct capture_id running = sample_of(now_ns), next = sample_of(now_ns + 60000000000u);
    ck_assert_msg(join(&other, &running, 100, 0, error), "%s", error);
    use_up(&f.agent, 1001, 40);
    const struct capture_id *samples[] = {&running, &next};
    for (size_t i = 0; i < 2; i++) {
        id_text(samples[i]->bytes, id);
        (void)wire_agent_report(&f.agent, wire_fired(&f.agent, id, 2, "", 0), error, sizeof error);
    }
    expect_targets(&f, &running, 1);
    ck_assert_msg(join(&other, &running, 101, 0, error), "%s", error);
    expect_targets(&f, &running, 2);
    ck_assert_msg(join(&other, &next, 100, 0, error), "%s", error);
    expect_targets(&f, &next, 1);

    /* What it was refused is written nowhere, and is not begun by what it says of it next. */
    const char *refused = "01990000000000000000000000009fff";
    ck_assert(
        !wire_agent_report(&f.agent, wire_fired(&f.agent, refused, 2, "", 0), error, sizeof error));
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, refused, 2, "uploading", 1, 1),
                                error, sizeof error));
    struct capture_id key;
    ck_assert_int_eq(id_parse(refused, key.bytes), SKEIN_OK);
    struct control *control = fleet_control(f.collector.fleet);
    control_lock(control);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    ck_assert(!catalog_is_deleted(f.collector.catalog, &key));
    control_unlock(control);
    expect_problem(&f, "GET", "/api/v1/captures/01990000000000000000000000009fff", NULL, 404, NULL);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

/* As root of a container, who may become each of thousands of users: none of them has had anything. */
START_TEST(many_users_leave_rules_crashes_and_root_theirs)
{
    struct fixture f;
    char error[256] = "";
    unsigned granted = 0;
    bounded_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (unsigned i = 0; i < 20 * LIMIT; i++)
        granted += fire_of(&f.agent, i, 100000 + i, "", error);
    ck_assert_uint_eq(granted, LIMIT - LIMIT / 8);
    ck_assert_msg(strstr(error, "what is not reserved of it, is used up") != NULL, "%s", error);
    ck_assert_msg(fire_of(&f.agent, 10000, 33, "asked", error), "%s", error);
    for (unsigned i = 0; i < 2 * LIMIT; i++)
        (void)fire_of(&f.agent, 20000 + i, 200000 + i, "asked", error);
    ck_assert_msg(fire_of(&f.agent, 30000, 0, "", error), "%s", error);
    fixture_stop(&f);
}
END_TEST

static void rule_put(struct fixture *f, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    cJSON_Delete(call_json(f, "PUT", path,
                           "{\"selector\":\"service=shop\",\"when\":{\"crash\":{}},"
                           "\"capture\":{\"pre_ms\":1},\"limits\":{\"cooldown_ms\":0}}",
                           201));
}

/* Of another process each, at times that are apart, so that each is an incident of its own. */
static unsigned fire_rule(struct fixture *f, const char *rule, unsigned from, unsigned tries)
{
    unsigned granted = 0;
    for (unsigned i = from; i < from + tries; i++) {
        char capture[40], error[256] = "";
        snprintf(capture, sizeof capture, "0199000000000000%016x", i);
        cJSON *report =
            wire_fired(&f->agent, capture, 1, rule, clock_realtime_ns() + i * UINT64_C(1000000000));
        json_add_u64(report, "uid", 0);
        granted += wire_agent_report(&f->agent, report, error, sizeof error);
    }
    return granted;
}

START_TEST(a_rule_that_fires_all_the_time_leaves_other_rules_room)
{
    struct fixture f;
    fixture_start_with(&f, NULL,
                       ",\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":3600000},"
                       "\"rules\":{\"captures_per_hour\":16}");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    rule_put(&f, "often");
    rule_put(&f, "seldom");
    unsigned often = fire_rule(&f, "often", 0, 40);
    ck_assert_uint_ge(often, LIMIT / 2);
    ck_assert_uint_lt(often, LIMIT);
    cJSON *rule = call_json(&f, "GET", "/api/v1/rules/often", NULL, 200);
    const char *why = text_at(rule, "state.last_not_fired_why");
    ck_assert_msg(strstr(why, "rules.captures_per_hour: the rule's share") != NULL, "%s", why);
    cJSON_Delete(rule);
    ck_assert_uint_eq(fire_rule(&f, "seldom", 1000, 1), 1);
    fixture_stop(&f);
}
END_TEST

/* A firing of the user's process, `ago_s` seconds before now. */
static bool fire_ago(struct fixture *f, unsigned number, uint32_t user, uint64_t ago_s,
                     char error[256])
{
    char capture[40];
    snprintf(capture, sizeof capture, "0199000000000000%016x", number);
    cJSON *report = wire_fired(&f->agent, capture, 1 + user % 2, "often",
                               clock_realtime_ns() - ago_s * UINT64_C(1000000000));
    json_add_u64(report, "uid", user);
    return wire_agent_report(&f->agent, report, error, 256);
}

static void limited_rule_put(struct fixture *f, const char *limits)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"selector\":\"\",\"when\":{\"crash\":{}},\"limits\":{\"cooldown_ms\":0,%s}}",
             limits);
    cJSON_Delete(call_json(f, "PUT", "/api/v1/rules/often", body, 201));
}

/* Whoever fires first has all of a rule's limit, but for one of each other user; a restart knows whose
 * they were. */
START_TEST(a_rules_own_limits_leave_each_user_a_firing)
{
    struct fixture f;
    char error[256] = "";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    limited_rule_put(&f, "\"captures_per_hour\":3");
    for (unsigned i = 0; i < 3; i++)
        ck_assert_msg(fire_ago(&f, i, 1001, 3000 - 300 * i, error), "%s", error);
    ck_assert(!fire_ago(&f, 3, 1001, 2000, error));
    ck_assert_msg(strstr(error, "captures_per_hour: 3 of 3 are used") != NULL, "%s", error);
    ck_assert_msg(fire_ago(&f, 4, 0, 1900, error), "%s", error);
    ck_assert(!fire_ago(&f, 5, 0, 1500, error));
    fixture_restart(&f);
    f.agent.epoch++;
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 2, "shop");
    ck_assert(!fire_ago(&f, 6, 0, 1400, error));
    ck_assert(!fire_ago(&f, 7, 1001, 1300, error));
    ck_assert_msg(fire_ago(&f, 8, 33, 1200, error), "%s", error);
    fixture_stop(&f);
}
END_TEST

START_TEST(bytes_of_one_users_firings_leave_other_users_theirs)
{
    struct fixture f;
    char error[256] = "";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    limited_rule_put(&f, "\"bytes_per_hour\":2000");
    ck_assert_msg(fire_ago(&f, 1, 1001, 1000, error), "%s", error);
    const char *id = "01990000000000000000000000000001";
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, id, 2, "uploading", 1, 1), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 2, 0, id, 3000), WIRE_STORED);
    wait_for_text(&f, "/api/v1/rules/often", "state.status", "throttled");
    ck_assert(!fire_ago(&f, 2, 1001, 500, error));
    ck_assert_msg(strstr(error, "bytes_per_hour") != NULL, "%s", error);
    ck_assert_msg(fire_ago(&f, 3, 0, 400, error), "%s", error);
    fixture_stop(&f);
}
END_TEST

/* What fires first tells the receiver and has neighbours captured: nobody takes that from another. */
START_TEST(a_firing_joins_no_incident_of_another_user)
{
    struct fixture f;
    char error[256] = "";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    limited_rule_put(&f, "\"captures_per_hour\":10");
    ck_assert_msg(fire_ago(&f, 1, 1001, 3, error), "%s", error);
    ck_assert_msg(fire_ago(&f, 2, 0, 2, error), "%s", error);
    ck_assert_msg(fire_ago(&f, 3, 1001, 1, error), "%s", error);
    static const char *const incident[] = {"1", "2", "1"};
    for (int i = 0; i < 3; i++) {
        char path[96], text[40];
        snprintf(path, sizeof path, "/api/v1/captures/0199000000000000000000000000000%d", i + 1);
        snprintf(text, sizeof text, "0199000000000000000000000000000%s", incident[i]);
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        ck_assert_str_eq(text_at(json, "incident"), text);
        cJSON_Delete(json);
    }
    fixture_stop(&f);
}
END_TEST

/* Whether there is room, and whoever has a process is still known. */
static bool has_forgotten(void *context)
{
    cJSON *agents = call_json(context, "GET", "/api/v1/agents?limit=100", NULL, 200), *item;
    const cJSON *items = at_path(agents, "items");
    bool has_shop = false, few = cJSON_GetArraySize(items) <= LIMIT - LIMIT / 8;
    cJSON_ArrayForEach(item, items) {
        has_shop = has_shop || strcmp(text_at(item, "host"), "host-a") == 0;
    }
    ck_assert(has_shop);
    cJSON_Delete(agents);
    return few;
}

/* Whoever says HELLO as many, and no more, has the table for as long as a lease. */
START_TEST(agents_that_said_nothing_but_hello_do_not_fill_the_table)
{
    struct fixture f;
    struct wire_agent other, crowd;
    fixture_start_with(&f, NULL, ",\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":1000,\"max\":16}");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    wire_agent_open(&crowd, 100, "crowd", f.control_port, f.data_port);
    for (uint64_t i = 1; i < LIMIT; i++) {
        crowd.id = 100 + i;
        cJSON_Delete(wire_agent_hello(&crowd));
    }
    ck_assert(wait_until(has_forgotten, &f, 0));
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_close(&crowd);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

/* Agents that are invented, online, and have processes, by one connection. */
START_TEST(agents_that_one_connection_speaks_for_do_not_fill_the_table)
{
    struct fixture f;
    struct wire_agent other, crowd;
    fixture_start_with(&f, NULL,
                       ",\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":600000,\"max\":16}");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    wire_agent_open(&crowd, 100, "crowd", f.control_port, f.data_port);
    for (uint32_t i = 1; i < LIMIT; i++) {
        crowd.id = 100 + i;
        cJSON_Delete(wire_agent_hello(&crowd));
        wire_agent_processes(&crowd, 100 + i, 1, "invented");
    }
    ck_assert(wait_until(has_forgotten, &f, 0));
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_close(&crowd);
    wire_agent_close(&other);
    fixture_stop(&f);
}
END_TEST

#define ABSURD "500000000000000"

/* The only process, as its list gives it, with this count of its ring. */
static void list_lost(struct wire_agent *agent, const char *events_lost)
{
    char error[256], uid[ID_TEXT_BYTES];
    cJSON *report = wire_report(agent, "processes"), *p = cJSON_CreateObject();
    struct process_uid of = process_of(1);
    id_text(of.bytes, uid);
    json_add_u64(report, "version", ++agent->version);
    json_add_u64(report, "page", 0);
    json_add_u64(report, "pages", 1);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(report, "processes"), p);
    cJSON_AddStringToObject(p, "process", uid);
    json_add_u64(p, "pid", 100);
    cJSON_AddStringToObject(p, "service", "shop");
    cJSON_AddStringToObject(p, "labels", "");
    cJSON_AddStringToObject(p, "exe", "/usr/bin/shop");
    cJSON_AddStringToObject(p, "state", "live");
    cJSON_AddStringToObject(p, "mode", "circular");
    json_add_u64(p, "start_ns", clock_realtime_ns());
    json_add_u64(p, "ring_bytes", 1 << 20);
    cJSON_AddStringToObject(p, "events_lost", events_lost);
    ck_assert_msg(wire_agent_report(agent, report, error, sizeof error), "%s", error);
}

static bool total_is_5(void *context)
{
    cJSON *json = call_json(context, "GET", "/api/v1/loss", NULL, 200);
    bool is = number_at(json, "total.lost.ring") == 5;
    cJSON_Delete(json);
    return is;
}

START_TEST(losses_that_cannot_be_are_marked_and_in_no_sum)
{
    struct fixture f;
    char error[256], capture[40] = "01990000000000000000000000000001", path[96];
    fixture_start(&f);
    list_lost(&f.agent, "5");
    list_lost(&f.agent, ABSURD);
    cJSON *list = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert(number_at(list, "items.0.events_lost") == 5);
    ck_assert(number_at(list, "items.0.events_lost_implausible") == 5e14);
    cJSON_Delete(list);

    ck_assert(fire(&f.agent, 1, 1, error));
    snprintf(capture, sizeof capture, "0199000000000000%016x", 1u);
    cJSON *report = wire_target(&f.agent, capture, 1, "nothing", 0, 0);
    cJSON *lost = cJSON_GetObjectItem(cJSON_GetObjectItem(report, "ledger"), "lost");
    cJSON_AddStringToObject(lost, "ring_full", ABSURD);
    ck_assert(wire_agent_report(&f.agent, report, error, sizeof error));
    snprintf(path, sizeof path, "/api/v1/captures/%s", capture);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert(number_at(json, "ledger.lost.ring") == 0);
    ck_assert(number_at(json, "ledger.implausible") == 281474976710656.0); /* counted to 2^48 */
    ck_assert(cJSON_IsFalse(at_path(json, "ledger.complete")));
    ck_assert_str_ne(text_at(json, "status"), "complete");
    ck_assert_ptr_nonnull(strstr(text_at(json, "verdict.text"), "more events than it can have"));
    ck_assert_ptr_null(strstr(text_at(json, "verdict.text"), ABSURD));
    cJSON_Delete(json);
    ck_assert(wait_until(total_is_5, &f, 0));
    ck_assert_uint_ge(__atomic_load_n(&metrics.lost_implausible_total, __ATOMIC_RELAXED), 2);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("agent_bounds", agent_begins_so_many_captures_an_hour_and_another_as_many,
                 a_users_firings_leave_others_theirs_and_the_rule_says_whose_share_it_was,
                 a_sample_is_not_lost_to_who_has_had_his_share,
                 refusals_of_an_agent_cost_nobody_else_anything,
                 many_users_leave_rules_crashes_and_root_theirs,
                 a_rule_that_fires_all_the_time_leaves_other_rules_room,
                 a_rules_own_limits_leave_each_user_a_firing,
                 bytes_of_one_users_firings_leave_other_users_theirs,
                 a_firing_joins_no_incident_of_another_user,
                 agents_that_said_nothing_but_hello_do_not_fill_the_table,
                 agents_that_one_connection_speaks_for_do_not_fill_the_table,
                 losses_that_cannot_be_are_marked_and_in_no_sum, NULL));
}
