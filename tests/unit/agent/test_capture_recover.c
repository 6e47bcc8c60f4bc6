/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent that was killed in the middle of a capture of its own left in its spool, and what
 * the next one makes of it.
 */
#include <stdlib.h>
#include <string.h>

#include "agent_capture.h"
#include "support.h"

static const struct capture_id kept = {{1}}, nothing = {{2}};
static const struct process_uid process = {{3}};
static char *folder;
static struct spool *spool;

static void open_spool(void)
{
    char error[256];
    struct spool_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .amend = target_result_amend};
    ck_assert_msg(spool_open(&settings, &spool, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void setup(void)
{
    folder = temp_dir_new();
    open_spool();
}

static void teardown(void)
{
    spool_close(&spool);
    temp_dir_free(&folder);
}

static void firing_put(const struct capture_id *capture, const char *text)
{
    ck_assert_int_eq(
        spool_report_put(spool, SPOOL_FIRING, 0, capture, &process, text, strlen(text)), SKEIN_OK);
}

static void partition_put(uint64_t sequence)
{
    struct spool_head head = {
        .capture = kept, .key = {process, 1, sequence}, .events = 5, .from_ns = 10, .to_ns = 20};
    ck_assert_int_eq(spool_put(spool, &head, (const uint8_t *)"bytes", 5), SKEIN_OK);
}

/* Reports of that kind; the last one's text. */
static size_t reports_of(uint16_t kind, char text[1024])
{
    struct spool_report report;
    uint64_t after = 0;
    size_t count = 0;
    text[0] = '\0';
    while (spool_report_next(spool, after, &report) == SKEIN_OK) {
        after = report.revision;
        if (report.kind == kind)
            snprintf(text, 1024, "%s", report.text);
        count += report.kind == kind;
        free(report.text);
    }
    return count;
}

/* Killed behind the first partition and before it was told: the report is not lost. */
START_TEST(what_fired_is_told_where_a_partition_is_kept)
{
    char text[1024];
    firing_put(&kept, "{\"kind\":\"fired\"}");
    partition_put(0);
    spool_close(&spool);
    open_spool();
    ck_assert_int_eq(captures_recover(spool, 7), 1);
    ck_assert_uint_eq(reports_of(SPOOL_FIRING, text), 0);
    ck_assert_uint_eq(reports_of(SPOOL_FIRED, text), 1);
    ck_assert_str_eq(text, "{\"kind\":\"fired\"}");
    ck_assert_uint_eq(reports_of(SPOOL_TARGET, text), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"uploading\""));
    ck_assert_int_eq(captures_recover(spool, 7), 0); /* and once */
}
END_TEST

/* A cut takes chunks by the times at which they begin: what had not been cut when the agent died
 * may lie in front of what had. So nothing of the window is proven, and the report does not say
 * from where on something is missing. */
START_TEST(nothing_of_a_window_is_proven_where_the_first_cut_was_interrupted)
{
    char text[1024];
    firing_put(&kept, "{\"kind\":\"fired\"}");
    partition_put(0);
    spool_close(&spool);
    open_spool();
    ck_assert_int_eq(captures_recover(spool, 7), 1);
    ck_assert_uint_eq(reports_of(SPOOL_TARGET, text), 1);
    const char *gap = strstr(text, "\"gaps\":[{\"from_ns\":");
    ck_assert_ptr_nonnull(gap);
    ck_assert_ptr_nonnull(strstr(gap, "\"gaps\":[{\"from_ns\":0,"));
    ck_assert_ptr_nonnull(strstr(gap, "agent_restarted"));
}
END_TEST

static void intent_put(const struct capture_id *capture, uint64_t from_ns)
{
    struct target_result result = {.capture = *capture,
                                   .process = process,
                                   .trigger = TRIGGER_REQUEST,
                                   .state = REPORT_CAPTURING,
                                   .from_ns = from_ns,
                                   .to_ns = 20};
    const struct report_range range = {1, 0, 0, 5, 5};
    struct buf text = {0};
    ck_assert_int_eq(target_result_add_range(&result, &range), SKEIN_OK);
    target_result_put(7, &result, &text);
    ck_assert_int_eq(spool_report_put(spool, SPOOL_INTENT, 0, capture, &process,
                                      (const char *)text.data, text.len),
                     SKEIN_OK);
    buf_fini(&text);
    target_result_fini(&result);
}

static struct spool_counters recovered(void)
{
    struct spool_counters c;
    spool_close(&spool);
    open_spool();
    ck_assert_int_eq(captures_recover(spool, 7), 1);
    spool_count(spool, &c);
    return c;
}

/* Its command comes again. Until then nothing is told, nothing is sent, and nothing goes. */
START_TEST(what_was_asked_for_waits_for_its_command)
{
    char text[1024];
    uint64_t order = 0;
    struct spool_head head;
    intent_put(&kept, 8);
    partition_put(0);
    for (int run = 0; run < 2; run++) { /* the next agent may die, too */
        ck_assert_uint_eq(recovered().partitions, 1);
        ck_assert_uint_eq(reports_of(SPOOL_TARGET, text), 0);
        ck_assert_uint_eq(reports_of(SPOOL_INTENT, text), 1);
        ck_assert_ptr_nonnull(
            strstr(text, "\"gaps\":[{\"from_ns\":20,")); /* what the intent told ends there */
        ck_assert_ptr_nonnull(strstr(text, "agent_restarted"));
        ck_assert_int_eq(spool_next(spool, 0, &order, &head), SKEIN_NOT_FOUND);
    }
}
END_TEST

/* Nobody would repeat it. */
START_TEST(what_fired_does_not_begin_anew)
{
    char text[1024];
    firing_put(&kept, "{}");
    partition_put(0);
    ck_assert_uint_eq(recovered().partitions, 1);
    ck_assert_uint_eq(reports_of(SPOOL_TARGET, text), 1);
}
END_TEST

/* Killed before the first partition: as if it had not fired. */
START_TEST(what_fired_and_left_nothing_is_forgotten)
{
    char text[1024];
    firing_put(&nothing, "{}");
    spool_close(&spool);
    open_spool();
    ck_assert_int_eq(captures_recover(spool, 7), 0);
    struct spool_counters c;
    spool_count(spool, &c);
    ck_assert_uint_eq(c.reports, 0);
    ck_assert_uint_eq(reports_of(SPOOL_FIRED, text), 0);
}
END_TEST

/* The report of the capture takes the place of what was journalled before it, on disk too. */
START_TEST(what_has_fired_replaces_what_is_firing)
{
    char text[1024];
    firing_put(&kept, "{\"n\":1}");
    ck_assert_int_eq(spool_report_put(spool, SPOOL_FIRED, 0, &kept, &process, "{\"n\":2}", 7),
                     SKEIN_OK);
    spool_close(&spool);
    open_spool();
    ck_assert_uint_eq(reports_of(SPOOL_FIRING, text), 0);
    ck_assert_uint_eq(reports_of(SPOOL_FIRED, text), 1);
    ck_assert_str_eq(text, "{\"n\":2}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_recover");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, what_fired_is_told_where_a_partition_is_kept);
    tcase_add_test(tc, what_was_asked_for_waits_for_its_command);
    tcase_add_test(tc, what_fired_does_not_begin_anew);
    tcase_add_test(tc, nothing_of_a_window_is_proven_where_the_first_cut_was_interrupted);
    tcase_add_test(tc, what_fired_and_left_nothing_is_forgotten);
    tcase_add_test(tc, what_has_fired_replaces_what_is_firing);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
