/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on single long waits and regions: lock_convoy, lock_held, and what nothing else explains,
 * long_call. Entered once, at the end.
 */
#include "trace_report_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONVOY_THREADS 3
#define CONVOY_NS      MS(50)
#define CONVOY_SHARE   0.05 /* of the window, all waiters together */
#define HELD_NS        MS(300)
#define LOCKS_TOLD_MAX 64
#define PROBLEM_NS     MS(500)
#define SERVES_MIN     3 /* waits for whatever comes, before a thread is one that serves */
#define UNDERWAY_NS    MS(500)

/* ---- locks ---- */

struct lock_wait {
    const struct report_span *span;
    uint32_t process;
};

struct convoy { /* of one lock */
    size_t waits, peak, threads;
    uint64_t total_ns, longest_ns;
    uint64_t from_ns, to_ns; /* of the waits around the peak */
    int64_t owner;           /* 0: not known */
    const struct report_span *longest;
};

static int waits_order(const void *a, const void *b)
{
    const struct lock_wait *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->span->object != y->span->object)
        return x->span->object < y->span->object ? -1 : 1;
    return x->span->from_ns < y->span->from_ns ? -1 : x->span->from_ns > y->span->from_ns;
}

/* The holder of a lock by the dump, where the waits do not know it. */
static int64_t dumped_holder(const struct trace_report_builder *b, uint32_t process,
                             uint64_t object)
{
    for (size_t i = 0; i < b->waiter_count; i++)
        if (b->waiters[i].process == process && b->waiters[i].object == object)
            return b->waiters[i].holder;
    return 0;
}

/* Who had it for most of the time that was waited in [from, to]. */
static int64_t owner_of(const struct lock_wait *waits, size_t count, uint64_t from_ns,
                        uint64_t to_ns)
{
    int64_t best = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        int64_t owner = waits[i].span->owner;
        if (owner <= 0 || owner == best)
            continue;
        for (size_t k = 0; k < count && k < 512; k++)
            if (waits[k].span->owner == owner)
                sum += report_overlap(waits[k].span, from_ns, to_ns);
        if (sum <= most)
            continue;
        most = sum;
        best = owner;
    }
    return best;
}

/* How many threads wait while this wait begins. */
static size_t waiters_at(const struct lock_wait *waits, size_t count, size_t at)
{
    size_t n = 0;
    uint64_t when = waits[at].span->from_ns;
    for (size_t i = at + 1; i-- > 0 && at - i < 4096;)
        n += waits[i].span->to_ns > when;
    for (size_t i = at + 1; i < count && waits[i].span->from_ns <= when; i++)
        n++;
    return n;
}

static struct convoy convoy_of(const struct trace_report_builder *b, const struct lock_wait *waits,
                               size_t count)
{
    struct convoy c = {.waits = count};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = waiters_at(waits, count, i);
        c.total_ns += report_span_ns(waits[i].span);
        if (report_span_ns(waits[i].span) >= c.longest_ns) {
            c.longest_ns = report_span_ns(waits[i].span);
            c.longest = waits[i].span;
        }
        if (n > c.peak ||
            (n == c.peak && report_span_ns(waits[i].span) > report_span_ns(waits[at].span))) {
            c.peak = n;
            at = i;
        }
    }
    c.from_ns = c.to_ns = waits[at].span->from_ns;
    for (size_t i = 0; i < count; i++) {
        const struct report_span *s = waits[i].span;
        if (s->from_ns > waits[at].span->from_ns || s->to_ns <= waits[at].span->from_ns)
            continue;
        c.from_ns = s->from_ns < c.from_ns ? s->from_ns : c.from_ns;
        c.to_ns = s->to_ns > c.to_ns ? s->to_ns : c.to_ns;
    }
    c.owner = owner_of(waits, count, c.from_ns, c.to_ns);
    if (c.owner == 0)
        c.owner = dumped_holder(b, waits[0].process, waits[0].span->object);
    return c;
}

