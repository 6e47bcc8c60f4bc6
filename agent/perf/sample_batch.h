/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of one process on their way to their stacks: those of a CPU are walked at once by the
 * symbolizer, and each is given on with its stack, in the order in which they came. Evidence thread.
 */
#ifndef SAMPLE_BATCH_H
#define SAMPLE_BATCH_H

#include "sample_stack.h"
#include "symbolizer.h"

typedef void sample_stack_fn(void *context, const struct perf_sample *sample,
                             const struct sample_stack *stack);

struct sample_batch {
    /* the caller's */
    struct symbolizer *symbolizer; /* NULL: frame pointers are all there is */
    struct symbolizer_process process;
    const struct process_maps *maps; /* NULL: they are not known, and nothing is walked */
    uint64_t deadline_ns;            /* no more is walked */
    unsigned cpus_left;              /* that are still to come: they share the time */
    sample_stack_fn *fn;
    void *context;
    /* of all that have been given on */
    uint64_t walked,
        pointers;    /* with frames of the program: walked, or by frame pointers instead */
    uint64_t unread; /* that do not read */
    bool no_memory;  /* for walks */
};

/* Gives on the samples of one CPU's records. */
void sample_batch_give(struct sample_batch *batch, const uint8_t *records, size_t n);

#endif
