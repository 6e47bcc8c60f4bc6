/* SPDX-License-Identifier: Apache-2.0
 *
 * Order between hosts: by how much the clock of one lies behind that of another, as far as the trace
 * proves it, and the times that are raised for it. Part of trace_int.h, and included by it alone.
 *
 * What proves it: a region that names its span (an argument `span_id` of 16 hex digits, with a
 * `trace_id`), and one that names that span as what caused it (`parent_span_id`). A child never begins
 * before its parent began. So all times of the child's host are raised by the least by which all of its
 * children begin no earlier than their parents (docs/reading.md).
 */
#ifndef TRACE_CAUSES_H
#define TRACE_CAUSES_H

#include "skein/trace.h"

/* Once for a trace, before it is walked; after that it does nothing. Where no partition of a host has
 * trace ids, or all are of one host, nothing is read. Else regions that name a span are, of all
 * processes, in bounded memory. SKEIN_OK, SKEIN_NO_MEMORY: then it is looked for again next time. */
int trace_causes_apply(struct skein_trace *trace);

#endif
