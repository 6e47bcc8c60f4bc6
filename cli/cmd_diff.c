/* SPDX-License-Identifier: Apache-2.0
 *
 * skein diff: what changed from one trace to another, from one time of a trace to another, or between
 * processes; and a failure beside a baseline, in a file or, by its collector, in a capture. One thread;
 * the memory of a partition of each process and of three summaries.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_capture.h"
#include "cli_out.h"
#include "cli_part.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "cmd.h"
#include "diff.h"
#include "diff_baseline.h"
#include "diff_print.h"
#include "diff_slowest.h"
#include "json.h"

#define TOP 12

struct options {
    struct part_options part;
    const char *before, *against, *baseline, *at, *slowest;
    struct cli_number window, top;
    struct cli_collector collector;
    bool json;
};

static const char *const baselines[] = {"auto", "earlier", "sample", "neighbours", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE(0, "baseline", "WHAT", struct options, baseline, baselines,
               "what the failure is set beside: earlier, sample, neighbours, or auto, the first of "
               "these that there is (default)"),
    CLI_OPTION(CLI_TEXT, 0, "at", "TIME", struct options, at,
               "when the failure was (default: a capture's instant; in a file it is sought)"),
    CLI_OPTION(
        CLI_TEXT, 0, "slowest", "REGION", struct options, slowest,
        "instead: which argument values, threads, processes and hosts the slowest 1 % of that "
        "region have more often than the rest"),
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
    CLI_COLLECTOR(struct options),
    CLI_OUTPUT(struct options),
    CLI_OPTIONS_END};

/* One side: a trace, and which part of it. `part` is first: the query calls with it. */
struct side {
    struct part part;
    const struct skein_process *not_process; /* neighbours of it; NULL: as `part` says */
    struct skein_trace *trace;
    struct skein_query query;
    struct summary *summary;
};

/* ---- which part ---- */

static int usage_check(const struct options *o, int count)
{
    const char *wrong = NULL;
    bool by_hand = o->before != NULL || o->against != NULL;
    if (count == 2 && by_hand)
        wrong = "two are compared as they are: no --before or --against";
    else if ((count == 2 || by_hand) && (o->baseline != NULL || o->at != NULL))
        wrong = "--baseline and --at find the other side of one file or capture: nothing else may "
                "name it";
    else if (o->against != NULL && (o->part.process == NULL || o->before != NULL))
        wrong = "--against needs --process, and no --before";
    else if (o->window.given && o->before == NULL)
        wrong = "--window needs --before";
    else if (o->slowest != NULL && (count == 2 || by_hand || o->baseline != NULL || o->at != NULL))
        wrong = "--slowest is of one file or capture, and of no other side";
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

static int sides_open(const struct options *o, const char *const files[2], struct side sides[2])
{
    int status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK; i++) {
        char *file = (char *)(uintptr_t)files[i]; /* as main gives it; only read */
        sides[i].trace = part_files_open(&file, 1);
        status = sides[i].trace == NULL ? CLI_FAILED : CLI_OK;
        if (status == CLI_OK)
            status = part_query("diff", sides[i].trace, &o->part, &sides[i].part, &sides[i].query);
    }
    if (status == CLI_OK && o->against != NULL) /* --process X --against Y: Y is how it should be */
        status = part_process("diff", sides[0].trace, o->against, &sides[0].part);
    return status == CLI_OK ? times_split(o, sides) : status;
}

static int side_read(struct side *side)
{
    int status = summary_new(0, &side->summary);
    if (status == SKEIN_OK)
        status = summary_read(side->summary, side->trace, &side->query);
    if (status == SKEIN_OK)
        return CLI_OK;
    say_error("diff: %s", skein_status_text(status));
    return CLI_FAILED;
}

/* ---- baselines in a file ---- */

