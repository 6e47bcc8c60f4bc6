/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of Perfetto (protobuf), as traced, its SDK, Chromium and `skein export` write them: track
 * events, the scheduler's events of ftrace (single or compact), samples of CPUs.
 *
 *   packets ─▶ first pass: tracks, clocks
 *           ─▶ second pass: who had which pid when
 *           ─▶ third pass: sequences with their state ─▶ import_many
 *
 * Memory: a packet, what sequences have interned, tracks, and what import_many holds. Every byte is
 * hostile: a packet that is broken is left out with its byte; where packets end in the middle, so does
 * the trace.
 */
#ifndef IMPORT_PERFETTO_H
#define IMPORT_PERFETTO_H

#include "import.h"

#define PERFETTO_PACKET_BYTES_MAX ((size_t)64 << 20)

struct perfetto_told {
    uint64_t packets, sequences, tracks, processes;
    uint64_t stateless;   /* packets whose sequence's state is lost */
    uint64_t overwritten; /* chunks that the tracer had overwritten or thrown away, as it says */
    uint64_t kernel_lost; /* events for which the kernel's buffers had no room, as it says */
    uint64_t kernel_gaps; /* pieces of a CPU's events in front of which some are missing */
};

/* SKEIN_OK, also where something was left out: *told says it. SKEIN_CORRUPT, SKEIN_NOT_FOUND with a
 * sentence in told->why; SKEIN_NO_MEMORY, and what `to->put` and the source return. */
int import_perfetto(const struct skein_trace_source *source, const struct import_to *to,
                    struct import_told *told, struct perfetto_told *perfetto);

#endif
