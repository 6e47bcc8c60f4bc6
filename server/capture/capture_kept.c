/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept and what goes, of one capture or a whole incident: pins, times, deletion. Under the
 * control lock, or takes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_control.h"
#include "capture_has.h"
#include "capture_incident.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_loss.h"
#include "clock.h"
#include "log.h"
#include "metrics.h"
#include "skein_check.h"

/* ---- one capture, or an incident's ---- */

/* All-zero is an empty set. */
struct capture_set {
    struct capture **items;
    size_t count, cap;
};

static int set_add(struct capture_set *set, struct capture *c)
{
    if (!array_grow(set->items, set->count + 1, &set->cap))
        return SKEIN_NO_MEMORY;
    set->items[set->count++] = c;
    return SKEIN_OK;
}

static void set_fini(struct capture_set *set)
{
    free(set->items);
}

/* The capture alone. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_NO_MEMORY. */
static int set_of_one(struct capture_engine *e, const struct capture_id *id,
                      struct capture_set *set) CONTROL_LOCKED
{
    struct capture *c = capture_find(e, id);
    return c != NULL ? set_add(set, c) : SKEIN_NOT_FOUND;
}

int capture_ids_add(struct capture_ids *ids, const struct capture_id *id)
{
    if (!array_grow(ids->items, ids->count + 1, &ids->cap))
        return SKEIN_NO_MEMORY;
    ids->items[ids->count++] = *id;
    return SKEIN_OK;
}

struct id_walk {
    struct capture_ids ids;
    int status;
};

static int id_take(void *context, const struct capture_id *id)
{
    struct id_walk *walk = context;
    walk->status = capture_ids_add(&walk->ids, id);
    return walk->status != SKEIN_OK;
}

/* Brings all captures of the incident into memory, else the asker would change only a part; those
 * that are not saved yet are there. Loads them one after the other, because a row must not be read
 * while another one is. */
static int incident_load(struct capture_engine *e, const struct capture_id *incident) CONTROL_LOCKED
{
    struct id_walk walk = {.status = SKEIN_OK};
    int64_t rows = catalog_incident(e->catalog, incident, id_take, &walk);
    int status = rows < 0 ? (int)rows : walk.status;
    for (size_t i = 0; status == SKEIN_OK && i < walk.ids.count; i++)
        status = capture_find(e, &walk.ids.items[i]) != NULL ? SKEIN_OK : SKEIN_IO;
    free(walk.ids.items);
    return status;
}

/* SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_NO_MEMORY, SKEIN_IO. */
static int set_of_incident(struct capture_engine *e, const struct capture_id *incident,
                           struct capture_set *set) CONTROL_LOCKED
{
    int status = incident_load(e, incident);
    size_t at = 0;
    for (struct capture *c; status == SKEIN_OK && (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (capture_id_equal(&c->incident, incident))
            status = set_add(set, c);
    return status == SKEIN_OK && set->count == 0 ? SKEIN_NOT_FOUND : status;
}

/* Whether who is confined to `within` may change all; judged as one capture with all targets. */
static int allowed_set(const struct capture_set *set, const struct selector *within)
{
    size_t hidden = 0;
    int status = SKEIN_OK;
    for (size_t i = 0; i < set->count; i++) {
        int one = capture_allowed(set->items[i], within);
        hidden += one == SKEIN_NOT_FOUND;
        status = one != SKEIN_OK ? SKEIN_DENIED : status;
    }
    return hidden == set->count ? SKEIN_NOT_FOUND : status;
}

bool capture_incident_exists(struct capture_engine *e, const struct capture_id *incident)
{
    control_assert_locked(e->control);
    struct capture_set set = {0};
    bool exists = capture_find(e, incident) != NULL; /* mostly the first firing's is there */
    if (!exists)
        exists = set_of_incident(e, incident, &set) == SKEIN_OK;
    set_fini(&set);
    return exists;
}

bool capture_incident_stored(struct capture_engine *e, const struct capture_id *incident,
                             uint64_t *bytes, bool *ended)
{
    control_assert_locked(e->control);
    struct capture_set set = {0};
    *bytes = 0;
    *ended = set_of_incident(e, incident, &set) == SKEIN_OK;
    for (size_t i = 0; i < set.count; i++) {
        const struct capture *c = set.items[i];
        for (size_t t = 0; t < c->target_count; t++)
            *bytes += c->targets[t]->stored_bytes;
        *ended = *ended && c->status != CAPTURE_RUNNING;
    }
    bool exists = set.count > 0;
    set_fini(&set);
    return exists;
}

/* ---- what is kept ---- */

static void capture_change_one(struct capture_engine *e, struct capture *c,
                               const struct capture_change *change) CONTROL_LOCKED
{
    if (change->ttl_ms != NULL)
        c->ttl_ms = *change->ttl_ms;
    if (change->pin != NULL)
        c->pin = *change->pin;
    if (change->reason != NULL)
        snprintf(c->reason, sizeof c->reason, "%s", change->reason);
    capture_set_expiry(c);
    capture_touch(e, c);
}

/* All or none: they are saved together. The set is looked up anew: others may have deleted some. */
static int captures_change(struct capture_engine *e, struct capture_set *set,
                           const struct selector *within,
                           const struct capture_change *change) CONTROL_LOCKED
{
    struct capture_ids ids = {0};
    int status = allowed_set(set, within);
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++)
        status = capture_ids_add(&ids, &set->items[i]->id);
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++)
        capture_change_one(e, set->items[i], change);
    if (status == SKEIN_OK)
        status = control_save(e->control);
    size_t left = 0;
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++)
        if ((set->items[left] = capture_find(e, &ids.items[i])) != NULL)
            left++;
    free(ids.items);
    if (status != SKEIN_OK)
        return status;
    set->count = left;
    return left > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

