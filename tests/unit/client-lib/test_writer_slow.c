/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer puts into a ring, read back by the test decoder: every argument type, regions,
 * generations, loss in its place, and the ring's modes.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;

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

static struct ring_header *header(void)
{
    return (struct ring_header *)(void *)ring.ring;
}

START_TEST(every_argument_type_comes_back)
{
    static struct skein_string text = SKEIN_STRING("interned");
    struct skein_sequence sequence = {77, 5};
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    skein_sequence_next(&sequence);
    SKEIN_INSTANT("numbers", (u64, "u", UINT64_MAX), (i64, "i", INT64_MIN), (f64, "f", 2.5),
                  (boolean, "b", 3 > 2), (ptr, "p", (void *)0x1234), (i64, "small", -3));
    SKEIN_INSTANT("texts", (str, "s", "copied"), (sym, "y", &text), (seq, "q", &sequence),
                  (str, "none", NULL));
    SKEIN_INSTANT("plain");
    decode();
    const struct decoded_event *e = decoded_nth(&decoded, "numbers", 0);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->nargs, 6);
    ck_assert_uint_eq(e->args[0].u64, UINT64_MAX);
    ck_assert_int_eq(e->args[1].i64, INT64_MIN);
    ck_assert(e->args[2].f64 == 2.5);
    ck_assert_uint_eq(e->args[3].u64, 1);
    ck_assert_uint_eq(e->args[4].u64, 0x1234);
    ck_assert_int_eq(e->args[5].i64, -3);
    ck_assert_str_eq(e->args[5].name, "small");
    e = decoded_nth(&decoded, "texts", 0);
    ck_assert_str_eq(e->args[0].text, "copied");
    ck_assert_str_eq(e->args[1].text, "interned");
    ck_assert_uint_eq(e->args[2].u64, 77);
    ck_assert_uint_eq(e->args[2].number, 6);
    ck_assert_str_eq(e->args[3].text, "");
    ck_assert_uint_eq(decoded_count(&decoded, "plain"), 1);
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

START_TEST(long_texts_are_cut_and_marked)
{
    static char text[3000];
    memset(text, 'x', sizeof text - 1);
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_INSTANT("long", (str, "s", text));
    text[SKEIN_STR_MAX] = 0;
    SKEIN_INSTANT("fits", (str, "s", text));
    decode();
    ck_assert(decoded_nth(&decoded, "long", 0)->args[0].cut);
    ck_assert_uint_eq(strlen(decoded_nth(&decoded, "long", 0)->args[0].text), SKEIN_STR_MAX);
    ck_assert(!decoded_nth(&decoded, "fits", 0)->args[0].cut);
    ck_assert_uint_eq(strlen(decoded_nth(&decoded, "fits", 0)->args[0].text), SKEIN_STR_MAX);
}
END_TEST

START_TEST(counters_and_logs_have_their_classes)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_COUNTER("depth", -4);
    SKEIN_COUNTER_F64("load", 0.5);
    SKEIN_LOG(SKEIN_WARN, "retrying");
    decode();
    ck_assert_uint_eq(decoded_nth(&decoded, "depth", 0)->klass, SKEIN_CLASS_COUNTER);
    ck_assert_int_eq(decoded_nth(&decoded, "depth", 0)->args[0].i64, -4);
    ck_assert(decoded_nth(&decoded, "load", 0)->args[0].f64 == 0.5);
    const struct decoded_event *log = decoded_nth(&decoded, "log", 0);
    ck_assert_uint_eq(log->klass, SKEIN_CLASS_LOG);
    ck_assert_uint_eq(log->group, SKEIN_GROUP_LOG);
    ck_assert_uint_eq(log->args[0].u64, SKEIN_WARN);
    ck_assert_str_eq(log->args[1].text, "retrying");
}
END_TEST

static int kinds(char *out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < decoded.event_count && n + 1 < room; i++) {
        const struct decoded_event *e = &decoded.events[i];
        out[n++] = e->kind == DECODED_END                ? ')'
                   : e->kind == DECODED_OPEN             ? '['
                   : e->kind == DECODED_LOST             ? '!'
                   : e->klass == SKEIN_CLASS_RANGE_BEGIN ? '('
                                                         : '.';
    }
    out[n] = 0;
    return (int)n;
}

