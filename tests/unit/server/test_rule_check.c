/* SPDX-License-Identifier: Apache-2.0
 * Rules as people send them: defaults, and the path of whatever is wrong. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "rules.h"
#include "support.h"

#define EXEC "\"when\":{\"health\":{\"exec\":{\"command\":[\"true\"]}}}"

static cJSON *check(const char *name, const char *text, char error[256])
{
    cJSON *json = json_parse(text, strlen(text), error, 256);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    error[0] = '\0';
    cJSON *rule = rule_check(name, json, error, 256);
    cJSON_Delete(json);
    return rule;
}

static void expect_error(const char *text, const char *path)
{
    char error[256];
    cJSON *rule = check("r", text, error);
    ck_assert_msg(rule == NULL, "accepted: %s", text);
    ck_assert_msg(strncmp(error, path, strlen(path)) == 0 && error[strlen(path)] == ':',
                  "%s: error is \"%s\", not of %s", text, error, path);
}

START_TEST(rule_is_completed_with_defaults)
{
    char error[256];
    struct buf text = {0};
    cJSON *rule = check("r", "{\"selector\":\"a=b\"," EXEC "}", error);
    ck_assert_msg(rule != NULL, "%s", error);
    json_print(rule, &text);
    buf_put_u8(&text, 0);
    ck_assert_str_eq(
        (char *)text.data,
        "{\"name\":\"r\",\"description\":\"\",\"selector\":\"a=b\",\"enabled\":true,"
        "\"when\":{\"health\":{\"per\":\"service\",\"every_ms\":1000,\"timeout_ms\":500,\"failures\":1,"
        "\"exec\":{\"command\":[\"true\"]}}},"
        "\"capture\":{\"pre_ms\":10000,\"post_ms\":0,\"same_host\":false,"
        "\"deadline_ms\":30000},"
        "\"limits\":{\"cooldown_ms\":60000}}");
    buf_fini(&text);
    cJSON_Delete(rule);
}
END_TEST

/* What nobody says is not written in: the default is another for each condition. */
START_TEST(evidence_is_kept_as_it_is_said)
{
    static const struct {
        const char *given, *kept;
    } rows[] = {{"\"threads\":false", "\"threads\":false"},
                {"\"threads\":true,\"pre_ms\":1", "\"threads\":true"},
                {"\"evidence\":[]", "\"evidence\":[]"},
                {"\"evidence\":[\"vitals\"],\"threads\":true",
                 "\"threads\":true,\"evidence\":[\"vitals\"]"}};
    char error[256], text[256], kept[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf out = {0};
        (void)snprintf(text, sizeof text, "{\"selector\":\"\",\"capture\":{%s}," EXEC "}",
                       rows[i].given);
        (void)snprintf(kept, sizeof kept, ",\"deadline_ms\":30000,%s}", rows[i].kept);
        cJSON *rule = check("r", text, error);
        ck_assert_msg(rule != NULL, "%s", error);
        json_print(rule, &out);
        buf_put_u8(&out, 0);
        ck_assert_msg(strstr((char *)out.data, kept) != NULL, "%s: %s", text, (char *)out.data);
        buf_fini(&out);
        cJSON_Delete(rule);
    }
    expect_error("{\"selector\":\"\",\"capture\":{\"evidence\":[\"all\"]}," EXEC "}",
                 "capture.evidence");
    expect_error("{\"selector\":\"\",\"capture\":{\"threads\":1}," EXEC "}", "capture.threads");
    expect_error(
        "{\"selector\":\"\",\"capture\":{\"threads\":false,\"evidence\":[\"threads\"]}," EXEC "}",
        "capture.threads");
}
END_TEST

START_TEST(answer_can_be_sent_back)
{
    char error[256];
    cJSON *rule =
        check("r", "{\"name\":\"r\",\"selector\":\"\",\"state\":{\"fired\":3}," EXEC "}", error);
    ck_assert_msg(rule != NULL, "%s", error);
    ck_assert_ptr_null(cJSON_GetObjectItem(rule, "state"));
    cJSON_Delete(rule);
}
END_TEST

