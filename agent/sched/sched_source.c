/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_source.h. A capture is told in this order: threads from /proc, then the kernel's
 * records, so that a thread that has none was all the time in the state that /proc saw.
 */
#include "sched_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "log.h"
#include "proc_info.h"
#include "sched_instance.h"
#include "sched_keep.h"
#include "sched_threads.h"
#include "sched_types.h"
#include "sched_walk.h"

#define MEMORY_PART   64  /* all CPUs' buffers together take at most this part of the memory */
#define SPAN_BYTES    200 /* of evidence_out, about, with what it interns */
#define NEIGHBOURS    10
#define LOOK_UP_MAX   1024 /* threads whose process is looked up */
#define REFUSED_BYTES 128

struct sched_source {
    struct sched_instance *instance; /* NULL: refused */
    struct sched_keep keep;
    char refused[REFUSED_BYTES];
};

/* Of one call of collect. */
struct telling {
    struct sched_source *source;
    const struct evidence_ask *ask;
    struct evidence_out *out;
    int64_t types[SCHED_TYPES];
    bool ended; /* the process had: nobody says which threads were its own */
    struct sched_thread *threads;
    size_t thread_count;
    struct sched_timeline *timeline;
    struct sched_walk walk;
    struct sched_span *spans; /* a circle: the newest span_max */
    size_t span_max;
    uint64_t span_count;     /* of all that were given */
    uint64_t left_out_to_ns; /* the end of the last that was left out */
    uint64_t known_ns;       /* how much of the window is known */
};

/* ---- beginning and end ---- */

static uint64_t buffer_kib(uint64_t wanted)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    uint64_t most = memory / MEMORY_PART / (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    return wanted < most ? wanted : most;
}

static int recording_begin(struct sched_source *s, const struct sched_settings *settings)
{
    const char *root = settings->tracefs != NULL ? settings->tracefs : SCHED_TRACEFS;
    uint64_t kib = buffer_kib(settings->buffer_kib);
    if (settings->buffer_kib == 0) {
        snprintf(s->refused, sizeof s->refused, EVIDENCE_OFF "sched.buffer_kib is 0");
        return SKEIN_OK;
    }
    if (!sched_tids_are_ours()) {
        snprintf(s->refused, sizeof s->refused,
                 "the agent is in a pid namespace of its own; run it in the host's");
        return SKEIN_OK;
    }
    if (sched_instance_open(root, kib, &s->instance, s->refused, sizeof s->refused) != SKEIN_OK)
        return SKEIN_OK;
    int status = sched_keep_init(
        &s->keep, sched_instance_shape(s->instance), sched_instance_cpus(s->instance),
        (size_t)sched_instance_kib(s->instance) * 1024, sched_instance_since_ns(s->instance));
    if (status == SKEIN_OK)
        log_info("sched", "records the scheduler", "folder", sched_instance_folder(s->instance),
                 "kib_each_cpu", log_fmt("%" PRIu64, sched_instance_kib(s->instance)), "wished",
                 log_fmt("%" PRIu64, settings->buffer_kib), NULL);
    return status;
}

int sched_source_new(const struct sched_settings *settings, struct sched_source **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    int status = recording_begin(*out, settings);
    if (status != SKEIN_OK)
        sched_source_free(out);
    else if ((*out)->refused[0] != '\0')
        log_info("sched", "does not record the scheduler", "reason", (*out)->refused, NULL);
    return status;
}

void sched_source_free(struct sched_source **source)
{
    if (*source == NULL)
        return;
    sched_instance_close(&(*source)->instance);
    sched_keep_fini(&(*source)->keep);
    free(*source);
    *source = NULL;
}

const char *sched_source_refused(const struct sched_source *source)
{
    return source->refused;
}

/* ---- without records ---- */

static bool sums_tell(struct telling *t)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    bool told = false;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct sched_thread *thread = &t->threads[i];
        struct sched_totals sums;
        if (sched_totals_read(t->ask->process->pid, thread->tid, &sums) != SKEIN_OK)
            continue;
        const uint64_t numbers[] = {sums.run_ns, sums.runnable_ns, sums.runs, sums.gave_way,
                                    sums.preempted};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            values[k] = (struct partition_value){.u64 = numbers[k]};
        int64_t on = evidence_thread(t->out, thread->tid, thread->comm);
        told |=
            evidence_event(t->out, on, t->types[SCHED_TYPE_SUMS], clock_monotonic_ns(), 0, values);
    }
    return told;
}

