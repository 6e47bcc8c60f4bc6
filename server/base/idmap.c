/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing, at most half full, backward-shift deletion. Owns the slots.
 */
#include "idmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "checksum.h"
#include "skein/status.h"

static size_t home(const struct idmap *map, const uint8_t id[16])
{
    uint8_t keyed[24];
    memcpy(keyed, &map->seed, 8);
    memcpy(keyed + 8, id, 16);
    return (size_t)checksum64(keyed, sizeof keyed) & (map->capacity - 1);
}

void idmap_fini(struct idmap *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

/* The slot that holds id, or the free one where it belongs. */
static struct idmap_slot *slot_find(const struct idmap *map, const uint8_t id[16])
{
    size_t i = home(map, id);
    while (map->slots[i].value != NULL && memcmp(map->slots[i].id, id, 16) != 0)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *idmap_get(const struct idmap *map, const uint8_t id[16])
{
    return map->count > 0 ? slot_find(map, id)->value : NULL;
}

static int slots_grow(struct idmap *map)
{
    struct idmap larger = {.capacity = map->capacity > 0 ? map->capacity * 2 : 16,
                           .seed = map->seed};
    if (map->capacity == 0 && getrandom(&larger.seed, sizeof larger.seed, GRND_NONBLOCK) < 0)
        larger.seed = (uint64_t)(uintptr_t)map;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != NULL)
            *slot_find(&larger, map->slots[i].id) = map->slots[i];
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return SKEIN_OK;
}

int idmap_reserve(struct idmap *map, size_t extra)
{
    while (map->capacity / 2 < map->count || map->capacity / 2 - map->count < extra)
        if (slots_grow(map) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
    return SKEIN_OK;
}

int idmap_put(struct idmap *map, const uint8_t id[16], void *value)
{
    if (map->count >= map->capacity / 2 && slots_grow(map) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct idmap_slot *slot = slot_find(map, id);
    if (slot->value == NULL)
        map->count++;
    memcpy(slot->id, id, 16);
    slot->value = value;
    return SKEIN_OK;
}

void *idmap_remove(struct idmap *map, const uint8_t id[16])
{
    if (map->count == 0)
        return NULL;
    struct idmap_slot *slot = slot_find(map, id);
    void *value = slot->value;
    if (value == NULL)
        return NULL;
    map->count--;
    size_t mask = map->capacity - 1, hole = (size_t)(slot - map->slots);
    map->slots[hole].value = NULL;
    /* Entries behind the hole move up if the hole lies between their home and where they are. */
    for (size_t i = (hole + 1) & mask; map->slots[i].value != NULL; i = (i + 1) & mask) {
        size_t from_home = (i - home(map, map->slots[i].id)) & mask;
        if (from_home >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            map->slots[i].value = NULL;
            hole = i;
        }
    }
    return value;
}

void *idmap_next(const struct idmap *map, size_t *at)
{
    while (*at < map->capacity) {
        void *value = map->slots[(*at)++].value;
        if (value != NULL)
            return value;
    }
    return NULL;
}
