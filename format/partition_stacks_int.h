/* SPDX-License-Identifier: Apache-2.0
 *
 * What writer and reader hold of stacks, mappings and symbols (docs/format.md, section 8). Included
 * by their two private headers alone.
 */
#ifndef PARTITION_STACKS_INT_H
#define PARTITION_STACKS_INT_H

#include "intern_table.h"
#include "partition.h"

/* ---- writer ---- */

struct writer_mapping {
    struct partition_mapping row;
    char *path; /* of the row */
};

/* An address that has a name. */
struct writer_symbol {
    uint64_t address;
    size_t at; /* of its entry in symbol_bytes */
    uint32_t len, lines;
};

/* What stacks need (section 8). */
struct writer_stacks {
    uint32_t type;              /* of their records, + 1; 0: there is none yet */
    struct intern_table stacks; /* as stored; number n has the id n + 1 */
    uint64_t frames;            /* of all */
    uint64_t *pcs;              /* for partition_writer_stack_at */
    size_t pc_cap;
    struct intern_table mapping_entries; /* as stored */
    struct writer_mapping *mappings;     /* the same */
    size_t mapping_cap;
    struct intern_table addresses; /* that have a name */
    struct writer_symbol *symbols; /* of the same number */
    size_t symbol_cap;
    struct buf symbol_bytes;
    uint64_t lines; /* of all */
};

/* ---- reader ---- */

/* Frames `at` to `at` + count of the reader's pcs. */
struct reader_stack {
    size_t at;
    uint32_t count;
    uint8_t end;
};

/* An address that has a name. */
struct reader_symbol {
    uint64_t address;
    const uint8_t *bytes; /* its lines, which are known to be sound */
    uint32_t len, line_count;
    const struct partition_line *lines; /* NULL until they are asked for */
};

#endif