/* The one process that the query is of; NULL: none, or several. */
static const struct skein_process *subject_of(const struct side *side)
{
    const struct skein_process *subject = NULL;
    uint32_t count = skein_trace_process_count(side->trace);
    for (uint32_t i = 0; i < count && side->query.process != NULL; i++) {
        const struct skein_process *process = skein_trace_process(side->trace, i);
        if (!side->query.process(side->query.context, process))
            continue;
        if (subject != NULL)
            return NULL;
        subject = process;
    }
    return subject;
}

static bool neighbour_passes(void *context, const struct skein_process *process)
{
    const struct side *side = context;
    return strcmp(process->service, side->not_process->service) == 0 &&
           memcmp(process->id, side->not_process->id, sizeof process->id) != 0;
}

/* Sets `before` to the other processes of the service; false: there is none, and why. */
static bool neighbours_take(struct side sides[2], struct diff_choice *choice)
{
    const struct skein_process *subject = subject_of(&sides[1]);
    char *why_not = choice->why_not[DIFF_NEIGHBOURS];
    unsigned found = 0;
    if (subject == NULL) {
        snprintf(why_not, DIFF_WHY_BYTES, "which process failed is not known: --process names it");
        return false;
    }
    sides[0].not_process = subject;
    for (uint32_t i = 0; i < skein_trace_process_count(sides[1].trace); i++)
        found += neighbour_passes(&sides[0], skein_trace_process(sides[1].trace, i));
    if (found == 0) {
        snprintf(why_not, DIFF_WHY_BYTES, "it is the only process of its service here");
        return false;
    }
    sides[0].query.process = neighbour_passes;
    sides[0].query.context = &sides[0];
    snprintf(choice->why, DIFF_WHY_BYTES,
             "the other processes of its service (%u), at the same time", found);
    if (choice->onset.found) {
        side_narrow(&sides[0], choice->onset.from_ns, 0);
        side_narrow(&sides[1], choice->onset.from_ns, 0);
    }
    return true;
}

static bool earlier_take(struct side sides[2], struct diff_choice *choice)
{
    if (!diff_earlier_exists(sides[1].summary, sides[1].query.from_ns, choice))
        return false;
    snprintf(choice->why, DIFF_WHY_BYTES, "the same process%s until the onset",
             sides[1].query.process != NULL ? "" : "es");
    side_narrow(&sides[0], 0, choice->onset.from_ns);
    side_narrow(&sides[1], choice->onset.from_ns, 0);
    return true;
}

/* Tries one, or all in their order; says which was taken. */
static int baseline_take(enum diff_baseline asked, struct side sides[2], struct diff_choice *choice)
{
    static bool (*const takes[])(struct side *, struct diff_choice *) = {
        [DIFF_EARLIER] = earlier_take, [DIFF_NEIGHBOURS] = neighbours_take, [DIFF_GIVEN] = NULL};
    snprintf(choice->why_not[DIFF_SAMPLE], DIFF_WHY_BYTES,
             "a file has no samples: a collector has, or two files are compared");
    choice->automatic = asked == DIFF_BASELINES;
    for (unsigned i = 0; i < DIFF_GIVEN; i++) {
        if ((!choice->automatic && i != (unsigned)asked) || takes[i] == NULL ||
            !takes[i](sides, choice))
            continue;
        choice->chosen = (enum diff_baseline)i;
        return CLI_OK;
    }
    for (unsigned i = 0; i < DIFF_GIVEN; i++)
        if ((choice->automatic || i == (unsigned)asked) && choice->why_not[i][0] != '\0')
            say_error("diff: not %s: %s", diff_baseline_text((enum diff_baseline)i),
                      choice->why_not[i]);
    return CLI_FAILED;
}

