/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes that agents report: their table, their owners, lists of them page by page, and what
 * their rings have lost. Everything runs under the control lock, except fleet_agent_of and
 * fleet_claim, which any thread may call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_loss.h"
#include "clock.h"
#include "clock_steps.h"
#include "fleet_int.h"
#include "ledger.h"
#include "metrics.h"

#define BACK_NS       (UINT64_C(5) * 1000000000u)  /* how long agents wait for processes (P-7) */
#define SPAN_SLACK_NS (UINT64_C(10) * 1000000000u) /* agents' clocks are known better than this */

/* ---- the table ---- */

struct fleet_process *fleet_process_find(struct fleet *f, const struct process_uid *uid)
{
    control_assert_locked(f->control);
    return idmap_get(&f->processes, uid->bytes);
}

struct fleet_process *fleet_process_next(struct fleet *f, size_t *at)
{
    control_assert_locked(f->control);
    return idmap_next(&f->processes, at);
}

enum fleet_process_status fleet_process_status(struct fleet *f, const struct fleet_process *p)
{
    control_assert_locked(f->control);
    const struct fleet_agent *agent = fleet_agent_find(f, p->agent);
    if (!p->live)
        return FLEET_GONE;
    return agent != NULL && agent->online ? FLEET_LIVE : FLEET_OFFLINE;
}

static int owner_put(struct fleet *f, const struct process_uid *process, uint64_t agent)
{
    pthread_mutex_lock(&f->owners_lock);
    int status = SKEIN_OK;
    if (agent == 0)
        idmap_remove(&f->owners, process->bytes);
    else
        status = idmap_put(&f->owners, process->bytes, (void *)(uintptr_t)agent);
    pthread_mutex_unlock(&f->owners_lock);
    return status;
}

uint64_t fleet_agent_of(struct fleet *f, const struct process_uid *process)
{
    pthread_mutex_lock(&f->owners_lock);
    uint64_t agent = (uint64_t)(uintptr_t)idmap_get(&f->owners, process->bytes);
    pthread_mutex_unlock(&f->owners_lock);
    return agent;
}

int fleet_claim(struct fleet *f, const struct process_uid *process, uint64_t agent)
{
    return claims_take(f->claims, process, agent);
}

bool fleet_claim_is_kept(struct fleet *f, const struct process_uid *process)
{
    if (claims_are_kept(f->claims, process))
        return true;
    fleet_wake(f);
    return false;
}

int fleet_claim_from(struct fleet *f, const struct transport_peer *peer,
                     const struct process_uid *process)
{
    int status = peer->session != 0 ? fleet_claim(f, process, peer->agent) : SKEIN_OK;
    if (status == SKEIN_DENIED)
        metrics_add(seal_denied_total, 1);
    return status;
}

struct process_labels fleet_process_labels(const struct fleet_process *p)
{
    return (struct process_labels){p->service, p->host, p->exe, p->labels, p->pid, p->uid.bytes};
}

bool fleet_process_match(const struct selector *selector, const struct fleet_process *p)
{
    struct process_labels labels = fleet_process_labels(p);
    return process_labels_match(selector, &labels);
}

void fleet_save_losses(struct fleet *f)
{
    control_assert_locked(f->control);
    size_t at = 0;
    for (struct fleet_process *p;
         f->losses_save != SAVE_NOTHING && (p = fleet_process_next(f, &at)) != NULL;) {
        struct catalog_account account = {.process = p->uid,
                                          .agent = p->agent,
                                          .pid = p->pid,
                                          .host = p->host,
                                          .service = p->service,
                                          .labels = p->labels,
                                          .exe = p->exe};
        if (saving_take(&p->loss_save))
            catalog_put_ring_lost(f->catalog, &account, p->events_lost, clock_realtime_ns());
    }
    (void)saving_take(&f->losses_save);
}

void fleet_saved_losses(struct fleet *f, bool ok)
{
    control_assert_locked(f->control);
    size_t at = 0;
    if (f->losses_save == SAVE_NOTHING)
        return;
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL;)
        saving_end(&p->loss_save, ok);
    saving_end(&f->losses_save, ok);
}

/* ---- our clock ---- */

uint64_t fleet_time_moved(uint64_t ns, int64_t shift_ns)
{
    return ns != 0 ? clock_shift_ns(ns, shift_ns) : 0;
}

