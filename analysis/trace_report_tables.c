/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the tables of a report: regions, threads and the slowest tasks. The first two are made of the
 * trace's summary, which is fed beside the rest, so that a report, its page and `skein stats` say the
 * same numbers of one trace. Entered by trace_report.c with each batch, and once at the end.
 */
#include "ids.h"
#include "trace_report_int.h"
#include "wait_kind.h"

#include <stdlib.h>
#include <string.h>

int report_tables_new(struct trace_report_builder *b)
{
    int status = summary_new(0, &b->summary);
    if (status == SKEIN_OK && !b->limits.no_tasks)
        status = task_path_new(&b->tasks);
    return status;
}

void report_tables_free(struct trace_report_builder *b)
{
    (void)summary_feed_end(&b->feed, NULL);
    task_path_free(&b->tasks);
    summary_free(&b->summary);
    summary_free(&b->services);
    free((void *)(uintptr_t)b->report.regions);
    free((void *)(uintptr_t)b->report.threads);
}

int report_tables_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                       const struct skein_batch *batch)
{
    int status = SKEIN_OK;
    if (b->feed == NULL) {
        b->query = (struct skein_query){
            .size = sizeof b->query, .from_ns = b->limits.from_ns, .to_ns = b->limits.to_ns};
        status = summary_feed_new(b->summary, b->trace, &b->query, &b->feed);
    }
    if (status == SKEIN_OK)
        status = summary_feed_take(b->feed, cursor, batch);
    return status == SKEIN_OK && b->tasks != NULL ? task_path_add(b->tasks, b->trace, batch)
                                                  : status;
}

/* ---- regions ---- */

static uint64_t worked(const struct report_region *r)
{
    uint64_t all = r->total_ns > UINT64_MAX - r->open_ns ? UINT64_MAX : r->total_ns + r->open_ns;
    uint64_t idle =
        r->idle_ns > UINT64_MAX - r->open_idle_ns ? UINT64_MAX : r->idle_ns + r->open_idle_ns;
    return all > idle ? all - idle : 0;
}

static int regions_order(const void *a, const void *b)
{
    const struct report_region *x = a, *y = b;
    uint64_t one = worked(x), other = worked(y);
    if (one != other)
        return one < other ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->service, y->service);
}

static void region_fill(const struct summary *services, const struct summary_name *name,
                        struct report_region *to)
{
    const struct summary_process *rows;
    size_t count = summary_processes(services, &rows);
    const char *text = summary_text(services, name->row.text);
    uint8_t group = (uint8_t)name->row.number;
    *to = (struct report_region){
        .service = name->row.of < count ? summary_text(services, rows[name->row.of].row.text) : "",
        .name = text,
        .group = group,
        .wait = name->row.merged == 0 && wait_kind_of(text, group).wait,
        .merged = name->row.merged,
        .count = name->count,
        .total_ns = name->total_ns,
        .self_ns = name->self_ns,
        .idle_ns = name->idle_ns,
        .open = name->open,
        .open_ns = name->open_ns,
        .open_idle_ns = name->open_idle_ns,
        .median_ns = histogram_quantile(&name->lasted, 0.5),
        .p99_ns = histogram_quantile(&name->lasted, 0.99),
        .most_ns = name->lasted.max_ns};
}

static int regions_make(struct trace_report_builder *b)
{
    const struct summary_name *names;
    size_t count = summary_names(b->services, &names), made = 0;
    struct report_region *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        bool others = names[i].row.merged > 0;
        if ((names[i].row.number >= SUMMARY_INSTANTS && !others) ||
            names[i].count + names[i].open == 0)
            continue;
        region_fill(b->services, &names[i], &rows[made++]);
    }
    qsort(rows, made, sizeof *rows, regions_order);
    b->report.regions = rows;
    b->report.region_count = made < b->limits.rows ? made : b->limits.rows;
    b->report.totals.regions_left_out = made - b->report.region_count;
    return SKEIN_OK;
}

/* ---- threads ---- */

static int threads_order(const void *a, const void *b)
{
    const struct report_thread *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return x->subject.thread < y->subject.thread ? -1 : x->subject.thread > y->subject.thread;
}

/* Which rows of the summary's processes are which of the trace; SUMMARY_NONE: none. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
static int processes_find(const struct trace_report_builder *b, uint32_t *processes)
{
    const struct summary_process *rows;
    struct intern_table ids = {.count = 0};
    size_t count = summary_processes(b->summary, &rows);
    uint32_t *first = calloc(count + 1, sizeof *first);
    int status = first != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        const char *id = summary_text(b->summary, rows[i].row.text);
        bool fresh = false;
        int64_t at = intern_table_put(&ids, id, strlen(id), &fresh);
        status = at < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
        if (fresh)
            first[at] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < b->process_count && status == SKEIN_OK; i++) {
        char id[ID_TEXT_BYTES];
        id_text(skein_trace_process(b->trace, i)->id, id);
        int64_t at = intern_table_find(&ids, id, strlen(id));
        processes[i] = at >= 0 ? first[at] : SUMMARY_NONE;
    }
    intern_table_fini(&ids);
    free(first);
    return status;
}

/* Its time in regions that is not idle, and the longest of them. Each moment once where they have ended; a
 * region in progress counts whole, beside what lies in it: how long that took is not in a summary. */
