/* SPDX-License-Identifier: Apache-2.0 */
#include "target_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_job.h"
#include "json.h"
#include "support.h"

static const struct capture_id capture = {{1}};
static const struct process_uid process = {{2}};

static char *text_of(struct buf *b)
{
    buf_put_u8(b, 0);
    ck_assert_int_eq(b->status, SKEIN_OK);
    return (char *)b->data;
}

START_TEST(a_target_report_says_what_there_is)
{
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .state = REPORT_UPLOADING,
                                   .from_ns = 10,
                                   .to_ns = 20,
                                   .events = 7};
    struct report_range partition = {1, UINT64_MAX, UINT64_MAX, 7, 99};
    struct report_gap gap = {11, 12, "overwritten"};
    ck_assert_int_eq(target_result_add_range(&result, &partition), SKEIN_OK);
    ck_assert_int_eq(target_result_add_gap(&result, &gap), SKEIN_OK);
    result.lost[LOSS_RING_FULL] = 5;
    result.lost[LOSS_SPOOL_FULL] = 3;
    result.death.known = true;
    result.death.signal = 11;
    struct buf out = {0};
    target_result_put(0xabc, &result, &out);
    const char *text = text_of(&out);
    ck_assert_ptr_nonnull(strstr(text, "\"agent\":\"0000000000000abc\""));
    ck_assert_ptr_nonnull(strstr(text, "\"first\":\"18446744073709551615\""));
    ck_assert_ptr_nonnull(strstr(text, "\"lost\":{\"ring_full\":5,\"spool_full\":3}"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"gaps\":[{\"from_ns\":11,\"to_ns\":12,\"reason\":\"overwritten\"}]"));
    ck_assert_ptr_nonnull(strstr(text, "\"death\":{\"signal\":11,\"status\":0}"));
    buf_fini(&out);
    target_result_fini(&result);
}
END_TEST

START_TEST(what_was_journalled_keeps_its_clock)
{
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .state = REPORT_CAPTURING,
                                   .from_ns = 10,
                                   .to_ns = 20,
                                   .map = {.known = true, .clock = 42, .offset_ns = -600000000000}};
    struct target_result read = {.state = REPORT_FAILED};
    struct buf out = {0};
    target_result_put(1, &result, &out);
    ck_assert_int_eq(target_result_read(&read, (const char *)out.data, out.len), SKEIN_OK);
    ck_assert_ptr_nonnull(strstr(text_of(&out), "\"clock_offset_ns\":-600000000000"));
    ck_assert_int_eq(read.map.offset_ns, result.map.offset_ns);
    ck_assert_uint_eq(read.map.clock, 42);
    ck_assert(read.map.known);
    ck_assert_uint_eq(read.to_ns, 20);
    ck_assert_ptr_null(strstr(text_of(&out), "clock_error_ns")); /* nobody knows */
    buf_fini(&out);
    target_result_fini(&read);
    target_result_fini(&result);
}
END_TEST

START_TEST(what_was_journalled_keeps_the_error_of_its_clock)
{
    const uint64_t ms = 1000000;
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .state = REPORT_CAPTURING,
                                   .from_ns = 5000 * ms,
                                   .to_ns = 20000 * ms,
                                   .map = {true, 42, 7, 1000, 12000 * ms}};
    struct target_result read = {.state = REPORT_FAILED};
    struct buf out = {0}, again = {0};
    target_result_put(1, &result, &out);
    ck_assert_int_eq(target_result_read(&read, (const char *)out.data, out.len), SKEIN_OK);
    target_result_put(1, &read, &again);
    /* 8 s away at most: 8 ms */
    ck_assert_ptr_nonnull(strstr(text_of(&out), "\"clock_error_ns\":8001001,"));
    ck_assert_ptr_nonnull(strstr(text_of(&again), "\"clock_error_ns\":8001001,"));
    buf_clear(&again);
    result.map.error_ns = 0; /* a second one that nobody knows of: then nobody knows of both */
    buf_clear(&out);
    target_result_put(1, &result, &out);
    ck_assert_int_eq(target_result_read(&read, (const char *)out.data, out.len), SKEIN_OK);
    target_result_put(1, &read, &again);
    ck_assert_ptr_null(strstr(text_of(&again), "clock_error_ns"));
    buf_fini(&out);
    buf_fini(&again);
    target_result_fini(&read);
    target_result_fini(&result);
}
END_TEST

START_TEST(gaps_that_touch_are_told_as_one)
{
    static const struct report_gap gaps[] = {{10, 20, "overwritten"}, {30, 40, "overwritten"},
                                             {15, 18, "ring_full"},   {20, 30, "overwritten"},
                                             {35, 50, "overwritten"}, {60, 70, "overwritten"}};
    struct target_result result = {0};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        ck_assert_int_eq(target_result_add_gap(&result, &gaps[i]), SKEIN_OK);
    uint64_t whole = 0, apart = 0;
    for (size_t i = 0; i < result.gap_count; i++) {
        whole += result.gaps[i].from_ns == 10 && result.gaps[i].to_ns == 50;
        apart += result.gaps[i].from_ns == 15 || result.gaps[i].from_ns == 60;
    }
    ck_assert_uint_eq(result.gap_count, 3);
    ck_assert_uint_eq(whole, 1);
    ck_assert_uint_eq(apart, 2);
    target_result_fini(&result);
}
END_TEST

