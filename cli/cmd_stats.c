/* SPDX-License-Identifier: Apache-2.0
 *
 * skein stats: what each process, thread and name of trace files came to. One thread; the memory of a
 * partition of each process and of the summary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_out.h"
#include "cli_part.h"
#include "clock.h"
#include "cmd.h"
#include "json.h"
#include "region_columns.h"
#include "summary.h"

#define TOP          15
#define STACK_FRAMES 5

struct options {
    struct part_options part;
    struct cli_number top;
    bool json;
};

static const struct cli_option options[] = {
    PART_TIMES(struct options), PART_WHO(struct options),
    CLI_OPTION(CLI_NUMBER, 0, "top", "N", struct options, top,
               "rows of each table (default: 15); what is left out is counted"),
    CLI_OUTPUT(struct options), CLI_OPTIONS_END};

/* ---- tables for people: made from the summary's JSON ---- */

struct section {
    const char *member, *title, *empty; /* empty NULL: then there is no such table */
    struct table_column columns[12];
};

static const struct section sections[] = {
    {"processes",
     "Processes",
     "there is nothing",
     {{"SERVICE", "service", TABLE_TEXT},
      {"PID", "pid", TABLE_NUMBER},
      {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
      {"SEEN", "seen_ns", TABLE_NS},
      {"RECORDS", "events", TABLE_NUMBER},
      {"NET", "wait_net_ns", TABLE_NS},
      {"IO", "wait_io_ns", TABLE_NS},
      {"LOCK", "wait_lock_ns", TABLE_NS},
      {"SLEEP", "wait_sleep_ns", TABLE_NS},
      {"OF IT IDLE", "idle_ns", TABLE_NS},
      {"CPU SAMPLED", "sampled_ns", TABLE_NS},
      {NULL, NULL, 0}}},
    {"names",
     "Regions and waits, the most time first",
     "no region ended in this time",
     {{"NAME", "name", TABLE_TEXT},
      {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
      {"PID", "pid", TABLE_NUMBER | TABLE_SPARE},
      REGION_COLUMNS("lasted.p50_ns", "lasted.p99_ns", "lasted.max_ns"),
      {NULL, NULL, 0}}},
    {"threads",
     "Threads",
     NULL,
     {{"THREAD", "name", TABLE_TEXT},
      {"TID", "tid", TABLE_NUMBER},
      {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
      {"REGIONS", "regions", TABLE_NUMBER},
      {"NET", "wait_net_ns", TABLE_NS | TABLE_SPARE},
      {"IO", "wait_io_ns", TABLE_NS},
      {"LOCK", "wait_lock_ns", TABLE_NS},
      {"SLEEP", "wait_sleep_ns", TABLE_NS | TABLE_SPARE},
      {"CPU SAMPLED", "sampled_ns", TABLE_NS},
      {"RAN", "run_ns", TABLE_NS | TABLE_SPARE},
      {"WAITED FOR A CPU", "runnable_ns", TABLE_NS | TABLE_SPARE},
      {NULL, NULL, 0}}},
    {"locks",
     "Locks",
     NULL,
     {{"WAITED", "total_ns", TABLE_NS},
      {"TIMES", "count", TABLE_NUMBER},
      {"LONGEST", "most_ns", TABLE_NS},
      {"LOCK", "at", TABLE_TEXT},
      {"KIND", "name", TABLE_TEXT | TABLE_SPARE},
      {"HELD BY", "held", TABLE_TEXT},
      {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
      {NULL, NULL, 0}}},
    {"stacks",
     "Stacks, the most time first",
     NULL,
     {{"TIME", "total_ns", TABLE_NS},
      {"TIMES", "count", TABLE_NUMBER},
      {"IN", "name", TABLE_TEXT},
      {"STACK", "stack", TABLE_TEXT},
      {NULL, NULL, 0}}},
    {"logs",
     "Log lines by their shape",
     NULL,
     {{"TIMES", "count", TABLE_NUMBER},
      {"LEVEL", "level", TABLE_NUMBER},
      {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
      {"LINE", "shape", TABLE_TEXT},
      {NULL, NULL, 0}}},
    {"neighbours",
     "Who used the CPUs",
     NULL,
     {{"CPU TIME", "cpu_ns", TABLE_NS},
      {"PROCESS", "name", TABLE_TEXT},
      {"PID", "pid", TABLE_NUMBER},
      {"HOST", "host", TABLE_TEXT},
      {NULL, NULL, 0}}},
    {"losses",
     "Lost records",
     NULL,
     {{"SERVICE", "service", TABLE_TEXT},
      {"PID", "pid", TABLE_NUMBER},
      {"REASON", "why", TABLE_TEXT},
      {"RECORDS", "records", TABLE_NUMBER},
      {"TIMES", "count", TABLE_NUMBER},
      {"OVER", "dur_ns", TABLE_NS},
      {NULL, NULL, 0}}},
    {"gaps",
     "What is not there",
     NULL,
     {{"TIMES", "count", TABLE_NUMBER},
      {"WHAT", "what", TABLE_TEXT},
      {"SERVICE", "service", TABLE_TEXT},
      {NULL, NULL, 0}}},
};

/* The innermost frames; JSON has all. */
static void stack_shorten(cJSON *row)
{
    const char *stack = json_text_at(row, "stack"), *end = stack;
    for (unsigned i = 0; i < STACK_FRAMES && *end != '\0'; i++)
        end += strcspn(end, ";") + (end[strcspn(end, ";")] != '\0');
    struct buf text = {0};
    buf_put(&text, stack, (size_t)(end - stack));
    if (*end != '\0')
        buf_put(&text, "...", 3);
    buf_put_u8(&text, '\0');
    if (text.status == SKEIN_OK)
        cJSON_ReplaceItemInObject(row, "stack", cJSON_CreateString((const char *)text.data));
    buf_fini(&text);
}

/* What people read instead of a number. */
static void row_say(cJSON *row)
{
    struct buf text = {0};
    const cJSON *holder;
    if (json_at(row, "address") != NULL) {
        buf_printf(&text, "0x%" PRIx64, json_u64_at(row, "address"));
        cJSON_AddStringToObject(row, "at", text_of(&text));
        buf_clear(&text);
    }
    cJSON_ArrayForEach(holder, json_at(row, "holders"))
        buf_printf(&text, "%s%" PRIu64, text.len > 0 ? ", " : "", json_u64_at(holder, "tid"));
    if (text.len > 0)
        cJSON_AddStringToObject(row, "held", text_of(&text));
    if (json_at(row, "stack") != NULL)
        stack_shorten(row);
    if (json_at(row, "records") != NULL)
        cJSON_AddStringToObject(row, "why", skein_loss_text((uint8_t)json_u64_at(row, "reason")));
    if (json_at(row, "others") != NULL && *json_text_at(row, "name") == '\0') {
        cJSON_DeleteItemFromObject(row, "name");
        cJSON_AddStringToObject(row, "name", SUMMARY_OTHERS);
    }
    buf_fini(&text);
}

static int section_print(const struct section *section, cJSON *rows, uint64_t top)
{
    int all = cJSON_GetArraySize(rows);
    uint64_t merged = 0;
    cJSON *row;
    if (all == 0 && section->empty == NULL)
        return CLI_OK;
    cJSON_ArrayForEach(row, rows) {
        row_say(row);
        merged += json_u64_at(row, "others");
    }
    while ((uint64_t)cJSON_GetArraySize(rows) > top)
        cJSON_DeleteItemFromArray(rows, cJSON_GetArraySize(rows) - 1);
    printf("\n%s%s%s\n", colour_on(stdout, COLOUR_BOLD), section->title, colour_off(stdout));
    int status = table_print(rows, false, section->columns, section->empty);
    if ((uint64_t)all > top)
        printf("and %" PRIu64 " more rows (--top %d lists them, --json has all)\n",
               (uint64_t)all - top, all);
    if (merged > 0)
        printf("%" PRIu64 " rows with least are one, \"" SUMMARY_OTHERS "\"\n", merged);
    return status;
}

static int summary_show(cJSON *json, uint64_t top)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    uint64_t from_ns = json_u64_at(json, "from_ns"), to_ns = json_u64_at(json, "to_ns");
    struct buf text = {0};
    int status = CLI_OK;
    clock_text(from_ns, from);
    clock_text(to_ns, to);
    text_put_duration(&text, to_ns - from_ns);
    if (to_ns > 0)
        printf("from %s to %s (%s)\n", from, to, text_of(&text));
    buf_fini(&text);
    for (size_t i = 0; status == CLI_OK && i < sizeof sections / sizeof *sections; i++)
        status = section_print(&sections[i],
                               cJSON_GetObjectItemCaseSensitive(json, sections[i].member), top);
    int counters = cJSON_GetArraySize(json_at(json, "counters"));
    if (status == CLI_OK && counters > 0)
        printf("\n%d counters: skein vitals, or --json\n", counters);
    return status == CLI_OK ? out_close() : status;
}

/* ---- */

static int summary_print(const struct summary *summary, const struct options *o)
{
    struct buf out = {0};
    char error[128];
    int status = CLI_FAILED;
    summary_json(summary, &out);
    if (o->json)
        buf_put_u8(&out, '\n');
    cJSON *json = o->json || out.status != SKEIN_OK
                      ? NULL
                      : json_parse((const char *)out.data, out.len, error, sizeof error);
    if (out.status != SKEIN_OK || (!o->json && json == NULL))
        say_error("out of memory");
    else if (o->json)
        status = out_write(&out) ? out_close() : CLI_FAILED;
    else
        status = summary_show(json, o->top.given ? o->top.value : TOP);
    cJSON_Delete(json);
    buf_fini(&out);
    return status;
}

static int stats_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct skein_trace *trace;
    struct summary *summary = NULL;
    struct skein_query query;
    struct part part;
    if (o->top.given && o->top.value == 0) {
        say_error("stats: --top 0: must be at least 1");
        return CLI_USAGE;
    }
    if ((trace = part_files_open(call->arguments, call->count)) == NULL)
        return CLI_FAILED;
    int status = part_query("stats", trace, &o->part, &part, &query);
    int read = status == CLI_OK ? summary_new(0, &summary) : SKEIN_OK;
    if (status == CLI_OK && read == SKEIN_OK)
        read = summary_read(summary, trace, &query);
    if (read != SKEIN_OK) {
        say_error("stats: %s", skein_status_text(read));
        status = CLI_FAILED;
    }
    if (status == CLI_OK) {
        status = summary_print(summary, o);
        int whole = part_damage_tell("", summary);
        status = status == CLI_OK ? whole : status;
    }
    summary_free(&summary);
    skein_trace_free(&trace);
    return status;
}

const struct cli_command cmd_stats = {
    .name = "stats",
    .arguments = "FILE...",
    .summary = "What each process, thread, region, wait, lock and log line came to",
    .details =
        "Counts, total and own time, quantiles (within 3 %), waits by reason, CPU time from samples,\n"
        "locks and who held them, log lines without their numbers, losses. A region counts where it\n"
        "ended. skein what looks at one moment, sched and vitals at one kind of evidence; this adds up\n"
        "all of the time.\n",
    .examples = "  skein stats redis.skein\n"
                "  skein stats redis.skein --from -5s --top 5\n"
                "  skein stats *.skein --json | jq '.names[] | select(.name == \"fsync\")'\n",
    CLI_RUN(options, struct options, stats_run),
};
