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

int capture_ids_add(struct capture_ids *ids, const struct capture_id *id)
{
    if (!array_grow(ids->items, ids->count + 1, &ids->cap))
        return ids->status = SKEIN_NO_MEMORY;
    ids->items[ids->count++] = *id;
    return SKEIN_OK;
}

int capture_ids_take(void *ids, const struct capture_id *id)
{
    return capture_ids_add(ids, id) != SKEIN_OK;
}

int capture_incident_ids(struct catalog *catalog, const struct capture_id *incident,
                         struct capture_ids *ids)
{
    int64_t rows = catalog_incident(catalog, incident, capture_ids_take, ids);
    return rows < 0 ? (int)rows : ids->status;
}

/* Brings all captures of the incident into memory, else the asker would change only a part; those
 * that are not saved yet are there. Loads them one after the other, because a row must not be read
 * while another one is. */
static int incident_load(struct capture_engine *e, const struct capture_id *incident) CONTROL_LOCKED
{
    struct capture_ids saved = {0};
    int status = capture_incident_ids(e->catalog, incident, &saved);
    for (size_t i = 0; status == SKEIN_OK && i < saved.count; i++)
        status = capture_find(e, &saved.items[i]) != NULL ? SKEIN_OK : SKEIN_IO;
    free(saved.items);
    return status;
}

/* Appends the capture's id, or those of the incident's captures; all are in memory then. SKEIN_OK,
 * SKEIN_NOT_FOUND, SKEIN_NO_MEMORY, SKEIN_IO. */
