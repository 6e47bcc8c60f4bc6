/* SPDX-License-Identifier: Apache-2.0
 *
 * What CPU samples are made of, without a kernel: records, copies of rings, and the texts of /proc.
 * The records are written here by hand, as perf_event_open(2) has them.
 */
#include "perf_record.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_list.h"
#include "kernel_names.h"
#include "neighbours.h"
#include "perf_host.h"
#include "perf_ring.h"
#include "sample_stack.h"
#include "support.h"
#include "thread_cpu.h"

/* ---- records ---- */

#define KERNEL_MARK ((uint64_t)-128)
#define USER_MARK   ((uint64_t)-512)
#define GUEST_MARK  ((uint64_t)-2048)

struct hand {
    uint64_t words[20000];
    size_t count, record; /* record: where the one under way begins */
};

static void hand_begin(struct hand *h, uint32_t type, uint16_t misc)
{
    h->record = h->count;
    h->words[h->count++] = (uint64_t)misc << 32 | type;
}

static void hand_end(struct hand *h)
{
    h->words[h->record] |= (uint64_t)((h->count - h->record) * 8) << 48;
}

static void hand_word(struct hand *h, uint64_t word)
{
    h->words[h->count++] = word;
}

/* A sample at a time; its stack's bytes are all `fill`, of which `used` are told to be good. */
static void hand_sample(struct hand *h, uint16_t misc, uint64_t time_ns, const uint64_t *chain,
                        size_t chain_count, uint8_t fill, uint64_t used)
{
    hand_begin(h, 9, misc);
    hand_word(h, 0xabc);                   /* ip */
    hand_word(h, UINT64_C(77) << 32 | 70); /* tid, pid */
    hand_word(h, time_ns);
    hand_word(h, 3); /* cpu */
    hand_word(h, 10101010);
    hand_word(h, chain_count);
    for (size_t i = 0; i < chain_count; i++)
        hand_word(h, chain[i]);
    hand_word(h, 2); /* 64 bits */
    for (uint64_t i = 0; i < PERF_REGS; i++)
        hand_word(h, 1000 + i);
    hand_word(h, 64);
    for (int i = 0; i < 8; i++)
        hand_word(h, fill * UINT64_C(0x0101010101010101));
    hand_word(h, used);
    hand_end(h);
}

struct seen {
    struct perf_sample samples[8];
    size_t count, most;
};

static bool sample_note(void *context, const struct perf_sample *sample)
{
    struct seen *seen = context;
    if (seen->count < 8)
        seen->samples[seen->count] = *sample;
    return ++seen->count < seen->most;
}

static struct perf_walk walk(const struct hand *h, size_t n, struct seen *seen)
{
    struct perf_walk result;
    *seen = (struct seen){.most = SIZE_MAX};
    perf_records_walk((const uint8_t *)h->words, n, sample_note, seen, &result);
    return result;
}

static struct hand hand;
static struct seen seen;

START_TEST(a_sample_says_who_ran_where_and_with_which_stack)
{
    const uint64_t chain[] = {KERNEL_MARK, 0xffffffff81000010, 0xffffffff81000020, GUEST_MARK,
                              0x1,         USER_MARK,          0x401000,           0x402000};
    hand = (struct hand){.count = 0};
    hand_sample(&hand, 1, 5000, chain, 8, 0x5a, 24);
    struct perf_walk w = walk(&hand, hand.count * 8, &seen);
    ck_assert_uint_eq(w.samples, 1);
    ck_assert_uint_eq(w.unread, 0);
    ck_assert_uint_eq(w.bytes, hand.count * 8);
    ck_assert(!w.torn);
    const struct perf_sample *s = &seen.samples[0];
    ck_assert_uint_eq(s->ip, 0xabc);
    ck_assert_uint_eq(s->pid, 70);
    ck_assert_uint_eq(s->tid, 77);
    ck_assert_uint_eq(s->time_ns, 5000);
    ck_assert_uint_eq(s->cpu, 3);
    ck_assert_uint_eq(s->period_ns, 10101010);
    ck_assert(s->in_kernel);
    ck_assert_uint_eq(s->kernel.count, 2);
    ck_assert_uint_eq(s->kernel.pcs[1], 0xffffffff81000020);
    ck_assert_uint_eq(s->user.count, 2);
    ck_assert_uint_eq(s->user.pcs[0], 0x401000);
    if (PERF_REGS == 0)
        return;
    ck_assert(s->has_regs);
    ck_assert_uint_eq(s->regs[PERF_REGS - 1], 1000 + PERF_REGS - 1);
    ck_assert_uint_eq(s->stack_bytes, 24);
    ck_assert_uint_eq(s->stack[23], 0x5a);
}
END_TEST

/* A record of the kernel's event: after the chain a size and so many bytes; then, of one that is
 * watched so, registers and stack. */
