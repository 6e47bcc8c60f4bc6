/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes the partitions of deleted captures, and those that come late for one. Owns which captures
 * wait for that (e->purge). Takes the control lock, or runs under it; never waits for the deletion
 * of partitions under it.
 *
 *     capture_purge_soon                        purged_note        committed
 *          └──▶ NOTHING ── its partitions go ──▶ CHANGED ──▶ TAKEN ──▶ out of the map
 *                  ▲                              │   ▲        │
 *                  │                              │   └────────┤ not committed
 *                  └───── capture_purge_soon ─────┴────────────┘
 *                         one has come late
 *
 * Several threads may delete the partitions of one capture at a time: who has asked for the
 * deletion waits for it, and the control thread tries again. Each notes the number `asked` as it
 * begins. The partitions are gone if it is still the same at the end; else one may have come behind
 * the thread.
 */
#include <stdlib.h>

#include "capture_control.h"
#include "capture_has.h"
#include "capture_int.h"
#include "catalog_capture.h"
#include "clock.h"
#include "log.h"

#define PURGE_AGAIN_NS (UINT64_C(30) * 1000000000u)

struct purge {
    struct capture_id id;
    uint64_t asked;       /* the number of the last wish that its partitions go */
    enum save_state save; /* that they are gone */
};

/* The capture's, made if need be; NULL: no memory. */
static struct purge *purgeable_get(struct capture_engine *e,
                                   const struct capture_id *id) CONTROL_LOCKED
{
    struct purge *p = idmap_get(&e->purge, id->bytes);
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL || idmap_put(&e->purge, id->bytes, p) != SKEIN_OK) {
        free(p);
        return NULL;
    }
    p->id = *id;
    p->asked = ++e->purges_asked;
    return p;
}

int capture_purge_soon(void *context, const struct capture_id *id)
{
    struct capture_engine *e = context;
    control_assert_locked(e->control);
    struct purge *p = purgeable_get(e, id);
    if (p == NULL)
        return 1;
    p->asked = ++e->purges_asked;
    p->save = SAVE_NOTHING;
    return 0;
}

void capture_free_purges(struct capture_engine *e)
{
    size_t at = 0;
    for (void *p; (p = idmap_next(&e->purge, &at)) != NULL;)
        free(p);
    idmap_fini(&e->purge);
}

/* ---- what of it is saved ---- */

void capture_save_purges(struct capture_engine *e)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct purge *p; (p = idmap_next(&e->purge, &at)) != NULL;)
        if (saving_take(&p->save))
            catalog_set_purged(e->catalog, &p->id);
}

/* Whose partitions are gone, and this is saved. */
static struct purge *purged_next(struct capture_engine *e) CONTROL_LOCKED
{
    size_t at = 0;
    struct purge *p;
    while ((p = idmap_next(&e->purge, &at)) != NULL && (p->save & SAVE_TAKEN) == 0) {
    }
    return p;
}

void capture_saved_purges(struct capture_engine *e, bool ok)
{
    control_assert_locked(e->control);
    for (struct purge *p; (p = purged_next(e)) != NULL;) {
        saving_end(&p->save, ok);
        if (ok)
            free(idmap_remove(&e->purge, p->id.bytes));
    }
}

/* ---- the deletion of partitions ---- */

void capture_make_room(struct capture_engine *e)
{
    if (e->settings.make_room != NULL)
        e->settings.make_room(e->settings.context);
}

/* 0: no memory. */
static uint64_t asked_get(struct capture_engine *e, const struct capture_id *id)
{
    control_lock(e->control);
    const struct purge *p = purgeable_get(e, id);
    const uint64_t asked = p != NULL ? p->asked : 0;
    control_unlock(e->control);
    return asked;
}

/* Saves that what there was of it at `asked` is gone: unless one came since, or it is known. */
static int purged_note(struct capture_engine *e, const struct capture_id *id, uint64_t asked)
{
    int status = SKEIN_OK;
    control_lock(e->control);
    struct purge *p = idmap_get(&e->purge, id->bytes);
    if (p != NULL && p->asked == asked) {
        saving_mark(&p->save);
        control_mark_dirty(e->control);
        status = control_save(e->control);
    }
    control_unlock(e->control);
    return status;
}

int capture_purge(struct capture_engine *e, const struct capture_id *id)
{
    capture_make_room(e);
    const uint64_t asked = asked_get(e, id);
    int status = asked != 0 ? e->settings.purge(e->settings.context, id) : SKEIN_NO_MEMORY;
    return status == SKEIN_OK ? purged_note(e, id, asked) : status;
}

bool capture_is_purging(struct capture_engine *e)
{
    control_lock(e->control);
    bool purging = e->purge.count > 0;
    control_unlock(e->control);
    return purging;
}

void capture_unlocked(struct capture_engine *e)
{
    struct capture_id ids[16];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    control_lock(e->control);
    if (now >= e->next_purge_ns) {
        for (struct purge *p; count < 16 && (p = idmap_next(&e->purge, &at)) != NULL;)
            ids[count++] = p->id;
        e->next_purge_ns = count == 16 ? now : now + PURGE_AGAIN_NS;
    }
    control_unlock(e->control);
    bool again = false;
    for (size_t i = 0; i < count; i++) {
        if (capture_purge(e, &ids[i]) == SKEIN_OK)
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
