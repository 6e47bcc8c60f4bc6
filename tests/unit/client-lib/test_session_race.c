/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that miss their first events, or that have a ring for the first time, while another thread
 * is held in the middle of the same.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_agent.h"
#include "skein/skein.h"
#include "support.h"
#include "sys_raw.h"

static struct fake_agent agent;
static char *folder, *path;

/* ---- a thread is held at a point ---- */

static const char *held_at;         /* atomic; NULL: nobody is */
static uint32_t is_held, is_let_go; /* atomic */

/* Also on the visitor's thread, which has no libc. */
static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

void skein_test_point(const char *name)
{
    const char *at = __atomic_load_n(&held_at, __ATOMIC_ACQUIRE);
    if (at == NULL || !is_same(name, at) ||
        !__atomic_compare_exchange_n(&held_at, &at, NULL, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&is_held);
    while (!__atomic_load_n(&is_let_go, __ATOMIC_ACQUIRE))
        (void)raw_futex_wait(&is_let_go, 0, UINT64_C(1000000000), 0);
}

static void hold(const char *name)
{
    is_held = is_let_go = 0;
    __atomic_store_n(&held_at, name, __ATOMIC_RELEASE);
}

static bool holds(void *unused)
{
    (void)unused;
    return __atomic_load_n(&is_held, __ATOMIC_ACQUIRE) != 0;
}

static void let_go(void)
{
    __atomic_store_n(&is_let_go, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&is_let_go);
}

/* ---- */

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

static const struct ring_process_record *record(void)
{
    pthread_mutex_lock(&agent.mutex);
    const struct fake_ring *ring = &agent.peers[0].ring;
    pthread_mutex_unlock(&agent.mutex);
    return (const struct ring_process_record *)(const void *)(ring->ring +
                                                              ring->geometry.process_off);
}

static bool has_begun(void *unused)
{
    (void)unused;
    return skein_load64(&record()->began_ns) != 0;
}

static void *event_write(void *unused)
{
    SKEIN_INSTANT("missed");
    return unused;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The first of twelve threads is held before it has looked at the clock. The events of the others
 * are missed meanwhile, and the gap has to begin before them. */
START_TEST(first_events_that_many_threads_miss_at_once_are_all_in_the_gap)
{
    pthread_t first, others[11];
    start();
    hold("first_miss_seen");
    pthread_create(&first, NULL, event_write, NULL);
    ck_assert(wait_until(holds, NULL, 0));
    for (size_t i = 0; i < 11; i++)
        pthread_create(&others[i], NULL, event_write, NULL);
    for (size_t i = 0; i < 11; i++)
        pthread_join(others[i], NULL);
    uint64_t missed_by_ns = now_ns();
    let_go();
    pthread_join(first, NULL);
    agent_start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(has_begun, NULL, 0));
    ck_assert_uint_ne(record()->missed_ns, 0);
    ck_assert_uint_le(record()->missed_ns, missed_by_ns);
    finish();
}
END_TEST

/* The ring is there, and events do not go to it yet. */
START_TEST(an_event_that_comes_as_the_ring_does_is_in_the_ring_or_in_the_gap)
{
    start();
    hold("ring_swapped");
    agent_start();
    ck_assert(wait_until(holds, NULL, 0));
    event_write(NULL);
    uint64_t missed_by_ns = now_ns();
    let_go();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(has_begun, NULL, 0));
    ck_assert_uint_ne(record()->missed_ns, 0);
    ck_assert_uint_le(record()->missed_ns, missed_by_ns);
    finish();
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("session_race", first_events_that_many_threads_miss_at_once_are_all_in_the_gap,
                 an_event_that_comes_as_the_ring_does_is_in_the_ring_or_in_the_gap, NULL));
}
