/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a trace for its page, and says what it is and what is missing. Entered by page_trace_put's
 * caller.
 */
#include "array.h"
#include "clock.h"
#include "page_int.h"
#include "page_trace_int.h"
#include "trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_OWN  6
#define NAMED_MOST 4 /* services that are named among the facts */

const char *page_trace_text(struct page_trace *t, struct buf *made, int *status)
{
    char *text = NULL;
    buf_put_u8(made, 0);
    if (array_grow(t->texts, t->text_count + 1, &t->text_cap) && made->status == SKEIN_OK)
        text = strdup((const char *)made->data);
    buf_fini(made);
    if (text == NULL) {
        *status = SKEIN_NO_MEMORY;
        return "";
    }
    t->texts[t->text_count++] = text;
    return text;
}

/* ---- reading ---- */

static const struct skein_event_type *type_of(const void *context, uint32_t type)
{
    return skein_trace_type(context, type);
}

static const char *type_name(const void *context, uint32_t type)
{
    return type < skein_trace_type_count(context) ? skein_trace_type(context, type)->name : "";
}

/* Of its first argument, which is what a counter counts. */
static const char *type_unit(const void *context, uint32_t number)
{
    const struct skein_event_type *type =
        number < skein_trace_type_count(context) ? skein_trace_type(context, number) : NULL;
    return type != NULL && type->arg_count > 0 ? type->args[0].unit : "";
}

static const char *loss_name(const void *context, uint32_t type)
{
    (void)context;
    switch (type) {
    case LANES_GAP + SKEIN_GAP_BROKEN:
        return "the partition cannot be read";
    case LANES_GAP + SKEIN_GAP_MISSING:
        return "a partition is missing";
    case LANES_GAP + SKEIN_GAP_TORN:
        return "bytes belong to no partition";
    case LANES_SCHED_LOST:
        return "of the scheduler";
    default:
        return type < LANES_GAP ? skein_loss_text((uint8_t)type) : "not known";
    }
}

static int batches_read(struct page_trace *t, struct skein_cursor *cursor,
                        struct summary_feed *feed)
{
    struct skein_batch batch;
    int status = SKEIN_OK, got = 1;
    while (status == SKEIN_OK && (got = skein_cursor_next(cursor, &batch)) > 0) {
        status = summary_feed_take(feed, cursor, &batch);
        if (status == SKEIN_OK)
            status = lanes_add(t->lanes, &batch);
    }
    if (status == SKEIN_OK && got == 0) {
        const struct skein_gap *gaps;
        size_t count = skein_cursor_gaps(cursor, &gaps);
        status = lanes_add_gaps(t->lanes, gaps, count);
    }
    return got < 0 ? got : status;
}

/* One pass: every row goes to the summary and to the lanes. */
static int trace_read(struct page_trace *t, const struct skein_query *query)
{
    struct skein_cursor *cursor = NULL;
    struct summary_feed *feed = NULL;
    int status = skein_cursor_new(t->trace, query, &cursor);
    if (status == SKEIN_OK)
        status = summary_feed_new(t->summary, t->trace, query, &feed);
    if (status == SKEIN_OK)
        status = batches_read(t, cursor, feed);
    if (feed != NULL) {
        int end = summary_feed_end(&feed, status == SKEIN_OK ? cursor : NULL);
        status = status == SKEIN_OK ? end : status;
    }
    skein_cursor_free(&cursor);
    if (status == SKEIN_OK)
        status = lanes_settle(t->lanes);
    if (status == SKEIN_OK)
        status = summary_sort(t->summary);
    return status == SKEIN_OK ? summary_by_service(t->summary, &t->services) : status;
}

static int all_read(struct page_trace *t)
{
    const struct page_ask *ask = t->ask;
    struct lanes_options options = {.type = type_of, .context = t->trace};
    struct skein_query query = {
        .size = sizeof query, .from_ns = ask->read_from_ns, .to_ns = ask->read_to_ns};
    skein_trace_bounds(t->trace, &options.from_ns, &options.to_ns);
    options.from_ns = ask->from_ns > 0 ? ask->from_ns : options.from_ns;
    options.to_ns = ask->to_ns > 0 ? ask->to_ns : options.to_ns;
    options.to_ns = options.to_ns < options.from_ns ? options.from_ns : options.to_ns;
    options.most_bytes = ask->lanes_bytes > 0 ? ask->lanes_bytes : PAGE_LANES_BYTES;
    t->page.from_ns = options.from_ns;
    t->page.to_ns = options.to_ns;
    int status = lanes_new(&options, &t->lanes);
    if (status == SKEIN_OK)
        status = summary_new(0, &t->summary);
    return status == SKEIN_OK ? trace_read(t, &query) : status;
}

/* ---- what it is ---- */

static void services_put(struct buf *b, const struct page_trace *t)
{
    const struct summary_process *rows;
    size_t count = summary_processes(t->services, &rows);
    for (size_t i = 0; i < count && i < NAMED_MOST; i++)
        buf_printf(b, "%s%s", i > 0 ? ", " : "", summary_text(t->services, rows[i].row.text));
    if (count > NAMED_MOST)
        buf_printf(b, " and %zu more", count - NAMED_MOST);
}

static void deaths_put(struct buf *b, const struct page_trace *t)
{
    for (uint32_t i = 0; i < skein_trace_process_count(t->trace); i++) {
        const struct skein_process *p = skein_trace_process(t->trace, i);
        if (!p->death.known || b->len > 400)
            continue;
        buf_printf(b, "%s%s[%u] by ", b->len > 0 ? ", " : "", p->service, p->pid);
        if (p->death.signal > 0)
            buf_printf(b, "signal %d", p->death.signal);
        else
            buf_printf(b, "status %d", p->death.status);
    }
}

