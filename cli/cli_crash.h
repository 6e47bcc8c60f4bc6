/* SPDX-License-Identifier: Apache-2.0
 *
 * How processes of a trace ended: by which signal, in which thread, where, and what they called
 * before they ended themselves. Rows of JSON, of which the text is made. One thread.
 */
#ifndef CLI_CRASH_H
#define CLI_CRASH_H

#include <cjson/cJSON.h>

#include "buf.h"
#include "partition_reader.h"

/* Adds a row to `rows`, an array, where the event is of a crash, an exit with another status than 0,
 * or an abort. `lines`: for people, too. SKEIN_OK, SKEIN_NO_MEMORY. */
int crash_rows_add(cJSON *rows, struct partition_reader *reader, const struct trace_event *event,
                   bool lines);

/* One row for people, with its stack:
 *
 *   shop[42] on vm at ...: thread 43 "worker" died of SIGSEGV (address not mapped), write to 0x10 in
 *   pay(order const&) (pay.cc:7)
 *           at pay(order const&)  (pay.cc:7)  shop
 */
void crash_row_put(struct buf *out, const cJSON *row);

#endif
