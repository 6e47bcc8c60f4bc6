/* SPDX-License-Identifier: Apache-2.0
 * How much memory a ring gets, what it takes of the kernel, and how it is given back. */
#include "ring_backing.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring_memory.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"

#define MIB (UINT64_C(1) << 20)

static struct ring_geometry geometry;
static uint8_t *ring;
static int ring_fd;

static void ring_begin(uint8_t mode, uint64_t bytes)
{
    const struct ring_identity identity = {.pid = 1, .service = "x"};
    ck_assert_int_eq(ring_geometry_init(&geometry, mode, bytes), SKEIN_OK);
    ck_assert_int_eq(ring_memory_new(&geometry, &identity, &ring_fd, &ring), SKEIN_OK);
}

static void ring_end(void)
{
    munmap(ring, geometry.total);
    close(ring_fd);
}

static struct ring_chunk *big(uint32_t i)
{
    return (struct ring_chunk *)(void *)(ring + ring_big_offset(&geometry, i));
}

/* Each part may begin and end within a page. */
static void bytes_check(const struct ring_backing *backing)
{
    uint64_t used = ring_memory_used(ring_fd, geometry.total);
    uint64_t bytes = ring_backing_bytes(&geometry, backing);
    ck_assert_uint_ge(used + 4096, bytes);
    ck_assert_uint_le(used, bytes + 16 * 4096);
}

START_TEST(a_new_ring_has_memory_for_many_threads_and_little_else)
{
    ring_begin(SKEIN_MODE_CIRCULAR, 16 * MIB);
    struct ring_backing start = ring_backing_start(&geometry, false);
    ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, NULL, &start), SKEIN_OK);
    ck_assert_uint_ge(start.small, 64);
    ck_assert_uint_ge(start.big, 4);
    ck_assert_uint_lt(ring_backing_bytes(&geometry, &start), MIB);
    bytes_check(&start);
    ring_end();
}
END_TEST

START_TEST(where_there_is_plenty_a_new_ring_has_memory_for_a_burst)
{
    ring_begin(SKEIN_MODE_CIRCULAR, 16 * MIB);
    struct ring_backing start = ring_backing_start(&geometry, true);
    ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, NULL, &start), SKEIN_OK);
    ck_assert_uint_ge(start.small, 200); /* threads that begin at once */
    ck_assert_uint_ge(start.big * RING_BIG_CHUNK, MIB);
    ck_assert_uint_lt(ring_backing_bytes(&geometry, &start), 3 * MIB);
    bytes_check(&start);
    ring_end();
}
END_TEST

/* A writer that fills 100 MB/s, and an agent that looks as soon as ring_backing_hurries says, or as
 * late as _i ms: the writer never comes to the end of what it has, until it has the whole ring. */
START_TEST(the_agent_goes_ahead_of_a_writer_from_its_first_event)
{
    const uint64_t bytes_a_ms = 100000;
    ring_begin(SKEIN_MODE_CIRCULAR, 16 * MIB);
    struct ring_backing have = ring_backing_start(&geometry, true);
    const struct ring_backing whole = ring_backing_whole(&geometry);
    uint64_t looked_ms = 0, looked_big = 0, late_ms = (uint64_t)_i;
    for (uint64_t ms = 1; ms <= 120; ms++) {
        uint64_t claimed = ms * bytes_a_ms / RING_BIG_CHUNK + 1;
        must_hold(claimed <= have.big || have.big == whole.big,
                  "in ms %u it has claimed %u chunks of %u", (unsigned)ms, (unsigned)claimed,
                  have.big);
        if (ms - looked_ms < late_ms)
            continue;
        const struct ring_use use = {
            .big = claimed, .big_new = claimed - looked_big, .since_ms = ms - looked_ms};
        must_hold(ring_backing_hurries(&geometry, &have, &use) || have.big == whole.big ||
                      claimed + 8 * use.big_new <= have.big,
                  "nobody looks again in time");
        have = ring_backing_wish(&geometry, &have, &use, late_ms * MIB / 2);
        looked_ms = ms;
        looked_big = claimed;
    }
    ck_assert_uint_eq(have.big, whole.big);
    const struct ring_use idle = {.big = 1, .since_ms = 100};
    ck_assert(!ring_backing_hurries(&geometry, &have, &idle));
    have = ring_backing_start(&geometry, true);
    ck_assert(!ring_backing_hurries(&geometry, &have, &idle));
    ring_end();
}
END_TEST

