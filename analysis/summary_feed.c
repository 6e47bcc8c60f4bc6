/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the way from a trace's batches into the tables of a summary. One thread enters; reads the trace
 * through the caller's cursor, and never more than a batch at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ids.h"
#include "summary_feed.h"

int summary_feed_new(struct summary *summary, const struct skein_trace *trace,
                     const struct skein_query *query, struct summary_feed **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->s = summary;
    (*out)->trace = trace;
    (*out)->query = query;
    (*out)->from_ns = query->from_ns;
    (*out)->to_ns = query->to_ns != 0 ? query->to_ns : UINT64_MAX;
    (*out)->generation = summary->generation;
    return SKEIN_OK;
}

/* ---- whose row is whose ---- */

int feed_text_put(struct summary_feed *f, uint32_t *to, const char *text)
{
    int64_t number = text_intern(f->s, text, strlen(text));
    if (number < 0)
        return SKEIN_NO_MEMORY;
    *to = (uint32_t)number;
    return SKEIN_OK;
}

static int process_find(struct summary_feed *f, uint32_t process, uint32_t *row)
{
    const struct skein_process *of = skein_trace_process(f->trace, process);
    char id[ID_TEXT_BYTES];
    uint32_t text;
    bool fresh;
    if (!array_grow_zero(f->processes, (size_t)process + 1, &f->process_cap))
        return SKEIN_NO_MEMORY;
    if (f->processes[process] != 0) {
        *row = f->processes[process] - 1;
        return SKEIN_OK;
    }
    id_text(of->id, id);
    if (feed_text_put(f, &text, id) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_process *p = (struct summary_process *)summary_row_get(
        f->s, SUMMARY_PROCESS, SUMMARY_NONE, text, 0, &fresh);
    if (p == NULL || feed_text_put(f, &p->host, of->host) != SKEIN_OK ||
        feed_text_put(f, &p->service, of->service) != SKEIN_OK ||
        feed_text_put(f, &p->labels, of->labels) != SKEIN_OK ||
        feed_text_put(f, &p->exe, of->exe) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    p->pid = of->pid;
    *row = (uint32_t)(p - feed_process(f, 0));
    f->processes[process] = *row + 1;
    return SKEIN_OK;
}

static int thread_find(struct summary_feed *f, uint32_t number, struct feed_thread **out)
{
    const struct skein_thread *of = skein_trace_thread(f->trace, number);
    bool fresh;
    if (!array_grow_zero(f->threads, (size_t)number + 1, &f->thread_cap))
        return SKEIN_NO_MEMORY;
    struct feed_thread *thread = *out = &f->threads[number];
    if (thread->known)
        return SKEIN_OK;
    thread->thread = SUMMARY_NONE;
    if (process_find(f, of->process, &thread->process) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    if (of->tid != 0 || !of->evidence) {
        struct summary_thread *row = (struct summary_thread *)summary_row_get(
            f->s, SUMMARY_THREAD, thread->process, 0, of->tid, &fresh);
        if (row == NULL || feed_text_put(f, &row->name, of->name) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        thread->thread = (uint32_t)(row - feed_thread(f, 0));
    }
    thread->known = true;
    return SKEIN_OK;
}

static int type_find(struct summary_feed *f, uint32_t number, const struct feed_type **out)
{
    const struct skein_event_type *of = skein_trace_type(f->trace, number);
    if (!array_grow_zero(f->types, (size_t)number + 1, &f->type_cap))
        return SKEIN_NO_MEMORY;
    struct feed_type *type = &f->types[number];
    *out = type;
    if (type->known)
        return SKEIN_OK;
    *type = (struct feed_type){.group = of->group, .kind = wait_kind_of(of->name, of->group)};
    memset(type->args, -1, sizeof type->args);
    feed_told_find(type, of);
    if (feed_text_put(f, &type->text, of->name) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    type->known = true;
    return SKEIN_OK;
}

/* ---- all else ---- */

static int loss_take(struct summary_feed *f, const struct feed_event *event)
{
    uint32_t more = event->batch->more[event->row];
    const struct skein_row_more *what = more != SKEIN_NONE ? &event->batch->mores[more] : NULL;
    bool fresh;
    struct summary_loss *loss = (struct summary_loss *)summary_row_get(
        f->s, SUMMARY_LOSS, event->process, 0, what != NULL ? what->loss_reason : 0, &fresh);
    if (loss == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&loss->row, event->end_ns);
    loss->count++;
    loss->unknown += what == NULL || what->lost == 0;
    sum_add(&loss->records, what != NULL ? what->lost : 0);
    sum_add(&loss->dur_ns, event->dur_ns);
    return SKEIN_OK;
}

/* What is no region, in its process and on its thread. */
static void others_count(struct summary_feed *f, const struct feed_event *event, uint8_t kind)
{
    struct summary_process *process = feed_process(f, event->process);
    struct summary_thread *thread =
        event->thread != SUMMARY_NONE ? feed_thread(f, event->thread) : NULL;
    bool counter = kind == SKEIN_ROW_COUNTER, log = kind == SKEIN_ROW_LOG;
    bool instant = kind == SKEIN_ROW_INSTANT;
    process->counters += counter;
    process->logs += log;
    process->instants += instant;
    if (thread == NULL)
        return;
    thread->counters += counter;
    thread->logs += log;
    thread->instants += instant;
}

static int ring_take(struct summary_feed *f, const struct feed_event *event, uint8_t kind)
{
    struct summary_process *process = feed_process(f, event->process);
    process->events++;
    process->fixed_up += (event->batch->flags[event->row] & SKEIN_ROW_FIXED_UP) != 0;
    if (event->thread != SUMMARY_NONE)
        row_touch(&feed_thread(f, event->thread)->row, event->end_ns);
    if (kind == SKEIN_ROW_END_ONLY || event->type == NULL) {
        process->end_only++;
        return SKEIN_OK;
    }
    others_count(f, event, kind);
    switch (kind) {
    case SKEIN_ROW_REGION:
        return event->thread != SUMMARY_NONE ? feed_region_take(f, event) : SKEIN_OK;
    case SKEIN_ROW_OPEN:
        process->events--; /* its record comes when it ends */
        return event->thread != SUMMARY_NONE ? feed_open_take(f, event) : SKEIN_OK;
    case SKEIN_ROW_COUNTER:
        return feed_counter_take(f, event);
    case SKEIN_ROW_LOG:
        return feed_log_take(f, event);
    default:
        return feed_instant_take(f, event);
    }
}

/* ---- batches ---- */

static int event_find(struct summary_feed *f, struct feed_event *event)
{
    const struct skein_batch *batch = event->batch;
    uint32_t row = event->row, type = batch->type[row];
    struct feed_thread *thread;
    uint8_t kind = batch->kind[row];
    bool timed = kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN || kind == SKEIN_ROW_LOSS;
    event->begin_ns = batch->time_ns[row];
    event->dur_ns = timed ? batch->dur_ns[row] : 0;
    event->end_ns = event->begin_ns;
    sum_add(&event->end_ns, event->dur_ns);
    event->args = skein_batch_args(batch, row);
    event->thread = SUMMARY_NONE;
    event->type = NULL;
    if (type != SKEIN_NONE && type_find(f, type, &event->type) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    if (batch->thread[row] == SKEIN_NONE)
        return process_find(f, batch->process[row], &event->process);
    if (thread_find(f, batch->thread[row], &thread) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    event->process = thread->process;
    event->thread = thread->thread;
    return SKEIN_OK;
}

static int row_take(struct summary_feed *f, struct feed_event *event)
{
    uint8_t kind = event->batch->kind[event->row];
    uint64_t end_ns = event->batch->time_ns[event->row];
    if (kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN || kind == SKEIN_ROW_LOSS)
        sum_add(&end_ns, event->batch->dur_ns[event->row]);
    if (kind == SKEIN_ROW_BEGIN || end_ns < f->from_ns || end_ns >= f->to_ns)
        return SKEIN_OK;
    int status = event_find(f, event);
    if (status != SKEIN_OK)
        return status;
    row_touch(&feed_process(f, event->process)->row, event->end_ns);
    if (kind == SKEIN_ROW_LOSS)
        return loss_take(f, event);
    if ((event->batch->flags[event->row] & SKEIN_ROW_EVIDENCE) == 0)
        return ring_take(f, event, kind);
    return event->type != NULL ? feed_told_take(f, event) : SKEIN_OK;
}

/* Rows are about to get other numbers, or it is the end. */
static void feed_settle(struct summary_feed *f)
{
    for (size_t i = 0; i < f->thread_cap; i++)
        feed_regions_settle(f, &f->threads[i]);
}

static void feed_forget(struct summary_feed *f)
{
    for (size_t i = 0; i < f->thread_cap; i++)
        f->threads[i].known = false;
    for (size_t i = 0; i < f->type_cap; i++)
        f->types[i].known = false;
    for (size_t i = 0; i < f->process_cap; i++)
        f->processes[i] = 0;
    if (f->calls != NULL)
        memset(f->calls, 0, f->call_slots * sizeof *f->calls);
    f->call_count = 0;
    f->generation = f->s->generation;
}

static int feed_bound(struct summary_feed *f)
{
    bool full = false;
    for (unsigned t = 0; t < SUMMARY_TABLES; t++)
        full |= f->s->tables[t].count / 2 > f->s->limit;
    if (!full && f->generation == f->s->generation)
        return SKEIN_OK;
    feed_settle(f);
    int status = summary_bound(f->s);
    feed_forget(f);
    return status;
}

int summary_feed_take(struct summary_feed *feed, struct skein_cursor *cursor,
                      const struct skein_batch *batch)
{
    struct feed_event event = {.cursor = cursor, .batch = batch};
    int status = SKEIN_OK;
    memset(feed->stacks, 0, sizeof feed->stacks);
    for (uint32_t i = 0; i < batch->count && status == SKEIN_OK; i++) {
        event.row = i;
        status = row_take(feed, &event);
    }
    return status == SKEIN_OK ? feed_bound(feed) : status;
}

/* ---- the end ---- */

/* Of the time asked for, so long is recorded of a process: from the first record of a cut to its end,
 * which is later where all threads slept; and between a cut and the next one. Evidence, which counts
 * where there is no cut, has a row of numbers of its own (F-50). */
static uint64_t process_seen_ns(const struct summary_feed *f, uint32_t process, bool evidence)
{
    uint64_t seen_ns = 0, until_ns = f->from_ns;
    const struct skein_partition *before = NULL;
    for (uint32_t i = 0; i < skein_trace_partition_count(f->trace); i++) {
        const struct skein_partition *p = skein_trace_partition(f->trace, i);
        uint64_t end_ns = p->to_ns > p->window_to_ns ? p->to_ns : p->window_to_ns;
        if (p->process != process || p->evidence != evidence)
            continue;
        bool next = p->follows || (evidence && before != NULL && before->epoch == p->epoch &&
                                   p->sequence > 0 && before->sequence == p->sequence - 1);
        uint64_t from_ns = p->from_ns > until_ns && !next ? p->from_ns : until_ns;
        uint64_t to_ns = end_ns < f->to_ns ? end_ns : f->to_ns;
        if (to_ns > from_ns)
            sum_add(&seen_ns, to_ns - from_ns);
        until_ns = end_ns > until_ns ? end_ns : until_ns;
        before = p;
    }
    return seen_ns;
}

static int gaps_take(struct summary_feed *f, const struct skein_cursor *cursor)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(cursor, &gaps);
    for (size_t i = 0; i < count; i++) {
        uint32_t of = SUMMARY_NONE, text;
        bool fresh;
        if ((gaps[i].process != SKEIN_NONE && process_find(f, gaps[i].process, &of) != SKEIN_OK) ||
            feed_text_put(f, &text, gaps[i].what != NULL ? gaps[i].what : "") != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        struct summary_gap *gap = (struct summary_gap *)summary_row_get(f->s, SUMMARY_GAP, of, text,
                                                                        gaps[i].reason, &fresh);
        if (gap == NULL)
            return SKEIN_NO_MEMORY;
        gap->count++;
        sum_add(&gap->bytes, gaps[i].bytes);
        if (gaps[i].to_ns != 0)
            row_touch(&gap->row, gaps[i].to_ns);
    }
    return SKEIN_OK;
}

/* Also one of which nothing happened in that time: it was seen to do nothing. */
static int process_end(struct summary_feed *f, uint32_t i)
{
    const struct skein_process *of = skein_trace_process(f->trace, i);
    uint64_t seen_ns = process_seen_ns(f, i, false);
    uint32_t row;
    bool known = i < f->process_cap && f->processes[i] != 0;
    seen_ns = seen_ns > 0 ? seen_ns : process_seen_ns(f, i, true);
    if (!known &&
        (seen_ns == 0 || (f->query->process != NULL && !f->query->process(f->query->context, of))))
        return SKEIN_OK;
    if (process_find(f, i, &row) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_process *p = feed_process(f, row);
    sum_add(&p->seen_ns, seen_ns);
    if (!of->death.known)
        return SKEIN_OK;
    p->dead = 1;
    p->signal = (uint64_t)(of->death.signal > 0 ? of->death.signal : 0);
    p->status = (uint64_t)(of->death.status > 0 ? of->death.status : 0);
    return SKEIN_OK;
}

int summary_feed_end(struct summary_feed **feed, const struct skein_cursor *cursor)
{
    struct summary_feed *f = *feed;
    int status = SKEIN_OK;
    *feed = NULL;
    if (f == NULL)
        return SKEIN_OK;
    if (cursor != NULL) {
        feed_settle(f);
        status = gaps_take(f, cursor);
        for (uint32_t i = 0; status == SKEIN_OK && i < skein_trace_process_count(f->trace); i++)
            status = process_end(f, i);
    }
    for (size_t i = 0; i < f->thread_cap; i++)
        free(f->threads[i].regions);
    free(f->threads);
    free(f->types);
    free(f->processes);
    free(f->calls);
    free(f);
    return status;
}

int summary_read(struct summary *summary, struct skein_trace *trace,
                 const struct skein_query *query)
{
    struct skein_query all = {.size = sizeof all}, *q = &all;
    struct skein_cursor *cursor = NULL;
    struct summary_feed *feed = NULL;
    struct skein_batch batch;
    int more = 1;
    if (query != NULL)
        all = *query;
    q->columns = SUMMARY_COLUMNS;
    q->kinds = 0;
    int status = skein_cursor_new(trace, q, &cursor);
    if (status == SKEIN_OK)
        status = summary_feed_new(summary, trace, q, &feed);
    while (status == SKEIN_OK && (more = skein_cursor_next(cursor, &batch)) > 0)
        status = summary_feed_take(feed, cursor, &batch);
    if (more < 0)
        status = more;
    int ended = summary_feed_end(&feed, status == SKEIN_OK ? cursor : NULL);
    skein_cursor_free(&cursor);
    status = status == SKEIN_OK ? ended : status;
    return status == SKEIN_OK ? summary_sort(summary) : status;
}
