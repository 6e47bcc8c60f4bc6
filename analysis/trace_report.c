/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what a report gathers from the rows of a cursor: numbers for each thread and name, long
 * regions, counters, silences. One thread enters. Judges nothing, reads no file.
 */
#include "array.h"
#include "trace_report_int.h"
#include "trace_stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS       20
#define ROWS           20
#define SPANS          65536
#define SPAN_MIN_NS    MS(1)
#define LOCK_MIN_NS    UINT64_C(100000)
#define SILENCE_MIN_NS MS(5)

int trace_report_new(const struct trace_report_limits *limits, struct trace_report_builder **out)
{
    struct trace_report_builder *b = *out = calloc(1, sizeof *b);
    if (b == NULL)
        return SKEIN_NO_MEMORY;
    if (limits != NULL)
        b->limits = *limits;
    b->limits.findings = b->limits.findings != 0 ? b->limits.findings : FINDINGS;
    b->limits.rows = b->limits.rows != 0 ? b->limits.rows : ROWS;
    b->limits.spans = b->limits.spans != 0 ? b->limits.spans : SPANS;
    if (moment_new(0, 0, true, &b->moment) == SKEIN_OK && sched_sums_new(&b->sched) == SKEIN_OK &&
        vitals_table_new(&b->vitals) == SKEIN_OK && report_tables_new(b) == SKEIN_OK)
        return SKEIN_OK;
    trace_report_free(out);
    return SKEIN_NO_MEMORY;
}

static void process_fini(struct report_process *p)
{
    beside_free(&p->beside);
    for (size_t i = 0; i < p->series_cap; i++)
        free(p->series[i]);
    free(p->series);
}

void trace_report_free(struct trace_report_builder **builder)
{
    struct trace_report_builder *b = *builder;
    *builder = NULL;
    if (b == NULL)
        return;
    moment_free(&b->moment);
    sched_sums_free(&b->sched);
    vitals_table_free(&b->vitals);
    for (size_t i = 0; i < b->process_count; i++)
        process_fini(&b->processes[i]);
    for (size_t i = 0; i < b->text_count; i++)
        free(b->texts[i]);
    for (size_t i = 0; i < b->title_count; i++)
        free(b->titles[i].text);
    for (size_t i = 0; i < b->state_count; i++)
        free(b->states[i].call);
    intern_table_fini(&b->counter_keys);
    intern_table_fini(&b->stacks);
    free(b->types);
    free(b->processes);
    free(b->actors);
    free(b->spans);
    free(b->counters);
    free(b->waiters);
    free(b->crashes);
    free(b->titles);
    free(b->states);
    free(b->losses);
    free(b->gaps);
    free(b->findings);
    free(b->texts);
    report_tables_free(b);
    free(b);
}

/* ---- numbers of the trace ---- */

static int8_t arg_of(const struct skein_event_type *type, const char *name)
{
    for (int8_t i = 0; i < type->arg_count && i < SKEIN_ARGS_MAX; i++)
        if (strcmp(type->args[i].name, name) == 0 && type->args[i].type <= SKEIN_T_I64)
            return i;
    return -1;
}

static struct report_type *type_get(struct trace_report_builder *b, uint32_t number)
{
    if (!array_grow_zero(b->types, (size_t)number + 1, &b->type_cap))
        return NULL;
    struct report_type *t = &b->types[number];
    if (t->known)
        return t;
    const struct skein_event_type *type = skein_trace_type(b->trace, number);
    t->label = moment_label_put(b->moment, type->name, type->group, true);
    if (t->label < 0)
        return NULL;
    t->known = true;
    t->result = arg_of(type, "result");
    t->owner = arg_of(type, "owner");
    t->calls = type->group == SKEIN_GROUP_NET || type->group == SKEIN_GROUP_IO ||
               type->group == SKEIN_GROUP_APP || type->group >= SKEIN_GROUP_USER;
    t->lock = type->group == SKEIN_GROUP_LOCK && b->moment->labels[t->label].for_lock &&
              strcmp(type->name, "file_lock") != 0;
    return t;
}

