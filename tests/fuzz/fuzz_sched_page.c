/* SPDX-License-Identifier: Apache-2.0
 * Pages of the kernel's trace buffer, of two CPUs: the first half of the bytes and the second, the
 * whole as a third page. Spans that come out of them are sound, whatever the pages hold. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "sched_types.h"
#include "sched_walk.h"
#include "skein/status.h"

static const struct page_shape shape = {
    .bytes = 4096, .commit_offset = 8, .commit_bytes = 8, .data_offset = 16};

/* As on the machine that the corpus is from. */
static const struct sched_layout layout = {
    .shapes = {[SCHED_EVENT_SWITCH] = {.known = true,
                                       .id = 372,
                                       .flags = {2, 1},
                                       .current = {4, 4},
                                       .comm = {8, 16},
                                       .tid = {24, 4},
                                       .state = {32, 8},
                                       .next_comm = {40, 16},
                                       .next = {56, 4}},
               [SCHED_EVENT_WAKING] = {.known = true,
                                       .id = 375,
                                       .flags = {2, 1},
                                       .current = {4, 4},
                                       .comm = {8, 16},
                                       .tid = {24, 4},
                                       .target_cpu = {32, 4}},
               [SCHED_EVENT_NEW] = {.known = true,
                                    .id = 205,
                                    .flags = {2, 1},
                                    .current = {4, 4},
                                    .tid = {8, 4},
                                    .comm = {12, 16},
                                    .clone_flags = {32, 8}}}};

static void check(bool good)
{
    if (!good)
        abort();
}

static void span_check(void *context, const struct sched_span *span)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    uint64_t *spans = context;
    check(span->begin_ns < span->end_ns);
    check(span->instead_ns <= span->end_ns - span->begin_ns);
    check(memchr(span->comm, 0, sizeof span->comm) != NULL);
    check(memchr(span->waker.comm, 0, sizeof span->waker.comm) != NULL);
    check(sched_span_values(span, values) <= SCHED_TYPE_BLOCKED);
    (*spans)++;
}

/* In memory of its own length, so that a read behind its end is seen. */
static void page_give(struct sched_keep *keep, uint32_t cpu, const uint8_t *bytes, size_t n)
{
    uint8_t *page = malloc(n > 0 ? n : 1);
    if (page != NULL && n > 0) {
        memcpy(page, bytes, n);
        (void)sched_keep_page(keep, cpu, page, n);
    }
    free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sched_keep keep;
    uint64_t spans = 0;
    const struct sched_timeline_ask ask = {
        .to_ns = UINT64_MAX, .all = true, .span = span_check, .context = &spans};
    struct sched_walk walk = {.until_ns = UINT64_MAX, .deadline_ns = UINT64_MAX};
    struct sched_timeline *timeline;
    if (sched_keep_init(&keep, &shape, 2, 6000, 0) != SKEIN_OK)
        return 0;
    page_give(&keep, 0, bytes, n);
    page_give(&keep, 0, bytes, n / 2);
    page_give(&keep, 1, bytes + n / 2, n - n / 2);
    page_give(&keep, 1, bytes, n);
    if (sched_timeline_new(&ask, &timeline) == SKEIN_OK) {
        (void)sched_walk_run(&walk, &keep, &layout, timeline);
        sched_timeline_free(&timeline);
    }
    sched_walk_fini(&walk);
    sched_keep_fini(&keep);
    return 0;
}