int capture_change(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within, const struct capture_change *change, cJSON **out)
{
    struct capture_set set = {0};
    *out = NULL;
    control_lock(e->control);
    int status = set_of_one(e, id, &set);
    if (status == SKEIN_OK)
        status = captures_change(e, &set, within, change);
    if (status == SKEIN_OK)
        *out = capture_json(set.items[0], within, true);
    control_unlock(e->control);
    set_fini(&set);
    return status;
}

int capture_incident_change(struct capture_engine *e, const struct capture_id *incident,
                            const struct selector *within, const struct capture_change *change,
                            struct capture_ids *ids, cJSON **out)
{
    struct capture_set set = {0};
    *out = NULL;
    control_lock(e->control);
    int status = set_of_incident(e, incident, &set);
    for (size_t i = 0; i < set.count && status == SKEIN_OK; i++)
        status = capture_ids_add(ids, &set.items[i]->id);
    if (status == SKEIN_OK)
        status = captures_change(e, &set, within, change);
    if (status == SKEIN_OK)
        *out = cJSON_CreateArray();
    else
        ids->count = 0; /* nothing has changed */
    for (size_t i = 0; status == SKEIN_OK && i < set.count; i++)
        cJSON_AddItemToArray(*out, capture_json(set.items[i], within, false));
    control_unlock(e->control);
    set_fini(&set);
    return status;
}

/* ---- delete ---- */

/* A deletion is committed before anything of it happens. Then the purge (capture_purge.c) deletes
 * what the capture had. A collector that is killed in between goes on by the rows.
 *
 *     deletion_begin     capture_save_deletions     capture_saved_deletions: committed
 *          └──▶ CHANGED ───────────────────▶ TAKEN ─────────────────────▶ off the list: the
 *                │   ▲                         │                          capture leaves memory, is
 *                │   └───── not committed ─────┘                          told of, its purge begins
 *                └──▶ off the list (deletion_take_back): nothing has happened
 *
 * Until its deletion is committed, a capture is there as before; what comes for it meanwhile goes
 * with it. One that is refused is not there from the beginning. */

/* What a deletion is for; all zero: somebody asks for it. */
struct wish {
    const struct selector *within; /* what the asker is confined to; NULL: nothing */
    const char *why;               /* retention's reason; NULL: it is not retention's */
    uint64_t due_ns;
    bool incident; /* the id is an incident's: delete all of it */
    size_t told;   /* out: how many captures it has deleted, and nobody else before */
};

