/* SPDX-License-Identifier: Apache-2.0 */
#include "uplink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_collector.h"
#include "support.h"
#include "target_result.h"
#include "wire.h"

static char *folder;
static struct spool *spool;
static struct fake_collector *fake;
static struct uplink *uplink;
static uint64_t commands, welcomes; /* atomic */
static const struct capture_id capture = {{1}};
static const struct process_uid process = {{2}};

static void on_command(void *context, struct agent_command *command)
{
    (void)context;
    uplink_command_ack(uplink, command->frame_id, command->says.command, NULL);
    agent_command_free(&command);
    __atomic_add_fetch(&commands, 1, __ATOMIC_RELAXED);
}

static void on_welcome(void *context, uint64_t rules_generation)
{
    (void)context;
    (void)rules_generation;
    __atomic_add_fetch(&welcomes, 1, __ATOMIC_RELAXED);
}

#define RESEND_MS 100

static void start_uplink(uint64_t resend_ms)
{
    struct uplink_settings settings = {.control_address = fake_control_address(fake),
                                       .data_address = fake_data_address(fake),
                                       .host = "h",
                                       .version = "1",
                                       .boot = "b",
                                       .labels = "zone=a",
                                       .agent = 0xabc,
                                       .epoch = 1,
                                       .heartbeat_ms = 100,
                                       .resend_ms = resend_ms,
                                       .idle_ms = 100,
                                       .spool = spool};
    struct uplink_hooks hooks = {.command = on_command, .welcomed = on_welcome};
    ck_assert_int_eq(uplink_new(&settings, &hooks, &uplink), SKEIN_OK);
    ck_assert_int_eq(uplink_start(uplink), SKEIN_OK);
}

static void setup(void)
{
    folder = temp_dir_new();
    struct spool_settings settings = {
        .folder = folder, .max_bytes = 256 << 20, .amend = target_result_amend};
    char error[256];
    ck_assert_int_eq(spool_open(&settings, &spool, error, sizeof error), SKEIN_OK);
    fake = fake_collector_new(100);
    start_uplink(RESEND_MS);
}

static void teardown(void)
{
    uplink_free(&uplink, 0);
    fake_collector_free(&fake);
    spool_close(&spool);
    temp_dir_free(&folder);
}

static void put(uint64_t sequence, size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 31 + sequence);
    struct spool_head head = {.capture = capture, .key = {process, 1, sequence}, .events = 1};
    ck_assert_int_eq(spool_put(spool, &head, bytes, n), SKEIN_OK);
    free(bytes);
    spool_release(spool, &capture, &process);
    uplink_wake(uplink);
}

static bool spool_is_empty(void *context)
{
    (void)context;
    struct spool_counters c;
    spool_count(spool, &c);
    return c.partitions == 0 && c.reports == 0;
}

static struct fake_counters counters(void)
{
    struct fake_counters c;
    fake_count(fake, &c);
    return c;
}

START_TEST(says_hello_then_heartbeats)
{
    FAKE_WAIT(fake, heartbeats, 2);
    ck_assert_uint_eq(counters().hellos, 1);
}
END_TEST

START_TEST(says_hello_again_when_asked)
{
    FAKE_WAIT(fake, heartbeats, 1);
    fake_ask_hello(fake);
    FAKE_WAIT(fake, hellos, 2);
}
END_TEST

START_TEST(finds_a_collector_that_came_back)
{
    FAKE_WAIT(fake, heartbeats, 1);
    fake_collector_die(fake);
    fake_collector_live(fake);
    fake_ask_hello(fake);
    FAKE_WAIT(fake, hellos, 2);
}
END_TEST

START_TEST(a_silent_collector_is_dialled_anew)
{
    FAKE_WAIT(fake, heartbeats, 1);
    fake_mute(fake, true);
    FAKE_WAIT(fake, heartbeats, 6);
    struct agent_counters c;
    uplink_count(uplink, &c);
    ck_assert_uint_ge(c.redials, 1);
    fake_mute(fake, false);
    uint64_t before = counters().heartbeats;
    FAKE_WAIT(fake, heartbeats, before + 2);
}
END_TEST

START_TEST(partitions_of_many_chunks_arrive_whole_and_leave_the_spool)
{
    put(0, 10);
    put(1, 3 * WIRE_CHUNK_MAX + 17);
    put(2, 12 * WIRE_CHUNK_MAX); /* larger than the window */
    put(3, WIRE_CHUNK_MAX);
    fake_wait_stored(fake, 4);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().checksum_failures, 0);
    ck_assert_uint_eq(counters().stored, 4);
}
END_TEST

START_TEST(unanswered_partitions_are_sent_again)
{
    fake_hold_acks(fake, true);
    put(0, 1000);
    FAKE_WAIT(fake, stored_again, 1);
    fake_hold_acks(fake, false);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().stored, 1);
}
END_TEST

