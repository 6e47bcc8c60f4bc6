/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer threads, threads that come and go, generation switches and a reader that pins and decodes,
 * all at once on a small ring: meant for ThreadSanitizer. SKEIN_STRESS_MS sets its length.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"

#define WRITERS 3

static struct fake_agent agent;
static struct fake_ring ring;
static uint32_t stop;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *writer(void *context)
{
    static struct skein_string text = SKEIN_STRING("interned");
    uint64_t t = (uint64_t)(uintptr_t)context;
    for (uint64_t i = 0; !skein_slot_load32(&stop); i++) {
        SKEIN_REGION("step");
        SKEIN_INSTANT("n", (u64, "t", t), (u64, "i", i));
        if (i % 16 == 0)
            SKEIN_INSTANT("sym", (sym, "s", &text), (str, "c", "copied"));
    }
    return NULL;
}

static void *visitor(void *unused)
{
    for (int i = 0; i < 5; i++)
        SKEIN_INSTANT("visit");
    return unused;
}

static void *churn(void *unused)
{
    while (!skein_slot_load32(&stop)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, visitor, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return unused;
}

/* Each thread's values rise within every ring that the reader sees. */
static void check_order(const struct decoded_ring *decoded)
{
    uint64_t next[WRITERS] = {0};
    for (size_t i = 0; i < decoded->event_count; i++) {
        const struct decoded_event *e = &decoded->events[i];
        if (e->kind != DECODED_EVENT || strcmp(e->name, "n") != 0)
            continue;
        uint64_t t = e->args[0].u64;
        ck_assert_uint_lt(t, WRITERS);
        ck_assert_uint_ge(e->args[1].u64, next[t]);
        next[t] = e->args[1].u64 + 1;
    }
}

START_TEST(writers_and_a_reader_share_a_small_ring)
{
    const char *length = getenv("SKEIN_STRESS_MS");
    uint64_t until = now_ms() + (length ? strtoull(length, NULL, 10) : 1000);
    pthread_t threads[WRITERS], churner;
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, 1 << 19);
    for (uintptr_t t = 0; t < WRITERS; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, writer, (void *)t), 0);
    ck_assert_int_eq(pthread_create(&churner, NULL, churn, NULL), 0);
    uint64_t rounds = 0;
    for (; now_ms() < until; rounds++) {
        struct decoded_ring decoded;
        skein_generation_store(&agent.host->generation, 8 + rounds);
        bool good = ring_decode(ring.ring, &ring.geometry, &decoded);
        ck_assert_msg(good, "%s", decoded.error);
        check_order(&decoded);
        ring_decode_free(&decoded);
    }
    skein_slot_store32(&stop, 1);
    for (int t = 0; t < WRITERS; t++)
        pthread_join(threads[t], NULL);
    pthread_join(churner, NULL);
    ck_assert_uint_gt(rounds, 0);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_threads", writers_and_a_reader_share_a_small_ring, NULL));
}
