/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers by number: which place of an array belongs to an id that a file names. Open addressing;
 * one owner, one thread.
 */
#ifndef IMPORT_MAP_H
#define IMPORT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_map_slot {
    uint64_t key;
    uint32_t value; /* + 1; 0: empty */
};

/* All-zero is an empty map. */
struct import_map {
    struct import_map_slot *slots;
    size_t count, cap; /* a power of two */
};

#define IMPORT_MAP_NONE UINT32_MAX

void import_map_fini(struct import_map *map);
void import_map_clear(struct import_map *map); /* keeps the memory */

/* The value of key, or IMPORT_MAP_NONE. */
uint32_t import_map_get(const struct import_map *map, uint64_t key);

/* Sets it; value < IMPORT_MAP_NONE. false: no memory, nothing has changed. */
bool import_map_set(struct import_map *map, uint64_t key, uint32_t value);

void import_map_remove(struct import_map *map, uint64_t key);

#endif
