/* SPDX-License-Identifier: Apache-2.0
 *
 * From a sample to a stack: frames of the kernel, then those of the program. The program's come of
 * its copied stack and its registers where somebody can unwind them, else from the frame pointers
 * that the kernel followed. Evidence thread.
 */
#ifndef SAMPLE_STACK_H
#define SAMPLE_STACK_H

#include "partition.h"
#include "perf_record.h"

#define SAMPLE_STACK_PCS (2 * PERF_FRAMES_MAX)

/* Ranges of a process's addresses that hold code, lowest first: what is a return address lies in
 * one. */
struct code_range {
    uint64_t start, end;
};
struct code_ranges {
    struct code_range *items;
    size_t count, cap;
};

/* One line of /proc/PID/maps; false: it is no range of code. Hostile: paths are anybody's. */
bool code_range_parse(const char *line, struct code_range *out);
/* SKEIN_OK; SKEIN_IO: it cannot be read; SKEIN_NO_MEMORY. The caller frees with _fini. */
int code_ranges_read(uint32_t pid, struct code_ranges *out);
void code_ranges_fini(struct code_ranges *ranges);

struct sample_stack {
    uint64_t pcs[SAMPLE_STACK_PCS];
    uint32_t count;
    uint32_t in_kernel; /* the first so many are the kernel's */
    uint8_t end;
};

/* The stack by frame pointers: cut where an address is in no code, as the code there has kept
 * something else in that register; without ranges, as the kernel gave it. */
void sample_stack_make(const struct perf_sample *sample, const struct code_ranges *ranges,
                       struct sample_stack *out);

#endif
