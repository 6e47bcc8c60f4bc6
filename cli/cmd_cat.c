/* SPDX-License-Identifier: Apache-2.0
 *
 * skein cat: the events of trace files, as lines for people or for programs, or the longest regions
 * among them. One thread; the memory of two partitions of each process, or of two and the lines
 * kept for --longest.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "cli_longest.h"
#include "cli_out.h"
#include "cli_part.h"
#include "cli_trace.h"
#include "cmd.h"
#include "longest_places.h"
#include "trace_json.h"
#include "trace_stack.h"
#include "trace_text.h"

#define FLUSH_BYTES  (256u << 10)
#define LONGEST_MAX  100000
#define STACK_INDENT 8

struct options {
    struct part_options part;
    const char *name, *type, *groups;
    struct cli_number min_dur, longest, limit;
    bool json, begins, stacks, evidence;
};

/* trace_kind_text() of each. */
static const char *const types[] = {"region", "instant", "counter", "log", "open",
                                    "loss",   "begin",   "end",     NULL};

static const struct cli_option options[] = {
    PART_TIMES(struct options),
    PART_WHO(struct options),
    CLI_OPTION(CLI_TEXT, 'n', "name", "NAME", struct options, name,
               "events of that name; may have * and ?"),
    CLI_CHOICE(0, "type", "TYPE", struct options, type, types,
               "region, instant, counter, log, open, loss, begin or end"),
    TRACE_GROUPS(struct options, "all"),
    CLI_OPTION(CLI_DURATION, 'd', "min-dur", "TIME", struct options, min_dur,
               "regions that took at least so long, and nothing else"),
    {CLI_NUMBER, 0, "longest", "N",
     "the N longest regions with their stacks, as a table (or as lines with --json)",
     offsetof(struct options, longest), LONGEST_MAX, NULL},
    CLI_OPTION(
        CLI_FLAG, 0, "evidence", NULL, struct options, evidence,
        "with --longest: also all that the agent saw beside the record, not only waits for a "
        "CPU"),
    CLI_OPTION(CLI_NUMBER, 0, "limit", "N", struct options, limit, "stop after N events"),
    CLI_OPTION(CLI_FLAG, 0, "begins", NULL, struct options, begins,
               "also a line where a region begins, not only where it ends"),
    CLI_OPTION(CLI_FLAG, 0, "stacks", NULL, struct options, stacks,
               "below each event that has one, its stack, innermost first (--longest and JSON have "
               "them anyway)"),
    CLI_OPTION(CLI_FORMAT, 'o', "output", "FORM", struct options, json,
               "table or json: one object a line (default: table)"),
    CLI_OPTION(CLI_FLAG, 'j', "json", NULL, struct options, json, "short for -o json"),
    CLI_OPTIONS_END};

/* What the options mean for one file. */
struct filter {
    const struct options *options;
    struct part part;
    uint64_t groups;
};

struct output {
    struct buf lines;
    struct longest *longest;    /* NULL: events are printed as they come */
    uint64_t printed, left_out; /* regions of evidence, by --longest */
    uint64_t bulk;              /* events that are left out: is_bulk */
    bool full, failed;          /* --limit is reached; standard output is gone */
};

/* ---- filters ---- */

static int filter_init(struct filter *filter, const struct options *o,
                       const struct trace_walk *walk)
{
    *filter = (struct filter){.options = o};
    int status = trace_groups_parse(o->groups, &filter->groups);
    return status == CLI_OK ? part_find("cat", trace_walk_trace(walk), &o->part, &filter->part)
                            : status;
}

static bool process_passes(const void *filter, const struct partition_footer *footer)
{
    const struct filter *f = filter;
    return part_has_process(&f->part, footer->key.process.bytes, footer->pid);
}

static bool thread_passes(const struct filter *f, const struct partition_thread *thread)
{
    return f->options->part.thread == NULL ||
           (thread != NULL && part_has_thread(&f->part, thread->name, thread->tid));
}

/* A kept trace is thousands of letters: its parts are shown to who names them. */
static bool is_bulk(const struct filter *f, const struct trace_event *event)
{
    return f->options->name == NULL && event->type != NULL &&
           strcmp(event->type->name, PARTITION_BULK_EVENT) == 0;
}