static void hand_raw(struct hand *h, const uint64_t *raw, size_t words, bool user)
{
    hand_begin(h, 9, 1);
    hand_word(h, 0xabc);
    hand_word(h, UINT64_C(77) << 32 | 70);
    hand_word(h, 5000);
    hand_word(h, 3);
    hand_word(h, 1);
    hand_word(h, 0); /* no chain */
    for (size_t i = 0; i < words; i++)
        hand_word(h, raw[i]);
    if (user) {
        hand_word(h, 2);
        for (uint64_t i = 0; i < PERF_REGS; i++)
            hand_word(h, 1000 + i);
        hand_word(h, 8);
        hand_word(h, 0x5a);
        hand_word(h, 8);
    }
    hand_end(h);
}

START_TEST(an_event_of_the_kernel_has_its_bytes_and_perhaps_a_stack)
{
    /* 12 bytes: 4 behind the size, and a word. */
    const uint64_t raw[] = {UINT64_C(0x44332211) << 32 | 12, UINT64_C(0x1122334455667788)};
    struct perf_walk w;
    hand = (struct hand){.count = 0};
    hand_raw(&hand, raw, 2, false);
    hand_raw(&hand, raw, 2, PERF_REGS > 0);
    seen = (struct seen){.most = SIZE_MAX};
    perf_raw_records_walk((const uint8_t *)hand.words, hand.count * 8, sample_note, &seen, &w);
    ck_assert_uint_eq(w.samples, 2);
    ck_assert_uint_eq(w.unread, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct perf_sample *s = &seen.samples[i];
        ck_assert_uint_eq(s->raw_bytes, 12);
        ck_assert_uint_eq(s->raw[0], 0x11);
        ck_assert_uint_eq(s->raw[4], 0x88);
        ck_assert_uint_eq(s->raw[11], 0x11);
        ck_assert(s->has_regs == (i == 1 && PERF_REGS > 0));
        ck_assert_uint_eq(s->stack_bytes, s->has_regs ? 8 : 0);
    }
    /* One that says that it has more than there is. */
    const uint64_t odd[] = {UINT64_C(0x44332211) << 32 | 13, UINT64_C(0x1122334455667788)};
    hand = (struct hand){.count = 0};
    hand_raw(&hand, odd, 2, false);
    perf_raw_records_walk((const uint8_t *)hand.words, hand.count * 8, sample_note, &seen, &w);
    ck_assert_uint_eq(w.samples, 0);
    ck_assert_uint_eq(w.unread, 1);
}
END_TEST

START_TEST(every_shorter_copy_ends_with_its_last_whole_record)
{
    const uint64_t chain[] = {USER_MARK, 0x401000};
    hand = (struct hand){.count = 0};
    hand_sample(&hand, 2, 9000, chain, 2, 1, 8);
    size_t first = hand.count * 8;
    hand_sample(&hand, 2, 8000, chain, 2, 2, 8);
    for (size_t n = 0; n < hand.count * 8; n++) {
        struct perf_walk w = walk(&hand, n, &seen);
        must_hold(w.samples == (n >= first), "%zu bytes: %zu samples", n, (size_t)w.samples);
        must_hold(w.torn == ((n < first ? n : n - first) >= 8), "%zu bytes", n);
    }
}
END_TEST

START_TEST(who_has_seen_enough_ends_the_walk)
{
    const uint64_t chain[] = {USER_MARK, 0x401000};
    struct perf_walk w;
    hand = (struct hand){.count = 0};
    for (uint64_t i = 0; i < 5; i++)
        hand_sample(&hand, 2, 9000 - i, chain, 2, 1, 8);
    seen = (struct seen){.most = 2};
    perf_records_walk((const uint8_t *)hand.words, hand.count * 8, sample_note, &seen, &w);
    ck_assert_uint_eq(w.samples, 2);
}
END_TEST

START_TEST(heads_tell_samples_losses_and_others_apart)
{
    const uint64_t chain[] = {USER_MARK, 0x401000};
    hand = (struct hand){.count = 0};
    hand_sample(&hand, 2, 9000, chain, 2, 1, 8);
    hand_begin(&hand, 2, 0); /* LOST: id, how many */
    hand_word(&hand, 1);
    hand_word(&hand, 12);
    hand_end(&hand);
    hand_begin(&hand, 5, 0); /* THROTTLE */
    hand_word(&hand, 1);
    hand_end(&hand);
    hand_sample(&hand, 2, 7000, chain, 2, 1, 8);
    struct perf_walk w = walk(&hand, hand.count * 8, &seen);
    ck_assert_uint_eq(w.samples, 2);
    ck_assert_uint_eq(w.unread, 2);
    uint64_t samples_ns = 0, lost = 0, others = 0;
    struct perf_head head;
    for (size_t at = 0; at < hand.count * 8; at += head.bytes) {
        ck_assert(perf_head_get((const uint8_t *)hand.words + at, &head));
        ck_assert_uint_le(head.bytes, hand.count * 8 - at);
        samples_ns += head.time_ns;
        lost += head.lost;
        others += head.kind == PERF_KIND_OTHER;
        if (head.kind == PERF_KIND_SAMPLE)
            ck_assert(head.pid == 70 && head.period_ns == 10101010);
    }
    ck_assert_uint_eq(samples_ns, 9000 + 7000);
    ck_assert_uint_eq(lost, 12);
    ck_assert_uint_eq(others, 1);
}
END_TEST

