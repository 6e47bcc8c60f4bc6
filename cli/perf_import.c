/* SPDX-License-Identifier: Apache-2.0
 *
 * See perf_import.h. The timeline gives spans by time; a partition wants them by process and thread,
 * so all are kept and sorted.
 */
#include "perf_import.h"

#include <stdlib.h>

#include "array.h"
#include "import_id.h"
#include "partition_writer.h"
#include "sched_types.h"
#include "skein/status.h"

#define PARTITION_BYTES (16u << 20) /* about; a process with more has several */
#define USERS           10

struct import_span {
    uint64_t process; /* the pid, and above it, which of those that have it */
    struct sched_span span;
};

struct import {
    const struct perf_data *data;
    struct import_span *spans;
    size_t count, cap;
    bool failed;
    uint64_t events; /* that were put */
    uint64_t from_ns, to_ns;
    int64_t ahead_ns;
    struct buf *trace;
    /* of the partition under way */
    struct partition_writer *writer;
    int64_t types[SCHED_TYPES];
    uint64_t sequence;
};

static void span_keep(void *context, const struct sched_span *span)
{
    struct import *i = context;
    if (i->failed || !array_grow(i->spans, i->count + 1, &i->cap)) {
        i->failed = true;
        return;
    }
    uint32_t pid = perf_data_process(i->data, span->tid, span->begin_ns);
    uint64_t life = perf_data_life(i->data, pid, span->begin_ns);
    i->spans[i->count++] = (struct import_span){.process = life << 32 | pid, .span = *span};
}

static int spans_compare(const void *a, const void *b)
{
    const struct import_span *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->span.tid != y->span.tid)
        return x->span.tid < y->span.tid ? -1 : 1;
    return x->span.end_ns < y->span.end_ns ? -1 : x->span.end_ns > y->span.end_ns;
}

/* ---- records ---- */

static int events_walk(struct import *i, struct sched_timeline *timeline)
{
    size_t gap = 0;
    int status = SKEIN_OK;
    for (size_t k = 0; k < i->data->count && status == SKEIN_OK; k++) {
        const struct sched_event *event = &i->data->events[k];
        for (; gap < i->data->gap_count && i->data->gaps[gap].from_ns < event->time_ns; gap++)
            sched_timeline_gap(timeline, i->data->gaps[gap].from_ns, i->data->gaps[gap].to_ns);
        status = sched_timeline_event(timeline, event);
    }
    sched_timeline_end(timeline, i->to_ns);
    return i->failed ? SKEIN_NO_MEMORY : status;
}

/* ---- partitions ---- */

static struct clock_snapshot snapshot_at(const struct import *i, uint64_t ns)
{
    return (struct clock_snapshot){.ticks = ns,
                                   .monotonic_ns = ns,
                                   .boottime_ns = ns,
                                   .realtime_ns = ns + (uint64_t)i->ahead_ns};
}

/* number: of the process in the file; the host is none of them. */
static int writer_begin(struct import *i, uint64_t number, uint32_t pid, const char *service)
{
    const struct partition_info info = {
        .key = {.process = import_process_uid(i->data->seed, number, pid),
                .sequence = i->sequence++},
        .pid = pid,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .evidence = true,
        .begin = snapshot_at(i, i->from_ns),
        .end = snapshot_at(i, i->from_ns + 1000000000u),
        .window_from_ticks = i->from_ns,
        .window_to_ticks = i->to_ns,
        .host = i->data->host,
        .service = service,
        .labels = "",
        .exe = ""};
    int status = partition_writer_new(&info, &i->writer);
    for (unsigned k = 0; status == SKEIN_OK && k < SCHED_TYPES; k++) {
        i->types[k] = partition_writer_type(i->writer, &sched_types[k]);
        status = i->types[k] < 0 ? (int)i->types[k] : SKEIN_OK;
    }
    return status;
}

static int writer_end(struct import *i)
{
    int status = SKEIN_OK;
    if (i->writer != NULL)
        status = partition_writer_finish(i->writer, i->trace, NULL);
    partition_writer_free(&i->writer);
    return status;
}

static int batch_begin(struct import *i, uint32_t tid, const char *name)
{
    int64_t thread =
        partition_writer_thread(i->writer, &(struct partition_thread){.tid = tid, .name = name});
    if (thread < 0)
        return (int)thread;
    partition_writer_batch(i->writer, (uint32_t)thread, 0, 0, false);
    return SKEIN_OK;
}

