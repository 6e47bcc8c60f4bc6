/* SPDX-License-Identifier: Apache-2.0
 * What a report says of captures beside their files. */
#include "report_verdict.h"

#include <stdlib.h>
#include <string.h>

#include "cli_out.h"
#include "support.h"

static cJSON *parsed(const char *text)
{
    cJSON *json = cJSON_Parse(text);
    ck_assert_ptr_nonnull(json);
    return json;
}

/* A file, a capture with a gap, and a whole one. */
static struct trace_subject subjects[3];
static const struct report_sources sources = {subjects, 3, "a.skein", 0, 0};

static void setup(void)
{
    subjects[0] = (struct trace_subject){.file = "a.skein"};
    subjects[1].capture = parsed(
        "{\"capture\":\"0193a5c0e1f27d3b8c4e5f60718293a4\","
        "\"url\":\"https://skein.example/captures/0193a5c0\\u001b[2J\","
        "\"verdict\":{\"complete\":false,\"text\":\"incomplete: 1 \\u001b[2Jgap\"},"
        "\"window\":{\"from\":\"2026-11-21T09:40:00Z\",\"to\":\"2026-11-21T09:41:00Z\"},"
        "\"targets\":[{\"service\":\"shop\",\"host\":\"web-1\",\"pid\":41,\"process\":\"29\","
        "\"ledger\":{\"gaps\":[{\"reason\":\"attached_late\",\"from\":\"2026-11-21T09:40:00Z\","
        "\"to\":\"2026-11-21T09:40:20Z\"}]}}]}");
    subjects[2].capture = parsed("{\"capture\":\"0193a5c1e1f27d3b8c4e5f60718293a4\","
                                 "\"verdict\":{\"complete\":true,\"text\":\"complete: all\"},"
                                 "\"targets\":[]}");
}

static void teardown(void)
{
    for (size_t i = 0; i < 3; i++)
        cJSON_Delete(subjects[i].capture);
}

START_TEST(each_capture_has_its_verdict_and_its_gaps)
{
    struct buf out = {0};
    verdict_lines_put(&out, &sources);
    const char *text = text_of(&out);
    ck_assert_ptr_nonnull(
        strstr(text, "capture 0193a5c0e1f27d3b8c4e5f60718293a4: incomplete: 1 \\x1b[2Jgap\n"
                     "gap        shop[41] on web-1 "));
    ck_assert_ptr_nonnull(
        strstr(text, "capture 0193a5c1e1f27d3b8c4e5f60718293a4: complete: all\n"));
    buf_fini(&out);
}
END_TEST

START_TEST(each_capture_that_has_a_page_has_its_link)
{
    struct buf out = {0};
    verdict_links_put(&out, &sources);
    ck_assert_str_eq(text_of(&out),
                     "\nin the console: https://skein.example/captures/0193a5c0\\x1b[2J\n");
    buf_clear(&out);
    const struct report_sources file = {subjects, 1, "", 0, 0};
    verdict_links_put(&out, &file);
    ck_assert_uint_eq(out.len, 0);
    buf_fini(&out);
}
END_TEST

START_TEST(a_page_has_one_sentence_of_them)
{
    struct buf out = {0};
    ck_assert(verdict_sentence_put(&out, &sources));
    ck_assert_str_eq(text_of(&out), "0193a5c0: incomplete: 1 \x1b[2Jgap; 0193a5c1: complete: all");
    buf_clear(&out);
    const struct report_sources whole = {&subjects[2], 1, "", 0, 0};
    const struct report_sources file = {subjects, 1, "", 0, 0};
    ck_assert(!verdict_sentence_put(&out, &whole));
    ck_assert_str_eq(text_of(&out), "complete: all");
    buf_clear(&out);
    ck_assert(!verdict_sentence_put(&out, &file));
    ck_assert_str_eq(text_of(&out), "");
    buf_fini(&out);
}
END_TEST

START_TEST(json_has_every_gap_with_its_bounds)
{
    const struct report_sources file = {subjects, 1, "", 0, 0};
    cJSON *report = cJSON_CreateObject();
    ck_assert_int_eq(verdict_json_add(report, &file), SKEIN_OK);
    ck_assert_ptr_null(json_at(report, "captures"));
    ck_assert_int_eq(verdict_json_add(report, &sources), SKEIN_OK);
    const cJSON *captures = json_at(report, "captures");
    ck_assert_int_eq(cJSON_GetArraySize(captures), 2);
    const cJSON *first = cJSON_GetArrayItem(captures, 0);
    ck_assert_str_eq(json_text_at(first, "verdict.text"), "incomplete: 1 \x1b[2Jgap");
    const cJSON *gap = cJSON_GetArrayItem(json_at(first, "gaps"), 0);
    ck_assert_str_eq(json_text_at(gap, "service"), "shop");
    ck_assert_uint_eq(json_u64_at(gap, "pid"), 41);
    ck_assert_str_eq(json_text_at(gap, "reason"), "attached_late");
    ck_assert_str_eq(json_text_at(gap, "to"), "2026-11-21T09:40:20Z");
    ck_assert_int_eq(cJSON_GetArraySize(json_at(cJSON_GetArrayItem(captures, 1), "gaps")), 0);
    cJSON_Delete(report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_verdict");
    TCase *tests = tcase_create("report_verdict");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_capture_has_its_verdict_and_its_gaps);
    tcase_add_test(tests, each_capture_that_has_a_page_has_its_link);
    tcase_add_test(tests, a_page_has_one_sentence_of_them);
    tcase_add_test(tests, json_has_every_gap_with_its_bounds);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
