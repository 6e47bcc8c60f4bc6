/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks in the tables: each stack once in its string epoch, found again by a hash, and once
 * a description of each mapping of code that a stack leads through. Entered by traced threads and
 * signal handlers under the table's lock. Stacks and mappings take at most half of a table's half,
 * so that names have room; what finds none is the caller's to count.
 */
#include <string.h>

#include "stack_walk.h"
#include "table_int.h"

#define HEAD_BYTES 11 /* of a table record: kind, length */
#define ID_BYTES   5

_Static_assert(TABLE_RECORD_MAX >= ID_BYTES + 1 + 5 + STACK_FRAMES_MAX * 10, "a stack fits");
_Static_assert(TABLE_RECORD_MAX >= 3 * 10 + 1 + CODE_BUILD_ID_MAX + SKEIN_STR_MAX,
               "a mapping fits");
_Static_assert(CODE_BUILD_ID_MAX == RING_BUILD_ID_MAX, "");

enum stack_try { STACK_TRY_DONE, STACK_TRY_FULL, STACK_TRY_OTHER_CODE };

static void index_fit(struct session *session)
{
    struct stack_index *index = &session->stacks;
    if (index->epoch == session->epoch)
        return;
    index->count = index->code_count = 0;
    index->table_bytes = 0;
    index->next_id = 1;
    skein_signal_fence();
    index->epoch = session->epoch;
}

/* Whether so many bytes more are stacks' share of the half. */
static bool share_has(const struct session *session, size_t bytes)
{
    size_t share = (session->geometry.table_bytes - sizeof(struct ring_table)) / 2;
    return bytes <= share && session->stacks.table_bytes <= share - bytes;
}

static bool share_append(struct session *session, uint8_t kind, const struct table_record *e)
{
    if (!share_has(session, e->used + HEAD_BYTES) || !table_append(session, kind, e))
        return false;
    session->stacks.table_bytes += (uint32_t)e->used + HEAD_BYTES;
    return true;
}

/* ---- mappings ---- */

static bool mapping_append(struct session *session, const struct code_object *object,
                           const struct code_mapping *mapping)
{
    struct table_record e = {.bytes = session->record};
    const size_t bytes = strnlen(object->path, SKEIN_STR_MAX + 1);
    table_leb(&e, mapping->start);
    table_leb(&e, mapping->end);
    table_leb(&e, mapping->offset);
    table_byte(&e, object->build_id_bytes);
    if (object->build_id_bytes > 0)
        memcpy(e.bytes + e.used, object->build_id, object->build_id_bytes);
    e.used += object->build_id_bytes;
    if (bytes <= SKEIN_STR_MAX) { /* a part of a path would be another file's */
        memcpy(e.bytes + e.used, object->path, bytes);
        e.used += bytes;
    }
    return share_append(session, RING_TABLE_MAPPING, &e);
}