static bool event_passes(const struct filter *f, const struct trace_event *event)
{
    const struct options *o = f->options;
    bool timed = event->kind == TRACE_REGION || event->kind == TRACE_OPEN;
    uint64_t end_ns = event->time_ns + event->dur_ns;
    if (end_ns < f->part.from_ns || (f->part.to_ns != 0 && event->time_ns > f->part.to_ns) ||
        !event_type_shown(event->type, f->groups))
        return false;
    if (event->kind == TRACE_BEGIN && !o->begins)
        return false;
    if (o->min_dur.given && (!timed || event->dur_ns < o->min_dur.value))
        return false;
    if (o->longest.given && !timed)
        return false;
    if (o->type != NULL && strcmp(o->type, trace_kind_text(event->kind)) != 0)
        return false;
    if (o->name != NULL && (event->type == NULL || fnmatch(o->name, event->type->name, 0) != 0))
        return false;
    return thread_passes(f, event->thread);
}

/* ---- output ---- */

static void cat_flush(struct output *out)
{
    if (!out->failed && !out_write(&out->lines))
        out->failed = true;
    buf_clear(&out->lines);
}

static void cat_emit(struct output *out, const struct filter *f, struct partition_reader *reader,
                     const struct trace_event *event)
{
    const struct options *o = f->options;
    const struct partition_info *info = partition_reader_info(reader);
    if (out->longest != NULL) {
        if (longest_add(out->longest, reader, event) != SKEIN_OK)
            out->failed = true;
        return;
    }
    if (o->limit.given && out->printed >= o->limit.value) {
        out->full = true;
        return;
    }
    if (o->json)
        trace_json_put(&out->lines, info, event, reader);
    else
        trace_text_put(&out->lines, info, event);
    if (o->stacks && !o->json)
        trace_stack_text(&out->lines, reader, event->stack, STACK_INDENT);
    out->printed++;
    if (out->lines.len >= FLUSH_BYTES)
        cat_flush(out);
}

/* Of what the agent saw beside the record, a wait for a CPU is none that the record has. */
static void evidence_cat(struct trace_walk *walk, const struct trace_step *step,
                         const struct filter *f, struct output *out)
{
    struct trace_event event;
    while (!out->failed && trace_walk_event(walk, &event)) {
        if (longest_evidence(out->longest, step->reader, &event) != SKEIN_OK)
            out->failed = true;
        bool wanted = f->options->evidence ||
                      (event.type != NULL && strcmp(event.type->name, "sched.runnable") == 0);
        if (!event_passes(f, &event))
            continue;
        if (wanted)
            cat_emit(out, f, step->reader, &event);
        else
            out->left_out++;
    }
}

/* ---- the longest ---- */

static bool process_says(void *context, const struct skein_process *process)
{
    const struct filter *f = context;
    return part_has_process(&f->part, process->id, process->pid);
}

static bool type_says(void *context, const struct skein_event_type *type)
{
    const struct filter *f = context;
    return fnmatch(f->options->name, type->name, 0) == 0;
}

/* Where regions of the ring can be that are among the longest. A thread's name may be another one in
 * another partition: then all are read. */
static int places_find(struct trace_walk *walk, struct filter *f, struct longest_places **places)
{
    const struct options *o = f->options;
    const uint32_t regions = 1u << SKEIN_ROW_REGION, open = 1u << SKEIN_ROW_OPEN;
    struct skein_query query = {.kinds = regions | open,
                                .from_ns = f->part.from_ns,
                                .to_ns = f->part.to_ns,
                                .groups = f->groups,
                                .process = process_says,
                                .type = o->name != NULL ? type_says : NULL,
                                .context = f};
    *places = NULL;
    if (o->type != NULL)
        query.kinds = strcmp(o->type, "region") == 0 ? regions
                      : strcmp(o->type, "open") == 0 ? open
                                                     : 0;
    if (query.kinds == 0 || o->part.thread != NULL || o->longest.value == 0)
        return SKEIN_OK;
    return longest_places_find(trace_walk_trace(walk), &query, o->longest.value,
                               o->min_dur.given ? o->min_dur.value : 0, places);
}

