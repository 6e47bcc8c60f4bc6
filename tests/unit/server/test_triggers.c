/* SPDX-License-Identifier: Apache-2.0
 * Triggers through HTTP: people's and Alertmanager's, what they capture, and why they do not. */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "collector_fixture.h"
#include "support.h"

#define PATH "/api/v1/rules/ping"

#define ALERT(status, instance)                                                                            \
    "{\"receiver\":\"skein\",\"version\":\"4\",\"groupKey\":\"{}:{x}\",\"status\":\"" status               \
    "\",\"truncatedAlerts\":0,\"commonLabels\":{\"alertname\":\"Slow\"},\"alerts\":[{\"status\":\"" status \
    "\",\"labels\":{\"instance\":\"" instance "\"},\"fingerprint\":\"1a\"}]}"

START_TEST(webhook_captures_what_the_alert_names)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{\"labels\":{"
                           "\"pid\":\"instance\"}}},\"retain\":{\"pin\":true}}",
                           201));
    cJSON *json =
        call_json(&f, "POST", "/api/v1/triggers/ping", ALERT("resolved", "102:9100"), 200);
    ck_assert_str_eq(text_at(json, "result"), "held");
    cJSON_Delete(json);
    json = call_json(&f, "POST", "/api/v1/triggers/ping", ALERT("firing", "102:9100"), 202);
    char capture[ID_TEXT_BYTES], path[96];
    snprintf(capture, sizeof capture, "%s", text_at(json, "capture"));
    cJSON_Delete(json);
    fixture_restart(&f);
    json = call_json(&f, "POST", "/api/v1/triggers/ping", ALERT("firing", "102:9100"), 200);
    ck_assert_str_eq(text_at(json, "result"), "repeated");
    ck_assert_str_eq(text_at(json, "capture"), capture);
    cJSON_Delete(json);
    snprintf(path, sizeof path, "/api/v1/captures/%s", capture);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 1);
    ck_assert_double_eq(number_at(json, "targets.0.pid"), 102);
    ck_assert_str_eq(text_at(json, "trigger.type"), "webhook");
    ck_assert_str_eq(text_at(json, "trigger.rule"), "ping");
    ck_assert_str_eq(text_at(json, "trigger.reason"), "alert Slow");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(webhook_says_what_keeps_alerts_from_firing)
{
    struct fixture f;
    static const char other[] =
        "{\"version\":\"4\",\"groupKey\":\"k\",\"status\":\"firing\",\"alerts\":[{\"labels\":{}}]}";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{\"labels\":{"
                           "\"pid\":\"instance\"}}}}",
                           201));
    cJSON *json = call_json(&f, "POST", "/api/v1/triggers/ping", other, 200);
    ck_assert_str_eq(text_at(json, "why"), "an alert has no label instance");
    cJSON_Delete(json);
    json = call_json(&f, "POST", "/api/v1/triggers/ping", ALERT("firing", "a b"), 200);
    ck_assert_str_eq(text_at(json, "why"),
                     "no process can have the value of an alert's label instance");
    cJSON_Delete(json);
    json = call_json(&f, "POST", "/api/v1/triggers/ping", ALERT("firing", "999"), 200);
    ck_assert_str_eq(text_at(json, "why"), "no live process matches service=shop,pid=999");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* The first alert names one process, the last another, and all between nobody. */
static cJSON *alerts_of(struct fixture *f, const char *group, unsigned between)
{
    struct buf body = {0};
    buf_printf(&body,
               "{\"version\":\"4\",\"groupKey\":\"%s\",\"status\":\"firing\",\"alerts\":["
               "{\"labels\":{\"instance\":\"101\"}}",
               group);
    for (unsigned i = 0; i < between; i++)
        buf_printf(&body, ",{\"labels\":{\"instance\":\"%u\"}}", 1000 + i);
    buf_printf(&body, ",{\"labels\":{\"instance\":\"103\"}}]}");
    buf_put_u8(&body, 0);
    ck_assert_int_eq(body.status, SKEIN_OK);
    cJSON *json = call_json(f, "POST", "/api/v1/triggers/ping", (const char *)body.data, 202);
    buf_fini(&body);
    return json;
}

static int targets_of(struct fixture *f, const cJSON *fired)
{
    char path[96];
    snprintf(path, sizeof path, "/api/v1/captures/%s", text_at(fired, "capture"));
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "targets"));
    cJSON_Delete(json);
    return count;
}

START_TEST(alerts_beyond_the_bound_are_not_captured_and_that_is_said)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{\"labels\":{"
                           "\"pid\":\"instance\"}}}}",
                           201));
    cJSON *json = alerts_of(&f, "few", 98);
    ck_assert_int_eq(targets_of(&f, json), 2);
    ck_assert_ptr_null(at_path(json, "why"));
    cJSON_Delete(json);
    json = alerts_of(&f, "many", 9998);
    ck_assert_int_eq(targets_of(&f, json), 1);
    ck_assert_ptr_nonnull(strstr(text_at(json, "why"), "only the first 100"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(plain_trigger_says_why_nothing_fires)
{
    struct fixture f;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH,
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}}}", 201));
    cJSON *json = call_json(&f, "POST", "/api/v1/triggers/ping", "{}", 200);
    ck_assert_str_eq(text_at(json, "result"), "held");
    ck_assert_ptr_nonnull(strstr(text_at(json, "why"), "no live process matches"));
    cJSON_Delete(json);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    json = call_json(&f, "POST", "/api/v1/triggers/ping",
                     "{\"reason\":\"deploy\",\"selector\":\"pid=103\"}", 202);
    ck_assert_str_eq(text_at(json, "result"), "fired");
    cJSON_Delete(json);
    json = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_eq(text_at(json, "state.last_fired_why"), "deploy");
    ck_assert_ptr_nonnull(strstr(text_at(json, "state.last_not_fired_why"), "matches"));
    cJSON_Delete(json);
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/bare",
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}}}", 201));
    cJSON_Delete(call_json(&f, "POST", "/api/v1/triggers/bare", "{}", 202));
    json = call_json(&f, "GET", "/api/v1/rules/bare", NULL, 200);
    ck_assert_str_eq(text_at(json, "state.last_fired_why"), "webhook");
    cJSON_Delete(json);
    expect_problem(&f, "POST", "/api/v1/triggers/nope", "{}", 404, NULL);
    expect_problem(&f, "POST", "/api/v1/triggers/ping", "{\"at\":\"x\"}", 422, "at");
    expect_problem(&f, "POST", "/api/v1/triggers/ping", "{\"selector\":\"a in\"}", 422, "selector");
    expect_problem(&f, "POST", "/api/v1/triggers/ping", "{\"groupKey\":\"a\"}", 422, "version");
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("triggers", webhook_captures_what_the_alert_names,
                              webhook_says_what_keeps_alerts_from_firing,
                              alerts_beyond_the_bound_are_not_captured_and_that_is_said,
                              plain_trigger_says_why_nothing_fires, NULL));
}
