/* SPDX-License-Identifier: Apache-2.0
 *
 * How captures begin and grow: chooses the processes, and tells their agents. Under the control
 * lock, except capture_create, which takes it. Work is linear in the targets: each agent's targets
 * are a chain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "clock.h"
#include "clock_steps.h"
#include "json.h"
#include "log.h"
#include "metrics.h"

#define PROCESSES_PER_COMMAND 1000 /* agents take 1024 (docs/protocol.md) */
#define UPLOADS_AT_ONCE       1000
#define UPLOADS_A_MS          2
#define LATE_NS               (UINT64_C(5) * 1000000000)

/* ---- commands ---- */

/* Spreads uploads: each connection holds a message in our memory before anybody reads it. */
uint64_t capture_upload_after_ms(const struct capture *c, uint64_t agent)
{
    size_t agents = c->by_agent.count;
    uint64_t now_ns = clock_monotonic_ns();
    if (agents <= UPLOADS_AT_ONCE || c->due_ns <= now_ns)
        return 0;
    uint64_t spread_ms = (agents - UPLOADS_AT_ONCE) / UPLOADS_A_MS;
    uint64_t most_ms = (c->due_ns - now_ns) / 1000000 / 4;
    most_ms = most_ms < COMMAND_UPLOAD_AFTER_MS_MAX ? most_ms : COMMAND_UPLOAD_AFTER_MS_MAX;
    return agent % ((spread_ms < most_ms ? spread_ms : most_ms) + 1);
}

/* Tells the agent to capture these targets. */
static int command_capture(struct capture_engine *e, const struct capture *c, uint64_t agent,
                           struct process_uid *processes, size_t count) CONTROL_LOCKED
{
    uint64_t sent_ns, clock = clock_setting(&sent_ns);
    int64_t shift_ns = clock_setting_shift(c->clock, clock);
    const struct fleet_agent *to = fleet_agent_find(e->fleet, agent);
    uint64_t gone_ns =
        to != NULL && to->refused_to_ns > e->deleted_to_ns ? to->refused_to_ns : e->deleted_to_ns;
    const struct command command = {.kind = COMMAND_CAPTURE,
                                    .capture = c->id,
                                    .clock = clock,
                                    .sent_ns = sent_ns,
                                    .at_ns = clock_shift_ns(c->at_ns, shift_ns),
                                    .pre_ms = c->pre_ms,
                                    .post_ms = c->post_ms,
                                    .stream_ms = c->stream_ms,
                                    .upload_after_ms = capture_upload_after_ms(c, agent),
                                    .unshared = c->at_ns < c->pre_ms * 1000000 + gone_ns,
                                    .wish = c->wish,
                                    .deadline_ns = clock_setting_time(c->due_ns),
                                    .processes = processes,
                                    .process_count = count};
    return fleet_command(e->fleet, agent, c->due_ns, &command);
}

void capture_tell_stop(struct capture_engine *e, uint64_t agent, const struct capture_id *id,
                       uint64_t due_ns)
{
    control_assert_locked(e->control);
    const struct command command = {.kind = COMMAND_STOP, .capture = *id};
    fleet_command(e->fleet, agent, due_ns, &command);
}

/* fresh: and no command has named it yet. */
static bool waits_for_command(const struct capture_target *t, bool fresh)
{
    return !t->own && !target_is_final(t->status) && t->status != TARGET_UPLOADING &&
           (!fresh || t->status == TARGET_PENDING);
}

/* Sends one command, for up to PROCESSES_PER_COMMAND targets from `from` on. *at: the next one. True:
 * it is on its way. */
static bool command_send(struct capture_engine *e, struct capture *c, uint64_t agent, bool fresh,
                         struct capture_target *from, struct capture_target **at) CONTROL_LOCKED
{
    struct process_uid processes[PROCESSES_PER_COMMAND];
    size_t count = 0;
    struct capture_target *t = from;
    for (; t != NULL && count < PROCESSES_PER_COMMAND; t = t->next_of_agent)
        if (waits_for_command(t, fresh))
            processes[count++] = t->process;
    *at = t;
    if (count == 0)
        return false;
    int status = command_capture(e, c, agent, processes, count);
    for (t = from; t != *at; t = t->next_of_agent) {
        if (!waits_for_command(t, fresh) || t->status == TARGET_CAPTURING)
            continue;
        if (status == SKEIN_OK)
            target_set(e, c, t, TARGET_SENT, "");
        else
            target_set(e, c, t, TARGET_FAILED, skein_status_text(status));
    }
    return status == SKEIN_OK;
}

