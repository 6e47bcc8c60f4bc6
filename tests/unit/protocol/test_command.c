/* SPDX-License-Identifier: Apache-2.0
 * Commands as an agent reads them, and the answers to its reports: what is read, and that what is
 * wrong can be refused with the path of what is wrong. */
#include "command.h"

#include <string.h>

#include "json.h"
#include "report.h"
#include "support.h"

#define CAPTURE "01000000000000000000000000000000"
#define PROCESS "02000000000000000000000000000000"

static const struct capture_id capture = {{1}};
static const struct process_uid process = {{2}};

static cJSON *parse(const char *text)
{
    char error[256] = "";
    cJSON *json = control_body_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    return json;
}

START_TEST(commands_are_read_with_integers_in_both_forms)
{
    struct command command;
    char error[256] = "";
    cJSON *json = parse(
        "{\"command\":\"x\",\"kind\":\"capture\",\"capture\":\"" CAPTURE "\","
        "\"at_ns\":\"1763719200000000001\",\"pre_ms\":5,\"post_ms\":6,\"stream_ms\":250,"
        "\"share\":false,\"upload_after_ms\":70,\"evidence\":[\"vitals\",\"newer\"],\"new\":{},\"processes\":[\"" PROCESS
        "\"]}");
    ck_assert_int_eq(command_get(json, &command, error, sizeof error), SKEIN_OK);
    ck_assert_str_eq(command.command, "x");
    ck_assert_uint_eq(command.at_ns, UINT64_C(1763719200000000001));
    ck_assert_uint_eq(command.pre_ms, 5);
    ck_assert_uint_eq(command.post_ms, 6);
    ck_assert_uint_eq(command.stream_ms, 250);
    ck_assert(command.unshared);
    ck_assert(command.wish.only); /* P-32 */
    ck_assert_uint_eq(command.wish.kinds, EVIDENCE_BIT(EVIDENCE_VITALS));
    ck_assert_uint_eq(command.upload_after_ms, 70);
    ck_assert(capture_id_equal(&command.capture, &capture));
    ck_assert(process_uid_equal(&command.processes[0], &process));
    command_fini(&command);
    cJSON_Delete(json);
}
END_TEST

START_TEST(a_command_that_is_refused_can_be_answered)
{
    static const char *const bad[][2] = {
        {"{\"command\":\"x\",\"kind\":\"capture\",\"capture\":\"0\",\"at_ns\":1,\"processes\":[]}",
         "capture"},
        {"{\"command\":\"x\",\"kind\":\"capture\",\"capture\":\"" CAPTURE
         "\",\"at_ns\":1,\"processes\":[]}",
         "processes"},
        {"{\"command\":\"x\",\"kind\":\"rules\",\"generation\":1,\"rules\":{}}", "rules"},
        {"{\"command\":\"x\",\"kind\":\"capture\",\"capture\":\"" CAPTURE
         "\",\"at_ns\":1,\"stream_ms\":99,\"processes\":[\"" PROCESS "\"]}",
         "stream_ms"},
        {"{\"command\":\"x\",\"kind\":\"capture\",\"capture\":\"" CAPTURE
         "\",\"at_ns\":1,\"processes\":[\"" PROCESS "\",7]}",
         "processes"},
        {"{\"command\":\"x\",\"kind\":\"stop\"}", "capture"},
        {"{\"command\":\"x\",\"kind\":\"fly\"}", "kind"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command command;
        char error[256] = "";
        cJSON *json = parse(bad[i][0]);
        ck_assert_int_eq(command_get(json, &command, error, sizeof error), SKEIN_INVALID);
        ck_assert_str_eq(command.command, "x");
        ck_assert_ptr_null(command.processes);
        ck_assert_msg(strstr(error, bad[i][1]) == error, "%s", error);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(a_command_without_its_text_cannot_be_answered)
{
    static const char *const bad[] = {"{\"kind\":\"stop\",\"capture\":\"" CAPTURE "\"}",
                                      "{\"command\":7,\"kind\":\"stop\",\"capture\":\"" CAPTURE
                                      "\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct command command;
        char error[256] = "";
        cJSON *json = parse(bad[i]);
        ck_assert_int_eq(command_get(json, &command, error, sizeof error), SKEIN_INVALID);
        ck_assert_ptr_null(command.command);
        ck_assert_msg(strstr(error, "command: ") == error, "%s", error);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(a_report_is_acknowledged_or_refused_with_words)
{
    struct report_ack ack;
    char error[256] = "";
    cJSON *json = parse("{\"ok\":true}");
    ck_assert_int_eq(report_ack_get(json, &ack, error, sizeof error), SKEIN_OK);
    ck_assert(ack.ok);
    cJSON_Delete(json);
    json = parse("{\"ok\":false,\"error\":\"unknown capture\"}");
    ck_assert_int_eq(report_ack_get(json, &ack, error, sizeof error), SKEIN_OK);
    ck_assert(!ack.ok);
    ck_assert_str_eq(ack.error, "unknown capture");
    cJSON_Delete(json);
    json = parse("{}");
    ck_assert_int_eq(report_ack_get(json, &ack, error, sizeof error), SKEIN_OK);
    ck_assert(!ack.ok);
    ck_assert_str_eq(ack.error, "refused without a reason");
    cJSON_Delete(json);
    json = parse("{\"ok\":3}");
    ck_assert_int_eq(report_ack_get(json, &ack, error, sizeof error), SKEIN_INVALID);
    cJSON_Delete(json);
    ck_assert_ptr_null(control_body_parse("[]", 2, error, sizeof error));
    ck_assert_str_eq(error, "must be an object");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("command", commands_are_read_with_integers_in_both_forms,
                              a_command_that_is_refused_can_be_answered,
                              a_command_without_its_text_cannot_be_answered,
                              a_report_is_acknowledged_or_refused_with_words, NULL));
}
