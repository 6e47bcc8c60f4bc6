/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_map.h. Linear probing; a removed slot is filled from those behind it, so that there are
 * no graves.
 */
#include "import_map.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

/* Steele's and Vigna's finalizer of SplitMix64: ids that count up spread over all slots. */
static size_t slot_of(const struct import_map *map, uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(key ^ (key >> 31)) & (map->cap - 1);
}

void import_map_fini(struct import_map *map)
{
    free(map->slots);
    *map = (struct import_map){.slots = NULL};
}

void import_map_clear(struct import_map *map)
{
    if (map->count > 0)
        memset(map->slots, 0, map->cap * sizeof *map->slots);
    map->count = 0;
}

/* Where key is, or the empty slot where it would go. The map is never full. */
static size_t place_of(const struct import_map *map, uint64_t key)
{
    size_t at = slot_of(map, key);
    while (map->slots[at].value != 0 && map->slots[at].key != key)
        at = (at + 1) & (map->cap - 1);
    return at;
}

uint32_t import_map_get(const struct import_map *map, uint64_t key)
{
    if (map->count == 0)
        return IMPORT_MAP_NONE;
    return map->slots[place_of(map, key)].value - 1; /* 0 becomes NONE */
}

static bool map_grow(struct import_map *map)
{
    struct import_map larger = {.count = map->count,
                                .cap = map->cap == 0 ? FIRST_SLOTS : map->cap * 2};
    larger.slots = calloc(larger.cap, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].value != 0)
            larger.slots[place_of(&larger, map->slots[i].key)] = map->slots[i];
    free(map->slots);
    *map = larger;
    return true;
}

bool import_map_set(struct import_map *map, uint64_t key, uint32_t value)
{
    if (map->count >= map->cap / 4 * 3 && !map_grow(map))
        return false;
    struct import_map_slot *slot = &map->slots[place_of(map, key)];
    map->count += slot->value == 0;
    *slot = (struct import_map_slot){.key = key, .value = value + 1};
    return true;
}

void import_map_remove(struct import_map *map, uint64_t key)
{
    if (map->count == 0)
        return;
    size_t mask = map->cap - 1, hole = place_of(map, key);
    if (map->slots[hole].value == 0)
        return;
    for (size_t at = (hole + 1) & mask; map->slots[at].value != 0; at = (at + 1) & mask) {
        size_t home = slot_of(map, map->slots[at].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it may not go in front of its home */
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole].value = 0;
    map->count--;
}