void capture_send(struct capture_engine *e, struct capture *c, const struct fleet_agent *agent,
                  bool fresh)
{
    control_assert_locked(e->control);
    bool sent = false;
    for (struct capture_target *at = capture_targets_at(c, agent->id); at != NULL;)
        sent |= command_send(e, c, agent->id, fresh, at, &at);
    if (sent && c->stopped)
        capture_tell_stop(e, agent->id, &c->id, c->due_ns);
}

/* Sends to every agent with targets that wait. The first of an agent's targets sends for all. */
static void capture_send_all(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        struct fleet_agent *agent =
            t->status == TARGET_PENDING ? fleet_agent_find(e->fleet, t->agent) : NULL;
        if (agent != NULL && agent->online)
            capture_send(e, c, agent, false);
    }
}

/* ---- who ---- */

struct choice {
    struct fleet_process **items;
    size_t count, cap;
};

static int processes_compare(const void *a, const void *b)
{
    const struct fleet_process *const *x = a, *const *y = b;
    return memcmp((*x)->uid.bytes, (*y)->uid.bytes, sizeof(*x)->uid.bytes);
}

/* The capture's window by our clock as it is set now: as the times of processes are. */
struct window {
    uint64_t from_ns, to_ns;
};
static struct window window_now(const struct capture *c)
{
    int64_t shift_ns = clock_setting_shift(c->clock, clock_setting(NULL));
    return (struct window){clock_shift_ns(capture_from_ns(c), shift_ns),
                           clock_shift_ns(capture_to_ns(c), shift_ns)};
}

/* Whether the process lived in the window. A live process is taken even if its begin lies behind
 * the window by our clock: its agent knows better. */
static bool lived_in(const struct window *window, const struct fleet_process *p)
{
    uint64_t last_ns = p->perhaps_ns != 0 ? p->perhaps_ns : p->ended_ns;
    return p->live || (last_ns >= window->from_ns && p->start_ns <= window->to_ns);
}

/* Chooses processes that match and lived in the capture's window, in the order of their ids, so
 * that of too many always the same are taken. beside: only those on hosts of its targets. SKEIN_OK,
 * SKEIN_NO_MEMORY; the caller frees the items. */
static int processes_choose(struct capture_engine *e, const struct selector *selector,
                            struct capture *c, bool beside, struct choice *out) CONTROL_LOCKED
{
    size_t at = 0;
    fleet_follow_clock(e->fleet);
    const struct window window = window_now(c);
    *out = (struct choice){NULL, 0, 0};
    for (struct fleet_process *p; (p = fleet_process_next(e->fleet, &at)) != NULL;) {
        if ((beside && capture_targets_at(c, p->agent) == NULL) || !lived_in(&window, p) ||
            !fleet_process_match(selector, p))
            continue;
        if (!array_grow(out->items, out->count + 1, &out->cap))
            return SKEIN_NO_MEMORY;
        out->items[out->count++] = p;
    }
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, processes_compare);
    return SKEIN_OK;
}

void capture_begin_target(struct capture_engine *e, struct capture *c, struct capture_target *t,
                          enum target_status status, const char *reason)
{
    control_assert_locked(e->control);
    target_set(e, c, t, status, reason);
    metrics_add(capture_targets_total, 1);
}

static int process_add(struct capture_engine *e, struct capture *c,
                       const struct fleet_process *p) CONTROL_LOCKED
{
    const struct fleet_agent *agent = fleet_agent_find(e->fleet, p->agent);
    bool online = agent != NULL && agent->online;
    struct capture_target *t = capture_target_add(c, &p->uid, p, agent);
    if (t == NULL)
        return SKEIN_NO_MEMORY;
    capture_begin_target(e, c, t, online ? TARGET_PENDING : TARGET_OFFLINE,
                         online ? "" : "its agent is silent");
    return SKEIN_OK;
}

/* ---- create ---- */

static int chosen_add(struct capture_engine *e, struct capture *c,
                      const struct capture_request *request) CONTROL_LOCKED
{
    struct choice choice;
    int status = processes_choose(e, request->selector, c, false, &choice);
    capture_know_from(c, fleet_known_from(e->fleet, request->selector, false));
    uint64_t least = request->min_targets > 0 ? request->min_targets : 1;
    size_t limit = choice.count;
    if (request->matched != NULL)
        *request->matched = choice.count;
    if (request->max_targets > 0 && limit > request->max_targets)
        limit = (size_t)request->max_targets;
    if (status == SKEIN_OK && choice.count < least)
        status = SKEIN_NOT_FOUND;
    for (size_t i = 0; i < limit && status == SKEIN_OK; i++)
        status = process_add(e, c, choice.items[i]);
    free(choice.items);
    return status;
}

