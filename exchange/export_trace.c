/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives an export: takes batches from a cursor, gives their rows to the format, and hands its bytes
 * on. Counts what came and what was left out. One thread.
 */
#include "export_trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "export_int.h"

#define FLUSH_BYTES ((size_t)256 << 10)

static const struct export_kind *kind_of(enum export_form form)
{
    switch (form) {
    case EXPORT_CHROME:
        return &export_chrome;
    case EXPORT_CTF:
        return &export_ctf;
    case EXPORT_FXT:
        return &export_fxt;
    case EXPORT_OTLP:
        return &export_otlp;
    default:
        return NULL;
    }
}

bool export_is_folder(enum export_form form)
{
    const struct export_kind *kind = kind_of(form);
    return kind != NULL && kind->folder;
}

static uint64_t rows_expected(const struct skein_trace *trace)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < skein_trace_partition_count(trace); i++)
        all += skein_trace_partition(trace, i)->events;
    return all;
}

int export_new(struct skein_trace *trace, enum export_form form, uint64_t groups,
               const struct export_sink *sink, struct export_run **out)
{
    const struct export_kind *kind = kind_of(form);
    *out = NULL;
    if (kind == NULL)
        return SKEIN_INVALID;
    struct export_run *x = calloc(1, sizeof *x);
    if (x == NULL)
        return SKEIN_NO_MEMORY;
    x->trace = trace;
    x->kind = kind;
    x->sink = *sink;
    x->expected = rows_expected(trace);
    x->state = calloc(1, kind->state_bytes);
    int status = x->state == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    struct skein_query query = {.size = sizeof query,
                                .columns = kind->columns,
                                .kinds = kind->kinds,
                                .groups = groups,
                                .by_process = kind->by_process};
    if (status == SKEIN_OK)
        status = skein_cursor_new(trace, &query, &x->cursor);
    if (status == SKEIN_OK)
        status = kind->begin(x);
    if (status != SKEIN_OK)
        export_free(&x);
    *out = x;
    return status;
}

void export_free(struct export_run **run)
{
    struct export_run *x = *run;
    *run = NULL;
    if (x == NULL)
        return;
    if (x->state != NULL)
        x->kind->fini(x);
    skein_cursor_free(&x->cursor);
    intern_table_fini(&x->numbers.taken);
    free(x->numbers.pids);
    free(x->numbers.tids);
    export_lanes_fini(&x->lanes);
    buf_fini(&x->out);
    free(x->state);
    free(x);
}

/* Held below the end of time, whatever a trace says. */
static uint64_t time_end(uint64_t from, uint64_t dur)
{
    return dur > UINT64_MAX - from ? UINT64_MAX : from + dur;
}

static void row_take(const struct export_run *x, const struct skein_batch *b, uint32_t i,
                     struct export_row *row)
{
    *row = (struct export_row){.kind = b->kind[i],
                               .flags = b->flags[i],
                               .process = b->process[i],
                               .thread = b->thread[i],
                               .type = b->type[i],
                               .stack = b->stack != NULL ? b->stack[i] : 0,
                               .time_ns = b->time_ns[i],
                               .dur_ns = b->dur_ns[i],
                               .args = b->args != NULL ? skein_batch_args(b, i) : NULL,
                               .number = i};
    row->made_ns = time_end(row->time_ns, row->dur_ns);
    row->of = skein_trace_process(x->trace, row->process);
    if (row->thread != SKEIN_NONE)
        row->on = skein_trace_thread(x->trace, row->thread);
    if (row->type != SKEIN_NONE)
        row->what = skein_trace_type(x->trace, row->type);
    if (b->more != NULL && b->more[i] != SKEIN_NONE)
        row->more = &b->mores[b->more[i]];
}

static void row_count(struct export_run *x, const struct export_row *row)
{
    unsigned kind = row->kind < EXPORT_ROW_KINDS ? row->kind : 0;
    x->had[kind] += row->kind != SKEIN_ROW_BEGIN; /* it comes again when it ends */
    if (row->kind != SKEIN_ROW_LOSS || row->more == NULL)
        return;
    x->lost_records += row->more->lost;
    x->losses_unknown += row->more->lost == 0;
}

static int run_flush(struct export_run *x)
{
    int status = x->out.status;
    if (status == SKEIN_OK && x->out.len > 0)
        status = x->sink.put(x->sink.context, NULL, x->out.data, x->out.len);
    buf_clear(&x->out);
    return status;
}

int export_some(struct export_run *x)
{
    struct skein_batch batch;
    int got = skein_cursor_next(x->cursor, &batch);
    int status = got < 0 ? got : SKEIN_OK;
    if (got > 0)
        x->rows += batch.count;
    for (uint32_t i = 0; got > 0 && i < batch.count && status == SKEIN_OK; i++) {
        struct export_row row;
        row_take(x, &batch, i, &row);
        row_count(x, &row);
        if (x->kind->nests)
            status = export_lane_take(x, &row);
        if (status == SKEIN_OK)
            status = x->kind->row(x, &row);
        if (status == SKEIN_OK && x->out.len >= FLUSH_BYTES)
            status = run_flush(x);
    }
    if (status == SKEIN_OK && got == 0)
        status = x->kind->end(x);
    int flushed = run_flush(x);
    if (status == SKEIN_OK)
        status = flushed;
    return status != SKEIN_OK ? status : got > 0;
}

void export_progress(const struct export_run *x, uint64_t *done, uint64_t *total)
{
    *done = x->rows;
    *total = x->expected;
}

size_t export_gaps(const struct export_run *x, const struct skein_gap **gaps)
{
    return skein_cursor_gaps(x->cursor, gaps);
}

/* ---- what is told in the end ---- */

static const struct {
    const char *one, *more;
} words[EXPORT_ROW_KINDS] = {{"row of an unknown kind", "rows of an unknown kind"},
                             {"begin", "begins"},
                             {"region", "regions"},
                             {"instant", "instants"},
                             {"count", "counts"},
                             {"log", "logs"},
                             {"open region", "open regions"},
                             {"loss", "losses"},
                             {"end without its begin", "ends without their begin"}};

void export_count_put(struct buf *line, uint64_t n, const char *one, const char *more)
{
    if (n > 0)
        buf_printf(line, "%s%" PRIu64 " %s", line->len > 0 ? ", " : "", n, n == 1 ? one : more);
}

static void told_join(struct buf *line, const char *before, struct buf *part)
{
    if (part->len > 0) {
        buf_printf(line, "%s", before);
        buf_put(line, part->data, part->len);
    }
    if (part->status != SKEIN_OK)
        line->status = part->status;
    buf_clear(part);
}

void export_told(const struct export_run *x, struct buf *line)
{
    struct buf part = {0};
    for (unsigned i = 0; i < EXPORT_ROW_KINDS; i++)
        export_count_put(&part, x->had[i] - x->left[i], words[i].one, words[i].more);
    if (part.len == 0)
        buf_printf(&part, "nothing");
    told_join(line, "", &part);
    for (unsigned i = 0; i < EXPORT_ROW_KINDS; i++)
        export_count_put(&part, x->left[i], words[i].one, words[i].more);
    export_count_put(&part, x->arguments_left, "argument", "arguments");
    if (x->cut_texts > 0)
        export_count_put(&part, x->cut_texts, "mark that a text was cut",
                         "marks that a text was cut");
    if (x->kind->told != NULL)
        x->kind->told(x, &part);
    told_join(line, "; not in it: ", &part);
    buf_fini(&part);
}