START_TEST(a_head_takes_nothing_from_behind_its_record)
{
    uint64_t words[PERF_HEAD_BYTES / 8] = {[0 ... PERF_HEAD_BYTES / 8 - 1] = 0x4242};
    struct perf_head head;
    for (uint64_t size = 0; size <= 64; size++) {
        words[0] = size << 48 | 9; /* SAMPLE */
        bool good = size >= 8 && size % 8 == 0;
        must_hold(perf_head_get((const uint8_t *)words, &head) == good, "%zu", (size_t)size);
        if (!good)
            continue;
        must_hold(head.bytes == size, "%zu", (size_t)size);
        must_hold(head.kind == (size >= 48 ? PERF_KIND_SAMPLE : PERF_KIND_OTHER), "%zu",
                  (size_t)size);
        must_hold(head.period_ns == (size >= 48 ? 0x4242 : 0), "%zu", (size_t)size);
        words[0] = size << 48 | 2; /* LOST */
        must_hold(perf_head_get((const uint8_t *)words, &head) &&
                      head.lost == (size >= 24 ? 0x4242 : 0),
                  "%zu", (size_t)size);
    }
}
END_TEST

/* As perf_event_open(2) has it: pid and tid, a name of 1 to 16 bytes, then tid, time and cpu. */
START_TEST(an_exec_says_whose_and_when)
{
    for (size_t name_words = 1; name_words <= 2; name_words++) {
        struct perf_head head;
        hand.count = 0;
        hand_begin(&hand, 3, 1 << 13); /* COMM, of an exec */
        hand_word(&hand, UINT64_C(77) << 32 | 70);
        for (size_t i = 0; i < name_words; i++)
            hand_word(&hand, 0x6161);
        hand_word(&hand, UINT64_C(77) << 32 | 70);
        hand_word(&hand, 9000);
        hand_word(&hand, 3);
        hand_end(&hand);
        ck_assert(perf_head_get((const uint8_t *)hand.words, &head));
        ck_assert_int_eq(head.kind, PERF_KIND_EXEC);
        ck_assert_uint_eq(head.bytes, 40 + 8 * name_words);
        ck_assert_uint_eq(head.pid, 70);
        ck_assert_uint_eq(head.time_ns, 9000);
        hand.words[0] &= ~(UINT64_C(0xffff) << 32); /* named otherwise */
        ck_assert(perf_head_get((const uint8_t *)hand.words, &head));
        ck_assert_int_eq(head.kind, PERF_KIND_THREAD);
    }
    for (uint64_t size = 8; size <= 80; size += 8) {
        const uint64_t words[PERF_HEAD_BYTES / 8] = {size << 48 | UINT64_C(1) << 45 | 3};
        struct perf_head head;
        ck_assert(perf_head_get((const uint8_t *)words, &head));
        bool good = size >= 40 && size <= 56;
        ck_assert_int_eq(head.kind, good ? PERF_KIND_EXEC : PERF_KIND_OTHER);
    }
}
END_TEST

START_TEST(numbers_that_reach_beyond_their_record_are_not_believed)
{
    const uint64_t chain[] = {USER_MARK, 0x401000};
    const size_t chain_at = 6, stack_at = 6 + 1 + 2 + 1 + PERF_REGS;
    const struct {
        size_t at;
        uint64_t value;
    } lies[] = {{chain_at, 1000},   {chain_at, UINT64_MAX},    {chain_at, UINT64_MAX / 8 + 2},
                {stack_at, 100000}, {stack_at, UINT64_MAX},    {stack_at, 72},
                {stack_at + 9, 65}, {stack_at + 9, UINT64_MAX}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        if (PERF_REGS == 0 && lies[i].at != chain_at)
            continue;
        hand = (struct hand){.count = 0};
        hand_sample(&hand, 2, 9000, chain, 2, 1, 8);
        hand_sample(&hand, 2, 8000, chain, 2, 1, 8);
        hand.words[lies[i].at] = lies[i].value;
        struct perf_walk w = walk(&hand, hand.count * 8, &seen);
        must_hold(w.unread == 1 && w.samples == 1 && seen.samples[0].time_ns == 8000, "lie %zu", i);
    }
}
END_TEST

