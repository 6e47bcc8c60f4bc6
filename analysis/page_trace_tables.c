/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions, threads and stacks of a trace's page, from its summary. Entered by page_trace.c.
 */
#include "ids.h"
#include "page_trace_int.h"
#include "wait_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET_LEVELS 4u /* of the histogram's make one bar: four bars to a power of two */
#define BUCKETS_MOST  (HISTOGRAM_LEVELS / BUCKET_LEVELS)
#define SAMPLE        "cpu.sample"

/* ---- regions ---- */

static size_t buckets_fill(const struct histogram *h, struct page_bucket *buckets)
{
    size_t count = 0;
    for (unsigned level = 0; level < HISTOGRAM_LEVELS; level += BUCKET_LEVELS) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < BUCKET_LEVELS; i++)
            sum += histogram_count(h, level + i);
        if (sum > 0)
            buckets[count++] = (struct page_bucket){
                histogram_level_from(level), histogram_level_to(level + BUCKET_LEVELS - 1), sum};
    }
    return count;
}

/* "shop.c:38" of the first type of that name which says where it is. */
static const char *place_of(struct page_trace *t, const char *name, int *status)
{
    struct buf b = {0};
    for (uint32_t i = 0; i < skein_trace_type_count(t->trace); i++) {
        const struct skein_event_type *type = skein_trace_type(t->trace, i);
        if (type->file[0] == '\0' || strcmp(type->name, name) != 0)
            continue;
        buf_printf(&b, "%s:%" PRIu32, type->file, type->line);
        return page_trace_text(t, &b, status);
    }
    return "";
}

static int region_fill(struct page_trace *t, const struct summary_name *name,
                       struct page_region *region, struct page_bucket *buckets)
{
    const struct summary_process *services;
    const char *text = summary_text(t->services, name->row.text);
    size_t count = summary_processes(t->services, &services);
    int status = SKEIN_OK;
    *region = (struct page_region){
        .name = text,
        .service =
            name->row.of < count ? summary_text(t->services, services[name->row.of].row.text) : "",
        .place = place_of(t, text, &status),
        .wait = wait_kind_of(text, (uint8_t)name->row.number).wait,
        .idle = name->idle_ns > name->total_ns / 2,
        .count = name->count,
        .total_ns = name->total_ns,
        .self_ns = name->self_ns,
        .p50_ns = histogram_quantile(&name->lasted, 0.5),
        .p99_ns = histogram_quantile(&name->lasted, 0.99),
        .max_ns = name->lasted.max_ns,
        .buckets = buckets,
        .bucket_count = buckets_fill(&name->lasted, buckets)};
    return status;
}

int page_trace_regions(struct page_trace *t)
{
    const struct summary_name *names;
    size_t count = summary_names(t->services, &names), made = 0;
    int status = SKEIN_OK;
    t->regions = calloc(PAGE_TRACE_ROWS, sizeof *t->regions);
    t->buckets = calloc((size_t)PAGE_TRACE_ROWS * BUCKETS_MOST, sizeof *t->buckets);
    if (t->regions == NULL || t->buckets == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        if (names[i].row.number >= SUMMARY_INSTANTS || names[i].count == 0)
            continue;
        if (made == PAGE_TRACE_ROWS) {
            t->page.regions_left_out++;
            continue;
        }
        status = region_fill(t, &names[i], &t->regions[made], t->buckets + made * BUCKETS_MOST);
        made++;
    }
    t->page.regions = t->regions;
    t->page.region_count = made;
    return status;
}

/* ---- threads ---- */

struct ranked { /* a thread of the summary */
    const struct summary_thread *thread;
    size_t subject; /* subject_count: of no finding */
    uint64_t weight;
};

static int rank_order(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->subject != y->subject)
        return x->subject < y->subject ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* The trace's number of each process of the summary; SKEIN_NONE: it has none. */