START_TEST(a_small_ring_and_one_that_fills_once_have_all_at_once)
{
    const struct {
        uint8_t mode;
        uint64_t bytes;
    } rings[] = {{SKEIN_MODE_CIRCULAR, RING_BYTES_MIN},
                 {SKEIN_MODE_CIRCULAR, MIB},
                 {SKEIN_MODE_ONESHOT, 4 * MIB}};
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        ring_begin(rings[i].mode, rings[i].bytes);
        struct ring_backing start = ring_backing_start(&geometry, false);
        ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, NULL, &start), SKEIN_OK);
        ck_assert_uint_eq(ring_memory_used(ring_fd, geometry.total), geometry.total);
        ring_end();
    }
}
END_TEST

/* A HELLO makes no more than a step of it. */
START_TEST(a_large_ring_that_fills_once_begins_with_a_step)
{
    ring_begin(SKEIN_MODE_ONESHOT, 64 * MIB);
    struct ring_backing start = ring_backing_start(&geometry, false);
    uint64_t bytes = ring_backing_bytes(&geometry, &start);
    ck_assert_uint_gt(bytes, 4 * MIB);
    ck_assert_uint_lt(bytes, 9 * MIB / 2);
    ring_end();
}
END_TEST

/* A header can say anything: so much is believed as there is memory for. */
START_TEST(a_ring_that_is_taken_over_has_what_its_memory_bears_out)
{
    const uint32_t used[2] = {300, 100}, lie[2] = {UINT32_MAX, UINT32_MAX};
    ring_begin(SKEIN_MODE_CIRCULAR, 64 * MIB);
    const struct ring_backing start = ring_backing_start(&geometry, false);
    struct ring_backing have = {.small = 300, .big = 100, .table = 128 << 10}, taken;
    uint64_t bytes = ring_backing_bytes(&geometry, &have);
    taken = ring_backing_taken(&geometry, used, have.table, bytes);
    ck_assert_mem_eq(&taken, &have, sizeof have);
    taken = ring_backing_taken(&geometry, lie, UINT64_MAX, 12 << 10);
    ck_assert_mem_eq(&taken, &start, sizeof start);
    taken = ring_backing_taken(&geometry, lie, 0, bytes);
    ck_assert_mem_eq(&taken, &start, sizeof start);
    taken = ring_backing_taken(&geometry, lie, UINT64_MAX, 64 * MIB);
    have = ring_backing_whole(&geometry);
    ck_assert_mem_eq(&taken, &have, sizeof have);
    ring_end();
}
END_TEST

START_TEST(what_is_made_in_steps_is_the_whole_ring_in_the_end)
{
    ring_begin(SKEIN_MODE_CIRCULAR, 16 * MIB);
    struct ring_backing have = ring_backing_start(&geometry, false);
    const struct ring_backing whole = ring_backing_whole(&geometry);
    ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, NULL, &have), SKEIN_OK);
    unsigned steps = 0;
    while (memcmp(&have, &whole, sizeof have) != 0) {
        const struct ring_use use = {
            .small = have.small, .big = have.big, .table = have.table, .big_new = 1};
        struct ring_backing want = ring_backing_wish(&geometry, &have, &use, MIB);
        ck_assert(want.small >= have.small && want.big >= have.big && want.table >= have.table);
        ck_assert_uint_le(ring_backing_bytes(&geometry, &want),
                          ring_backing_bytes(&geometry, &have) + MIB + RING_BIG_CHUNK +
                              RING_SMALL_CHUNK);
        ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, &have, &want), SKEIN_OK);
        bytes_check(&want);
        have = want;
        ck_assert_uint_lt(++steps, 100);
    }
    ck_assert_uint_gt(steps, 10);
    ring_end();
}
END_TEST

START_TEST(a_ring_that_is_not_used_gets_nothing_and_a_hostile_one_its_own_at_most)
{
    ring_begin(SKEIN_MODE_CIRCULAR, 16 * MIB);
    const struct ring_backing have = ring_backing_start(&geometry, false);
    const struct ring_backing whole = ring_backing_whole(&geometry);
    const struct ring_use idle = {.small = have.small / 2, .big = have.big / 2, .table = 100};
    struct ring_backing want = ring_backing_wish(&geometry, &have, &idle, UINT64_MAX);
    ck_assert_mem_eq(&want, &have, sizeof want);
    const struct ring_use lie = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
    want = ring_backing_wish(&geometry, &have, &lie, UINT64_MAX);
    ck_assert(want.small == whole.small && want.big == whole.big && want.table == 2 * have.table);
    /* One that comes fast gets more than it has used. */
    const struct ring_use fast = {.big = 3, .big_new = 3};
    want = ring_backing_wish(&geometry, &have, &fast, UINT64_MAX);
    ck_assert_uint_ge(want.big, 15);
    ring_end();
}
END_TEST

