/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that come and go share chunks: one goes on where another has ended, so that a ring holds
 * as many short threads as its bytes can. What is expected is computed from bytes; nothing here
 * depends on time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"
#include "writer_int.h"

#define EVENTS       10  /* of a short thread */
#define SEGMENT_MOST 256 /* bytes that such a thread takes, head and all */
#define LARGE_BYTES  ((SANITIZED ? 4u : 16u) << 20)

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;
static uint64_t number; /* of all events */

static void attach(uint8_t mode, uint64_t bytes)
{
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, mode, bytes);
}

static void decode(void)
{
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
}

static const struct ring_header *header(void)
{
    return (const struct ring_header *)(const void *)ring.ring;
}

static void write_events(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);
        SKEIN_INSTANT("short", (u64, "n", n));
    }
}

static void *short_thread(void *context)
{
    write_events((uint64_t)(uintptr_t)context);
    return NULL;
}

static void short_threads(unsigned count, uint64_t events)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        ck_assert_int_eq(
            pthread_create(&thread, &attributes, short_thread, (void *)(uintptr_t)events), 0);
        pthread_join(thread, NULL);
    }
    pthread_attr_destroy(&attributes);
}

static const struct decoded_chunk *chunk_of(const struct decoded_event *e)
{
    return &decoded.chunks[e->chunk];
}

START_TEST(threads_one_after_the_other_share_a_chunk)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    short_threads(6, EVENTS);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "short"), 6 * EVENTS);
    const struct decoded_chunk *before = NULL;
    for (uint64_t n = 0; n < 6 * EVENTS; n += EVENTS) {
        size_t i = 0;
        while (decoded_nth(&decoded, "short", i)->args[0].u64 != n)
            i++;
        const struct decoded_chunk *c = chunk_of(decoded_nth(&decoded, "short", i));
        ck_assert_uint_eq(c->head.sequence, 0);
        ck_assert_uint_eq(c->index, 0);
        ck_assert_uint_eq((c->offset - sizeof(struct ring_segment)) % RING_SEGMENT_ALIGN,
                          before ? 0 : offsetof(struct ring_chunk, first));
        ck_assert(!before ||
                  (c->head.base_ticks > before->head.base_ticks &&
                   c->offset > before->offset + before->bytes && c->head.tid != before->head.tid));
        before = c;
    }
}
END_TEST

START_TEST(short_threads_have_the_whole_ring)
{
    attach(SKEIN_MODE_CIRCULAR, LARGE_BYTES);
    unsigned threads = LARGE_BYTES / 4 * 3 / SEGMENT_MOST;
    ck_assert_uint_gt(threads, SANITIZED ? 12000 : 49000);
    short_threads(threads, EVENTS);
    decode();
    ck_assert_uint_eq(header()->overwritten_ticks, 0);
    ck_assert_uint_eq(decoded_count(&decoded, "short"), (uint64_t)threads * EVENTS);
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

struct lane {
    unsigned threads;
    pthread_t thread;
};

static void *lane_run(void *context)
{
    const struct lane *lane = context;
    short_threads(lane->threads, EVENTS);
    return NULL;
}

/* Loop test: two to its power at a time. The quarter that nobody fills has room for two big chunks of each
 * lane, of which it may hold one that is not full. */
START_TEST(short_threads_side_by_side_have_it_too)
{
    const unsigned lanes = 1u << _i, least = LARGE_BYTES / 4;
    const unsigned bytes = lanes << 18 > least ? lanes << 18 : least;
    const unsigned each = bytes / 4 * 3 / SEGMENT_MOST / lanes;
    struct lane all[32];
    attach(SKEIN_MODE_CIRCULAR, bytes);
    for (unsigned i = 0; i < lanes; i++) {
        all[i].threads = each;
        ck_assert_int_eq(pthread_create(&all[i].thread, NULL, lane_run, &all[i]), 0);
    }
    for (unsigned i = 0; i < lanes; i++)
        pthread_join(all[i].thread, NULL);
    decode();
    ck_assert_uint_eq(header()->overwritten_ticks, 0);
    ck_assert_uint_eq(decoded_count(&decoded, "short"), (uint64_t)each * lanes * EVENTS);
}
END_TEST

/* The latest of them, of many more than there is room for, and what a slow thread wrote meanwhile,
 * that began among them. */
struct slow {
    pthread_barrier_t turn;
    unsigned turns;
    uint32_t written; /* atomic */
};

static void *slow_thread(void *context)
{
    struct slow *slow = context;
    for (uint64_t i = 0; i < slow->turns; i++) {
        pthread_barrier_wait(&slow->turn);
        SKEIN_INSTANT("slow", (u64, "n", i), (u64, "after", skein_load64(&number)));
        __atomic_add_fetch(&slow->written, 1, __ATOMIC_RELEASE);
        pthread_barrier_wait(&slow->turn);
    }
    return NULL;
}

START_TEST(a_slow_thread_among_short_ones_reaches_as_far_back)
{
    struct slow slow = {.turns = 2000};
    pthread_t thread;
    attach(SKEIN_MODE_CIRCULAR, 4 << 20);
    const uint64_t kept = (4 << 20) / 4 * 3 / SEGMENT_MOST * EVENTS;
    short_threads(50, EVENTS);
    pthread_barrier_init(&slow.turn, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, slow_thread, &slow), 0);
    for (unsigned i = 0; i < slow.turns; i++) {
        short_threads(12, EVENTS);
        pthread_barrier_wait(&slow.turn);
        pthread_barrier_wait(&slow.turn);
    }
    pthread_join(thread, NULL);
    decode();
    ck_assert_uint_gt(header()->overwritten_ticks, 0);
    ck_assert_uint_gt(number, kept + 50000);
    size_t young = 0, slow_count = decoded_count(&decoded, "slow");
    for (size_t i = 0; i < decoded.event_count; i++)
        young += decoded.events[i].kind == DECODED_EVENT &&
                 strcmp(decoded.events[i].name, "short") == 0 &&
                 decoded.events[i].args[0].u64 >= number - kept;
    ck_assert_uint_eq(young, kept);
    ck_assert_uint_ge(slow_count, kept / (12 * EVENTS));
    uint64_t first = decoded_nth(&decoded, "slow", slow_count - kept / (12 * EVENTS))->args[0].u64;
    ck_assert_uint_eq(first, slow.turns - kept / (12 * EVENTS)); /* none is missing since */
}
END_TEST