START_TEST(a_retry_resumes_where_the_collector_says)
{
    uplink_free(&uplink, 0);
    start_uplink(600000); /* a collector that is slow to answer must not count as silent */
    fake_answer_partitions(fake, WIRE_RETRY, 2, 1);
    put(0, 3 * WIRE_CHUNK_MAX);
    fake_wait_stored(fake, 1);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().chunks, 4); /* all three, then the third */
}
END_TEST

START_TEST(rejected_partitions_leave_the_queue_and_are_counted)
{
    fake_answer_partitions(fake, WIRE_REJECTED, 0, 1);
    put(0, 1000);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    struct spool_counters c;
    spool_count(spool, &c);
    ck_assert_uint_eq(c.rejected, 1);
    ck_assert_uint_eq(c.lost_partitions, 1);
}
END_TEST

START_TEST(uploads_survive_the_death_of_the_collector)
{
    for (uint64_t i = 0; i < 20; i++) {
        put(i, 300000);
        if (i == 5)
            fake_collector_die(fake);
        if (i == 12)
            fake_collector_live(fake);
    }
    fake_wait_stored(fake, 20);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().stored, 20);
}
END_TEST

START_TEST(what_arrives_was_not_lost)
{
    uplink_free(&uplink, 0);
    spool_close(&spool);
    struct spool_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .amend = target_result_amend};
    char error[256];
    ck_assert_int_eq(spool_open(&settings, &spool, error, sizeof error), SKEIN_OK);
    start_uplink(600000);
    fake_hold_acks(fake, true);
    for (uint64_t i = 0; i < 6; i++) { /* three times what there is room for, all of it sent */
        put(i, 500000);
        fake_wait_stored(fake, i + 1);
    }
    fake_hold_acks(fake, false);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    struct spool_counters c;
    spool_count(spool, &c);
    ck_assert_uint_eq(c.lost_partitions, 0);
    ck_assert_uint_eq(counters().stored, 6);
}
END_TEST

START_TEST(the_spool_goes_up_after_a_restart_of_the_agent)
{
    fake_hold_acks(fake, true);
    for (uint64_t i = 0; i < 5; i++)
        put(i, 1000);
    fake_wait_stored(fake, 1);
    uplink_free(&uplink, 0);
    fake_hold_acks(fake, false);
    start_uplink(RESEND_MS);
    fake_wait_stored(fake, 5);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().stored, 5);
}
END_TEST

START_TEST(journalled_reports_are_repeated_until_acknowledged)
{
    fake_drop_reports(fake, 1);
    ck_assert_int_eq(
        spool_report_put(spool, SPOOL_FIRED, 0, &capture, &process, "{\"kind\":\"fired\"}", 16),
        SKEIN_OK);
    uplink_wake(uplink);
    FAKE_WAIT(fake, reports, 2);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
}
END_TEST

START_TEST(a_target_waits_for_its_fired_report)
{
    fake_drop_reports(fake, 1);
    ck_assert_int_eq(
        spool_report_put(spool, SPOOL_FIRED, 0, &capture, &process, "{\"kind\":\"fired\"}", 16),
        SKEIN_OK);
    ck_assert_int_eq(
        spool_report_put(spool, SPOOL_TARGET, 0, &capture, &process, "{\"kind\":\"target\"}", 17),
        SKEIN_OK);
    uplink_wake(uplink);
    FAKE_WAIT(fake, reports, 3); /* fired, fired again, target */
    free(fake_wait_report(fake, (const char *const[]){"target", NULL}));
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().reports, 3);
}
END_TEST

START_TEST(a_refused_report_is_not_repeated)
{
    fake_refuse_reports(fake, true);
    ck_assert_int_eq(spool_report_put(spool, SPOOL_FIRED, 0, &capture, &process, "{}", 2),
                     SKEIN_OK);
    uplink_wake(uplink);
    ck_assert(wait_until(spool_is_empty, NULL, 0));
    ck_assert_uint_eq(counters().reports, 1);
}
END_TEST

START_TEST(commands_arrive_and_are_answered)
{
    FAKE_WAIT(fake, hellos, 1);
    fake_command(
        fake,
        "{\"command\":\"c1\",\"kind\":\"stop\",\"capture\":\"00112233445566778899aabbccddeeff\"}");
    FAKE_WAIT(fake, command_acks, 1);
    fake_command(fake, "{\"command\":\"c2\",\"kind\":\"dance\"}");
    FAKE_WAIT(fake, commands_failed, 1);
    ck_assert_uint_eq(__atomic_load_n(&commands, __ATOMIC_RELAXED), 1);
}
END_TEST

/* A CAPTURE command that lets the next upload begin only so much later. */
static void command_hold(unsigned after_ms)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"command\":\"c3\",\"kind\":\"capture\",\"capture\":"
             "\"00112233445566778899aabbccddeeff\",\"at_ns\":1,\"upload_after_ms\":%u,"
             "\"processes\":[\"02000000000000000000000000000000\"]}",
             after_ms);
    uint64_t before = counters().command_acks;
    fake_command(fake, text);
    FAKE_WAIT(fake, command_acks, before + 1);
}

