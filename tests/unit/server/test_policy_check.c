/* SPDX-License-Identifier: Apache-2.0
 * Sampling policies as people send them: defaults, and the path of whatever is wrong. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "policies.h"
#include "support.h"

static cJSON *check(const char *text, char error[256])
{
    cJSON *json = json_parse(text, strlen(text), error, 256);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    error[0] = '\0';
    cJSON *policy = policy_check("p", json, error, 256);
    cJSON_Delete(json);
    return policy;
}

static void expect_text(const char *text, const char *full)
{
    char error[256];
    struct buf out = {0};
    cJSON *policy = check(text, error);
    ck_assert_msg(policy != NULL, "%s", error);
    json_print(policy, &out);
    buf_put_u8(&out, 0);
    ck_assert_str_eq((char *)out.data, full);
    buf_fini(&out);
    cJSON_Delete(policy);
}

START_TEST(policy_is_completed_with_defaults)
{
    expect_text("{\"selector\":\"a=b\"}",
                "{\"name\":\"p\",\"description\":\"\",\"selector\":\"a=b\",\"enabled\":true,"
                "\"record_ms\":1000,\"every_ms\":1000000}");
    expect_text("{\"name\":\"p\",\"selector\":\"\",\"enabled\":false,\"record_ms\":10000,"
                "\"groups\":[\"io\",\"16\"],\"limits\":{\"bytes_per_day\":5,"
                "\"agent_cpu_percent\":3},\"retain\":{\"ttl_ms\":5000},\"state\":{\"x\":1}}",
                "{\"name\":\"p\",\"description\":\"\",\"selector\":\"\",\"enabled\":false,"
                "\"record_ms\":10000,\"every_ms\":1000000,\"groups\":[\"io\",\"16\"],"
                "\"limits\":{\"bytes_per_day\":5,\"agent_cpu_percent\":3},"
                "\"retain\":{\"ttl_ms\":5000,\"pin\":false}}");
    expect_text("{\"selector\":\"\",\"evidence\":[\"samples\",\"threads\"],\"samples_hz\":1000}",
                "{\"name\":\"p\",\"description\":\"\",\"selector\":\"\",\"enabled\":true,"
                "\"record_ms\":1000,\"every_ms\":1000000,\"evidence\":[\"samples\",\"threads\"],"
                "\"samples_hz\":1000}");
}
END_TEST

START_TEST(whatever_is_wrong_has_its_path)
{
    static const struct {
        const char *members, *path;
    } wrong[] = {
        {"\"record_ms\":9", "record_ms"},
        {"\"every_ms\":999", "every_ms"},
        {"\"record_ms\":300,\"every_ms\":1000", "every_ms"},
        {"\"record_ms\":1000,\"every_ms\":1000", "every_ms"},
        {"\"record_ms\":10,\"every_ms\":100010", "every_ms"},
        {"\"groups\":[]", "groups"},
        {"\"groups\":[\"all\"]", "groups"},
        {"\"evidence\":[\"thread\"]", "evidence"},
        {"\"evidence\":true", "evidence"},
        {"\"threads\":true", "threads"}, /* its list names them */
        {"\"samples_hz\":0", "samples_hz"},
        {"\"samples_hz\":1001", "samples_hz"},
        {"\"limits\":{\"bytes_per_day\":0}", "limits.bytes_per_day"},
        {"\"limits\":{\"agent_cpu_percent\":0}", "limits.agent_cpu_percent"},
        {"\"limits\":{\"cooldown_ms\":1}", "limits.cooldown_ms"},
        {"\"retain\":{\"ttl_ms\":1}", "retain.ttl_ms"},
        {"\"name\":\"q\"", "name"},
        {"\"when\":{}", "when"},
    };
    char text[256], error[256];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(text, sizeof text, "{\"selector\":\"\",%s}", wrong[i].members);
        cJSON *policy = check(text, error);
        size_t n = strlen(wrong[i].path);
        ck_assert_msg(policy == NULL, "accepted: %s", text);
        ck_assert_msg(strncmp(error, wrong[i].path, n) == 0 && error[n] == ':',
                      "%s: error is \"%s\"", text, error);
    }
    ck_assert_ptr_null(check("{}", error));
    ck_assert_ptr_null(check("{\"selector\":\"a in (\"}", error));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("policy_check", policy_is_completed_with_defaults,
                              whatever_is_wrong_has_its_path, NULL));
}
