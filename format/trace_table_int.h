/* SPDX-License-Identifier: Apache-2.0
 *
 * The closing table of a trace file, for trace_file.c alone.
 */
#ifndef TRACE_TABLE_INT_H
#define TRACE_TABLE_INT_H

#include "partition_int.h"

/* Lengths of a whole table in *lengths (malloc'ed) and their sum. SKEIN_OK; SKEIN_CORRUPT and why,
 * unless fault is NULL; SKEIN_NO_MEMORY. */
int trace_table_get(const uint8_t *bytes, size_t n, uint64_t **lengths, size_t *count,
                    uint64_t *sum, struct partition_fault *fault);

#endif