static void step_cat(struct trace_walk *walk, const struct trace_step *step, const struct filter *f,
                     struct output *out)
{
    struct trace_event event;
    while (!out->failed && trace_walk_event(walk, &event)) {
        /* What was open at an earlier cut comes again, with its end or in a later cut. */
        if (event.kind == TRACE_OPEN && !step->last_of_process)
            continue;
        if (event_passes(f, &event))
            cat_emit(out, f, step->reader, &event);
    }
}

/* Process by process: the order of lengths does not depend on it, and it takes less memory. */
static void longest_cat(struct trace_walk *walk, struct filter *f, struct output *out)
{
    struct trace_step step;
    struct longest_places *places;
    if (places_find(walk, f, &places) != SKEIN_OK) {
        say_error("out of memory");
        out->failed = true;
    }
    while (!out->failed && trace_walk_next(walk, &step)) {
        bool shown = process_passes(f, &step.entry->footer);
        if (step.entry->footer.evidence) {
            if (shown)
                evidence_cat(walk, &step, f, out);
        } else if (shown && (places == NULL || longest_places_has(places, step.entry))) {
            step_cat(walk, &step, f, out);
        } else { /* the next one needs the ranges that it leaves open */
            trace_walk_pass(walk);
        }
    }
    longest_places_free(&places);
}

static int merged_cat(struct trace_walk *walk, const struct filter *f, struct output *out)
{
    struct trace_step step;
    const struct trace_event *event;
    int status = trace_walk_merge(walk, process_passes, f);
    while (status == CLI_OK && !out->failed && !out->full &&
           (event = trace_walk_merged(walk, &step)) != NULL)
        if (!event_passes(f, event))
            continue;
        else if (is_bulk(f, event))
            out->bulk++;
        else
            cat_emit(out, f, step.reader, event);
    return status;
}

static int file_cat(const char *path, const struct options *o, struct output *out)
{
    struct trace_walk *walk = NULL;
    struct filter filter;
    int status = trace_walk_new(path, &walk);
    if (status == CLI_OK)
        status = filter_init(&filter, o, walk);
    if (status == CLI_OK && out->longest != NULL)
        longest_cat(walk, &filter, out);
    else if (status == CLI_OK)
        status = merged_cat(walk, &filter, out);
    if (status == CLI_OK && !trace_walk_sound(walk))
        status = CLI_FAILED;
    trace_walk_free(&walk);
    return status;
}

static int cat_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct output out = {.printed = 0};
    int status = CLI_OK;
    if (o->longest.given && longest_new(o->longest.value, o->json, &out.longest) != SKEIN_OK) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    for (int i = 0; i < call->count && !out.failed && !out.full; i++) {
        int one = file_cat(call->arguments[i], o, &out);
        status = status == CLI_OK ? one : status;
    }
    cat_flush(&out);
    if (out.full)
        say_warning("there are more events than --limit %" PRIu64, o->limit.value);
    if (out.bulk > 0)
        say_warning("%" PRIu64 " parts of kept files are left out (--name " PARTITION_BULK_EVENT
                    "; skein export writes the files)",
                    out.bulk);
    if (out.left_out > 0)
        say_warning("%" PRIu64 " regions of evidence are left out (--evidence)", out.left_out);
    int printed = out.longest != NULL ? longest_print(out.longest) : out_close();
    longest_free(&out.longest);
    buf_fini(&out.lines);
    if (out.failed || printed != CLI_OK)
        return CLI_FAILED;
    return status;
}

const struct cli_command cmd_cat = {
    .name = "cat",
    .arguments = "FILE...",
    .summary = "Print the events of trace files",
    .details =
        "Lines of all processes and hosts come by the collector's clock, those of one process in the\n"
        "order of cause and effect; a region's line stands where it ended, with the time it began.\n"
        "Takes the memory of a cut of each process; -p names one.\n",
    .examples = "  skein cat redis.skein --from -5s\n"
                "  skein cat redis.skein --longest 10\n"
                "  skein cat redis.skein --thread redis-server --min-dur 10ms\n"
                "  skein cat redis.skein --json | jq 'select(.dur_ns > 1e9)'\n",
    CLI_RUN(options, struct options, cat_run),
};