/* What is kept of agents and processes was told under the setting before. */
void fleet_follow_clock(struct fleet *f)
{
    control_assert_locked(f->control);
    const uint64_t clock = clock_setting(NULL);
    const int64_t shift_ns = clock_setting_shift(f->clock, clock);
    size_t at = 0;
    if (f->clock == clock)
        return;
    f->clock = clock;
    for (struct fleet_process *p; shift_ns != 0 && (p = fleet_process_next(f, &at)) != NULL;) {
        p->start_ns = fleet_time_moved(p->start_ns, shift_ns);
        p->attached_ns = fleet_time_moved(p->attached_ns, shift_ns);
        p->ended_ns = fleet_time_moved(p->ended_ns, shift_ns);
        p->perhaps_ns = fleet_time_moved(p->perhaps_ns, shift_ns);
        fleet_process_changed(f, p);
    }
    at = 0;
    for (struct fleet_agent *a; shift_ns != 0 && (a = fleet_agent_next(f, &at)) != NULL;) {
        a->listed_from_ns = fleet_time_moved(a->listed_from_ns, shift_ns);
        a->known_from_ns = fleet_time_moved(a->known_from_ns, shift_ns);
    }
}

/* ---- lists ---- */

#define FORGET_AT_ONCE 256

static void known_from(struct fleet_agent *agent, uint64_t ns)
{
    agent->known_from_ns = ns > agent->known_from_ns ? ns : agent->known_from_ns;
}

/* Whether the agent's processes may match. Of a process that nobody knows, the host is known. */
static bool may_match(const struct selector *selector, const struct fleet_agent *agent)
{
    const char *key, *value;
    for (size_t n = 0; selector_equality(selector, n, &key, &value); n++)
        if (strcmp(key, "host") == 0 && strcmp(value, agent->host) != 0)
            return false;
    return true;
}

uint64_t fleet_known_from(struct fleet *f, const struct selector *selector, bool listed)
{
    control_assert_locked(f->control);
    uint64_t from_ns = 0;
    size_t at = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(f, &at)) != NULL;) {
        uint64_t ns = listed ? a->listed_from_ns : a->known_from_ns;
        if (ns > from_ns && may_match(selector, a))
            from_ns = ns;
    }
    return from_ns;
}

size_t fleet_forget_gone(struct fleet *f, uint64_t agent, uint64_t longer_than_ns)
{
    control_assert_locked(f->control);
    struct fleet_process *old[FORGET_AT_ONCE];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    for (struct fleet_process *p;
         count < FORGET_AT_ONCE && (p = fleet_process_next(f, &at)) != NULL;)
        if (!p->live && (agent == 0 || p->agent == agent) && now - p->gone_ns >= longer_than_ns)
            old[count++] = p;
    for (size_t i = 0; i < count; i++) {
        struct fleet_agent *owner = fleet_agent_find(f, old[i]->agent);
        struct fleet_process **link = owner != NULL ? &owner->processes : NULL;
        while (link != NULL && *link != NULL && *link != old[i])
            link = &(*link)->next_of_agent;
        if (link != NULL && *link == old[i]) {
            *link = old[i]->next_of_agent;
            owner->processes_known--;
            known_from(owner, old[i]->ended_ns);
        }
        idmap_remove(&f->processes, old[i]->uid.bytes);
        owner_put(f, &old[i]->uid, 0);
        fleet_process_forgotten(f, old[i]);
        free(old[i]);
    }
    return count;
}

/* Whether the agent may have one process more. If need be, gone processes are forgotten: of many
 * short-lived ones the newest are worth most. An agent that names ever new ones in lists that never
 * end gets no more room. */
static bool process_room(struct fleet *f, const struct fleet_agent *agent) CONTROL_LOCKED
{
    uint64_t most = 2 * f->settings.max_processes_per_agent;
    return agent->processes_known < most || fleet_forget_gone(f, agent->id, 0) > 0;
}