struct deletion {
    struct deletion *next;
    struct capture_id id;
    uint64_t at_ns;
    struct wish *wish;    /* of the thread that waits and owns this; NULL: refused, nobody waits */
    enum save_state save; /* CHANGED or TAKEN */
};

static void deletion_assert(const struct capture_engine *e, const struct deletion *d) CONTROL_LOCKED
{
    skein_check(d->save == SAVE_CHANGED || d->save == SAVE_TAKEN);
    if (d->wish == NULL)
        skein_check(idmap_get(&e->loaded, d->id.bytes) == NULL);
}

bool capture_is_going(const struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    const struct deletion *d = e->deletions;
    while (d != NULL && !capture_id_equal(&d->id, id))
        d = d->next;
    return d != NULL;
}

bool capture_is_deleted(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    return capture_is_going(e, id) || catalog_is_deleted(e->catalog, id);
}

void capture_free_deletions(struct capture_engine *e) CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    for (struct deletion *d; (d = e->deletions) != NULL;) {
        e->deletions = d->next;
        free(d); /* nobody awaits one any more */
    }
}

/* Whether what it held stays in its processes' ledgers, as lost. */
static bool wish_evicts(const struct wish *wish)
{
    return wish != NULL && wish->why != NULL && wish->due_ns == 0;
}

/* ---- what of it is saved ---- */

void capture_save_deletions(struct capture_engine *e)
{
    control_assert_locked(e->control);
    for (struct deletion *d = e->deletions; d != NULL; d = d->next) {
        deletion_assert(e, d);
        if (!saving_take(&d->save))
            continue;
        if (wish_evicts(d->wish))
            catalog_keep_ledgers(e->catalog, &d->id, d->at_ns);
        catalog_delete_capture(e->catalog, &d->id, d->at_ns);
    }
}

/* Notes up to when agents may hold cuts that the collector no longer has (deleted_to_ns). */
static void deleted_note(struct capture_engine *e, uint64_t to_ns) CONTROL_LOCKED
{
    e->deleted_to_ns = to_ns > e->deleted_to_ns ? to_ns : e->deleted_to_ns;
}

/* Tells agents and watchers of a capture whose deletion is committed; takes it out of memory. */
static void deleted_forget(struct capture_engine *e, struct capture *c,
                           const struct wish *d) CONTROL_LOCKED
{
    for (size_t i = 0; wish_evicts(d) && i < c->target_count; i++)
        metrics_add_at(lost_events_total, LOSS_EVICTED, c->targets[i]->stored_events);
    deleted_note(e, c->finished_ns != 0 ? c->finished_ns : clock_realtime_ns());
    fleet_drop_commands(e->fleet, &c->id);
    capture_stop_targets(e, c);
    if (d->why != NULL)
        capture_publish(e, c, "retention.deleted", d->why);
    capture_publish(e, c, "capture.deleted", NULL);
    capture_discard(e, c);
    metrics_add(captures_deleted_total, 1);
}

/* Its rows are gone. */
static void deletion_end(struct capture_engine *e, struct deletion *d) CONTROL_LOCKED
{
    struct wish *wish = d->wish;
    struct capture *c = wish != NULL ? idmap_get(&e->loaded, d->id.bytes) : NULL;
    if (c != NULL) { /* or another thread has deleted it as well, and told of it */
        deleted_forget(e, c, wish);
        wish->told++;
    }
    capture_purge_soon(e, &d->id);
    capture_tell_touched(e, &d->id);
    if (wish == NULL)
        free(d);
}

void capture_saved_deletions(struct capture_engine *e, bool ok)
{
    control_assert_locked(e->control);
    for (struct deletion **at = &e->deletions, *d; (d = *at) != NULL;) {
        deletion_assert(e, d);
        if (ok && d->save == SAVE_TAKEN) {
            *at = d->next;
            deletion_end(e, d);
        } else {
            saving_end(&d->save, ok);
            at = &d->next;
        }
    }
}

static void deletion_begin(struct capture_engine *e, struct deletion *d) CONTROL_LOCKED
{
    d->next = e->deletions;
    e->deletions = d;
    saving_mark(&d->save);
    control_mark_dirty(e->control);
    deletion_assert(e, d);
}

