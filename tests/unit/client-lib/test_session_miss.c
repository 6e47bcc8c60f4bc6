/* SPDX-License-Identifier: Apache-2.0
 *
 * What a ring's process record says of the time before the ring, and of the process's end.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "session.h"
#include "skein/skein.h"
#include "support.h"

static struct fake_agent agent;
static char *folder, *path;

/* Stands in for the C library's, as libfaketime does. */
static time_t ahead_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += ahead_s;
    return result;
}

static void start(void)
{
    folder = temp_dir_new();
    path = path_join(folder, "a.sock");
    struct skein_options options = {
        .size = sizeof options, .service = "shop", .agent_socket = path};
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
}

static void agent_start(void)
{
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
}

static void finish(void)
{
    skein_stop();
    fake_agent_stop(&agent);
    temp_dir_free(&folder);
    free(path);
}

/* Of the nth that came. */
static const struct ring_process_record *record_of(unsigned n)
{
    pthread_mutex_lock(&agent.mutex);
    const struct fake_ring *ring = &agent.peers[n].ring;
    pthread_mutex_unlock(&agent.mutex);
    return (const struct ring_process_record *)(const void *)(ring->ring +
                                                              ring->geometry.process_off);
}

static bool has_begun(void *record)
{
    return skein_load64(&((struct ring_process_record *)record)->began_ns) != 0;
}

START_TEST(a_ring_says_since_when_events_came_that_it_has_not)
{
    start();
    SKEIN_INSTANT("nobody listens");
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    SKEIN_INSTANT("still nobody");
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    const struct ring_process_record *record = record_of(0);
    ck_assert(wait_until(has_begun, (void *)(uintptr_t)record, 0));
    ck_assert_uint_ne(record->missed_ns, 0);
    ck_assert_uint_lt(record->missed_ns, record->began_ns);
    finish();
}
END_TEST

START_TEST(another_clock_of_the_program_s_hides_no_gap)
{
    start();
    ahead_s = 1000000;
    SKEIN_INSTANT("nobody listens");
    ahead_s = 0;
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    const struct ring_process_record *record = record_of(0);
    ck_assert(wait_until(has_begun, (void *)(uintptr_t)record, 0));
    ck_assert_uint_ne(record->missed_ns, 0);
    ck_assert_uint_lt(record->missed_ns, record->began_ns);
    finish();
}
END_TEST

START_TEST(the_ring_of_a_program_that_was_silent_lacks_nothing)
{
    start();
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    const struct ring_process_record *record = record_of(0);
    ck_assert(wait_until(has_begun, (void *)(uintptr_t)record, 0));
    SKEIN_INSTANT("now");
    ck_assert_uint_eq(record->missed_ns, 0);
    finish();
}
END_TEST

static struct skein_site op_site =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_SLEEP, "sleep", (i64, "asked"), (i64, "result"));

/* The first one begins under the lure, the second when it is known already that events are missed.
 */
START_TEST(an_operation_that_began_before_the_ring_and_ends_in_it_is_there)
{
    const union skein_value values[2] = {{.i64 = 5}, {.i64 = 0}};
    start();
    struct skein_op first = skein_op_enter(&op_site, 5), second = skein_op_enter(&op_site, 6),
                    over = skein_op_enter(&op_site, 7);
    skein_op_leave(&over, 0, values);
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(has_begun, (void *)(uintptr_t)record_of(0), 0));
    skein_op_leave(&second, 0, values);
    skein_op_leave(&first, 0, values);

    struct decoded_ring decoded = {0};
    const struct fake_ring *ring = &agent.peers[0].ring;
    ck_assert_msg(ring_decode(ring->ring, &ring->geometry, &decoded), "%s", decoded.error);
    ck_assert_uint_eq(decoded_count(&decoded, "sleep"), 2);
    const struct decoded_event *inner = decoded_nth(&decoded, "sleep", 0),
                               *outer = decoded_nth(&decoded, "sleep", 1);
    ck_assert_int_eq(inner->args[0].i64, 6);
    ck_assert_int_eq(outer->args[0].i64, 5);
    ck_assert_uint_le(inner->ticks - inner->duration, record_of(0)->start_ticks);
    ck_assert_uint_gt(outer->duration, 0);
    ring_decode_free(&decoded);
    finish();
}
END_TEST

/* It is recorded whole, as most programs' first wait: the ring lacks nothing. */
START_TEST(an_operation_that_ends_in_the_ring_is_not_missed)
{
    const union skein_value values[2] = {{.i64 = 5}, {.i64 = 0}};
    start();
    struct skein_op first = skein_op_enter(&op_site, 5);
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    const struct ring_process_record *record = record_of(0);
    ck_assert(wait_until(has_begun, (void *)(uintptr_t)record, 0));
    skein_op_leave(&first, 0, values);
    ck_assert_uint_eq(record->missed_ns, 0);
    finish();
}
END_TEST

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Also where an event that came later was missed before it ended. */
START_TEST(an_operation_that_ended_before_the_ring_is_missed_from_its_begin)
{
    const union skein_value values[2] = {{.i64 = 5}, {.i64 = 0}};
    start();
    struct skein_op brief = skein_op_enter(&op_site, 4);
    skein_op_leave(&brief, UINT64_MAX, values); /* too short to be recorded at all */
    ck_assert_uint_eq(session_missed_ns(), 0);
    struct skein_op first = skein_op_enter(&op_site, 5);
    const uint64_t behind_ns = now_ns();
    while (now_ns() == behind_ns)
        continue;
    SKEIN_INSTANT("before the ring");
    ck_assert_uint_gt(session_missed_ns(), behind_ns);
    skein_op_leave(&first, 0, values);
    ck_assert_uint_le(session_missed_ns(), behind_ns);
    const uint64_t missed_ns = session_missed_ns();
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert_uint_eq(record_of(0)->missed_ns, missed_ns);
    finish();
}
END_TEST

static void child_ends(bool by_handlers)
{
    SKEIN_INSTANT("before the ring");
    if (skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
        _exit(1);
    if (by_handlers)
        exit(7);
    _exit(7);
}

static const struct ring_process_record *child_record(bool by_handlers, unsigned n)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        child_ends(by_handlers);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    ck_assert_uint_eq(record_of(n)->pid, (uint32_t)pid);
    return record_of(n);
}

START_TEST(an_exit_says_its_status_and_a_bare_one_nothing)
{
    start();
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    const struct ring_process_record *record = child_record(true, 1);
    ck_assert_uint_eq(record->exit_said, RING_EXIT_SAID);
    ck_assert_int_eq(record->exit_status, 7);
    ck_assert_uint_ne(record->missed_ns, 0);
    ck_assert_uint_eq(child_record(false, 2)->exit_said, 0);
    ck_assert_uint_eq(record_of(0)->exit_said, 0);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("session_miss", a_ring_says_since_when_events_came_that_it_has_not,
                            another_clock_of_the_program_s_hides_no_gap,
                            the_ring_of_a_program_that_was_silent_lacks_nothing,
                            an_operation_that_began_before_the_ring_and_ends_in_it_is_there,
                            an_operation_that_ends_in_the_ring_is_not_missed,
                            an_operation_that_ended_before_the_ring_is_missed_from_its_begin, NULL);
    if (!SKEIN_UNDER_TSAN) { /* which starts no thread in a fork child */
        TCase *forks = tcase_create("forks");
        tcase_add_test(forks, an_exit_says_its_status_and_a_bare_one_nothing);
        tcase_set_timeout(forks, 280);
        suite_add_tcase(suite, forks);
    }
    return suite_run(suite);
}
