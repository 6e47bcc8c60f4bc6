/* SPDX-License-Identifier: Apache-2.0
 * Control bodies: what is read, and that wrong ones are refused with the path of what is wrong. */
#include <string.h>

#include "json.h"
#include "report.h"
#include "support.h"

#define ID "00112233445566778899aabbccddeeff"

static cJSON *parse(const char *text)
{
    char error[128];
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    return json;
}

static void expect_refused(const char *text, const char *path)
{
    struct report report;
    char error[256] = "";
    cJSON *json = parse(text);
    ck_assert_int_eq(report_get(json, &report, error, sizeof error), SKEIN_INVALID);
    ck_assert_msg(strstr(error, path) == error, "%s: \"%s\"", text, error);
    cJSON_Delete(json);
}

START_TEST(target_report_is_read_whole)
{
    struct report r;
    char error[256];
    cJSON *json = parse("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                        "\",\"process\":\"" ID "\",\"state\":\"uploading\",\"new_member\":{},"
                        "\"window\":{\"from_ns\":\"1790000000000000000\",\"to_ns\":5},"
                        "\"partitions\":[{\"epoch\":1,\"first\":\"9007199254740993\","
                        "\"last\":\"9007199254740995\",\"events\":3,\"bytes\":4}],"
                        "\"ledger\":{\"events\":3,\"lost\":{\"ring_full\":7}},"
                        "\"gaps\":[{\"from_ns\":1,\"to_ns\":2,\"reason\":\"overwritten\"}],"
                        "\"death\":{\"signal\":11,\"status\":0}}");
    ck_assert_int_eq(report_get(json, &r, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(r.kind, REPORT_TARGET);
    ck_assert_uint_eq(r.agent, 255);
    ck_assert_int_eq(r.target.state, REPORT_UPLOADING);
    ck_assert_uint_eq(r.target.from_ns, UINT64_C(1790000000000000000));
    ck_assert_uint_eq(r.target.partition_count, 1);
    ck_assert_uint_eq(r.target.partitions[0].first, UINT64_C(9007199254740993));
    ck_assert_uint_eq(r.target.listed, 3);
    ck_assert_uint_eq(r.target.listed_events, 3);
    ck_assert_uint_eq(r.target.loss_count, 1);
    ck_assert_str_eq(r.target.losses[0].reason, "ring_full");
    ck_assert_uint_eq(r.target.losses[0].events, 7);
    ck_assert_str_eq(r.target.gaps[0].reason, "overwritten");
    ck_assert_int_eq(r.target.signal, 11);
    report_fini(&r);
    cJSON_Delete(json);
}
END_TEST

START_TEST(times_of_reports_become_the_collectors)
{
    struct report r;
    char error[256];
    cJSON *json = parse("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                        "\",\"process\":\"" ID "\",\"state\":\"uploading\","
                        "\"window\":{\"from_ns\":\"1790000000000000000\",\"to_ns\":5},"
                        "\"clock_offset_ns\":-600000000000,"
                        "\"gaps\":[{\"from_ns\":600000000001,\"to_ns\":0}]}");
    ck_assert_int_eq(report_get(json, &r, error, sizeof error), SKEIN_OK);
    report_align(&r);
    ck_assert_uint_eq(r.target.from_ns, UINT64_C(1789999400000000000));
    ck_assert_uint_eq(r.target.to_ns, 0); /* not before 1970 */
    ck_assert_uint_eq(r.target.gaps[0].from_ns, 1);
    ck_assert_uint_eq(r.target.gaps[0].to_ns, 0);
    report_fini(&r);
    cJSON_Delete(json);
    json = parse("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":\"" ID
                 "\",\"process\":\"" ID "\",\"trigger\":\"crash\","
                 "\"at_ns\":\"1790000000000000000\",\"clock_offset_ns\":600000000000}");
    ck_assert_int_eq(report_get(json, &r, error, sizeof error), SKEIN_OK);
    report_align(&r);
    ck_assert_uint_eq(r.fired.at_ns, UINT64_C(1790000600000000000));
    report_fini(&r);
    cJSON_Delete(json);
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"trigger\":\"crash\",\"at_ns\":1,"
                   "\"clock_offset_ns\":\"now\"}",
                   "clock_offset_ns");
}
END_TEST

START_TEST(wrong_reports_are_refused_with_the_path)
{
    expect_refused("{}", "agent");
    expect_refused("{\"agent\":\"xyz\",\"kind\":\"rule\"}", "agent");
    expect_refused("{\"agent\":\"00000000000000ff\"}", "kind");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"other\"}", "kind");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"processes\"}", "processes");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"processes\",\"processes\":[1]}",
                   "processes");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"processes\",\"processes\":[{"
                   "\"process\":\"" ID "\",\"pid\":-1}]}",
                   "processes[].pid");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"processes\",\"page\":2,\"pages\":2,"
                   "\"processes\":[]}",
                   "page");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":"
                   "\"00000000000000000000000000000000\",\"process\":\"" ID
                   "\",\"trigger\":\"crash\"}",
                   "capture");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"trigger\":\"crash\",\"at_ns\":"
                   "\"18446744073709551615\"}",
                   "at_ns");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"trigger\":\"policy\"}",
                   "policy");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"fired\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"trigger\":\"crash\",\"policy\":\"p\"}",
                   "policy");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"policy\",\"paused\":true}",
                   "policy");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"state\":\"complete\"}",
                   "state");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"state\":\"uploading\",\"partitions\":[[]]}",
                   "partitions[]");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"state\":\"uploading\",\"partitions\":[{"
                   "\"first\":2,\"last\":1}]}",
                   "partitions[].last");
    expect_refused("{\"agent\":\"00000000000000ff\",\"kind\":\"target\",\"capture\":\"" ID
                   "\",\"process\":\"" ID "\",\"state\":\"uploading\",\"partitions\":[{"
                   "\"first\":0,\"last\":\"18446744073709551615\"}]}",
                   "partitions[].last");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("report", target_report_is_read_whole,
                              times_of_reports_become_the_collectors,
                              wrong_reports_are_refused_with_the_path, NULL));
}