static int ids_find(struct capture_engine *e, const struct capture_id *id, bool incident,
                    struct capture_ids *ids) CONTROL_LOCKED
{
    if (!incident)
        return capture_find(e, id) != NULL ? capture_ids_add(ids, id) : capture_missing(e);
    int status = incident_load(e, id);
    size_t at = 0;
    for (struct capture *c; status == SKEIN_OK && (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (capture_id_equal(&c->incident, id))
            status = capture_ids_add(ids, &c->id);
    return status == SKEIN_OK && ids->count == 0 ? SKEIN_NOT_FOUND : status;
}

/* Whether who is confined to `within` may change all; judged as one capture with all targets. */
static int ids_allowed(struct capture_engine *e, const struct capture_ids *ids,
                       const struct selector *within) CONTROL_LOCKED
{
    size_t hidden = 0;
    int status = SKEIN_OK;
    for (size_t i = 0; i < ids->count; i++) {
        int one = capture_allowed(capture_find(e, &ids->items[i]), within);
        hidden += one == SKEIN_NOT_FOUND;
        status = one != SKEIN_OK ? SKEIN_DENIED : status;
    }
    return hidden == ids->count ? SKEIN_NOT_FOUND : status;
}

bool capture_incident_exists(struct capture_engine *e, const struct capture_id *incident)
{
    control_assert_locked(e->control);
    struct capture_ids ids = {0};
    bool exists = capture_find(e, incident) != NULL; /* mostly the first firing's is there */
    if (!exists)
        exists = ids_find(e, incident, true, &ids) == SKEIN_OK;
    free(ids.items);
    return exists;
}

bool capture_incident_stored(struct capture_engine *e, const struct capture_id *incident,
                             uint64_t *bytes, bool *ended)
{
    control_assert_locked(e->control);
    struct capture_ids ids = {0};
    *bytes = 0;
    *ended = ids_find(e, incident, true, &ids) == SKEIN_OK;
    for (size_t i = 0; i < ids.count; i++) {
        const struct capture *c = capture_find(e, &ids.items[i]);
        *bytes += capture_stored_bytes(c);
        *ended = *ended && c->status != CAPTURE_RUNNING;
    }
    bool exists = ids.count > 0;
    free(ids.items);
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

bool capture_may_pin(struct capture_engine *e, const struct selector *within)
{
    control_assert_locked(e->control);
    uint64_t bytes;
    return within == NULL || e->settings.quota_bytes == 0 ||
           (catalog_pinned_bytes(e->catalog, &bytes) == SKEIN_OK &&
            bytes < e->settings.quota_bytes / 2);
}

/* All or none: they are saved together. */
static int captures_change(struct capture_engine *e, const struct capture_ids *ids,
                           const struct selector *within,
                           const struct capture_change *change) CONTROL_LOCKED
{
    int status = ids_allowed(e, ids, within);
    if (status == SKEIN_OK && change->pin != NULL && *change->pin && !capture_may_pin(e, within))
        status = SKEIN_REFUSED;
    for (size_t i = 0; status == SKEIN_OK && i < ids->count; i++)
        capture_change_one(e, capture_find(e, &ids->items[i]), change);
    return status == SKEIN_OK ? control_save(e->control) : status;
}

/* The capture, or an array of those that are there: others may have deleted some meanwhile. */
static cJSON *changed_json(struct capture_engine *e, const struct capture_ids *ids, bool incident,
                           const struct selector *within) CONTROL_LOCKED
{
    cJSON *all = NULL;
    for (size_t i = 0; i < ids->count; i++) {
        const struct capture *c = capture_find(e, &ids->items[i]);
        if (c != NULL && !incident)
            return capture_json(c, within, true);
        if (c != NULL && all == NULL)
            all = cJSON_CreateArray();
        if (c != NULL)
            cJSON_AddItemToArray(all, capture_json(c, within, false));
    }
    return all;
}

int capture_change(struct capture_engine *e, const struct capture_id *id, bool incident,
                   const struct selector *within, const struct capture_change *change,
                   struct capture_ids *ids, cJSON **out)
{
    control_lock(e->control);
    int status = ids_find(e, id, incident, ids);
    if (status == SKEIN_OK)
        status = captures_change(e, ids, within, change);
    *out = status == SKEIN_OK ? changed_json(e, ids, incident, within) : NULL;
    control_unlock(e->control);
    if (status == SKEIN_OK && *out == NULL)
        status = SKEIN_NOT_FOUND;
    if (status != SKEIN_OK)
        ids->count = 0; /* nothing has changed */
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
    size_t told; /* out: how many captures it has deleted, and nobody else before */
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

/* Deletes all, if all may go. */
static int captures_drop(struct capture_engine *e, const struct capture_ids *ids,
                         struct wish *wish) CONTROL_LOCKED
{
    int status = ids_allowed(e, ids, wish->within);
    for (size_t i = 0; i < ids->count && status == SKEIN_OK; i++)
        status = may_go(capture_find(e, &ids->items[i]), wish) ? SKEIN_OK : SKEIN_REFUSED;
    if (status == SKEIN_OK)
        status = deletions_save(e, ids, wish);
    return status == SKEIN_OK && wish->told == 0 ? SKEIN_NOT_FOUND : status;
}

/* `ids` gets all captures that are marked deleted, also if their partitions are not gone yet. */
static int captures_delete(struct capture_engine *e, const struct capture_id *id, bool incident,
                           struct wish *wish, struct capture_ids *ids)
{
    capture_make_room(e);
    control_lock(e->control);
    int status = ids_find(e, id, incident, ids);
    if (status == SKEIN_OK)
        status = captures_drop(e, ids, wish);
    control_unlock(e->control);
    if (status != SKEIN_OK)
        ids->count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        int one = capture_purge(e, &ids->items[i]);
        status = status == SKEIN_OK ? one : status;
    }
    return status;
}

int capture_delete(struct capture_engine *e, const struct capture_id *id, bool incident,
                   const struct selector *within, struct capture_ids *ids)
{
    return captures_delete(e, id, incident, &(struct wish){.within = within}, ids);
}

int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why)
{
    struct capture_ids ids = {0};
    struct wish wish = {.why = why, .due_ns = due_ns};
    int status = captures_delete(e, id, false, &wish, &ids);
    free(ids.items);
    return status;
}

/* Who reports it is answered once it is saved. */
void capture_withdraw(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    struct deletion *d = calloc(1, sizeof *d);
    if (d == NULL) {
        log_warn("captures", "a refused capture cannot be deleted", NULL);
        return;
    }
    *d = (struct deletion){.id = c->id, .at_ns = clock_realtime_ns()};
    deleted_note(e, d->at_ns);
    capture_discard(e, c);
    deletion_begin(e, d);
}
