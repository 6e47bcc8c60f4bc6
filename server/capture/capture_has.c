/* SPDX-License-Identifier: Apache-2.0
 *
 * What captures have: the ranges that reports have listed. A target that is not complete has also
 * what was sent for it and no report lists: its host may die before it reports. In memory the two
 * are the target's facts and `sent`; in state.db they are the table of ranges, saved with the
 * target. Two questions:
 *
 *   capture ──▶ its partitions     capture_ranges     trace, manifest, listing
 *   partition ──▶ its captures     capture_owners     what came late, what is damaged
 *                                  capture_unlisted   what may be deleted
 *                                  capture_frees      what a quota would gain
 *
 * Owns which partitions are being deleted (e->leaving), and keeps of each capture what was gathered
 * last (ranges). Takes the control lock where it looks into memory; who calls capture_owners and
 * capture_take_sent holds it.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture.h"
#include "capture_control.h"
#include "capture_has.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_ranges.h"
#include "index_delete.h"

#define RANGES_PAGE 64

/* ---- of a capture ---- */

static void ranges_reach(struct partition_ranges *ranges, uint64_t low_ns, uint64_t high_ns)
{
    ranges->low_ns = low_ns < ranges->low_ns ? low_ns : ranges->low_ns;
    ranges->high_ns = high_ns > ranges->high_ns ? high_ns : ranges->high_ns;
}

static int ranges_gather_target(const struct capture_target *t, struct partition_ranges *ranges)
{
    if (t->stored_count > 0)
        ranges_reach(ranges, t->low_ns, t->high_ns);
    if (t->sent.count > 0)
        ranges_reach(ranges, t->sent_low_ns, t->sent_high_ns);
    return target_add_ranges(t, ranges);
}

static int ranges_gather(struct capture *c, const struct process_uid *process,
                         struct partition_ranges *ranges)
{
    int status = SKEIN_OK;
    if (ranges->count == 0) {
        ranges->low_ns = UINT64_MAX;
        ranges->high_ns = 0;
    }
    if (process != NULL) {
        const struct capture_target *t = capture_target_find(c, process);
        return t != NULL ? ranges_gather_target(t, ranges) : SKEIN_OK;
    }
    for (size_t i = 0; i < c->target_count && status == SKEIN_OK; i++)
        status = ranges_gather_target(c->targets[i], ranges);
    return status;
}

/* Those of one whole capture are kept: page after page of a listing asks for them. A change of a
 * target drops them (target_touch). */
static int ranges_of_one(struct capture_engine *e, const struct capture_id *id,
                         struct partition_ranges **out) CONTROL_LOCKED
{
    struct capture *c = capture_find(e, id);
    if (c == NULL)
        return capture_missing(e);
    if (c->ranges == NULL) {
        struct partition_ranges *ranges = partition_ranges_new();
        int status = ranges != NULL ? ranges_gather(c, NULL, ranges) : SKEIN_NO_MEMORY;
        if (status != SKEIN_OK) {
            partition_ranges_unref(&ranges);
            return status;
        }
        partition_ranges_ready(ranges);
        c->ranges = ranges;
    }
    *out = partition_ranges_ref(c->ranges);
    return SKEIN_OK;
}

/* Lets go of the lock between captures: loading one takes a while. */
static int ranges_of_many(struct capture_engine *e, const struct capture_id *ids, size_t count,
                          const struct process_uid *process, struct partition_ranges *ranges)
{
    int status = SKEIN_OK;
    bool found = false;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        control_lock(e->control);
        struct capture *c = capture_find(e, &ids[i]);
        found |= c != NULL;
        if (c != NULL)
            status = ranges_gather(c, process, ranges);
        else if (capture_missing(e) != SKEIN_NOT_FOUND)
            status = capture_missing(e);
        control_unlock(e->control);
    }
    partition_ranges_ready(ranges);
    return status != SKEIN_OK || found ? status : SKEIN_NOT_FOUND;
}

int capture_ranges(struct capture_engine *e, const struct capture_id *ids, size_t count,
                   const struct process_uid *process, struct partition_ranges **out)
{
    int status = SKEIN_NO_MEMORY;
    *out = NULL;
    if (count == 1 && process == NULL) {
        control_lock(e->control);
        status = ranges_of_one(e, ids, out);
        control_unlock(e->control);
        return status;
    }
    *out = partition_ranges_new();
    if (*out != NULL)
        status = ranges_of_many(e, ids, count, process, *out);
    if (status != SKEIN_OK)
        partition_ranges_unref(out);
    return status;
}

static int errors_tell(const struct capture *c, capture_error_fn *fn, void *context)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < c->target_count && status == SKEIN_OK; i++) {
        uint64_t error_ns;
        bool known = target_clock_error(c, c->targets[i], &error_ns);
        status = fn(context, &c->targets[i]->process, known ? error_ns : 0);
    }
    return status;
}

int capture_clock_errors(struct capture_engine *e, const struct capture_id *ids, size_t count,
                         capture_error_fn *fn, void *context)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        control_lock(e->control);
        const struct capture *c = capture_find(e, &ids[i]);
        status = c != NULL ? errors_tell(c, fn, context) : SKEIN_OK;
        control_unlock(e->control);
    }
    return status;
}

