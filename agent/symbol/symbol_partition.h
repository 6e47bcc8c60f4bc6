/* SPDX-License-Identifier: Apache-2.0
 *
 * Names what a partition under way holds stacks of. The thread that owns the writer, never the
 * loop's.
 */
#ifndef SYMBOL_PARTITION_H
#define SYMBOL_PARTITION_H

#include "partition_writer.h"
#include "symbolizer.h"

#define SYMBOL_PARTITION_BYTES (4u << 20) /* of names in one; further addresses stay raw */

/* Asks for the names of all addresses of the writer's stacks, by the writer's mappings, and writes
 * those that are known by deadline_ns (monotonic). pid, start_clock_ticks: as in struct
 * symbolizer_process. SKEIN_OK, also where names are late or do not fit; SKEIN_NO_MEMORY. */
int symbol_partition_name(struct symbolizer *s, pid_t pid, uint64_t start_clock_ticks,
                          uint64_t deadline_ns, struct partition_writer *w);

#endif
