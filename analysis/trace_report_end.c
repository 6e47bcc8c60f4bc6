/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the end of a report: has the rules speak, ranks what they say, and has the words that all rules
 * use. Entered once, by the thread that gathered.
 */
#include "array.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Causes before symptoms. docs/analysis.md has the same rows; a test compares. */
static const struct report_rule rules[] = {
    {"crash", "the process's end; crash evidence names thread and stack", "it died of a signal",
     "a signal that was meant to end it", 950},
    {"held_back", "vitals", "stopped, traced, frozen or throttled for 100 ms or more",
     "somebody stopped it on purpose, as a debugger does", 940},
    {"deadlock", "a thread dump", "threads wait for each other in a circle",
     "locks with a time limit: it lasts as long as that", 930},
    {"clock_step", "two partitions of one host",
     "its wall clock moved against its monotonic clock by 50 ms or more between two cuts",
     "a guess at the collector's clock that got better", 920},
    {"lost_partition", "the trace itself",
     "a partition is broken or missing, or bytes belong to none",
     "a partition that was left out on purpose", 910},
    {"lost_records", "the trace itself", "records are missing inside the window",
     "they told of nothing that matters here", 300},
    {"descriptors_exhausted", "failed calls", "a call found no free descriptor (EMFILE, ENFILE)",
     "a program that tries for all it can have", 880},
    {"slow_disk", "waits of the group io; fsync, or descriptors that evidence says are files",
     "one of 100 ms, or 5 % of the window in ones of 20 ms on average; or a disk's await is 100 ms "
     "and its queue 4",
     "a file system that waits for something else than its disk, as for a network", 870},
    {"lock_convoy", "waits for locks",
     "3 threads or more waited for one lock at once, for 50 ms or 5 % of the window",
     "the holder is who had it when the wait began; others may have had it meanwhile", 875},
    {"lock_held", "waits for locks", "1 or 2 threads waited for one lock for 300 ms or more",
     "the holder is who had it when the wait began; others may have had it meanwhile", 855},
    {"cpu_neighbour", "scheduling, or vitals",
     "ready without a CPU for 20 % of the time, or a hypervisor took 20 %",
     "it competes with itself: threads of its own had the CPUs", 850},
    {"database_wait", "a thread dump of a process whose title says what it does",
     "the title says that it waits", "a title that says so without being one", 845},
    {"retry_storm", "calls with results",
     "20 failures, half of the calls, twice as many at the end",
     "failures that were expected, as of a probe", 840},
    {"held_by_one", "records of two threads or more of a process",
     "all that were busy stood still, for 50 ms and 5 times as long as usual, while one wait of one "
     "of them lasted just as long",
     "two things that took equally long by chance", 835},
    {"stopped_together", "records of two threads or more of a process",
     "all that were busy stopped and went on together, for 50 ms and 5 times as long as usual",
     "threads that wait for one of them, which itself stood still", 830},
    {"cold_cache", "the process's start, and regions",
     "at most 60 s old; regions took 3 times as long at first, with more reads",
     "work that was harder at first", 820},
    {"slow_one", "regions of three or more processes of a service, or threads of a name",
     "the median of one is 4 times that of the others, and 1 ms or more",
     "it has harder work than the others", 810},
    {"queue_growth", "counters",
     "it rises through the window to 4 times its begin, and falls in between; or it is called a queue",
     "a counter that goes up and down and is no queue", 800},
    {"long_call", "regions and waits",
     "100 ms, and 10 times as long as 99 in 100 of its name; or still open after 500 ms",
     "work that is meant to take long", 500},
};

const struct report_rule *trace_report_rules(size_t *count)
{
    *count = sizeof rules / sizeof *rules;
    return rules;
}

const char *report_severity_text(enum report_severity severity)
{
    return severity == REPORT_PROBLEM ? "problem" : severity == REPORT_WARNING ? "warning" : "note";
}

/* ---- words ---- */

