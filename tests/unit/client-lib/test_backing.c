/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer keeps to what has memory. Which pages it has touched is asked of the kernel: the
 * agent of these tests makes none, so each that is there was made by the writer.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"
#include "writer_int.h"

#define RING_BYTES (UINT64_C(4) << 20)
#define PAGE       UINT64_C(4096)

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;
static uint64_t number; /* of all events */

static void tell(uint32_t small, uint32_t big, uint64_t table)
{
    skein_backed_store(&ring.page->backed_table, table);
    skein_backed_store(&ring.page->backed_chunks, (uint64_t)big << 32 | small);
}

static void attach(uint8_t mode, uint32_t small, uint32_t big, uint64_t table)
{
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, mode, RING_BYTES);
    tell(small, big, table);
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

static void write_events(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        SKEIN_INSTANT("numbered", (u64, "n", number++));
}

static void *thread_write(void *count)
{
    for (uint64_t i = 0; i < (uint64_t)(uintptr_t)count; i++)
        SKEIN_INSTANT("threads'", (u64, "n", i));
    return NULL;
}

static void threads_write(unsigned threads, uint64_t events)
{
    pthread_t thread[64];
    for (unsigned i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, thread_write, (void *)(uintptr_t)events),
                         0);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static bool page_is_there(uint64_t at)
{
    return lseek(ring.ring_fd, (off_t)(at & ~(PAGE - 1)), SEEK_DATA) == (off_t)(at & ~(PAGE - 1));
}

/* Pages that lie wholly in [from, to). */
static unsigned pages_there(uint64_t from, uint64_t to)
{
    unsigned count = 0;
    for (uint64_t at = (from + PAGE - 1) & ~(PAGE - 1); at + PAGE <= to; at += PAGE)
        count += page_is_there(at);
    return count;
}

/* Of all chunks of a kind from `first` on, which lie in a row in each area. */
static unsigned chunk_pages_there(bool big, uint32_t first)
{
    const struct ring_geometry *g = &ring.geometry;
    uint32_t count = big ? ring_big_count(g) : ring_small_count(g), in_area = count / g->areas;
    uint64_t bytes = big ? RING_BIG_CHUNK : RING_SMALL_CHUNK;
    unsigned pages = 0;
    for (uint32_t end = in_area; end <= count; end += in_area) {
        uint32_t from = first > end - in_area ? first : end - in_area;
        if (from < end) {
            uint64_t at = big ? ring_big_offset(g, from) : ring_small_offset(g, from);
            pages += pages_there(at, at + (end - from) * bytes);
        }
    }
    return pages;
}

/* Those in big chunks: the first ones stay in a small one, which this thread takes no more. */
static bool is_in_big(const struct decoded_event *e)
{
    return strcmp(e->name, "numbered") == 0 && decoded.chunks[e->chunk].big;
}

static uint64_t numbers_kept(void)
{
    uint64_t count = 0;
    decode();
    for (size_t i = 0; i < decoded.event_count; i++)
        count += is_in_big(&decoded.events[i]);
    return count;
}

/* What is kept is the newest, without a hole. */
static void newest_check(uint64_t kept)
{
    size_t n = 0;
    for (size_t i = 0; i < decoded.event_count; i++) {
        if (!is_in_big(&decoded.events[i]))
            continue;
        must_hold(decoded.events[i].args[0].u64 == number - kept + n, "number %zu of %" PRIu64, n,
                  kept);
        n++;
    }
    ck_assert_uint_eq(n, kept);
}

START_TEST(no_page_is_touched_that_has_no_memory)
{
    attach(SKEIN_MODE_CIRCULAR, 8, 3, 8192);
    write_events(200000);
    threads_write(4, 50000);
    ck_assert_uint_gt(header()->wrapped_count, 1);
    ck_assert_uint_eq(chunk_pages_there(false, 8), 0);
    ck_assert_uint_eq(chunk_pages_there(true, 3), 0);
    for (int half = 0; half < 2; half++)
        ck_assert_uint_eq(pages_there(ring.geometry.table_off[half] + 8192,
                                      ring.geometry.table_off[half] + ring.geometry.table_bytes),
                          0);
    ck_assert_uint_eq(skein_total_load(&header()->num_records_dropped), 0);
    decode();
    ck_assert_uint_gt(header()->overwritten_ticks, 0);
}
END_TEST