static void deletion_take_back(struct capture_engine *e, const struct deletion *d) CONTROL_LOCKED
{
    struct deletion **at = &e->deletions;
    deletion_assert(e, d);
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
}

static bool may_go(const struct capture *c, const struct wish *d)
{
    if (d->why == NULL)
        return true;
    if (d->due_ns > 0 && (c->expires_ns == 0 || c->expires_ns > d->due_ns))
        return false;
    return c->status != CAPTURE_RUNNING && !c->pin;
}

/* Deletes all of them or none. It notes up to when they reach before it waits: the save gives the
 * lock up, and a capture may then begin whose agents still hold cuts that the deleted ones had. The
 * command for it tells them already not to list such cuts, because the collector may have deleted
 * those when the list comes. */
static int deletions_save(struct capture_engine *e, const struct capture_ids *ids,
                          struct wish *wish) CONTROL_LOCKED
{
    struct deletion *all = calloc(ids->count + 1, sizeof *all);
    if (all == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < ids->count; i++) {
        all[i] = (struct deletion){.id = ids->items[i], .at_ns = clock_realtime_ns(), .wish = wish};
        deletion_begin(e, &all[i]);
        const struct capture *c = idmap_get(&e->loaded, ids->items[i].bytes);
        deleted_note(e, c != NULL && c->finished_ns != 0 ? c->finished_ns : all[i].at_ns);
    }
    int status = control_save(e->control);
    for (size_t i = 0; i < ids->count && status != SKEIN_OK; i++)
        deletion_take_back(e, &all[i]);
    free(all);
    return status;
}

/* Deletes all, if all may go, and appends their ids. */
static int set_delete(struct capture_engine *e, const struct capture_set *set, struct wish *wish,
                      struct capture_ids *ids) CONTROL_LOCKED
{
    int status = allowed_set(set, wish->within);
    for (size_t i = 0; i < set->count && status == SKEIN_OK; i++) {
        status =
            may_go(set->items[i], wish) ? capture_ids_add(ids, &set->items[i]->id) : SKEIN_REFUSED;
    }
    if (status == SKEIN_OK)
        status = deletions_save(e, ids, wish);
    return status == SKEIN_OK && wish->told == 0 ? SKEIN_NOT_FOUND : status;
}

/* `ids` gets all captures that are marked deleted, also if their partitions are not gone yet. */
static int captures_delete(struct capture_engine *e, const struct capture_id *id, struct wish *wish,
                           struct capture_ids *ids)
{
    struct capture_set set = {0};
    capture_make_room(e);
    control_lock(e->control);
    int status = wish->incident ? set_of_incident(e, id, &set) : set_of_one(e, id, &set);
    if (status == SKEIN_OK)
        status = set_delete(e, &set, wish, ids);
    control_unlock(e->control);
    set_fini(&set);
    if (status != SKEIN_OK)
        ids->count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        int one = capture_purge(e, &ids->items[i]);
        status = status == SKEIN_OK ? one : status;
    }
    return status;
}

static int capture_delete_one(struct capture_engine *e, const struct capture_id *id,
                              struct wish *wish)
{
    struct capture_ids ids = {0};
    int status = captures_delete(e, id, wish, &ids);
    free(ids.items);
    return status;
}

int capture_delete(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within)
{
    return capture_delete_one(e, id, &(struct wish){.within = within});
}

int capture_incident_delete(struct capture_engine *e, const struct capture_id *incident,
                            const struct selector *within, struct capture_ids *ids)
{
    return captures_delete(e, incident, &(struct wish){.within = within, .incident = true}, ids);
}

int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why)
{
    return capture_delete_one(e, id, &(struct wish){.why = why, .due_ns = due_ns});
}

/* Nobody waits: who reports it is answered once it is saved. */
void capture_refuse(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = capture_find(e, id);
    struct deletion *d = calloc(1, sizeof *d);
    deleted_note(e, clock_realtime_ns());
    if (d == NULL) {
        log_warn("captures", "a refused capture cannot be noted; what comes of it is kept", NULL);
        return;
    }
    *d = (struct deletion){.id = *id, .at_ns = clock_realtime_ns()};
    if (c != NULL)
        capture_discard(e, c);
    deletion_begin(e, d);
}