static void calls_fill(const struct summary *s, struct report_thread **of)
{
    const struct summary_call *calls;
    size_t count = summary_calls(s, &calls);
    for (size_t i = 0; i < count; i++) {
        const struct summary_call *call = &calls[i];
        struct report_thread *row = call->row.of != SUMMARY_NONE ? of[call->row.of] : NULL;
        if (row == NULL)
            continue;
        row->total_ns += call->self_ns > call->idle_ns ? call->self_ns - call->idle_ns : 0;
        row->total_ns +=
            call->open_ns > call->open_idle_ns ? call->open_ns - call->open_idle_ns : 0;
        if (call->most_ns <= row->most_ns || call->idle_ns > call->total_ns / 2)
            continue;
        row->most_ns = call->most_ns;
        row->most_name = summary_text(s, call->row.text);
    }
}

/* The rows of the summary's threads, by process and number. */
struct thread_keys {
    struct intern_table table;
    uint32_t *first; /* row */
};

/* SKEIN_OK, SKEIN_NO_MEMORY; the caller frees either way. */
static int thread_keys_make(const struct trace_report_builder *b, struct thread_keys *keys)
{
    const struct summary_thread *threads;
    size_t count = summary_threads(b->summary, &threads);
    keys->first = calloc(count + 1, sizeof *keys->first);
    int status = keys->first != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        const uint64_t key[2] = {threads[i].row.of, threads[i].row.number};
        bool fresh = false;
        int64_t at = intern_table_put(&keys->table, key, sizeof key, &fresh);
        status = at < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
        if (fresh)
            keys->first[at] = (uint32_t)i;
    }
    return status;
}

/* One row for each thread of the trace that has events of its own; of each row of the summary's
 * threads, which it is. Returns how many, or SKEIN_NO_MEMORY. */
static int64_t threads_find(const struct trace_report_builder *b, struct report_thread *rows,
                            struct report_thread **of, const uint32_t *processes)
{
    const struct summary_thread *threads;
    struct thread_keys keys = {.first = NULL};
    int64_t made = 0;
    (void)summary_threads(b->summary, &threads);
    int status = thread_keys_make(b, &keys);
    for (uint32_t i = 0; i < b->actor_count && status == SKEIN_OK; i++) {
        const struct skein_thread *t = skein_trace_thread(b->trace, i);
        const uint64_t key[2] = {processes[t->process], t->tid};
        int64_t found =
            b->actors[i].moment >= 0 ? intern_table_find(&keys.table, key, sizeof key) : -1;
        uint32_t at = found >= 0 ? keys.first[found] : 0;
        if (found < 0 || of[at] != NULL) /* among the others; or had this number before */
            continue;
        const struct skein_process *p = skein_trace_process(b->trace, t->process);
        of[at] = &rows[made++];
        *of[at] = (struct report_thread){.subject = {.process = t->process,
                                                     .thread = i,
                                                     .pid = p->pid,
                                                     .tid = t->tid,
                                                     .service = p->service,
                                                     .host = p->host,
                                                     .thread_name = t->name},
                                         .count = threads[at].regions,
                                         .most_name = ""};
    }
    intern_table_fini(&keys.table);
    free(keys.first);
    return status == SKEIN_OK ? made : status;
}

static int threads_make(struct trace_report_builder *b)
{
    const struct summary_thread *threads;
    size_t count = summary_threads(b->summary, &threads), kept = 0;
    int64_t made = SKEIN_NO_MEMORY;
    struct report_thread *rows = calloc(count + 1, sizeof *rows);
    struct report_thread **of = calloc(count + 1, sizeof *of);
    uint32_t *processes = calloc(b->process_count + 1, sizeof *processes);
    b->report.threads = rows;
    if (rows != NULL && of != NULL && processes != NULL && processes_find(b, processes) == SKEIN_OK)
        made = threads_find(b, rows, of, processes);
    if (made >= 0)
        calls_fill(b->summary, of);
    free(processes);
    free(of);
    if (made < 0)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < (size_t)made; i++) {
        b->report.totals.threads++;
        b->report.totals.idle_threads += rows[i].total_ns == 0;
        rows[kept] = rows[i];
        kept += rows[i].total_ns != 0;
    }
    qsort(rows, kept, sizeof *rows, threads_order);
    b->report.thread_count = kept < b->limits.rows ? kept : b->limits.rows;
    b->report.totals.threads_left_out = kept - b->report.thread_count;
    return SKEIN_OK;
}

/* ---- */

static void totals_fill(struct trace_report_builder *b)
{
    const struct summary_process *rows;
    size_t count = summary_processes(b->summary, &rows);
    for (size_t i = 0; i < count; i++) {
        b->report.totals.records += rows[i].events;
        b->report.totals.regions += rows[i].regions;
    }
}

int report_tables_make(struct trace_report_builder *b, struct skein_trace *trace,
                       const struct skein_cursor *cursor)
{
    int status = summary_feed_end(&b->feed, cursor);
    if (status == SKEIN_OK)
        status = summary_sort(b->summary);
    if (status == SKEIN_OK)
        status = summary_by_service(b->summary, &b->services);
    if (status == SKEIN_OK)
        status = regions_make(b);
    if (status == SKEIN_OK)
        status = threads_make(b);
    if (status == SKEIN_OK)
        totals_fill(b);
    if (status == SKEIN_OK && b->tasks != NULL)
        status = task_path_end(b->tasks, trace, &b->report.tasks);
    return status;
}