/* What the holder was in for most of that time, the innermost. */
static const struct report_span *holder_span(const struct trace_report_builder *b, uint32_t process,
                                             int64_t owner, const struct convoy *c, uint64_t object)
{
    const struct report_span *best = NULL;
    uint64_t most = (c->to_ns - c->from_ns) / 4;
    for (size_t i = 0; i < b->span_count; i++) {
        const struct report_span *s = &b->spans[i];
        const struct skein_thread *t = report_thread_at(b, s->thread);
        uint64_t both = report_overlap(s, c->from_ns, c->to_ns);
        if (t->process != process || (int64_t)t->tid != owner || both < most || both == 0 ||
            (s->object == object && b->types[s->type].lock))
            continue;
        if (best != NULL && both == most && report_span_ns(s) >= report_span_ns(best))
            continue;
        most = both;
        best = s;
    }
    return best;
}

static void convoy_tell(struct trace_report_builder *b, const struct lock_wait *waits,
                        const struct convoy *c)
{
    char who[REPORT_WHO], time[32], holder[TRACE_REPORT_TEXT + 64] = "";
    bool convoy = c->peak >= CONVOY_THREADS;
    bool grave = c->longest_ns >= PROBLEM_NS || report_share(b, c->total_ns) >= 0.5;
    uint32_t process = waits[0].process;
    uint64_t object = waits[0].span->object;
    const struct report_span *held =
        c->owner > 0 ? holder_span(b, process, c->owner, c, object) : NULL;
    struct report_finding *f =
        report_finding_new(b, convoy ? "lock_convoy" : "lock_held",
                           grave ? REPORT_PROBLEM : REPORT_WARNING, report_share(b, c->total_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, held != NULL ? held->thread : c->longest->thread);
    report_stack_set(b, f, held != NULL && held->stack != 0 ? held->stack : c->longest->stack);
    f->region = held != NULL ? report_span_name(b, held) : report_span_name(b, c->longest);
    f->from_ns = c->from_ns;
    f->to_ns = c->to_ns;
    report_number_put(f, "threads", (double)c->peak);
    report_number_put(f, "waits", (double)c->waits);
    report_number_put(f, "waited_ns", (double)c->total_ns);
    report_number_put(f, "longest_ns", (double)c->longest_ns);
    report_number_put(f, "object", (double)object);
    report_number_put(f, "holder_tid", (double)c->owner);
    if (c->owner > 0)
        snprintf(holder, sizeof holder, " held by thread %" PRId64 "%s%.*s%s", c->owner,
                 held != NULL ? " in `" : "", TRACE_REPORT_TEXT,
                 held != NULL ? report_span_name(b, held) : "", held != NULL ? "`" : "");
    report_say(b, f, "%zu thread%s of %s waited for the lock at 0x%" PRIx64 "%s, up to %s", c->peak,
               c->peak == 1 ? "" : "s", report_process_who(b, process, who), object, holder,
               report_time_text(c->longest_ns, time));
}

void report_lock_rules(struct trace_report_builder *b)
{
    struct lock_wait *waits = calloc(b->span_count + 1, sizeof *waits);
    size_t count = 0, told = 0, end;
    if (waits == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < b->span_count; i++)
        if (b->types[b->spans[i].type].lock)
            waits[count++] =
                (struct lock_wait){&b->spans[i], report_thread_at(b, b->spans[i].thread)->process};
    qsort(waits, count, sizeof *waits, waits_order);
    for (size_t i = 0; i < count && b->status == SKEIN_OK; i = end) {
        for (end = i + 1; end < count && waits[end].process == waits[i].process &&
                          waits[end].span->object == waits[i].span->object;
             end++)
            ;
        struct convoy c = convoy_of(b, waits + i, end - i);
        bool convoy = c.peak >= CONVOY_THREADS &&
                      (c.longest_ns >= CONVOY_NS || report_share(b, c.total_ns) >= CONVOY_SHARE);
        if (!convoy && c.longest_ns < HELD_NS)
            continue;
        if (told++ < LOCKS_TOLD_MAX)
            convoy_tell(b, waits + i, &c);
        else
            b->report.totals.findings_left_out++;
    }
    free(waits);
}

/* ---- what nothing else explains ---- */

struct long_call {
    size_t thread; /* the moment's */
    struct moment_span span;
    bool wait;
    uint64_t usual_ns, usual_count;
};

/* The name of a thread in the moment's lists is that thread's alone. */
static size_t moment_thread_of(const struct moment *m, const char *name)
{
    size_t i = 0;
    while (i < m->thread_count && m->threads[i].name != name)
        i++;
    return i;
}

/* Somebody waits for what this thread does: it takes what comes, again and again. */
static bool thread_serves(const struct moment *m, const struct thread *t)
{
    uint64_t taken = 0;
    for (size_t i = 0; i < t->stat_count; i++) {
        const struct label *label = &m->labels[t->stats[i].label];
        bool comes = label->for_anything || strcmp(label->text, "recv") == 0;
        if (strcmp(label->text, "loop") == 0 && label->group == SKEIN_GROUP_APP)
            return true;
        taken += comes && strcmp(label->text, "wait_child") != 0 ? t->stats[i].count : 0;
    }
    return taken >= SERVES_MIN;
}

static bool is_wait(const struct moment *m, const char *name)
{
    for (size_t i = 0; i < m->label_count; i++)
        if (m->labels[i].text == name)
            return m->labels[i].wait;
    return false;
}

/* What fills most of another one's time is told in its place. */
static bool is_filled(const struct long_call *calls, size_t count, size_t at)
{
    const struct moment_span *outer = &calls[at].span;
    for (size_t i = 0; i < count; i++) {
        const struct moment_span *s = &calls[i].span;
        if (i != at && calls[i].thread == calls[at].thread && s->time_ns >= outer->time_ns &&
            s->dur_ns >= outer->dur_ns / 5 * 4 &&
            (s->dur_ns < outer->dur_ns || s->time_ns > outer->time_ns))
            return true;
    }
    return false;
}

/* Another rule has told of this time already. */
static bool is_explained(const struct trace_report_builder *b, const struct long_call *call)
{
    uint32_t thread = report_thread_of(b, call->thread);
    uint32_t process = thread != SKEIN_NONE ? report_thread_at(b, thread)->process : SKEIN_NONE;
    struct report_span span = {.from_ns = call->span.time_ns,
                               .to_ns = call->span.time_ns + call->span.dur_ns};
    bool starved = thread != SKEIN_NONE &&
                   report_starved_ns(b, thread, span.from_ns, span.to_ns) >= call->span.dur_ns / 2;
    for (size_t i = 0; i < b->finding_count; i++) {
        const struct report_finding *f = &b->findings[i];
        if (starved && f->subject.process == process && strcmp(f->rule, "cpu_neighbour") == 0)
            return true;
        if (f->severity > REPORT_NOTE && f->subject.process == process &&
            strcmp(f->rule, "long_call") != 0 &&
            f->to_ns - f->from_ns <= call->span.dur_ns * 4 && /* else it is of all the time */
            report_overlap(&span, f->from_ns, f->to_ns) >= call->span.dur_ns / 2)
            return true;
    }
    return false;
}

/* Where the call itself was, though that is nothing unusual: the innermost that fills most of it, of
 * the longest of each name. */
static void call_narrow(const struct moment *m, struct long_call *call)
{
    const struct thread *t = &m->threads[call->thread];
    const struct moment_span outer = call->span;
    for (size_t i = 0; i < t->stat_count; i++)
        for (size_t k = 0; k < TOP && t->stats[i].top[k].name != NULL; k++) {
            const struct moment_span *s = &t->stats[i].top[k];
            if (!m->labels[t->stats[i].label].hidden && s->time_ns >= outer.time_ns &&
                s->time_ns + s->dur_ns <= outer.time_ns + outer.dur_ns &&
                s->dur_ns >= outer.dur_ns / 5 * 4 && s->dur_ns < call->span.dur_ns)
                *call = (struct long_call){call->thread, *s, is_wait(m, s->name), 0, 0};
        }
}

static void long_tell(struct trace_report_builder *b, const struct long_call *call)
{
    const struct moment *m = b->moment;
    const struct thread *t = &m->threads[call->thread];
    char who[REPORT_WHO], time[32], usual[32], usually[80] = "";
    uint32_t thread = report_thread_of(b, call->thread);
    bool serves = thread_serves(m, t);
    enum report_severity severity = !serves                           ? REPORT_NOTE
                                    : call->span.dur_ns >= PROBLEM_NS ? REPORT_PROBLEM
                                                                      : REPORT_WARNING;
    if (thread == SKEIN_NONE)
        return;
    struct report_finding *f =
        report_finding_new(b, "long_call", severity, report_share(b, call->span.dur_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, thread);
    report_stack_set(b, f, call->span.stack);
    f->region = call->span.name;
    f->from_ns = call->span.time_ns;
    f->to_ns = call->span.time_ns + call->span.dur_ns;
    report_number_put(f, "dur_ns", (double)call->span.dur_ns);
    report_number_put(f, "usual_ns", (double)call->usual_ns);
    report_number_put(f, "usual_count", (double)call->usual_count);
    if (call->usual_count > 0)
        snprintf(usually, sizeof usually, "; %s%" PRIu64 " others took less than %s",
                 call->usual_count > 1 ? "nearly all " : "", call->usual_count,
                 report_time_text(call->usual_ns, usual));
    report_say(b, f, "%s was %s`%.*s` for %s%s%s", report_who(b, thread, who),
               call->wait ? "in " : "busy in ", TRACE_REPORT_TEXT, call->span.name,
               call->span.open ? "at least " : "", report_time_text(call->span.dur_ns, time),
               usually);
}

/* A worker that has waited for work since long: of one that serves nobody, that is nothing. */
static bool waits_for_its_turn(const struct trace_report_builder *b, size_t thread,
                               const struct moment_span *span)
{
    const struct moment *m = b->moment;
    for (size_t i = 0; i < m->label_count && thread < m->thread_count; i++)
        if (m->labels[i].text == span->name)
            return m->labels[i].own_time && !span->at_work &&
                   !thread_serves(m, &m->threads[thread]);
    return false;
}

void report_long_rules(struct trace_report_builder *b)
{
    const struct moment_list *list = b->report.moment;
    struct long_call *calls = calloc(list->unusual_count + list->inside_count + 1, sizeof *calls);
    size_t count = 0;
    if (calls == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < list->unusual_count; i++) {
        const struct moment_unusual *u = &list->unusual[i];
        if (u->span.dur_ns >= MS(100))
            calls[count++] =
                (struct long_call){moment_thread_of(b->moment, u->thread.name), u->span,
                                   is_wait(b->moment, u->span.name), u->usual_ns, u->usual_count};
    }
    for (size_t i = 0; i < list->inside_count; i++) {
        const struct moment_span *span = &list->inside[i].spans[list->inside[i].count - 1];
        size_t thread = moment_thread_of(b->moment, list->inside[i].thread.name);
        bool known =
            !span->open || span->dur_ns < UNDERWAY_NS || waits_for_its_turn(b, thread, span);
        for (size_t k = 0; k < count && !known; k++)
            known = calls[k].thread == thread && calls[k].span.time_ns == span->time_ns &&
                    calls[k].span.name == span->name;
        if (!known)
            calls[count++] =
                (struct long_call){thread, *span, is_wait(b->moment, span->name), 0, 0};
    }
    for (size_t i = 0; i < count && b->status == SKEIN_OK; i++)
        if (calls[i].thread < b->moment->thread_count &&
            !b->moment->threads[calls[i].thread].stands_in && !is_filled(calls, count, i) &&
            !is_explained(b, &calls[i])) {
            call_narrow(b->moment, &calls[i]);
            long_tell(b, &calls[i]);
        }
    free(calls);
}
