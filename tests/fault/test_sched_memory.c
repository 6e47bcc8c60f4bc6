/* SPDX-License-Identifier: Apache-2.0
 * The scheduler's records without memory: each allocation fails once. A timeline says so, or tells
 * all; a page that could not be kept is a gap in front of the next one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "sched_keep.h"
#include "sched_timeline.h"
#include "skein/status.h"
#include "support.h"

/* ---- a timeline: many threads on two CPUs, in turns ---- */

#define THREADS 300
#define ROUNDS  3

static uint64_t told, told_sum; /* of spans */

static void span_take(void *context, const struct sched_span *span)
{
    (void)context;
    told++;
    told_sum = told_sum * 31 + span->tid + span->begin_ns * 7 + span->end_ns * 11 + span->kind;
}

static int change(struct sched_timeline *t, uint64_t at, uint32_t cpu, uint32_t prev, uint32_t next)
{
    const struct sched_event leave = {.time_ns = at,
                                      .cpu = cpu,
                                      .kind = SCHED_EVENT_SWITCH,
                                      .tid = prev,
                                      .state = 1,
                                      .next = next};
    const struct sched_event wake = {.time_ns = at + 1,
                                     .cpu = cpu,
                                     .kind = SCHED_EVENT_WAKING,
                                     .current = next,
                                     .tid = prev,
                                     .target_cpu = 1 - cpu};
    int status = sched_timeline_event(t, &leave);
    return status == SKEIN_OK && prev != 0 ? sched_timeline_event(t, &wake) : status;
}

static int story_tell(size_t *uses)
{
    struct sched_timeline *t = NULL;
    const struct sched_use *list = NULL;
    const struct sched_timeline_ask ask = {
        .to_ns = UINT64_MAX, .all = true, .span = span_take, .context = NULL};
    told = told_sum = 0;
    *uses = 0;
    int status = sched_timeline_new(&ask, &t);
    for (uint32_t i = 0; status == SKEIN_OK && i < 4; i++)
        status = sched_timeline_watch(t, 1000 + i, 0, 'S', 0, "x");
    for (uint32_t i = 0; status == SKEIN_OK && i < THREADS * ROUNDS; i++)
        status =
            change(t, 100 + i * 10, i / 2 % 2, i < 4 ? 0 : 1 + (i - 4) % THREADS, 1 + i % THREADS);
    if (status == SKEIN_OK)
        sched_timeline_end(t, 1000000);
    if (status == SKEIN_OK)
        *uses = sched_timeline_uses(t, &list);
    if (status == SKEIN_OK && list == NULL)
        status = SKEIN_NO_MEMORY;
    sched_timeline_free(&t);
    return status;
}

START_TEST(a_timeline_survives_every_failed_allocation)
{
    size_t all_uses, uses;
    ck_assert_int_eq(story_tell(&all_uses), SKEIN_OK);
    uint64_t all = told, all_sum = told_sum;
    ck_assert_uint_gt(all, THREADS * ROUNDS);
    ck_assert_uint_gt(all_uses, THREADS);
    unsigned n = 1;
    for (bool failed = true; failed; n++) {
        alloc_fail_at(n);
        int status = story_tell(&uses);
        failed = alloc_fail_end();
        must_hold(status == (failed ? SKEIN_NO_MEMORY : SKEIN_OK), "allocation %u: %d", n, status);
        must_hold(failed || (told == all && told_sum == all_sum && uses == all_uses),
                  "%" PRIu64 " spans, not %" PRIu64, told, all);
    }
    ck_assert_uint_gt(n, 8);
}
END_TEST

/* ---- pages ---- */

#define PAGES 80 /* more than the array has room for at first */

static const struct page_shape shape = {
    .bytes = 4096, .commit_offset = 8, .commit_bytes = 8, .data_offset = 16};

/* One record with 4 bytes at the page's time. */
static size_t page_make(uint8_t page[32], uint64_t time_ns)
{
    const uint32_t words[] = {(uint32_t)time_ns, (uint32_t)(time_ns >> 32), 8, 0, 1, 0x5c5c5c5c};
    memcpy(page, words, sizeof words); /* little-endian, as all hosts of tests */
    return sizeof words;
}

static int pages_keep(struct sched_keep *keep, unsigned *lost)
{
    uint8_t page[32];
    int status = sched_keep_init(keep, &shape, 1, 1 << 20, 5);
    *lost = PAGES;
    for (unsigned i = 0; status == SKEIN_OK && i < PAGES; i++) {
        size_t n = page_make(page, 1000 + i);
        int kept = sched_keep_page(keep, 0, page, n);
        must_hold(kept == SKEIN_OK || (kept == SKEIN_NO_MEMORY && *lost == PAGES), "page %u", i);
        *lost = kept == SKEIN_OK ? *lost : i;
    }
    return status;
}

static void gaps_check(const struct kept_cpu *cpu, unsigned lost)
{
    uint64_t before_ns = 5;
    for (size_t i = 0; i < cpu->count; i++) {
        const struct kept_page *page = &cpu->pages[cpu->head + i];
        bool gap = i == lost;
        must_hold(page->first_ns == 1000 + i + (i >= lost), "page %zu", i);
        must_hold(page->gap == gap, "page %zu has %s gap", i, gap ? "no" : "a");
        must_hold(!gap || (page->gap_from_ns == before_ns && page->gap_records == 0), "gap");
        before_ns = page->last_ns;
    }
}

START_TEST(a_page_without_memory_is_a_gap)
{
    unsigned n = 1, lost;
    for (bool failed = true; failed; n++) {
        struct sched_keep keep = {.count = 0};
        alloc_fail_at(n);
        int status = pages_keep(&keep, &lost);
        failed = alloc_fail_end();
        if (status == SKEIN_OK) {
            ck_assert_uint_eq(failed, lost < PAGES);
            ck_assert_uint_eq(keep.cpus[0].count, PAGES - failed);
            gaps_check(&keep.cpus[0], lost);
        } else {
            ck_assert(failed && status == SKEIN_NO_MEMORY);
        }
        sched_keep_fini(&keep);
    }
    ck_assert_uint_gt(n, PAGES);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("sched_memory", a_timeline_survives_every_failed_allocation,
                              a_page_without_memory_is_a_gap, NULL));
}