static int region_with_return(int n)
{
    SKEIN_REGION("early", (i64, "n", n));
    if (n > 1)
        return n;
    SKEIN_INSTANT("inside");
    return 0;
}

START_TEST(regions_close_however_the_block_is_left)
{
    char shape[64];
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    region_with_return(1);
    region_with_return(2);
    SKEIN_BEGIN("manual", (u64, "a", 1));
    {
        SKEIN_REGION("scoped");
        SKEIN_BEGIN("left open");
    }
    SKEIN_END();
    SKEIN_END(); /* none is open: nothing happens */
    decode();
    kinds(shape, sizeof shape);
    ck_assert_str_eq(shape, "(.)()((()))");
}
END_TEST

static struct skein_site span_site = {.name = "span",
                                      .text = "",
                                      .file = "",
                                      .klass = SKEIN_CLASS_SPAN,
                                      .nargs = 2,
                                      .args = {{SKEIN_T_U64, "n", ""}, {SKEIN_T_STR, "who", ""}}};

static void *span_end_elsewhere(void *begin)
{
    skein_span_end(&span_site, *(uint64_t *)begin,
                   (union skein_value[]){{.u64 = 3}, {.str = "another thread"}});
    return NULL;
}

START_TEST(spans_end_in_any_order_on_any_thread)
{
    pthread_t thread;
    ck_assert_uint_eq(skein_span_begin(&span_site), 0); /* there is no ring */
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    uint64_t first = skein_span_begin(&span_site), second, third;
    {
        SKEIN_REGION("around");
        second = skein_span_begin(&span_site);
        skein_span_end(&span_site, first, (union skein_value[]){{.u64 = 1}, {.str = "first"}});
        third = skein_span_begin(&span_site);
    }
    skein_span_end(&span_site, second, (union skein_value[]){{.u64 = 2}, {.str = "second"}});
    ck_assert_int_eq(pthread_create(&thread, NULL, span_end_elsewhere, &third), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    skein_span_end(&span_site, 0, NULL);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "span"), 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct decoded_event *e = decoded_nth(&decoded, "span", i);
        const uint64_t begins[] = {first, second, third};
        uint64_t n = e->args[0].u64;
        ck_assert_uint_ge(n, 1);
        ck_assert_uint_le(n, 3);
        ck_assert_uint_eq(e->ticks - e->duration, begins[n - 1]);
    }
    skein_store64(&ring.page->enabled, 0);
    ck_assert_uint_eq(skein_span_begin(&span_site), 0);
}
END_TEST

START_TEST(a_disabled_group_records_nothing_and_evaluates_nothing)
{
    int evaluated = 0;
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    skein_store64(&ring.page->enabled, ~(UINT64_C(1) << SKEIN_GROUP_APP));
    SKEIN_INSTANT("off", (i64, "n", ++evaluated));
    {
        SKEIN_REGION("off too");
        skein_store64(&ring.page->enabled, UINT64_MAX);
    }
    SKEIN_INSTANT("on", (i64, "n", ++evaluated));
    decode();
    ck_assert_int_eq(evaluated, 1);
    ck_assert_uint_eq(decoded.event_count, 1);
    ck_assert_uint_eq(decoded_count(&decoded, "on"), 1);
}
END_TEST

START_TEST(records_carry_the_generation_they_were_written_in)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_INSTANT("first");
    skein_generation_store(&agent.host->generation, 8);
    SKEIN_INSTANT("second");
    decode();
    ck_assert_uint_eq(decoded_nth(&decoded, "first", 0)->generation, 7);
    ck_assert_uint_eq(decoded_nth(&decoded, "second", 0)->generation, 8);
}
END_TEST

static void count_up(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        SKEIN_INSTANT("n", (u64, "i", i));
}