/* Finds the onset, and what the failure is set beside. */
static int baseline_find(const struct options *o, struct side sides[2], struct diff_choice *choice)
{
    struct trace_bounds bounds;
    enum diff_baseline asked;
    uint64_t at_ns = DIFF_AT_UNKNOWN;
    skein_trace_bounds(sides[1].trace, &bounds.from_ns, &bounds.to_ns);
    (void)diff_baseline_parse(o->baseline != NULL ? o->baseline : "auto", &asked);
    if (o->at != NULL && trace_time_parse(o->at, &bounds, &at_ns) != SKEIN_OK) {
        say_error("diff: --at %s: must be " TRACE_TIME_WANTED, o->at);
        return CLI_USAGE;
    }
    int status = side_read(&sides[1]); /* all of it, to see when it began */
    if (status != CLI_OK)
        return status;
    diff_onset_find(sides[1].summary, at_ns, &choice->onset);
    choice->has_onset = true;
    status = baseline_take(asked, sides, choice);
    summary_free(&sides[1].summary);
    return status;
}

/* ---- files ---- */

static int diff_show(const struct options *o, struct buf *json, const char *const names[2])
{
    char error[256];
    if (o->json) {
        buf_put_u8(json, '\n');
        return out_write(json) ? out_close() : CLI_FAILED;
    }
    cJSON *diff = json_parse((const char *)json->data, json->len, error, sizeof error);
    if (diff == NULL) {
        say_error("diff: %s", error);
        return CLI_FAILED;
    }
    int status = diff_print(diff, names, o->top.given ? o->top.value : TOP);
    cJSON_Delete(diff);
    return status;
}

static int sides_compare(const struct options *o, struct side sides[2],
                         const struct diff_choice *choice, const char *const names[2])
{
    struct diff *diff;
    const struct diff_list *list;
    struct buf json = {0};
    int status = diff_new(sides[0].summary, sides[1].summary, o->against != NULL, &diff, &list);
    if (status == SKEIN_OK) {
        diff_json(list, choice, &json);
        status = json.status;
        diff_free(&diff);
    }
    if (status != SKEIN_OK)
        say_error("diff: %s", skein_status_text(status));
    int shown = status == SKEIN_OK ? diff_show(o, &json, names) : CLI_FAILED;
    buf_fini(&json);
    return shown;
}

