/* SPDX-License-Identifier: Apache-2.0
 *
 * The flush: records by thread, into a cut and, where there is any, into evidence beside it.
 */
#include <stdlib.h>
#include <string.h>

#include "import_out_int.h"
#include "partition_writer.h"

struct put {
    struct import_out *out;
    struct partition_writer *w;
    bool evidence;
    uint32_t *threads; /* places in the partition + 1; 0: not in it */
    struct buf bytes;
};

static struct clock_snapshot snapshot_at(const struct import_out *out, uint64_t ns)
{
    uint64_t ahead = (uint64_t)out->ahead_ns, real = ns + ahead;
    if (out->ahead_ns < 0 && ns < 0 - ahead)
        real = 0;
    return (struct clock_snapshot){
        .ticks = ns, .monotonic_ns = ns, .boottime_ns = ns, .realtime_ns = real};
}

static int writer_begin(struct put *p)
{
    struct import_out *out = p->out;
    uint64_t to_ns = out->last_ns > out->from_ns ? out->last_ns : out->from_ns + 1; /* F-16 */
    const struct partition_info info = {
        .key = {.process = out->key.process,
                .sequence = p->evidence ? out->evidence_sequence++ : out->sequence++},
        .pid = out->pid,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .evidence = p->evidence,
        .begin = snapshot_at(out, out->from_ns),
        .end = snapshot_at(out, to_ns),
        .window_from_ticks = out->from_ns,
        .window_to_ticks = out->last_ns,
        .host = out->host,
        .service = out->service,
        .labels = "",
        .exe = ""};
    for (size_t i = 0; i < out->type_keys.count; i++)
        out->types[i].at = -1;
    for (size_t i = 0; i < out->stack_count; i++)
        out->stacks[i].at = 0;
    return partition_writer_new(&info, &p->w);
}

static struct partition_value noted_text(const struct import_out *out, uint64_t text)
{
    struct partition_value value = {.str = {.text = "", .len = 0}};
    if (text < out->texts.count) {
        value.str.text = (const char *)intern_table_bytes(&out->texts, (size_t)text);
        value.str.len = out->texts.entries[text].len;
    }
    return value;
}

static int64_t type_put(struct put *p, uint32_t type)
{
    struct out_type *t = &p->out->types[type];
    if (t->at < 0)
        t->at = partition_writer_type(p->w, &t->type);
    return t->at;
}

static int64_t thread_put(struct put *p, uint32_t thread)
{
    char name[PARTITION_NAME_MAX + 1];
    const struct out_thread *t = &p->out->threads[thread];
    if (p->threads[thread] != 0)
        return p->threads[thread] - 1;
    struct partition_value text = noted_text(p->out, t->name);
    size_t n = strnlen(text.str.text, text.str.len);
    n = n <= PARTITION_NAME_MAX ? n : PARTITION_NAME_MAX;
    memcpy(name, text.str.text, n);
    name[n] = '\0';
    int64_t at = partition_writer_thread(
        p->w,
        &(struct partition_thread){.tid = t->tid, .incarnation = t->incarnation, .name = name});
    if (at >= 0)
        p->threads[thread] = (uint32_t)at + 1;
    return at;
}

/* ---- stacks ---- */

static void name_put(struct put *p, uint64_t pc)
{
    struct partition_line lines[PARTITION_LINES_MAX];
    const struct import_out *out = p->out;
    uint32_t at = import_map_get(&out->pcs, pc);
    if (at == IMPORT_MAP_NONE)
        return;
    const struct out_name *name = &out->pc_names[at];
    for (uint32_t i = 0; i < name->count; i++) {
        const struct out_line *line = &out->lines[name->lines + i];
        lines[i] = (struct partition_line){.function = import_kept(out, line->function),
                                           .file = import_kept(out, line->file),
                                           .line = line->line};
    }
    (void)partition_writer_symbol(
        p->w, &(struct partition_symbol){.address = pc, .lines = lines, .line_count = name->count});
}