struct report_finding *report_finding_new(struct trace_report_builder *b, const char *rule,
                                          enum report_severity severity, double impact)
{
    const struct report_rule *r = NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, rule) == 0)
            r = &rules[i];
    if (b->status != SKEIN_OK || r == NULL ||
        !array_grow(b->findings, b->finding_count + 1, &b->finding_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    impact = impact > 0 ? impact < 1 ? impact : 1 : 0;
    struct report_finding *f = &b->findings[b->finding_count++];
    *f = (struct report_finding){.rule = r->name,
                                 .severity = severity,
                                 .score = (int)severity * 1000.0 + r->rank + impact * 9,
                                 .sentence = "",
                                 .subject = {.process = SKEIN_NONE,
                                             .thread = SKEIN_NONE,
                                             .service = "",
                                             .host = "",
                                             .thread_name = ""},
                                 .region = ""};
    return f;
}

void report_say(struct trace_report_builder *b, struct report_finding *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (text == NULL || !array_grow(b->texts, b->text_count + 1, &b->text_cap)) {
        free(text);
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    va_start(list, format);
    (void)vsnprintf(text, (size_t)n + 1, format, list);
    va_end(list);
    b->texts[b->text_count++] = text;
    f->sentence = text;
}

void report_number_put(struct report_finding *f, const char *name, double value)
{
    if (f->number_count < TRACE_REPORT_NUMBERS)
        f->numbers[f->number_count++] = (struct report_number){name, value};
}

void report_process_set(struct trace_report_builder *b, struct report_finding *f, uint32_t process)
{
    const struct skein_process *p = skein_trace_process(b->trace, process);
    f->subject.process = process;
    f->subject.pid = p->pid;
    f->subject.service = p->service;
    f->subject.host = p->host;
}

void report_thread_set(struct trace_report_builder *b, struct report_finding *f, uint32_t thread)
{
    const struct skein_thread *t = skein_trace_thread(b->trace, thread);
    report_process_set(b, f, t->process);
    f->subject.thread = thread;
    f->subject.tid = t->tid;
    f->subject.thread_name = t->name;
}

void report_stack_set(struct trace_report_builder *b, struct report_finding *f, uint32_t stack)
{
    if (stack == 0 || stack > b->stacks.count)
        return;
    const uint8_t *at = intern_table_bytes(&b->stacks, stack - 1);
    const uint8_t *end = at + b->stacks.entries[stack - 1].len;
    f->frames_left_out = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    f->frame_count = 0;
    for (at += 4; at < end && f->frame_count < TRACE_REPORT_FRAMES;
         at += strlen((const char *)at) + 1)
        f->frames[f->frame_count++] = (const char *)at;
}

const char *report_time_text(uint64_t ns, char to[32])
{
    if (ns < 1000)
        snprintf(to, 32, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        snprintf(to, 32, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(to, 32, "%.1f ms", (double)ns / 1e6);
    else
        snprintf(to, 32, "%.1f s", (double)ns / 1e9);
    return to;
}

/* Traces of other tools may name no host. */
static const char *before_host(const struct skein_process *process)
{
    return process->host[0] != '\0' ? " on " : "";
}

const char *report_process_who(const struct trace_report_builder *b, uint32_t process,
                               char to[REPORT_WHO])
{
    const struct skein_process *p = skein_trace_process(b->trace, process);
    snprintf(to, REPORT_WHO, "%.*s[%" PRIu32 "]%s%.*s", TRACE_REPORT_TEXT, p->service, p->pid,
             before_host(p), TRACE_REPORT_TEXT, p->host);
    return to;
}

const char *report_who(const struct trace_report_builder *b, uint32_t thread, char to[REPORT_WHO])
{
    const struct skein_thread *t = skein_trace_thread(b->trace, thread);
    const struct skein_process *p = skein_trace_process(b->trace, t->process);
    if (t->tid == p->pid)
        snprintf(to, REPORT_WHO, "the main thread of %.*s[%" PRIu32 "]%s%.*s",
                 TRACE_REPORT_TEXT - 30, p->service, p->pid, before_host(p), TRACE_REPORT_TEXT - 30,
                 p->host);
    else
        snprintf(to, REPORT_WHO, "thread %.*s/%" PRIu32 " of %.*s[%" PRIu32 "]%s%.*s", 60, t->name,
                 t->tid, TRACE_REPORT_TEXT - 30, p->service, p->pid, before_host(p),
                 TRACE_REPORT_TEXT - 30, p->host);
    return to;
}

uint64_t report_window_ns(const struct trace_report_builder *b)
{
    return b->report.to_ns > b->report.from_ns ? b->report.to_ns - b->report.from_ns : 1;
}

uint32_t report_thread_of(const struct trace_report_builder *b, size_t moment_thread)
{
    for (size_t i = 0; i < b->actor_count; i++)
        if (b->actors[i].moment == (int64_t)moment_thread)
            return (uint32_t)i;
    return SKEIN_NONE;
}

/* ---- the end ---- */

static void gaps_make(struct trace_report_builder *b, const struct skein_cursor *cursor)
{
    const struct skein_gap *gaps;
    size_t count = cursor != NULL ? skein_cursor_gaps(cursor, &gaps) : 0;
    b->gaps = calloc(count + 1, sizeof *b->gaps);
    if (b->gaps == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct skein_partition *p = gaps[i].partition != SKEIN_NONE
                                              ? skein_trace_partition(b->trace, gaps[i].partition)
                                              : NULL;
        b->gaps[b->gap_count++] =
            (struct report_gap){.reason = gaps[i].reason,
                                .process = gaps[i].process,
                                .from_ns = gaps[i].from_ns,
                                .to_ns = gaps[i].to_ns,
                                .bytes = gaps[i].bytes,
                                .evidence = p != NULL && p->evidence,
                                .what = gaps[i].what != NULL ? gaps[i].what : ""};
    }
}

static int findings_order(const void *a, const void *b)
{
    const struct report_finding *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return strcmp(x->sentence, y->sentence);
}

/* What had not ended has no stack of its own: the dump's, taken in that time. */
static void stacks_complete(struct trace_report_builder *b)
{
    for (size_t i = 0; i < b->finding_count; i++) {
        struct report_finding *f = &b->findings[i];
        for (size_t k = 0; k < b->state_count && f->frame_count == 0 && f->subject.tid != 0; k++) {
            const struct report_state *state = &b->states[k];
            if (state->process == f->subject.process && state->tid == f->subject.tid &&
                state->at_ns >= f->from_ns && state->at_ns <= f->to_ns)
                report_stack_set(b, f, state->stack);
        }
    }
}

/* A finding of another time is none of what was asked: gaps, clocks, ends and what the agent told may
 * be of the whole trace. */
static void outside_drop(struct trace_report_builder *b)
{
    uint64_t from_ns = b->limits.from_ns;
    uint64_t to_ns = b->limits.to_ns != 0 ? b->limits.to_ns : UINT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < b->finding_count; i++) {
        const struct report_finding *f = &b->findings[i];
        if (f->to_ns == 0 || (f->to_ns >= from_ns && f->from_ns <= to_ns))
            b->findings[kept++] = *f;
    }
    b->report.totals.findings_outside += b->finding_count - kept;
    b->finding_count = kept;
}

static void rules_apply(struct trace_report_builder *b)
{
    static void (*const apply[])(struct trace_report_builder *) = {
        report_death_rules, report_record_rules, report_lock_rules,
        report_disk_rules,  report_cpu_rules,    report_call_rules,
        report_peer_rules,  report_trend_rules,  report_long_rules};
    for (size_t i = 0; i < sizeof apply / sizeof *apply && b->status == SKEIN_OK; i++)
        apply[i](b);
    stacks_complete(b);
    outside_drop(b);
    if (b->finding_count > 0)
        qsort(b->findings, b->finding_count, sizeof *b->findings, findings_order);
    b->report.findings = b->findings;
    b->report.finding_count =
        b->finding_count < b->limits.findings ? b->finding_count : b->limits.findings;
    b->report.totals.findings_left_out += b->finding_count - b->report.finding_count;
}

static void deaths_put(struct trace_report_builder *b)
{
    for (size_t i = 0; i < b->process_count && b->status == SKEIN_OK; i++) {
        const struct skein_process *p = skein_trace_process(b->trace, (uint32_t)i);
        if (b->processes[i].moment >= 0 && p->death.known)
            b->status = moment_death_put(b->moment, (size_t)b->processes[i].moment, p->death.signal,
                                         p->death.status);
    }
}

int trace_report_end(struct trace_report_builder *b, struct skein_trace *trace,
                     const struct skein_cursor *cursor, const struct trace_report **report)
{
    struct report_totals *totals = &b->report.totals;
    b->trace = trace;
    *report = &b->report;
    deaths_put(b);
    if (b->status == SKEIN_OK)
        b->status = moment_end(b->moment, b->limits.rows, &b->report.moment);
    if (b->status == SKEIN_OK)
        b->status = vitals_table_end(b->vitals, &b->vitals_list);
    if (b->status != SKEIN_OK)
        return b->status;
    gaps_make(b, cursor);
    if (b->report.to_ns == 0 && totals->rows > 0) { /* evidence alone */
        b->report.from_ns = b->from_ns;
        b->report.to_ns = b->to_ns;
    }
    totals->processes = skein_trace_process_count(trace);
    totals->partitions = skein_trace_partition_count(trace);
    totals->fixed_up = cursor != NULL ? skein_cursor_fixed_up(cursor) : 0;
    totals->unordered = cursor != NULL ? skein_cursor_unordered(cursor) : 0;
    if (b->status == SKEIN_OK)
        rules_apply(b);
    if (b->status == SKEIN_OK)
        b->status = report_tables_make(b, trace, cursor);
    b->report.gaps = b->gaps;
    b->report.gap_count = b->gap_count;
    b->report.losses = b->losses;
    b->report.loss_count = b->loss_count;
    return b->status;
}
