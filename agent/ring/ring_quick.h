/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain records of a chunk's copy, in one tight loop straight into the partition writer's batch:
 * ends, and events of known types whose arguments are numbers. Included by ring_decode.c alone, which
 * decodes everything else. Hostile bytes; one thread.
 */
#ifndef RING_QUICK_H
#define RING_QUICK_H

#include "ring_table.h"

/* Takes records from *pos on and leaves *pos and *ticks behind the last one taken: all were sound,
 * and the writer has them. Stops in front of a record that it does not know to be sound and plain, at
 * the last bytes before `end`, or where the batch has no room. Returns how many it took; a record
 * that it left is as if it had not been looked at. */
uint64_t ring_quick(const struct ring_names *names, struct partition_writer *w, const uint8_t **pos,
                    const uint8_t *end, uint64_t *ticks, uint64_t ticks_max);

#endif
