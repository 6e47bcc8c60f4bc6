/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace: its files, and what their footers tell of processes and partitions. Owns both, in the
 * order that skein/trace.h promises. One thread. Adding a file that fails changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "clock.h"
#include "trace_int.h"

#define PROCESS_KEY_BYTES 20 /* its id, and which of those that bear it */

/* Bytes of the caller's, as a source. */
struct trace_memory {
    const uint8_t *bytes;
    size_t n;
};

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct trace_memory *memory = context;
    memcpy(out, memory->bytes + offset, n);
    return SKEIN_OK;
}

int skein_trace_new(struct skein_trace **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

static void input_fini(struct trace_input *input)
{
    gaps_torn_free(input);
    trace_file_free(&input->file);
    free(input->memory);
    free(input->parts);
    free(input->processes);
}

void skein_trace_free(struct skein_trace **trace)
{
    struct skein_trace *t = *trace;
    *trace = NULL;
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->input_count; i++)
        input_fini(&t->inputs[i]);
    free(t->inputs);
    free(t->processes);
    free(t->parts);
    intern_table_fini(&t->process_ids);
    intern_table_fini(&t->partition_keys);
    intern_table_fini(&t->twin_keys);
    free(t->key_parts);
    free(t->twin_parts);
    names_fini(&t->names);
    free(t);
}

/* ---- order ---- */

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By process; of each the evidence, by number, then the cuts. */
static int part_order(const void *a, const void *b)
{
    const struct trace_part *x = *(const struct trace_part *const *)a;
    const struct trace_part *y = *(const struct trace_part *const *)b;
    const struct skein_partition *f = &x->facts, *g = &y->facts;
    int order = number_order(f->process, g->process);
    order = order != 0 ? order : number_order(g->evidence, f->evidence);
    if (order == 0 && !f->evidence)
        order = partition_trace_order(&x->entry->footer.key, x->entry->from_ns,
                                      &y->entry->footer.key, y->entry->from_ns);
    order = order != 0 ? order : number_order(f->epoch, g->epoch);
    order = order != 0 ? order : number_order(f->sequence, g->sequence);
    order = order != 0 ? order : number_order(f->file, g->file);
    return order != 0 ? order : number_order(f->offset, g->offset);
}

/* How many partitions of evidence of a's process and epoch have a number up to this one. */
static size_t evidence_up_to(const struct skein_trace *trace, const struct trace_part *a,
                             uint64_t sequence)
{
    size_t at;
    array_find(at, 0, trace->part_count,
               trace->parts[at]->facts.process < a->facts.process ||
                   (trace->parts[at]->facts.process == a->facts.process &&
                    trace->parts[at]->facts.evidence &&
                    (trace->parts[at]->facts.epoch < a->facts.epoch ||
                     (trace->parts[at]->facts.epoch == a->facts.epoch &&
                      trace->parts[at]->facts.sequence <= sequence))));
    return at;
}

bool trace_part_follows(const struct skein_trace *trace, const struct trace_part *a,
                        const struct trace_part *b)
{
    const struct skein_partition *f = &a->facts, *g = &b->facts;
    if (f->process != g->process || f->evidence || g->evidence || f->epoch != g->epoch ||
        f->sequence >= g->sequence)
        return false;
    uint64_t between = g->sequence - f->sequence - 1;
    return between == 0 ||
           between == evidence_up_to(trace, a, g->sequence) - evidence_up_to(trace, a, f->sequence);
}

/* ---- adding ---- */

/* All memory that adding the file takes, so that nothing of it fails half done. */
static int input_room(struct skein_trace *trace, struct trace_input *input)
{
    size_t n = trace_file_count(input->file);
    input->parts = calloc(n, sizeof *input->parts);
    input->processes = calloc(n, sizeof *input->processes);
    bool room = input->parts != NULL && input->processes != NULL &&
                n < SKEIN_NONE - trace->part_count && trace->input_count < SKEIN_NONE &&
                array_grow(trace->parts, trace->part_count + n, &trace->part_cap) &&
                array_grow(trace->processes, trace->process_count + n, &trace->process_cap) &&
                array_grow(trace->inputs, trace->input_count + 1, &trace->input_cap) &&
                intern_table_reserve(&trace->process_ids, n, n * PROCESS_KEY_BYTES) == SKEIN_OK;
    return room ? twins_judge(trace, input) : SKEIN_NO_MEMORY;
}

static const char *text_or(const char *have, const char *text)
{
    return have[0] != 0 ? have : text;
}

/* The id of a process; another one that bears it has one of its own. */
static void process_id(const uint8_t key[PROCESS_KEY_BYTES], uint32_t variant, uint8_t id[16])
{
    memcpy(id, key, 16);
    for (unsigned half = 0; variant > 0 && half < 2; half++) {
        uint64_t sum = checksum64(key, PROCESS_KEY_BYTES - half);
        memcpy(id + 8 * (size_t)half, &sum, sizeof sum);
    }
}