START_TEST(very_many_ranges_and_gaps_still_fit_one_message)
{
    struct target_result result = {.capture = capture, .process = process, .state = REPORT_NOTHING};
    for (uint64_t i = 0; i < 100000; i++) {
        struct report_gap gap = {UINT64_C(1763719200000000000) + 2 * i,
                                 UINT64_C(1763719200000000000) + 2 * i + 1,
                                 i % 2 == 0 ? "overwritten" : "corrupt"};
        ck_assert_int_eq(target_result_add_gap(&result, &gap), SKEIN_OK);
    }
    uint64_t last = 0;
    for (size_t i = 0; i < result.gap_count; i++)
        last = result.gaps[i].to_ns > last ? result.gaps[i].to_ns : last;
    ck_assert_uint_eq(last, UINT64_C(1763719200000000000) + 199999); /* none is left out */
    for (uint64_t i = 0; i < CAPTURE_RANGES_MAX; i++) {
        struct report_range range = {123456, 123456789 + 2 * i, 123456789 + 2 * i, 1234567890,
                                     64 << 20};
        ck_assert_int_eq(target_result_add_range(&result, &range), SKEIN_OK);
    }
    /* Its evidence, with the longest words, and a partition of its own. */
    struct report_range beside = {123456, UINT64_C(1) << 48, UINT64_C(1) << 48, 1234567890,
                                  64 << 20};
    ck_assert_int_eq(target_result_add_range(&result, &beside), SKEIN_OK);
    char why[EVIDENCE_WHY_BYTES];
    memset(why, 'w', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    for (int i = 0; i < EVIDENCE_KINDS_MAX; i++)
        target_result_add_evidence(
            &result, &(struct report_evidence){"samples", "partial", why, 1234567890, 1234567});
    struct buf out = {0};
    target_result_put(1, &result, &out);
    ck_assert_uint_lt(out.len, SPOOL_REPORT_MAX - 1024);
    buf_fini(&out);
    target_result_fini(&result);
}
END_TEST

/* No record of the ring is lost with it. */
START_TEST(evidence_that_is_lost_is_no_gap)
{
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .state = REPORT_UPLOADING,
                                   .events = 40,
                                   .window_events = 30,
                                   .evidence_at = {1, 9, true}};
    struct report_range cuts = {1, 0, 2, 30, 99}, beside = {1, 9, 9, 10, 99};
    ck_assert_int_eq(target_result_add_range(&result, &cuts), SKEIN_OK);
    ck_assert_int_eq(target_result_add_range(&result, &beside), SKEIN_OK);
    target_result_add_evidence(&result,
                               &(struct report_evidence){"threads", "taken", "2 threads", 10, 1});
    target_result_add_evidence(&result,
                               &(struct report_evidence){"samples", "refused", "no right", 0, 1});
    struct buf whole = {0}, left = {0};
    target_result_put(1, &result, &whole);
    struct spool_head lost = {
        .key = {process, 1, 9}, .events = 10, .payload_bytes = 99, .from_ns = 5, .to_ns = 6};
    ck_assert_int_eq(target_result_amend((char *)whole.data, whole.len, &lost, "spool_full", &left),
                     SKEIN_OK);
    const char *text = text_of(&left);
    ck_assert_ptr_nonnull(strstr(text, "\"gaps\":[]"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"ledger\":{\"events\":30,\"window_events\":30,\"lost\":{}}"));
    ck_assert_ptr_nonnull(strstr(text, "{\"kind\":\"threads\",\"state\":\"none\","
                                       "\"reason\":\"lost: spool_full\",\"events\":0"));
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"refused\",\"reason\":\"no right\""));
    ck_assert_ptr_null(strstr(text, "evidence_at"));
    buf_fini(&whole);
    buf_fini(&left);
    target_result_fini(&result);
}
END_TEST

