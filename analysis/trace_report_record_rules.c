/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on what ended or held a process as a whole, and on what the record itself lacks: crash,
 * held_back, deadlock, clock_step, lost_partition, lost_records. Entered once, at the end.
 */
#include "linux_names.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_NS    MS(100)
#define STEP_NS    50000000
#define CIRCLE_MAX 16 /* threads that a sentence names */

/* ---- how a process ended ---- */

/* The fault that its own handler was called for, where it died in that: there the cause lies. */
static const struct report_crash *crash_of(const struct trace_report_builder *b, uint32_t process)
{
    const struct report_crash *found = NULL;
    for (size_t i = 0; i < b->crash_count; i++)
        if (b->crashes[i].process == process && (found == NULL || b->crashes[i].handled))
            found = &b->crashes[i];
    return found;
}

/* Signals by which somebody ends a process that has done nothing wrong. */
static bool is_asked_for(int32_t signal)
{
    return signal == 1 || signal == 2 || signal == 15;
}

static void crash_tell(struct trace_report_builder *b, uint32_t process, int32_t signal)
{
    char who[REPORT_WHO], by[32];
    const struct report_crash *crash = crash_of(b, process);
    struct report_finding *f =
        report_finding_new(b, "crash", is_asked_for(signal) ? REPORT_NOTE : REPORT_PROBLEM, 1);
    if (f == NULL)
        return;
    report_process_set(b, f, process);
    if (crash != NULL && crash->thread != SKEIN_NONE)
        report_thread_set(b, f, crash->thread);
    if (crash != NULL)
        report_stack_set(b, f, crash->stack);
    f->from_ns = f->to_ns = crash != NULL ? crash->at_ns : b->processes[process].last_ns;
    snprintf(by, sizeof by, "signal %" PRId32, signal);
    const char *name = linux_signal_name(signal);
    if (name != NULL)
        snprintf(by, sizeof by, "%s", name);
    report_number_put(f, "signal", signal);
    report_say(b, f, "%s died of %s%s%.*s", report_process_who(b, process, who), by,
               f->frame_count > 0 ? " in " : "", TRACE_REPORT_TEXT,
               f->frame_count > 0 ? f->frames[0] : "");
}

static void deaths_tell(struct trace_report_builder *b)
{
    for (uint32_t i = 0; i < skein_trace_process_count(b->trace) && i < b->process_count; i++) {
        const struct skein_process *p = skein_trace_process(b->trace, i);
        const struct report_crash *crash = crash_of(b, i);
        int32_t signal = p->death.known && p->death.signal != 0 ? p->death.signal
                         : crash != NULL                        ? (int32_t)crash->signal
                                                                : 0;
        if (b->processes[i].moment >= 0 && signal > 0)
            crash_tell(b, i, signal);
    }
}

/* ---- held back ---- */

static uint32_t process_of_pid(const struct trace_report_builder *b, uint32_t pid, const char *host)
{
    for (uint32_t i = 0; i < skein_trace_process_count(b->trace); i++) {
        const struct skein_process *p = skein_trace_process(b->trace, i);
        if (p->pid == pid && strcmp(p->host, host) == 0)
            return i;
    }
    return SKEIN_NONE;
}

/* The longest time of each state of a process. */
static bool state_is_longest(const struct vitals_list *list, size_t at)
{
    const struct vitals_state *s = &list->states[at];
    for (size_t i = 0; i < list->state_count; i++) {
        const struct vitals_state *o = &list->states[i];
        if (i != at && o->of.pid == s->of.pid && strcmp(o->of.host, s->of.host) == 0 &&
            strcmp(o->state, s->state) == 0 &&
            (o->lasted_least_ns > s->lasted_least_ns ||
             (o->lasted_least_ns == s->lasted_least_ns && i < at)))
            return false;
    }
    return true;
}

static void states_tell(struct trace_report_builder *b)
{
    const struct vitals_list *list = b->vitals_list;
    char who[REPORT_WHO], time[32];
    for (size_t i = 0; i < list->state_count; i++) {
        const struct vitals_state *s = &list->states[i];
        uint32_t process = process_of_pid(b, s->of.pid, s->of.host);
        bool throttled = strcmp(s->state, "throttled") == 0;
        if (strcmp(s->state, "free") == 0 || process == SKEIN_NONE || !state_is_longest(list, i) ||
            s->lasted_least_ns < HELD_NS)
            continue;
        struct report_finding *f =
            report_finding_new(b, "held_back", throttled ? REPORT_WARNING : REPORT_PROBLEM,
                               (double)s->lasted_least_ns / (double)report_window_ns(b));
        if (f == NULL)
            return;
        report_process_set(b, f, process);
        f->from_ns = s->at_ns > s->at_least_ns ? s->at_ns - s->at_least_ns : 0;
        f->to_ns = f->from_ns + s->lasted_least_ns;
        report_number_put(f, "at_least_ns", (double)s->lasted_least_ns);
        if (s->lasted_most_ns != 0)
            report_number_put(f, "at_most_ns", (double)s->lasted_most_ns);
        report_say(b, f, "%s was %.*s for at least %s", report_process_who(b, process, who), 40,
                   s->state, report_time_text(s->lasted_least_ns, time));
    }
}