/* files[0] and files[1] may be one. */
static int files_compare(const struct options *o, const char *const files[2])
{
    struct side sides[2] = {{.trace = NULL}, {.trace = NULL}};
    struct diff_choice choice = {.why = ""};
    bool search = files[0] == files[1] && o->before == NULL && o->against == NULL;
    const char *names[2] = {files[0], files[1]};
    char named[2][300];
    int status = sides_open(o, files, sides);
    if (status == CLI_OK && search)
        status = baseline_find(o, sides, &choice);
    for (int i = 0; i < 2 && status == CLI_OK; i++)
        status = side_read(&sides[i]);
    if (o->against != NULL) {
        snprintf(named[0], sizeof named[0], "%.200s, %.64s", files[0], o->against);
        snprintf(named[1], sizeof named[1], "%.200s, %.64s", files[1], o->part.process);
        names[0] = named[0], names[1] = named[1];
    }
    if (status == CLI_OK)
        status = sides_compare(o, sides, search ? &choice : NULL, names);
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

/* ---- a capture, by its collector ---- */

/* A target by its pid, or by its id or its beginning. */
static int process_ask(struct buf *path, const cJSON *capture, const char *process)
{
    const cJSON *target, *targets = json_at(capture, "targets");
    char id[CLI_ID_BYTES], pid[24];
    const char *found = NULL;
    if (process == NULL)
        return CLI_OK;
    cJSON_ArrayForEach(target, targets) {
        snprintf(pid, sizeof pid, "%" PRIu64, json_u64_at(target, "pid"));
        if (strcmp(pid, process) != 0)
            continue;
        if (found != NULL) {
            say_error("diff: several targets have the pid %s: use the id", process);
            return CLI_FAILED;
        }
        found = json_text_at(target, "process");
    }
    if (found == NULL) {
        int status = id_find_in(targets, "process", "target of the capture", process, id);
        if (status != CLI_OK)
            return status;
        found = id;
    }
    api_query(path, "process", found);
    return CLI_OK;
}

static int capture_ask(const struct options *o, const char *id, const cJSON *capture,
                       struct buf *path)
{
    buf_printf(path, "/captures/");
    api_segment(path, id);
    buf_printf(path, "/diff");
    api_query(path, "baseline", o->baseline);
    int status = process_ask(path, capture, o->part.process);
    if (status == CLI_OK)
        status = capture_time_query(path, "diff", "at", o->at, capture);
    if (status == CLI_OK)
        status = capture_time_query(path, "diff", "from", o->part.from, capture);
    if (status == CLI_OK)
        status = capture_time_query(path, "diff", "to", o->part.to, capture);
    return status;
}

static int capture_compare(const struct options *o, const char *text)
{
    struct api api;
    struct buf path = {0}, json = {0};
    char id[CLI_ID_BYTES], names[2][96];
    cJSON *capture = NULL, *diff = NULL;
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = capture_id_find(&api, text, id);
    if (status == CLI_OK)
        status = capture_get(&api, id, &capture);
    if (status == CLI_OK)
        status = capture_ask(o, id, capture, &path);
    if (status == CLI_OK)
        status = api_call(&api, "GET", text_of(&path), NULL, &diff);
    if (status == CLI_OK) {
        const char *of = json_text_at(diff, "baseline.capture");
        snprintf(names[0], sizeof names[0], "capture %.64s", *of ? of : id);
        snprintf(names[1], sizeof names[1], "capture %.64s", id);
        json_print(diff, &json);
        status = diff_show(o, &json, (const char *const[2]){names[0], names[1]});
    }
    cJSON_Delete(diff);
    cJSON_Delete(capture);
    buf_fini(&path);
    buf_fini(&json);
    return status;
}

static int diff_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct trace_subject subjects[2] = {{.file = NULL}, {.file = NULL}};
    int count = call->count;
    bool by_hand = o->before != NULL || o->against != NULL;
    bool is_file =
        access(call->arguments[0], F_OK) == 0 || !id_begins(call->arguments[0], CLI_ID_BYTES - 1);
    int status = usage_check(o, count);
    if (status != CLI_OK)
        return status;
    if (count == 1 && !is_file && !by_hand && o->slowest == NULL)
        return capture_compare(o, call->arguments[0]);
    for (int i = 0; i < count && status == CLI_OK; i++)
        status = subject_open(o->collector, call->arguments[i], &subjects[i]);
    if (status == CLI_OK && o->slowest != NULL)
        status = diff_slowest(subjects[0].file, o->slowest, &o->part, o->json,
                              o->top.given ? o->top.value : TOP);
    else if (status == CLI_OK)
        status = files_compare(
            o, (const char *const[2]){subjects[0].file, subjects[count == 2 ? 1 : 0].file});
    subject_close(&subjects[0]);
    subject_close(&subjects[1]);
    return status;
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .arguments = "BEFORE|FILE|CAPTURE [AFTER]",
    .summary =
        "What changed: regions, waits, stacks, CPU, vitals and log lines, and how sure that is",
    .details =
        "Of one file or capture: the failure beside its baseline. Two are compared as they are; so\n"
        "are one before and after a time, and two processes of one. Services are compared by name.\n"
        "The largest change is first. \"May be chance\" stands at what is large and too rare to be\n"
        "sure. docs/diff.md says how baselines are found, how changes are judged, and with which\n"
        "limits.\n",
    .examples = "  skein diff 0193a5c0\n"
                "  skein diff fleet.skein --baseline neighbours --process 4711\n"
                "  skein diff healthy.skein failing.skein\n"
                "  skein diff redis.skein --before -3s\n"
                "  skein diff fleet.skein --process 4711 --against 4712\n"
                "  skein diff fleet.skein --slowest request\n"
                "  skein diff a.skein b.skein --json | jq -r '.changes[].words'\n",
    .min_arguments = 1,
    .max_arguments = 2,
    CLI_RUN(options, struct options, diff_run),
};
