/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report keeps of evidence (docs/evidence.md). Included by trace_report_int.h alone.
 */
#ifndef TRACE_REPORT_EVIDENCE_H
#define TRACE_REPORT_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/trace.h"

struct trace_report_builder;

#define REPORT_KEPT_MAX 4096 /* of each kind */

enum report_mark { /* what a type of events is to the rules */
                   REPORT_MARK_NONE,
                   REPORT_MARK_CRASH,
                   REPORT_MARK_HANDLED,
                   REPORT_MARK_WAIT,
                   REPORT_MARK_DUMP,
                   REPORT_MARK_STATE
};

struct report_waiter { /* of a thread dump */
    uint32_t process, tid, holder;
    uint64_t object, at_ns;
};

struct report_crash {
    uint32_t process, thread, stack;
    int64_t signal;
    uint64_t at_ns;
    bool handled; /* the fault that its own handler was called for, before it died */
};

struct report_state { /* of a thread, by the dump: the system call that it was in */
    uint32_t process, tid, stack;
    uint64_t at_ns;
    char *call;
};

struct report_title { /* what a process says of itself */
    uint32_t process;
    uint64_t at_ns;
    char *text;
};

/* A row that the agent told. SKEIN_OK, SKEIN_NO_MEMORY. */
int report_evidence_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                         const struct skein_batch *batch, uint32_t row);

#endif