START_TEST(a_record_of_no_size_or_an_odd_one_ends_the_walk)
{
    const uint64_t sizes[] = {0, 7, 12, 65528};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hand = (struct hand){.count = 4};
        hand.words[0] = sizes[i] << 48 | 9;
        struct perf_walk w = walk(&hand, 32, &seen);
        must_hold(w.torn && w.samples == 0 && w.bytes == 0, "size %zu", (size_t)sizes[i]);
    }
}
END_TEST

START_TEST(a_chain_that_is_too_deep_is_cut_and_says_so)
{
    static uint64_t chain[1 + 2 * PERF_FRAMES_MAX];
    struct sample_stack stack;
    chain[0] = USER_MARK;
    for (size_t i = 1; i < sizeof chain / sizeof *chain; i++)
        chain[i] = 0x400000 + i;
    hand = (struct hand){.count = 0};
    hand_sample(&hand, 2, 9000, chain, sizeof chain / sizeof *chain, 1, 8);
    ck_assert_uint_eq(walk(&hand, hand.count * 8, &seen).samples, 1);
    ck_assert_uint_eq(seen.samples[0].user.count, PERF_FRAMES_MAX);
    ck_assert(seen.samples[0].user.cut);
    sample_stack_make(&seen.samples[0], NULL, NULL, &stack);
    ck_assert_uint_eq(stack.count, PERF_FRAMES_MAX);
    ck_assert_uint_eq(stack.end, 0x80 | 1);
}
END_TEST

/* ---- readings ---- */

START_TEST(a_reading_holds_what_is_not_being_overwritten)
{
    const size_t size = 1 << 20, record = 65536;
    /* heads go down from 0 */
    struct perf_hold c = perf_hold_judge(0, 0, size);
    ck_assert(c.bytes == 0 && !c.turned);
    c = perf_hold_judge((uint64_t)-1000, (uint64_t)-1000, size);
    ck_assert(c.bytes == 1000 && !c.turned);
    c = perf_hold_judge(-(uint64_t)(size - record), -(uint64_t)(size - record), size);
    ck_assert(c.bytes == size - record && !c.turned);
    c = perf_hold_judge(-(uint64_t)(size - record) - 8, -(uint64_t)(size - record) - 8, size);
    ck_assert(c.bytes == size - record && c.turned);
    /* 5000 bytes came while it was read */
    c = perf_hold_judge((uint64_t)-9000000, (uint64_t)-9005000, size);
    ck_assert(c.bytes == size - record - 5000 && c.turned);
    c = perf_hold_judge((uint64_t)-9000000, (uint64_t)-90000000, size);
    ck_assert(c.bytes == 0 && c.turned);
}
END_TEST

/* A ring whose kernel is this test: each byte says how far from the ring's end it was written. */
#define HAND_RING ((size_t)256 << 10)

static uint8_t byte_at(uint64_t head_and_more)
{
    return (uint8_t)(head_and_more * 7 >> 3);
}

START_TEST(a_reading_goes_on_round_the_end_and_stops_where_the_kernel_has_been)
{
    static uint64_t map[(4096 + HAND_RING) / 8];
    static uint8_t got[HAND_RING];
    struct perf_event_mmap_page *page = (void *)map;
    uint8_t *data = (uint8_t *)map + 4096;
    struct perf_ring ring = {.fd = -1, .map = map, .map_bytes = sizeof map, .bytes = HAND_RING};
    struct perf_reading reading;
    uint64_t head = -(uint64_t)(3 * HAND_RING + 1000); /* the newest lies 1000 before its end */
    for (uint64_t i = 0; i < HAND_RING; i++)
        data[(head + i) % HAND_RING] = byte_at(head + i);
    page->data_head = head;
    perf_reading_begin(&ring, &reading);
    size_t held = HAND_RING - PERF_RECORD_BYTES_MAX;
    ck_assert(reading.hold.bytes == held && reading.hold.turned);
    ck_assert(perf_reading_get(&reading, 600, got, 5000)); /* round the end */
    for (uint64_t i = 0; i < 5000; i++)
        must_hold(got[i] == byte_at(head + 600 + i), "byte %zu", (size_t)i);
    ck_assert(perf_reading_get(&reading, held - 8, got, 8));
    ck_assert(!perf_reading_get(&reading, held - 8, got, 16));
    ck_assert(!perf_reading_get(&reading, held + 8, got, 0));
    ck_assert(!perf_reading_get(&reading, SIZE_MAX - 7, got, 16));
    page->data_head = head - 5000; /* the kernel writes on: the oldest 5000 bytes are gone */
    ck_assert(!perf_reading_get(&reading, held - 8, got, 8));
    ck_assert_uint_eq(reading.hold.bytes, held - 5000);
    ck_assert(perf_reading_get(&reading, held - 5008, got, 8));
    page->data_head = head - 10 * HAND_RING;
    ck_assert(!perf_reading_get(&reading, 0, got, 8));
    ck_assert(reading.hold.bytes == 0 && reading.hold.turned);
    page->data_head = (uint64_t)-64; /* one that has never turned */
    perf_reading_begin(&ring, &reading);
    ck_assert(reading.hold.bytes == 64 && !reading.hold.turned);
    ck_assert(perf_reading_get(&reading, 0, got, 64) && !perf_reading_get(&reading, 8, got, 64));
}
END_TEST