START_TEST(circular_overwrite_keeps_the_newest)
{
    const uint64_t total = 200000;
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN * 4);
    count_up(0, total);
    decode();
    size_t kept = decoded_count(&decoded, "n");
    ck_assert_uint_gt(kept, RING_BYTES_MIN * 4 / 2 / 6);
    ck_assert_uint_lt(kept, total);
    /* One thread: what survives is an unbroken tail, but for the small first chunk. */
    for (size_t i = 1; i < kept; i++) {
        uint64_t a = decoded_nth(&decoded, "n", 0)->args[0].u64;
        if (i == 1 || i == kept - 1)
            ck_assert_uint_le(a, total - kept);
    }
    ck_assert_uint_eq(decoded_nth(&decoded, "n", kept - 1)->args[0].u64, total - 1);
    ck_assert_uint_gt(header()->wrapped_count, 0);
    ck_assert_uint_eq(header()->num_records_dropped, 0);
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

static uint64_t buckets_sum(enum ring_loss kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ring.geometry.loss_buckets; i++) {
        const struct ring_bucket *bucket =
            (const struct ring_bucket *)(const void *)(ring.ring + ring.geometry.loss_off[kind]) +
            i;
        sum += skein_load64(&bucket->count) & RING_LOSS_COUNT_MAX;
    }
    return sum;
}

START_TEST(oneshot_stops_when_full_and_counts_the_rest)
{
    const uint64_t total = 100000;
    attach(SKEIN_MODE_ONESHOT, RING_BYTES_MIN * 2);
    count_up(0, total);
    decode();
    size_t kept = decoded_count(&decoded, "n");
    ck_assert_uint_gt(kept, 1000);
    for (size_t i = 0; i < kept; i += 997)
        ck_assert_uint_eq(decoded_nth(&decoded, "n", i)->args[0].u64, i);
    ck_assert_uint_eq(kept + header()->num_records_dropped, total);
    ck_assert_uint_eq(buckets_sum(RING_LOSS_FULL), total - kept);
    ck_assert_uint_eq(buckets_sum(RING_LOSS_SIGNAL), 0);
}
END_TEST

static struct ring_chunk *chunk_at(uint64_t offset)
{
    return (struct ring_chunk *)(void *)(ring.ring + offset);
}

static void pin_all(bool on)
{
    for (uint32_t i = 0; i < ring_small_count(&ring.geometry) + ring_big_count(&ring.geometry);
         i++) {
        uint32_t small = ring_small_count(&ring.geometry);
        struct ring_chunk *c = chunk_at(i < small ? ring_small_offset(&ring.geometry, i)
                                                  : ring_big_offset(&ring.geometry, i - small));
        if (on)
            c->state |= RING_CHUNK_PIN;
        else
            c->state &= ~RING_CHUNK_PIN;
    }
}

START_TEST(a_pinned_chunk_is_skipped)
{
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN * 4);
    count_up(0, 50000);
    struct ring_chunk *pinned = chunk_at(ring_big_offset(&ring.geometry, 1));
    if ((pinned->state & RING_CHUNK_STATE_MASK) != RING_CHUNK_FULL) /* it is the thread's own now */
        pinned = chunk_at(ring_big_offset(&ring.geometry, 0));
    ck_assert_uint_eq(pinned->state & RING_CHUNK_STATE_MASK, RING_CHUNK_FULL);
    pinned->state |= RING_CHUNK_PIN;
    uint32_t state = pinned->state;
    uint64_t sequence = pinned->first.sequence;
    count_up(50000, 200000);
    ck_assert_uint_eq(pinned->state, state);
    ck_assert_uint_eq(pinned->first.sequence, sequence);
    decode();
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

START_TEST(loss_is_counted_in_its_place)
{
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN);
    count_up(0, 20000);
    pin_all(true);
    count_up(20000, 40000); /* fills the thread's chunk, then finds no other */
    pin_all(false);
    count_up(40000, 40010);
    decode();
    size_t kept = decoded_count(&decoded, "n"), before = 0;
    while (before < kept && decoded_nth(&decoded, "n", before)->args[0].u64 < 40000)
        before++;
    ck_assert_uint_eq(kept - before, 10);
    uint64_t last = decoded_nth(&decoded, "n", before - 1)->args[0].u64;
    const struct decoded_event *next = decoded_nth(&decoded, "n", before);
    ck_assert_uint_eq(decoded.chunks[next->chunk].head.lost_before, 40000 - (last + 1));
    ck_assert_uint_eq(header()->num_records_dropped, 40000 - (last + 1));
    ck_assert_uint_eq(buckets_sum(RING_LOSS_FULL), 40000 - (last + 1));
}
END_TEST