static int processes_find(struct page_trace *t)
{
    const struct summary_process *rows;
    char id[ID_TEXT_BYTES];
    size_t count = summary_processes(t->summary, &rows);
    t->processes = calloc(count + 1, sizeof *t->processes);
    if (t->processes == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t row = 0; row < count; row++)
        t->processes[row] = SKEIN_NONE;
    for (uint32_t i = 0; i < skein_trace_process_count(t->trace); i++) {
        id_text(skein_trace_process(t->trace, i)->id, id);
        for (size_t row = 0; row < count; row++)
            if (strcmp(id, summary_text(t->summary, rows[row].row.text)) == 0)
                t->processes[row] = i;
    }
    t->process_count = count;
    return SKEIN_OK;
}

static uint32_t process_of(const struct page_trace *t, uint32_t row)
{
    return row < t->process_count ? t->processes[row] : SKEIN_NONE;
}

static size_t subject_of(const struct page_trace *t, uint32_t process, uint64_t tid)
{
    size_t i = 0;
    while (i < t->ask->subject_count &&
           (t->ask->subjects[i].process != process || t->ask->subjects[i].tid != tid))
        i++;
    return i;
}

/* What it waited and was not idle, for a CPU too. */
static uint64_t weight_of(const struct summary_thread *thread)
{
    uint64_t waits = 0;
    for (unsigned i = 0; i < SUMMARY_REASONS; i++)
        waits += thread->wait_ns[i];
    return (waits > thread->idle_ns ? waits - thread->idle_ns : 0) + thread->runnable_ns;
}

static void numbers_fill(struct page_trace *t, struct page_thread *thread, uint32_t *numbers,
                         size_t room)
{
    thread->numbers = numbers;
    for (uint32_t i = 0; i < skein_trace_thread_count(t->trace) && thread->number_count < room;
         i++) {
        const struct skein_thread *of = skein_trace_thread(t->trace, i);
        if (of->tid == thread->tid && of->process == thread->process)
            numbers[thread->number_count++] = i;
    }
}

/* Its time in regions that is not idle, and the longest of them. */
static void calls_fill(const struct page_trace *t, size_t row, struct page_thread *thread)
{
    const struct summary_call *calls;
    size_t count = summary_calls(t->summary, &calls);
    for (size_t i = 0; i < count; i++) {
        const struct summary_call *call = &calls[i];
        if (call->row.of != row)
            continue;
        thread->busy_ns += call->self_ns > call->idle_ns ? call->self_ns - call->idle_ns : 0;
        thread->busy_ns +=
            call->open_ns > call->open_idle_ns ? call->open_ns - call->open_idle_ns : 0;
        if (call->most_ns > thread->longest_ns && call->idle_ns <= call->total_ns / 2) {
            thread->longest_ns = call->most_ns;
            thread->longest = summary_text(t->summary, call->row.text);
        }
    }
}

#define NUMBERS_MOST 8u /* of the lanes of one thread: incarnations, own and evidence's */

static void thread_fill(struct page_trace *t, const struct ranked *ranked, size_t i)
{
    const struct summary_thread *rows, *row = ranked->thread;
    const struct summary_process *processes;
    (void)summary_threads(t->summary, &rows);
    size_t count = summary_processes(t->summary, &processes);
    const struct summary_process *process = row->row.of < count ? &processes[row->row.of] : NULL;
    bool of_finding = ranked->subject < t->ask->subject_count;
    uint64_t blocked =
        row->blocked_ns[0] + row->blocked_ns[1] + row->blocked_ns[2] + row->blocked_ns[3];
    struct page_thread *thread = &t->threads[i];
    *thread = (struct page_thread){
        .name = summary_text(t->summary, row->name),
        .service = process != NULL ? summary_text(t->summary, process->service) : "",
        .host = process != NULL ? summary_text(t->summary, process->host) : "",
        .pid = process != NULL ? (uint32_t)process->pid : 0,
        .tid = (uint32_t)row->row.number,
        .process = process_of(t, row->row.of),
        .why = of_finding ? t->ask->subjects[ranked->subject].why : "",
        .regions = row->regions,
        .longest = "",
        .scheduled = row->run_ns + row->runnable_ns + blocked > 0,
        .run_ns = row->run_ns,
        .runnable_ns = row->runnable_ns,
        .blocked_ns = blocked};
    calls_fill(t, (size_t)(row - rows), thread);
    numbers_fill(t, thread, t->numbers + i * NUMBERS_MOST, NUMBERS_MOST);
}

