/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a trace is not there, told as a sentence each. Owns the sentences: those of torn bytes are
 * made once for the trace, all others for each cursor. One thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "array.h"
#include "trace_int.h"

void gaps_free(struct trace_merge *merge)
{
    for (size_t i = 0; i < merge->gap_count; i++)
        free(merge->what[i]);
    free(merge->gaps);
    free(merge->what);
}

/* The sentence is taken, also where this fails. */
static int gap_add(struct trace_merge *merge, const struct skein_gap *gap, struct buf *what)
{
    buf_put_u8(what, 0);
    if (what->status != SKEIN_OK ||
        !array_grow(merge->gaps, merge->gap_count + 1, &merge->gap_cap) ||
        !array_grow(merge->what, merge->gap_count + 1, &merge->what_cap)) {
        buf_fini(what);
        return SKEIN_NO_MEMORY;
    }
    merge->what[merge->gap_count] = (char *)what->data;
    merge->gaps[merge->gap_count] = *gap;
    merge->gaps[merge->gap_count++].what = (char *)what->data;
    return SKEIN_OK;
}

int gap_broken(struct trace_merge *merge, size_t number, uint64_t from_ns, const char *why)
{
    const struct trace_part *part = merge->trace->parts[number];
    const struct skein_partition *facts = &part->facts;
    struct buf what = {0};
    struct skein_gap gap = {.reason = SKEIN_GAP_BROKEN,
                            .process = facts->process,
                            .partition = (uint32_t)number,
                            .from_ns = from_ns,
                            .to_ns = facts->to_ns > from_ns ? facts->to_ns : from_ns};
    buf_printf(&what, "%s: partition at byte %" PRIu64 ": %s", trace_file_name(part->file),
               facts->offset, why);
    return gap_add(merge, &gap, &what);
}

/* ---- torn bytes: F-37 ---- */

void gaps_torn_free(struct trace_input *input)
{
    for (size_t i = 0; i < input->torn_count; i++)
        free((char *)(uintptr_t)input->torn[i].what);
    free(input->torn);
    input->torn = NULL;
    input->torn_count = 0;
}

static int torn_judge(struct trace_input *input, size_t number)
{
    struct trace_fault fault;
    char why[256];
    if (trace_file_fault(input->file, number, &fault) == SKEIN_NO_MEMORY)
        return SKEIN_NO_MEMORY;
    if (fault.bytes == 0) /* a table that tells of others: nothing is missing */
        return SKEIN_OK;
    struct buf what = {0};
    partition_fault_print(&fault.why, 0, why, sizeof why);
    buf_printf(&what,
               "%s: %" PRIu64 " bytes from byte %" PRIu64
               " on belong to no whole partition (F-37): %s",
               trace_file_name(input->file), fault.bytes, fault.offset, why);
    buf_put_u8(&what, 0);
    if (what.status != SKEIN_OK) {
        buf_fini(&what);
        return SKEIN_NO_MEMORY;
    }
    input->torn[input->torn_count++] = (struct skein_gap){.reason = SKEIN_GAP_TORN,
                                                          .process = SKEIN_NONE,
                                                          .partition = SKEIN_NONE,
                                                          .bytes = fault.bytes,
                                                          .what = (const char *)what.data};
    return SKEIN_OK;
}

/* They are read and judged once, however many cursors there will be. */
static int torn_learn(struct trace_input *input)
{
    if (input->torn != NULL)
        return SKEIN_OK;
    size_t count = trace_file_faults(input->file);
    input->torn = calloc(count + 1, sizeof *input->torn);
    if (input->torn == NULL)
        return SKEIN_NO_MEMORY;
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++)
        status = torn_judge(input, i);
    if (status != SKEIN_OK)
        gaps_torn_free(input);
    return status;
}

static int torn_note(struct trace_merge *merge, struct trace_input *input)
{
    int status = torn_learn(input);
    for (size_t i = 0; status == SKEIN_OK && i < input->torn_count; i++) {
        struct buf what = {0};
        buf_printf(&what, "%s", input->torn[i].what);
        status = gap_add(merge, &input->torn[i], &what);
    }
    return status;
}

/* ---- what is missing ---- */

static int number_order(const void *a, const void *b)
{
    const struct skein_partition *x = &(*(const struct trace_part *const *)a)->facts;
    const struct skein_partition *y = &(*(const struct trace_part *const *)b)->facts;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Between two cuts that are neighbours by their numbers. */
static int missing_note(struct trace_merge *merge, const struct trace_part *a,
                        const struct trace_part *b)
{
    const struct skein_partition *f = &a->facts, *g = &b->facts;
    if (f->epoch != g->epoch || trace_part_follows(merge->trace, a, b))
        return SKEIN_OK;
    struct skein_gap gap = {.reason = SKEIN_GAP_MISSING,
                            .process = f->process,
                            .partition = SKEIN_NONE,
                            .from_ns = f->to_ns < g->from_ns ? f->to_ns : g->from_ns,
                            .to_ns = f->to_ns < g->from_ns ? g->from_ns : f->to_ns};
    struct buf what = {0};
    buf_printf(
        &what,
        "pid %" PRIu32 " has no cut between number %" PRIu64 " and %" PRIu64 " of epoch %" PRIu64,
        skein_trace_process(merge->trace, f->process)->pid, f->sequence, g->sequence, f->epoch);
    return gap_add(merge, &gap, &what);
}

/* What was left out of an input, and may hold what nothing else of the trace does. */
static int left_note(struct trace_merge *merge, const struct trace_input *input)
{
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < trace_file_count(input->file); i++) {
        const struct trace_part *part = &input->parts[i];
        if (part->fate != TRACE_LEFT || (part->facts.slice && part->instead->replaced) ||
            !is_wanted_process(merge, part->facts.process))
            continue;
        struct buf what = {0};
        struct skein_gap gap = {.reason = SKEIN_GAP_MISSING,
                                .process = part->facts.process,
                                .partition = SKEIN_NONE,
                                .from_ns = part->facts.from_ns,
                                .to_ns = part->facts.to_ns};
        buf_printf(&what, "%s: the partition at byte %" PRIu64 " is left out: %s",
                   trace_file_name(input->file), part->facts.offset,
                   part->facts.slice ? "another slice of it is there already"
                                     : "it is broken, and one of its number is there already");
        status = gap_add(merge, &gap, &what);
    }
    return status;
}

int gaps_known(struct trace_merge *merge)
{
    const struct skein_trace *trace = merge->trace;
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < trace->input_count; i++)
        if ((status = torn_note(merge, &trace->inputs[i])) == SKEIN_OK)
            status = left_note(merge, &trace->inputs[i]);
    struct trace_part **cuts = calloc(trace->part_count + 1, sizeof *cuts);
    if (cuts == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0, end; status == SKEIN_OK && i < trace->part_count; i = end) {
        uint32_t process = trace->parts[i]->facts.process;
        size_t n = 0;
        for (end = i; end < trace->part_count && trace->parts[end]->facts.process == process; end++)
            if (!trace->parts[end]->facts.evidence && is_wanted_process(merge, process))
                cuts[n++] = trace->parts[end];
        qsort(cuts, n, sizeof *cuts, number_order);
        for (size_t k = 1; status == SKEIN_OK && k < n; k++)
            status = missing_note(merge, cuts[k - 1], cuts[k]);
    }
    free(cuts);
    return status;
}
