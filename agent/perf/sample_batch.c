/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples that wait for their stacks; see sample_batch.h.
 */
#include "sample_batch.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define BATCH 64

struct held {
    struct perf_sample sample; /* its stack: the copy */
    uint8_t stack[PERF_STACK_BYTES];
    uint64_t pcs[PERF_FRAMES_MAX];
    struct partition_stack walk; /* its pcs: those above; count 0: none */
};

struct sample_batch {
    struct sample_batch_settings settings;
    struct sample_batch_count count;
    struct held held[BATCH];
    size_t held_count;
    uint32_t cpu;       /* of those held */
    unsigned cpus_left; /* that one included */
    struct symbolizer_sample asked[BATCH];
    size_t asked_of[BATCH]; /* which of those held that is */
};

int sample_batch_new(const struct sample_batch_settings *settings, struct sample_batch **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->settings = *settings;
    (*out)->cpus_left = settings->cpus + 1; /* the first sample begins the first */
    (*out)->cpu = UINT32_MAX;
    return SKEIN_OK;
}

void sample_batch_free(struct sample_batch **batch)
{
    free(*batch);
    *batch = NULL;
}

static void stack_take(void *context, size_t sample, const struct partition_stack *stack)
{
    struct sample_batch *batch = context;
    struct held *held = &batch->held[batch->asked_of[sample]];
    uint32_t count = stack->count < PERF_FRAMES_MAX ? stack->count : PERF_FRAMES_MAX;
    memcpy(held->pcs, stack->pcs, count * sizeof *held->pcs);
    held->walk = (struct partition_stack){held->pcs, count, stack->end};
    if (count < stack->count)
        held->walk.end = PARTITION_STACK_CUT;
}

/* What a walk needs: the registers and the stack of a 64-bit program. */
static bool held_ask(const struct held *held, struct symbolizer_sample *ask)
{
    if (!held->sample.has_regs || held->sample.stack_bytes == 0 ||
        !symbolizer_registers_perf(held->sample.regs, PERF_USER_REGS, ask->registers))
        return false;
    ask->address = ask->registers[7]; /* the stack pointer */
    ask->stack = held->stack;
    ask->stack_bytes = held->sample.stack_bytes;
    return true;
}

/* This CPU's share of the time that is left. */
static uint64_t batch_deadline_ns(const struct sample_batch *batch)
{
    uint64_t now_ns = clock_monotonic_ns(), end_ns = batch->settings.deadline_ns;
    unsigned shares = batch->cpus_left > 0 ? batch->cpus_left : 1;
    return end_ns > now_ns ? now_ns + (end_ns - now_ns) / shares : now_ns;
}

static void batch_walk(struct sample_batch *batch)
{
    const struct sample_batch_settings *s = &batch->settings;
    size_t count = 0;
    if (s->symbolizer == NULL || s->maps == NULL || clock_monotonic_ns() >= s->deadline_ns)
        return;
    for (size_t i = 0; i < batch->held_count; i++) {
        if (held_ask(&batch->held[i], &batch->asked[count]))
            batch->asked_of[count++] = i;
    }
    if (count > 0) /* those that are late have none */
        (void)symbolizer_unwind(s->symbolizer, &s->process, batch->asked, count, PERF_FRAMES_MAX,
                                batch_deadline_ns(batch), stack_take, batch);
}

void sample_batch_flush(struct sample_batch *batch)
{
    struct sample_stack stack;
    batch_walk(batch);
    for (size_t i = 0; i < batch->held_count; i++) {
        const struct held *held = &batch->held[i];
        sample_stack_make(&held->sample, &held->walk, batch->settings.maps, &stack);
        batch->count.walked += stack.walked;
        batch->count.pointers += !stack.walked && stack.count > stack.in_kernel;
        batch->settings.fn(batch->settings.context, &held->sample, &stack);
    }
    batch->held_count = 0;
}

void sample_batch_add(struct sample_batch *batch, const struct perf_sample *sample)
{
    if (batch->held_count == BATCH || sample->cpu != batch->cpu)
        sample_batch_flush(batch);
    if (sample->cpu != batch->cpu) {
        batch->cpu = sample->cpu;
        batch->cpus_left -= batch->cpus_left > 0;
    }
    struct held *held = &batch->held[batch->held_count++];
    held->sample = *sample;
    held->walk = (struct partition_stack){.count = 0};
    if (held->sample.stack_bytes > sizeof held->stack)
        held->sample.stack_bytes = sizeof held->stack;
    if (sample->stack_bytes > 0)
        memcpy(held->stack, sample->stack, held->sample.stack_bytes);
    held->sample.stack = held->stack;
}

struct sample_batch_count sample_batch_count(const struct sample_batch *batch)
{
    return batch->count;
}
