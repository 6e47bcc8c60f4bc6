/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks to partitions. Owns the buffers of what is being assembled, found by a hash of their
 * claims and listed by the time of their last chunk. One thread; never blocks; never holds more
 * than its bound, but for the one partition that is larger than the bound itself.
 */
#include "assembly.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"

#define SLOTS_MIN 64 /* a power of two */
#define SLOTS_MAX 65536

struct assembly {
    struct wire_chunk claims; /* of its first chunk; bytes, bytes_len and index mean nothing */
    uint64_t last_ns;
    uint32_t received;
    uint8_t *bytes;
    uint8_t *seen;                  /* one bit a chunk */
    struct assembly *next;          /* in its slot */
    struct assembly *older, *newer; /* by last chunk */
};

struct assembler {
    uint64_t max_bytes, bytes;
    size_t count, slot_count;
    struct assembly **slots;
    struct assembly *oldest, *newest;
};

static bool claims_equal(const struct wire_chunk *a, const struct wire_chunk *b)
{
    return memcmp(&a->key, &b->key, sizeof a->key) == 0 &&
           capture_id_equal(&a->capture, &b->capture) && a->count == b->count &&
           a->partition_bytes == b->partition_bytes &&
           a->partition_checksum == b->partition_checksum;
}

static size_t slot_of(const struct assembler *a, const struct wire_chunk *chunk)
{
    return (size_t)(checksum64(&chunk->key, sizeof chunk->key) & (a->slot_count - 1));
}

int assembler_new(uint64_t max_bytes, struct assembler **out)
{
    *out = NULL;
    struct assembler *a = calloc(1, sizeof *a);
    if (!a)
        return SKEIN_NO_MEMORY;
    a->max_bytes = max_bytes;
    /* Whatever is assembled has two chunks or more, so its number is bounded by the memory too. */
    a->slot_count = SLOTS_MIN;
    while (a->slot_count < SLOTS_MAX && a->slot_count < max_bytes / WIRE_CHUNK_MAX)
        a->slot_count *= 2;
    a->slots = calloc(a->slot_count, sizeof(struct assembly *));
    if (!a->slots) {
        free(a);
        return SKEIN_NO_MEMORY;
    }
    *out = a;
    return SKEIN_OK;
}

static void list_unlink(struct assembler *a, struct assembly *x)
{
    *(x->older ? &x->older->newer : &a->oldest) = x->newer;
    *(x->newer ? &x->newer->older : &a->newest) = x->older;
    x->older = x->newer = NULL;
}

static void list_append(struct assembler *a, struct assembly *x)
{
    x->older = a->newest;
    *(a->newest ? &a->newest->newer : &a->oldest) = x;
    a->newest = x;
}

static void assembly_free(struct assembly *x)
{
    free(x->bytes);
    free(x->seen);
    free(x);
}

static void assembly_drop(struct assembler *a, struct assembly *x)
{
    struct assembly **at = &a->slots[slot_of(a, &x->claims)];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    list_unlink(a, x);
    a->bytes -= x->claims.partition_bytes;
    a->count--;
    assembly_free(x);
}

void assembler_free(struct assembler **assembler)
{
    struct assembler *a = *assembler;
    if (!a)
        return;
    *assembler = NULL;
    while (a->oldest)
        assembly_drop(a, a->oldest);
    free(a->slots);
    free(a);
}

static struct assembly *assembly_find(const struct assembler *a, const struct wire_chunk *chunk)
{
    struct assembly *x = a->slots[slot_of(a, chunk)];
    while (x && !claims_equal(&x->claims, chunk))
        x = x->next;
    return x;
}

bool assembler_has(const struct assembler *assembler, const struct wire_chunk *chunk)
{
    return assembly_find(assembler, chunk) != NULL;
}

static int assembly_new(struct assembler *a, const struct wire_chunk *chunk, struct assembly **out)
{
    uint64_t need = chunk->partition_bytes;
    if (a->count > 0 && (a->bytes > a->max_bytes || need > a->max_bytes - a->bytes))
        return SKEIN_FULL;
    struct assembly *x = calloc(1, sizeof *x);
    if (!x)
        return SKEIN_NO_MEMORY;
    x->claims = *chunk;
    x->bytes = malloc((size_t)need);
    x->seen = calloc((chunk->count + 7u) / 8u, 1);
    if (!x->bytes || !x->seen) {
        assembly_free(x);
        return SKEIN_NO_MEMORY;
    }
    struct assembly **slot = &a->slots[slot_of(a, chunk)];
    x->next = *slot;
    *slot = x;
    list_append(a, x);
    a->bytes += need;
    a->count++;
    *out = x;
    return SKEIN_OK;
}

static bool chunk_seen(const struct assembly *x, uint32_t index)
{
    return x->seen[index / 8] & (1u << (index % 8));
}

static uint32_t chunks_without_gap(const struct assembly *x)
{
    uint32_t n = 0;
    while (n < x->claims.count && chunk_seen(x, n))
        n++;
    return n;
}

int assembler_add(struct assembler *assembler, const struct wire_chunk *chunk, uint64_t now_ns,
                  uint8_t **bytes, uint32_t *have)
{
    *bytes = NULL;
    *have = 0;
    struct assembly *x = assembly_find(assembler, chunk);
    if (!x) {
        int status = assembly_new(assembler, chunk, &x);
        if (status < 0)
            return status;
    }
    x->last_ns = now_ns;
    list_unlink(assembler, x);
    list_append(assembler, x);
    if (!chunk_seen(x, chunk->index)) { /* wire_chunk_get has checked index and length */
        memcpy(x->bytes + (size_t)chunk->index * WIRE_CHUNK_MAX, chunk->bytes, chunk->bytes_len);
        x->seen[chunk->index / 8] |= (uint8_t)(1u << (chunk->index % 8));
        x->received++;
    }
    *have = chunks_without_gap(x);
    if (x->received < x->claims.count)
        return 0;
    int status = 1;
    if (checksum64(x->bytes, (size_t)x->claims.partition_bytes) != x->claims.partition_checksum) {
        status = SKEIN_CORRUPT;
    } else {
        *bytes = x->bytes;
        x->bytes = NULL;
    }
    assembly_drop(assembler, x);
    return status;
}

size_t assembler_expire(struct assembler *assembler, uint64_t before_ns)
{
    size_t dropped = 0;
    struct assembly *x, *newer;
    for (x = assembler->oldest; x && x->last_ns < before_ns; x = newer) {
        newer = x->newer;
        assembly_drop(assembler, x);
        dropped++;
    }
    return dropped;
}

uint64_t assembler_bytes(const struct assembler *assembler)
{
    return assembler->bytes;
}

size_t assembler_count(const struct assembler *assembler)
{
    return assembler->count;
}