START_TEST(a_ring_is_as_large_as_its_reach_asks)
{
    /* 10 s at 99 Hz are 990 samples of more than 8 KiB */
    ck_assert_uint_eq(perf_host_ring_bytes(99, 10000), 16 << 20);
    ck_assert_uint_ge(perf_host_ring_bytes(99, 10000) - 65536, 990 * (8192 + 300));
    ck_assert_uint_eq(perf_host_ring_bytes(1, 1), PERF_RING_BYTES_MIN);
    ck_assert_uint_eq(perf_host_ring_bytes(10000, UINT32_MAX), PERF_RING_BYTES_MAX);
}
END_TEST

/* ---- stacks ---- */

static const char maps_text[] =
    "401000-402000 r-xp 00000000 08:01 5 /bin/x\n402000-403000 rw-p 00000000 08:01 5 /bin/x\n"
    "7f0000-7f1000 r-xp 00000000 08:01 6 /lib/y.so\n";

START_TEST(a_chain_of_frame_pointers_ends_where_no_code_is)
{
    struct process_maps maps;
    struct perf_sample sample = {
        .ip = 0xffffffff81000010,
        .in_kernel = true,
        .kernel = {.pcs = {0xffffffff81000010, 0xffffffff81000020}, .count = 2},
        .user = {.pcs = {0x401100, 0x7f0010, 0x402000, 0x500000, 0x401200}, .count = 5}};
    struct sample_stack stack;
    ck_assert_int_eq(process_maps_parse(maps_text, sizeof maps_text - 1, &maps), SKEIN_OK);
    sample_stack_make(&sample, NULL, &maps, &stack);
    ck_assert_uint_eq(stack.count,
                      5); /* a call may be the last of its range, behind that is none */
    ck_assert_uint_eq(stack.in_kernel, 2);
    ck_assert_uint_eq(stack.pcs[4], 0x402000);
    ck_assert_uint_eq(stack.end, 0x80 | 2);
    ck_assert(!stack.walked);
    sample_stack_make(&sample, NULL, NULL, &stack);
    ck_assert_uint_eq(stack.count, 7);
    sample.user.pcs[0] = 0x600000; /* code that is unmapped by now */
    sample_stack_make(&sample, NULL, &maps, &stack);
    ck_assert_uint_eq(stack.count, 3);
    sample.user.count = 0; /* a thread of the kernel */
    sample_stack_make(&sample, NULL, &maps, &stack);
    ck_assert_uint_eq(stack.count, 2);
    ck_assert_uint_eq(stack.end, 0x80);
    sample.kernel.count = 0; /* and of nothing but its address */
    sample_stack_make(&sample, NULL, &maps, &stack);
    ck_assert(stack.count == 1 && stack.in_kernel == 1 && stack.pcs[0] == sample.ip);
    process_maps_free(&maps);
}
END_TEST

START_TEST(a_walk_is_believed_unless_it_broke_sooner_than_frame_pointers)
{
    struct perf_sample sample = {.ip = 0x401100,
                                 .user = {.pcs = {0x401100, 0x7f0010, 0x401200}, .count = 3}};
    const uint64_t pcs[] = {0x401100, 0x401300, 0x401400, 0x401500};
    struct partition_stack walk = {pcs, 4, 0x80};
    struct sample_stack stack;
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(stack.walked && stack.count == 4 && stack.end == 0x80 && stack.in_kernel == 0);
    ck_assert_mem_eq(stack.pcs, pcs, sizeof pcs);
    walk.count = 1; /* whole, as a thread's first function is */
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(stack.walked && stack.count == 1 && stack.end == 0x80);
    walk.end = 0x80 | 2;
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(!stack.walked && stack.count == 3 && stack.end == (0x80 | 2));
    walk.count = 3;
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(stack.walked && stack.count == 3 && stack.end == (0x80 | 2));
    sample.in_kernel = true;
    sample.kernel = (struct perf_chain){.pcs = {0xffffffff81000010}, .count = 1};
    walk.count = 4;
    walk.end = 0x80 | 1;
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(stack.walked && stack.count == 5 && stack.in_kernel == 1 && stack.end == (0x80 | 1));
    sample.kernel.cut = true; /* what called the kernel is behind what is missing */
    sample_stack_make(&sample, &walk, NULL, &stack);
    ck_assert(!stack.walked && stack.count == 1 && stack.end == (0x80 | 1));
}
END_TEST