int page_trace_threads(struct page_trace *t)
{
    const struct summary_thread *rows;
    size_t count = summary_threads(t->summary, &rows);
    size_t made = count < PAGE_TRACE_ROWS ? count : PAGE_TRACE_ROWS;
    struct ranked *ranked = calloc(count + 1, sizeof *ranked);
    t->threads = calloc(made + 1, sizeof *t->threads);
    t->numbers = calloc((made + 1) * NUMBERS_MOST, sizeof *t->numbers);
    if (ranked == NULL || t->threads == NULL || t->numbers == NULL ||
        processes_find(t) != SKEIN_OK) {
        free(ranked);
        return SKEIN_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){
            &rows[i], subject_of(t, process_of(t, rows[i].row.of), rows[i].row.number),
            weight_of(&rows[i])};
    qsort(ranked, count, sizeof *ranked, rank_order);
    for (size_t i = 0; i < made; i++)
        thread_fill(t, &ranked[i], i);
    free(ranked);
    t->page.threads = t->threads;
    t->page.thread_count = made;
    t->page.threads_left_out = count - made;
    return SKEIN_OK;
}

/* ---- stacks ---- */

/* "innermost;…;outermost" the other way round. */
static void frames_put(struct buf *b, const char *stack)
{
    size_t end = strlen(stack);
    while (end > 0) {
        size_t from = end;
        while (from > 0 && stack[from - 1] != ';')
            from--;
        buf_put_u8(b, ';');
        for (size_t i = from; i < end; i++)
            buf_put_u8(b, stack[i] == '\n' ? ' ' : (uint8_t)stack[i]);
        end = from > 0 ? from - 1 : 0;
    }
}

static void line_put(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        buf_put_u8(b, *text == '\n' ? ' ' : *text == ';' ? ':' : (uint8_t)*text);
}

int page_trace_stacks(struct page_trace *t)
{
    const struct summary_process *processes;
    const struct summary_stack *stacks;
    size_t process_count = summary_processes(t->summary, &processes);
    size_t count = summary_stacks(t->summary, &stacks);
    for (size_t i = 0; i < count; i++) {
        const struct summary_stack *stack = &stacks[i];
        const char *event = summary_text(t->summary, stack->row.text);
        bool sample = strcmp(event, SAMPLE) == 0;
        struct buf *b = sample ? &t->cpu : &t->waits;
        if (stack->row.of < process_count) {
            line_put(b, summary_text(t->summary, processes[stack->row.of].service));
            buf_printf(b, "[%" PRIu64 "]", processes[stack->row.of].pid);
        } else {
            line_put(b, SUMMARY_OTHERS);
        }
        if (!sample) {
            buf_put_u8(b, ';');
            line_put(b, event);
        }
        if (stack->row.merged == 0)
            frames_put(b, summary_text(t->summary, (uint32_t)stack->row.number));
        buf_printf(b, " %" PRIu64 "\n", stack->total_ns / 1000);
    }
    t->page.cpu = (const char *)t->cpu.data;
    t->page.cpu_bytes = t->cpu.len;
    t->page.cpu_ns_each = 1000;
    t->page.waits = (const char *)t->waits.data;
    t->page.waits_bytes = t->waits.len;
    return t->cpu.status != SKEIN_OK ? t->cpu.status : t->waits.status;
}
