/* SPDX-License-Identifier: Apache-2.0
 *
 * A target's states, and what follows from them for its capture. Under the control lock.
 *
 *     pending ──▶ sent ──▶ capturing ──▶ uploading ──▶ complete, watched
 *        │        │  ▲         │             │
 *        └▶ offline ─┘         │             │
 *              │               │             │
 *              ├───────────────┴──▶ nothing, watched
 *              └───────────────┴─────────────┴──▶ failed, expired ──▶ (late truth)
 *
 *   enters                 by
 *     pending, offline     process_add           a request chose its process
 *     capturing            target_adopt,         its agent began it by itself
 *                          target_join
 *     sent                 capture_send,         the fleet: its agent is told
 *     failed               capture_send          no command can be made
 *     failed               capture_command_done  its agent refused
 *     offline              capture_agent_lost    the fleet: its agent is silent
 *     capturing            on_capturing          its agent has begun
 *     uploading            on_uploading          its agent has listed what it has cut
 *     expired                                    the same after `failed`, and the capture has ended
 *     nothing, failed      on_nothing            its agent had no record, or could not
 *     complete             target_check_stored   the index has all that is listed
 *     watched              on_nothing,           as nothing and complete, of a process without a
 *                          target_check_stored   ring: nobody says that it is whole
 *     expired              capture_expire        the deadline came
 *                          capture_agent_stop    somebody stopped it while its agent was silent
 *     failed, expired      loaded_mend,          rows contradict themselves, or a start finds less
 *                          loaded_catch_up       than they say
 *
 * All go through target_set and the table `allowed`, but for the last two: what is read back need
 * not follow from what was there. target_assert says what holds in each state, capture_assert what
 * holds for all targets together.
 *
 * A report may overtake earlier ones, so every state that is not final may be skipped. A report
 * after `failed` or `expired` is late truth. A running capture goes on with it; an ended one keeps
 * the target `expired` until every listed partition is stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "clock.h"
#include "clock_steps.h"
#include "log.h"
#include "metrics.h"
#include "selector.h"
#include "skein_check.h"

#define BIT(name) (1u << TARGET_##name)

/* Where each state may go. */
static const unsigned allowed[TARGET_STATUS_COUNT] = {
    [TARGET_PENDING] = BIT(SENT) | BIT(OFFLINE) | BIT(CAPTURING) | BIT(UPLOADING) | BIT(NOTHING) |
                       BIT(WATCHED) | BIT(FAILED) | BIT(EXPIRED),
    [TARGET_SENT] = BIT(OFFLINE) | BIT(CAPTURING) | BIT(UPLOADING) | BIT(NOTHING) | BIT(WATCHED) |
                    BIT(FAILED) | BIT(EXPIRED),
    [TARGET_OFFLINE] = BIT(SENT) | BIT(CAPTURING) | BIT(UPLOADING) | BIT(NOTHING) | BIT(WATCHED) |
                       BIT(FAILED) | BIT(EXPIRED),
    [TARGET_CAPTURING] = BIT(UPLOADING) | BIT(NOTHING) | BIT(WATCHED) | BIT(FAILED) | BIT(EXPIRED),
    [TARGET_UPLOADING] = BIT(COMPLETE) | BIT(WATCHED) | BIT(FAILED) | BIT(EXPIRED),
    [TARGET_COMPLETE] = 0,
    [TARGET_NOTHING] = 0,
    [TARGET_WATCHED] = 0,
    [TARGET_FAILED] = BIT(UPLOADING) | BIT(EXPIRED) | BIT(NOTHING) | BIT(WATCHED),
    [TARGET_EXPIRED] = BIT(COMPLETE) | BIT(NOTHING) | BIT(WATCHED) | BIT(FAILED),
};

static const struct {
    const char *text;
    bool final;
} target_states[TARGET_STATUS_COUNT] = {
#define X(name, text, final) {text, final},
    TARGET_STATUS_LIST(X)
#undef X
};

const char *target_status_text(enum target_status status)
{
    return target_states[status].text;
}

bool target_is_final(enum target_status status)
{
    return target_states[status].final;
}

bool target_is_stored(enum target_status status)
{
    return status == TARGET_COMPLETE || status == TARGET_WATCHED;
}

bool target_has_ended_well(enum target_status status)
{
    return target_is_stored(status) || status == TARGET_NOTHING;
}

bool target_lacks_ring(const struct report_target *report)
{
    for (size_t i = 0; i < report->gap_count; i++)
        if (loss_parse(report->gaps[i].reason) == LOSS_WATCHED)
            return true;
    return false;
}

