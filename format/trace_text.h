/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace event as one line for people. Pure; one owner of the buf.
 *
 *   2026-11-21T09:40:00.123456Z checkout[7] main/7  region  query  1.500 ms  sql="select 1" rows=3
 */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include "buf.h"
#include "partition_reader.h"

/* Appends the line and a newline. Texts leave without control characters. b->status tells of
 * missing memory. */
void trace_text_put(struct buf *b, const struct partition_info *info,
                    const struct trace_event *event);

/* The event's arguments and its place, in the form of that line:
 * ` sql="select 1" rows=3  (db.c:17)`. */
void trace_text_put_args(struct buf *b, const struct trace_event *event);

/* The name of the error that a result below 0 is, "ECONNREFUSED": of an i64 with the unit "errno".
 * NULL: it is none. */
const char *trace_error_name(const char *unit, int64_t value);

/* "640 ns", "1.500 us", "12.345 ms", "2.003 s", rounded; and "1.5 us", "12.3 ms", "2.003 s". */
#define TRACE_DURATION_BYTES 32
void trace_duration_text(uint64_t ns, char out[TRACE_DURATION_BYTES]);
void trace_duration_short(uint64_t ns, char out[TRACE_DURATION_BYTES]);

#endif