START_TEST(a_thread_goes_on_behind_what_it_shared)
{
    attach(SKEIN_MODE_CIRCULAR, 4 << 20);
    for (int i = 0; i < 20; i++) {
        short_threads(1, 3);
        short_threads(1, 3000);
    }
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "short"), 20 * 3003);
    ck_assert_uint_eq(decoded.lost, 0);
    for (size_t i = 1; i < decoded.chunk_count; i++) {
        const struct ring_segment *a = &decoded.chunks[i - 1].head, *b = &decoded.chunks[i].head;
        if (a->slot == b->slot && a->incarnation == b->incarnation && a->tid == b->tid)
            ck_assert_uint_eq(b->sequence, a->sequence + 1);
        else
            ck_assert_uint_eq(b->sequence, 0);
    }
}
END_TEST

/* Where all chunks are some thread's, those that come and go have one among them. */
START_TEST(without_a_free_chunk_threads_share_the_last)
{
    struct slow slow = {.turns = 1};
    pthread_t threads[64];
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN);
    unsigned count = ring_small_count(&ring.geometry) + ring_big_count(&ring.geometry) - 1;
    pthread_barrier_init(&slow.turn, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, slow_thread, &slow), 0);
    pthread_barrier_wait(&slow.turn);
    while (__atomic_load_n(&slow.written, __ATOMIC_ACQUIRE) < count)
        sched_yield();
    short_threads(300, EVENTS);
    ck_assert_uint_eq(skein_total_load(&header()->num_records_dropped), 0);
    pthread_barrier_wait(&slow.turn);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "slow"), count);
    ck_assert_ptr_nonnull(decoded_nth(&decoded, "short", 0));
}
END_TEST

START_TEST(a_oneshot_ring_fills_to_its_end)
{
    attach(SKEIN_MODE_ONESHOT, RING_BYTES_MIN);
    short_threads(1000, EVENTS);
    decode();
    size_t kept = decoded_count(&decoded, "short");
    ck_assert_uint_eq(kept + skein_total_load(&header()->num_records_dropped), 1000 * EVENTS);
    ck_assert_uint_ge(kept, RING_BYTES_MIN / 2 / SEGMENT_MOST * EVENTS);
    ck_assert_uint_eq(decoded_nth(&decoded, "short", 0)->kind, DECODED_EVENT);
}
END_TEST

/* A chunk of many threads goes as a whole, and the horizon tells of the last of them. */
START_TEST(the_horizon_is_the_end_of_all_that_shared_a_chunk)
{
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN);
    short_threads(3000, EVENTS);
    decode();
    uint64_t horizon = header()->overwritten_ticks, latest_gone = 0, first = number;
    ck_assert_uint_gt(horizon, 0);
    for (size_t i = 0; i < decoded.event_count; i++)
        if (decoded.events[i].args[0].u64 < first)
            first = decoded.events[i].args[0].u64;
    for (size_t i = 0; i < decoded.event_count; i++)
        if (decoded.events[i].ticks <= horizon)
            latest_gone++;
    /* All are of one row, so whatever is there is younger than the horizon, and nothing between. */
    ck_assert_uint_eq(latest_gone, 0);
    ck_assert_uint_eq(decoded_count(&decoded, "short"), number - first);
}
END_TEST

/* ---- which of those that were left one goes on in ---- */