static void event_put(struct import *i, enum sched_type type, uint64_t end_ns, uint64_t dur_ns,
                      const struct partition_value values[SKEIN_ARGS_MAX])
{
    partition_writer_event(i->writer, (uint32_t)i->types[type], end_ns, dur_ns, values);
    i->events++;
}

static void span_put(struct import *i, const struct sched_span *span)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    enum sched_type type = sched_span_values(span, values);
    event_put(i, type, span->end_ns, span->end_ns - span->begin_ns, values);
}

/* The name of the process's first thread, else of any. */
static const char *service_of(const struct import *i, size_t first)
{
    const char *name = i->spans[first].span.comm;
    for (size_t k = first; k < i->count && i->spans[k].process == i->spans[first].process; k++)
        if (i->spans[k].span.tid == (uint32_t)i->spans[first].process)
            name = i->spans[k].span.comm;
    return name;
}

/* What a thread was called last. */
static const char *thread_name(const struct import *i, size_t first)
{
    size_t last = first;
    while (last + 1 < i->count && i->spans[last + 1].process == i->spans[first].process &&
           i->spans[last + 1].span.tid == i->spans[first].span.tid)
        last++;
    return i->spans[last].span.comm;
}

static int processes_put(struct import *i, struct perf_imported *imported)
{
    int status = SKEIN_OK;
    const struct import_span *spans = i->spans;
    if (spans == NULL)
        return SKEIN_OK;
    for (size_t k = 0; k < i->count && status == SKEIN_OK; k++) {
        const struct import_span *now = &spans[k], *before = k > 0 ? &spans[k - 1] : NULL;
        bool process = before == NULL || before->process != now->process;
        bool thread = process || before->span.tid != now->span.tid;
        bool full = !process && partition_writer_bytes(i->writer) > PARTITION_BYTES;
        if (process || full) {
            status = writer_end(i);
            i->sequence = process ? 0 : i->sequence;
            imported->processes += process;
            if (status == SKEIN_OK)
                status = writer_begin(i, now->process, (uint32_t)now->process, service_of(i, k));
        }
        if (status == SKEIN_OK && (thread || full))
            status = batch_begin(i, now->span.tid, thread_name(i, k));
        if (status == SKEIN_OK)
            span_put(i, &now->span);
    }
    int ended = writer_end(i);
    return status == SKEIN_OK ? ended : status;
}

/* ---- the host ---- */

static int users_compare(const void *a, const void *b)
{
    const struct sched_neighbour *x = a, *y = b;
    return x->cpu_ns < y->cpu_ns ? 1 : x->cpu_ns > y->cpu_ns ? -1 : 0;
}

static int pids_compare(const void *a, const void *b)
{
    const struct sched_neighbour *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* A row for each process, those with most CPU time first. */
static size_t users_group(const struct import *i, const struct sched_use *uses, size_t count,
                          struct sched_neighbour *rows)
{
    size_t kept = 0;
    for (size_t k = 0; k < count; k++)
        rows[k] = (struct sched_neighbour){
            .pid = uses[k].tid == 0 ? 0 : perf_data_process(i->data, uses[k].tid, i->to_ns),
            .comm = uses[k].tid == 0 ? "(idle)" : uses[k].comm,
            .cpu_ns = uses[k].ns,
            .runs = uses[k].runs,
            .threads = 1};
    qsort(rows, count, sizeof *rows, pids_compare);
    for (size_t k = 0; k < count; k++) {
        if (kept == 0 || rows[kept - 1].pid != rows[k].pid) {
            rows[kept++] = rows[k];
            continue;
        }
        rows[kept - 1].cpu_ns += rows[k].cpu_ns;
        rows[kept - 1].runs += rows[k].runs;
        rows[kept - 1].threads++;
    }
    qsort(rows, kept, sizeof *rows, users_compare);
    return kept;
}

static void user_put(struct import *i, const struct sched_neighbour *row)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    sched_neighbour_values(row, i->to_ns - i->from_ns, values);
    event_put(i, SCHED_TYPE_NEIGHBOUR, i->to_ns, 0, values);
}