/* Full, pinned, being written, never used: and all of them again. */
START_TEST(memory_that_is_given_back_is_a_claim_to_readers_and_nobody_elses)
{
    ring_begin(SKEIN_MODE_CIRCULAR, 4 * MIB);
    struct ring_header *header = (struct ring_header *)(void *)ring;
    const struct ring_backing whole = ring_backing_whole(&geometry);
    ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, NULL, &whole), SKEIN_OK);
    uint64_t before = ring_memory_used(ring_fd, geometry.total);
    big(2)->state = 3u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL;
    big(2)->end_ticks = 500;
    big(3)->state = 7u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL | RING_CHUNK_PIN;
    big(3)->end_ticks = 900;
    big(4)->state = 9u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING;
    big(5)->state = 0xffffffu << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL;
    uint64_t given = ring_backing_return(ring_fd, ring, &geometry, 2, 7);
    ck_assert_uint_eq(given, 3 * 7 * 4096);
    ck_assert_uint_eq(ring_memory_used(ring_fd, geometry.total), before - given);
    ck_assert_uint_eq(big(2)->state, 4u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_PIN);
    ck_assert_uint_eq(big(3)->state,
                      7u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL | RING_CHUNK_PIN);
    ck_assert_uint_eq(big(4)->state, 9u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING);
    ck_assert_uint_eq(big(5)->state, RING_CHUNK_PIN); /* the epoch goes round */
    ck_assert_uint_eq(big(6)->state, RING_CHUNK_PIN);
    ck_assert_uint_eq(header->overwritten_ticks, 500); /* of what is gone alone */
    struct ring_backing fewer = whole;
    fewer.big = 2;
    ck_assert_int_eq(ring_backing_make(ring_fd, &geometry, &fewer, &whole), SKEIN_OK);
    ring_backing_release(ring, &geometry, 2, whole.big);
    ck_assert_uint_eq(ring_memory_used(ring_fd, geometry.total), before);
    ck_assert_uint_eq(big(2)->state, 4u << RING_CHUNK_EPOCH_SHIFT);
    ck_assert_uint_eq(big(3)->state, /* a reader's, not ours */
                      7u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL | RING_CHUNK_PIN);
    ck_assert_uint_eq(big(6)->state, 0);
    ring_end();
}
END_TEST

START_TEST(a_process_reads_what_it_was_told_within_its_ring)
{
    struct process_page page = {0};
    struct ring_backing out, told = {5, 6, 4096};
    ck_assert_int_eq(ring_geometry_init(&geometry, SKEIN_MODE_CIRCULAR, 4 * MIB), SKEIN_OK);
    const struct ring_backing whole = ring_backing_whole(&geometry);
    ring_backing_load(&geometry, &page, &out);
    ck_assert_mem_eq(&out, &whole, sizeof out);
    ring_backing_store(&page, &told);
    ring_backing_load(&geometry, &page, &out);
    ck_assert(out.small == 5 && out.big == 6 && out.table == 4096);
    told = (struct ring_backing){UINT32_MAX, UINT32_MAX, UINT64_MAX};
    ring_backing_store(&page, &told);
    ring_backing_load(&geometry, &page, &out);
    ck_assert_mem_eq(&out, &whole, sizeof out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("ring_backing", a_new_ring_has_memory_for_many_threads_and_little_else,
                            where_there_is_plenty_a_new_ring_has_memory_for_a_burst,
                            a_small_ring_and_one_that_fills_once_have_all_at_once,
                            a_large_ring_that_fills_once_begins_with_a_step,
                            a_ring_that_is_taken_over_has_what_its_memory_bears_out,
                            what_is_made_in_steps_is_the_whole_ring_in_the_end,
                            a_ring_that_is_not_used_gets_nothing_and_a_hostile_one_its_own_at_most,
                            memory_that_is_given_back_is_a_claim_to_readers_and_nobody_elses,
                            a_process_reads_what_it_was_told_within_its_ring, NULL);
    TCase *ahead = tcase_create("ahead");
    tcase_add_loop_test(ahead, the_agent_goes_ahead_of_a_writer_from_its_first_event, 2, 9);
    suite_add_tcase(suite, ahead);
    return suite_run(suite);
}
