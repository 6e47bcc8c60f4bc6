/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands notes of stored partitions from the ingest thread to the control thread. The inbox has a
 * lock of its own, so that who notes does not wait for the control lock. capture_wants takes the
 * control lock; the rest runs under it.
 */
#include <stdlib.h>

#include "array.h"
#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "clock.h"
#include "log.h"
#include "metrics.h"

#define INBOX_MAX 65536 /* notes; beyond, the index is asked about every target that waits */

void capture_on_stored(struct capture_engine *e, const struct partition_row *rows, size_t count)
{
    pthread_mutex_lock(&e->inbox_lock);
    for (size_t i = 0; i < count; i++) {
        if (e->inbox_count == INBOX_MAX ||
            !array_grow(e->inbox, e->inbox_count + 1, &e->inbox_cap)) {
            e->inbox_overflow = true;
            break;
        }
        e->inbox[e->inbox_count++] =
            (struct stored_note){rows[i].record.capture, rows[i].record.key, rows[i].events,
                                 rows[i].place.bytes, rows[i].to_ns};
    }
    pthread_mutex_unlock(&e->inbox_lock);
    fleet_wake(e->fleet);
}

void capture_look_again(struct capture_engine *e)
{
    pthread_mutex_lock(&e->inbox_lock);
    e->inbox_overflow = true;
    pthread_mutex_unlock(&e->inbox_lock);
}

static void inbox_delay(struct capture_engine *e)
{
    log_warn("captures", "a stored partition is counted later: out of memory", NULL);
    capture_look_again(e);
}

static void target_note(struct capture_engine *e, struct capture *c, struct capture_target *t,
                        const struct stored_note *note) CONTROL_LOCKED
{
    int added = target_count_stored(c, t, note);
    if (added < 0)
        inbox_delay(e);
    if (added != 1)
        return;
    t->updated_ns = clock_realtime_ns();
    target_touch(e, c, t);
    target_check_stored(e, c, t);
}

/* Loads captures that list the partition and have ended without it; loading counts what is
 * stored. */
static void inbox_load_late(struct capture_engine *e,
                            const struct partition_key *key) CONTROL_LOCKED
{
    struct capture_ids ids = {0};
    if (capture_owners(e, key, &ids) != SKEIN_OK)
        log_warn("captures", "late partitions are counted when their capture is next looked at",
                 NULL);
    for (size_t i = 0; i < ids.count; i++)
        (void)capture_find(e, &ids.items[i]);
    free(ids.items);
}

int capture_wants(struct capture_engine *e, const struct partition_key *key,
                  struct capture_id *capture)
{
    struct capture_ids ids = {0};
    control_lock(e->control);
    int status = capture_owners(e, key, &ids);
    control_unlock(e->control);
    bool wanted = ids.count > 0; /* one is enough, whatever came of the others */
    if (wanted)
        *capture = ids.items[0];
    else if (status == SKEIN_OK && catalog_is_damaged(e->catalog))
        status = SKEIN_IO; /* rows may be missing */
    free(ids.items);
    return wanted ? 1 : status;
}

/* The partition was sent for this target, which has it until a report says what the target has. */
static void sent_note(struct capture_engine *e, struct capture *c, struct capture_target *t,
                      const struct stored_note *note) CONTROL_LOCKED
{
    int added = target_take_sent(t, &note->key, note->to_ns);
    if (added < 0)
        inbox_delay(e);
    if (added != 1)
        return;
    saving_mark(&t->list_save);
    target_touch(e, c, t);
}

static bool refused_to_sender(struct capture_engine *e,
                              const struct stored_note *note) CONTROL_LOCKED
{
    const struct fleet_process *p = fleet_process_find(e->fleet, &note->key.process);
    const struct fleet_agent *agent = p != NULL ? fleet_agent_find(e->fleet, p->agent) : NULL;
    return agent != NULL && capture_is_refused(agent, &note->capture);
}

/* The capture that the partition says it was sent for, if that has its process; else NULL. Anybody
 * may name any capture: that gives the capture nothing. */
static const struct capture *sender_of(struct capture_engine *e,
                                       const struct stored_note *note) CONTROL_LOCKED
{
    if (capture_id_is_zero(&note->capture))
        return NULL;
    struct capture *c = capture_find(e, &note->capture);
    struct capture_target *t = c != NULL ? capture_target_find(c, &note->key.process) : NULL;
    if (t != NULL) {
        sent_note(e, c, t, note);
        return c;
    }
    if (c == NULL && (capture_is_deleted(e, &note->capture) || refused_to_sender(e, note))) {
        capture_purge_soon(e, &note->capture);
        e->next_purge_ns = 0;
        return NULL;
    }
    metrics_add(ingest_unexpected_total, 1);
    return NULL;
}

static void note_take(struct capture_engine *e, const struct stored_note *note) CONTROL_LOCKED
{
    const struct capture *sender = sender_of(e, note);
    if (sender != NULL && sender->kind == CAPTURE_SAMPLE && e->settings.sampled != NULL)
        e->settings.sampled(e->settings.context, sender->rule, &note->key.process, note->bytes);
    /* A partition that was sent for one capture may be listed by others, too. */
    inbox_load_late(e, &note->key);
    for (struct capture_target *t = idmap_get(&e->by_process, note->key.process.bytes); t != NULL;
         t = t->next_anywhere)
        target_note(e, t->capture, t, note);
}

/* Notes were lost for want of memory: asks the index about every target that waits. */
static void targets_look_up(struct capture_engine *e) CONTROL_LOCKED
{
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        (void)capture_take_sent(e, c);
        for (size_t i = 0; i < c->target_count; i++) {
            struct capture_target *t = c->targets[i];
            uint64_t before = t->stored_count;
            if (target_is_stored(t->status) || target_look_up(e, c, t) != SKEIN_OK)
                continue;
            if (t->stored_count != before)
                target_touch(e, c, t);
            target_check_stored(e, c, t);
        }
    }
}

void capture_take_inbox(struct capture_engine *e)
{
    control_assert_locked(e->control);
    pthread_mutex_lock(&e->inbox_lock);
    struct stored_note *notes = e->inbox;
    size_t count = e->inbox_count;
    bool overflow = e->inbox_overflow;
    e->inbox = NULL;
    e->inbox_count = e->inbox_cap = 0;
    e->inbox_overflow = false;
    pthread_mutex_unlock(&e->inbox_lock);
    for (size_t i = 0; i < count; i++)
        note_take(e, &notes[i]);
    free(notes);
    if (overflow)
        targets_look_up(e);
}