/* The process of a footer, made if it is new. */
static uint32_t process_of(struct skein_trace *trace, struct trace_input *input, size_t spare,
                           const struct partition_footer *footer)
{
    bool fresh;
    uint8_t key[PROCESS_KEY_BYTES];
    uint32_t variant = input->parts[spare].variant;
    memcpy(key, footer->key.process.bytes, 16);
    memcpy(key + 16, &variant, sizeof variant);
    int64_t number = intern_table_put(&trace->process_ids, key, sizeof key, &fresh);
    if (fresh) {
        struct skein_process *made = &input->processes[spare];
        *made = (struct skein_process){.pid = footer->pid,
                                       .host = "",
                                       .service = "",
                                       .labels = "",
                                       .exe = "",
                                       .from_ns = UINT64_MAX};
        process_id(key, variant, made->id);
        trace->processes[trace->process_count++] = &input->processes[spare];
    }
    struct skein_process *process = trace->processes[number];
    process->host = text_or(process->host, footer->host);
    process->service = text_or(process->service, footer->service);
    process->labels = text_or(process->labels, footer->labels);
    process->exe = text_or(process->exe, footer->exe);
    return (uint32_t)number;
}

/* Takes the place of the one whose whole it is. */
static void part_replace(struct skein_trace *trace, struct trace_part *part)
{
    struct skein_process *process = trace->processes[part->facts.process];
    size_t at = 0;
    while (at < trace->part_count && trace->parts[at] != part->instead)
        at++;
    trace->parts[at] = part;
    part->instead->replaced = true;
    process->partitions--;
    process->events -= part->facts.evidence ? 0 : part->instead->facts.events;
    trace->twins.copies++;
}

static void part_add(struct skein_trace *trace, struct trace_input *input, size_t i)
{
    const struct trace_entry *entry = trace_file_entry(input->file, i);
    const struct partition_footer *f = &entry->footer;
    struct trace_part *part = &input->parts[i];
    uint64_t stacks = partition_footer_stacks(f);
    uint32_t number = process_of(trace, input, i, f);
    struct skein_process *process = trace->processes[number];
    int64_t shift =
        (int64_t)(entry->to_ns - (f->events > 0 || f->to_ns > 0 ? f->to_ns : f->window_to_ns));
    part->facts =
        (struct skein_partition){.process = number,
                                 .epoch = f->key.epoch,
                                 .sequence = f->key.sequence,
                                 .from_ns = entry->from_ns,
                                 .to_ns = entry->to_ns,
                                 .window_from_ns = clock_shift_ns(f->window_from_ns, shift),
                                 .window_to_ns = clock_shift_ns(f->window_to_ns, shift),
                                 .offset = entry->offset,
                                 .bytes = entry->bytes,
                                 .file = (uint32_t)trace->input_count,
                                 .events = f->events - (stacks < f->events ? stacks : f->events),
                                 .lost = f->lost,
                                 .fixed_up = f->fixed_up,
                                 .threads = f->threads,
                                 .evidence = f->evidence,
                                 .slice = f->slice};
    trace->twins.copies += part->fate == TRACE_COPY;
    trace->twins.others += part->fate == TRACE_GIVEN && part->variant > 0;
    if (part->fate == TRACE_COPY || part->fate == TRACE_LEFT)
        return;
    if (part->fate == TRACE_INSTEAD)
        part_replace(trace, part);
    else
        trace->parts[trace->part_count++] = part;
    process->partitions++;
    process->events += f->evidence ? 0 : part->facts.events;
    process->from_ns = entry->from_ns < process->from_ns ? entry->from_ns : process->from_ns;
    process->to_ns = entry->to_ns > process->to_ns ? entry->to_ns : process->to_ns;
}

/* Takes the input, also where it fails. */
static int input_add(struct skein_trace *trace, struct trace_input *input,
                     char error[SKEIN_TRACE_ERROR_BYTES])
{
    if (input_room(trace, input) != SKEIN_OK) {
        snprintf(error, SKEIN_TRACE_ERROR_BYTES, "%s: out of memory", trace_file_name(input->file));
        input_fini(input);
        return SKEIN_NO_MEMORY;
    }
    size_t n = trace_file_count(input->file);
    for (size_t i = 0; i < n; i++)
        part_add(trace, input, i);
    qsort(trace->parts, trace->part_count, sizeof(struct trace_part *), part_order);
    for (size_t i = 0; i < trace->part_count; i++)
        trace->parts[i]->facts.follows =
            i > 0 && trace_part_follows(trace, trace->parts[i - 1], trace->parts[i]);
    trace->inputs[trace->input_count++] = *input;
    return SKEIN_OK;
}

