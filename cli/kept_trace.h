/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of a Go runtime that captures have kept (evidence "go", agent/gotrace/go_source.h): found
 * in a trace file by a first look over its events, and put together by a second one, whole or not at
 * all. What a file says is hostile, and is bounded. One thread.
 */
#ifndef KEPT_TRACE_H
#define KEPT_TRACE_H

#include "partition_reader.h"

#define KEPT_TRACES_MAX 65536
#define KEPT_BYTES_MAX  ((uint64_t)64 << 20) /* of one */

struct kept_trace {
    struct process_uid process;
    uint32_t pid;
    uint64_t ticks;           /* of its events */
    uint64_t total, checksum; /* as was said when it was fetched */
    char host[64], service[128], kind[16];
    /* kept_trace_take's */
    uint8_t *bytes;
    uint64_t end; /* of the last part */
};
struct kept_traces {
    struct kept_trace *items;
    size_t count, cap;
};

/* Notes the trace that the event tells of, if it does. SKEIN_OK, SKEIN_NO_MEMORY; SKEIN_TOO_LARGE:
 * more traces than KEPT_TRACES_MAX. */
int kept_traces_note(struct kept_traces *traces, const struct partition_info *info,
                     const struct trace_event *event);
void kept_traces_fini(struct kept_traces *traces);

/* Takes the event if it is a part of this trace. SKEIN_OK, SKEIN_NO_MEMORY; SKEIN_CORRUPT: it says
 * bytes that are none, or beyond the trace's end; SKEIN_TOO_LARGE: the trace is said to be larger
 * than KEPT_BYTES_MAX. */
int kept_trace_take(struct kept_trace *trace, const struct partition_info *info,
                    const struct trace_event *event);
/* Whether all of it is there, as it was fetched. */
bool kept_trace_whole(const struct kept_trace *trace);

#endif
