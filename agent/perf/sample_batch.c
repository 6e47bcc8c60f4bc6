/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples that wait for their stacks; see sample_batch.h. The records are read twice: once to ask
 * for walks, once to give on what came of them.
 */
#include "sample_batch.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"

struct walk {
    size_t at; /* of its first pc */
    uint32_t count;
    uint8_t end;
};

/* Of the samples of one CPU. */
struct walking {
    struct sample_batch *batch;
    size_t count, given; /* of samples, so far: looked at, given on */
    struct symbolizer_sample *asked;
    size_t *asked_of; /* which sample that is */
    size_t asked_count, asked_cap, asked_of_cap;
    struct walk *walks; /* by sample; NULL: there are none */
    uint64_t *pcs;
    size_t pc_count, pc_cap;
};

/* What a walk needs: the registers and the stack of a 64-bit program. */
static bool sample_ask(const struct perf_sample *sample, struct symbolizer_sample *ask)
{
    if (!sample->has_regs || sample->stack_bytes == 0 ||
        !symbolizer_registers_perf(sample->regs, PERF_USER_REGS, ask->registers))
        return false;
    ask->address = ask->registers[7]; /* the stack pointer */
    ask->stack = sample->stack;
    ask->stack_bytes = sample->stack_bytes;
    return true;
}

/* perf_sample_fn */
static bool sample_list(void *context, const struct perf_sample *sample)
{
    struct walking *w = context;
    if (!array_grow(w->asked, w->asked_count + 1, &w->asked_cap) ||
        !array_grow(w->asked_of, w->asked_count + 1, &w->asked_of_cap)) {
        w->batch->no_memory = true;
        return false; /* the rest goes without */
    }
    w->asked_of[w->asked_count] = w->count++;
    w->asked_count += sample_ask(sample, &w->asked[w->asked_count]);
    return true;
}

/* symbolizer_stack_fn */
static void stack_take(void *context, size_t asked, const struct partition_stack *stack)
{
    struct walking *w = context;
    uint32_t count = stack->count < PERF_FRAMES_MAX ? stack->count : PERF_FRAMES_MAX;
    if (!array_grow(w->pcs, w->pc_count + count, &w->pc_cap)) {
        w->batch->no_memory = true;
        return;
    }
    memcpy(w->pcs + w->pc_count, stack->pcs, count * sizeof *w->pcs);
    w->walks[w->asked_of[asked]] =
        (struct walk){w->pc_count, count, count < stack->count ? PARTITION_STACK_CUT : stack->end};
    w->pc_count += count;
}

/* This CPU's share of the time that is left. */
static uint64_t share_deadline_ns(const struct sample_batch *batch)
{
    uint64_t now_ns = clock_monotonic_ns(), end_ns = batch->deadline_ns;
    unsigned shares = batch->cpus_left > 0 ? batch->cpus_left : 1;
    return end_ns > now_ns ? now_ns + (end_ns - now_ns) / shares : now_ns;
}

static void samples_walk(struct walking *w, const uint8_t *records, size_t n)
{
    const struct sample_batch *batch = w->batch;
    struct perf_walk walk;
    if (batch->symbolizer == NULL || batch->maps == NULL ||
        clock_monotonic_ns() >= batch->deadline_ns)
        return;
    perf_records_walk(records, n, sample_list, w, &walk);
    w->walks = calloc(w->count + 1, sizeof *w->walks);
    w->batch->no_memory |= w->walks == NULL;
    if (w->asked_count > 0 && w->walks != NULL) /* those that are late have none */
        (void)symbolizer_unwind(batch->symbolizer, &batch->process, w->asked, w->asked_count,
                                PERF_FRAMES_MAX, share_deadline_ns(batch), stack_take, w);
}

/* perf_sample_fn */
static bool sample_give(void *context, const struct perf_sample *sample)
{
    struct walking *w = context;
    struct sample_batch *batch = w->batch;
    struct partition_stack walked = {.count = 0};
    struct sample_stack stack;
    size_t at = w->given++;
    if (w->walks != NULL && at < w->count && w->walks[at].count > 0)
        walked = (struct partition_stack){w->pcs + w->walks[at].at, w->walks[at].count,
                                          w->walks[at].end};
    sample_stack_make(sample, &walked, batch->maps, &stack);
    batch->walked += stack.walked;
    batch->pointers += !stack.walked && stack.count > stack.in_kernel;
    batch->fn(batch->context, sample, &stack);
    return true;
}

void sample_batch_give(struct sample_batch *batch, const uint8_t *records, size_t n)
{
    struct walking w = {.batch = batch};
    struct perf_walk walk;
    samples_walk(&w, records, n);
    perf_records_walk(records, n, sample_give, &w, &walk);
    batch->unread += walk.unread;
    batch->cpus_left -= batch->cpus_left > 0;
    free(w.asked);
    free(w.asked_of);
    free(w.walks);
    free(w.pcs);
}
