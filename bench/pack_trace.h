/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace file as rows in memory, as an agent has them when it packs: thread by thread, in order.
 */
#ifndef PACK_TRACE_H
#define PACK_TRACE_H

#include "buf.h"
#include "partition_reader.h"

struct pack_row {
    uint64_t ticks, dur;
    uint32_t thread, type; /* PACK_END: the end of a range */
    uint32_t args;         /* where its arguments begin among those of the partition */
};
#define PACK_END UINT32_MAX

/* One partition of it. */
struct pack_part {
    struct buf bytes;
    struct partition_reader *reader; /* owns types, threads and texts */
    struct pack_row *rows;
    size_t row_count, row_cap;
    struct partition_value *args;
    size_t arg_count, arg_cap;
};

struct pack_trace {
    struct pack_part *parts;
    size_t count, cap, events;
};

/* The partitions of the file but for evidence; stacks are left out, as they are the same bytes in
 * every form. SKEIN_OK, or a status after telling why. */
int pack_trace_load(const char *path, struct pack_trace *trace);
void pack_trace_free(struct pack_trace *trace);

/* The records as the ring holds them: LEB128 of type, ticks since the one before, arguments; a
 * string is the number that it is interned by. */
void pack_rows_put(const struct pack_part *part, struct buf *out);

/* The partition, by the writer. */
int pack_part_write(const struct pack_part *part, struct buf *out);

#endif