static int may_add(const struct skein_trace *trace, char error[SKEIN_TRACE_ERROR_BYTES])
{
    error[0] = 0;
    if (trace->cursors == 0)
        return SKEIN_OK;
    snprintf(error, SKEIN_TRACE_ERROR_BYTES, "a file cannot be added while there is a cursor");
    return SKEIN_INVALID;
}

/* A file that could not be opened; its sentence may be missing. */
static int opening_failed(const char *name, int status, char error[SKEIN_TRACE_ERROR_BYTES])
{
    if (error[0] == 0)
        snprintf(error, SKEIN_TRACE_ERROR_BYTES, "%s: %s", name, skein_status_text(status));
    return status;
}

int skein_trace_add_file(struct skein_trace *trace, const char *path,
                         char error[SKEIN_TRACE_ERROR_BYTES])
{
    struct trace_input input = {0};
    int status = may_add(trace, error);
    if (status != SKEIN_OK)
        return status;
    status = trace_file_open(path, &input.file, error, SKEIN_TRACE_ERROR_BYTES);
    if (status != SKEIN_OK)
        return opening_failed(path, status, error);
    return input_add(trace, &input, error);
}

static int source_add(struct skein_trace *trace, const struct skein_trace_source *source,
                      struct trace_memory *memory, char error[SKEIN_TRACE_ERROR_BYTES])
{
    struct trace_input input = {.memory = memory};
    int status = trace_file_open_source(source, &input.file, error, SKEIN_TRACE_ERROR_BYTES);
    if (status == SKEIN_OK)
        return input_add(trace, &input, error);
    input_fini(&input);
    return opening_failed(source->name != NULL ? source->name : "", status, error);
}

int skein_trace_add_memory(struct skein_trace *trace, const void *bytes, size_t n, const char *name,
                           char error[SKEIN_TRACE_ERROR_BYTES])
{
    int status = may_add(trace, error);
    struct trace_memory *memory = status == SKEIN_OK ? malloc(sizeof *memory) : NULL;
    if (status != SKEIN_OK)
        return status;
    if (memory == NULL)
        return opening_failed(name != NULL ? name : "", SKEIN_NO_MEMORY, error);
    *memory = (struct trace_memory){bytes, n};
    struct skein_trace_source source = {memory_read, memory, n, name};
    return source_add(trace, &source, memory, error);
}

int skein_trace_add_source(struct skein_trace *trace, const struct skein_trace_source *source,
                           char error[SKEIN_TRACE_ERROR_BYTES])
{
    int status = may_add(trace, error);
    return status == SKEIN_OK ? source_add(trace, source, NULL, error) : status;
}

int skein_trace_open(const char *path, struct skein_trace **out,
                     char error[SKEIN_TRACE_ERROR_BYTES])
{
    int status = skein_trace_new(out);
    error[0] = 0;
    if (status == SKEIN_OK)
        status = skein_trace_add_file(*out, path, error);
    if (status != SKEIN_OK)
        skein_trace_free(out);
    return status == SKEIN_OK ? status : opening_failed(path, status, error);
}

/* ---- what is known ---- */

uint32_t skein_trace_process_count(const struct skein_trace *trace)
{
    return (uint32_t)trace->process_count;
}

const struct skein_process *skein_trace_process(const struct skein_trace *trace, uint32_t process)
{
    return process < trace->process_count ? trace->processes[process] : NULL;
}

uint32_t skein_trace_partition_count(const struct skein_trace *trace)
{
    return (uint32_t)trace->part_count;
}

const struct skein_partition *skein_trace_partition(const struct skein_trace *trace, uint32_t i)
{
    return i < trace->part_count ? &trace->parts[i]->facts : NULL;
}

void skein_trace_bounds(const struct skein_trace *trace, uint64_t *from_ns, uint64_t *to_ns)
{
    *from_ns = UINT64_MAX;
    *to_ns = 0;
    for (size_t i = 0; i < trace->part_count; i++) {
        const struct trace_entry *entry = trace->parts[i]->entry;
        if (entry->footer.events == 0)
            continue;
        *from_ns = entry->from_ns < *from_ns ? entry->from_ns : *from_ns;
        *to_ns = entry->to_ns > *to_ns ? entry->to_ns : *to_ns;
    }
    if (*to_ns == 0)
        *from_ns = 0;
}

const struct trace_file *trace_first_file(const struct skein_trace *trace)
{
    return trace->inputs[0].file;
}

const struct trace_entry *trace_process_entry(const struct skein_trace *trace, uint32_t process)
{
    size_t at;
    array_find(at, 0, trace->part_count, trace->parts[at]->facts.process < process);
    return at < trace->part_count ? trace->parts[at]->entry : NULL;
}
