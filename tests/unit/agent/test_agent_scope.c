/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that skein-agent has no live ring of: ended, refused, attached late. Each is named.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_daemon.h"
#include "clock.h"

static const char capture_a[] = "0123456789abcdef0123456789abcdef";
static const char capture_b[] = "b123456789abcdef0123456789abcdef";

static bool second_over(void *started_ns)
{
    return clock_monotonic_ns() - *(const uint64_t *)started_ns > UINT64_C(1200000000);
}

/* Starts the agent anew with these members in its config. */
static void restart_agent(const char *ring, const char *more)
{
    FAKE_WAIT(fake, hellos, 1); /* it takes signals by then */
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    ring_more = ring;
    write_config(more);
    ring_more = "";
    start_agent();
}

static void end_subject(void)
{
    ck_assert_int_eq(spawn_stop(subject, SIGTERM, 0), 0);
    subject = 0;
    free(fake_wait_report(fake, WORDS("\"kind\":\"processes\"", "\"state\":\"gone\"",
                                      "\"ended_ns\"", "\"service\":\"redis\"")));
}

START_TEST(a_process_that_has_just_ended_is_captured_from_its_ring)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    end_subject();
    command_capture(capture_a, id, 0);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"")));
    fake_wait_stored(fake, 1);
    check_partition(0, 1);
}
END_TEST

START_TEST(one_whose_ring_is_not_kept_any_more_is_named_with_its_time)
{
    char id[ID_TEXT_BYTES];
    restart_agent(",\"linger_ms\":0", "");
    start_subject();
    wait_attached(id);
    end_subject();
    command_capture(capture_a, id, 0);
    char *text = fake_wait_report(
        fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"failed\"", "has ended"));
    ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"ring_released\""));
    free(text);
    /* Of a window behind its end it held nothing. */
    command_capture_at(capture_b, id, 0, clock_realtime_ns() + UINT64_C(5000000000));
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_b, "\"state\":\"nothing\"")));
}
END_TEST

START_TEST(a_process_that_was_not_taken_is_logged_once_listed_and_named)
{
    char id[ID_TEXT_BYTES];
    restart_agent("", ",\"processes\":{\"max\":1}");
    start_subject();
    wait_attached(id);
    pid_t second = spawn((const char *const[]){AGENT_SUBJECT, socket_path, "late", NULL}, NULL);
    char *text = fake_wait_report(
        fake, WORDS("\"kind\":\"processes\"", "\"not_recorded\":\"attach_refused\""));
    const char *at = strstr(text, "\"service\":\"late\"");
    ck_assert_ptr_nonnull(at);
    while (strncmp(at, "{\"process\"", 10) != 0)
        at--;
    snprintf(id, sizeof id, "%s", at + strlen("{\"process\":\""));
    free(text);
    command_capture(capture_a, id, 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"failed\"",
                                      "\"reason\":\"attach_refused\"", "processes.max")));
    ck_assert(wait_until(log_says, "refused service=late", 0));
    /* Its turn comes, and what it did before is missing. */
    end_subject();
    ck_assert(wait_until(log_says, "attached service=late", 0));
    command_capture(capture_b, id, 0);
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"target\"", capture_b, "\"reason\":\"attach_refused\"")));
    spawn_stop(second, SIGKILL, 0);
}
END_TEST

START_TEST(a_process_that_attaches_late_lacks_the_time_before)
{
    char id[ID_TEXT_BYTES];
    FAKE_WAIT(fake, hellos, 1);
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    agent = 0;
    start_subject();
    uint64_t started_ns = clock_monotonic_ns();
    ck_assert(wait_until(second_over, &started_ns, 0));
    start_agent();
    wait_attached(id);
    command_capture(capture_a, id, 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a,
                                      "\"reason\":\"attached_late\"", "\"partitions\":[{")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_scope");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, agent_setup, agent_teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, a_process_that_has_just_ended_is_captured_from_its_ring);
    tcase_add_test(tc, one_whose_ring_is_not_kept_any_more_is_named_with_its_time);
    tcase_add_test(tc, a_process_that_was_not_taken_is_logged_once_listed_and_named);
    tcase_add_test(tc, a_process_that_attaches_late_lacks_the_time_before);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