START_TEST(wrong_key_is_named_by_its_path)
{
    expect_error("{" EXEC "}", "selector");
    expect_error("{\"selector\":\"a in (\"," EXEC "}", "selector");
    expect_error("{\"selector\":\"\"}", "when");
    expect_error("{\"selector\":\"\",\"when\":{}}", "when");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{}}}", "when.health");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"tcp\":{\"address\":\"a:1\"},"
                 "\"unix\":{\"path\":\"/a\"}}}}",
                 "when.health");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"exec\":{\"command\":[]}}}}",
                 "when.health.exec.command");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"exec\":{\"command\":[1]}}}}",
                 "when.health.exec.command");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"http\":{\"url\":\"ftp://a\"}}}}",
                 "when.health.http.url");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"tcp\":{\"address\":\"nowhere\"}}}}",
                 "when.health.tcp.address");
    expect_error("{\"selector\":\"\",\"when\":{\"health\":{\"unix\":{\"path\":\"a\"}}}}",
                 "when.health.unix.path");
    expect_error("{\"selector\":\"\",\"limits\":{\"cooldown_ms\":-1}," EXEC "}",
                 "limits.cooldown_ms");
    expect_error("{\"selector\":\"\",\"capture\":{\"include\":\"a in\"}," EXEC "}",
                 "capture.include");
    expect_error("{\"selector\":\"\",\"capture\":{\"pre_ms\":0}," EXEC "}", "capture.pre_ms");
    expect_error("{\"selector\":\"\",\"retain\":{\"ttl_ms\":1}," EXEC "}", "retain.ttl_ms");
    expect_error("{\"selector\":\"\",\"limits\":{\"window_ms\":5}," EXEC "}", "limits.window_ms");
    expect_error("{\"selector\":\"\",\"limits\":{\"firings\":0}," EXEC "}", "limits.firings");
    expect_error("{\"selector\":\"\",\"capture\":{\"pre\":1}," EXEC "}", "capture.pre");
    expect_error("{\"selector\":\"\",\"enabled\":1," EXEC "}", "enabled");
    expect_error("{\"selector\":\"\",\"limits\":{\"bytes_per_hour\":0}," EXEC "}",
                 "limits.bytes_per_hour");
    expect_error("{\"selector\":\"\",\"nmae\":1," EXEC "}", "nmae");
    expect_error("{\"selector\":\"\",\"name\":\"other\"," EXEC "}", "name");
}
END_TEST

/* What `when` becomes, without white space. */
static void expect_when(const char *when, const char *full)
{
    char error[256], json[1024];
    struct buf text = {0};
    snprintf(json, sizeof json, "{\"selector\":\"\",\"when\":%s}", when);
    cJSON *rule = check("r", json, error);
    ck_assert_msg(rule != NULL, "%s: %s", when, error);
    json_print(cJSON_GetObjectItem(rule, "when"), &text);
    buf_put_u8(&text, 0);
    ck_assert_str_eq((char *)text.data, full);
    buf_fini(&text);
    cJSON_Delete(rule);
}