/* ---- deadlock ---- */

/* Dumps of a process are some seconds apart; a circle is of one of them. */
static uint32_t holder_of(const struct trace_report_builder *b, const struct report_waiter *like,
                          uint32_t tid)
{
    for (size_t i = 0; i < b->waiter_count; i++) {
        const struct report_waiter *w = &b->waiters[i];
        uint64_t apart = w->at_ns > like->at_ns ? w->at_ns - like->at_ns : like->at_ns - w->at_ns;
        if (w->process == like->process && w->tid == tid && apart < MS(1000))
            return w->holder;
    }
    return 0;
}

static bool circle_told(const struct trace_report_builder *b, uint32_t process, uint32_t tid)
{
    for (size_t i = 0; i < b->finding_count; i++)
        if (strcmp(b->findings[i].rule, "deadlock") == 0 &&
            b->findings[i].subject.process == process && b->findings[i].subject.tid == tid)
            return true;
    return false;
}

static void circle_tell(struct trace_report_builder *b, const struct report_waiter *w, size_t count)
{
    char who[REPORT_WHO], names[CIRCLE_MAX * 12 + 8] = "";
    uint32_t tid = w->tid;
    struct report_finding *f = report_finding_new(b, "deadlock", REPORT_PROBLEM, 1);
    if (f == NULL)
        return;
    report_process_set(b, f, w->process);
    f->subject.tid = w->tid;
    f->from_ns = f->to_ns = w->at_ns;
    for (size_t i = 0, n = 0; i < count && i < CIRCLE_MAX; i++, tid = holder_of(b, w, tid))
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%" PRIu32, i > 0 ? ", " : "", tid);
    report_number_put(f, "threads", (double)count);
    report_say(b, f, "deadlock: %zu threads of %s wait for each other in a circle: %s%s", count,
               report_process_who(b, w->process, who), names, count > CIRCLE_MAX ? ", ..." : "");
}

static void circles_tell(struct trace_report_builder *b)
{
    for (size_t i = 0; i < b->waiter_count && b->status == SKEIN_OK; i++) {
        const struct report_waiter *w = &b->waiters[i];
        uint32_t at = w->holder;
        size_t steps = 1;
        for (; at > w->tid && steps < 1000; steps++) /* told from its lowest number */
            at = holder_of(b, w, at);
        if (at != 0 && at == w->tid && !circle_told(b, w->process, w->tid))
            circle_tell(b, w, steps);
    }
}

void report_death_rules(struct trace_report_builder *b)
{
    deaths_tell(b);
    states_tell(b);
    circles_tell(b);
}

/* ---- clock step ---- */

/* The clock that times are told by, against the host's monotonic one. */
static bool clock_at(const struct skein_partition *p, bool end, int64_t *ahead_ns)
{
    *ahead_ns = (int64_t)(p->collector_ns[end] - p->monotonic_ns[end]);
    return p->monotonic_ns[end] != 0 && p->collector_ns[end] != 0;
}

static void step_tell(struct trace_report_builder *b, const struct skein_partition *before,
                      const struct skein_partition *after, int64_t step_ns)
{
    char who[REPORT_WHO], time[32];
    struct report_finding *f = report_finding_new(b, "clock_step", REPORT_WARNING, 1);
    if (f == NULL)
        return;
    report_process_set(b, f, after->process);
    f->from_ns = before->to_ns < after->from_ns ? before->to_ns : after->from_ns;
    f->to_ns = after->from_ns > before->to_ns ? after->from_ns : before->to_ns;
    report_number_put(f, "step_ns", (double)step_ns);
    report_say(b, f,
               "the clock of %.*s stepped %s by %s, as cuts of %s show: times before and after it "
               "do not compare",
               TRACE_REPORT_TEXT, f->subject.host, step_ns < 0 ? "back" : "forward",
               report_time_text((uint64_t)llabs(step_ns), time),
               report_process_who(b, after->process, who));
}

/* One step a host: its other processes show the same. */
static bool step_told(const struct trace_report_builder *b, const char *host, int64_t step_ns)
{
    for (size_t i = 0; i < b->finding_count; i++)
        if (strcmp(b->findings[i].rule, "clock_step") == 0 &&
            strcmp(b->findings[i].subject.host, host) == 0 &&
            fabs(b->findings[i].numbers[0].value - (double)step_ns) < STEP_NS)
            return true;
    return false;
}

