/* SPDX-License-Identifier: Apache-2.0
 *
 * skein report: what a trace says first: findings, then tables; of files, or by the collector of a
 * capture. One thread; memory as trace_report.h says, and that of the cursor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_capture.h"
#include "cli_id.h"
#include "cli_out.h"
#include "cli_part.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "cmd.h"
#include "region_columns.h"
#include "report_html.h"
#include "report_tasks.h"
#include "report_verdict.h"
#include "trace_report_json.h"

#define TOP       10
#define FRAMES    6 /* of a stack, below a finding */
#define FILES_MAX 256
#define REMOTE_MS 120000 /* for the collector to read a capture */

struct options {
    struct cli_collector collector;
    struct part_options part;
    struct cli_number top;
    const char *html;
    bool json, remote;
};

static const struct cli_option options[] = {
    {CLI_NUMBER, 0, "top", "N",
     "findings, and rows of each table (default: 10; with --remote the 20 that the collector keeps)",
     offsetof(struct options, top), 10000, NULL},
    PART_TIMES(struct options),
    CLI_OPTION(
        CLI_TEXT, 0, "html", "FILE", struct options, html,
        "write one HTML page with pictures instead, - to standard output: it opens without a "
        "network"),
    CLI_OPTION(CLI_FLAG, 0, "remote", NULL, struct options, remote,
               "of one capture, made by the collector: nothing is fetched"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

/* ---- as text, made from the JSON ---- */

static void count_put(struct buf *out, const char *before, uint64_t n, const char *one,
                      const char *many)
{
    buf_printf(out, "%s%" PRIu64 " %s%s", before, n, one, n == 1 ? "" : many);
}

static void record_put(struct buf *out, const cJSON *report)
{
    if (*json_text_at(report, "from")) {
        shown_put_between(out, "the record: from ", json_text_at(report, "from"), ", ");
        text_put_duration(out, json_u64_at(report, "dur_ns"));
    } else {
        buf_printf(out, "the record: nothing in this time");
    }
    count_put(out, "; ", json_u64_at(report, "totals.processes"), "process", "es");
    count_put(out, ", ", json_u64_at(report, "totals.threads"), "thread", "s");
    count_put(out, ", ", json_u64_at(report, "totals.records"), "record", "s");
    buf_printf(out, "\n");
}

static enum colour severity_colour(const char *severity)
{
    return strcmp(severity, "problem") == 0   ? COLOUR_RED
           : strcmp(severity, "warning") == 0 ? COLOUR_YELLOW
                                              : COLOUR_DIM;
}

static void evidence_put(struct buf *out, const cJSON *finding)
{
    shown_put_between(out, "         rule ", json_text_at(finding, "rule"), "");
    if (json_at(finding, "thread") != NULL) {
        shown_put_between(out, "; thread ", json_text_at(finding, "thread"), "");
        buf_printf(out, "/%" PRIu64, json_u64_at(finding, "tid"));
    }
    if (json_at(finding, "region") != NULL)
        shown_put_between(out, "; in ", json_text_at(finding, "region"), "");
    if (json_at(finding, "from") != NULL) {
        shown_put_between(out, "; from ", json_text_at(finding, "from"), "");
        if (json_u64_at(finding, "dur_ns") > 0) {
            buf_printf(out, " for ");
            text_put_duration(out, json_u64_at(finding, "dur_ns"));
        }
    }
    buf_printf(out, "\n");
}

static void finding_put(struct buf *out, const cJSON *finding)
{
    const char *severity = json_text_at(finding, "severity");
    const cJSON *frame, *frames = json_at(finding, "frames");
    int shown = 0;
    buf_printf(out, "%s", colour_on(stdout, severity_colour(severity)));
    shown_put(out, severity);
    buf_printf(out, "%*s%s  ", strlen(severity) < 7 ? (int)(7 - strlen(severity)) : 0, "",
               colour_off(stdout));
    shown_put_between(out, "", json_text_at(finding, "text"), "\n");
    evidence_put(out, finding);
    cJSON_ArrayForEach(frame, frames) {
        const char *text = cJSON_IsString(frame) ? frame->valuestring : "?";
        if (++shown > FRAMES)
            break;
        shown_put_between(out, "         at ", text, "\n");
    }
    int more = cJSON_GetArraySize(frames) - FRAMES;
    if (more <= 0)
        return;
    count_put(out, "         and ", (uint64_t)more + json_u64_at(finding, "frames_left_out"),
              "more caller", "s");
    buf_printf(out, " (-o json)\n");
}

static void findings_put(struct buf *out, const cJSON *report)
{
    const cJSON *finding, *findings = json_at(report, "findings");
    uint64_t more = json_u64_at(report, "totals.findings_left_out");
    buf_printf(out, "\n%sFindings%s\n", colour_on(stdout, COLOUR_BOLD), colour_off(stdout));
    cJSON_ArrayForEach(finding, findings)
        finding_put(out, finding);
    if (cJSON_GetArraySize(findings) == 0)
        buf_printf(out, "nothing stands out\n");
    if (more > 0)
        buf_printf(out, "and %" PRIu64 " more (--top)\n", more);
    if (json_u64_at(report, "totals.findings_outside") > 0)
        buf_printf(out, "of another time than was asked for, and left out: %" PRIu64 "\n",
                   json_u64_at(report, "totals.findings_outside"));
}

/* What limits left out is told where it would be missed. */
static void left_out_put(struct buf *out, const cJSON *report)
{
    uint64_t spans = json_u64_at(report, "totals.spans_left_out");
    uint64_t counters = json_u64_at(report, "totals.counters_left_out");
    if (spans > 0)
        buf_printf(out, "%" PRIu64 " shorter regions were not compared in time\n", spans);
    if (counters > 0)
        buf_printf(out, "%" PRIu64 " counters more than could be followed\n", counters);
}

static int table_put(const char *title, const cJSON *report, const char *path,
                     const struct table_column *columns, uint64_t left_out)
{
    printf("\n%s%s%s\n", colour_on(stdout, COLOUR_BOLD), title, colour_off(stdout));
    int status = table_print(json_at(report, path), false, columns, "none");
    if (left_out > 0)
        printf("and %" PRIu64 " more (--top)\n", left_out);
    return status;
}

static int tables_print(const cJSON *report)
{
    static const struct table_column regions[] = {{"NAME", "name", TABLE_TEXT},
                                                  {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                  REGION_COLUMNS("median_ns", "p99_ns", "most_ns"),
                                                  {NULL, NULL, TABLE_TEXT}};
    static const struct table_column waits[] = {{"TOOK", "dur_ns", TABLE_NS},
                                                {"FROM", "from", TABLE_TIME},
                                                {"IN", "name", TABLE_TEXT},
                                                {"THREAD", "thread", TABLE_TEXT},
                                                {"TID", "tid", TABLE_NUMBER},
                                                {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                {NULL, NULL, TABLE_TEXT}};
    static const struct table_column threads[] = {{"THREAD", "thread", TABLE_TEXT},
                                                  {"TID", "tid", TABLE_NUMBER},
                                                  {"SERVICE", "service", TABLE_TEXT},
                                                  {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                  {"REGIONS", "count", TABLE_NUMBER},
                                                  {"TOTAL", "total_ns", TABLE_NS},
                                                  {"LONGEST", "most_ns", TABLE_NS},
                                                  {"IN", "most", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    static const struct table_column missing[] = {
        {"REASON", "reason", TABLE_TEXT}, {"SERVICE", "service", TABLE_TEXT},
        {"PID", "pid", TABLE_NUMBER},     {"FROM", "from", TABLE_TIME},
        {"FOR", "dur_ns", TABLE_NS},      {"RECORDS", "records", TABLE_NUMBER},
        {"WHY", "text", TABLE_TEXT},      {NULL, NULL, TABLE_TEXT}};
    int status = table_put("Regions and waits, the most time first that is not idle", report,
                           "regions", regions, json_u64_at(report, "totals.regions_left_out"));
    if (status == CLI_OK)
        status = table_put("Longest waits that are not idle", report, "waits", waits, 0);
    if (status == CLI_OK)
        status = table_put("Threads, without idle waits", report, "threads", threads,
                           json_u64_at(report, "totals.threads_left_out"));
    if (json_u64_at(report, "totals.idle_threads") > 0)
        printf("idle and left out: %" PRIu64 "\n", json_u64_at(report, "totals.idle_threads"));
    if (status == CLI_OK && cJSON_GetArraySize(json_at(report, "gaps")) > 0)
        status = table_put("Parts of the record that are not there", report, "gaps", missing, 0);
    if (status == CLI_OK && cJSON_GetArraySize(json_at(report, "losses")) > 0)
        status = table_put("Records that are lost", report, "losses", missing, 0);
    return status;
}

static int report_show(const cJSON *report, const struct report_sources *sources)
{
    struct buf out = {0};
    record_put(&out, report);
    verdict_lines_put(&out, sources);
    findings_put(&out, report);
    left_out_put(&out, report);
    bool written = out_write(&out);
    buf_fini(&out);
    int status = written ? tables_print(report) : CLI_FAILED;
    struct buf tasks = {0};
    report_tasks_put(&tasks, report);
    if (status == CLI_OK && !out_write(&tasks))
        status = CLI_FAILED;
    buf_clear(&tasks);
    verdict_links_put(&tasks, sources);
    if (status == CLI_OK && !out_write(&tasks))
        status = CLI_FAILED;
    buf_fini(&tasks);
    return status == CLI_OK ? out_close() : status;
}

/* ---- reading ---- */

static int report_failed_say(int status)
{
    say_error("%s", skein_status_text(status));
    return CLI_FAILED;
}

/* Cuts that are not there stand in the report. */
static int damage_tell(const struct trace_report *report)
{
    int status = CLI_OK;
    for (size_t i = 0; i < report->gap_count; i++) {
        const struct skein_gap gap = {.reason = report->gaps[i].reason,
                                      .what = report->gaps[i].what};
        if (gap.reason != SKEIN_GAP_MISSING && part_gap_tell("", &gap) != CLI_OK)
            status = CLI_FAILED;
    }
    return status;
}

static int report_print(struct skein_trace *trace, const struct trace_report *report,
                        const struct options *o, const struct report_sources *sources)
{
    cJSON *json = trace_report_json(report, trace);
    if (json == NULL || verdict_json_add(json, sources) != SKEIN_OK) {
        cJSON_Delete(json);
        return report_failed_say(SKEIN_NO_MEMORY);
    }
    int shown = o->json ? json_show(json) : report_show(json, sources);
    cJSON_Delete(json);
    return shown;
}

static int report_make(struct skein_trace *trace, struct skein_cursor *cursor,
                       struct trace_report_builder *builder, const struct options *o,
                       const struct report_sources *sources)
{
    struct skein_batch batch;
    const struct trace_report *report;
    int next, status = SKEIN_OK;
    while (status == SKEIN_OK && (next = skein_cursor_next(cursor, &batch)) != 0)
        status = next < 0 ? next : trace_report_add(builder, trace, cursor, &batch);
    if (status == SKEIN_OK)
        status = trace_report_end(builder, trace, cursor, &report);
    if (status != SKEIN_OK)
        return report_failed_say(status);
    int shown = o->html != NULL ? report_html_write(trace, report, sources, o->html)
                                : report_print(trace, report, o, sources);
    int whole = damage_tell(report);
    return shown == CLI_OK ? whole : shown;
}

static int usage_check(const struct options *o, int count)
{
    const char *wrong = NULL;
    if (o->top.given && o->top.value == 0) /* to the report it would mean: as many as usual */
        wrong = "--top 0: must be at least 1";
    else if (o->html != NULL && o->json)
        wrong = "only one of --html and --output json can be";
    else if (o->remote && o->html != NULL)
        wrong =
            "--html draws from the trace itself, and --remote fetches none: without --remote the "
            "capture is fetched";
    else if (o->remote && count != 1)
        wrong = "--remote is of one capture";
    if (wrong != NULL)
        say_error("report: %s", wrong);
    return wrong != NULL ? CLI_USAGE : CLI_OK;
}

static int trace_judge(struct skein_trace *trace, const struct options *o,
                       struct report_sources *sources)
{
    struct trace_report_limits limits = {.findings = o->top.given ? (uint32_t)o->top.value : TOP};
    struct trace_report_builder *builder = NULL;
    struct skein_cursor *cursor = NULL;
    limits.rows = limits.findings;
    struct skein_query query;
    struct part part;
    int status = part_query("report", trace, &o->part, &part, &query);
    if (status != CLI_OK)
        return status;
    limits.from_ns = sources->from_ns = query.from_ns;
    limits.to_ns = sources->to_ns = query.to_ns;
    int made = trace_report_new(&limits, &builder);
    if (made == SKEIN_OK)
        made = skein_cursor_new(trace, &query, &cursor);
    status = made == SKEIN_OK ? report_make(trace, cursor, builder, o, sources)
                              : report_failed_say(made);
    skein_cursor_free(&cursor);
    trace_report_free(&builder);
    return status;
}

static int files_report(const struct options *o, const struct cli_call *call)
{
    int count = call->count;
    struct trace_subject *subjects = calloc((size_t)count, sizeof *subjects);
    char **files = calloc((size_t)count, sizeof *files);
    struct skein_trace *trace = NULL;
    int status = subjects != NULL && files != NULL ? CLI_OK : report_failed_say(SKEIN_NO_MEMORY);
    for (int i = 0; i < count && status == CLI_OK; i++) {
        status = subject_open(o->collector, call->arguments[i], &subjects[i]);
        files[i] = (char *)(uintptr_t)subjects[i].file; /* as main gives them; only read */
    }
    if (status == CLI_OK && (trace = part_files_open(files, count)) == NULL)
        status = CLI_FAILED;
    struct report_sources sources = {subjects, count, call->arguments[0], 0, 0};
    if (status == CLI_OK)
        status = trace_judge(trace, o, &sources);
    skein_trace_free(&trace);
    for (int i = 0; i < count && subjects != NULL; i++)
        subject_close(&subjects[i]);
    free(files);
    free(subjects);
    return status;
}

/* ---- by the collector ---- */

/* What damage_tell tells, of an answer. */
static int gaps_tell(const cJSON *report)
{
    const cJSON *gap;
    int status = CLI_OK;
    cJSON_ArrayForEach(gap, json_at(report, "gaps")) {
        const struct skein_gap told = {.reason = SKEIN_GAP_BROKEN,
                                       .what = json_text_at(gap, "text")};
        if (strcmp(json_text_at(gap, "reason"), "missing") != 0)
            status = part_gap_tell("", &told);
    }
    return status;
}

static int report_ask(const struct api *api, const struct options *o, const cJSON *capture,
                      const char *id, cJSON **report)
{
    struct buf path = {0};
    char top[24];
    buf_printf(&path, "/captures/%s/report", id);
    int status = capture_time_query(&path, "report", "from", o->part.from, capture);
    if (status == CLI_OK)
        status = capture_time_query(&path, "report", "to", o->part.to, capture);
    snprintf(top, sizeof top, "%" PRIu64, o->top.value);
    if (o->top.given)
        api_query(&path, "top", top);
    const struct api_request request = {
        .method = "GET", .path = text_of(&path), .timeout_ms = REMOTE_MS};
    if (status == CLI_OK)
        status = api_call_with(api, &request, report);
    buf_fini(&path);
    return status;
}

static int remote_report(const struct options *o, const char *text)
{
    struct api api;
    char id[CLI_ID_BYTES];
    cJSON *report = NULL;
    struct trace_subject subject = {.file = text};
    const struct report_sources sources = {&subject, 1, text, 0, 0};
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = capture_id_find(&api, text, id);
    if (status == CLI_OK)
        status = capture_get(&api, id, &subject.capture);
    if (status == CLI_OK)
        status = report_ask(&api, o, subject.capture, id, &report);
    if (status == CLI_OK) {
        cJSON_DeleteItemFromObjectCaseSensitive(report, "capture"); /* "captures" says it */
        int made = verdict_json_add(report, &sources);
        status = made != SKEIN_OK ? report_failed_say(made)
                 : o->json        ? json_show(report)
                                  : report_show(report, &sources);
        int whole = gaps_tell(report);
        status = status == CLI_OK ? whole : status;
    }
    cJSON_Delete(report);
    subject_close(&subject);
    return status;
}

static int report_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    int status = usage_check(o, call->count);
    if (status != CLI_OK)
        return status;
    return o->remote ? remote_report(o, call->arguments[0]) : files_report(o, call);
}

const struct cli_command cmd_report = {
    .name = "report",
    .arguments = "FILE|CAPTURE...",
    .summary = "What it says: findings in plain words, the most grave first, then tables",
    .details =
        "Several files are one trace. A finding is a problem (it stopped or held up work), a\n"
        "warning (it cost time, or something cannot be known) or a note (no cause by itself), and\n"
        "names its rule, thread, region and time; docs/analysis.md has the rules, and how each can\n"
        "be wrong. What threads were inside of at one moment: skein what. With --remote the collector\n"
        "answers: at once with the report that it keeps, or by reading the part that is asked for.\n",
    .examples = "  skein report redis.skein\n"
                "  skein report 0193a5c0 --top 3\n"
                "  skein report 0193a5c0 --remote\n"
                "  skein report web-1.skein web-2.skein --from -10s\n"
                "  skein report redis.skein --html redis.html\n"
                "  skein report redis.skein -o json | jq -r '.findings[0].text'\n",
    .min_arguments = 1,
    .max_arguments = FILES_MAX,
    CLI_RUN(options, struct options, report_run),
};
