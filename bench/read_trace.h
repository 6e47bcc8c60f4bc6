/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of bench_read. Included by read.c and read_trace.c.
 */
#ifndef READ_TRACE_H
#define READ_TRACE_H

#include <stdint.h>

#define READ_TICK_NS  64
#define READ_EPOCH_NS UINT64_C(1795254000000000000)
#define READ_RECORDS  4 /* of which a request is made, a begin and an end among them: READ_ROWS */
#define READ_ROWS     3
enum { READ_THREAD = 2 }; /* the tid of one */

/* Writes at least so many records, a whole number of cuts; how many. */
uint64_t read_trace_make(const char *path, uint64_t events);

#endif