static int capture_fill(struct capture *c, const struct capture_request *request)
{
    c->clock = clock_setting(&c->created_ns);
    c->at_ns = request->at_ns != 0 ? request->at_ns : c->created_ns;
    c->pre_ms = request->pre_ms;
    c->post_ms = request->post_ms;
    c->kind = request->kind;
    c->stream_ms = request->stream_ms;
    if (request->ttl_ms > 0)
        c->ttl_ms = request->ttl_ms;
    c->pin = request->pin;
    c->wish = request->wish;
    c->min_targets = request->min_targets > 0 ? request->min_targets : 1;
    c->max_targets = request->max_targets;
    capture_set_due(c, clock_monotonic_ns() + capture_window_left_ns(c) +
                           request->deadline_ms * 1000000u);
    snprintf(c->trigger, sizeof c->trigger, "%s",
             request->trigger != NULL ? request->trigger : "request");
    snprintf(c->rule, sizeof c->rule, "%s", request->rule != NULL ? request->rule : "");
    snprintf(c->reason, sizeof c->reason, "%s", request->reason);
    c->rank = SHARE_ROOT;
    if (request->asker != NULL)
        snprintf(c->holder, sizeof c->holder, "token %s", request->asker);
    else
        snprintf(c->holder, sizeof c->holder, "rule %s", c->rule);
    c->selector = strdup(request->selector_text);
    return c->selector != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int capture_save_once(struct capture_engine *e, const struct capture_once *request,
                      const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = request != NULL ? capture_find(e, id) : NULL;
    if (c == NULL)
        return control_save(e->control);
    const struct catalog_once once = {.principal = request->principal,
                                      .key = request->key,
                                      .checksum = request->checksum,
                                      .at_ns = clock_realtime_ns(),
                                      .capture = *id};
    c->once = &once;
    capture_touch(e, c);
    int status = control_save(e->control);
    if ((c = idmap_get(&e->loaded, id->bytes)) != NULL) /* others may have deleted it */
        c->once = NULL;
    return status;
}

/* Whether the first of its requests is being saved. */
static bool once_is_awaited(const struct capture_engine *e,
                            const struct catalog_once *row) CONTROL_LOCKED
{
    size_t at = 0;
    for (const struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->once != NULL && strcmp(c->once->principal, row->principal) == 0 &&
            strcmp(c->once->key, row->key) == 0)
            return true;
    return false;
}

/* 1: there is a row that still counts; 0; a status. Where the first request could not be saved, and
 * another that waited for it has taken its place, waits for that one. */
static int once_look_up(struct capture_engine *e, struct catalog_once *once) CONTROL_LOCKED
{
    int found;
    bool awaited;
    do {
        awaited = once_is_awaited(e, once);
        int saved = awaited ? control_save(e->control) : SKEIN_OK;
        found = saved == SKEIN_OK ? catalog_find_once(e->catalog, once) : saved;
    } while (found == 0 && awaited && once_is_awaited(e, once));
    return found > 0 && once->at_ns < clock_setting_before(CAPTURE_ONCE_NS) ? 0 : found;
}

int capture_find_once(struct capture_engine *e, const struct capture_once *request,
                      struct capture_id *id)
{
    control_assert_locked(e->control);
    struct catalog_once once = {.principal = request->principal, .key = request->key};
    int found = once_look_up(e, &once);
    if (found < 0)
        return found;
    if (found == 0)
        return SKEIN_NOT_FOUND;
    if (once.checksum != request->checksum)
        return SKEIN_EXISTS;
    const struct capture *c = capture_find(e, &once.capture);
    if (c == NULL)
        return SKEIN_CLOSED;
    *id = c->id;
    return SKEIN_OK;
}

/* Logs the capture's id; the log line has the request's id, too. */
static void log_begin(const struct capture *c)
{
    char id[ID_TEXT_BYTES];
    id_text(c->id.bytes, id);
    log_info("captures", "began", "capture", id, "trigger", c->trigger, "rule", c->rule, "selector",
             c->selector, "targets", log_fmt("%zu", c->target_count), NULL);
}

int capture_create_locked(struct capture_engine *e, const struct capture_request *request,
                          struct capture_id *id, cJSON **out)
{
    control_assert_locked(e->control);
    if (out != NULL)
        *out = NULL;
    if (request->once != NULL) {
        int repeated = capture_find_once(e, request->once, id);
        if (repeated == SKEIN_OK && out != NULL)
            *out = capture_json(capture_find(e, id), request->within, true);
        if (repeated != SKEIN_NOT_FOUND)
            return repeated;
    }
    if (e->settings.is_full != NULL && e->settings.is_full(e->settings.context))
        return SKEIN_FULL;
    if (request->pin && !capture_may_pin(e, request->within))
        return SKEIN_REFUSED;
    *id = capture_id_new();
    struct capture *c = capture_new(e, id);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    int status = capture_fill(c, request);
    if (status == SKEIN_OK)
        status = chosen_add(e, c, request);
    if (status == SKEIN_OK && !request->unsaved)
        status = capture_save_once(e, request->once, id);
    if (status != SKEIN_OK) {
        fleet_drop_commands(e->fleet, id); /* an agent that joined meanwhile has been sent to */
        if ((c = capture_find(e, id)) != NULL)
            capture_discard(e, c);
        return status;
    }
    if ((c = capture_find(e, id)) == NULL)
        return SKEIN_CLOSED; /* somebody who has seen it in a list has deleted it */
    metrics_add(captures_total, 1);
    log_begin(c);
    capture_send_all(e, c);
    capture_publish(e, c, "capture.created", NULL);
    capture_audit_created(e, c);
    if (out != NULL)
        *out = capture_json(c, request->within, true);
    return SKEIN_OK;
}

int capture_create(struct capture_engine *e, const struct capture_request *request,
                   struct capture_id *id, cJSON **out)
{
    control_lock(e->control);
    int status = capture_create_locked(e, request, id, out);
    control_unlock(e->control);
    return status;
}

/* ---- extend ---- */

int64_t capture_extend(struct capture_engine *e, const struct capture_id *id,
                       const struct selector *selector, bool same_host, uint64_t max_targets)
{
    control_assert_locked(e->control);
    struct choice choice;
    int64_t added = 0;
    struct capture *c = capture_find(e, id);
    if (c == NULL)
        return SKEIN_NOT_FOUND;
    int status = processes_choose(e, selector, c, same_host, &choice);
    for (size_t i = 0; i < choice.count && status == SKEIN_OK; i++) {
        if (max_targets > 0 && c->target_count >= max_targets)
            break;
        if (capture_target_find(c, &choice.items[i]->uid) != NULL)
            continue;
        if (added == 0)
            capture_reopen(e, c, 0);
        status = process_add(e, c, choice.items[i]);
        added += status == SKEIN_OK;
    }
    free(choice.items);
    if (added > 0)
        capture_send_all(e, c);
    capture_settle(e, c);
    return status == SKEIN_OK ? added : status;
}

/* Whether processes that agents name only now may become targets. A process that begins in the
 * window is attached and named a moment later; the capture may have ended by then. */
static bool takes_more(const struct capture *c)
{
    bool lately = c->status == CAPTURE_RUNNING || clock_monotonic_ns() - c->over_ns < LATE_NS;
    return lately && !c->stopped && !c->own && c->kind != CAPTURE_SAMPLE;
}

static size_t processes_add(struct capture_engine *e, struct capture *c,
                            struct fleet_process *const *news, size_t count) CONTROL_LOCKED
{
    char error[128];
    size_t added = 0;
    /* If the capture has ended, a process that began behind its window is none of its targets. */
    const struct window window = window_now(c);
    uint64_t began_by_ns = c->status == CAPTURE_RUNNING ? UINT64_MAX : window.to_ns;
    struct selector *selector = NULL;
    if (selector_new(c->selector, &selector, error, sizeof error) != SKEIN_OK)
        return 0;
    for (size_t i = 0; i < count; i++) {
        bool full = c->max_targets > 0 && c->target_count >= c->max_targets;
        if (full || !lived_in(&window, news[i]) || news[i]->start_ns > began_by_ns ||
            capture_target_find(c, &news[i]->uid) != NULL ||
            !fleet_process_match(selector, news[i]))
            continue;
        if (c->status != CAPTURE_RUNNING)
            capture_reopen(e, c, 0);
        added += process_add(e, c, news[i]) == SKEIN_OK;
    }
    selector_free(&selector);
    return added;
}

void capture_processes_listed(struct capture_engine *e, struct fleet_agent *agent,
                              struct fleet_process *const *news, size_t count)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (takes_more(c) && processes_add(e, c, news, count) > 0 && agent->online)
            capture_send(e, c, agent, true);
}
