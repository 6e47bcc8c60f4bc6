/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's verbs for people: get and stop; and the deadlines. Owns the captures in memory.
 * Takes the control lock, or runs under it.
 */
#include "capture.h"

#include <inttypes.h>
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
#define LISTING_NS       UINT64_C(1000000000) /* a listing may be so old while targets change */

/* ---- life ---- */

static int capture_load_all(struct capture_engine *e) CONTROL_LOCKED
{
    int status = capture_load_damages(e);
    if (status == SKEIN_OK)
        status = capture_load_running(e);
    if (status == SKEIN_OK)
        status = capture_load_unlisted(e);
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
    pthread_mutex_init(&e->inbox_lock, NULL);
    control_lock(e->control);
    e->clock = clock_setting(NULL);
    e->deleted_to_ns = catalog_last_deleted_ns(catalog);
    int status = capture_load_all(e);
    control_unlock(e->control);
    if (status != SKEIN_OK)
        capture_engine_free(out);
    return status;
}

/* Takes no lock: no other thread knows the engine any more. */
void capture_engine_free(struct capture_engine **engine)
    CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    struct capture_engine *e = *engine;
    if (e == NULL)
        return;
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        capture_free(c);
    idmap_fini(&e->loaded);
    idmap_fini(&e->by_process);
    capture_free_deletions(e);
    capture_free_purges(e);
    free(e->inbox);
    free(e->damage_inbox.items);
    free(e->damages.items);
    free(e->leaving);
    free(e->mended.items);
    pthread_mutex_destroy(&e->inbox_lock);
    free(e);
    *engine = NULL;
}

/* ---- look ---- */

bool capture_seen(const struct capture *c, const struct selector *within)
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
    int status = c != NULL ? SKEIN_NOT_FOUND : capture_missing(e);
    *out = capture_seen(c, within) ? capture_json(c, within, true) : NULL;
    control_unlock(e->control);
    return *out != NULL ? SKEIN_OK : status;
}

cJSON *capture_listing(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    const struct capture *c = capture_find(e, id);
    return c != NULL ? capture_json(c, NULL, false) : NULL;
}

int capture_look(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within)
{
    control_lock(e->control);
    const struct capture *c = capture_find(e, id);
    int status = c == NULL                 ? capture_missing(e)
                 : capture_seen(c, within) ? SKEIN_OK
                                           : SKEIN_NOT_FOUND;
    control_unlock(e->control);
    return status;
}

int capture_allowed(const struct capture *c, const struct selector *within)
{
    if (!capture_seen(c, within))
        return SKEIN_NOT_FOUND;
    for (size_t i = 0; i < c->target_count; i++)
        if (!capture_target_seen(c->targets[i], within))
            return SKEIN_DENIED;
    return SKEIN_OK;
}

/* ---- stop ---- */

/* Tells each agent once to stop all its targets. */
static void capture_agent_stop(struct capture_engine *e, struct capture *c,
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
        capture_tell_stop(e, first->agent, &c->id, c->due_ns);
}

/* Lets the window end now: what would have come later is neither asked for nor waited for. */
static void window_end(struct capture *c)
{
    uint64_t left_ns = capture_window_left_ns(c), now_ns = capture_to_ns(c) - left_ns;
    if (left_ns == 0)
        return;
    capture_set_due(c, c->due_ns - left_ns);
    if (c->at_ns <= now_ns) {
        c->post_ms = (now_ns - c->at_ns + 999999u) / 1000000u;
        return;
    }
    uint64_t ahead_ms = (c->at_ns - now_ns + 999999u) / 1000000u;
    c->at_ns -= ahead_ms * 1000000u;
    c->pre_ms -= ahead_ms < c->pre_ms ? ahead_ms : c->pre_ms;
    c->post_ms = 0;
}

void capture_stop_targets(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture_target *t; (t = idmap_next(&c->by_agent, &at)) != NULL;)
        capture_agent_stop(e, c, t);
}