static void lost_put(struct import *i, struct perf_imported *imported)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    for (size_t k = 0; k < i->data->gap_count; k++) {
        const struct perf_gap *gap = &i->data->gaps[k];
        uint64_t from_ns = gap->from_ns > i->from_ns ? gap->from_ns : i->from_ns;
        values[0] = (struct partition_value){.u64 = gap->cpu};
        values[1] = (struct partition_value){.u64 = gap->records};
        imported->lost_records += gap->records;
        if (gap->records > 0)
            partition_writer_loss(
                i->writer,
                &(struct partition_loss){.thread = UINT32_MAX,
                                         .reason = PARTITION_LOSS_RING_FULL,
                                         .events = gap->records,
                                         .from_ticks = from_ns,
                                         .to_ticks = gap->to_ns > from_ns ? gap->to_ns : from_ns});
        if (gap->to_ns > from_ns)
            event_put(i, SCHED_TYPE_LOST, gap->to_ns, gap->to_ns - from_ns, values);
    }
}

static int host_put(struct import *i, struct sched_timeline *timeline,
                    struct perf_imported *imported)
{
    const struct sched_use *uses;
    size_t count = sched_timeline_uses(timeline, &uses);
    struct sched_neighbour *rows = calloc(count + 1, sizeof *rows);
    struct sched_neighbour others = {.comm = "(others)"};
    if (rows == NULL || uses == NULL) {
        free(rows);
        return SKEIN_NO_MEMORY;
    }
    i->sequence = 0;
    int status = writer_begin(i, UINT64_MAX, 0, "(host)");
    if (status == SKEIN_OK)
        status = batch_begin(i, 0, "host");
    if (status == SKEIN_OK) {
        lost_put(i, imported);
        size_t kept = users_group(i, uses, count, rows);
        for (size_t k = 0, named = 0; k < kept; k++) {
            if (rows[k].pid == 0 || named++ < USERS) {
                user_put(i, &rows[k]);
                continue;
            }
            others.cpu_ns += rows[k].cpu_ns;
            others.runs += rows[k].runs;
            others.threads += rows[k].threads;
        }
        if (others.cpu_ns > 0)
            user_put(i, &others);
    }
    int ended = writer_end(i);
    free(rows);
    return status == SKEIN_OK ? ended : status;
}

/* ---- */

static void bounds_find(struct import *i)
{
    const struct perf_data *d = i->data;
    i->from_ns = d->events[0].time_ns;
    i->to_ns = d->events[d->count - 1].time_ns;
    if (i->to_ns > UINT64_MAX / 4)
        i->to_ns = UINT64_MAX / 4; /* of no clock that ever ran */
    if (i->from_ns >= i->to_ns)
        i->from_ns = i->to_ns > 0 ? i->to_ns - 1 : 0;
    i->to_ns = i->to_ns == 0 ? 1 : i->to_ns;
}

int perf_import(const struct perf_data *data, int64_t otherwise_ahead_ns, struct buf *trace,
                struct perf_imported *imported)
{
    struct import i = {.data = data,
                       .trace = trace,
                       .ahead_ns =
                           data->has_realtime ? data->realtime_ahead_ns : otherwise_ahead_ns};
    struct sched_timeline *timeline = NULL;
    *imported = (struct perf_imported){.processes = 0};
    if (data->count == 0)
        return SKEIN_NOT_FOUND;
    bounds_find(&i);
    const struct sched_timeline_ask ask = {.known_ns = i.from_ns,
                                           .from_ns = i.from_ns,
                                           .to_ns = i.to_ns,
                                           .all = true,
                                           .span = span_keep,
                                           .context = &i};
    int status = sched_timeline_new(&ask, &timeline);
    if (status == SKEIN_OK)
        status = events_walk(&i, timeline);
    if (status == SKEIN_OK && i.count > 0)
        qsort(i.spans, i.count, sizeof *i.spans, spans_compare);
    if (status == SKEIN_OK)
        status = processes_put(&i, imported);
    if (status == SKEIN_OK)
        status = host_put(&i, timeline, imported);
    imported->events = i.events;
    imported->unseen = timeline != NULL ? sched_timeline_unseen(timeline) : 0;
    partition_writer_free(&i.writer);
    sched_timeline_free(&timeline);
    free(i.spans);
    return status;
}
