/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes partitions of chunks. Owns the chunks of each unfinished partition (an assembly), found by
 * a hash of their claims and listed by the time of their last chunk; and counts what each sender
 * holds. One thread; never blocks. Never holds more than its bound, except for one partition that
 * is larger than the bound itself.
 *
 *   0 ──────────────────────── memory ────────────────────────▶ bound
 *   │ sender 7: ▓▓▓  ▓▓▓▓▓▓▓▓▓▓▓▓▓  ▓▓▓▓▓ │ sender 3: ▓▓ │ sender 9: ▓ │   ▓▓▓ the next chunk of 9
 *                ▲                    ▲                                       does not fit
 *                │                    └ youngest of 7, which is beyond its share: goes
 *                └ oldest of all: safe, does not count for the share of 7
 */
#include "assembly.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "metrics.h"

#define SLOTS_MIN 64 /* a power of two */
#define SLOTS_MAX 65536

/* Who sends. Exists while at least one assembly is its own. */
struct sender {
    uint64_t id, bytes;
    size_t count;
    bool has_safe; /* found by eldest_find: the oldest assembly is this sender's, and safe */
    struct sender *next;
};

struct assembly {
    struct wire_chunk claims; /* of its first chunk; bytes, bytes_len and index mean nothing */
    struct sender *sender;    /* of its first chunk */
    uint64_t begun;           /* serial number: a greater one is younger */
    uint64_t last_ns;
    uint64_t held; /* bytes it counts against the bound */
    uint32_t received;
    uint8_t **chunks;               /* by index; NULL: missing */
    struct assembly *next;          /* in its slot */
    struct assembly *older, *newer; /* by last chunk */
};

struct assembler {
    uint64_t max_bytes, bytes, begun;
    size_t count, slot_count;
    struct assembly **slots;
    struct assembly *oldest, *newest;
    struct sender *senders;
    size_t sender_count;
    uint64_t eldest, safe_bytes; /* found by eldest_find: its `begun`; what it holds where safe */
};

static bool claims_equal(const struct wire_chunk *a, const struct wire_chunk *b)
{
    return partition_key_equal(&a->key, &b->key) && capture_id_equal(&a->capture, &b->capture) &&
           a->count == b->count && a->partition_bytes == b->partition_bytes &&
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
    if (a == NULL)
        return SKEIN_NO_MEMORY;
    a->max_bytes = max_bytes;
    a->slot_count = SLOTS_MIN;
    while (a->slot_count < SLOTS_MAX && a->slot_count < max_bytes / ASSEMBLY_BYTES_MIN)
        a->slot_count *= 2;
    a->slots = calloc(a->slot_count, sizeof *a->slots);
    if (a->slots == NULL) {
        free(a);
        return SKEIN_NO_MEMORY;
    }
    *out = a;
    return SKEIN_OK;
}

static void list_unlink(struct assembler *a, struct assembly *x)
{
    *(x->older != NULL ? &x->older->newer : &a->oldest) = x->newer;
    *(x->newer != NULL ? &x->newer->older : &a->newest) = x->older;
    x->older = x->newer = NULL;
}

static void list_append(struct assembler *a, struct assembly *x)
{
    x->older = a->newest;
    *(a->newest != NULL ? &a->newest->newer : &a->oldest) = x;
    a->newest = x;
}

/* ---- what is held ---- */

static struct sender *sender_find(const struct assembler *a, uint64_t id)
{
    struct sender *s = a->senders;
    while (s != NULL && s->id != id)
        s = s->next;
    return s;
}

/* The sender with one assembly more; made where it is new. NULL: no memory. */
static struct sender *sender_take(struct assembler *a, uint64_t id)
{
    struct sender *s = sender_find(a, id);
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL)
            return NULL;
        s->id = id;
        s->next = a->senders;
        a->senders = s;
        a->sender_count++;
    }
    s->count++;
    return s;
}

static void sender_drop(struct assembler *a, struct sender *s)
{
    if (--s->count > 0)
        return;
    struct sender **at = &a->senders;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    a->sender_count--;
    free(s);
}