int capture_stop(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within, cJSON **out)
{
    *out = NULL;
    control_lock(e->control);
    struct capture *c = capture_find(e, id);
    int status = c != NULL ? capture_allowed(c, within) : capture_missing(e);
    if (c == NULL || status != SKEIN_OK) {
        control_unlock(e->control);
        return status;
    }
    bool news = c->status == CAPTURE_RUNNING && !c->stopped;
    if (news) {
        c->stopped = true;
        window_end(c);
        capture_touch(e, c);
        capture_stop_targets(e, c);
        capture_settle(e, c);
    }
    if (c->stopped) { /* also who asks again: it may not be saved yet */
        status = control_save(e->control);
        c = status == SKEIN_OK ? capture_find(e, id) : NULL; /* others may have deleted it */
        status = status == SKEIN_OK && c == NULL ? capture_missing(e) : status;
    }
    if (status == SKEIN_OK)
        *out = capture_json(c, within, true);
    control_unlock(e->control);
    return status == SKEIN_OK ? news : status;
}

/* ---- the clock ---- */

static void capture_expire(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    char words[CAPTURE_REASON_MAX];
    bool full = e->settings.is_full != NULL && e->settings.is_full(e->settings.context);
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (target_is_final(t->status))
            continue;
        t->refused = full && t->status == TARGET_UPLOADING;
        if (t->status == TARGET_UPLOADING)
            snprintf(words, sizeof words,
                     "%" PRIu64 " of %" PRIu64 " partitions had not arrived at the deadline",
                     (t->facts.listed - t->stored_count), t->facts.listed);
        else
            snprintf(words, sizeof words, "%s at the deadline",
                     t->status == TARGET_OFFLINE     ? "its agent was silent"
                     : t->status == TARGET_CAPTURING ? "its agent had not finished"
                                                     : "its agent had not answered");
        target_set(e, c, t, TARGET_EXPIRED, words);
    }
    capture_settle(e, c);
}

static void finished_forget(struct capture_engine *e) CONTROL_LOCKED
{
    struct capture *old[64];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    for (struct capture *c; count < 64 && (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->status != CAPTURE_RUNNING && c->save == SAVE_NOTHING && c->behind == 0 &&
            !capture_is_going(e, &c->id) && now - c->touched_ns > KEEP_FINISHED_NS)
            old[count++] = c;
    for (size_t i = 0; i < count; i++)
        capture_discard(e, old[i]);
}

/* When somebody has set the clock: shows deadlines, and tells agents again, in the clock's new
 * times. */
static void clock_follow(struct capture_engine *e) CONTROL_LOCKED
{
    uint64_t clock = clock_setting(NULL);
    size_t at = 0;
    if (clock == e->clock)
        return;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->status != CAPTURE_RUNNING)
            continue;
        capture_set_due(c, c->due_ns);
        capture_touch(e, c);
        fleet_drop_commands(e->fleet, &c->id);
    }
    e->clock = clock;
    at = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(e->fleet, &at)) != NULL;)
        if (a->online)
            capture_agent_joined(e, a);
}

void capture_tick(struct capture_engine *e, uint64_t now_ns)
{
    control_assert_locked(e->control);
    uint64_t running = 0;
    clock_follow(e);
    size_t at = 0;
    capture_take_inbox(e);
    capture_take_damages(e);
    uint64_t listed_before_ns = clock_monotonic_ns() - LISTING_NS;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->behind > 0 && c->listed_ns < listed_before_ns)
            capture_touch(e, c);
        if (c->status != CAPTURE_RUNNING)
            continue;
        if (now_ns >= c->due_ns)
            capture_expire(e, c);
        else
            capture_settle(e, c);
        running += c->status == CAPTURE_RUNNING;
    }
    metrics_set(captures_running, running);
    finished_forget(e);
}