bool target_may(enum target_status from, enum target_status to)
{
    return (allowed[from] >> to & 1u) != 0;
}

/* What holds for a target at each change. It compares what this process has counted; what agents
 * report is only a bound for that. */
static void target_assert(const struct capture *c, const struct capture_target *t)
{
    skein_check(t->stored_count <= t->facts.listed && t->damaged_count <= t->stored_count);
    if (!target_is_final(t->status))
        skein_check(c->status == CAPTURE_RUNNING);
    if (t->status == TARGET_UPLOADING)
        skein_check(t->report != NULL);
    if (t->whole)
        skein_check(t->damaged_count == 0 &&
                    (t->status == TARGET_COMPLETE || t->status == TARGET_NOTHING));
}

void capture_assert(const struct capture *c)
{
    size_t open = 0, whole = 0;
    for (size_t i = 0; i < c->target_count; i++) {
        const struct capture_target *t = c->targets[i];
        target_assert(c, t);
        open += !target_is_final(t->status);
        whole += t->whole;
    }
    skein_check(open == c->open_count && whole == c->whole_count);
    skein_check((c->status == CAPTURE_RUNNING) == (c->finished_ns == 0));
}

static void capture_mark(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    saving_mark(&c->save);
    c->touched_ns = clock_monotonic_ns();
    control_mark_dirty(e->control);
}

void capture_touch(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    saving_mark(&c->row_save);
    capture_mark(e, c);
}

void target_touch(struct capture_engine *e, struct capture *c, struct capture_target *t)
{
    control_assert_locked(e->control);
    if (t->save == SAVE_NOTHING) {
        t->next_dirty = c->dirty_targets;
        c->dirty_targets = t;
    }
    c->behind += (t->save & SAVE_CHANGED) == 0;
    saving_mark(&t->save);
    partition_ranges_unref(&c->ranges);
    capture_mark(e, c);
}

/* Whether the target is known to lack events. A lost name does not count: its event is there. */
static bool target_has_loss(const struct capture_target *t)
{
    for (size_t i = 0; i < t->facts.loss_count; i++)
        if (t->facts.losses[i].events > 0 && loss_parse(t->facts.losses[i].reason) != LOSS_NAME)
            return true;
    return t->facts.gap_count > 0;
}

/* A process that was idle in the window has nothing to give, so nothing is missing (V-4). */
void target_weigh(struct capture *c, struct capture_target *t)
{
    bool ended = t->status == TARGET_COMPLETE || t->status == TARGET_NOTHING;
    bool whole = ended && t->damaged_count == 0 && !target_has_loss(t);
    c->whole_count += (size_t)whole - (size_t)t->whole;
    t->whole = whole;
}

void target_enter(struct capture *c, struct capture_target *t, enum target_status to)
{
    c->open_count += (size_t)target_is_final(t->status) - (size_t)target_is_final(to);
    t->updated_ns = clock_realtime_ns();
    if (t->status != to || t->entered_ns[to] == 0)
        t->entered_ns[to] = t->updated_ns;
    t->status = to;
    target_weigh(c, t);
}

bool target_set(struct capture_engine *e, struct capture *c, struct capture_target *t,
                enum target_status to, const char *reason)
{
    control_assert_locked(e->control);
    if (t->status != to && !target_may(t->status, to))
        return false;
    target_enter(c, t, to);
    if (reason != NULL)
        snprintf(t->reason, sizeof t->reason, "%s", reason);
    target_assert(c, t);
    target_touch(e, c, t);
    return true;
}

/* ---- the capture ---- */

static enum capture_status end_status(const struct capture *c)
{
    if (c->stopped)
        return CAPTURE_STOPPED;
    bool whole = c->whole_count == c->target_count && c->known_from_ns == 0;
    return whole ? CAPTURE_COMPLETE : CAPTURE_INCOMPLETE;
}

void capture_know_from(struct capture *c, uint64_t ns)
{
    uint64_t end_ns = capture_to_ns(c);
    if (ns != 0)
        ns = clock_shift_ns(ns, clock_setting_shift(clock_setting(NULL), c->clock));
    ns = ns < end_ns ? ns : end_ns;
    if (ns > capture_from_ns(c) && ns > c->known_from_ns)
        c->known_from_ns = ns;
}

/* Takes in what the agents' lists since the capture's begin say about unknown processes. A capture
 * that an agent began by itself only has the processes that its rule fired for. */