static bool name_valid(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

/* A ring's counters are its program's word. A number that it cannot have written is kept apart. */
static void lost_take(struct fleet *f, struct fleet_process *p,
                      const struct report_process *in) CONTROL_LOCKED
{
    uint64_t since_ns = in->attached_ns != 0 ? in->attached_ns : in->start_ns;
    uint64_t now_ns = clock_realtime_ns(), span_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    if (since_ns != 0 && !ledger_plausible(in->events_lost, span_ns + SPAN_SLACK_NS)) {
        if (p->lost_implausible == 0)
            metrics_add(lost_implausible_total, 1);
        p->lost_implausible = in->events_lost;
        return;
    }
    if (in->events_lost > p->events_lost) {
        saving_mark(&p->loss_save);
        saving_mark(&f->losses_save);
        control_mark_dirty(f->control);
    }
    p->events_lost = in->events_lost;
    p->lost_implausible = 0;
}

/* ended_ns 0: nobody knows when, but it is gone now. */
static void process_end(struct fleet_process *p, uint64_t ended_ns)
{
    if (p->live || p->gone_ns == 0)
        p->gone_ns = clock_monotonic_ns();
    if (ended_ns != 0 || p->ended_ns == 0)
        p->ended_ns = ended_ns != 0 ? ended_ns : clock_realtime_ns();
}

struct fleet_process *fleet_process_add(struct fleet *f, struct fleet_agent *agent,
                                        const struct process_uid *uid)
{
    control_assert_locked(f->control);
    struct fleet_process *p = calloc(1, sizeof *p);
    if (p == NULL || owner_put(f, uid, agent->id) != SKEIN_OK ||
        idmap_put(&f->processes, uid->bytes, p) != SKEIN_OK) {
        free(p);
        return NULL;
    }
    p->uid = *uid;
    p->user = SHARE_USER_UNKNOWN;
    p->agent = agent->id;
    p->next_of_agent = agent->processes;
    agent->processes = p;
    agent->processes_known++;
    return p;
}

/* Whether the row says what the agent says now. Times in lists differ by the error of its clock. */
static bool row_holds(const struct fleet_process *p, const struct report_process *in)
{
    return p->live == in->live && p->pid == in->pid && p->perhaps_ns == 0 &&
           strcmp(p->service, in->service) == 0 && strcmp(p->labels, in->labels) == 0 &&
           strcmp(p->exe, in->exe) == 0;
}

static int process_put(struct fleet *f, struct fleet_agent *agent, const struct report_process *in,
                       uint64_t version) CONTROL_LOCKED
{
    if (!name_valid(in->service) || !name_valid(in->exe) || !name_valid(in->mode) ||
        !name_valid(in->title) || !name_valid(in->ring_why))
        return SKEIN_INVALID;
    struct fleet_process *p = fleet_process_find(f, &in->uid);
    if (p == NULL) {
        if (!process_room(f, agent))
            return SKEIN_FULL;
        p = fleet_process_add(f, agent, &in->uid);
        if (p == NULL)
            return SKEIN_NO_MEMORY;
        fleet_process_changed(f, p);
    } else if (p->agent != agent->id) {
        return SKEIN_DENIED; /* an id holds its agent's hash: another agent's is forged */
    }
    if (!row_holds(p, in))
        fleet_process_changed(f, p);
    if (!in->live)
        process_end(p, in->ended_ns);
    else
        p->ended_ns = 0;
    p->perhaps_ns = 0;
    p->pid = in->pid;
    p->user = in->user;
    p->live = in->live;
    p->start_ns = in->start_ns;
    p->attached_ns = in->attached_ns;
    p->ring_bytes = in->ring_bytes;
    p->ring_wished_bytes = in->ring_wished_bytes;
    p->ring_memory_bytes = in->ring_memory_bytes;
    snprintf(p->ring_why, sizeof p->ring_why, "%s", in->ring_why);
    p->used_bytes = in->used_bytes;
    p->bytes_per_s = in->bytes_per_s;
    p->reach_ms = in->reach_ms;
    if (in->live || in->events_lost > p->events_lost) /* for a gone process, notes may say 0 */
        lost_take(f, p, in);
    p->wrapped = in->wrapped;
    snprintf(p->not_recorded, sizeof p->not_recorded, "%s", in->not_recorded);
    p->list_version = version;
    snprintf(p->service, sizeof p->service, "%s", in->service);
    snprintf(p->labels, sizeof p->labels, "%s", in->labels);
    snprintf(p->exe, sizeof p->exe, "%s", in->exe);
    snprintf(p->mode, sizeof p->mode, "%s", in->mode);
    snprintf(p->host, sizeof p->host, "%s", agent->host);
    if (in->title[0] != '\0') /* a gone process keeps its title */
        snprintf(p->title, sizeof p->title, "%s", in->title);
    p->listed_ns = clock_monotonic_ns();
    return SKEIN_OK;
}

/* The list has come whole, so what it does not name is gone. But an agent that was started anew
 * names processes as they come back to it: until BACK_NS is over, nobody knows. */
static void list_finish(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED
{
    bool anew = agent->anew_ns != 0 && clock_monotonic_ns() - agent->anew_ns < BACK_NS;
    agent->list_ns = clock_monotonic_ns();
    agent->processes_live = 0;
    for (struct fleet_process *p = agent->processes; p != NULL; p = p->next_of_agent) {
        if (p->live && p->list_version != agent->list_version) {
            process_end(p, 0);
            p->perhaps_ns = anew ? p->ended_ns + BACK_NS : 0;
            p->live = false;
            fleet_process_changed(f, p);
        }
        agent->processes_live += p->live;
    }
}

/* A page of a newer list begins that list; a page of an older one is ignored. */
static int list_begin(struct fleet_agent *agent, const struct report_processes *list)
{
    if (list->version == agent->list_version && list->pages == agent->list_pages)
        return SKEIN_OK;
    uint8_t *have = calloc(list->pages, 1);
    if (have == NULL)
        return SKEIN_NO_MEMORY;
    free(agent->list_have);
    agent->list_have = have;
    agent->list_version = list->version;
    agent->list_pages = list->pages;
    agent->list_seen = 0;
    return SKEIN_OK;
}

/* Tells of those that were new. Some may have been forgotten already to make room for others. */
static void news_tell(struct fleet *f, struct fleet_agent *agent,
                      const struct report_processes *list, const size_t *fresh,
                      size_t count) CONTROL_LOCKED
{
    struct fleet_process **news = calloc(count, sizeof(struct fleet_process *));
    size_t n = 0;
    for (size_t i = 0; news != NULL && i < count; i++) {
        news[n] = fleet_process_find(f, &list->items[fresh[i]].uid);
        n += news[n] != NULL;
    }
    if (n > 0 && f->hooks.listed != NULL)
        f->hooks.listed(f->hooks.context, agent, news, n);
    free(news);
}

static int list_take(struct fleet *f, struct fleet_agent *agent, const struct transport_peer *peer,
                     const struct report_processes *list) CONTROL_LOCKED
{
    size_t *fresh = calloc(list->count + 1, sizeof *fresh), count = 0;
    int status = fresh != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; status == SKEIN_OK && i < list->count; i++) {
        const struct process_uid *uid = &list->items[i].uid;
        const struct fleet_process *before = fleet_process_find(f, uid);
        bool known = before != NULL && (before->live || !list->items[i].live);
        int put = fleet_claim_from(f, peer, uid);
        if (put == SKEIN_OK)
            put = process_put(f, agent, &list->items[i], list->version);
        if (put == SKEIN_NO_MEMORY)
            status = put;
        else if (put != SKEIN_OK) /* one bad entry does not hide the others */
            metrics_add(control_malformed_total, 1);
        else if (!known)
            fresh[count++] = i;
    }
    if (count > 0)
        news_tell(f, agent, list, fresh, count);
    free(fresh);
    return status;
}

int fleet_on_processes(struct fleet *f, struct fleet_agent *agent,
                       const struct transport_peer *peer, const struct report_processes *list,
                       char *error, size_t error_bytes)
{
    control_assert_locked(f->control);
    if (list->version < agent->list_version)
        return SKEIN_OK;
    if (list->pages > f->settings.max_processes_per_agent ||
        agent->processes_live + list->count > 2 * f->settings.max_processes_per_agent) {
        snprintf(error, error_bytes, "more than %" PRIu64 " processes on one agent",
                 f->settings.max_processes_per_agent);
        return SKEIN_TOO_LARGE;
    }
    int status = list_begin(agent, list);
    known_from(agent, list->known_from_ns);
    if (list->known_from_ns > agent->listed_from_ns)
        agent->listed_from_ns = list->known_from_ns;
    if (status == SKEIN_OK)
        status = list_take(f, agent, peer, list);
    if (status != SKEIN_OK)
        return SKEIN_AGAIN;
    if (agent->list_have[list->page] == 0) {
        agent->list_have[list->page] = 1;
        agent->list_seen++;
    }
    if (agent->list_seen == agent->list_pages)
        list_finish(f, agent);
    return SKEIN_OK;
}

void fleet_forget_processes(struct fleet *f, struct fleet_agent *agent)
{
    control_assert_locked(f->control);
    while (agent->processes != NULL) {
        struct fleet_process *p = agent->processes;
        agent->processes = p->next_of_agent;
        idmap_remove(&f->processes, p->uid.bytes);
        (void)owner_put(f, &p->uid, 0);
        free(p);
    }
}