static void pair_judge(struct trace_report_builder *b, const struct skein_partition *x, bool x_end,
                       const struct skein_partition *y, bool y_end)
{
    int64_t before, after;
    if (!clock_at(x, x_end, &before) || !clock_at(y, y_end, &after))
        return;
    int64_t step_ns = (int64_t)((uint64_t)after - (uint64_t)before);
    const char *host = skein_trace_process(b->trace, y->process)->host;
    if (step_ns != INT64_MIN && llabs(step_ns) >= STEP_NS && !step_told(b, host, step_ns))
        step_tell(b, x, y, step_ns);
}

static void clocks_tell(struct trace_report_builder *b)
{
    const struct skein_partition *before = NULL;
    uint32_t count = skein_trace_partition_count(b->trace);
    for (uint32_t i = 0; i < count && b->status == SKEIN_OK; i++) {
        const struct skein_partition *p = skein_trace_partition(b->trace, i);
        if (p->evidence)
            continue;
        if (before != NULL && before->process == p->process)
            pair_judge(b, before, true, p, false);
        pair_judge(b, p, false, p, true);
        before = p;
    }
}

/* ---- gaps and losses ---- */

static void gap_tell(struct trace_report_builder *b, const struct report_gap *gap, double impact)
{
    static const char *const reasons[] = {[SKEIN_GAP_BROKEN] = "cannot be read",
                                          [SKEIN_GAP_MISSING] = "is missing",
                                          [SKEIN_GAP_TORN] = "is torn"};
    char who[REPORT_WHO] = "a process that nobody knows", time[32];
    struct report_finding *f = report_finding_new(b, "lost_partition", REPORT_WARNING, impact);
    if (f == NULL)
        return;
    if (gap->process != SKEIN_NONE) {
        report_process_set(b, f, gap->process);
        report_process_who(b, gap->process, who);
    }
    f->from_ns = gap->from_ns;
    f->to_ns = gap->to_ns;
    uint64_t ns = gap->to_ns > gap->from_ns ? gap->to_ns - gap->from_ns : 0;
    report_number_put(f, "lost_ns", (double)ns);
    report_number_put(f, "bytes", (double)gap->bytes);
    const char *reason = gap->reason <= SKEIN_GAP_TORN && gap->reason >= SKEIN_GAP_BROKEN
                             ? reasons[gap->reason]
                             : "is not there";
    if (gap->evidence)
        report_say(b, f, "what the agent saw of %s beside its record %s, for %s", who, reason,
                   report_time_text(ns, time));
    else if (ns > 0)
        report_say(b, f, "a part of the record of %s %s: what it did in %s cannot be known", who,
                   reason, report_time_text(ns, time));
    else
        report_say(b, f, "a part of the record of %s %s (%.*s)", who, reason, TRACE_REPORT_TEXT,
                   gap->what);
}

static void loss_tell(struct trace_report_builder *b, const struct report_loss *loss)
{
    static const char *const expected[] = {"overwritten", "name"};
    const char *text = skein_loss_text(loss->reason);
    char who[REPORT_WHO] = "a process that nobody knows";
    bool usual = false;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        usual |= strcmp(text, expected[i]) == 0;
    double share = (double)(loss->to_ns - loss->from_ns) / (double)report_window_ns(b);
    struct report_finding *f =
        report_finding_new(b, "lost_records", usual ? REPORT_NOTE : REPORT_WARNING, share);
    if (f == NULL)
        return;
    if (loss->process != SKEIN_NONE) {
        report_process_set(b, f, loss->process);
        report_process_who(b, loss->process, who);
    }
    f->from_ns = loss->from_ns;
    f->to_ns = loss->to_ns;
    report_number_put(f, "records", (double)loss->records);
    report_number_put(f, "places", (double)loss->places);
    if (loss->records > 0)
        report_say(b, f, "%" PRIu64 " records of %s are lost (%s), in %" PRIu64 " place%s",
                   loss->records, who, text, loss->places, loss->places == 1 ? "" : "s");
    else
        report_say(b, f,
                   "records of %s are lost (%s), nobody knows how many, in %" PRIu64 " place%s",
                   who, text, loss->places, loss->places == 1 ? "" : "s");
}

void report_record_rules(struct trace_report_builder *b)
{
    clocks_tell(b);
    for (size_t i = 0; i < b->gap_count && b->status == SKEIN_OK; i++) {
        const struct report_gap *gap = &b->gaps[i];
        double lost = gap->to_ns > gap->from_ns ? (double)(gap->to_ns - gap->from_ns) : 0;
        gap_tell(b, gap, lost / (double)report_window_ns(b));
    }
    for (size_t i = 0; i < b->loss_count && b->status == SKEIN_OK; i++)
        loss_tell(b, &b->losses[i]);
}