/* How many chunks some thread, or nobody, is writing. */
static uint32_t writing(void)
{
    uint32_t count = 0, small = ring_small_count(&ring.geometry);
    for (uint32_t i = 0; i < small + ring_big_count(&ring.geometry); i++) {
        uint64_t offset = i < small ? ring_small_offset(&ring.geometry, i)
                                    : ring_big_offset(&ring.geometry, i - small);
        const struct ring_chunk *chunk =
            (const struct ring_chunk *)(const void *)(ring.ring + offset);
        count += (chunk->state & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING;
    }
    return count;
}

/* Two that write at a time, so that each has a chunk of its own; the first ends first. */
struct pair {
    pthread_barrier_t both;
    pthread_t thread[2];
    unsigned events[2];
};

#define TEXT_EVENT 104 /* bytes of it, two more or less */

static void write_texts(unsigned count)
{
    char text[101];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (unsigned i = 0; i < count; i++)
        SKEIN_INSTANT("text", (str, "s", text));
}

static void *pair_first(void *context)
{
    struct pair *pair = context;
    write_texts(pair->events[0]);
    pthread_barrier_wait(&pair->both);
    return NULL;
}

static void *pair_second(void *context)
{
    struct pair *pair = context;
    write_texts(pair->events[1]);
    pthread_barrier_wait(&pair->both);
    pthread_join(pair->thread[0], NULL);
    return NULL;
}

static void pair_run(unsigned first, unsigned second)
{
    struct pair pair = {.events = {first, second}};
    pthread_barrier_init(&pair.both, NULL, 2);
    ck_assert_int_eq(pthread_create(&pair.thread[0], NULL, pair_first, &pair), 0);
    ck_assert_int_eq(pthread_create(&pair.thread[1], NULL, pair_second, &pair), 0);
    pthread_join(pair.thread[1], NULL);
    pthread_barrier_destroy(&pair.both);
}

static void *large_thread(void *unused)
{
    static char text[1001];
    memset(text, 'x', sizeof text - 1);
    SKEIN_INSTANT("large", (str, "s", text));
    return unused;
}

static void run_thread(void *(*body)(void *), void *context)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, context), 0);
    pthread_join(thread, NULL);
}

START_TEST(a_thread_passes_what_has_no_room_for_it)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_INSTANT("text", (str, "s", "of the main thread"));
    pair_run((RING_SMALL_CHUNK - 800) / TEXT_EVENT, 1);
    ck_assert_uint_eq(writing(), 3);
    run_thread(large_thread, NULL);
    ck_assert_uint_eq(writing(), 3); /* behind the second; the first is there for smaller ones */
    short_threads(1, 1);
    ck_assert_uint_eq(writing(), 3);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "large"), 1);
}
END_TEST

/* Nobody would ever go on there. */
START_TEST(a_chunk_without_room_for_another_is_retired_at_once)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_INSTANT("text", (str, "s", "of the main thread"));
    pair_run((RING_SMALL_CHUNK - sizeof(struct ring_chunk) - 200) / TEXT_EVENT, 1);
    ck_assert_uint_eq(writing(), 2);
}
END_TEST

static void *narrow_thread(void *unused)
{
    write_texts((RING_SMALL_CHUNK - 800) / TEXT_EVENT);
    return unused;
}

START_TEST(an_event_that_describes_itself_begins_no_segment_for_nothing)
{
    enum { LONG = 120 };
    static char name[LONG + 1];
    static struct skein_site wide = {
        .name = name, .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT, .nargs = 6};
    const union skein_value values[6] = {{.u64 = 1}};
    memset(name, 'w', LONG);
    for (int i = 0; i < 6; i++)
        wide.args[i] = (struct skein_arg_desc){SKEIN_T_U64, name, ""};
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    run_thread(narrow_thread, NULL);
    ck_assert_uint_eq(writing(), 1);
    ck_assert(skein_lock_try(&session_current()->table_lock));
    skein_emit(&wide, values); /* the main thread's first */
    skein_lock_release(&session_current()->table_lock);
    ck_assert_uint_eq(writing(), 2); /* the one with too little room is there for others */
    decode();
    ck_assert(decoded_nth(&decoded, name, 0)->self_described);
    for (size_t i = 0; i < decoded.chunk_count; i++)
        ck_assert_uint_gt(decoded.chunks[i].bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of(
        "chunk", threads_one_after_the_other_share_a_chunk, short_threads_have_the_whole_ring,
        a_slow_thread_among_short_ones_reaches_as_far_back, a_thread_goes_on_behind_what_it_shared,
        without_a_free_chunk_threads_share_the_last, a_oneshot_ring_fills_to_its_end,
        the_horizon_is_the_end_of_all_that_shared_a_chunk, a_thread_passes_what_has_no_room_for_it,
        a_chunk_without_room_for_another_is_retired_at_once,
        an_event_that_describes_itself_begins_no_segment_for_nothing, NULL);
    TCase *lanes = tcase_create("lanes");
    tcase_add_loop_test(lanes, short_threads_side_by_side_have_it_too, 1, 6);
    tcase_set_timeout(lanes, 120);
    suite_add_tcase(suite, lanes);
    return suite_run(suite);
}