START_TEST(each_condition_is_completed)
{
    expect_when(
        "{\"health\":{\"heartbeat\":{}}}",
        "{\"health\":{\"per\":\"process\",\"every_ms\":1000,\"timeout_ms\":500,\"failures\":1,"
        "\"heartbeat\":{\"silent_ms\":10000}}}");
    expect_when("{\"latency\":{\"region\":\"pay\",\"over_us\":5000}}",
                "{\"latency\":{\"region\":\"pay\",\"over_us\":5000,\"count\":1,"
                "\"window_ms\":60000}}");
    expect_when("{\"log\":{\"match\":\"^a+[b]{2}$\"}}",
                "{\"log\":{\"level\":\"warn\",\"match\":\"^a+[b]{2}$\",\"count\":1,"
                "\"window_ms\":60000}}");
    expect_when("{\"counter\":{\"name\":\"queue\",\"below\":-0.5,\"count\":3}}",
                "{\"counter\":{\"name\":\"queue\",\"below\":-0.5,\"count\":3,"
                "\"window_ms\":60000}}");
    expect_when("{\"cpu\":{\"above_percent\":250}}",
                "{\"cpu\":{\"of\":\"process\",\"above_percent\":250,\"for_ms\":10000}}");
    expect_when("{\"memory\":{\"of\":\"host\",\"above_percent\":95,\"for_ms\":0}}",
                "{\"memory\":{\"of\":\"host\",\"above_percent\":95,\"for_ms\":0}}");
    expect_when("{\"pressure\":{\"resource\":\"io\",\"above_percent\":10}}",
                "{\"pressure\":{\"of\":\"host\",\"resource\":\"io\",\"kind\":\"some\","
                "\"above_percent\":10,\"for_ms\":10000}}");
    expect_when("{\"crash\":{}}", "{\"crash\":{\"exit\":true}}");
    expect_when("{\"application\":{\"match\":\"oom|slow\"}}",
                "{\"application\":{\"match\":\"oom|slow\"}}");
}
END_TEST

START_TEST(times_and_sizes_may_have_units)
{
    char error[256];
    cJSON *rule = check("r",
                        "{\"selector\":\"\",\"when\":{\"latency\":{\"region\":\"a\",\"over_us\":"
                        "\"20ms\",\"window_ms\":\"5m\"}},\"capture\":{\"pre_ms\":\"10s\"},"
                        "\"limits\":{\"bytes_per_hour\":\"1GiB\"},\"retain\":{\"ttl_ms\":\"7d\"}}",
                        error);
    ck_assert_msg(rule != NULL, "%s", error);
    struct buf text = {0};
    json_print(rule, &text);
    buf_put_u8(&text, 0);
    static const char *const full[] = {"\"over_us\":20000,", "\"window_ms\":300000}",
                                       "\"pre_ms\":10000,", "\"bytes_per_hour\":1073741824}",
                                       "\"ttl_ms\":604800000,"};
    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++)
        ck_assert_msg(strstr((char *)text.data, full[i]) != NULL, "%s in %s", full[i], text.data);
    buf_fini(&text);
    cJSON_Delete(rule);
    expect_error("{\"selector\":\"\",\"capture\":{\"pre_ms\":\"1\"}," EXEC "}", "capture.pre_ms");
}
END_TEST

