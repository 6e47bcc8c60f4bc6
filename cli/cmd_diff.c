/* SPDX-License-Identifier: Apache-2.0
 *
 * skein diff: what changed from one trace to another, from one time of a trace to another, or between
 * two of its processes. One thread; the memory of a partition of each process and of two summaries.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_out.h"
#include "cli_part.h"
#include "cli_trace.h"
#include "clock.h"
#include "cmd.h"
#include "diff.h"

#define TOP 12

struct options {
    struct part_options part;
    const char *before, *against;
    struct cli_number window, top;
    bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(
        CLI_TEXT, 0, "before", "TIME", struct options, before,
        "in one file: what is after this time beside what is before it (-5s: before the end)"),
    CLI_OPTION(CLI_DURATION, 0, "window", "TIME", struct options, window,
               "with --before: only so long after, and the same before"),
    CLI_OPTION(CLI_TEXT, 'p', "process", "ID|PID", struct options, part.process,
               "of that process alone"),
    CLI_OPTION(CLI_TEXT, 0, "against", "ID|PID", struct options, against,
               "with --process, in one file: that process beside this one"),
    PART_TIMES(struct options),
    CLI_OPTION(CLI_NUMBER, 0, "top", "N", struct options, top,
               "changes that are listed (default: 12); what is left out is counted"),
    CLI_OUTPUT(struct options),
    CLI_OPTIONS_END};

/* One side: a trace, and which part of it. */
struct side {
    struct skein_trace *trace;
    struct skein_query query;
    struct part part;
    struct summary *summary;
};

/* ---- which part ---- */

static int usage_check(const struct options *o, int count)
{
    const char *wrong = NULL;
    if (count == 1 && o->before == NULL && o->against == NULL)
        wrong = "one file needs --before TIME, or --process and --against";
    else if (count == 2 && (o->before != NULL || o->against != NULL))
        wrong = "two files are compared as they are: no --before or --against";
    else if (o->against != NULL && (o->part.process == NULL || o->before != NULL))
        wrong = "--against needs --process, and no --before";
    else if (o->window.given && o->before == NULL)
        wrong = "--window needs --before";
    if (wrong != NULL)
        say_error("diff: %s", wrong);
    return wrong != NULL ? CLI_USAGE : CLI_OK;
}

/* What --from and --to leave of it stays left out. */
static void side_narrow(struct side *side, uint64_t from_ns, uint64_t to_ns)
{
    struct skein_query *query = &side->query;
    query->from_ns = from_ns > query->from_ns ? from_ns : query->from_ns;
    if (to_ns != 0 && (query->to_ns == 0 || to_ns < query->to_ns))
        query->to_ns = to_ns;
}

/* Before and after the moment, in the same trace. */
static int times_split(const struct options *o, struct side sides[2])
{
    struct trace_bounds bounds;
    uint64_t at_ns;
    skein_trace_bounds(sides[0].trace, &bounds.from_ns, &bounds.to_ns);
    if (o->before == NULL)
        return CLI_OK;
    if (trace_time_parse(o->before, &bounds, &at_ns) != SKEIN_OK) {
        say_error("diff: --before %s: must be " TRACE_TIME_WANTED, o->before);
        return CLI_USAGE;
    }
    if (at_ns <= bounds.from_ns || at_ns >= bounds.to_ns) {
        say_error("diff: --before %s: the trace has nothing on one side of that", o->before);
        return CLI_FAILED;
    }
    uint64_t window_ns = o->window.given ? o->window.value : UINT64_MAX;
    uint64_t from_ns = at_ns > window_ns ? at_ns - window_ns : 0;
    uint64_t to_ns = at_ns < UINT64_MAX - window_ns ? at_ns + window_ns : 0; /* no end */
    side_narrow(&sides[0], from_ns, at_ns);
    side_narrow(&sides[1], at_ns, to_ns);
    int status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK; i++)
        status = part_window_check("diff", sides[i].query.from_ns, sides[i].query.to_ns);
    return status;
}

static int sides_open(const struct options *o, int count, char **files, struct side sides[2])
{
    int status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK; i++) {
        sides[i].trace = part_files_open(&files[count == 2 ? i : 0], 1);
        status = sides[i].trace == NULL ? CLI_FAILED : CLI_OK;
        if (status == CLI_OK)
            status = part_query("diff", sides[i].trace, &o->part, &sides[i].part, &sides[i].query);
    }
    if (status == CLI_OK && o->against != NULL) /* --process X --against Y: Y is how it should be */
        status = part_process("diff", sides[0].trace, o->against, &sides[0].part);
    return status == CLI_OK ? times_split(o, sides) : status;
}