/* ---- texts ---- */

START_TEST(lists_of_cpus_are_read_as_the_kernel_writes_them)
{
    struct cpu_list list;
    ck_assert_int_eq(cpu_list_parse("0-3,8,10-11\n", &list), SKEIN_OK);
    ck_assert_uint_eq(list.count, 7);
    ck_assert(cpu_list_has(&list, 3) && !cpu_list_has(&list, 4) && cpu_list_has(&list, 11));
    ck_assert_int_eq(cpu_list_parse("0,0-1", &list), SKEIN_OK);
    ck_assert_uint_eq(list.count, 2);
    ck_assert_int_eq(cpu_list_parse("\n", &list), SKEIN_OK);
    ck_assert_uint_eq(list.count, 0);
    ck_assert(!cpu_list_has(&list, UINT32_MAX));
    ck_assert_int_eq(cpu_list_parse("0-8191", &list), SKEIN_OK);
    const char *const none[] = {"0-",   "-1",   "3-1",           "x",  "0,",
                                "0,,1", "8192", "0-99999999999", "1 2"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        must_hold(cpu_list_parse(none[i], &list) == SKEIN_CORRUPT && list.count == 8192, "%s",
                  none[i]);
    }
}
END_TEST

/* ---- names of the kernel's functions ---- */

static const char *name_at(const struct kernel_table *table, uint64_t address, bool modules_same,
                           bool *sure)
{
    const struct kernel_function *function = kernel_table_find(table, address, modules_same, sure);
    return function != NULL ? (const char *)table->texts.data + function->text : "";
}

START_TEST(kernel_functions_are_found_in_any_order_and_any_pieces)
{
    const char *text = "0000000000000000 A fixed_percpu_data\n"
                       "ffffffff81000100 T second\n"
                       "ffffffff81000000 T first\n"
                       "ffffffff81000000 T another_name_of_first\n"
                       "ffffffff81000180 d no_function\n"
                       "ffffffffc0001000 t in_module\t[nf_tables]\n"
                       "nonsense\n\n"
                       "ffffffff81000200 t third\n";
    const struct {
        uint64_t address;
        const char *name;
        bool sure; /* what comes behind it is the kernel's own, too */
    } asked[] = {{0x1000, "", false},
                 {0xffffffff81000000, "first", true},
                 {0xffffffff810001ff, "second", true},
                 {0xffffffff81000203, "third", false},
                 {0xffffffffa0000000, "", false},
                 {0xffffffffc0001004, "in_module", false}};
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        struct kernel_table table = {.count = 0};
        for (size_t at = 0; at < strlen(text); at += piece)
            kernel_table_feed(&table, text + at,
                              strlen(text + at) < piece ? strlen(text + at) : piece);
        ck_assert_int_eq(kernel_table_end(&table), SKEIN_OK);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            bool sure;
            must_hold(strcmp(name_at(&table, asked[i].address, true, &sure), asked[i].name) == 0 &&
                          sure == asked[i].sure,
                      "%zu in pieces of %zu", i, piece);
        }
        kernel_table_fini(&table);
    }
}
END_TEST

START_TEST(what_may_have_come_and_gone_is_never_sure)
{
    const char *text = "ffffffffc0001000 t a1\t[one]\n"
                       "ffffffffc0001100 t a2\t[one]\n"
                       "ffffffffc0002000 t b1\t[bpf]\n"
                       "ffffffffc0002100 t b2\t[bpf]\n"
                       "ffffffffc0003000 t f1\t[__builtin__ftrace]\n"
                       "ffffffffc0003100 t f2\t[__builtin__ftrace]\n";
    struct kernel_table table = {.count = 0};
    bool sure;
    kernel_table_feed(&table, text, strlen(text));
    ck_assert_int_eq(kernel_table_end(&table), SKEIN_OK);
    ck_assert_str_eq(name_at(&table, 0xffffffffc0001010, true, &sure), "a1");
    ck_assert(sure);
    ck_assert_str_eq(name_at(&table, 0xffffffffc0001010, false, &sure), "a1");
    ck_assert(!sure); /* another module may lie there */
    const uint64_t others[] = {0xffffffffc0001110, 0xffffffffc0002010, 0xffffffffc0002110,
                               0xffffffffc0003010, 0xffffffffc0003110};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        must_hold(name_at(&table, others[i], true, &sure)[0] != '\0' && !sure, "%zu", i);
    }
    kernel_table_fini(&table);
}
END_TEST

