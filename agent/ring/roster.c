/* SPDX-License-Identifier: Apache-2.0
 *
 * Who was here; see roster.h. Owns the entries, and a reference to each process whose ring is kept.
 * Loop thread only. Never keeps more than ROSTER_NOTES_MAX entries: the oldest go, and it remembers
 * since when all are known.
 */
#include "roster.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_clock.h"
#include "clock.h"
#include "descriptor.h"
#include "proc_info.h"
#include "ring_memory.h"
#include "shares.h"

#define RINGS_MAX 1024 /* a descriptor each */

struct roster {
    struct loop *loop;
    const uint64_t *linger_ms;
    struct roster_list entries; /* oldest first */
    size_t count, rings;
    uint64_t ring_bytes, max_bytes;
    struct loop_timer *timer;             /* until the oldest ring goes; NULL: none does */
    uint64_t known_from_ns, forgotten_ns; /* forgotten: that the collector was told of */
    void (*released)(void *context, const struct process *p); /* may be NULL */
    void *context;                                            /* its */
};

int roster_new(struct loop *loop, const uint64_t *linger_ms, uint64_t max_bytes,
               struct roster **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->loop = loop;
    (*out)->linger_ms = linger_ms;
    (*out)->max_bytes = max_bytes;
    TAILQ_INIT(&(*out)->entries);
    return SKEIN_OK;
}

static void ring_release(struct roster *roster, struct roster_entry *e)
{
    if (e->process == NULL)
        return;
    if (roster->released != NULL)
        roster->released(roster->context, e->process);
    process_unref(&e->process);
    roster->rings--;
    roster->ring_bytes -= e->ring_bytes;
}

void roster_on_release(struct roster *roster, void (*fn)(void *context, const struct process *p),
                       void *context)
{
    roster->released = fn;
    roster->context = context;
}

static void entry_remove(struct roster *roster, struct roster_entry *e)
{
    ring_release(roster, e);
    TAILQ_REMOVE(&roster->entries, e, link);
    roster->count--;
    free(e);
}

void roster_free(struct roster **pointer)
{
    struct roster *roster = *pointer;
    if (roster == NULL)
        return;
    *pointer = NULL;
    struct roster_entry *next;
    roster->released = NULL;
    for (struct roster_entry *e = TAILQ_FIRST(&roster->entries); e != NULL; e = next) {
        next = TAILQ_NEXT(e, link);
        ring_release(roster, e);
        free(e);
    }
    loop_timer_cancel(roster->loop, &roster->timer);
    free(roster);
}

/* ---- entries ---- */

/* The oldest note goes, or else the oldest of all. */
static void room_make(struct roster *roster)
{
    if (roster->count < ROSTER_NOTES_MAX)
        return;
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (e->process == NULL)
            break;
    }
    e = e != NULL ? e : TAILQ_FIRST(&roster->entries);
    uint64_t until_ns = e->ended_ns != 0 ? e->ended_ns : agent_clock_ns();
    uint64_t *known_ns = e->told ? &roster->forgotten_ns : &roster->known_from_ns;
    *known_ns = until_ns > *known_ns ? until_ns : *known_ns;
    entry_remove(roster, e);
}

static const char *text_put(char **at, const char *text)
{
    const char *put = *at;
    size_t bytes = strlen(text) + 1;
    memcpy(*at, text, bytes);
    *at += bytes;
    return put;
}

/* NULL: no memory. */
static struct roster_entry *entry_new(struct roster *roster, const struct process *p)
{
    room_make(roster);
    size_t texts = strlen(p->service) + strlen(p->labels) + strlen(p->exe) + 3;
    struct roster_entry *e = calloc(1, sizeof *e + texts);
    if (e == NULL)
        return NULL;
    *e = (struct roster_entry){.uid = p->uid,
                               .pid = p->pid,
                               .user = p->user,
                               .start_clock_ticks = p->start_clock_ticks,
                               .start_ns = p->start_ns};
    char *at = (char *)(e + 1);
    e->service = text_put(&at, p->service);
    e->labels = text_put(&at, p->labels);
    e->exe = text_put(&at, p->exe);
    TAILQ_INSERT_TAIL(&roster->entries, e, link);
    roster->count++;
    return e;
}

static struct roster_entry *entry_find(const struct roster *roster, const struct process_uid *uid)
{
    struct roster_entry *e;
    TAILQ_FOREACH_REVERSE(e, &roster->entries, roster_list, link) {
        if (process_uid_equal(&e->uid, uid))
            return e;
    }
    return NULL;
}

const struct roster_entry *roster_find(const struct roster *roster, const struct process_uid *uid)
{
    return entry_find(roster, uid);
}

/* ---- rings that are kept ---- */

static void timer_set(struct roster *roster);

static struct roster_entry *oldest_ring(const struct roster *roster)
{
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (e->process != NULL)
            return e;
    }
    return NULL;
}

static void rings_due(void *context)
{
    struct roster *roster = context;
    roster->timer = NULL; /* one-shot */
    uint64_t now_ns = clock_monotonic_ns();
    struct roster_entry *e;
    while ((e = oldest_ring(roster)) != NULL && e->keep_until_ns <= now_ns)
        ring_release(roster, e);
    timer_set(roster);
}

