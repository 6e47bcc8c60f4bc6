/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace files as rows, and rows as partitions. Owns what it loads; one thread.
 */
#include "pack_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "intern_table.h"
#include "partition_writer.h"
#include "trace_file.h"

static size_t type_index(const struct pack_part *part, const struct partition_event_type *type)
{
    const struct partition_event_type *types;
    partition_reader_types(part->reader, &types);
    return (size_t)(type - types);
}

/* Ticks of a length in ns: a reader gives ns alone. */
static uint64_t ticks_of(const struct partition_info *info, uint64_t ns)
{
    unsigned __int128 ticks = info->end.ticks - info->begin.ticks;
    return (uint64_t)(ticks * ns / (info->end.monotonic_ns - info->begin.monotonic_ns));
}

static bool row_add(struct pack_part *part, const struct trace_event *event)
{
    const struct partition_thread *threads;
    partition_reader_threads(part->reader, &threads);
    struct pack_row row = {.ticks = event->ticks,
                           .thread = (uint32_t)(event->thread - threads),
                           .type = PACK_END,
                           .args = (uint32_t)part->arg_count};
    bool span = event->kind == TRACE_REGION && event->type->klass == SKEIN_CLASS_SPAN;
    bool ends = event->kind == TRACE_END_ONLY || (event->kind == TRACE_REGION && !span);
    if (event->kind == TRACE_OPEN || event->kind == TRACE_LOSS || event->begin_clipped)
        return true; /* no record of its own */
    if (!array_grow(part->rows, part->row_count + 1, &part->row_cap))
        return false;
    if (!ends) {
        row.type = (uint32_t)type_index(part, event->type);
        row.dur = span ? ticks_of(partition_reader_info(part->reader), event->dur_ns) : 0;
        if (!array_grow(part->args, part->arg_count + SKEIN_ARGS_MAX, &part->arg_cap))
            return false;
        memcpy(part->args + part->arg_count, event->args, event->type->nargs * sizeof *event->args);
        part->arg_count += event->type->nargs;
    }
    part->rows[part->row_count++] = row;
    return true;
}

/* Thread by thread; records of a thread stay in order. */
static bool rows_group(struct pack_part *part)
{
    const struct partition_thread *threads;
    size_t thread_count = partition_reader_threads(part->reader, &threads);
    size_t *at = calloc(thread_count + 1, sizeof *at);
    struct pack_row *grouped = calloc(part->row_count + 1, sizeof *grouped);
    for (size_t i = 0; at != NULL && i < part->row_count; i++)
        at[part->rows[i].thread + 1]++;
    for (size_t i = 0; at != NULL && i < thread_count; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; at != NULL && grouped != NULL && i < part->row_count; i++)
        grouped[at[part->rows[i].thread]++] = part->rows[i];
    free(at);
    if (at == NULL || grouped == NULL) {
        free(grouped);
        return false;
    }
    free(part->rows);
    part->rows = grouped;
    return true;
}

static int part_load(struct pack_part *part)
{
    char error[256] = "";
    struct trace_event event;
    int status =
        partition_reader_new(part->bytes.data, part->bytes.len, &part->reader, error, sizeof error);
    while (status == SKEIN_OK) {
        int got = partition_reader_next(part->reader, &event);
        if (got <= 0) {
            status = got;
            break;
        }
        if (!row_add(part, &event))
            status = SKEIN_NO_MEMORY;
    }
    return status == SKEIN_OK && !rows_group(part) ? SKEIN_NO_MEMORY : status;
}

