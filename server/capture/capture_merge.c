/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging: one capture's id stands for another from then on, durably, so that what agents report
 * and upload under the old id counts for the new one. Under the control lock.
 *
 * Until the next save an alias is in memory alone; nothing that depends on it is acknowledged
 * before (fleet.c), and the rows of the capture that was given up go in the same transaction.
 */
#include <stdlib.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_merge.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "log.h"

struct capture_id capture_resolve(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture_id at = *id, next;
    for (;;) {
        const struct capture_alias *alias = idmap_get(&e->aliases, at.bytes);
        if (alias != NULL)
            at = alias->into;
        else if (idmap_get(&e->loaded, at.bytes) == NULL && catalog_alias(e->catalog, &at, &next))
            at = next;
        else
            return at; /* an alias never leads back: its capture is gone when it is made */
    }
}

static int note_alias(struct capture_engine *e, const struct capture_id *from,
                      const struct capture_id *into)
{
    struct capture_alias *alias = malloc(sizeof *alias);
    if (alias == NULL || idmap_put(&e->aliases, from->bytes, alias) != SKEIN_OK) {
        free(alias);
        return SKEIN_NO_MEMORY;
    }
    *alias = (struct capture_alias){*from, *into};
    size_t at = 0;
    for (struct capture_alias *other; (other = idmap_next(&e->aliases, &at)) != NULL;)
        if (capture_id_equal(&other->into, from))
            other->into = *into;
    return SKEIN_OK;
}

/* Moves all targets; `into` has room for them. */
static void take_targets(struct capture_engine *e, struct capture *into,
                         struct capture *from) CONTROL_LOCKED
{
    for (size_t i = 0; i < from->target_count; i++) {
        struct capture_target *t = from->targets[i];
        capture_target_insert(into, t);
        t->dirty = false; /* in the list of the one that goes */
        target_touch(e, into, t);
    }
    from->target_count = 0;
}

int capture_merge(struct capture_engine *e, const struct capture_id *from_id,
                  const struct capture_id *into_id)
{
    control_assert_locked(e->control);
    struct capture *into = capture_find(e, into_id);
    if (into == NULL)
        return SKEIN_NOT_FOUND;
    if (catalog_is_deleted(e->catalog, from_id))
        return SKEIN_REFUSED;
    struct capture *from = capture_find(e, from_id);
    if (from == into)
        return SKEIN_OK;
    if (from != NULL && !capture_id_equal(&from->id, from_id))
        return SKEIN_EXISTS;
    int status = capture_targets_reserve(into, from != NULL ? from->target_count : 0);
    if (status == SKEIN_OK)
        status = note_alias(e, from_id, &into->id);
    if (status != SKEIN_OK)
        return status;
    capture_touch(e, into);
    if (index_merge(e->index, from_id, &into->id) < 0)
        log_warn("captures", "the index cannot be written: partitions are shared later", NULL);
    if (from != NULL) {
        if (from->open_count > 0)
            capture_reopen(e, into, from->deadline_ns);
        size_t first = from->target_count;
        struct capture_target **moved = from->targets;
        take_targets(e, into, from);
        for (size_t i = 0; i < first; i++)
            if (capture_count_anew(e, into, &moved[i]->process) != SKEIN_OK)
                log_warn("captures", "what is stored is counted later", NULL);
        capture_discard(e, from);
        capture_settle(e, into);
    }
    return SKEIN_OK;
}

int capture_save_aliases(struct capture_engine *e)
{
    control_assert_locked(e->control);
    size_t at = 0;
    int status = SKEIN_OK;
    for (const struct capture_alias *alias;
         status == SKEIN_OK && (alias = idmap_next(&e->aliases, &at)) != NULL;)
        status = catalog_put_alias(e->catalog, &alias->from, &alias->into);
    return status;
}

void capture_saved_aliases(struct capture_engine *e)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (void *alias; (alias = idmap_next(&e->aliases, &at)) != NULL;)
        free(alias);
    idmap_fini(&e->aliases);
}