struct kernel_files {
    char *folder, *symbols, *modules;
    struct kernel_names *names;
};

static void kernel_files_make(struct kernel_files *files)
{
    files->folder = temp_dir_new();
    files->symbols = path_join(files->folder, "kallsyms");
    files->modules = path_join(files->folder, "modules");
    ck_assert_int_eq(kernel_names_new(files->symbols, files->modules, &files->names), SKEIN_OK);
}

static void kernel_files_free(struct kernel_files *files)
{
    kernel_names_free(&files->names);
    free(files->symbols);
    free(files->modules);
    temp_dir_free(&files->folder);
}

static const char *name_asked(const struct kernel_files *files, uint64_t address)
{
    struct kernel_name name = {.address = address};
    int64_t known = kernel_names_find(files->names, &name, 1);
    ck_assert_int_eq(known, name.text != NULL);
    return name.text != NULL ? name.text : "";
}

START_TEST(the_kernels_file_is_read_again_only_for_what_may_have_changed)
{
    struct kernel_files f;
    kernel_files_make(&f);
    file_write_text(f.symbols, "ffffffff81000000 T first\nffffffff81000100 T second\n"
                               "ffffffffc0001000 t a1\t[one]\nffffffffc0001100 t a2\t[one]\n");
    file_write_text(f.modules, "one 4096 2 - Live 0xffffffffc0001000\n");
    ck_assert_str_eq(name_asked(&f, 0xffffffff81000010), "first");
    ck_assert_str_eq(name_asked(&f, 0xffffffff81000020), "first");
    ck_assert_str_eq(name_asked(&f, 0xffffffffc0001020), "a1");
    file_write_text(f.modules, "one 4096 3 two, Live 0xffffffffc0001000\n"); /* its users alone */
    ck_assert_str_eq(name_asked(&f, 0xffffffffc0001020), "a1");
    ck_assert_uint_eq(kernel_names_reads(f.names), 1);
    /* Another module in its place: the kernel's own is sure, the module's is not. */
    file_write_text(f.symbols, "ffffffff81000000 T first\nffffffff81000100 T second\n"
                               "ffffffffc0001000 t z1\t[two]\nffffffffc0001100 t z2\t[two]\n");
    file_write_text(f.modules, "two 4096 1 - Live 0xffffffffc0001000\n");
    ck_assert_str_eq(name_asked(&f, 0xffffffff81000010), "first");
    ck_assert_uint_eq(kernel_names_reads(f.names), 1);
    ck_assert_str_eq(name_asked(&f, 0xffffffffc0001020), "z1");
    ck_assert_uint_eq(kernel_names_reads(f.names), 2);
    ck_assert_str_eq(name_asked(&f, 0xffffffffc0001020), "z1");
    ck_assert_uint_eq(kernel_names_reads(f.names), 2);
    /* Its last function has no end. */
    ck_assert_str_eq(name_asked(&f, 0xffffffffc0001120), "z2");
    ck_assert_uint_eq(kernel_names_reads(f.names), 3);
    kernel_files_free(&f);
}
END_TEST

START_TEST(a_kernel_that_hides_its_addresses_is_no_names)
{
    struct kernel_files f;
    struct kernel_name name = {.address = 0xffffffff81000000};
    kernel_files_make(&f);
    ck_assert_int_eq(kernel_names_find(f.names, &name, 1), SKEIN_IO);
    file_write_text(f.symbols, "0000000000000000 T first\n0000000000000000 T second\n");
    ck_assert_int_eq(kernel_names_find(f.names, &name, 1), SKEIN_REFUSED);
    ck_assert_ptr_null(name.text);
    file_write_text(f.symbols, "ffffffff80ffffff T first\n"); /* it does no more */
    ck_assert_int_eq(kernel_names_find(f.names, &name, 1), 1);
    ck_assert_str_eq(name.text, "first");
    kernel_files_free(&f);
}
END_TEST

