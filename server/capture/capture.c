/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's verbs for people: create, get, stop, delete; and the deadlines. Owns the captures in
 * memory. Under the control lock but for the inbox and where a function takes it.
 */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_loss.h"
#include "clock.h"
#include "clock_steps.h"
#include "json.h"
#include "log.h"
#include "metrics.h"

#define KEEP_FINISHED_NS (UINT64_C(60) * 1000000000u)
#define PURGE_AGAIN_NS   (UINT64_C(30) * 1000000000u)
#define LISTING_NS       UINT64_C(1000000000) /* how long a listing may lack changes of targets */

/* ---- life ---- */

/* Has the partitions of a deleted capture deleted in the next rounds. */
int capture_purge_soon(void *context, const struct capture_id *id)
{
    struct capture_engine *e = context;
    control_assert_locked(e->control);
    if (idmap_get(&e->purge, id->bytes) != NULL)
        return 0;
    struct capture_id *copy = malloc(sizeof *copy);
    if (copy == NULL || idmap_put(&e->purge, id->bytes, copy) != SKEIN_OK) {
        free(copy);
        return 1;
    }
    *copy = *id;
    return 0;
}

static int load_all(struct capture_engine *e) CONTROL_LOCKED
{
    int status = capture_load_damages(e);
    if (status == SKEIN_OK)
        status = capture_load_running(e);
    if (status == SKEIN_OK && e->index != NULL && index_rebuilt(e->index))
        status = capture_share_all(e);
    if (status == SKEIN_OK) {
        int64_t rows = catalog_unpurged(e->catalog, capture_purge_soon, e);
        status = rows < 0 ? (int)rows : SKEIN_OK;
    }
    return status;
}

int capture_engine_new(const struct capture_settings *settings, struct fleet *fleet,
                       struct catalog *catalog, struct index *index, struct capture_engine **out)
{
    struct capture_engine *e = calloc(1, sizeof *e);
    *out = e;
    if (e == NULL)
        return SKEIN_NO_MEMORY;
    e->settings = *settings;
    e->fleet = fleet;
    e->control = fleet_control(fleet);
    e->catalog = catalog;
    e->index = index;
    e->clock = clock_setting(NULL);
    e->rebuilds = index != NULL ? index_rebuilds(index) : 0;
    pthread_mutex_init(&e->inbox_lock, NULL);
    expected_init(&e->expected);
    control_lock(e->control);
    int status = load_all(e);
    control_unlock(e->control);
    e->deleted_to_ns = catalog_last_deleted_ns(catalog);
    if (status != SKEIN_OK)
        capture_engine_free(out);
    return status;
}

void capture_engine_free(struct capture_engine **engine)
{
    struct capture_engine *e = *engine;
    if (e == NULL)
        return;
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        capture_free(c);
    idmap_fini(&e->loaded);
    expected_fini(&e->expected);
    at = 0;
    for (void *id; (id = idmap_next(&e->purge, &at)) != NULL;)
        free(id);
    idmap_fini(&e->purge);
    at = 0;
    for (void *alias; (alias = idmap_next(&e->aliases, &at)) != NULL;)
        free(alias);
    idmap_fini(&e->aliases);
    free(e->inbox);
    free(e->damage_inbox.items);
    free(e->damages.items);
    pthread_mutex_destroy(&e->inbox_lock);
    free(e);
    *engine = NULL;
}

/* ---- look ---- */

/* Whether who sees `within` sees the capture: one of its targets at least. c may be NULL. */
static bool seen(const struct capture *c, const struct selector *within)
{
    size_t i = 0;
    if (c == NULL || within == NULL)
        return c != NULL;
    while (i < c->target_count && !capture_target_seen(c->targets[i], within))
        i++;
    return i < c->target_count;
}