static void assembly_hold(struct assembler *a, struct assembly *x, uint64_t bytes)
{
    x->held += bytes;
    x->sender->bytes += bytes;
    a->bytes += bytes;
}

static void chunks_free(struct assembly *x)
{
    for (uint32_t i = 0; x->chunks != NULL && i < x->claims.count; i++)
        free(x->chunks[i]);
    free(x->chunks);
}

static void assembly_drop(struct assembler *a, struct assembly *x)
{
    struct assembly **at = &a->slots[slot_of(a, &x->claims)];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    list_unlink(a, x);
    a->bytes -= x->held;
    x->sender->bytes -= x->held;
    sender_drop(a, x->sender);
    a->count--;
    chunks_free(x);
    free(x);
}

void assembler_free(struct assembler **assembler)
{
    struct assembler *a = *assembler;
    if (a == NULL)
        return;
    *assembler = NULL;
    while (a->oldest != NULL)
        assembly_drop(a, a->oldest);
    free(a->slots);
    free(a);
}

static struct assembly *assembly_find(const struct assembler *a, const struct wire_chunk *chunk)
{
    struct assembly *x = a->slots[slot_of(a, chunk)];
    while (x != NULL && !claims_equal(&x->claims, chunk))
        x = x->next;
    return x;
}

bool assembler_has(const struct assembler *assembler, const struct wire_chunk *chunk)
{
    return assembly_find(assembler, chunk) != NULL;
}

/* ---- room ---- */

/* Who wants `bytes` of room. */
struct want {
    const struct assembly *x; /* the assembly that grows; NULL: a new one */
    uint64_t sender, begun, bytes;
};

/* The oldest assembly is never displaced, so that at least one is always completed. A partition
 * above half of the memory does not get this right: others need the other half. */
static bool is_safe(const struct assembler *a, const struct assembly *y)
{
    return y->begun == a->eldest && y->claims.partition_bytes <= a->max_bytes / 2;
}

/* The bytes that count for a sender's share: all but those of the safe assembly. */
static uint64_t counted(const struct assembler *a, const struct sender *s)
{
    return s->has_safe ? s->bytes - a->safe_bytes : s->bytes;
}

/* Finds the oldest assembly, and notes who holds how much for it where it is safe. */
static void eldest_find(struct assembler *a)
{
    const struct assembly *eldest = NULL;
    for (struct assembly *y = a->oldest; y != NULL; y = y->newer) {
        y->sender->has_safe = false;
        if (eldest == NULL || y->begun < eldest->begun)
            eldest = y;
    }
    a->eldest = eldest != NULL ? eldest->begun : UINT64_MAX;
    a->safe_bytes = 0;
    if (eldest != NULL && is_safe(a, eldest)) {
        eldest->sender->has_safe = true;
        a->safe_bytes = eldest->held;
    }
}

/* The assembly to displace for w. A sender within its share takes the youngest of the senders
 * beyond theirs. A sender beyond its share takes the youngest of all that is younger than its own.
 * The oldest, where safe, and w->x itself are never taken. NULL: there is none. */
static struct assembly *victim_find(struct assembler *a, const struct want *w)
{
    const struct sender *s = sender_find(a, w->sender);
    uint64_t share = a->max_bytes / 2 / (a->sender_count + (s != NULL ? 0 : 1));
    bool within = w->bytes <= share && (s == NULL || counted(a, s) <= share - w->bytes);
    struct assembly *victim = NULL;
    for (struct assembly *y = a->oldest; y != NULL; y = y->newer) {
        bool may = within ? y->sender != s && counted(a, y->sender) > share : y->begun > w->begun;
        if (may && y != w->x && !is_safe(a, y) && (victim == NULL || y->begun > victim->begun))
            victim = y;
    }
    return victim;
}

static int room_make(struct assembler *a, const struct want *w)
{
    while (a->bytes > a->max_bytes || w->bytes > a->max_bytes - a->bytes) {
        eldest_find(a);
        struct assembly *victim = victim_find(a, w);
        if (victim == NULL)
            return a->count == (w->x != NULL ? 1u : 0u) ? SKEIN_OK : SKEIN_FULL;
        assembly_drop(a, victim);
        metrics_add(ingest_displaced_total, 1);
    }
    return SKEIN_OK;
}