START_TEST(a_lost_partition_is_counted_once)
{
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .state = REPORT_UPLOADING,
                                   .from_ns = 1,
                                   .to_ns = 9,
                                   .events = 30,
                                   .window_events = 30};
    for (uint64_t i = 0; i < 3; i++) {
        struct report_range partition = {1, i, i, 10, 99};
        ck_assert_int_eq(target_result_add_range(&result, &partition), SKEIN_OK);
    }
    struct buf first = {0}, second = {0}, third = {0};
    target_result_put(1, &result, &first);
    struct spool_head lost = {
        .key = {process, 1, 1}, .events = 10, .payload_bytes = 99, .from_ns = 5, .to_ns = 6};
    ck_assert_int_eq(
        target_result_amend((char *)first.data, first.len, &lost, "spool_full", &second), SKEIN_OK);
    ck_assert_int_eq(
        target_result_amend((char *)second.data, second.len, &lost, "spool_full", &third),
        SKEIN_OK);
    ck_assert_uint_eq(second.len, third.len);
    const char *text = text_of(&third);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"uploading\""));
    ck_assert_ptr_nonnull(strstr(text, "\"spool_full\":10"));
    ck_assert_ptr_nonnull(strstr(text, "\"partitions\":[{\"epoch\":1,\"first\":0,\"last\":0,"
                                       "\"events\":10,\"bytes\":99},{\"epoch\":1,\"first\":2,"
                                       "\"last\":2,\"events\":10,\"bytes\":99}]"));
    ck_assert_ptr_nonnull(strstr(text, "\"ledger\":{\"events\":20,\"window_events\":20,"
                                       "\"lost\":{\"spool_full\":10}}"));
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&third);
    target_result_fini(&result);
}
END_TEST

START_TEST(neighbours_are_one_range_in_whatever_order_they_come)
{
    static const uint64_t order[] = {5, 6, 2, 9, 3, 4, 8, 7};
    struct target_result result = {.capture = capture};
    struct report_range other = {2, 0, 3, 4, 40};
    ck_assert_int_eq(target_result_add_range(&result, &other), SKEIN_OK);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        struct report_range one = {1, order[i], order[i], 1, 10};
        ck_assert_int_eq(target_result_add_range(&result, &one), SKEIN_OK);
        ck_assert_uint_eq(result.ranges[result.range_count - 1].epoch, 2);
    }
    ck_assert_uint_eq(result.range_count, 2);
    ck_assert_uint_eq(result.ranges[0].first, 2);
    ck_assert_uint_eq(result.ranges[0].last, 9);
    ck_assert_uint_eq(result.ranges[0].events, 8);
    ck_assert_uint_eq(result.ranges[0].bytes, 80);
    target_result_fini(&result);
}
END_TEST

START_TEST(every_trigger_survives_an_agents_restart)
{
    for (int type = TRIGGER_REQUEST; type < TRIGGER_TYPES; type++) {
        struct target_result result = {.capture = capture,
                                       .process = process,
                                       .trigger = (enum trigger_type)type,
                                       .state = REPORT_CAPTURING};
        struct buf text = {0};
        target_result_put(1, &result, &text);
        struct target_result again = {
            .capture = capture, .process = process, .state = REPORT_CAPTURING};
        ck_assert_int_eq(target_result_read(&again, (char *)text.data, text.len), SKEIN_OK);
        ck_assert_int_eq(again.trigger, type);
        buf_fini(&text);
        target_result_fini(&result);
        target_result_fini(&again);
    }
}
END_TEST

START_TEST(a_report_that_is_read_again_says_the_same)
{
    struct target_result result = {.capture = capture,
                                   .process = process,
                                   .trigger = TRIGGER_CRASH,
                                   .state = REPORT_CAPTURING,
                                   .from_ns = 10,
                                   .to_ns = 20};
    struct report_range range = {1, 4, 9, 60, 600};
    struct report_gap gap = {11, 12, "overwritten"};
    result.events = 60;
    result.lost[LOSS_RING_FULL] = 5;
    ck_assert_int_eq(target_result_add_range(&result, &range), SKEIN_OK);
    ck_assert_int_eq(target_result_add_gap(&result, &gap), SKEIN_OK);
    struct spool_head lost = {
        .key = {process, 1, 6}, .events = 10, .payload_bytes = 100, .from_ns = 5, .to_ns = 6};
    ck_assert_int_eq(target_result_drop(&result, &lost, "spool_unreadable"), SKEIN_OK);
    ck_assert_int_eq(target_result_drop(&result, &lost, "spool_unreadable"), SKEIN_OK);
    ck_assert_uint_eq(result.events, 50);
    ck_assert_uint_eq(result.range_count, 2);
    struct buf first = {0}, second = {0};
    target_result_put(1, &result, &first);
    struct target_result again = {
        .capture = capture, .process = process, .state = REPORT_CAPTURING};
    ck_assert_int_eq(target_result_read(&again, (char *)first.data, first.len), SKEIN_OK);
    target_result_put(1, &again, &second);
    ck_assert_str_eq(text_of(&first), text_of(&second));
    ck_assert_int_eq(target_result_read(&again, "[1", 2), SKEIN_CORRUPT);
    buf_fini(&first);
    buf_fini(&second);
    target_result_fini(&result);
    target_result_fini(&again);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "target result", a_target_report_says_what_there_is, what_was_journalled_keeps_its_clock,
        what_was_journalled_keeps_the_error_of_its_clock,
        very_many_ranges_and_gaps_still_fit_one_message, gaps_that_touch_are_told_as_one,
        a_lost_partition_is_counted_once, evidence_that_is_lost_is_no_gap,
        a_report_that_is_read_again_says_the_same, every_trigger_survives_an_agents_restart,
        neighbours_are_one_range_in_whatever_order_they_come, NULL));
}
