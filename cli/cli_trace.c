/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells people of what the walk of format/trace_merge.h finds, and what they mean by times. Owns an
 * open trace. One thread.
 */
#include "cli_trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_part.h"
#include "clock.h"
#include "event_groups.h"
#include "json.h"
#include "trace_twins.h"

struct trace_walk {
    const char *path;
    struct skein_trace *trace;
    struct trace_merge *merge;
    bool *wanted; /* processes, merged */
    size_t told;  /* of the merge's gaps */
    bool sound;
};

struct trace_file *trace_open(const char *path)
{
    char error[512] = "";
    struct trace_file *file = NULL;
    int status = trace_file_open(path, &file, error, sizeof error);
    if (status == SKEIN_OK)
        return file;
    if (error[0]) /* it names the file */
        say_error("%s", error);
    else
        say_error("%s: %s", path, skein_status_text(status));
    return NULL;
}

int trace_time_parse(const char *text, const struct trace_bounds *bounds, uint64_t *ns)
{
    uint64_t by;
    if (text[0] != '-' && text[0] != '+')
        return clock_parse(text, ns);
    if (cli_duration_parse(text + 1, &by) != SKEIN_OK)
        return SKEIN_INVALID;
    if (text[0] == '-')
        *ns = by < bounds->to_ns ? bounds->to_ns - by : 0;
    else
        *ns = by < UINT64_MAX - bounds->from_ns ? bounds->from_ns + by : UINT64_MAX;
    return SKEIN_OK;
}

int trace_groups_parse(const char *text, uint64_t *groups)
{
    if (text == NULL || event_groups_parse(text, groups))
        return CLI_OK;
    say_error("--groups %s: must be all, or some of " EVENT_GROUPS ", with commas between", text);
    return CLI_USAGE;
}

void trace_twins_add(const char *path, cJSON *row)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct trace_twins twins = {0};
    struct skein_trace *trace;
    if (skein_trace_open(path, &trace, error) == SKEIN_OK) {
        twins = trace_twins(trace);
        skein_trace_free(&trace);
    }
    json_add_u64(row, "copies", twins.copies);
    json_add_u64(row, "others", twins.others);
}

void trace_twins_say(const cJSON *row)
{
    uint64_t copies = json_u64_at(row, "copies"), others = json_u64_at(row, "others");
    if (copies > 0)
        printf("%" PRIu64 " partitions are copies of others, and are read once\n", copies);
    if (others > 0)
        printf("%" PRIu64 " partitions bear the number of another one and differ from it; they are "
               "shown as of processes of their own\n",
               others);
}

/* Says why what cannot be read is left out. */
static void gaps_tell(struct trace_walk *walk)
{
    const struct skein_gap *gaps;
    size_t count = trace_merge_gaps(walk->merge, &gaps);
    for (; walk->told < count; walk->told++) {
        if (gaps[walk->told].reason != SKEIN_GAP_BROKEN) /* torn bytes are told when it is opened */
            continue;
        if (part_gap_tell("", &gaps[walk->told]) != CLI_OK)
            walk->sound = false;
    }
}

static int no_memory(struct trace_walk *walk)
{
    say_error("out of memory");
    walk->sound = false;
    return CLI_FAILED;
}

/* Begins a walk anew. */
static int merge_begin(struct trace_walk *walk, const struct trace_merge_ask *ask)
{
    trace_merge_free(&walk->merge);
    walk->told = 0;
    return trace_merge_new(walk->trace, ask, &walk->merge) == SKEIN_OK ? CLI_OK : no_memory(walk);
}

int trace_walk_new(const char *path, struct trace_walk **out)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    const struct trace_merge_ask ask = {.in_turn = true};
    struct trace_walk *walk = *out = calloc(1, sizeof *walk);
    if (walk == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    walk->path = path;
    walk->sound = true;
    int status = CLI_OK;
    if (skein_trace_open(path, &walk->trace, error) != SKEIN_OK) {
        say_error("%s", error);
        status = CLI_FAILED;
    }
    if (status == CLI_OK)
        status = merge_begin(walk, &ask);
    if (status != CLI_OK) {
        trace_walk_free(out);
        return status;
    }
    uint64_t torn = trace_file_torn(trace_walk_file(walk));
    if (torn > 0) {
        say_warning("%s: %" PRIu64 " bytes belong to no whole partition; `skein check` says more",
                    path, torn);
        walk->sound = false;
    }
    return CLI_OK;
}

void trace_walk_free(struct trace_walk **walk)
{
    struct trace_walk *w = *walk;
    *walk = NULL;
    if (w == NULL)
        return;
    trace_merge_free(&w->merge);
    skein_trace_free(&w->trace);
    free(w->wanted);
    free(w);
}

const struct trace_file *trace_walk_file(const struct trace_walk *walk)
{
    return trace_first_file(walk->trace);
}

struct skein_trace *trace_walk_trace(const struct trace_walk *walk)
{
    return walk->trace;
}

/* What a call of the walk gave, told where it is for people. */
static bool walk_got(struct trace_walk *walk, int got)
{
    gaps_tell(walk);
    if (got < 0)
        no_memory(walk);
    return got > 0;
}

bool trace_walk_next(struct trace_walk *walk, struct trace_step *step)
{
    return walk_got(walk, trace_merge_step(walk->merge, step));
}

bool trace_walk_event(struct trace_walk *walk, struct trace_event *event)
{
    return walk_got(walk, trace_merge_event(walk->merge, event));
}

void trace_walk_pass(struct trace_walk *walk)
{
    walk_got(walk, trace_merge_pass(walk->merge));
}

int trace_walk_merge(struct trace_walk *walk, trace_wanted *wanted, const void *context)
{
    uint32_t count = skein_trace_process_count(walk->trace);
    free(walk->wanted);
    walk->wanted = calloc((size_t)count + 1, sizeof *walk->wanted);
    if (walk->wanted == NULL)
        return no_memory(walk);
    for (uint32_t i = 0; i < count; i++)
        walk->wanted[i] = wanted(context, &trace_process_entry(walk->trace, i)->footer);
    const struct trace_merge_ask ask = {.process_wanted = walk->wanted};
    return merge_begin(walk, &ask);
}

const struct trace_event *trace_walk_merged(struct trace_walk *walk, struct trace_step *step)
{
    const struct trace_event *event = NULL;
    return walk_got(walk, trace_merge_next(walk->merge, &event, step)) ? event : NULL;
}

bool trace_walk_sound(const struct trace_walk *walk)
{
    return walk->sound;
}
