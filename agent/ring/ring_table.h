/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of one string epoch: a copied table half, indexed by id, and its event types as the
 * partition writer knows them. Included by the decoder, the cutter and their tests. One owner.
 */
#ifndef RING_TABLE_H
#define RING_TABLE_H

#include "buf.h"
#include "partition_writer.h"
#include "ring_reader.h"
#include "ring_stacks.h"

#define RING_TYPE_UNPLACED UINT32_MAX
/* Below the format's limit (F-4), so that a hostile ring runs into this and not into a failed
 * writer. */
#define RING_TYPES_MAX 65000

/* Where types go. */
struct type_sink {
    struct partition_writer *writer;
    const char *exe; /* path of the program, for its own mappings; not NULL */
    bool full;       /* RING_TYPES_MAX reached: the writer is not asked again */
};

enum ring_type_state { RING_TYPE_UNSEEN = 0, RING_TYPE_GOOD = 1, RING_TYPE_BAD = 2 };

/* How to decode an event type's arguments, resolved once. */
struct ring_type {
    uint8_t state; /* enum ring_type_state */
    uint8_t klass, group, nargs;
    uint8_t args[SKEIN_ARGS_MAX];
    bool quick;     /* placed, and all arguments are numbers in LEB128 (ring_quick.h) */
    bool plain;     /* and the writer wants these as they are */
    uint32_t index; /* in the writer; RING_TYPE_UNPLACED: it takes no more types */
};

struct ring_names {
    uint32_t epoch;
    const uint8_t *records;                 /* the table copy's */
    struct ring_text *type_texts, *strings; /* by id; zero bytes: none */
    struct ring_type *types;                /* by id - RING_EVENT_FIRST */
    uint32_t type_count, string_count;
    struct ring_stacks stacks;
};

/* Indexes a copy, which must outlive it; records that do not parse end the index. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int ring_names_init(struct ring_names *names, const struct ring_table_copy *table);
void ring_names_fini(struct ring_names *names);

/* Looks the descriptor of a dense id up and tells the writer of it; once a type. */
const struct ring_type *ring_names_type_load(struct ring_names *names, struct type_sink *sink,
                                             uint32_t place);

/* The type of an event id, known to the writer from the first call on; NULL: no such id, or
 * malformed. */
static inline const struct ring_type *ring_names_type(struct ring_names *names,
                                                      struct type_sink *sink, uint64_t id)
{
    if (names == NULL || id < RING_EVENT_FIRST || id - RING_EVENT_FIRST >= names->type_count)
        return NULL;
    uint32_t place = (uint32_t)(id - RING_EVENT_FIRST);
    if (__builtin_expect(names->types[place].state == RING_TYPE_GOOD, 1))
        return &names->types[place];
    return ring_names_type_load(names, sink, place);
}

/* An interned string; false: no such id. */
bool ring_names_string(const struct ring_names *names, uint64_t id, const char **text,
                       uint32_t *bytes);

/* The writer's id of a stack; 0: none (ring_stacks_place). */
uint32_t ring_names_stack(struct ring_names *names, const struct type_sink *sink, uint64_t id);

/* The self-description at the head of a RING_RECORD_INLINE's payload. SKEIN_OK, SKEIN_CORRUPT,
 * SKEIN_TRUNCATED. */
int ring_type_inline(struct cursor *c, struct type_sink *sink, struct ring_type *out);

/* A type for an id without a descriptor, to show an operation of it: an instant named "#id". */
uint32_t ring_type_unnamed(struct type_sink *sink, uint64_t id);

#endif
