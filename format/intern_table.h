/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers byte strings from 0 in the order of their first appearance; equal bytes, equal number.
 * The writer's strings, event types, threads and trace ids are each one of these. One owner.
 */
#ifndef INTERN_TABLE_H
#define INTERN_TABLE_H

#include "buf.h"

struct intern_entry {
    size_t offset;
    uint32_t len;
    uint32_t hash;
};

/* All-zero is an empty table. */
struct intern_table {
    struct buf bytes;
    struct intern_entry *entries;
    size_t count, cap;
    uint32_t *slots; /* number + 1, 0: empty; a power of two of them */
    size_t slot_count;
};

void intern_table_fini(struct intern_table *table);

/* The number of these bytes, *fresh set when they are new; SKEIN_NO_MEMORY (the table is then
 * unchanged). */
int64_t intern_table_put(struct intern_table *table, const void *bytes, size_t n, bool *fresh);

/* The number of these bytes, or SKEIN_NOT_FOUND. */
int64_t intern_table_find(const struct intern_table *table, const void *bytes, size_t n);

/* Room for `count` more of `bytes` in all: putting these cannot fail then. SKEIN_OK or
 * SKEIN_NO_MEMORY. */
int intern_table_reserve(struct intern_table *table, size_t count, size_t bytes);

static inline const uint8_t *intern_table_bytes(const struct intern_table *table, size_t i)
{
    return table->bytes.data + table->entries[i].offset;
}

#endif