START_TEST(wrong_condition_is_named_by_its_path)
{
    static const char *const wrong[][2] = {
        {"{\"crash\":{},\"application\":{}}", "when"},
        {"{\"weather\":{}}", "when.weather"},
        {"{\"crash\":1}", "when.crash"},
        {"{\"schedule\":{}}", "when.schedule.every_ms"},
        {"{\"schedule\":{\"every_ms\":1000,\"offset_ms\":1000}}", "when.schedule.offset_ms"},
        {"{\"webhook\":{\"labels\":{\"a b\":\"c\"}}}", "when.webhook.labels"},
        {"{\"webhook\":{\"labels\":{\"a\":1}}}", "when.webhook.labels"},
        {"{\"crash\":{\"a\":1}}", "when.crash.a"},
        {"{\"latency\":{\"over_us\":1}}", "when.latency.region"},
        {"{\"latency\":{\"region\":\"\",\"over_us\":1}}", "when.latency.region"},
        {"{\"latency\":{\"region\":\"a\"}}", "when.latency.over_us"},
        {"{\"log\":{\"level\":\"loud\"}}", "when.log.level"},
        {"{\"log\":{\"match\":\"(\"}}", "when.log.match"},
        {"{\"log\":{\"match\":\"((((((((((a+)+)+)+)+)+)+)+)+)+)+\"}}", "when.log.match"},
        {"{\"log\":{\"match\":\"(a{99}){99}\"}}", "when.log.match"},
        {"{\"counter\":{\"name\":\"q\"}}", "when.counter"},
        {"{\"counter\":{\"name\":\"q\",\"above\":1,\"below\":1}}", "when.counter"},
        {"{\"counter\":{\"name\":\"q\",\"above\":\"1\"}}", "when.counter.above"},
        {"{\"cpu\":{}}", "when.cpu.above_percent"},
        {"{\"cpu\":{\"of\":\"cat\",\"above_percent\":5}}", "when.cpu.of"},
        {"{\"memory\":{}}", "when.memory"},
        {"{\"memory\":{\"above_percent\":101}}", "when.memory.above_percent"},
        {"{\"pressure\":{\"above_percent\":5}}", "when.pressure.resource"},
        {"{\"pressure\":{\"resource\":\"io\",\"above_percent\":0}}", "when.pressure.above_percent"},
        {"{\"health\":{\"heartbeat\":{\"silent_ms\":1}}}", "when.health.heartbeat.silent_ms"},
        {"{\"health\":{\"per\":\"service\",\"heartbeat\":{}}}", "when.health.per"},
        {"{\"health\":{\"per\":\"host\",\"tcp\":{\"address\":\"a:1\"}}}", "when.health.per"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char json[512];
        snprintf(json, sizeof json, "{\"selector\":\"\",\"when\":%s}", wrong[i][0]);
        expect_error(json, wrong[i][1]);
    }
}
END_TEST

START_TEST(name_is_short_and_plain)
{
    ck_assert(rule_name_valid("redis-ping.2"));
    ck_assert(!rule_name_valid(""));
    ck_assert(!rule_name_valid("-a"));
    ck_assert(!rule_name_valid("A"));
    ck_assert(!rule_name_valid("a b"));
    ck_assert(!rule_name_valid("../a"));
    ck_assert(!rule_name_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
END_TEST

#define NOTIFY(webhook) "{\"selector\":\"\",\"notify\":{\"webhook\":{" webhook "}}," EXEC "}"
#define URL             "\"url\":\"http://a\","

START_TEST(receiver_is_of_http_and_sets_headers_of_its_own)
{
    static const char *const urls[] = {
        "",         "a",          "ftp://a",         "file:///etc/passwd", "http://",
        "http:///", "http://a b", "http://a\\nX: y", "http://u:p@a/",      "https://u@a"};
    char text[256], error[256];
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        snprintf(text, sizeof text, NOTIFY("\"url\":\"%s\""), urls[i]);
        expect_error(text, "notify.webhook.url");
    }
    expect_error("{\"selector\":\"\",\"notify\":{}," EXEC "}", "notify.webhook");
    expect_error("{\"selector\":\"\",\"notify\":{\"mail\":1}," EXEC "}", "notify.mail");
    expect_error(NOTIFY(URL "\"body\":1"), "notify.webhook.body");
    expect_error(NOTIFY(URL "\"headers\":{\"a b\":\"c\"}"), "notify.webhook.headers");
    expect_error(NOTIFY(URL "\"headers\":{\"Host\":\"c\"}"), "notify.webhook.headers");
    expect_error(NOTIFY(URL "\"headers\":{\"skein-notice\":\"c\"}"), "notify.webhook.headers");
    expect_error(NOTIFY(URL "\"headers\":{\"A\":\"c\\r\\nB: d\"}"), "notify.webhook.headers");
    expect_error(NOTIFY(URL "\"headers\":{\"A\":1}"), "notify.webhook.headers");
    expect_error(NOTIFY(URL "\"headers\":{\"A\":\"1\",\"a\":\"2\"}"), "notify.webhook.headers");
    cJSON *rule =
        check("r", NOTIFY("\"url\":\"https://a:1/b?c=d@e\",\"headers\":{\"A-b\":\"c d\"}"), error);
    ck_assert_msg(rule != NULL, "%s", error);
    cJSON_Delete(rule);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "rule_check", rule_is_completed_with_defaults, evidence_is_kept_as_it_is_said,
        answer_can_be_sent_back, receiver_is_of_http_and_sets_headers_of_its_own,
        wrong_key_is_named_by_its_path, each_condition_is_completed, times_and_sizes_may_have_units,
        wrong_condition_is_named_by_its_path, name_is_short_and_plain, NULL));
}