static struct report_process *process_get(struct trace_report_builder *b, uint32_t number)
{
    if (number >= b->process_count) {
        size_t had = b->process_count;
        if (!array_grow(b->processes, (size_t)number + 1, &b->process_cap))
            return NULL;
        b->process_count = (size_t)number + 1;
        for (size_t i = had; i < b->process_count; i++)
            b->processes[i] = (struct report_process){.moment = -1};
    }
    struct report_process *p = &b->processes[number];
    const struct skein_process *of = skein_trace_process(b->trace, number);
    if (p->moment < 0 &&
        (p->moment = moment_process_put(b->moment, of->id, of->pid, of->service, of->host)) < 0)
        return NULL;
    return p;
}

static struct report_actor *actor_get(struct trace_report_builder *b, uint32_t number)
{
    if (number >= b->actor_count) {
        size_t had = b->actor_count;
        if (!array_grow(b->actors, (size_t)number + 1, &b->actor_cap))
            return NULL;
        b->actor_count = (size_t)number + 1;
        for (size_t i = had; i < b->actor_count; i++)
            b->actors[i] = (struct report_actor){.moment = -1};
    }
    struct report_actor *a = &b->actors[number];
    if (a->moment >= 0)
        return a;
    const struct skein_thread *thread = skein_trace_thread(b->trace, number);
    if (process_get(b, thread->process) == NULL)
        return NULL;
    a->stands_in = (thread->incarnation & SKEIN_STAND_IN) != 0;
    a->moment = moment_thread_put(b->moment, (size_t)b->processes[thread->process].moment,
                                  thread->tid, thread->incarnation, thread->name);
    return a->moment >= 0 ? a : NULL;
}

/* ---- stacks ---- */

uint32_t report_stack_keep(struct trace_report_builder *b, struct skein_cursor *cursor,
                           const struct skein_batch *batch, uint32_t row)
{
    struct skein_frame frames[TRACE_REPORT_FRAMES];
    struct buf text = {0};
    size_t total = 0;
    bool fresh;
    if (batch->stack == NULL || batch->stack[row] == 0)
        return 0;
    int status = skein_cursor_stack(cursor, row, frames, TRACE_REPORT_FRAMES, &total, NULL);
    if (status == SKEIN_NO_MEMORY)
        b->status = status;
    if (status != SKEIN_OK)
        return 0;
    buf_put_u32(&text, total > TRACE_REPORT_FRAMES ? (uint32_t)(total - TRACE_REPORT_FRAMES) : 0);
    for (size_t i = 0; i < total && i < TRACE_REPORT_FRAMES; i++) {
        const struct skein_frame *f = &frames[i];
        const char *slash = strrchr(f->module, '/'),
                   *module = slash != NULL ? slash + 1 : f->module;
        if (trace_module_is_tracer(f->module)) /* it stands between a program and what it calls */
            continue;
        if (*f->function != '\0')
            buf_printf(&text, "%.*s", TRACE_REPORT_TEXT, f->function);
        else if (*module != '\0')
            buf_printf(&text, "%.*s+0x%" PRIx64, TRACE_REPORT_TEXT - 20, module, f->offset);
        else
            buf_printf(&text, "0x%" PRIx64, f->address);
        buf_put_u8(&text, 0);
    }
    int64_t at = text.status == SKEIN_OK ? intern_table_put(&b->stacks, text.data, text.len, &fresh)
                                         : SKEIN_NO_MEMORY;
    buf_fini(&text);
    if (at < 0)
        b->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint32_t)at + 1;
}

/* ---- regions ---- */

