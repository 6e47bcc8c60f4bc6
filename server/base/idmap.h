/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from 16-byte ids to pointers. Ids come from outside, so the hash is keyed. One owner;
 * the caller locks. Values stay the caller's.
 */
#ifndef IDMAP_H
#define IDMAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct idmap_slot {
    uint8_t id[16];
    void *value; /* NULL: free */
};
struct idmap {
    struct idmap_slot *slots;
    size_t capacity, count;
    uint64_t seed;
};

/* The id of what is known by eight bytes alone: the number of an agent or session, a host. */
struct idmap_key {
    uint8_t id[16];
};
static inline struct idmap_key idmap_key_of(const void *eight)
{
    struct idmap_key key = {{0}};
    memcpy(key.id, eight, 8);
    return key;
}

/* All-zero is an empty map. */
void idmap_fini(struct idmap *map);
void *idmap_get(const struct idmap *map, const uint8_t id[16]); /* NULL where absent */
/* replaces; SKEIN_OK or SKEIN_NO_MEMORY */
int idmap_put(struct idmap *map, const uint8_t id[16], void *value);
/* Makes room for `extra` more ids: so many puts then succeed. SKEIN_OK or SKEIN_NO_MEMORY */
int idmap_reserve(struct idmap *map, size_t extra);
void *idmap_remove(struct idmap *map, const uint8_t id[16]); /* what was there, or NULL */

/* Walks: start with *at 0; NULL: the end. The current entry may be removed only after the walk. */
void *idmap_next(const struct idmap *map, size_t *at);

#endif
