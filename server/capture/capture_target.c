/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture's targets in memory: found by process and by agent in constant time, so that work on a
 * capture of the whole fleet stays linear in its targets. Under the control lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "clock.h"
#include "clock_steps.h"

struct capture_target *capture_target_find(struct capture *c, const struct process_uid *process)
{
    return idmap_get(&c->by_process, process->bytes);
}

struct capture_target *capture_targets_at(struct capture *c, uint64_t agent)
{
    return idmap_get(&c->by_agent, idmap_key_of(&agent).id);
}

static int targets_compare(const struct capture_target *a, const struct capture_target *b)
{
    return memcmp(a->process.bytes, b->process.bytes, sizeof a->process.bytes);
}

/* Makes room: so many inserts then succeed. */
static int targets_reserve(struct capture *c, size_t extra)
{
    if (!array_grow(c->targets, c->target_count + extra, &c->target_cap))
        return SKEIN_NO_MEMORY;
    int status = idmap_reserve(&c->by_process, extra);
    if (status == SKEIN_OK)
        status = idmap_reserve(&c->by_agent, extra);
    return status == SKEIN_OK && c->anywhere != NULL ? idmap_reserve(c->anywhere, extra) : status;
}

/* Enters the target in the chain of its process (next_anywhere); room for it was made. */
static void target_join_all(struct capture *c, struct capture_target *t)
{
    if (c->anywhere != NULL) {
        t->next_anywhere = idmap_get(c->anywhere, t->process.bytes);
        if (t->next_anywhere != NULL)
            t->next_anywhere->before_anywhere = t;
        idmap_put(c->anywhere, t->process.bytes, t);
    }
    t->capture = c;
}

static void targets_leave(struct idmap *anywhere, struct capture_target *t)
{
    struct capture_target *before = t->before_anywhere, *next = t->next_anywhere;
    if (next != NULL)
        next->before_anywhere = before;
    if (before != NULL) {
        before->next_anywhere = next;
        return;
    }
    idmap_remove(anywhere, t->process.bytes);
    if (next != NULL) /* what is removed leaves room for it */
        idmap_put(anywhere, t->process.bytes, next);
}

/* As the catalog gives them back. */
static void target_seat(struct capture *c, struct capture_target *t)
{
    size_t at;
    array_find(at, 0, c->target_count, targets_compare(c->targets[at], t) <= 0);
    memmove(&c->targets[at + 1], &c->targets[at],
            (c->target_count - at) * sizeof(struct capture_target *));
    c->targets[at] = t;
    c->target_count++;
}

int capture_target_insert(struct capture *c, struct capture_target *t)
{
    if (capture_target_find(c, &t->process) != NULL)
        return SKEIN_EXISTS;
    if (targets_reserve(c, 1) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    t->next_of_agent = capture_targets_at(c, t->agent);
    idmap_put(&c->by_process, t->process.bytes, t);
    idmap_put(&c->by_agent, idmap_key_of(&t->agent).id, t);
    target_seat(c, t);
    target_join_all(c, t);
    c->open_count += !target_is_final(t->status);
    c->whole_count += t->whole;
    return SKEIN_OK;
}

void capture_target_describe(struct capture_target *t, const struct fleet_process *p)
{
    t->pid = p->pid;
    snprintf(t->service, sizeof t->service, "%s", p->service);
    snprintf(t->labels, sizeof t->labels, "%s", p->labels);
    snprintf(t->exe, sizeof t->exe, "%s", p->exe);
}

struct process_labels capture_target_labels(const struct capture_target *t)
{
    return (struct process_labels){t->service, t->host, t->exe,
                                   t->labels,  t->pid,  t->process.bytes};
}

bool capture_target_seen(const struct capture_target *t, const struct selector *within)
{
    struct process_labels labels = capture_target_labels(t);
    return process_labels_match(within, &labels);
}

uint64_t capture_stored_bytes(const struct capture *c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->target_count; i++)
        bytes += c->targets[i]->stored_bytes;
    return bytes;
}

struct capture_target *capture_target_add(struct capture *c, const struct process_uid *uid,
                                          const struct fleet_process *p,
                                          const struct fleet_agent *agent)
{
    struct capture_target *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->process = *uid;
    t->updated_ns = clock_realtime_ns();
    if (agent != NULL) {
        t->agent = agent->id;
        snprintf(t->host, sizeof t->host, "%s", agent->host);
    }
    if (p != NULL)
        capture_target_describe(t, p);
    if (capture_target_insert(c, t) != SKEIN_OK) {
        free(t);
        return NULL;
    }
    return t;
}

/* ---- captures in memory ---- */

struct capture *capture_new(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = calloc(1, sizeof *c);
    if (c == NULL || idmap_put(&e->loaded, id->bytes, c) != SKEIN_OK) {
        free(c);
        return NULL;
    }
    c->id = c->incident = *id;
    c->damages = &e->damages;
    c->anywhere = &e->by_process;
    c->clock = clock_setting(NULL);
    c->ttl_ms = e->settings.ttl_ms;
    c->touched_ns = clock_monotonic_ns();
    return c;
}

void capture_target_free(struct capture_target *t)
{
    report_target_fini(&t->facts);
    cJSON_Delete(t->report);
    stored_set_fini(&t->stored);
    stored_set_fini(&t->sent);
    free(t);
}

void capture_free(struct capture *c)
{
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (c->anywhere != NULL)
            targets_leave(c->anywhere, t);
        capture_target_free(t);
    }
    idmap_fini(&c->by_process);
    idmap_fini(&c->by_agent);
    free(c->targets);
    free(c->selector);
    partition_ranges_unref(&c->ranges);
    free(c);
}

void capture_discard(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    idmap_remove(&e->loaded, c->id.bytes);
    capture_free(c);
}