static void fact_add(struct page_trace *t, const char *name, struct buf *value, int *status)
{
    if (value->len > 0 || value->status != SKEIN_OK)
        t->facts[t->page.fact_count++] =
            (struct page_fact){name, page_trace_text(t, value, status)};
    else
        buf_fini(value);
}

int page_trace_facts(struct page_trace *t)
{
    const struct page_ask *ask = t->ask;
    struct lanes_totals totals;
    char from[CLOCK_TEXT_BYTES];
    struct buf b = {0};
    int status = SKEIN_OK;
    t->facts = calloc(ask->fact_count + FACTS_OWN, sizeof *t->facts);
    if (t->facts == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < ask->fact_count; i++)
        t->facts[t->page.fact_count++] = ask->facts[i];
    lanes_totals(t->lanes, &totals);
    clock_text(t->page.from_ns, from);
    buf_printf(&b, "%s", from);
    fact_add(t, "From", &b, &status);
    page_duration(&b, t->page.to_ns - t->page.from_ns);
    fact_add(t, "For", &b, &status);
    services_put(&b, t);
    fact_add(t, "Services", &b, &status);
    buf_printf(&b, "%" PRIu32, skein_trace_process_count(t->trace));
    fact_add(t, "Processes", &b, &status);
    page_count(&b, ask->records > 0 ? ask->records : totals.rows);
    fact_add(t, "Records", &b, &status);
    deaths_put(&b, t);
    fact_add(t, "Ended", &b, &status);
    t->page.facts = t->facts;
    return status;
}

/* ---- what is not there ---- */

static void missing_add(struct page_trace *t, struct buf *line, int *status)
{
    if (!array_grow(t->missing, t->page.missing_count + 1, &t->missing_cap)) {
        buf_fini(line);
        *status = SKEIN_NO_MEMORY;
        return;
    }
    t->missing[t->page.missing_count++] = page_trace_text(t, line, status);
    t->page.missing = t->missing;
}

static void whose_put(struct buf *b, const struct page_trace *t, uint32_t of)
{
    const struct summary_process *rows;
    size_t count = summary_processes(t->summary, &rows);
    if (of < count)
        buf_printf(b, "%s[%" PRIu64 "]", summary_text(t->summary, rows[of].service), rows[of].pid);
    else
        buf_printf(b, "a process that is not known");
}

static void loss_put(struct buf *b, const struct page_trace *t, const struct summary_loss *loss)
{
    char dur[TRACE_DURATION_BYTES];
    trace_duration_text(loss->dur_ns, dur);
    buf_printf(b, "Records of ");
    whose_put(b, t, loss->row.of);
    buf_printf(b, " are lost (%s): in %" PRIu64 " places, %s long together",
               skein_loss_text((uint8_t)loss->row.number), loss->count, dur);
    if (loss->records > 0)
        buf_printf(b, ", %" PRIu64 " records%s", loss->records,
                   loss->unknown > 0 ? " at least" : "");
}

int page_trace_missing(struct page_trace *t)
{
    const struct summary_loss *losses;
    const struct summary_gap *gaps;
    size_t loss_count = summary_losses(t->summary, &losses);
    size_t gap_count = summary_gaps(t->summary, &gaps);
    int status = SKEIN_OK;
    struct buf b = {0};
    for (size_t i = 0; i < gap_count && status == SKEIN_OK; i++) {
        const char *what = summary_text(t->summary, gaps[i].row.text);
        buf_printf(&b, "%s: %s", loss_name(NULL, LANES_GAP + (uint32_t)gaps[i].row.number), what);
        if (gaps[i].count > 1)
            buf_printf(&b, " (%" PRIu64 " times)", gaps[i].count);
        missing_add(t, &b, &status);
    }
    for (size_t i = 0; i < loss_count && status == SKEIN_OK; i++) {
        loss_put(&b, t, &losses[i]);
        missing_add(t, &b, &status);
    }
    return status;
}

/* ---- the whole ---- */

static int page_fill(struct page_trace *t)
{
    const struct page_ask *ask = t->ask;
    struct page *page = &t->page;
    page->title = ask->title != NULL ? ask->title : "What a trace says";
    page->verdict = ask->verdict != NULL ? ask->verdict : "";
    page->incomplete = ask->incomplete;
    page->findings = ask->findings;
    page->finding_count = ask->finding_count;
    page->tasks = ask->tasks;
    page->at_ns = ask->at_ns;
    page->at = ask->at != NULL ? ask->at : "";
    page->lanes = t->lanes;
    page->type_name = type_name;
    page->loss_name = loss_name;
    page->type_unit = type_unit;
    page->context = t->trace;
    int status = page_trace_facts(t);
    if (status == SKEIN_OK)
        status = page_trace_missing(t);
    if (status == SKEIN_OK)
        status = page_trace_regions(t);
    if (status == SKEIN_OK)
        status = page_trace_threads(t);
    return status == SKEIN_OK ? page_trace_stacks(t) : status;
}

int page_trace_put(struct skein_trace *trace, const struct page_ask *ask, struct buf *out)
{
    struct page_trace t = {.trace = trace, .ask = ask};
    int status = all_read(&t);
    if (status == SKEIN_OK)
        status = page_fill(&t);
    if (status == SKEIN_OK)
        status = page_put(&t.page, out);
    for (size_t i = 0; i < t.text_count; i++)
        free(t.texts[i]);
    free(t.texts);
    free(t.facts);
    free(t.regions);
    free(t.buckets);
    free(t.threads);
    free(t.numbers);
    free(t.processes);
    free(t.missing);
    buf_fini(&t.cpu);
    buf_fini(&t.waits);
    lanes_free(&t.lanes);
    summary_free(&t.services);
    summary_free(&t.summary);
    return status;
}