int capture_get(struct capture_engine *e, const struct capture_id *id,
                const struct selector *within, cJSON **out)
{
    control_lock(e->control);
    const struct capture *c = capture_find(e, id);
    *out = seen(c, within) ? capture_json(c, within, true) : NULL;
    control_unlock(e->control);
    return *out != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

bool capture_exists_locked(struct capture_engine *e, struct capture_id *id)
{
    control_assert_locked(e->control);
    const struct capture *c = capture_find(e, id);
    if (c != NULL)
        *id = c->id;
    return c != NULL;
}

cJSON *capture_listing(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    const struct capture *c = capture_find(e, id);
    return c != NULL ? capture_json(c, NULL, false) : NULL;
}

bool capture_stored(struct capture_engine *e, const struct capture_id *id, uint64_t *bytes,
                    bool *ended)
{
    control_assert_locked(e->control);
    const struct capture *c = capture_find(e, id);
    *bytes = 0;
    for (size_t i = 0; c != NULL && i < c->target_count; i++)
        *bytes += c->targets[i]->stored_bytes;
    *ended = c == NULL || c->status != CAPTURE_RUNNING;
    return c != NULL;
}

bool capture_exists(struct capture_engine *e, struct capture_id *id, const struct selector *within)
{
    control_lock(e->control);
    const struct capture *c = capture_find(e, id);
    bool found = seen(c, within);
    if (found)
        *id = c->id;
    control_unlock(e->control);
    return found;
}

/* Whether who sees `within` may change it (capture.h). c may be NULL. */
static int allowed(const struct capture *c, const struct selector *within)
{
    if (!seen(c, within))
        return SKEIN_NOT_FOUND;
    for (size_t i = 0; i < c->target_count; i++)
        if (!capture_target_seen(c->targets[i], within))
            return SKEIN_DENIED;
    return SKEIN_OK;
}

/* ---- stop ---- */

/* Each agent is told once, for all its targets. */
static void stop_agent(struct capture_engine *e, struct capture *c,
                       struct capture_target *first) CONTROL_LOCKED
{
    bool tell = false;
    for (struct capture_target *t = first; t != NULL; t = t->next_of_agent) {
        if (t->status == TARGET_OFFLINE || t->status == TARGET_PENDING)
            target_set(e, c, t, TARGET_EXPIRED, "stopped while its agent was silent");
        else
            tell |= !target_is_final(t->status) && t->status != TARGET_UPLOADING;
    }
    if (tell)
        capture_send_stop(e, c, first->agent);
}

/* What would have come after now is not asked for any more, nor waited for. */
static void end_window(struct capture *c)
{
    uint64_t now_ns = clock_realtime_ns(), end_ns = c->at_ns + c->post_ms * 1000000u;
    if (end_ns <= now_ns)
        return;
    c->deadline_ns -= end_ns - now_ns;
    if (c->at_ns <= now_ns) {
        c->post_ms = (now_ns - c->at_ns + 999999u) / 1000000u;
        return;
    }
    uint64_t ahead_ms = (c->at_ns - now_ns + 999999u) / 1000000u;
    c->at_ns -= ahead_ms * 1000000u;
    c->pre_ms -= ahead_ms < c->pre_ms ? ahead_ms : c->pre_ms;
    c->post_ms = 0;
}

static void stop_targets(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    size_t at = 0;
    for (struct capture_target *t; (t = idmap_next(&c->by_agent, &at)) != NULL;)
        stop_agent(e, c, t);
}

int capture_stop(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within, cJSON **out)
{
    *out = NULL;
    control_lock(e->control);
    struct capture *c = capture_find(e, id);
    int status = allowed(c, within);
    bool news = status == SKEIN_OK && c->status == CAPTURE_RUNNING && !c->stopped;
    if (news) {
        c->stopped = true;
        end_window(c);
        capture_touch(e, c);
        stop_targets(e, c);
        capture_settle(e, c);
        status = control_save(e->control);
    }
    if (status == SKEIN_OK)
        *out = capture_json(c, within, true);
    control_unlock(e->control);
    return status == SKEIN_OK ? news : status;
}

/* ---- what is kept ---- */

int capture_change(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within, const struct capture_change *change, cJSON **out)
{
    *out = NULL;
    control_lock(e->control);
    struct capture *c = capture_find(e, id);
    int status = allowed(c, within);
    if (status == SKEIN_OK) {
        if (change->ttl_ms != NULL)
            c->ttl_ms = *change->ttl_ms;
        if (change->pin != NULL)
            c->pin = *change->pin;
        if (change->reason != NULL)
            snprintf(c->reason, sizeof c->reason, "%s", change->reason);
        capture_set_expiry(c);
        capture_touch(e, c);
        status = control_save(e->control);
    }
    if (status == SKEIN_OK)
        *out = capture_json(c, within, true);
    control_unlock(e->control);
    return status;
}

/* ---- delete ---- */

/* evicted: what it held stays in its processes' ledgers, as lost. */
static int mark_deleted(struct capture_engine *e, const struct capture_id *id,
                        bool evicted) CONTROL_LOCKED
{
    uint64_t now_ns = clock_realtime_ns();
    int status = catalog_begin(e->catalog);
    if (status != SKEIN_OK)
        return status;
    if (evicted)
        status = catalog_keep_ledgers(e->catalog, id, now_ns);
    if (status == SKEIN_OK)
        status = catalog_delete_capture(e->catalog, id, now_ns);
    int ended = catalog_end(e->catalog, status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = ended;
    if (status != SKEIN_OK)
        return status;
    capture_purge_soon(e, id);
    /* What was merged into it is deleted with it. */
    int64_t rows = catalog_unpurged(e->catalog, capture_purge_soon, e);
    if (rows < 0)
        log_warn("captures", "merged captures are purged after the next start", NULL);
    else if (rows > 1)
        e->next_purge_ns = 0;
    return SKEIN_OK;
}

static void make_room(struct capture_engine *e)
{
    if (e->settings.make_room != NULL)
        e->settings.make_room(e->settings.context);
}

/* Deletes the partitions and notes that it is done. Not locked: it waits for the ingest thread. */
static int purge(struct capture_engine *e, const struct capture_id *id)
{
    make_room(e);
    int status = e->settings.purge(e->settings.context, id);
    if (status != SKEIN_OK)
        return status;
    control_lock(e->control);
    status = catalog_begin(e->catalog);
    if (status == SKEIN_OK) {
        status = catalog_set_purged(e->catalog, id);
        int ended = catalog_end(e->catalog, status == SKEIN_OK);
        status = status == SKEIN_OK ? ended : status;
    }
    if (status == SKEIN_OK)
        free(idmap_remove(&e->purge, id->bytes));
    control_unlock(e->control);
    return status;
}

/* What is asked of a deletion; all zero: somebody wants it. */
struct deletion {
    const struct selector *within; /* NULL, or what the asker is confined to */
    const char *why;               /* NULL, or the retention's */
    uint64_t due_ns;
};

static bool may_go(const struct capture *c, const struct deletion *d)
{
    if (d->why == NULL)
        return true;
    if (d->due_ns > 0 && (c->expires_ns == 0 || c->expires_ns > d->due_ns))
        return false;
    return c->status != CAPTURE_RUNNING && !c->pin;
}

/* Agents may hold cuts up to then of which the collector keeps nothing. */
static void note_deleted(struct capture_engine *e, uint64_t to_ns)
{
    e->deleted_to_ns = to_ns > e->deleted_to_ns ? to_ns : e->deleted_to_ns;
}

/* Marks it deleted, tells watchers, and forgets it; *id becomes the whole one's. Locked. */
static int delete_locked(struct capture_engine *e, struct capture_id *id,
                         const struct deletion *d) CONTROL_LOCKED
{
    struct capture *c = capture_find(e, id);
    if (c == NULL)
        return SKEIN_NOT_FOUND;
    int status = may_go(c, d) ? allowed(c, d->within) : SKEIN_REFUSED;
    if (status != SKEIN_OK)
        return status;
    *id = c->id;
    bool evicted = d->why != NULL && d->due_ns == 0;
    /* What was merged into it must be known to be deleted with it, and ledgers that are kept must
     * be of now. */
    if ((e->aliases.count > 0 || evicted) && control_save(e->control) != SKEIN_OK)
        return SKEIN_IO;
    status = mark_deleted(e, id, evicted);
    if (status != SKEIN_OK)
        return status;
    for (size_t i = 0; evicted && i < c->target_count; i++)
        metrics_add_at(lost_events_total, LOSS_EVICTED, c->targets[i]->stored_events);
    note_deleted(e, c->finished_ns != 0 ? c->finished_ns : clock_realtime_ns());
    fleet_drop_commands(e->fleet, id);
    stop_targets(e, c);
    if (d->why != NULL)
        capture_publish(e, c, "retention.deleted", d->why);
    capture_publish(e, c, "capture.deleted", NULL);
    capture_discard(e, c);
    metrics_add(captures_deleted_total, 1);
    return SKEIN_OK;
}

static int delete_it(struct capture_engine *e, const struct capture_id *id,
                     const struct deletion *d)
{
    struct capture_id whole = *id;
    make_room(e);
    control_lock(e->control);
    int status = delete_locked(e, &whole, d);
    control_unlock(e->control);
    return status == SKEIN_OK ? purge(e, &whole) : status;
}

int capture_delete(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within)
{
    return delete_it(e, id, &(struct deletion){.within = within});
}

int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why)
{
    return delete_it(e, id, &(struct deletion){.why = why, .due_ns = due_ns});
}

bool capture_is_purging(struct capture_engine *e)
{
    control_lock(e->control);
    bool purging = e->purge.count > 0;
    control_unlock(e->control);
    return purging;
}

void capture_refuse(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = capture_find(e, id);
    note_deleted(e, clock_realtime_ns());
    if (mark_deleted(e, id, false) == SKEIN_OK && c != NULL)
        capture_discard(e, c);
    else if (!catalog_is_deleted(e->catalog, id))
        log_warn("captures", "a refused capture cannot be noted; what comes of it is kept", NULL);
}

void capture_unlocked(struct capture_engine *e)
{
    struct capture_id ids[16];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    control_lock(e->control);
    if (now >= e->next_purge_ns) {
        for (struct capture_id *id; count < 16 && (id = idmap_next(&e->purge, &at)) != NULL;)
            ids[count++] = *id;
        e->next_purge_ns = count == 16 ? now : now + PURGE_AGAIN_NS;
    }
    control_unlock(e->control);
    bool again = false;
    for (size_t i = 0; i < count; i++) {
        if (purge(e, &ids[i]) == SKEIN_OK)
            continue;
        log_warn("captures", "partitions of a deleted capture cannot be deleted yet", NULL);
        again = true;
    }
    if (again) {
        control_lock(e->control);
        e->next_purge_ns = now + PURGE_AGAIN_NS;
        control_unlock(e->control);
    }
}

/* ---- the clock ---- */

static void expire(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    char words[CAPTURE_REASON_MAX];
    bool full = e->settings.is_full != NULL && e->settings.is_full(e->settings.context);
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (target_is_final(t->status))
            continue;
        t->refused = full && t->status == TARGET_UPLOADING;
        if (t->status == TARGET_UPLOADING)
            snprintf(words, sizeof words, "%llu of %llu partitions had not arrived at the deadline",
                     (unsigned long long)(t->facts.listed - t->stored_count),
                     (unsigned long long)t->facts.listed);
        else
            snprintf(words, sizeof words, "%s at the deadline",
                     t->status == TARGET_OFFLINE     ? "its agent was silent"
                     : t->status == TARGET_CAPTURING ? "its agent had not finished"
                                                     : "its agent had not answered");
        target_set(e, c, t, TARGET_EXPIRED, words);
    }
    capture_settle(e, c);
}

