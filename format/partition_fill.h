/* SPDX-License-Identifier: Apache-2.0
 *
 * The partition writer's batch, opened to a loop that has many records at hand: it writes their
 * codes, times and values in place, without a call each. Included by the writer and by the agent's
 * row decoder. The loop keeps what is said below and checks all room itself; what it cannot place it
 * gives to partition_writer_event and _end, and opens the batch anew. One thread, the writer's.
 */
#ifndef PARTITION_FILL_H
#define PARTITION_FILL_H

#include "partition_writer.h"

/* The rows of an event type. A record may be added where local > 0, rows < cap and event_bytes are
 * left: a value into each column (F-26), then rows + 1. */
struct partition_fill_type {
    uint64_t *values; /* column c at values + c * cap */
    uint32_t rows, cap;
    uint32_t local;       /* its code in the batch; 0: the batch has none of it yet */
    uint32_t event_bytes; /* of a record in the batch, at most */
    uint8_t columns;
};

struct partition_fill {
    struct partition_fill_type *types; /* by the index of partition_writer_type */
    uint16_t *codes;                   /* of all records of the batch: 0 an end, else `local` */
    uint64_t *times;                   /* ticks since the record before */
    uint32_t events, events_max;
    size_t bytes_left;
    uint64_t last;  /* ticks of the last record; the next one's are not less */
    uint64_t since; /* when the first of all spans began */
};
#define PARTITION_END_BYTES 12 /* of an end in the batch, at most */

/* Opens the batch. false: it has no record yet, or no room, or the writer has failed. */
bool partition_writer_fill(struct partition_writer *w, struct partition_fill *fill);
/* Closes it: the writer has what was added. */
void partition_writer_filled(struct partition_writer *w, const struct partition_fill *fill);

#endif