START_TEST(cpu_times_of_a_thread_come_from_the_finer_clock_where_there_is_one)
{
    const char *stat = "42 (a) R 1 2) S 1 42 42 0 -1 4194560 10 0 0 0 700 33 0 0 20 0 4 0 9\n";
    struct thread_cpu cpu;
    ck_assert_int_eq(thread_cpu_parse(stat, "7345678901 22000 4400\n", 100, &cpu), SKEIN_OK);
    ck_assert_uint_eq(cpu.run_ns, 7345678901);
    ck_assert_uint_eq(cpu.wait_ns, 22000);
    ck_assert_uint_eq(cpu.turns, 4400);
    ck_assert_uint_eq(cpu.user_ns, 7000000000);
    ck_assert_uint_eq(cpu.system_ns, 330000000);
    ck_assert_str_eq(cpu.name, "a) R 1 2");
    ck_assert_int_eq(thread_cpu_parse(stat, "", 100, &cpu), SKEIN_OK);
    ck_assert_uint_eq(cpu.run_ns, 7330000000);
    const char *const bad[] = {"",
                               "42",
                               "42 (a",
                               "42 (a) S",
                               "42 a) S 1 1 1 1 1 1 1 1 1 1 1 1 1",
                               "42 (a) S 1 42 42 0 -1 4194560 10 0 0 0 700",
                               "42 (a) S 1 42 42 0 -1 4194560 10 0 0 0 99999999999999999999 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        must_hold(thread_cpu_parse(bad[i], "", 100, &cpu) == SKEIN_CORRUPT, "%s", bad[i]);
    ck_assert_int_eq(thread_cpu_parse(stat, "12 x", 100, &cpu), SKEIN_CORRUPT);
    ck_assert_uint_eq(cpu.run_ns, 7330000000);
}
END_TEST

/* ---- who else ran ---- */

START_TEST(the_ten_who_ran_most_are_named_and_the_rest_added_up)
{
    struct neighbours *n;
    struct neighbour top[NEIGHBOURS_SHOWN], rest;
    size_t rest_count;
    ck_assert_int_eq(neighbours_new(&n), SKEIN_OK);
    ck_assert_uint_eq(neighbours_top(n, top, &rest, &rest_count), 0);
    for (uint32_t pid = 1; pid <= 30; pid++) { /* 17 * pid % 31: each of 1 to 30 once */
        for (uint32_t i = 0; i < 17 * pid % 31; i++)
            neighbours_note(n, pid * NEIGHBOURS_MAX + 5, 10); /* all of one slot */
    }
    ck_assert_uint_eq(neighbours_top(n, top, &rest, &rest_count), NEIGHBOURS_SHOWN);
    for (uint64_t i = 0; i < NEIGHBOURS_SHOWN; i++) {
        ck_assert_uint_eq(top[i].samples, 30 - i);
        ck_assert_uint_eq(top[i].ns, 10 * (30 - i));
        ck_assert_uint_eq(17 * (top[i].pid / NEIGHBOURS_MAX) % 31, 30 - i);
    }
    ck_assert_uint_eq(rest_count, 20);
    ck_assert_uint_eq(rest.samples, 20 * 21 / 2);
    neighbours_free(&n);
}
END_TEST

START_TEST(more_processes_than_there_are_places_lose_no_sample)
{
    struct neighbours *n;
    struct neighbour top[NEIGHBOURS_SHOWN], rest;
    size_t rest_count, count;
    uint64_t samples = 0;
    ck_assert_int_eq(neighbours_new(&n), SKEIN_OK);
    for (uint32_t pid = 1; pid <= NEIGHBOURS_MAX + 500; pid++)
        neighbours_note(n, pid, 7);
    count = neighbours_top(n, top, &rest, &rest_count);
    for (size_t i = 0; i < count; i++)
        samples += top[i].samples;
    ck_assert_uint_eq(samples + rest.samples, NEIGHBOURS_MAX + 500);
    ck_assert_uint_eq(rest_count, NEIGHBOURS_MAX - NEIGHBOURS_SHOWN);
    neighbours_free(&n);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "perf_record", a_sample_says_who_ran_where_and_with_which_stack,
        an_event_of_the_kernel_has_its_bytes_and_perhaps_a_stack,
        every_shorter_copy_ends_with_its_last_whole_record, who_has_seen_enough_ends_the_walk,
        heads_tell_samples_losses_and_others_apart, a_head_takes_nothing_from_behind_its_record,
        an_exec_says_whose_and_when, numbers_that_reach_beyond_their_record_are_not_believed,
        a_record_of_no_size_or_an_odd_one_ends_the_walk,
        a_chain_that_is_too_deep_is_cut_and_says_so, a_reading_holds_what_is_not_being_overwritten,
        a_reading_goes_on_round_the_end_and_stops_where_the_kernel_has_been,
        a_ring_is_as_large_as_its_reach_asks, a_chain_of_frame_pointers_ends_where_no_code_is,
        a_walk_is_believed_unless_it_broke_sooner_than_frame_pointers,
        lists_of_cpus_are_read_as_the_kernel_writes_them,
        kernel_functions_are_found_in_any_order_and_any_pieces,
        what_may_have_come_and_gone_is_never_sure,
        the_kernels_file_is_read_again_only_for_what_may_have_changed,
        a_kernel_that_hides_its_addresses_is_no_names,
        cpu_times_of_a_thread_come_from_the_finer_clock_where_there_is_one,
        the_ten_who_ran_most_are_named_and_the_rest_added_up,
        more_processes_than_there_are_places_lose_no_sample, NULL));
}