static void timer_set(struct roster *roster)
{
    const struct roster_entry *e = roster->timer == NULL ? oldest_ring(roster) : NULL;
    if (e == NULL)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t wait_ns = e->keep_until_ns > now_ns ? e->keep_until_ns - now_ns : 0;
    roster->timer = loop_timer_add(roster->loop, wait_ns / NS_PER_MS + 1, 0, rings_due, roster);
}

/* The oldest ring of the user who has most of them, so that somebody's many short processes let go
 * of their own rings alone. */
static struct roster_entry *ring_giving_way(const struct roster *roster)
{
    struct share_tally tally = {{0}};
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (e->process != NULL)
            share_tally_add(&tally, e->user, e->ring_bytes + 1);
    }
    const uint64_t most = share_tally_most(&tally);
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (e->process != NULL && share_tally_of(&tally, e->user) == most)
            return e;
    }
    return NULL;
}

bool roster_release_one(struct roster *roster)
{
    struct roster_entry *e = ring_giving_way(roster);
    if (e != NULL)
        ring_release(roster, e);
    return e != NULL;
}

/* What a ring needs that nobody writes any more is its own descriptor. */
static void descriptors_release(struct process *p)
{
    fd_close(&p->pidfd);
    fd_close(&p->page_fd);
}

void roster_keep(struct roster *roster, struct process *p)
{
    struct roster_entry *e = entry_new(roster, p);
    if (e == NULL)
        return;
    e->recorded_ns = p->recorded_ns;
    e->ended_ns = p->gone_ns;
    e->reason = p->watched ? LOSS_WATCHED : LOSS_RELEASED;
    if (*roster->linger_ms == 0)
        return;
    /* Of one that was watched, evidence can still be had for a while. */
    e->ring_bytes = p->watched ? 0 : ring_memory_used(p->ring_fd, p->geometry.total);
    while (roster->rings >= RINGS_MAX ||
           (roster->rings > 0 && e->ring_bytes + roster->ring_bytes > roster->max_bytes))
        (void)roster_release_one(roster);
    descriptors_release(p);
    e->process = process_ref(p);
    e->keep_until_ns = clock_monotonic_ns() + *roster->linger_ms * NS_PER_MS;
    roster->rings++;
    roster->ring_bytes += e->ring_bytes;
    timer_set(roster);
    if (roster->timer == NULL) /* out of memory: nothing would let go of it */
        ring_release(roster, e);
}

void roster_recall(struct roster *roster, const struct process *p, uint64_t ended_ns)
{
    struct roster_entry *e = entry_new(roster, p);
    if (e == NULL)
        return;
    e->recorded_ns = p->recorded_ns;
    e->ended_ns = ended_ns;
    e->expected = ended_ns == 0;
    e->reason = p->watched ? LOSS_WATCHED : LOSS_RELEASED;
}

bool roster_is_awaited(const struct roster_entry *e)
{
    return e->expected && !e->overdue && e->ended_ns == 0;
}

bool roster_overdue(struct roster *roster)
{
    bool some = false;
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (!roster_is_awaited(e))
            continue;
        e->overdue = true;
        e->reason = LOSS_AGENT_RESTARTED;
        some = true;
    }
    return some;
}

uint64_t roster_ring_bytes(const struct roster *roster)
{
    return roster->ring_bytes;
}

/* ---- those that were not taken ---- */

bool roster_refuse(struct roster *roster, const struct process *p, int status)
{
    struct roster_entry *e = entry_find(roster, &p->uid);
    if (e != NULL && e->reason == LOSS_REFUSED && e->status == status)
        return false; /* it tries again */
    bool first = e == NULL || e->reason != LOSS_REFUSED;
    if (e == NULL && (e = entry_new(roster, p)) == NULL)
        return first;
    ring_release(roster, e);
    e->reason = LOSS_REFUSED;
    e->status = status;
    e->ended_ns = status == SKEIN_CLOSED ? agent_clock_ns() : 0;
    e->listed = e->told = false;
    return first;
}

void roster_attached(struct roster *roster, const struct process *p)
{
    struct roster_entry *e;
    struct roster_entry *next;
    for (e = TAILQ_FIRST(&roster->entries); e != NULL; e = next) {
        next = TAILQ_NEXT(e, link);
        if (process_uid_equal(&e->uid, &p->uid))
            entry_remove(roster, e);
    }
}

bool roster_refresh(struct roster *roster)
{
    bool some = false;
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link) {
        if (e->ended_ns != 0 || proc_is_same((pid_t)e->pid, e->start_clock_ticks))
            continue;
        e->ended_ns = agent_clock_ns();
        e->listed = e->told = false;
        some = true;
    }
    return some;
}

/* ---- the collector's list ---- */

struct roster_list *roster_entries(struct roster *roster)
{
    return &roster->entries;
}

void roster_told(struct roster *roster)
{
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link)
        e->told = e->told || e->listed;
}

void roster_untold(struct roster *roster)
{
    struct roster_entry *e;
    TAILQ_FOREACH(e, &roster->entries, link)
        e->listed = e->told = false;
    if (roster->forgotten_ns > roster->known_from_ns)
        roster->known_from_ns = roster->forgotten_ns;
}

uint64_t roster_known_from_ns(const struct roster *roster)
{
    return roster->known_from_ns;
}