/* Drops the shorter half, so that there is room for the longer ones. */
static void spans_thin(struct trace_report_builder *b)
{
    while (b->span_count > b->limits.spans / 2 && b->span_floor_ns < UINT64_MAX / 2) {
        size_t kept = 0;
        b->span_floor_ns = b->span_floor_ns != 0 ? b->span_floor_ns * 2 : LOCK_MIN_NS * 2;
        for (size_t i = 0; i < b->span_count; i++)
            if (b->spans[i].to_ns - b->spans[i].from_ns >= b->span_floor_ns)
                b->spans[kept++] = b->spans[i];
        b->report.totals.spans_left_out += b->span_count - kept;
        b->span_count = kept;
    }
}

static int64_t number_of(const struct skein_event_type *type, const struct skein_arg *args,
                         int8_t at)
{
    return at >= 0 && type->args[at].type <= SKEIN_T_I64 ? args[at].i64 : 0;
}

static void span_keep(struct trace_report_builder *b, const struct skein_batch *batch, uint32_t row,
                      const struct report_type *t, uint32_t stack)
{
    uint64_t dur_ns = batch->dur_ns[row], from_ns = batch->time_ns[row];
    const struct skein_event_type *type = skein_trace_type(b->trace, batch->type[row]);
    const struct skein_arg *args = skein_batch_args(batch, row);
    bool open = batch->kind[row] == SKEIN_ROW_OPEN;
    if (dur_ns < (t->lock ? LOCK_MIN_NS : SPAN_MIN_NS))
        return;
    if (b->span_count >= b->limits.spans)
        spans_thin(b);
    if (dur_ns < b->span_floor_ns || b->span_count >= b->limits.spans) {
        b->report.totals.spans_left_out++;
        return;
    }
    if (!array_grow(b->spans, b->span_count + 1, &b->span_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    struct report_span *s = &b->spans[b->span_count++];
    *s = (struct report_span){.thread = batch->thread[row],
                              .type = batch->type[row],
                              .stack = stack,
                              .open = open,
                              .from_ns = from_ns,
                              .to_ns =
                                  dur_ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + dur_ns};
    if (open && batch->more[row] != SKEIN_NONE && batch->mores[batch->more[row]].has_detail) {
        s->object = (uint64_t)batch->mores[batch->more[row]].detail;
    } else if (!open) {
        uint8_t kind = type->arg_count > 0 ? type->args[0].type : 0;
        s->object =
            kind == SKEIN_T_U64 || kind == SKEIN_T_I64 || kind == SKEIN_T_PTR ? args[0].u64 : 0;
        s->result = number_of(type, args, t->result);
        s->owner = number_of(type, args, t->owner);
    }
}

/* Errors that tell of nothing wrong: a call that does not wait, a path that is looked for. */
static bool error_counts(int64_t result)
{
    static const int64_t usual[] = {-2, -4, -10, -11, -17, -114, -115, -125};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (result == usual[i])
            return false;
    return result < 0 && result >= -4095;
}

static void series_take(struct trace_report_builder *b, struct report_process *p, size_t label,
                        const struct report_type *t, const struct skein_batch *batch, uint32_t row)
{
    const struct skein_event_type *type = skein_trace_type(b->trace, batch->type[row]);
    int64_t result = number_of(type, skein_batch_args(batch, row), t->result);
    if (!array_grow_zero(p->series, label + 1, &p->series_cap) ||
        (p->series[label] == NULL && (p->series[label] = calloc(1, sizeof **p->series)) == NULL)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    struct report_series *s = p->series[label];
    size_t at = report_bucket(b, batch->time_ns[row]);
    s->count[at]++;
    s->total_ns[at] += batch->dur_ns[row] < MS(3600000) ? batch->dur_ns[row] : MS(3600000);
    if (t->calls && t->result >= 0 && error_counts(result)) {
        s->errors[at]++;
        s->error = result;
    }
    if (t->calls && t->result >= 0 && (result == -23 || result == -24)) {
        p->exhausted++;
        p->exhausted_ns = batch->time_ns[row];
    }
}

static void region_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                        const struct skein_batch *batch, uint32_t row)
{
    uint32_t number = batch->process[row];
    const struct report_type *t = type_get(b, batch->type[row]);
    struct report_actor *a = actor_get(b, batch->thread[row]);
    if (t == NULL || a == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    bool open = batch->kind[row] == SKEIN_ROW_OPEN;
    size_t label = (size_t)t->label;
    uint32_t stack = 0;
    if (open || moment_would_keep(b->moment, (size_t)a->moment, label, batch->dur_ns[row]))
        stack = report_stack_keep(b, cursor, batch, row);
    const struct moment_span span = {
        .time_ns = batch->time_ns[row],
        .dur_ns = batch->dur_ns[row],
        .open = open,
        .clipped = (batch->flags[row] & (SKEIN_ROW_BEGIN_CLIPPED | SKEIN_ROW_END_CLIPPED)) != 0,
        .at_work = batch->depth[row] > 0,
        .stack = stack};
    bool work = skein_trace_type(b->trace, batch->type[row])->klass == SKEIN_CLASS_SPAN;
    if (moment_span_put(b->moment, (size_t)a->moment, label, &span, work) != SKEIN_OK)
        b->status = SKEIN_NO_MEMORY;
    if (!a->stands_in)
        span_keep(b, batch, row, t, stack);
    if (!open)
        series_take(b, &b->processes[number], label, t, batch, row);
    b->report.totals.open += open;
}

/* ---- counters ---- */

static bool value_of(const struct skein_event_type *type, const struct skein_arg *args,
                     double *value)
{
    if (type->arg_count < 1 || type->args[0].type > SKEIN_T_F64)
        return false;
    *value = type->args[0].type == SKEIN_T_F64   ? args[0].f64
             : type->args[0].type == SKEIN_T_I64 ? (double)args[0].i64
                                                 : (double)args[0].u64;
    return *value > -1e300 && *value < 1e300;
}

static void counter_take(struct trace_report_builder *b, const struct skein_batch *batch,
                         uint32_t row)
{
    const uint32_t key[2] = {batch->thread[row], batch->type[row]};
    double value;
    bool fresh;
    b->report.totals.counters++;
    if (!value_of(skein_trace_type(b->trace, key[1]), skein_batch_args(batch, row), &value))
        return;
    size_t had = b->counter_keys.count;
    int64_t at = intern_table_put(&b->counter_keys, key, sizeof key, &fresh);
    if (at >= REPORT_COUNTERS_MAX) {
        b->report.totals.counters_left_out += fresh;
        return;
    }
    if (at < 0 || !array_grow(b->counters, had + 1, &b->counter_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    struct report_counter *c = &b->counters[at];
    uint64_t at_ns = batch->time_ns[row];
    if (fresh)
        *c = (struct report_counter){.thread = key[0],
                                     .type = key[1],
                                     .process = batch->process[row],
                                     .from_ns = at_ns,
                                     .first = value,
                                     .least = value,
                                     .most = value,
                                     .before = value};
    size_t bucket = report_bucket(b, at_ns);
    c->falls += value < c->before;
    c->count++;
    c->to_ns = at_ns;
    c->before = c->last = value;
    c->least = value < c->least ? value : c->least;
    c->most = value > c->most ? value : c->most;
    c->sum[bucket] += value;
    c->counts[bucket]++;
}

/* ---- silences ---- */

static void silence_put(struct report_silence *longest, const struct report_silence *silence)
{
    size_t at = REPORT_SILENCES;
    uint64_t ns = silence->to_ns - silence->from_ns;
    while (at > 0 && ns > longest[at - 1].to_ns - longest[at - 1].from_ns)
        at--;
    if (at == REPORT_SILENCES)
        return;
    memmove(&longest[at + 1], &longest[at], (REPORT_SILENCES - 1 - at) * sizeof *longest);
    longest[at] = *silence;
}

static unsigned level_of_silence(uint64_t ns)
{
    return ns < 2 ? 0 : 63u - (unsigned)__builtin_clzll(ns);
}

/* A record was made at at_ns: before it, its thread and its process were silent. */
static void record_take(struct trace_report_builder *b, const struct skein_batch *batch,
                        uint32_t row, uint64_t at_ns)
{
    struct report_process *p = &b->processes[batch->process[row]];
    if (p->last_ns != 0 && at_ns > p->last_ns) {
        struct report_silence silence = {.from_ns = p->last_ns, .to_ns = at_ns};
        p->silence_levels[level_of_silence(at_ns - p->last_ns)]++;
        p->silence_count++;
        if (at_ns - p->last_ns >= SILENCE_MIN_NS)
            silence_put(p->silences, &silence);
    }
    p->first_ns = p->first_ns == 0 || at_ns < p->first_ns ? at_ns : p->first_ns;
    p->last_ns = at_ns > p->last_ns ? at_ns : p->last_ns;
    if (batch->thread[row] == SKEIN_NONE)
        return;
    struct report_actor *a = actor_get(b, batch->thread[row]);
    if (a == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    if (a->last_ns != 0 && at_ns > a->last_ns && at_ns - a->last_ns >= SILENCE_MIN_NS) {
        bool region = batch->kind[row] == SKEIN_ROW_REGION && batch->type[row] != SKEIN_NONE;
        const struct report_type *t = region ? type_get(b, batch->type[row]) : NULL;
        if (region && t == NULL)
            b->status = SKEIN_NO_MEMORY;
        const struct label *label = t != NULL ? &b->moment->labels[t->label] : NULL;
        silence_put(a->silences,
                    &(struct report_silence){
                        .from_ns = a->last_ns,
                        .to_ns = at_ns,
                        .waits = label != NULL &&
                                 (label->for_lock || (batch->depth[row] == 0 &&
                                                      (label->for_anything ||
                                                       (label->rhythmic && !label->own_time))))});
    }
    a->first_ns = a->first_ns == 0 ? at_ns : a->first_ns;
    a->last_ns = at_ns > a->last_ns ? at_ns : a->last_ns;
    a->rows++;
}

/* ---- rows ---- */

size_t report_bucket(const struct trace_report_builder *b, uint64_t at_ns)
{
    uint64_t window = b->to_ns > b->from_ns ? b->to_ns - b->from_ns : 1;
    uint64_t at = at_ns > b->from_ns ? at_ns - b->from_ns : 0;
    if (at >= window)
        return REPORT_BUCKETS - 1;
    return (size_t)((double)at / (double)window * REPORT_BUCKETS) % REPORT_BUCKETS;
}

static void loss_take(struct trace_report_builder *b, const struct skein_batch *batch, uint32_t row)
{
    uint32_t more = batch->more[row];
    uint8_t reason = more != SKEIN_NONE ? batch->mores[more].loss_reason : 0;
    uint64_t records = more != SKEIN_NONE ? batch->mores[more].lost : 0, from = batch->time_ns[row];
    uint64_t to = batch->dur_ns[row] > UINT64_MAX - from ? UINT64_MAX : from + batch->dur_ns[row];
    size_t at = 0;
    while (at < b->loss_count &&
           (b->losses[at].reason != reason || b->losses[at].process != batch->process[row]))
        at++;
    if (at == b->loss_count) {
        if (!array_grow(b->losses, b->loss_count + 1, &b->loss_cap)) {
            b->status = SKEIN_NO_MEMORY;
            return;
        }
        b->losses[b->loss_count++] = (struct report_loss){
            .reason = reason, .process = batch->process[row], .from_ns = from, .to_ns = to};
    }
    struct report_loss *loss = &b->losses[at];
    loss->places++;
    loss->records += records;
    loss->from_ns = from < loss->from_ns ? from : loss->from_ns;
    loss->to_ns = to > loss->to_ns ? to : loss->to_ns;
}

static void window_take(struct trace_report_builder *b, const struct skein_batch *batch,
                        uint32_t row, uint64_t until_ns)
{
    struct report_process *p = &b->processes[batch->process[row]];
    bool open = batch->kind[row] == SKEIN_ROW_OPEN;
    uint64_t from_ns = batch->time_ns[row];
    moment_time_put(b->moment, (size_t)p->moment, from_ns, until_ns, open);
    /* What has lasted since long before is no sign that so much was recorded. */
    if (!open)
        from_ns = until_ns;
    else if (from_ns < b->from_ns)
        from_ns = b->from_ns < until_ns ? b->from_ns : until_ns;
    b->report.from_ns =
        b->report.from_ns == 0 || from_ns < b->report.from_ns ? from_ns : b->report.from_ns;
    b->report.to_ns = until_ns > b->report.to_ns ? until_ns : b->report.to_ns;
}

static void row_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                     const struct skein_batch *batch, uint32_t row)
{
    uint8_t kind = batch->kind[row];
    b->report.totals.rows++;
    if (kind == SKEIN_ROW_LOSS) {
        loss_take(b, batch, row);
        return;
    }
    if (batch->process[row] == SKEIN_NONE)
        return;
    if (process_get(b, batch->process[row]) == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    if ((batch->flags[row] & SKEIN_ROW_EVIDENCE) != 0) {
        b->report.totals.evidence_rows++;
        if (batch->type[row] != SKEIN_NONE &&
            report_evidence_take(b, cursor, batch, row) != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        return;
    }
    uint64_t dur_ns = kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN ? batch->dur_ns[row] : 0;
    uint64_t until_ns =
        dur_ns > UINT64_MAX - batch->time_ns[row] ? UINT64_MAX : batch->time_ns[row] + dur_ns;
    window_take(b, batch, row, until_ns);
    if (kind != SKEIN_ROW_OPEN)
        record_take(b, batch, row, until_ns);
    b->report.totals.instants += kind == SKEIN_ROW_INSTANT;
    b->report.totals.logs += kind == SKEIN_ROW_LOG;
    if (batch->thread[row] == SKEIN_NONE || batch->type[row] == SKEIN_NONE)
        return;
    if (kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN)
        region_take(b, cursor, batch, row);
    else if (kind == SKEIN_ROW_COUNTER)
        counter_take(b, batch, row);
}

/* What the cuts have, or, where there is evidence alone, that; of it what was asked for. */
static void bounds_take(struct trace_report_builder *b)
{
    uint64_t from_ns = UINT64_MAX, to_ns = 0;
    for (uint32_t i = 0; i < skein_trace_partition_count(b->trace); i++) {
        const struct skein_partition *p = skein_trace_partition(b->trace, i);
        if (p->evidence || p->events == 0)
            continue;
        from_ns = p->from_ns < from_ns ? p->from_ns : from_ns;
        to_ns = p->to_ns > to_ns ? p->to_ns : to_ns;
    }
    if (to_ns == 0)
        skein_trace_bounds(b->trace, &from_ns, &to_ns);
    b->from_ns = b->limits.from_ns > from_ns ? b->limits.from_ns : from_ns;
    b->to_ns = b->limits.to_ns != 0 && b->limits.to_ns < to_ns ? b->limits.to_ns : to_ns;
}

int trace_report_add(struct trace_report_builder *b, const struct skein_trace *trace,
                     struct skein_cursor *cursor, const struct skein_batch *batch)
{
    if (batch->time_ns == NULL || batch->type == NULL || batch->depth == NULL ||
        batch->stack == NULL || batch->args == NULL)
        return SKEIN_INVALID;
    if (b->trace == NULL) {
        b->trace = trace;
        bounds_take(b);
    }
    for (uint32_t row = 0; row < batch->count && b->status == SKEIN_OK; row++)
        row_take(b, cursor, batch, row);
    if (b->status == SKEIN_OK)
        b->status = report_tables_take(b, cursor, batch);
    return b->status;
}