int pack_trace_load(const char *path, struct pack_trace *trace)
{
    char error[256] = "";
    struct trace_file *file;
    *trace = (struct pack_trace){0};
    int status = trace_file_open(path, &file, error, sizeof error);
    for (size_t i = 0; status == SKEIN_OK && i < trace_file_count(file); i++) {
        if (trace_file_entry(file, i)->footer.evidence)
            continue;
        if (!array_grow(trace->parts, trace->count + 1, &trace->cap)) {
            status = SKEIN_NO_MEMORY;
            break;
        }
        struct pack_part *part = &trace->parts[trace->count++];
        *part = (struct pack_part){0};
        status = trace_file_read(file, i, &part->bytes);
        if (status == SKEIN_OK)
            status = part_load(part);
        trace->events += part->row_count;
    }
    if (status != SKEIN_OK)
        fprintf(stderr, "%s: %s\n", path, error[0] ? error : skein_status_text(status));
    trace_file_free(&file);
    return status;
}

void pack_trace_free(struct pack_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        partition_reader_free(&trace->parts[i].reader);
        buf_fini(&trace->parts[i].bytes);
        free(trace->parts[i].rows);
        free(trace->parts[i].args);
    }
    free(trace->parts);
    *trace = (struct pack_trace){0};
}

static void value_put(struct buf *out, struct intern_table *strings, uint8_t type,
                      const struct partition_value *value)
{
    bool fresh;
    if (type == SKEIN_T_STR)
        buf_put_uleb(
            out, (uint64_t)intern_table_put(strings, value->str.text, value->str.len, &fresh) * 2);
    else if (type == SKEIN_T_SEQ) {
        buf_put_uleb(out, value->seq.resource);
        buf_put_uleb(out, value->seq.number);
    } else if (type == SKEIN_T_F64) {
        buf_put_u64(out, value->u64);
    } else if (type == SKEIN_T_I64) {
        buf_put_sleb(out, value->i64);
    } else {
        buf_put_uleb(out, value->u64);
    }
}

void pack_rows_put(const struct pack_part *part, struct buf *out)
{
    const struct partition_event_type *types;
    partition_reader_types(part->reader, &types);
    struct intern_table strings = {0};
    uint64_t last = 0;
    for (size_t i = 0; i < part->row_count; i++) {
        const struct pack_row *row = &part->rows[i];
        bool same = i > 0 && row[-1].thread == row->thread && row->ticks >= last;
        buf_put_uleb(out, row->type == PACK_END ? 1 : 16u + row->type);
        buf_put_uleb(out, same ? row->ticks - last : 0);
        last = row->ticks;
        if (row->type == PACK_END)
            continue;
        const struct partition_event_type *type = &types[row->type];
        if (type->klass == SKEIN_CLASS_SPAN)
            buf_put_uleb(out, row->dur);
        for (unsigned k = 0; k < type->nargs; k++)
            value_put(out, &strings, type->args[k].type, &part->args[row->args + k]);
    }
    intern_table_fini(&strings);
}

int pack_part_write(const struct pack_part *part, struct buf *out)
{
    const struct partition_event_type *types;
    const struct partition_thread *threads;
    size_t type_count = partition_reader_types(part->reader, &types);
    size_t thread_count = partition_reader_threads(part->reader, &threads);
    struct partition_writer *w;
    int status = partition_writer_new(partition_reader_info(part->reader), &w);
    if (status != SKEIN_OK)
        return status;
    uint32_t *ids = calloc(type_count + 1, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < type_count; i++)
        if (types[i].klass != SKEIN_CLASS_STACK)
            ids[i] = (uint32_t)partition_writer_type(w, &types[i]);
    for (size_t i = 0; i < thread_count; i++)
        partition_writer_thread(w, &threads[i]);
    for (size_t i = 0; ids != NULL && i < part->row_count; i++) {
        const struct pack_row *row = &part->rows[i];
        if (i == 0 || row->thread != row[-1].thread)
            partition_writer_batch(w, row->thread, 1, 1, false);
        if (row->type == PACK_END)
            partition_writer_end(w, row->ticks);
        else
            partition_writer_event(w, ids[row->type], row->ticks, row->dur, part->args + row->args);
    }
    status = ids == NULL ? SKEIN_NO_MEMORY : partition_writer_finish(w, out, NULL);
    partition_writer_free(&w);
    free(ids);
    return status;
}
