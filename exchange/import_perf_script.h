/* SPDX-License-Identifier: Apache-2.0
 *
 * What `perf script` prints: samples with their stacks, tracepoints, the scheduler's among them.
 *
 *   comm tid [cpu] seconds.fraction: period event: text     a head; -F adds pid/ and leaves others out
 *           address function+offset (file)                  frames, innermost first
 *                                                            an empty line
 *
 *   lines ─▶ first pass: which thread is of which process, and the last time
 *         ─▶ second pass: heads with their frames ─▶ import_many
 *
 * Memory: a line, a stack, the threads, and what import_many holds. Every byte is hostile: a line that
 * is none of these is left out, and counted with its number.
 */
#ifndef IMPORT_PERF_SCRIPT_H
#define IMPORT_PERF_SCRIPT_H

#include "import.h"

#define PERF_SCRIPT_LINE_MAX 65536u

struct perf_script_told {
    uint64_t lines, samples, switches, tracepoints, processes;
    uint64_t lines_left,
        first_left; /* that are no event and no frame, and the number of the first */
    bool no_pids;   /* it names no process: all threads are one's */
};

/* samples_hz: how often CPUs were sampled, where the event is no clock that says it; 0: unknown, and
 * such samples weigh nothing. SKEIN_OK, also where something was left out: *told says it.
 * SKEIN_UNSUPPORTED (it is perf.data itself) and SKEIN_NOT_FOUND with a sentence in told->why;
 * SKEIN_NO_MEMORY, and what `to->put` and the source return. */
int import_perf_script(const struct skein_trace_source *source, uint64_t samples_hz,
                       const struct import_to *to, struct import_told *told,
                       struct perf_script_told *script);

#endif