/* Those of its rows. */
static int ranges_saved(struct capture_engine *e, const struct capture_id *id,
                        struct partition_ranges *saved)
{
    struct partition_range page[RANGES_PAGE], after = {.last = 0};
    int64_t n;
    int status = SKEIN_OK;
    do {
        n = catalog_ranges(e->catalog, id, &after, page, RANGES_PAGE);
        status = n < 0 ? (int)n : status;
        for (int64_t i = 0; i < n && status == SKEIN_OK; i++)
            status = partition_ranges_add(saved, &page[i]);
    } while (n == RANGES_PAGE && status == SKEIN_OK);
    partition_ranges_ready(saved);
    return status;
}

static int sent_take(struct capture_engine *e, struct capture *c, const struct index_entry *entry,
                     const struct partition_ranges *saved) CONTROL_LOCKED
{
    struct capture_target *t = capture_target_find(c, &entry->key.process);
    bool takes = t != NULL && !capture_is_leaving(e, &entry->key);
    int added = takes ? target_take_sent(t, &entry->key, entry->to_ns) : 0;
    if (added == 1 && !partition_ranges_have(saved, &entry->key)) {
        saving_mark(&t->list_save);
        target_touch(e, c, t);
    }
    return added < 0 ? added : SKEIN_OK;
}

int capture_take_sent(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    struct partition_ranges saved = {0};
    struct index_entry entries[RANGES_PAGE];
    uint64_t after = 0;
    int64_t n;
    size_t whole = 0;
    while (whole < c->target_count && target_is_stored(c->targets[whole]->status))
        whole++;
    if (e->index == NULL || whole == c->target_count)
        return SKEIN_OK;
    int status = ranges_saved(e, &c->id, &saved);
    do {
        n = index_sent_for(e->index, &c->id, &after, entries, RANGES_PAGE);
        status = n < 0 ? (int)n : status;
        for (int64_t i = 0; i < n && status == SKEIN_OK; i++)
            status = sent_take(e, c, &entries[i], &saved);
    } while (n == RANGES_PAGE && status == SKEIN_OK);
    partition_ranges_fini(&saved);
    return status;
}

/* ---- of a partition ---- */

static int id_add_once(struct capture_ids *ids, const struct capture_id *id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (capture_id_equal(&ids->items[i], id))
            return SKEIN_OK;
    return capture_ids_add(ids, id);
}

static int owner_add(void *context, const struct catalog_owner *owner)
{
    return id_add_once(context, &owner->capture) != SKEIN_OK;
}

/* Finds, in memory, the next target that lists the partition: the row of a new report comes
 * later. */
static const struct capture_target *
owner_in_memory(struct capture_engine *e, const struct partition_key *key,
                const struct capture_target *after) CONTROL_LOCKED
{
    const struct capture_target *t =
        after != NULL ? after->next_anywhere : idmap_get(&e->by_process, key->process.bytes);
    while (t != NULL && !target_has(t, key->epoch, key->sequence))
        t = t->next_anywhere;
    return t;
}

int capture_owners(struct capture_engine *e, const struct partition_key *key,
                   struct capture_ids *ids)
{
    control_assert_locked(e->control);
    const struct partition_range range = {*key, key->sequence};
    for (const struct capture_target *t = NULL; (t = owner_in_memory(e, key, t)) != NULL;)
        (void)id_add_once(ids, &t->capture->id);
    int64_t n = catalog_owners(e->catalog, &range, owner_add, ids);
    return n < 0 ? (int)n : ids->status;
}

/* Whether the capture that it was sent for has it. A running one does: the report that lists it may
 * still come. One that has ended is loaded before it is asked: it takes from the index what was
 * sent for it (capture_take_sent), as state.db did not keep that before its version 11. */
static bool sender_has(struct capture_engine *e, const struct index_entry *entry) CONTROL_LOCKED
{
    const struct capture_id *id = &entry->sent_for;
    if (capture_id_is_zero(id))
        return false;
    struct capture *c = capture_find(e, id);
    if (c == NULL && idmap_get(&e->purge, id->bytes) != NULL) /* it goes */
        return false;
    if (c == NULL) /* it is not there, or cannot be loaded now */
        return catalog_capture(e->catalog, id, NULL, NULL) != 0;
    const struct capture_target *t = capture_target_find(c, &entry->key.process);
    return t != NULL &&
           (c->status == CAPTURE_RUNNING || target_has(t, entry->key.epoch, entry->key.sequence));
}

static int key_order(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct partition_key)); /* any order does */
}

static int leaving_put(struct capture_engine *e, const struct index_entry *entries,
                       size_t count) CONTROL_LOCKED
{
    e->leaving_count = 0;
    if (!array_grow(e->leaving, count, &e->leaving_cap))
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        e->leaving[e->leaving_count++] = entries[i].key;
    if (count > 0)
        qsort(e->leaving, count, sizeof *e->leaving, key_order);
    return SKEIN_OK;
}