static int assembly_new(struct assembler *a, uint64_t sender, const struct wire_chunk *chunk,
                        struct assembly **out)
{
    struct want want = {NULL, sender, a->begun, ASSEMBLY_BYTES_MIN + chunk->bytes_len};
    int status = room_make(a, &want);
    if (status < 0)
        return status;
    struct assembly *x = calloc(1, sizeof *x);
    if (x == NULL)
        return SKEIN_NO_MEMORY;
    x->claims = *chunk;
    x->begun = a->begun++;
    x->chunks = calloc(chunk->count, sizeof *x->chunks);
    x->sender = x->chunks != NULL ? sender_take(a, sender) : NULL;
    if (x->sender == NULL) {
        free(x->chunks);
        free(x);
        return SKEIN_NO_MEMORY;
    }
    struct assembly **slot = &a->slots[slot_of(a, chunk)];
    x->next = *slot;
    *slot = x;
    list_append(a, x);
    assembly_hold(a, x, ASSEMBLY_BYTES_MIN);
    a->count++;
    *out = x;
    return SKEIN_OK;
}

static uint32_t chunks_without_gap(const struct assembly *x)
{
    uint32_t n = 0;
    while (n < x->claims.count && x->chunks[n] != NULL)
        n++;
    return n;
}

static int chunk_keep(struct assembler *a, struct assembly *x, const struct wire_chunk *chunk)
{
    if (x->chunks[chunk->index] != NULL)
        return SKEIN_OK;
    struct want want = {x, x->sender->id, x->begun, chunk->bytes_len};
    int status = room_make(a, &want);
    uint8_t *copy = status == SKEIN_OK ? malloc(chunk->bytes_len) : NULL;
    if (copy == NULL)
        return status < 0 ? status : SKEIN_NO_MEMORY;
    memcpy(copy, chunk->bytes, chunk->bytes_len); /* wire_chunk_get has checked index and length */
    x->chunks[chunk->index] = copy;
    x->received++;
    assembly_hold(a, x, chunk->bytes_len);
    return SKEIN_OK;
}

/* Copies all chunks into one piece, and frees each as soon as it is copied. NULL: no memory. */
static uint8_t *chunks_join(struct assembly *x)
{
    size_t rest = (size_t)x->claims.partition_bytes, at = 0;
    uint8_t *bytes = malloc(rest);
    for (uint32_t i = 0; bytes != NULL && i < x->claims.count && x->chunks[i] != NULL; i++) {
        size_t n = rest < WIRE_CHUNK_MAX ? rest : WIRE_CHUNK_MAX;
        memcpy(bytes + at, x->chunks[i], n);
        free(x->chunks[i]);
        x->chunks[i] = NULL;
        at += n;
        rest -= n;
    }
    return bytes;
}

int assembler_add(struct assembler *assembler, uint64_t sender, const struct wire_chunk *chunk,
                  uint64_t now_ns, uint8_t **bytes, uint32_t *have)
{
    *bytes = NULL;
    *have = 0;
    struct assembly *x = assembly_find(assembler, chunk);
    int status = x != NULL ? SKEIN_OK : assembly_new(assembler, sender, chunk, &x);
    if (status < 0)
        return status;
    x->last_ns = now_ns;
    list_unlink(assembler, x);
    list_append(assembler, x);
    status = chunk_keep(assembler, x, chunk);
    *have = chunks_without_gap(x);
    if (status < 0 || x->received < x->claims.count)
        return status;
    uint8_t *whole = chunks_join(x);
    if (whole == NULL) {
        status = SKEIN_NO_MEMORY;
        *have = 0;
    } else if (checksum64(whole, (size_t)x->claims.partition_bytes) !=
               x->claims.partition_checksum) {
        status = SKEIN_CORRUPT;
        free(whole);
    } else {
        status = 1;
        *bytes = whole;
    }
    assembly_drop(assembler, x);
    return status;
}

size_t assembler_expire(struct assembler *assembler, uint64_t before_ns)
{
    size_t dropped = 0;
    struct assembly *x, *newer;
    for (x = assembler->oldest; x != NULL && x->last_ns < before_ns; x = newer) {
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
