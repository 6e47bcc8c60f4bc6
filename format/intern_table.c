/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing over one growing byte arena. Owns its three allocations.
 * Never shrinks; nothing is ever removed.
 */
#include "intern_table.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"

enum { FIRST_SLOTS = 256 };

void intern_table_fini(struct intern_table *table)
{
    buf_fini(&table->bytes);
    free(table->entries);
    free(table->slots);
    *table = (struct intern_table){0};
}

static bool slots_grow(struct intern_table *table)
{
    size_t n = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = table->entries[i].hash & (n - 1);
        while (slots[at] != 0)
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = n;
    return true;
}

int intern_table_reserve(struct intern_table *table, size_t count, size_t bytes)
{
    while (table->count + count >= table->slot_count / 2)
        if (!slots_grow(table))
            return SKEIN_NO_MEMORY;
    if (!array_grow(table->entries, table->count + count + 1, &table->cap))
        return SKEIN_NO_MEMORY;
    if (buf_reserve(&table->bytes, bytes) == NULL) {
        table->bytes.status = SKEIN_OK;
        return SKEIN_NO_MEMORY;
    }
    return SKEIN_OK;
}

/* The slot of these bytes, or the empty one where they belong; there is an empty one. */
static size_t slot_of(const struct intern_table *table, const void *bytes, size_t n, uint32_t hash)
{
    size_t mask = table->slot_count - 1, at = hash & mask;
    for (; table->slots[at] != 0; at = (at + 1) & mask) {
        const struct intern_entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->hash == hash && entry->len == n &&
            memcmp(table->bytes.data + entry->offset, bytes, n) == 0)
            break;
    }
    return at;
}

int64_t intern_table_find(const struct intern_table *table, const void *bytes, size_t n)
{
    if (table->slot_count == 0)
        return SKEIN_NOT_FOUND;
    uint32_t slot = table->slots[slot_of(table, bytes, n, checksum32(bytes, n))];
    return slot != 0 ? (int64_t)slot - 1 : SKEIN_NOT_FOUND;
}

int64_t intern_table_put(struct intern_table *table, const void *bytes, size_t n, bool *fresh)
{
    uint32_t hash = checksum32(bytes, n);
    *fresh = false;
    if (table->count >= table->slot_count / 2 && !slots_grow(table))
        return SKEIN_NO_MEMORY;
    size_t at = slot_of(table, bytes, n, hash);
    if (table->slots[at] != 0)
        return (int64_t)table->slots[at] - 1;
    if (!array_grow(table->entries, table->count + 1, &table->cap))
        return SKEIN_NO_MEMORY;
    size_t offset = table->bytes.len;
    buf_put(&table->bytes, bytes, n);
    if (table->bytes.status != SKEIN_OK) {
        table->bytes.status = SKEIN_OK;
        return SKEIN_NO_MEMORY;
    }
    table->entries[table->count] = (struct intern_entry){offset, (uint32_t)n, hash};
    table->slots[at] = (uint32_t)++table->count;
    *fresh = true;
    return (int64_t)table->count - 1;
}
