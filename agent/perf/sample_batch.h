/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples on their way to their stacks: some are held with a copy of theirs, so that the symbolizer
 * walks many at once. Each is given on with a stack, in the order in which they came. Evidence
 * thread.
 */
#ifndef SAMPLE_BATCH_H
#define SAMPLE_BATCH_H

#include "sample_stack.h"
#include "symbolizer.h"

typedef void sample_stack_fn(void *context, const struct perf_sample *sample,
                             const struct sample_stack *stack);

struct sample_batch_settings {
    struct symbolizer *symbolizer; /* NULL: frame pointers are all there is */
    struct symbolizer_process process;
    const struct process_maps *maps; /* NULL: they are not known, and nothing is walked */
    uint64_t deadline_ns;            /* no more is walked */
    unsigned cpus; /* whose samples come one after the other: they share the time */
    sample_stack_fn *fn;
    void *context;
};

struct sample_batch;

/* SKEIN_OK, SKEIN_NO_MEMORY. What the settings point at outlives it. */
int sample_batch_new(const struct sample_batch_settings *settings, struct sample_batch **out);
void sample_batch_free(struct sample_batch **batch);

void sample_batch_add(struct sample_batch *batch, const struct perf_sample *sample);
void sample_batch_flush(struct sample_batch *batch); /* gives on what is held */

/* Of all that have been given on and had frames of the program. */
struct sample_batch_count {
    uint64_t walked;
    uint64_t pointers; /* by frame pointers instead */
};
struct sample_batch_count sample_batch_count(const struct sample_batch *batch);

#endif