START_TEST(a_command_may_hold_uploads_back)
{
    FAKE_WAIT(fake, hellos, 1);
    command_hold(3600000);
    put(0, 10);
    uint64_t before = counters().heartbeats;
    FAKE_WAIT(fake, heartbeats, before + 3);
    ck_assert_uint_eq(counters().stored, 0);
    uplink_free(&uplink, 0);
    start_uplink(RESEND_MS); /* which knows of no command */
    fake_wait_stored(fake, 1);
}
END_TEST

START_TEST(uploads_held_back_go_up_in_time)
{
    FAKE_WAIT(fake, hellos, 1);
    command_hold(150);
    put(0, 10);
    fake_wait_stored(fake, 1);
}
END_TEST

START_TEST(garbage_from_a_false_collector_changes_nothing)
{
    FAKE_WAIT(fake, heartbeats, 1);
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 500; i++) {
        uint8_t bytes[300];
        for (size_t j = 0; j < sizeof bytes; j++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[j] = (uint8_t)seed;
        }
        size_t n = 1 + seed % sizeof bytes;
        if (i % 2 == 0 && n > WIRE_HEADER_BYTES) /* a good frame with a bad body */
            wire_frame_seal(bytes, (uint8_t)(i % 20), seed, n - WIRE_HEADER_BYTES);
        fake_send_raw(fake, bytes, n);
    }
    uint64_t before = counters().heartbeats;
    FAKE_WAIT(fake, heartbeats, before + 2);
    put(0, 1000);
    fake_wait_stored(fake, 1);
}
END_TEST

static bool offset_is_near_an_hour(void *context)
{
    (void)context;
    int64_t offset = uplink_clock_offset(uplink), hour = INT64_C(3600000000000),
            second = 1000000000;
    return offset > hour - second && offset < hour + second;
}

START_TEST(the_collectors_clock_is_estimated)
{
    ck_assert_int_eq(uplink_clock_offset(uplink), 0);
    fake_clock_offset(fake, INT64_C(3600000000000));
    ck_assert(wait_until(offset_is_near_an_hour, NULL, 0));
}
END_TEST

START_TEST(a_newer_report_of_the_same_key_replaces_the_older)
{
    fake_collector_die(fake);
    ck_assert_int_eq(uplink_report(uplink, "k", NULL, NULL, "{\"n\":1}", 7), SKEIN_OK);
    ck_assert_int_eq(uplink_report(uplink, "k", NULL, NULL, "{\"n\":2}", 7), SKEIN_OK);
    fake_collector_live(fake);
    fake_ask_hello(fake);
    free(fake_wait_report(fake, (const char *const[]){"\"n\":2", NULL}));
    ck_assert_ptr_null(fake_report(fake, (const char *const[]){"\"n\":1", NULL}));
}
END_TEST

START_TEST(an_end_waits_for_what_is_under_way)
{
    FAKE_WAIT(fake, heartbeats, 1);
    for (uint64_t i = 0; i < 10; i++)
        put(i, 100000);
    uplink_free(&uplink, support_deadline_ms());
    ck_assert_uint_eq(counters().stored, 10);
    ck_assert(spool_is_empty(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uplink");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, says_hello_then_heartbeats);
    tcase_add_test(tc, says_hello_again_when_asked);
    tcase_add_test(tc, finds_a_collector_that_came_back);
    tcase_add_test(tc, a_silent_collector_is_dialled_anew);
    tcase_add_test(tc, partitions_of_many_chunks_arrive_whole_and_leave_the_spool);
    tcase_add_test(tc, unanswered_partitions_are_sent_again);
    tcase_add_test(tc, a_retry_resumes_where_the_collector_says);
    tcase_add_test(tc, rejected_partitions_leave_the_queue_and_are_counted);
    tcase_add_test(tc, uploads_survive_the_death_of_the_collector);
    tcase_add_test(tc, what_arrives_was_not_lost);
    tcase_add_test(tc, the_spool_goes_up_after_a_restart_of_the_agent);
    tcase_add_test(tc, journalled_reports_are_repeated_until_acknowledged);
    tcase_add_test(tc, a_target_waits_for_its_fired_report);
    tcase_add_test(tc, a_refused_report_is_not_repeated);
    tcase_add_test(tc, commands_arrive_and_are_answered);
    tcase_add_test(tc, a_command_may_hold_uploads_back);
    tcase_add_test(tc, uploads_held_back_go_up_in_time);
    tcase_add_test(tc, garbage_from_a_false_collector_changes_nothing);
    tcase_add_test(tc, the_collectors_clock_is_estimated);
    tcase_add_test(tc, a_newer_report_of_the_same_key_replaces_the_older);
    tcase_add_test(tc, an_end_waits_for_what_is_under_way);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