/* ---- records ---- */

struct taking {
    struct telling *telling;
    uint32_t cpu;
    uint64_t deadline_ns;
    int status;
};

static bool page_take(void *context, const uint8_t *page, size_t n)
{
    struct taking *taking = context;
    taking->status = sched_keep_page(&taking->telling->source->keep, taking->cpu, page, n);
    if (taking->status == SKEIN_OK && clock_monotonic_ns() >= taking->deadline_ns)
        taking->status = SKEIN_TIMEOUT;
    return taking->status == SKEIN_OK;
}

/* Takes what the kernel has, in half of the time; what it leaves there, the next capture finds, and
 * what is known ends there. SKEIN_OK, SKEIN_IO, SKEIN_NO_MEMORY, SKEIN_TIMEOUT. */
static int records_take(struct telling *t)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct sched_keep *keep = &t->source->keep;
    struct taking taking = {.telling = t, .deadline_ns = now_ns};
    if (t->ask->deadline_ns > now_ns)
        taking.deadline_ns += (t->ask->deadline_ns - now_ns) / 2;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && taking.cpu < keep->count) {
        status = sched_instance_read(t->source->instance, taking.cpu, page_take, &taking);
        if (status == SKEIN_OK)
            status = taking.status;
        taking.cpu += status == SKEIN_OK;
    }
    for (uint32_t cpu = taking.cpu; cpu < keep->count; cpu++)
        if (keep->cpus[cpu].until_ns < t->walk.until_ns)
            t->walk.until_ns = keep->cpus[cpu].until_ns;
    return status;
}

static void span_take(void *context, const struct sched_span *span)
{
    struct telling *t = context;
    struct sched_span *to = &t->spans[t->span_count++ % t->span_max];
    if (t->span_count > t->span_max)
        t->left_out_to_ns = to->end_ns;
    *to = *span;
}

static int timeline_make(struct telling *t)
{
    const struct sched_timeline_ask ask = {.known_ns = t->walk.since_ns,
                                           .from_ns = t->ask->from_ns,
                                           .to_ns = t->ask->to_ns,
                                           .span = span_take,
                                           .context = t};
    int status = sched_timeline_new(&ask, &t->timeline);
    for (size_t i = 0; status == SKEIN_OK && i < t->thread_count; i++) {
        const struct sched_thread *thread = &t->threads[i];
        status = sched_timeline_watch(t->timeline, thread->tid, thread->began_ns, thread->state,
                                      thread->cpu, thread->comm);
    }
    t->span_max = evidence_out_room(t->out) * 3 / 4 / SPAN_BYTES + 1;
    t->spans = calloc(t->span_max, sizeof *t->spans);
    return t->spans == NULL ? SKEIN_NO_MEMORY : status;
}

static int threads_compare(const void *a, const void *b)
{
    const struct sched_thread *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* As it is named now: a thread that was renamed is one. */
static const char *name_of(const struct telling *t, const struct sched_span *span)
{
    const struct sched_thread key = {.tid = span->tid};
    const struct sched_thread *thread =
        t->thread_count == 0
            ? NULL
            : bsearch(&key, t->threads, t->thread_count, sizeof key, threads_compare);
    return thread != NULL ? thread->comm : span->comm;
}

static void spans_tell(struct telling *t)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    uint64_t first = t->span_count > t->span_max ? t->span_count - t->span_max : 0;
    for (uint64_t i = first; i < t->span_count; i++) {
        const struct sched_span *span = &t->spans[i % t->span_max];
        enum sched_type type = sched_span_values(span, values);
        int64_t thread = evidence_thread(t->out, span->tid, name_of(t, span));
        evidence_event(t->out, thread, t->types[type], span->begin_ns,
                       span->end_ns - span->begin_ns, values);
    }
}