static void capture_know_from_lists(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    char error[256];
    struct selector *selector = NULL;
    if (c->own && c->kind != CAPTURE_SAMPLE)
        return;
    if (selector_new(c->selector != NULL ? c->selector : "", &selector, error, sizeof error) ==
        SKEIN_OK)
        capture_know_from(c, fleet_known_from(e->fleet, selector, true));
    selector_free(&selector);
}

static void log_end(const struct capture *c)
{
    char id[ID_TEXT_BYTES];
    cJSON *json = capture_json(c, NULL, false);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(json, "verdict");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(verdict, "text"));
    id_text(c->id.bytes, id);
    log_info("captures", "ended", "capture", id, "verdict", text, NULL);
    cJSON_Delete(json);
}

void capture_set_expiry(struct capture *c)
{
    bool ends = c->finished_ns != 0 && c->ttl_ms > 0 && !c->pin;
    c->expires_ns = ends ? c->finished_ns + c->ttl_ms * 1000000u : 0;
}

/* A capture that an agent began was triggered before we heard of it. */
static void count_end(const struct capture *c, enum capture_status status)
{
    uint64_t trigger_ns = c->own ? c->at_ns : c->created_ns;
    metrics_add_at(captures_ended_total, status, 1);
    /* A sample takes its time. */
    if (status == CAPTURE_COMPLETE && c->kind != CAPTURE_SAMPLE && trigger_ns <= c->finished_ns)
        metrics_observe(capture_durable_seconds, c->finished_ns - trigger_ns);
}

/* Whether the capture still takes processes that begin in its window, even if all its targets have
 * ended: a service may be restarted. One that an agent began has only those its rule fired for. */
static bool may_grow(const struct capture *c)
{
    return (!c->own || c->kind == CAPTURE_SAMPLE) && c->status == CAPTURE_RUNNING && !c->stopped &&
           capture_window_left_ns(c) > 0 && clock_monotonic_ns() < c->due_ns;
}

void capture_settle(struct capture_engine *e, struct capture *c)
{
    control_assert_locked(e->control);
    if (c->open_count > 0 || may_grow(c))
        return;
    if (c->status == CAPTURE_RUNNING)
        capture_know_from_lists(e, c);
    enum capture_status status = end_status(c);
    if (c->status == CAPTURE_RUNNING) {
        c->finished_ns = clock_realtime_ns();
        c->over_ns = clock_monotonic_ns();
        capture_set_expiry(c);
        count_end(c, status);
        fleet_drop_commands(e->fleet, &c->id);
        capture_touch(e, c);
    } else if (c->status != status) {
        capture_touch(e, c);
    } else {
        return;
    }
    c->status = status;
    capture_assert(c);
    log_end(c);
    capture_publish(e, c, "capture.finished", NULL);
    if (c->rule[0] != '\0' && c->kind != CAPTURE_SAMPLE && e->settings.ended != NULL)
        e->settings.ended(e->settings.context, &c->incident, c->rule,
                          capture_id_equal(&c->id, &c->incident) ? capture_json(c, NULL, false)
                                                                 : NULL);
}

void capture_set_due(struct capture *c, uint64_t due_ns)
{
    c->due_ns = due_ns;
    c->deadline_ns = clock_setting_time(due_ns);
}

uint64_t capture_window_left_ns(const struct capture *c)
{
    uint64_t now_ns, clock = clock_setting(&now_ns);
    uint64_t end_ns = clock_shift_ns(capture_to_ns(c), clock_setting_shift(c->clock, clock));
    return end_ns > now_ns ? end_ns - now_ns : 0;
}

void capture_reopen(struct capture_engine *e, struct capture *c, uint64_t due_ns)
{
    control_assert_locked(e->control);
    uint64_t earliest_ns = clock_monotonic_ns() + e->settings.deadline_ms * 1000000u;
    if (c->status != CAPTURE_RUNNING) {
        c->status = CAPTURE_RUNNING;
        c->finished_ns = c->expires_ns = 0;
        capture_assert(c);
        if (due_ns < earliest_ns)
            due_ns = earliest_ns;
    }
    if (c->due_ns < due_ns)
        capture_set_due(c, due_ns);
    capture_touch(e, c);
}

/* ---- facts: what the agent has listed ---- */

bool target_lists(const struct capture_target *t, uint64_t epoch, uint64_t sequence)
{
    for (size_t i = 0; i < t->facts.partition_count; i++) {
        const struct report_range *p = &t->facts.partitions[i];
        if (p->epoch == epoch && p->first <= sequence && sequence <= p->last)
            return true;
    }
    return false;
}

/* The first epoch of its agent that the report lists: what was sent in one before, and is not listed,
 * was cut again since (V-33). 0: it lists nothing. */