static void stack_put(struct put *p, uint32_t number)
{
    struct import_out *out = p->out;
    if (number == 0 || number > out->stack_count)
        return;
    struct out_stack *stack = &out->stacks[number - 1];
    const uint64_t *pcs = out->stack_pcs + stack->pcs;
    for (uint32_t i = 0; stack->at == 0 && i < stack->count; i++)
        name_put(p, pcs[i]);
    if (stack->at == 0) {
        int64_t id = partition_writer_stack(
            p->w, &(struct partition_stack){.pcs = pcs,
                                            .count = stack->count,
                                            .end = stack->cut ? PARTITION_STACK_LISTED_CUT
                                                              : PARTITION_STACK_LISTED});
        if (id < 0) { /* its table is full */
            out->told->left_out++;
            import_why(out->told, "stacks of one part of the trace take more room than it has; "
                                  "records go without theirs");
            return;
        }
        stack->at = (uint32_t)id;
    }
    partition_writer_event_stack(p->w, stack->at);
    out->told->stacks++;
}

/* ---- records ---- */

static int record_put(struct put *p, const struct out_record *record)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    struct import_out *out = p->out;
    const struct partition_event_type *type = &out->types[record->type].type;
    int64_t at = type_put(p, record->type);
    if (at < 0)
        return (int)at;
    for (unsigned i = 0; i < type->nargs; i++) {
        uint64_t value = out->values[record->values + i];
        values[i] = type->args[i].type == SKEIN_T_STR ? noted_text(out, value)
                                                      : (struct partition_value){.u64 = value};
    }
    /* One that was raised begins its batch a moment earlier: the reader raises it, and marks it (F-29). */
    uint64_t ns = record->time_ns - (record->raised && record->time_ns > out->flushed_ns);
    partition_writer_event(p->w, (uint32_t)at, ns, record->dur_ns, values);
    stack_put(p, record->stack);
    out->told->events++;
    return SKEIN_OK;
}

static void ends_put(struct put *p)
{
    struct import_out *out = p->out;
    for (size_t i = 0; i < out->loss_count; i++)
        partition_writer_loss(p->w, &out->losses[i]);
    for (size_t i = 0; i < out->open_count; i++) {
        struct partition_open open = out->opens[i];
        int64_t type = type_put(p, open.type), thread = thread_put(p, open.thread);
        if (type < 0 || thread < 0)
            return; /* the writer knows */
        open.type = (uint32_t)type;
        open.thread = (uint32_t)thread;
        partition_writer_open(p->w, &open);
    }
}

static int partition_put(struct put *p)
{
    struct import_out *out = p->out;
    int status = writer_begin(p);
    uint32_t before = UINT32_MAX;
    uint64_t sequence = 0; /* which nothing goes on from: each batch stands for itself */
    for (size_t i = 0; status == SKEIN_OK && i < out->record_count; i++) {
        const struct out_record *record = &out->records[i];
        if (out->types[record->type].evidence != p->evidence)
            continue;
        if (record->thread != before || record->raised) {
            int64_t thread = thread_put(p, record->thread);
            if (thread < 0)
                return (int)thread;
            partition_writer_batch(p->w, (uint32_t)thread, 0, sequence += 2, false);
            before = record->thread;
        }
        status = record_put(p, record);
    }
    if (status == SKEIN_OK && !p->evidence)
        ends_put(p);
    if (status == SKEIN_OK)
        status = partition_writer_finish(p->w, &p->bytes, NULL);
    if (status == SKEIN_OK)
        status = out->to.put(out->to.context, p->bytes.data, p->bytes.len);
    out->told->partitions++;
    return status;
}

static int records_compare(const void *a, const void *b)
{
    const struct out_record *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->values < y->values ? -1 : x->values > y->values; /* as they came */
}

static bool any_evidence(const struct import_out *out)
{
    for (size_t i = 0; i < out->record_count; i++)
        if (out->types[out->records[i].type].evidence)
            return true;
    return false;
}

int out_partitions_put(struct import_out *out)
{
    struct put p = {.out = out};
    int status = SKEIN_OK;
    if (out->record_count > 0)
        qsort(out->records, out->record_count, sizeof *out->records, records_compare);
    for (unsigned pass = 0; pass < 2 && status == SKEIN_OK; pass++) {
        p.evidence = pass == 1;
        if (p.evidence && !any_evidence(out))
            break;
        p.threads = calloc(out->thread_keys.count + 1, sizeof *p.threads);
        status = p.threads != NULL ? partition_put(&p) : SKEIN_NO_MEMORY;
        partition_writer_free(&p.w);
        buf_fini(&p.bytes);
        free(p.threads);
    }
    out->told->threads += out->thread_keys.count;
    return status;
}