/* Tells which parts of the window are not known, and counts the rest. */
static void gaps_tell(struct telling *t, int64_t host)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    uint64_t at = t->ask->from_ns; /* counted until here */
    uint64_t end = t->walk.end_ns < t->ask->to_ns ? t->walk.end_ns : t->ask->to_ns;
    at = at > t->walk.since_ns ? at : t->walk.since_ns;
    for (size_t i = 0; i < t->walk.gap_count; i++) {
        const struct sched_gap *gap = &t->walk.gaps[i];
        uint64_t from = gap->from_ns > t->ask->from_ns ? gap->from_ns : t->ask->from_ns;
        uint64_t to = gap->to_ns < end ? gap->to_ns : end;
        if (from >= to)
            continue;
        values[0] = (struct partition_value){.u64 = gap->cpu};
        values[1] = (struct partition_value){.u64 = gap->records};
        evidence_event(t->out, host, t->types[SCHED_TYPE_LOST], from, to - from, values);
        t->known_ns += from > at ? from - at : 0;
        at = to > at ? to : at;
    }
    t->known_ns += end > at ? end - at : 0;
}

/* ---- neighbours ---- */

static int uses_compare(const void *a, const void *b)
{
    const struct sched_use *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static int neighbours_compare(const void *a, const void *b)
{
    const struct sched_neighbour *x = a, *y = b;
    return x->cpu_ns < y->cpu_ns ? 1 : x->cpu_ns > y->cpu_ns ? -1 : 0;
}

static void use_add(struct sched_neighbour *to, const struct sched_use *use)
{
    to->cpu_ns += use->ns;
    to->runs += use->runs;
    to->threads++;
}

/* Threads of one process become one row; those beyond LOOK_UP_MAX, the smallest ones, go to
 * `others`. Returns how many rows. */
static size_t neighbours_group(uint32_t ours, const struct sched_use *uses, size_t count,
                               struct sched_neighbour *rows, struct sched_neighbour *idle,
                               struct sched_neighbour *others)
{
    size_t row_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (uses[i].tid == 0) {
            use_add(idle, &uses[i]);
            continue;
        }
        if (i >= LOOK_UP_MAX) {
            use_add(others, &uses[i]);
            continue;
        }
        uint32_t pid = uses[i].watched ? ours : sched_process_of(uses[i].tid);
        pid = pid != 0 ? pid : uses[i].tid;
        size_t at = 0;
        while (at < row_count && rows[at].pid != pid)
            at++;
        if (at == row_count)
            rows[row_count++] = (struct sched_neighbour){.pid = pid, .comm = uses[i].comm};
        use_add(&rows[at], &uses[i]);
    }
    return row_count;
}

static void neighbour_tell(struct telling *t, int64_t host, const struct sched_neighbour *row)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    sched_neighbour_values(row, t->known_ns, values);
    evidence_event(t->out, host, t->types[SCHED_TYPE_NEIGHBOUR], t->walk.end_ns, 0, values);
}