static uint64_t listed_epoch(const struct report_target *facts)
{
    uint64_t first = facts->partition_count > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < facts->partition_count; i++)
        first = facts->partitions[i].epoch < first ? facts->partitions[i].epoch : first;
    return first;
}

int target_take_sent(struct capture_target *t, const struct partition_key *key, uint64_t to_ns)
{
    bool takes = !target_is_stored(t->status) && !target_lists(t, key->epoch, key->sequence) &&
                 key->epoch >= listed_epoch(&t->facts);
    int added = takes ? stored_set_add(&t->sent, key->epoch, key->sequence) : 0;
    if (added == 1) {
        bool first = t->sent_high_ns == 0;
        t->sent_low_ns = first || to_ns < t->sent_low_ns ? to_ns : t->sent_low_ns;
        t->sent_high_ns = to_ns > t->sent_high_ns ? to_ns : t->sent_high_ns;
    }
    return added;
}

bool target_has(const struct capture_target *t, uint64_t epoch, uint64_t sequence)
{
    uint64_t first = sequence, last = sequence;
    return target_lists(t, epoch, sequence) || !stored_set_missing(&t->sent, epoch, &first, &last);
}

int target_add_ranges(const struct capture_target *t, struct partition_ranges *ranges)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < t->facts.partition_count && status == SKEIN_OK; i++) {
        const struct report_range *p = &t->facts.partitions[i];
        const struct partition_range range = {{t->process, p->epoch, p->first}, p->last};
        status = partition_ranges_add(ranges, &range);
    }
    for (size_t i = 0; i < t->sent.count && status == SKEIN_OK; i++) {
        const struct stored_range *s = &t->sent.ranges[i];
        const struct partition_range range = {{t->process, s->epoch, s->first}, s->last};
        status = partition_ranges_add(ranges, &range);
    }
    return status;
}

int target_count_stored(struct capture *c, struct capture_target *t, const struct stored_note *note)
{
    uint64_t epoch = note->key.epoch, sequence = note->key.sequence;
    uint64_t events = note->events, bytes = note->bytes;
    int added = target_lists(t, epoch, sequence) ? stored_set_add(&t->stored, epoch, sequence) : 0;
    if (added == 1) {
        bool damaged = damage_find(c->damages, &note->key) != NULL;
        t->low_ns = t->stored_count == 0 || note->to_ns < t->low_ns ? note->to_ns : t->low_ns;
        t->high_ns = note->to_ns > t->high_ns ? note->to_ns : t->high_ns;
        t->stored_count++;
        t->damaged_count += damaged;
        t->damaged_events += damaged ? events : 0;
        t->stored_events += damaged ? 0 : events;
        t->stored_bytes += bytes;
        if (damaged)
            target_weigh(c, t);
    }
    return added;
}

static void stored_uncount(struct capture_target *t)
{
    stored_set_fini(&t->stored);
    t->stored_count = t->stored_events = t->stored_bytes = 0;
    t->damaged_count = t->damaged_events = 0;
    t->low_ns = t->high_ns = 0;
}

static bool lists_same(const struct report_target *a, const struct report_target *b)
{
    bool same = a->partition_count == b->partition_count;
    for (size_t i = 0; same && i < a->partition_count; i++)
        same = a->partitions[i].epoch == b->partitions[i].epoch &&
               a->partitions[i].first == b->partitions[i].first &&
               a->partitions[i].last == b->partitions[i].last;
    return same;
}

/* Whether each range of `from` lies in a range of `to`. */
static bool facts_grow(const struct report_target *from, const struct report_target *to)
{
    for (size_t i = 0; i < from->partition_count; i++) {
        const struct report_range *a = &from->partitions[i];
        bool inside = false;
        for (size_t k = 0; k < to->partition_count && !inside; k++)
            inside = to->partitions[k].epoch == a->epoch && to->partitions[k].first <= a->first &&
                     to->partitions[k].last >= a->last;
        if (!inside)
            return false;
    }
    return true;
}

struct lookup {
    struct capture_engine *engine;
    struct capture *capture;
    struct capture_target *target;
    int status;
};

static int count_row(void *context, const struct partition_row *row)
{
    struct lookup *lookup = context;
    control_assert_locked(lookup->engine->control);
    const struct stored_note note = {.key = row->record.key,
                                     .events = row->events,
                                     .bytes = row->place.bytes,
                                     .to_ns = row->to_ns};
    if (capture_is_leaving(lookup->engine, &note.key))
        lookup->engine->leaving_listed = true;
    else if (target_count_stored(lookup->capture, lookup->target, &note) < 0)
        lookup->status = SKEIN_NO_MEMORY;
    return lookup->status != SKEIN_OK;
}

