/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledgers of targets and captures. A ledger is made anew each time it is asked for, from what
 * the agent said it lost, what it listed, and what the index says is stored. So a late report
 * changes it without anything to undo. Reads only; under the control lock.
 */
#include "capture_ledger.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "metrics.h"

static void window_of(const struct capture *c, const struct capture_target *t, struct loss_gap *gap)
{
    gap->from_ns = capture_from_ns(c);
    gap->to_ns = capture_to_ns(c);
    if (!t->facts.has_window)
        return;
    /* An agent that did not finish has said how far it came, not how far it would have come. */
    bool finished = t->status != TARGET_EXPIRED;
    if (finished || t->facts.from_ns < gap->from_ns)
        gap->from_ns = t->facts.from_ns;
    if (finished || t->facts.to_ns > gap->to_ns)
        gap->to_ns = t->facts.to_ns;
}

/* Loses events of partitions that were listed: of these, as many as lie in the window. How many that
 * are is known of all that the target lists together. */
static void listed_lose(const struct capture_target *t, enum loss_reason reason, uint64_t events,
                        struct ledger *out)
{
    const struct report_target *facts = &t->facts;
    uint64_t within = facts->window_events;
    if (!facts->has_window_events) {
        ledger_lose_most(out, reason, events);
        return;
    }
    bool all = events == facts->listed_events;
    bool exact = !facts->at_most && (all || within == facts->listed_events);
    uint64_t most = events < within ? events : within;
    if (exact)
        ledger_lose(out, reason, most);
    else
        ledger_lose_most(out, reason, most);
}

/* Its agent has said at most what there was so far: nobody knows of the rest. */
static bool is_unanswered(const struct capture_target *t)
{
    return t->status == TARGET_EXPIRED && t->facts.state == REPORT_CAPTURING;
}

/* Adds what is missing of an ended target though its agent has not said so: partitions that it
 * listed and never sent, or everything where it said nothing. */
static void missing_add(const struct capture *c, const struct capture_target *t, struct ledger *out)
{
    struct loss_gap gap;
    window_of(c, t, &gap);
    if (t->stored_count < t->facts.listed) {
        gap.reason = t->refused ? LOSS_DISK_FULL : LOSS_NOT_ARRIVED;
        uint64_t stored = t->stored_events + t->damaged_events;
        if (t->facts.listed_events > stored)
            listed_lose(t, gap.reason, t->facts.listed_events - stored, out);
        if (is_unanswered(t))
            gap.reason = LOSS_NO_ANSWER;
        ledger_gap(out, &gap);
    } else if (t->status == TARGET_EXPIRED) {
        gap.reason = LOSS_NO_ANSWER;
        ledger_gap(out, &gap);
    } else if (t->status == TARGET_FAILED && t->facts.gap_count == 0) {
        gap.reason = LOSS_AGENT_FAILED;
        ledger_gap(out, &gap);
    }
}

/* Adds what is stored and can no longer be read. */
static void damaged_add(const struct capture *c, const struct capture_target *t, struct ledger *out)
{
    listed_lose(t, LOSS_DAMAGED, t->damaged_events, out);
    for (size_t i = 0; i < c->damages->count; i++) {
        const struct damage *d = &c->damages->items[i];
        if (process_uid_equal(&d->key.process, &t->process) &&
            target_lists(t, d->key.epoch, d->key.sequence))
            ledger_gap(out, &(struct loss_gap){d->from_ns, d->to_ns, LOSS_DAMAGED});
    }
}

/* A restarted agent ends the target at once, and says so. Then the rest of the window is missing,
 * too. If the agent had told nothing before, it does not know where the window began. In a sample
 * each process has its own part of the window. */
static void span_restart(const struct capture *c, const struct capture_target *t,
                         struct loss_gap *gap)
{
    if (c->kind == CAPTURE_SAMPLE) {
        struct loss_gap window;
        window_of(c, t, &window);
        gap->from_ns = gap->from_ns != 0 ? gap->from_ns : window.from_ns;
        return;
    }
    uint64_t from_ns = capture_from_ns(c), end_ns = capture_to_ns(c);
    gap->to_ns = c->kind == CAPTURE_SNAPSHOT || end_ns > gap->to_ns ? end_ns : gap->to_ns;
    gap->from_ns = from_ns > gap->from_ns ? from_ns : gap->from_ns;
}

bool target_gap(const struct capture *c, const struct capture_target *t,
                const struct report_gap *told, struct loss_gap *gap)
{
    *gap = (struct loss_gap){told->from_ns, told->to_ns, loss_parse(told->reason)};
    if (gap->reason == LOSS_AGENT_RESTARTED)
        span_restart(c, t, gap);
    uint64_t end_ns = capture_to_ns(c);
    if (!c->stopped || gap->to_ns <= end_ns)
        return true;
    gap->to_ns = end_ns; /* it hears of the stop, and cuts, a little later */
    return gap->from_ns <= end_ns;
}

void target_ledger(const struct capture *c, const struct capture_target *t, struct ledger *out)
{
    out->stored += t->stored_events;
    struct loss_gap window;
    window_of(c, t, &window);
    uint64_t span_ns = window.to_ns > window.from_ns ? window.to_ns - window.from_ns : 0;
    for (size_t i = 0; i < t->facts.loss_count; i++) {
        enum loss_reason reason = loss_parse(t->facts.losses[i].reason);
        ledger_claim(out, reason, t->facts.losses[i].events, span_ns);
        out->at_most[reason] |= t->facts.at_most && loss_place(reason) == LOSS_PLACE_SPOOL;
    }
    for (size_t i = 0; i < t->facts.gap_count; i++) {
        struct loss_gap gap;
        if (target_gap(c, t, &t->facts.gaps[i], &gap))
            ledger_gap(out, &gap);
    }
    if (t->damaged_count > 0)
        damaged_add(c, t, out);
    if (target_is_final(t->status))
        missing_add(c, t, out);
    else
        out->open = true;
}

cJSON *target_ledger_json(const struct capture *c, const struct capture_target *t)
{
    struct ledger ledger = {.stored = 0};
    target_ledger(c, t, &ledger);
    cJSON *json = ledger_json(&ledger);
    ledger_fini(&ledger);
    return json;
}

cJSON *capture_ledger_json(const struct capture *c, const struct selector *within)
{
    struct ledger ledger = {.stored = 0};
    for (size_t i = 0; i < c->target_count; i++)
        if (capture_target_seen(c->targets[i], within))
            target_ledger(c, c->targets[i], &ledger);
    cJSON *json = ledger_json(&ledger);
    ledger_fini(&ledger);
    return json;
}

void target_count_losses(const struct capture *c, struct capture_target *t, struct ledger *out)
{
    target_ledger(c, t, out);
    ledger_merge_gaps(out);
    for (size_t i = 0; i < LOSS_REASONS; i++) {
        if (out->events[i] <= t->lost_counted[i])
            continue;
        metrics_add_at(lost_events_total, i, out->events[i] - t->lost_counted[i]);
        t->lost_counted[i] = out->events[i];
    }
    if (out->implausible > 0 && !t->implausible)
        metrics_add(lost_implausible_total, 1);
    t->implausible = out->implausible > 0;
}

void target_counted(struct capture_target *t, const struct catalog_lost *lost)
{
    enum loss_reason reason = loss_parse(lost->reason);
    t->implausible = lost->implausible > 0;
    if (lost->reason[0] == '\0')
        return;
    t->lost_counted[reason] += lost->events;
    t->refused |= reason == LOSS_DISK_FULL;
}