/* ---- what is printed ---- */

static void side_say(const char *title, const struct options *o, const struct side *side,
                     uint64_t from_ns, uint64_t to_ns, const char *file)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    const struct summary_process *processes;
    size_t count = summary_processes(side->summary, &processes);
    clock_text(from_ns, from);
    clock_text(to_ns, to);
    printf("%s ", title);
    safe_print(file);
    printf(", %zu process%s%s%s, from %s to %s\n", count, count == 1 ? "" : "es",
           o->against != NULL ? " " : "",
           o->against == NULL              ? ""
           : strcmp(title, "before:") == 0 ? o->against
                                           : o->part.process,
           from, to);
}

static int list_show(const struct diff_list *list, uint64_t top)
{
    struct buf out = {0};
    for (size_t i = 0; i < list->count && i < top; i++) {
        const struct diff_change *c = &list->changes[i];
        buf_printf(&out, "%s%2zu.%s ", colour_on(stdout, COLOUR_BOLD), i + 1, colour_off(stdout));
        text_put_safe(&out, c->words, strlen(c->words));
        buf_printf(&out, "\n");
    }
    if (list->count == 0)
        buf_printf(&out, "nothing changed that is more than chance\n");
    if (list->count > top)
        buf_printf(&out, "and %zu more (--top %zu lists them, --json has all)\n",
                   list->count - (size_t)top, list->count);
    buf_printf(&out, "\n%zu rows compared, %zu tests; at most %g %% of the sure ones are chance\n",
               list->compared, list->tests, 100 * DIFF_Q);
    for (size_t i = 0; i < list->note_count; i++) {
        buf_printf(&out, "note: ");
        text_put_safe(&out, list->notes[i], strlen(list->notes[i]));
        buf_printf(&out, "\n");
    }
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

static int diff_print(const struct options *o, struct side sides[2], int count, char **files)
{
    struct diff *diff;
    const struct diff_list *list;
    struct buf json = {0};
    int status;
    status = diff_new(sides[0].summary, sides[1].summary, o->against != NULL, &diff, &list);
    if (status != SKEIN_OK) {
        say_error("diff: %s", skein_status_text(status));
        return CLI_FAILED;
    }
    if (o->json) {
        diff_json(list, &json);
        buf_put_u8(&json, '\n');
        status = out_write(&json) ? out_close() : CLI_FAILED;
        buf_fini(&json);
    } else {
        side_say("before:", o, &sides[0], list->from_ns[0], list->to_ns[0], files[0]);
        side_say("after: ", o, &sides[1], list->from_ns[1], list->to_ns[1], files[count - 1]);
        printf("\n");
        status = list_show(list, o->top.given ? o->top.value : TOP);
    }
    diff_free(&diff);
    return status;
}

static int diff_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct side sides[2] = {{.trace = NULL}, {.trace = NULL}};
    int status = usage_check(o, count);
    if (status == CLI_OK)
        status = sides_open(o, count, arguments, sides);
    for (int i = 0; i < 2 && status == CLI_OK; i++) {
        int read = summary_new(0, &sides[i].summary);
        if (read == SKEIN_OK)
            read = summary_read(sides[i].summary, sides[i].trace, &sides[i].query);
        if (read == SKEIN_OK)
            continue;
        say_error("diff: %s", skein_status_text(read));
        status = CLI_FAILED;
    }
    if (status == CLI_OK)
        status = diff_print(o, sides, count, arguments);
    for (int i = 0; i < 2 && sides[i].summary != NULL; i++)
        if (part_damage_tell(i == 0 ? "before: " : "after: ", sides[i].summary) != CLI_OK &&
            status == CLI_OK)
            status = CLI_FAILED;
    for (int i = 0; i < 2; i++) {
        summary_free(&sides[i].summary);
        skein_trace_free(&sides[i].trace);
    }
    return status;
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .arguments = "BEFORE [AFTER]",
    .summary =
        "What changed: regions, waits, stacks, CPU, vitals and log lines, and how sure that is",
    .details =
        "Two trace files; one file before and after a time; or two of its processes. Services are\n"
        "compared by name. The largest change is first. \"May be chance\" stands at what is large\n"
        "and too rare to be sure. docs/diff.md says how it is judged, and with which limits.\n",
    .examples = "  skein diff healthy.skein failing.skein\n"
                "  skein diff redis.skein --before -3s\n"
                "  skein diff fleet.skein --process 4711 --against 4712\n"
                "  skein diff a.skein b.skein --json | jq -r '.changes[].words'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = diff_run,
};
