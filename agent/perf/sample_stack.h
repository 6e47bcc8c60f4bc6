/* SPDX-License-Identifier: Apache-2.0
 *
 * From a sample to a stack: frames of the kernel, then those of the program. Pure; any thread.
 */
#ifndef SAMPLE_STACK_H
#define SAMPLE_STACK_H

#include "perf_record.h"
#include "process_maps.h"

#define SAMPLE_STACK_PCS (2 * PERF_FRAMES_MAX)

struct sample_stack {
    uint64_t pcs[SAMPLE_STACK_PCS]; /* innermost first */
    uint32_t count;
    uint32_t in_kernel; /* the first so many are the kernel's */
    uint8_t end;        /* of struct partition_stack */
    bool walked;        /* the program's frames are `walk`'s */
};

/* The program's frames are those of `walk`, which somebody has unwound from the copied stack; NULL,
 * or where it broke sooner: those that the kernel found by frame pointers. These are cut where an
 * address is in no code, as the code there has kept something else in that register; without maps
 * (NULL), they are as the kernel gave them. */
void sample_stack_make(const struct perf_sample *sample, const struct partition_stack *walk,
                       const struct process_maps *maps, struct sample_stack *out);

#endif
