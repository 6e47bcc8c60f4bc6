/* SPDX-License-Identifier: Apache-2.0
 * What one agent may do to the collector, whatever it reports: captures that it begins by itself,
 * and losses that it passes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "metrics.h"
#include "support.h"

#define LIMIT 5

static bool fire(struct wire_agent *agent, unsigned number, uint32_t process, char error[256])
{
    char capture[40];
    snprintf(capture, sizeof capture, "0199000000000000%016x", number);
    return wire_agent_report(agent, wire_fired(agent, capture, process, "", 0), error, 256);
}

static void bounded_start(struct fixture *f)
{
    fixture_start_with(f, NULL,
                       ",\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":3000,"
                       "\"captures_per_hour\":5}");
}

START_TEST(agent_begins_so_many_captures_an_hour_and_another_as_many)
{
    struct fixture f;
    struct wire_agent other;
    char error[256] = "";
    bounded_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    uint64_t before = __atomic_load_n(&metrics.captures_refused_total, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < LIMIT; i++)
        ck_assert_msg(fire(&f.agent, i, 1, error), "%s", error);
    for (unsigned i = LIMIT; i < 4 * LIMIT; i++) {
        ck_assert(!fire(&f.agent, i, 1, error));
        ck_assert_msg(strstr(error, "agents.captures_per_hour") != NULL, "%s", error);
    }
    ck_assert(fire(&f.agent, 0, 1, error)); /* what is known is no news */
    char late[40];
    snprintf(late, sizeof late, "0199000000000000%016x", 999u);
    cJSON *report = wire_target(&f.agent, late, 1, "nothing", 0, 0);
    ck_assert(!wire_agent_report(&f.agent, report, error, sizeof error));
    wire_agent_open(&other, 8, "host-b", f.control_port, f.data_port);
    cJSON_Delete(wire_agent_hello(&other));
    wire_agent_processes(&other, 100, 1, "shop");
    ck_assert_msg(fire(&other, 5000, 100, error), "%s", error);

    cJSON *list = call_json(&f, "GET", "/api/v1/captures?limit=100", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(list, "items")), LIMIT + 1);
    cJSON_Delete(list);
    cJSON *agents = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert(number_at(agents, "items.0.own_captures.last_hour") == LIMIT);
    ck_assert(number_at(agents, "items.0.own_captures.refused") == 3 * LIMIT + 1);
    ck_assert(number_at(agents, "items.1.own_captures.refused") == 0);
    cJSON_Delete(agents);
    ck_assert_uint_eq(__atomic_load_n(&metrics.captures_refused_total, __ATOMIC_RELAXED) - before,
                      3 * LIMIT + 1);
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
    return suite_run(suite_of("agent_bounds",
                              agent_begins_so_many_captures_an_hour_and_another_as_many,
                              losses_that_cannot_be_are_marked_and_in_no_sum, NULL));
}