bool capture_is_leaving(const struct capture_engine *e, const struct partition_key *key)
{
    control_assert_locked(e->control);
    return e->leaving_count > 0 &&
           bsearch(key, e->leaving, e->leaving_count, sizeof *e->leaving, key_order) != NULL;
}

void capture_deleted(struct capture_engine *e)
{
    control_lock(e->control);
    e->leaving_count = 0;
    if (e->leaving_listed) /* it counts now, if its deletion has failed */
        capture_look_again(e);
    e->leaving_listed = false;
    control_unlock(e->control);
}

/* Asks the rows first, without the lock, and then memory: it has the reports that came since. Where
 * rows may be missing (damage), nobody can say that a partition is free to go.
 *
 * The inbox is emptied before memory is asked. A note in it may be of one of the entries: taken
 * later, it would count as stored what is deleted by then. A note that comes after this is of a
 * partition that was stored anew. */
int64_t capture_unlisted(struct capture_engine *e, struct index_entry *entries, size_t count)
{
    size_t kept = 0, left = 0;
    if (catalog_is_damaged(e->catalog))
        return SKEIN_IO;
    for (size_t i = 0; i < count; i++) {
        const struct partition_range range = {entries[i].key, entries[i].key.sequence};
        int64_t n = catalog_owners(e->catalog, &range, NULL, NULL);
        if (n < 0)
            return n;
        if (n == 0)
            entries[kept++] = entries[i];
    }
    control_lock(e->control);
    capture_take_inbox(e);
    for (size_t i = 0; i < kept; i++)
        if (owner_in_memory(e, &entries[i].key, NULL) == NULL && !sender_has(e, &entries[i]))
            entries[left++] = entries[i];
    int status = leaving_put(e, entries, left);
    control_unlock(e->control);
    return status == SKEIN_OK ? (int64_t)left : status;
}

/* ---- what a deletion frees ---- */

/* Other captures that have something of a range of the capture. */
struct others {
    const struct capture_id *capture;
    const char *service; /* NULL: any */
    struct catalog_owner *items;
    size_t count, cap;
    bool no_memory;
    uint64_t now, later;
};

static int other_add(void *context, const struct catalog_owner *owner)
{
    struct others *others = context;
    if (capture_id_equal(&owner->capture, others->capture))
        return 0;
    others->no_memory = !array_grow(others->items, others->count + 1, &others->cap);
    if (!others->no_memory)
        others->items[others->count++] = *owner;
    return others->no_memory;
}

static int partition_weigh(void *context, const struct partition_row *row)
{
    struct others *others = context;
    bool shared = false, kept = false;
    if (others->service != NULL && strcmp(others->service, row->service) != 0)
        return 0;
    for (size_t i = 0; i < others->count; i++) {
        const struct catalog_owner *other = &others->items[i];
        bool has =
            other->first <= row->record.key.sequence && row->record.key.sequence <= other->last;
        shared |= has;
        kept |= has && other->kept;
    }
    others->now += shared ? 0 : row->place.bytes;
    others->later += kept ? 0 : row->place.bytes;
    return 0;
}

static int range_weigh(struct capture_engine *e, const struct partition_range *range,
                       struct others *others)
{
    others->count = 0;
    int64_t n = catalog_owners(e->catalog, range, other_add, others);
    if (n >= 0 && others->no_memory)
        n = SKEIN_NO_MEMORY;
    if (n >= 0)
        n = index_range(e->index, range, partition_weigh, others);
    return n < 0 ? (int)n : SKEIN_OK;
}

/* Weighs what reports list for the capture, and collects those ranges in `own`. */
static int listed_weigh(struct capture_engine *e, struct partition_ranges *own,
                        struct others *others)
{
    int status = ranges_saved(e, others->capture, own);
    for (size_t i = 0; i < own->count && status == SKEIN_OK; i++)
        status = range_weigh(e, &own->items[i], others);
    return status;
}

/* Weighs what was sent for the capture and is not in `own`: it is deleted with it, too. */
static int sent_weigh(struct capture_engine *e, const struct partition_ranges *own,
                      struct others *others)
{
    struct index_entry entries[RANGES_PAGE];
    uint64_t after = 0;
    int64_t n;
    int status = SKEIN_OK;
    do {
        n = index_sent_for(e->index, others->capture, &after, entries, RANGES_PAGE);
        status = n < 0 ? (int)n : status;
        for (int64_t i = 0; i < n && status == SKEIN_OK; i++) {
            const struct partition_range one = {entries[i].key, entries[i].key.sequence};
            if (!partition_ranges_have(own, &one.key))
                status = range_weigh(e, &one, others);
        }
    } while (n == RANGES_PAGE && status == SKEIN_OK);
    return status;
}

int capture_frees(struct capture_engine *e, const struct capture_id *id, const char *service,
                  uint64_t *now, uint64_t *later)
{
    struct partition_ranges own = {0};
    struct others others = {.capture = id, .service = service};
    int status = listed_weigh(e, &own, &others);
    if (status == SKEIN_OK)
        status = sent_weigh(e, &own, &others);
    partition_ranges_fini(&own);
    free(others.items);
    *now = others.now;
    *later = others.later;
    return status;
}
