/* SPDX-License-Identifier: Apache-2.0
 *
 * What the disk has not kept of captures. Whoever reads finds damage (index_verify); the control
 * thread notes it and changes the verdict of each capture that has the partition. The inbox shares
 * the lock of the other inbox; the rest runs under the control lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_damage.h"
#include "log.h"

#define DAMAGES_MAX 65536 /* beyond, verdicts no longer change; damage is still not served */

/* Any order does. */
static int keys_compare(const struct partition_key *a, const struct partition_key *b)
{
    return memcmp(a, b, sizeof *a);
}

/* The first that is not before the key. */
static size_t damage_at(const struct damages *damages, const struct partition_key *key)
{
    size_t at;
    array_find(at, 0, damages->count, keys_compare(&damages->items[at].key, key) < 0);
    return at;
}

const struct damage *damage_find(const struct damages *damages, const struct partition_key *key)
{
    size_t at = damage_at(damages, key);
    bool found = at < damages->count && keys_compare(&damages->items[at].key, key) == 0;
    return found ? &damages->items[at] : NULL;
}

static int damage_add(struct damages *to, const struct damage *damage)
{
    if (damage_find(to, &damage->key) != NULL)
        return SKEIN_EXISTS;
    if (to->count == DAMAGES_MAX || !array_grow(to->items, to->count + 1, &to->cap))
        return SKEIN_NO_MEMORY;
    size_t at = damage_at(to, &damage->key);
    memmove(&to->items[at + 1], &to->items[at], (to->count - at) * sizeof *to->items);
    to->items[at] = *damage;
    to->count++;
    return SKEIN_OK;
}

void capture_on_damaged(struct capture_engine *e, const struct partition_row *row)
{
    const struct damage damage = {
        .key = row->record.key, .from_ns = row->from_ns, .to_ns = row->to_ns, .place = row->place};
    pthread_mutex_lock(&e->inbox_lock);
    int status = damage_add(&e->damage_inbox, &damage);
    pthread_mutex_unlock(&e->inbox_lock);
    if (status == SKEIN_OK)
        fleet_wake(e->fleet);
}

static int capture_load_one(void *context, const struct partition_key *key, uint64_t from_ns,
                            uint64_t to_ns)
{
    struct capture_engine *e = context;
    control_assert_locked(e->control);
    const struct damage damage = {.key = *key, .from_ns = from_ns, .to_ns = to_ns};
    return damage_add(&e->damages, &damage) == SKEIN_NO_MEMORY;
}

/* Damage of partitions that were deleted meanwhile is forgotten. */
int capture_load_damages(struct capture_engine *e)
{
    control_assert_locked(e->control);
    int64_t rows = catalog_damages(e->catalog, capture_load_one, e);
    size_t kept = 0;
    for (size_t i = 0; i < e->damages.count; i++) {
        const struct damage *damage = &e->damages.items[i];
        const struct partition_range one = {damage->key, damage->key.sequence};
        if (e->index == NULL || index_range(e->index, &one, NULL, NULL) != 0) {
            e->damages.items[kept++] = *damage;
            continue;
        }
        (void)damage_add(&e->mended, damage); /* without memory, at the next start */
        control_mark_dirty(e->control);
    }
    e->damages.count = kept;
    return rows < 0 ? (int)rows : SKEIN_OK;
}

/* Counts the target again, without what is damaged; an ended capture's verdict may change. */
static void verdict_change(struct capture_engine *e, const struct capture_id *id,
                           const struct process_uid *process) CONTROL_LOCKED
{
    struct capture *c = capture_find(e, id);
    struct capture_target *t = c != NULL ? capture_target_find(c, process) : NULL;
    if (t == NULL)
        return;
    if (target_count_anew(e, c, t) != SKEIN_OK)
        log_warn("captures", "a damaged partition is counted as stored until the next start", NULL);
    target_weigh(c, t);
    capture_touch(e, c);
    capture_settle(e, c);
}

static void damage_take(struct capture_engine *e, const struct damage *damage) CONTROL_LOCKED
{
    char key[PARTITION_KEY_TEXT_BYTES];
    struct capture_ids captures = {0};
    struct damage news = *damage;
    saving_mark(&news.save);
    if (damage_add(&e->damages, &news) != SKEIN_OK)
        return; /* known */
    partition_key_text(&damage->key, key);
    log_error("store", "a stored partition is damaged and is not served", "partition", key,
              "segment", log_fmt("%" PRIu64, damage->place.segment), "offset",
              log_fmt("%" PRIu64, damage->place.offset), NULL);
    control_mark_dirty(e->control);
    if (capture_owners(e, &damage->key, &captures) != SKEIN_OK)
        log_warn("store", "captures that have a damaged partition are not known", NULL);
    for (size_t i = 0; i < captures.count; i++)
        verdict_change(e, &captures.items[i], &damage->key.process);
    free(captures.items);
}

void capture_take_damages(struct capture_engine *e)
{
    control_assert_locked(e->control);
    pthread_mutex_lock(&e->inbox_lock);
    struct damages found = e->damage_inbox;
    e->damage_inbox = (struct damages){0};
    pthread_mutex_unlock(&e->inbox_lock);
    for (size_t i = 0; i < found.count; i++)
        damage_take(e, &found.items[i]);
    free(found.items);
}

void capture_save_damages(struct capture_engine *e)
{
    control_assert_locked(e->control);
    for (size_t i = 0; i < e->mended.count; i++)
        catalog_drop_damage(e->catalog, &e->mended.items[i].key);
    for (size_t i = 0; i < e->damages.count; i++) {
        struct damage *damage = &e->damages.items[i];
        if (saving_take(&damage->save))
            catalog_add_damage(e->catalog, &damage->key, damage->from_ns, damage->to_ns);
    }
}

void capture_saved_damages(struct capture_engine *e, bool ok)
{
    control_assert_locked(e->control);
    for (size_t i = 0; i < e->damages.count; i++)
        saving_end(&e->damages.items[i].save, ok);
    if (ok)
        e->mended.count = 0; /* nothing is added after the start */
}
