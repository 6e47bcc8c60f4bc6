/* SPDX-License-Identifier: Apache-2.0
 * Policies as they are pushed to an agent. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "policy_spec.h"
#include "support.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct policy_spec *read_spec(const char *text, char error[256])
{
    struct policy_spec *spec = NULL;
    cJSON *json = json_parse(text, strlen(text), error, 256);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    error[0] = '\0';
    int status = policy_spec_new(json, &spec, error, 256);
    ck_assert_int_eq(status == SKEIN_OK, spec != NULL);
    cJSON_Delete(json);
    return spec;
}

START_TEST(a_policy_is_read_whole)
{
    char error[256];
    struct policy_spec *spec = read_spec(
        "{\"name\":\"p\",\"generation\":7,\"selector\":\"service=a\",\"record_ms\":1000,"
        "\"every_ms\":1000000,\"groups\":[\"net\",\"new\"],\"agent_cpu_percent\":5,\"paused\":true,"
        "\"evidence\":[\"samples\",\"later\"],\"samples_hz\":300,\"slots\":{\"" ID
        "\":999},\"later\":1}", /* as earlier and later collectors send */
        error);
    ck_assert_msg(spec != NULL, "%s", error);
    ck_assert_str_eq(spec->name, "p");
    ck_assert_uint_eq(spec->generation, 7);
    ck_assert_uint_eq(spec->agent_cpu_percent, 5);
    ck_assert(spec->paused);
    ck_assert(spec->wish.only);
    ck_assert_uint_eq(spec->wish.kinds, EVIDENCE_BIT(EVIDENCE_SAMPLES));
    ck_assert_uint_eq(spec->samples_hz, 300);
    policy_spec_free(&spec);
    /* One that says nothing of them has samples without evidence. */
    spec = read_spec("{\"name\":\"p\",\"generation\":7,\"selector\":\"\",\"record_ms\":100,"
                     "\"every_ms\":1000}",
                     error);
    ck_assert(spec->wish.only && spec->wish.kinds == 0 && spec->samples_hz == 0);
    policy_spec_free(&spec);
}
END_TEST

START_TEST(what_cannot_be_sampled_by_is_refused)
{
    static const struct {
        const char *members, *path;
    } wrong[] = {
        {"\"record_ms\":0,\"every_ms\":2000", "record_ms"},
        {"\"record_ms\":300,\"every_ms\":2000", "every_ms"},
        {"\"record_ms\":100,\"every_ms\":1000,\"paused\":1", "paused"},
        {"\"every_ms\":1000", "record_ms"},
    };
    char text[256], error[256];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(text, sizeof text, "{\"name\":\"p\",\"generation\":7,\"selector\":\"\",%s}",
                       wrong[i].members);
        ck_assert_msg(read_spec(text, error) == NULL, "accepted: %s", text);
        ck_assert_msg(strncmp(error, wrong[i].path, strlen(wrong[i].path)) == 0, "%s: %s", text,
                      error);
    }
    ck_assert_ptr_null(read_spec("[]", error));
    ck_assert_ptr_null(read_spec("{\"name\":\"\",\"generation\":7,\"selector\":\"\","
                                 "\"record_ms\":100,\"every_ms\":1000}",
                                 error));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("policy_spec", a_policy_is_read_whole,
                              what_cannot_be_sampled_by_is_refused, NULL));
}