START_TEST(a_chunk_opens_with_the_open_ranges)
{
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN * 4);
    SKEIN_BEGIN("outer");
    SKEIN_BEGIN("inner");
    count_up(0, 100000);
    decode();
    ck_assert_uint_gt(decoded.chunk_count, 3);
    unsigned opens = 0;
    for (size_t i = 0; i + 1 < decoded.event_count; i++) {
        const struct decoded_event *e = &decoded.events[i];
        if (e->kind != DECODED_OPEN)
            continue;
        ck_assert_str_eq(e->name, opens % 2 ? "inner" : "outer");
        ck_assert_uint_le(e->ticks, decoded.chunks[e->chunk].head.base_ticks);
        opens++;
    }
    ck_assert_uint_eq(opens, 2 * (decoded.chunk_count - 1)); /* not in the thread's first */
    SKEIN_END();
    SKEIN_END();
}
END_TEST

START_TEST(a_record_too_large_for_the_ring_is_counted)
{
    static char text[SKEIN_STR_MAX + 1];
    memset(text, 'x', SKEIN_STR_MAX);
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN); /* small chunks only */
    SKEIN_INSTANT("huge", (str, "a", text), (str, "b", text), (str, "c", text), (str, "d", text));
    SKEIN_INSTANT("next");
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "huge"), 0);
    ck_assert_uint_eq(decoded_count(&decoded, "next"), 1);
    ck_assert_uint_eq(decoded.lost, 1);
}
END_TEST

START_TEST(tracing_preserves_errno)
{
    attach(SKEIN_MODE_CIRCULAR, RING_BYTES_MIN);
    errno = EDOM;
    count_up(0, 5000);
    ck_assert_int_eq(errno, EDOM);
}
END_TEST

START_TEST(time_never_runs_backwards_within_a_thread)
{
    attach(SKEIN_MODE_CIRCULAR, 1 << 20);
    count_up(0, 10000);
    decode();
    for (size_t i = 1; i < decoded.event_count; i++)
        ck_assert_uint_ge(decoded.events[i].ticks, decoded.events[i - 1].ticks);
}
END_TEST

START_TEST(without_a_trusted_counter_the_kernels_clock_serves)
{
    struct timespec now;
    fake_agent_init(&agent, 7);
    agent.host->clock = RING_CLOCK_MONOTONIC;
    agent.host->shift = 6;
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, 1 << 20);
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t before = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >> 6;
    for (int i = 0; i < 3; i++) {
        SKEIN_REGION("region", (i64, "i", i));
        SKEIN_INSTANT("inside");
    }
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "region"), 3);
    ck_assert_uint_eq(decoded_count(&decoded, "inside"), 3);
    ck_assert_uint_ge(decoded.events[0].ticks, before);
    ck_assert_uint_le(decoded.events[0].ticks, before + (UINT64_C(3600000000000) >> 6));
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("writer_slow", every_argument_type_comes_back, long_texts_are_cut_and_marked,
                 counters_and_logs_have_their_classes, regions_close_however_the_block_is_left,
                 spans_end_in_any_order_on_any_thread,
                 a_disabled_group_records_nothing_and_evaluates_nothing,
                 records_carry_the_generation_they_were_written_in,
                 circular_overwrite_keeps_the_newest, oneshot_stops_when_full_and_counts_the_rest,
                 a_pinned_chunk_is_skipped, loss_is_counted_in_its_place,
                 a_chunk_opens_with_the_open_ranges, a_record_too_large_for_the_ring_is_counted,
                 tracing_preserves_errno, time_never_runs_backwards_within_a_thread,
                 without_a_trusted_counter_the_kernels_clock_serves, NULL));
}
