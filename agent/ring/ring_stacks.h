/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacks of one string epoch and the mappings of the code that they lead through, out of a
 * copied table half, as the partition writer knows them. Hostile bytes. Included by ring_table.h
 * and ring_stacks.c. One owner.
 */
#ifndef RING_STACKS_H
#define RING_STACKS_H

#include "buf.h"
#include "partition_writer.h"

struct ring_text {
    uint32_t offset, bytes;
};

/* what an epoch holds at most. More are not the library's. */
#define RING_MAPPINGS_MAX 256

enum ring_mapping_state { RING_MAPPING_UNSEEN = 0, RING_MAPPING_PLACED, RING_MAPPING_IN_THE_WAY };

struct ring_mapping {
    uint64_t start, end, offset;
    struct ring_text build_id, path;
    uint8_t state; /* enum ring_mapping_state */
};

#define RING_STACK_UNSEEN UINT32_MAX

struct ring_stacks {
    const uint8_t *records;  /* the table copy's */
    struct ring_text *texts; /* by id; zero bytes: none */
    uint32_t *ids;           /* of the writer, by id; 0: the writer has none */
    uint32_t count;
    struct ring_mapping *mappings; /* by start; none overlaps another */
    uint32_t mapping_count;
};

/* For so many ids. SKEIN_OK, SKEIN_NO_MEMORY. */
int ring_stacks_init(struct ring_stacks *stacks, const uint8_t *records, uint32_t count);
void ring_stacks_fini(struct ring_stacks *stacks);

/* Takes a MAPPING's payload, if it is whole and lies beside the others. */
void ring_stacks_mapping(struct ring_stacks *stacks, struct ring_text payload);

/* The writer's id of a stack, with its mappings; 0: no such stack, malformed, or it leads through
 * code that lies where the writer has other code of an epoch before. `exe`: path of the program
 * itself. */
uint32_t ring_stacks_place(struct ring_stacks *stacks, struct partition_writer *writer,
                           const char *exe, uint64_t id);

#endif
