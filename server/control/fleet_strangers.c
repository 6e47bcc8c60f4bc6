/* SPDX-License-Identifier: Apache-2.0
 *
 * Where plain messages are believed, anybody may say HELLO as many agents. Before the table is full,
 * those go that were heard of once and no more, and those that one connection speaks for; where these
 * are too few, who has been silent for longest. Who may have how many connections, and so is not silent,
 * is shared out (transport_crowd.h).
 */
#include <stdlib.h>

#include "fleet_int.h"
#include "log.h"
#include "shares.h"

static int connection_compare(const void *left, const void *right)
{
    const struct fleet_agent *const *a = left, *const *b = right;
    return transport_peer_compare(&(*a)->peer, &(*b)->peer);
}

/* Marks those that came by one connection: an agent has one of its own. */
static void crowds_mark(struct fleet *f) CONTROL_LOCKED
{
    size_t at = 0, count = 0;
    struct fleet_agent **plain = calloc(f->agents.count + 1, sizeof(struct fleet_agent *));
    for (struct fleet_agent *a; plain != NULL && (a = fleet_agent_next(f, &at)) != NULL;) {
        a->crowds = false;
        if (a->peer.session == 0 && a->online)
            plain[count++] = a;
    }
    if (count > 0)
        qsort(plain, count, sizeof(struct fleet_agent *), connection_compare);
    for (size_t i = 1; i < count; i++)
        if (connection_compare(&plain[i - 1], &plain[i]) == 0)
            plain[i - 1]->crowds = plain[i]->crowds = true;
    free(plain);
}

/* One that has proven nothing, and is one of a crowd, or silent without a process that we know of. */
static bool is_stranger(const struct fleet_agent *a)
{
    return a->peer.session == 0 && (a->crowds || (!a->online && a->processes_known == 0));
}

/* One that has proven nothing, and whose lease is over. */
static bool is_silent(const struct fleet_agent *a)
{
    return a->peer.session == 0 && !a->online;
}

/* Forgets these, as far as they may still go once their rows are gone. */
static void strangers_remove(struct fleet *f, const uint64_t *ids, size_t count,
                             bool saved) CONTROL_LOCKED
{
    for (size_t i = 0; i < count; i++) {
        struct fleet_agent *a = fleet_agent_find(f, ids[i]);
        if (a == NULL)
            continue;
        a->forgetting--;
        if (!saved || !(is_stranger(a) || is_silent(a)) || a->forgetting > 0)
            continue;
        fleet_agent_remove(f, a);
    }
}

/* Strangers first, then those that are silent, the longest first. */
static int strangers_compare(const void *left, const void *right)
{
    const struct fleet_agent *const *a = left, *const *b = right;
    if (is_stranger(*a) != is_stranger(*b))
        return is_stranger(*a) ? -1 : 1;
    return ((*a)->heard_ns > (*b)->heard_ns) - ((*a)->heard_ns < (*b)->heard_ns);
}

/* The ids of all strangers, and of so many of the silent that no more than `most` agents are left. */
static size_t strangers_take(struct fleet *f, uint64_t most, uint64_t *ids) CONTROL_LOCKED
{
    size_t at = 0, found = 0, count = 0;
    struct fleet_agent **list = calloc(f->agents.count, sizeof(struct fleet_agent *));
    for (struct fleet_agent *a; list != NULL && (a = fleet_agent_next(f, &at)) != NULL;)
        if (is_stranger(a) || is_silent(a))
            list[found++] = a;
    if (found > 0)
        qsort(list, found, sizeof(struct fleet_agent *), strangers_compare);
    for (size_t i = 0; i < found && (is_stranger(list[i]) || f->agents.count - count > most); i++) {
        list[i]->forgetting++;
        ids[count++] = list[i]->id;
    }
    free(list);
    return count;
}

void fleet_forget_strangers(struct fleet *f)
{
    const uint64_t most = share_most(f->settings.max_agents, 0);
    if (f->agents.count <= most)
        return;
    crowds_mark(f);
    uint64_t *ids = calloc(f->agents.count, sizeof *ids);
    size_t count = ids != NULL ? strangers_take(f, most, ids) : 0;
    if (count > 0) {
        f->forgetting += (unsigned)count;
        control_mark_dirty(f->control);
        bool saved = control_save(f->control) == SKEIN_OK;
        f->forgetting -= (unsigned)count;
        strangers_remove(f, ids, count, saved);
        log_warn(
            "control",
            "forgot agents that said nothing but HELLO, shared a connection, or are silent: the table was almost full",
            "agents", log_fmt("%zu", count), NULL);
    }
    free(ids);
}