START_TEST(an_agent_that_does_not_say_leaves_the_whole_ring)
{
    attach(SKEIN_MODE_CIRCULAR, 0, 0, 0);
    write_events(2 * RING_BYTES / 4);
    ck_assert_uint_gt(header()->wrapped_count, 0);
    ck_assert_uint_gt(chunk_pages_there(true, ring_big_count(&ring.geometry) - 1), 0);
}
END_TEST

/* Twice as many after each lap and a half: what is kept stays the newest, and grows. */
START_TEST(chunks_that_get_memory_are_used_in_the_order_of_time)
{
    attach(SKEIN_MODE_CIRCULAR, 4, 2, 8192);
    uint64_t before = 0;
    for (uint32_t big = 2; big <= 32; big *= 2) {
        tell(4, big, 8192);
        write_events(big * RING_BIG_CHUNK / 4 / 2 * 3);
        uint64_t kept = numbers_kept();
        newest_check(kept);
        ck_assert_uint_gt(kept, before);
        ck_assert_uint_ge(kept, (uint64_t)(big - 1) * RING_BIG_CHUNK / 8);
        before = kept;
        write_events(RING_BIG_CHUNK / 4); /* so that the next ones come in the middle of a round */
    }
}
END_TEST

START_TEST(a_oneshot_ring_goes_on_as_soon_as_there_is_memory)
{
    attach(SKEIN_MODE_ONESHOT, 2, 1, 8192);
    write_events(100000);
    ck_assert_uint_eq(chunk_pages_there(true, 1), 0);
    uint64_t lost = skein_total_load(&header()->num_records_dropped);
    decode();
    uint64_t kept = decoded_count(&decoded, "numbered");
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_eq(kept + lost, number);
    tell(2, 5, 8192);
    write_events(100000);
    decode();
    uint64_t more = decoded_count(&decoded, "numbered");
    ck_assert_uint_gt(more, 3 * kept);
    ck_assert_uint_eq(more + skein_total_load(&header()->num_records_dropped), number);
    tell(ring_small_count(&ring.geometry), ring_big_count(&ring.geometry), 8192);
    write_events(RING_BYTES);
    decode();
    ck_assert_uint_ge(decoded.payload_bytes, RING_BYTES / 8 * 7);
}
END_TEST

/* ---- tables ---- */

static struct skein_site *site_new(unsigned n)
{
    struct skein_site *site = calloc(1, sizeof *site);
    char *name = malloc(64);
    ck_assert(site != NULL && name != NULL);
    snprintf(name, 64, "site %u", n);
    *site = (struct skein_site){.name = name, .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT};
    return site;
}

static unsigned sites_emit(unsigned first, unsigned count)
{
    unsigned self_described = 0;
    for (unsigned i = 0; i < count; i++) {
        struct skein_site *site = site_new(first + i);
        skein_emit(site, NULL);
        free((void *)(uintptr_t)site->name); /* the ring holds copies only */
        free(site);
    }
    decode();
    for (size_t i = 0; i < decoded.event_count; i++)
        self_described += decoded.events[i].self_described;
    ck_assert_uint_eq(decoded.event_count, first + count);
    return self_described;
}

START_TEST(a_table_without_memory_waits_and_keeps_its_epoch)
{
    attach(SKEIN_MODE_CIRCULAR, 64, 4, PAGE);
    uint64_t epoch = header()->string_epoch;
    unsigned without = sites_emit(0, 400);
    ck_assert_uint_gt(without, 100);
    ck_assert_uint_lt(header()->durable_data_end, PAGE);
    ck_assert_uint_eq(header()->string_epoch, epoch);
    tell(64, 4, 8 * PAGE);
    ck_assert_uint_eq(sites_emit(400, 400), without);
    ck_assert_uint_eq(header()->string_epoch, epoch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("backing", no_page_is_touched_that_has_no_memory,
                            an_agent_that_does_not_say_leaves_the_whole_ring,
                            chunks_that_get_memory_are_used_in_the_order_of_time,
                            a_oneshot_ring_goes_on_as_soon_as_there_is_memory,
                            a_table_without_memory_waits_and_keeps_its_epoch, NULL);
    return suite_run(suite);
}
