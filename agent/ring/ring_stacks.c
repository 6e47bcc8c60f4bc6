/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks and mappings of a ring's table, as hostile bytes: handed to the partition writer when a
 * record first names them. Owns the index, borrows the copy. One thread. What is malformed does not
 * resolve; what contradicts a mapping that the partition has already is left out, because a reader
 * could not tell which of the two a stack means.
 */
#include "ring_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "ring_layout.h"

_Static_assert(RING_STACK_FRAMES_MAX <= PARTITION_FRAMES_MAX, "a stack of the ring fits");
_Static_assert(RING_BUILD_ID_MAX <= PARTITION_BUILD_ID_MAX, "a build id of the ring fits");

int ring_stacks_init(struct ring_stacks *stacks, const uint8_t *records, uint32_t count)
{
    *stacks = (struct ring_stacks){.records = records, .count = count};
    stacks->texts = calloc((size_t)count + 1, sizeof *stacks->texts);
    stacks->ids = calloc((size_t)count + 1, sizeof *stacks->ids);
    stacks->mappings = calloc(RING_MAPPINGS_MAX, sizeof *stacks->mappings);
    if (stacks->texts == NULL || stacks->ids == NULL || stacks->mappings == NULL) {
        ring_stacks_fini(stacks);
        return SKEIN_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++)
        stacks->ids[i] = RING_STACK_UNSEEN;
    return SKEIN_OK;
}

void ring_stacks_fini(struct ring_stacks *stacks)
{
    free(stacks->texts);
    free(stacks->ids);
    free(stacks->mappings);
    *stacks = (struct ring_stacks){0};
}

/* ---- mappings ---- */

/* The first that ends behind the address; mapping_count: none does. */
static uint32_t mapping_place(const struct ring_stacks *stacks, uint64_t address)
{
    uint32_t low = 0, high = stacks->mapping_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stacks->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ring_stacks_mapping(struct ring_stacks *stacks, struct ring_text payload)
{
    struct cursor c;
    cursor_init(&c, stacks->records + payload.offset, payload.bytes);
    struct ring_mapping mapping = {.start = cursor_uleb(&c)};
    mapping.end = cursor_uleb(&c);
    mapping.offset = cursor_uleb(&c);
    uint8_t id_bytes = cursor_u8(&c);
    const uint8_t *id = cursor_bytes(&c, id_bytes);
    if (c.status != SKEIN_OK || mapping.start >= mapping.end || id_bytes > RING_BUILD_ID_MAX ||
        cursor_left(&c) > SKEIN_STR_MAX || stacks->mapping_count == RING_MAPPINGS_MAX)
        return;
    mapping.build_id = (struct ring_text){(uint32_t)(id - stacks->records), id_bytes};
    mapping.path =
        (struct ring_text){(uint32_t)(c.pos - stacks->records), (uint32_t)cursor_left(&c)};
    uint32_t at = mapping_place(stacks, mapping.start);
    if (at < stacks->mapping_count && stacks->mappings[at].start < mapping.end)
        return;
    memmove(stacks->mappings + at + 1, stacks->mappings + at,
            (stacks->mapping_count - at) * sizeof *stacks->mappings);
    stacks->mappings[at] = mapping;
    stacks->mapping_count++;
}

/* A path that a hostile writer chose. */
static void path_clean(char *to, const uint8_t *from, size_t bytes)
{
    size_t n = 0;
    for (; n < bytes && from[n] != '\0'; n++)
        to[n] = (char)(from[n] < 0x20 || from[n] == 0x7f ? '?' : from[n]);
    to[n] = '\0';
}

static bool mapping_same(const struct partition_mapping *a, const struct partition_mapping *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
           strcmp(a->path, b->path) == 0;
}

/* Whether the writer has other code at these addresses. */
static bool mapping_is_in_the_way(const struct partition_writer *writer,
                                  const struct partition_mapping *mapping)
{
    struct partition_mapping other;
    for (size_t i = 0; partition_writer_mapping_at(writer, i, &other); i++)
        if (other.start < mapping->end && mapping->start < other.end &&
            !mapping_same(&other, mapping))
            return true;
    return false;
}

/* Tells the writer of it, once. A writer that takes no more of them shows addresses. */
static bool mapping_put(struct ring_stacks *stacks, struct ring_mapping *from,
                        struct partition_writer *writer, const char *exe)
{
    char path[SKEIN_STR_MAX + 1];
    struct partition_mapping mapping = {.start = from->start,
                                        .end = from->end,
                                        .offset = from->offset,
                                        .path = from->path.bytes > 0 ? path : exe,
                                        .build_id_bytes = (uint8_t)from->build_id.bytes};
    if (from->state != RING_MAPPING_UNSEEN)
        return from->state == RING_MAPPING_PLACED;
    path_clean(path, stacks->records + from->path.offset, from->path.bytes);
    memcpy(mapping.build_id, stacks->records + from->build_id.offset, from->build_id.bytes);
    if (mapping_is_in_the_way(writer, &mapping)) {
        from->state = RING_MAPPING_IN_THE_WAY;
        return false;
    }
    (void)partition_writer_mapping(writer, &mapping);
    from->state = RING_MAPPING_PLACED;
    return true;
}

static bool mappings_put(struct ring_stacks *stacks, struct partition_writer *writer,
                         const char *exe, const struct partition_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t address = partition_stack_address(stack, i);
        uint32_t at = mapping_place(stacks, address);
        if (at < stacks->mapping_count && stacks->mappings[at].start <= address &&
            !mapping_put(stacks, &stacks->mappings[at], writer, exe))
            return false;
    }
    return true;
}

/* ---- stacks ---- */

/* pcs: room for RING_STACK_FRAMES_MAX. */
static bool stack_get(const struct ring_stacks *stacks, struct ring_text text, uint64_t *pcs,
                      struct partition_stack *out)
{
    struct cursor c;
    cursor_init(&c, stacks->records + text.offset, text.bytes);
    uint8_t end = cursor_u8(&c);
    uint64_t count = cursor_uleb(&c);
    if (c.status != SKEIN_OK || (end & ~RING_STACK_EXACT) > RING_STACK_END_MAX || count == 0 ||
        count > RING_STACK_FRAMES_MAX || count > cursor_left(&c))
        return false;
    pcs[0] = cursor_uleb(&c);
    for (uint64_t i = 1; i < count; i++)
        pcs[i] = pcs[i - 1] + (uint64_t)cursor_sleb(&c);
    *out = (struct partition_stack){.pcs = pcs, .count = (uint32_t)count, .end = end};
    return c.status == SKEIN_OK && cursor_left(&c) == 0;
}

static uint32_t stack_put(struct ring_stacks *stacks, struct partition_writer *writer,
                          const char *exe, struct ring_text text)
{
    uint64_t pcs[RING_STACK_FRAMES_MAX];
    struct partition_stack stack;
    if (text.bytes == 0 || !stack_get(stacks, text, pcs, &stack) ||
        !mappings_put(stacks, writer, exe, &stack))
        return 0;
    int64_t id = partition_writer_stack(writer, &stack);
    return id > 0 ? (uint32_t)id : 0;
}

uint32_t ring_stacks_place(struct ring_stacks *stacks, struct partition_writer *writer,
                           const char *exe, uint64_t id)
{
    if (id >= stacks->count)
        return 0;
    if (stacks->ids[id] == RING_STACK_UNSEEN)
        stacks->ids[id] = stack_put(stacks, writer, exe, stacks->texts[id]);
    return stacks->ids[id];
}