int target_look_up(struct capture_engine *e, struct capture *c, struct capture_target *t)
{
    control_assert_locked(e->control);
    struct lookup lookup = {e, c, t, SKEIN_OK};
    for (size_t i = 0; e->index != NULL && i < t->facts.partition_count; i++) {
        const struct report_range *p = &t->facts.partitions[i];
        uint64_t first = p->first, last = p->last;
        while (lookup.status == SKEIN_OK &&
               stored_set_missing(&t->stored, p->epoch, &first, &last)) {
            const struct partition_range range = {{t->process, p->epoch, first}, last};
            int64_t found = index_range(e->index, &range, count_row, &lookup);
            if (found < 0) {
                stored_uncount(t); /* the next look-up asks for all again */
                return (int)found;
            }
            if (last == p->last)
                break;
            first = last + 1;
            last = p->last;
        }
    }
    return lookup.status;
}

int target_count_anew(struct capture_engine *e, struct capture *c, struct capture_target *t)
{
    control_assert_locked(e->control);
    stored_uncount(t);
    target_touch(e, c, t);
    return target_look_up(e, c, t);
}

bool target_clock_error(const struct capture *c, const struct capture_target *t, uint64_t *error_ns)
{
    const struct report_clock *clock = &t->facts.clock;
    const uint64_t doubt_ns = clock_setting_doubt(clock->clock, c->clock);
    if (clock->error_ns == 0 || clock->error_ns > INT64_MAX || doubt_ns == UINT64_MAX)
        return false;
    *error_ns = clock->error_ns + doubt_ns;
    return true;
}

int target_take_facts(struct capture_engine *e, struct capture *c, struct capture_target *t,
                      cJSON *json)
{
    control_assert_locked(e->control);
    struct report_target facts;
    char error[256];
    int status = report_target_get(json, &facts, error, sizeof error);
    if (status != SKEIN_OK) {
        cJSON_Delete(json);
        return status;
    }
    report_target_align(&facts);
    /* A stream's list grows with each report: what was counted of it stays counted. */
    if (!facts_grow(&t->facts, &facts))
        stored_uncount(t);
    if (!lists_same(&t->facts, &facts))
        saving_mark(&t->list_save);
    cJSON_Delete(t->report);
    report_target_fini(&t->facts);
    t->report = json;
    t->facts = facts;
    if (stored_set_drop_before(&t->sent, listed_epoch(&t->facts)))
        saving_mark(&t->list_save);
    target_weigh(c, t);
    target_assert(c, t);
    return target_look_up(e, c, t);
}

static int description_take(void *context, const struct partition_row *row)
{
    struct capture_target *t = context;
    t->pid = row->pid;
    snprintf(t->service, sizeof t->service, "%s", row->service);
    snprintf(t->labels, sizeof t->labels, "%s", row->labels);
    snprintf(t->exe, sizeof t->exe, "%s", row->exe);
    return 1;
}

/* Describes a process that ended before its agent could list it, or while nobody listened. The
 * fleet never heard of it, but the partitions that are listed say who it was. */
static void unlisted_describe(struct capture_engine *e, struct capture_target *t)
{
    int64_t found = 0;
    for (size_t i = 0; t->pid == 0 && found == 0 && i < t->facts.partition_count; i++) {
        const struct report_range *p = &t->facts.partitions[i];
        const struct partition_range range = {{t->process, p->epoch, p->first}, p->last};
        found = index_range(e->index, &range, description_take, t);
    }
    if (found < 0)
        log_warn("captures", "a target stays without a name: the index cannot be read", NULL);
}

void target_check_stored(struct capture_engine *e, struct capture *c, struct capture_target *t)
{
    control_assert_locked(e->control);
    /* A stream's list so far may be stored completely; that is not its end. */
    if ((t->status != TARGET_UPLOADING && t->status != TARGET_EXPIRED) || t->report == NULL ||
        t->facts.state != REPORT_UPLOADING || t->facts.listed == 0 ||
        t->stored_count < t->facts.listed)
        return;
    unlisted_describe(e, t);
    if (t->sent.count > 0)
        saving_mark(&t->list_save); /* its agent has said what it has */
    stored_set_fini(&t->sent);
    if (target_lacks_ring(&t->facts))
        target_set(e, c, t, TARGET_WATCHED, t->facts.reason);
    else
        target_set(e, c, t, TARGET_COMPLETE, "");
    capture_settle(e, c);
}