static void forget_finished(struct capture_engine *e)
{
    struct capture *old[64];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    for (struct capture *c; count < 64 && (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->status != CAPTURE_RUNNING && !c->dirty && c->behind == 0 &&
            now - c->touched_ns > KEEP_FINISHED_NS)
            old[count++] = c;
    for (size_t i = 0; i < count; i++)
        capture_discard(e, old[i]);
}

/* Nobody has waited longer because somebody set the clock; what agents were told is told anew in
 * the clock's new times. */
static void follow_clock(struct capture_engine *e) CONTROL_LOCKED
{
    uint64_t clock = clock_setting(NULL);
    int64_t shift_ns = clock_setting_shift(e->clock, clock);
    size_t at = 0;
    if (clock == e->clock)
        return;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->status != CAPTURE_RUNNING)
            continue;
        c->deadline_ns = clock_shift_ns(c->deadline_ns, shift_ns);
        capture_touch(e, c);
        fleet_drop_commands(e->fleet, &c->id);
    }
    e->clock = clock;
    at = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(e->fleet, &at)) != NULL;)
        if (a->online)
            capture_agent_joined(e, a);
}

/* A new index knows of no partition that captures share. */
static void follow_index(struct capture_engine *e) CONTROL_LOCKED
{
    unsigned rebuilds = e->index != NULL ? index_rebuilds(e->index) : e->rebuilds;
    if (rebuilds == e->rebuilds)
        return;
    if (capture_share_all(e) == SKEIN_OK)
        e->rebuilds = rebuilds;
    else
        log_warn("captures", "what captures share is given to them again later", NULL);
}

void capture_tick(struct capture_engine *e, uint64_t now_ns)
{
    control_assert_locked(e->control);
    uint64_t running = 0;
    follow_index(e);
    follow_clock(e);
    size_t at = 0;
    capture_take_inbox(e);
    capture_take_damages(e);
    uint64_t listed_before_ns = clock_monotonic_ns() - LISTING_NS;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->behind > 0 && c->listed_ns < listed_before_ns)
            capture_touch(e, c);
        if (c->status != CAPTURE_RUNNING)
            continue;
        if (now_ns >= c->deadline_ns)
            expire(e, c);
        else
            capture_settle(e, c);
        running += c->status == CAPTURE_RUNNING;
    }
    metrics_set(captures_running, running);
    forget_finished(e);
}