static int neighbours_tell(struct telling *t, int64_t host)
{
    const struct sched_use *uses;
    struct sched_neighbour idle = {.comm = "(idle)"}, others = {.comm = "(others)"};
    size_t count = sched_timeline_uses(t->timeline, &uses);
    struct sched_use *sorted = calloc(count + 1, sizeof *sorted);
    struct sched_neighbour *rows = calloc(LOOK_UP_MAX, sizeof *rows);
    bool has_memory = sorted != NULL && rows != NULL && uses != NULL;
    if (has_memory) {
        memcpy(sorted, uses, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, uses_compare);
        size_t row_count =
            neighbours_group(t->ask->process->pid, sorted, count, rows, &idle, &others);
        qsort(rows, row_count, sizeof *rows, neighbours_compare);
        for (size_t i = 0; i < row_count; i++) {
            if (i < NEIGHBOURS) {
                neighbour_tell(t, host, &rows[i]);
                continue;
            }
            others.cpu_ns += rows[i].cpu_ns;
            others.runs += rows[i].runs;
            others.threads += rows[i].threads;
        }
        if (others.cpu_ns > 0)
            neighbour_tell(t, host, &others);
        neighbour_tell(t, host, &idle);
    }
    free(sorted);
    free(rows);
    return has_memory ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* ---- */

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* What is missing, in one sentence; the worst first. */
static void note_say(const struct telling *t, int taken, int walked, struct evidence_note *note)
{
    uint64_t to = t->ask->to_ns;
    uint64_t left_out = t->span_count > t->span_max ? t->span_count - t->span_max : 0;
    double window = seconds_between(t->ask->from_ns, to), known = seconds_between(0, t->known_ns);
    if (taken != SKEIN_OK || walked != SKEIN_OK)
        evidence_say(note, EVIDENCE_PARTIAL, "%s: nothing is known of the last %.3f s",
                     skein_status_text(taken != SKEIN_OK ? taken : walked),
                     seconds_between(t->walk.end_ns, to));
    else if (t->ended)
        evidence_say(note, EVIDENCE_PARTIAL,
                     "the process had ended, and which threads were its own is not known");
    else if (t->known_ns < to - t->ask->from_ns)
        evidence_say(note, EVIDENCE_PARTIAL,
                     "of %.3f s, %.3f s are known (sched.lost); the buffer of a CPU is %" PRIu64
                     " KiB",
                     window, known, sched_instance_kib(t->source->instance));
    else if (left_out > 0)
        evidence_say(note, EVIDENCE_PARTIAL,
                     "no room for %" PRIu64 " spans, the oldest, up to %.3f s before the end",
                     left_out, seconds_between(t->left_out_to_ns, to));
    else if (sched_timeline_unseen(t->timeline) > 0)
        evidence_say(note, EVIDENCE_PARTIAL,
                     "the kernel did not record %" PRIu64 " switches; times beside them are bounds",
                     sched_timeline_unseen(t->timeline));
    else
        evidence_say(note, EVIDENCE_TAKEN, "%s", "");
}

static void records_tell(struct telling *t, struct evidence_note *note)
{
    struct sched_source *s = t->source;
    t->walk = (struct sched_walk){.since_ns = sched_instance_since_ns(s->instance),
                                  .until_ns = clock_monotonic_ns(),
                                  .deadline_ns = t->ask->deadline_ns};
    int taken = records_take(t);
    if (timeline_make(t) != SKEIN_OK) {
        evidence_say(note, EVIDENCE_REFUSED, "%s", skein_status_text(SKEIN_NO_MEMORY));
        return;
    }
    int walked =
        sched_walk_run(&t->walk, &s->keep, sched_instance_layout(s->instance), t->timeline);
    int64_t host = evidence_thread(t->out, 0, EVIDENCE_THREAD_HOST);
    spans_tell(t);
    gaps_tell(t, host);
    int told = neighbours_tell(t, host);
    note_say(t, taken, walked != SKEIN_OK ? walked : told, note);
}

/* Not another one's with its pid. */
static bool is_there(const struct process *process)
{
    uint64_t ticks;
    return proc_start_ticks((pid_t)process->pid, &ticks) == SKEIN_OK &&
           (process->start_clock_ticks == 0 || ticks == process->start_clock_ticks);
}

static void threads_take(struct telling *t)
{
    const struct process *process = t->ask->process;
    (void)sched_threads_list(process->pid, &t->threads, &t->thread_count);
    t->ended = t->thread_count == 0 || !is_there(process);
    if (t->ended)
        t->thread_count = 0;
    if (t->thread_count > 0)
        qsort(t->threads, t->thread_count, sizeof *t->threads, threads_compare);
}

void sched_source_collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                          struct evidence_note *note)
{
    struct telling t = {.source = source, .ask = ask, .out = out};
    for (unsigned i = 0; i < SCHED_TYPES; i++)
        t.types[i] = evidence_type(out, &sched_types[i]);
    threads_take(&t);
    if (t.source->instance != NULL)
        records_tell(&t, note);
    else if (sums_tell(&t))
        evidence_say(note, EVIDENCE_PARTIAL, "sums of each thread alone: %s", t.source->refused);
    else if (t.ended)
        evidence_say(note, EVIDENCE_REFUSED, "the process had ended; %s", t.source->refused);
    else
        evidence_say(note, EVIDENCE_REFUSED, "%s", t.source->refused);
    sched_timeline_free(&t.timeline);
    sched_walk_fini(&t.walk);
    free(t.spans);
    free(t.threads);
}
