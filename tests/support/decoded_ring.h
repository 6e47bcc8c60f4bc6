/* SPDX-License-Identifier: Apache-2.0
 *
 * A second, independent decoder of rings, written from docs/ring.md alone: for tests of the writer.
 * Pins each chunk while it copies, so the writer's threads may run. One thread.
 */
#ifndef DECODED_RING_H
#define DECODED_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring_layout.h"
#include "skein/skein.h"

enum decoded_kind { DECODED_EVENT = 1, DECODED_END, DECODED_LOST, DECODED_OPEN };

struct decoded_arg {
    uint8_t type;
    char name[32]; /* its beginning */
    uint64_t u64;  /* also the resource of a seq */
    int64_t i64;
    double f64;
    uint64_t number;
    char *text; /* of a str; else NULL */
    bool cut;
};

struct decoded_stack {
    uint32_t epoch;
    uint64_t id;
    uint8_t end;
    uint32_t count;
    uint64_t pcs[64];
};

struct decoded_mapping {
    uint32_t epoch;
    uint64_t start, end, offset;
    uint8_t build_id[32], build_id_bytes;
    char path[SKEIN_STR_MAX + 1];
};

struct decoded_event {
    enum decoded_kind kind;
    uint8_t klass, group, nargs;
    bool self_described;
    char name[SKEIN_NAME_MAX + 1];
    uint64_t ticks, duration, generation;
    uint64_t lost;            /* DECODED_LOST */
    uint32_t chunk;           /* index into chunks */
    uint32_t stack;           /* 1 + index into stacks; 0: it has none */
    struct decoded_arg *args; /* nargs of them */
};

struct decoded_chunk { /* one segment */
    struct ring_segment head;
    uint32_t index, offset, bytes; /* of its records, in the chunk */
    bool big;
    uint8_t *copy;
};

struct decoded_ring {
    struct decoded_event *events; /* by thread, then in order */
    size_t event_count;
    struct decoded_chunk *chunks; /* by thread (slot, incarnation, tid, flags), then by sequence */
    size_t chunk_count;
    struct decoded_stack *stacks;
    size_t stack_count;
    struct decoded_mapping *mappings;
    size_t mapping_count;
    uint64_t payload_bytes;
    uint64_t lost; /* told in chunks: lost_before and LOST records */
    char error[160];
};

/* False, with an error text, if any committed byte does not decode. Freed by ring_decode_free in
 * either case. */
bool ring_decode(uint8_t *ring, const struct ring_geometry *geometry, struct decoded_ring *out);
void ring_decode_free(struct decoded_ring *decoded);

/* Events of that name, and the nth of them (NULL past the last). */
size_t decoded_count(const struct decoded_ring *decoded, const char *name);
const struct decoded_event *decoded_nth(const struct decoded_ring *decoded, const char *name,
                                        size_t n);

#endif
