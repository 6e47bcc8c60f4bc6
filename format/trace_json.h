/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace event as one line of JSON. Written by hand because integers keep all 64 bits and because
 * millions of lines are printed. Pure; one owner of the buf.
 *
 *   {"ts_ns":1795254000123456789,"dur_ns":1500000,
 *    "process":"<32 hex>","service":"checkout","pid":7,"thread":"main","tid":7,
 *    "type":"region","name":"query","args":{"sql":"…","rows":3}}
 *
 * Members that are there only sometimes: `dur_ns` for a finished region; `open_ns`, the time so
 * far, for an open one; `depth` if ranges are open around it; "error", the name of an error number,
 * if an argument of unit "errno" is below 0; "fixed_up", "begin_clipped", "end_clipped", "cut" (a
 * string was longer) if true; "frames" and "stack_end" if it has a stack (trace_stack.h).
 */
#ifndef TRACE_JSON_H
#define TRACE_JSON_H

#include "buf.h"
#include "partition_reader.h"

/* Appends the line and a newline. `reader`: of the event, for its stack; NULL: without. b->status
 * tells of missing memory. */
void trace_json_put(struct buf *b, const struct partition_info *info,
                    const struct trace_event *event, struct partition_reader *reader);

/* "region", "begin", "instant", "counter", "log", "open", "loss", "end"; "unknown" for none of
 * these. */
const char *trace_kind_text(uint8_t kind);

/* Appends n bytes as a JSON string, quotes included; what is no UTF-8 becomes U+FFFD. */
void trace_json_string(struct buf *b, const char *text, size_t n);

#endif