static uint32_t bytes_hash(const uint8_t *bytes, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

/* What tells it from another in its place: its build id or, where it has none, its path. */
static uint64_t code_identity(const struct code_object *object)
{
    return object->stamp
               ? object->stamp
               : bytes_hash((const uint8_t *)object->path, strnlen(object->path, SKEIN_STR_MAX));
}

/* Sees to it that the code around an address is described. A description that another file's would
 * overlap, because it has taken the place of one that was unloaded, stays alone in its epoch. */
static enum stack_try code_describe(struct session *session, uint64_t address, bool sure,
                                    struct code_mapping *of_last)
{
    struct stack_index *index = &session->stacks;
    struct code_object object;
    if (address >= of_last->start && address < of_last->end)
        return STACK_TRY_DONE;
    if (!(sure || code_object_stays(address)) || !code_object_find(address, &object) ||
        !code_object_mapping(&object, address, of_last)) {
        *of_last = (struct code_mapping){0};
        return STACK_TRY_DONE; /* code that was made at run time, or a guess */
    }
    const struct code_mapping mapping = *of_last;
    const uint64_t identity = code_identity(&object);
    for (uint32_t i = 0; i < index->code_count; i++) {
        const struct stack_code *code = &index->code[i];
        if (code->start == mapping.start && code->end == mapping.end && code->identity == identity)
            return STACK_TRY_DONE;
        if (mapping.start < code->end && code->start < mapping.end)
            return STACK_TRY_OTHER_CODE;
    }
    if (index->code_count == STACK_CODE_MAX || !mapping_append(session, &object, &mapping))
        return STACK_TRY_FULL;
    index->code[index->code_count] = (struct stack_code){mapping.start, mapping.end, identity};
    skein_signal_fence();
    index->code_count++;
    return STACK_TRY_DONE;
}

/* ---- stacks ---- */

/* What follows the id, at the same place of the session's record each time. */
static struct table_record frames_encode(struct session *session, const struct stack_frames *frames)
{
    struct table_record e = {.bytes = session->record + ID_BYTES};
    uint64_t before = 0;
    table_byte(&e, frames->end);
    table_leb(&e, frames->count);
    for (uint32_t i = 0; i < frames->count; i++) {
        int64_t difference = (int64_t)(frames->pcs[i] - before);
        table_leb(&e, i == 0 ? frames->pcs[i]
                             : (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
        before = frames->pcs[i];
    }
    return e;
}

/* The place of the stack, or the free one that it would take. There is always one. */
static struct stack_place *place_find(struct session *session, uint32_t hash,
                                      const struct table_record *body)
{
    const uint8_t *records =
        (const uint8_t *)table_half(session, session->epoch) + sizeof(struct ring_table);
    for (uint32_t i = hash;; i++) {
        struct stack_place *place = &session->stacks.places[i % STACK_PLACES];
        if (place->epoch != session->epoch ||
            (place->hash == hash && place->bytes == body->used &&
             memcmp(records + place->offset, body->bytes, body->used) == 0))
            return place;
    }
}

static enum stack_try frames_describe(struct session *session, const struct stack_frames *frames)
{
    enum stack_try result = STACK_TRY_DONE;
    struct code_mapping last = {0};
    for (uint32_t i = 0; result == STACK_TRY_DONE && i < frames->count; i++)
        result = code_describe(session, frames->pcs[i] - 1, i < frames->sure, &last);
    return result;
}

/* The id in the current epoch. */
static enum stack_try stack_intern(struct session *session, const struct stack_frames *frames,
                                   uint64_t *id)
{
    struct stack_index *index = &session->stacks;
    index_fit(session);
    struct table_record body = frames_encode(session, frames);
    const uint32_t hash = bytes_hash(body.bytes, body.used);
    struct stack_place *place = place_find(session, hash, &body);
    /* The code first: what lies at these addresses may have changed since. */
    enum stack_try result = frames_describe(session, frames);
    if (result != STACK_TRY_DONE)
        return result;
    if (place->epoch != session->epoch) {
        uint8_t head[ID_BYTES];
        const size_t head_bytes = leb_put(head, index->next_id);
        body = frames_encode(session, frames); /* mappings were made at its place */
        struct table_record whole = {body.bytes - head_bytes, body.used + head_bytes};
        memcpy(whole.bytes, head, head_bytes);
        if (index->count == STACKS_MAX || !share_append(session, RING_TABLE_STACK, &whole))
            return STACK_TRY_FULL;
        place->hash = hash;
        place->id = index->next_id++;
        place->offset = session->table_used - (uint32_t)body.used;
        place->bytes = (uint32_t)body.used;
        index->count++;
        skein_signal_fence();
        place->epoch = session->epoch;
    }
    *id = (uint64_t)session->epoch << 32 | place->id;
    return STACK_TRY_DONE;
}

uint64_t table_stack_id(struct session *session, const struct skein_lane *lane,
                        const struct stack_frames *frames)
{
    uint64_t id = 0;
    if (!table_lock(session, lane))
        return 0;
    enum stack_try result = stack_intern(session, frames, &id);
    /* One that does not fit where nothing else is would only cost the others theirs. */
    if (result != STACK_TRY_DONE && session->stacks.code_count > 0 && !table_waits(session) &&
        table_epoch_switch(session))
        (void)stack_intern(session, frames, &id);
    table_unlock(session);
    return id;
}
