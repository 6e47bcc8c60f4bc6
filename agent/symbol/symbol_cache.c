/* SPDX-License-Identifier: Apache-2.0
 *
 * Known names; see symbol_cache.h. Each half is a table of chains that doubles.
 */
#include "symbol_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "skein/status.h"

#define BUCKETS_MIN 256

struct entry {
    struct entry *next;
    uint64_t place;
    uint32_t file, bytes;
    uint8_t lines[];
};

struct half {
    struct entry **buckets;
    size_t bucket_count, count; /* bucket_count: a power of two, or 0 */
    uint64_t bytes;
};

struct symbol_cache {
    uint64_t max_bytes; /* of a half */
    struct half fresh, old;
};

static uint64_t key_hash(uint32_t file, uint64_t place)
{
    uint64_t h = place ^ (uint64_t)file * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 29;
}

static struct entry **half_bucket(const struct half *half, uint32_t file, uint64_t place)
{
    return &half->buckets[key_hash(file, place) & (half->bucket_count - 1)];
}

static struct entry **half_find(const struct half *half, uint32_t file, uint64_t place)
{
    if (half->bucket_count == 0)
        return NULL;
    struct entry **at = half_bucket(half, file, place);
    while (*at != NULL && ((*at)->file != file || (*at)->place != place))
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

static void half_clear(struct half *half)
{
    for (size_t i = 0; i < half->bucket_count; i++)
        for (struct entry *entry = half->buckets[i]; entry != NULL;) {
            struct entry *next = entry->next;
            free(entry);
            entry = next;
        }
    free(half->buckets);
    *half = (struct half){0};
}

static bool half_has_room(struct half *half)
{
    if (half->count < half->bucket_count)
        return true;
    struct half grown = *half;
    grown.bucket_count = half->bucket_count > 0 ? 2 * half->bucket_count : BUCKETS_MIN;
    grown.buckets = calloc(grown.bucket_count, sizeof *grown.buckets);
    if (grown.buckets == NULL)
        return half->bucket_count > 0; /* longer chains, then */
    for (size_t i = 0; i < half->bucket_count; i++)
        for (struct entry *entry = half->buckets[i]; entry != NULL;) {
            struct entry *next = entry->next, **at = half_bucket(&grown, entry->file, entry->place);
            entry->next = *at;
            *at = entry;
            entry = next;
        }
    free(half->buckets);
    *half = grown;
    return true;
}

static uint64_t entry_bytes(const struct entry *entry)
{
    return sizeof *entry + entry->bytes + 2 * sizeof entry;
}

static bool half_add(struct half *half, struct entry *entry)
{
    if (!half_has_room(half))
        return false;
    struct entry **at = half_bucket(half, entry->file, entry->place);
    entry->next = *at;
    *at = entry;
    half->count++;
    half->bytes += entry_bytes(entry);
    return true;
}

/* Takes the entry. */
static void entry_add(struct symbol_cache *cache, struct entry *entry)
{
    if (cache->fresh.bytes + entry_bytes(entry) > cache->max_bytes) {
        half_clear(&cache->old);
        cache->old = cache->fresh;
        cache->fresh = (struct half){0};
    }
    if (entry_bytes(entry) > cache->max_bytes || !half_add(&cache->fresh, entry))
        free(entry);
}

int symbol_cache_new(uint64_t max_bytes, struct symbol_cache **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->max_bytes = max_bytes / 2;
    return SKEIN_OK;
}

void symbol_cache_free(struct symbol_cache **cache_p)
{
    struct symbol_cache *cache = *cache_p;
    *cache_p = NULL;
    if (cache == NULL)
        return;
    half_clear(&cache->fresh);
    half_clear(&cache->old);
    free(cache);
}

const uint8_t *symbol_cache_get(struct symbol_cache *cache, uint32_t file, uint64_t place,
                                size_t *bytes)
{
    struct entry **at = half_find(&cache->fresh, file, place);
    if (at == NULL) {
        at = half_find(&cache->old, file, place);
        if (at == NULL)
            return NULL;
        struct entry *entry = *at;
        *at = entry->next;
        cache->old.count--;
        cache->old.bytes -= entry_bytes(entry);
        entry_add(cache, entry);
        at = half_find(&cache->fresh, file, place);
        if (at == NULL)
            return NULL;
    }
    *bytes = (*at)->bytes;
    return (*at)->lines;
}

void symbol_cache_put(struct symbol_cache *cache, uint32_t file, uint64_t place,
                      const uint8_t *lines, size_t bytes)
{
    size_t known;
    if (bytes > UINT32_MAX || symbol_cache_get(cache, file, place, &known) != NULL)
        return;
    struct entry *entry = malloc(sizeof *entry + bytes);
    if (entry == NULL)
        return;
    *entry = (struct entry){.place = place, .file = file, .bytes = (uint32_t)bytes};
    memcpy(entry->lines, lines, bytes);
    entry_add(cache, entry);
}

uint64_t symbol_cache_bytes(const struct symbol_cache *cache)
{
    return cache->fresh.bytes + cache->old.bytes;
}
