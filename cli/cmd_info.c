/* SPDX-License-Identifier: Apache-2.0
 *
 * skein info: what is in a trace file, from its footers and clocks alone. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "cmd.h"
#include "json.h"

struct options {
    bool json;
};

static const struct cli_option options[] = {CLI_OUTPUT(struct options), CLI_OPTIONS_END};

static const char *class_text(uint8_t klass)
{
    /* One word for what people see, however it was recorded (docs/format.md). */
    static const char *const names[] = {"unknown", "instant", "region", "region",
                                        "counter", "log",     "stack"};
    return klass < sizeof names / sizeof *names ? names[klass] : names[0];
}

/* ---- sums, kept in the JSON that is printed ---- */

static void u64_set(cJSON *object, const char *key, uint64_t value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    json_add_u64(object, key, value);
}

static void info_sum(cJSON *object, const char *key, uint64_t more)
{
    u64_set(object, key, json_u64_at(object, key) + more);
}

static void info_widen(cJSON *object, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = json_u64_at(object, "from_ns");
    if (from == 0 || from_ns < from)
        u64_set(object, "from_ns", from_ns);
    if (to_ns > json_u64_at(object, "to_ns"))
        u64_set(object, "to_ns", to_ns);
}

/* The row of `rows` whose member has that text, or a new one. */
static cJSON *row_of(cJSON *rows, const char *key, const char *text)
{
    cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        if (strcmp(json_text_at(row, key), text) == 0)
            return row;
    }
    row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, key, text);
    cJSON_AddItemToArray(rows, row);
    return row;
}

static cJSON *process_add(cJSON *processes, const struct trace_entry *entry)
{
    const struct partition_footer *footer = &entry->footer;
    char id[ID_TEXT_BYTES];
    id_text(footer->key.process.bytes, id);
    cJSON *row = row_of(processes, "process", id);
    if (!cJSON_HasObjectItem(row, "pid")) {
        cJSON_AddNumberToObject(row, "pid", footer->pid);
        cJSON_AddStringToObject(row, "service", footer->service);
        cJSON_AddStringToObject(row, "host", footer->host);
        cJSON_AddStringToObject(row, "labels", footer->labels);
        cJSON_AddStringToObject(row, "exe", footer->exe);
    }
    info_sum(row, "partitions", 1);
    info_sum(row, "events", footer->events);
    info_sum(row, "lost", footer->lost);
    info_sum(row, "stacks", partition_footer_stacks(footer));
    info_sum(row, "evidence", footer->evidence);
    if (footer->threads > json_u64_at(row, "threads"))
        u64_set(row, "threads", footer->threads);
    if (footer->events)
        info_widen(row, entry->from_ns, entry->to_ns);
    return row;
}

static void entry_add(cJSON *info, const struct trace_entry *entry)
{
    const struct partition_footer *footer = &entry->footer;
    cJSON *losses = cJSON_GetObjectItemCaseSensitive(info, "losses");
    cJSON *types = cJSON_GetObjectItemCaseSensitive(info, "types");
    cJSON *process = process_add(cJSON_GetObjectItemCaseSensitive(info, "processes"), entry);
    info_sum(info, "partitions", 1);
    info_sum(info, "events", footer->events);
    info_sum(info, "lost", footer->lost);
    info_sum(info, "stacks", partition_footer_stacks(footer));
    info_sum(info, "evidence", footer->evidence); /* partitions */
    if (footer->events)
        info_widen(info, entry->from_ns, entry->to_ns);
    for (size_t i = 0; i < footer->loss_count; i++) {
        cJSON *row = row_of(losses, "reason", partition_loss_text(footer->losses[i].reason));
        info_sum(row, "times", 1);
        info_sum(row, "events", footer->losses[i].events);
        if (footer->losses[i].events > 0)
            continue;
        info_sum(row, "uncounted", 1); /* F-31: nobody knows how many events that time */
        info_sum(process, "uncounted", 1);
        info_sum(info, "uncounted", 1);
    }
    for (size_t i = 0; i < footer->type_count; i++) {
        cJSON *row = row_of(types, "name", footer->types[i].name);
        if (!cJSON_HasObjectItem(row, "class"))
            cJSON_AddStringToObject(row, "class", class_text(footer->types[i].klass));
        info_sum(row, "events", footer->types[i].events);
    }
}

static void times_add(cJSON *object)
{
    uint64_t from = json_u64_at(object, "from_ns"), to = json_u64_at(object, "to_ns");
    if (!to)
        return;
    json_add_time(object, "from", from);
    json_add_time(object, "to", to);
    json_add_u64(object, "length_ns", to - from);
}

static cJSON *info_of(const char *path)
{
    struct trace_file *file = trace_open(path);
    if (file == NULL)
        return NULL;
    cJSON *info = cJSON_CreateObject();
    uint64_t bytes = trace_file_torn(file);
    cJSON_AddStringToObject(info, "file", path);
    cJSON_AddItemToObject(info, "processes", cJSON_CreateArray());
    cJSON_AddItemToObject(info, "losses", cJSON_CreateArray());
    cJSON_AddItemToObject(info, "types", cJSON_CreateArray());
    for (size_t i = 0; i < trace_file_count(file); i++) {
        const struct trace_entry *entry = trace_file_entry(file, i);
        bytes += entry->bytes;
        entry_add(info, entry);
    }
    json_add_u64(info, "partition_bytes", bytes);
    json_add_u64(info, "torn_bytes", trace_file_torn(file));
    times_add(info);
    cJSON *process;
    cJSON_ArrayForEach(process, cJSON_GetObjectItemCaseSensitive(info, "processes"))
        times_add(process);
    trace_file_free(&file);
    trace_twins_add(path, info);
    return info;
}

/* ---- printing ---- */

/* Whether all its partitions are evidence: then no ring's loss could be told of. */
static bool is_without_ring(const cJSON *object)
{
    uint64_t evidence = json_u64_at(object, "evidence");
    return evidence > 0 && evidence == json_u64_at(object, "partitions");
}

/* "12", "at least 12", "unknown": what was overwritten nobody has counted. */
static void lost_put(struct buf *out, const cJSON *object, const char *key)
{
    uint64_t events = json_u64_at(object, key);
    bool uncounted = json_u64_at(object, "uncounted") > 0;
    if (events == 0 && !uncounted && is_without_ring(object))
        buf_printf(out, "no ring");
    else if (uncounted && events == 0)
        buf_printf(out, "unknown number");
    else
        buf_printf(out, "%s%" PRIu64, uncounted ? "at least " : "", events);
}

/* The rows with lost_put() of each as "missing", for a table; the caller frees. */
static cJSON *rows_with_missing(const cJSON *rows, const char *key)
{
    cJSON *copy = cJSON_Duplicate(rows, true), *row;
    struct buf text = {0};
    cJSON_ArrayForEach(row, copy) {
        buf_clear(&text);
        lost_put(&text, row, key);
        cJSON_AddStringToObject(row, "missing", text_of(&text));
    }
    buf_fini(&text);
    return copy;
}

static void lost_show(struct buf *line, const cJSON *info)
{
    if (json_u64_at(info, "uncounted") > 0 && json_u64_at(info, "lost") == 0)
        buf_printf(line, "an ");
    if (is_without_ring(info) && json_u64_at(info, "lost") == 0)
        buf_printf(line, "no ring: nothing here is a process's own record\n");
    else {
        lost_put(line, info, "lost");
        buf_printf(line, " lost\n");
    }
}

static void head_show(const cJSON *info)
{
    struct buf line = {0};
    shown_put_between(&line, "", json_text_at(info, "file"), ": ");
    text_put_bytes(&line, json_u64_at(info, "partition_bytes"));
    buf_printf(&line, ", %" PRIu64 " partitions", json_u64_at(info, "partitions"));
    if (json_u64_at(info, "evidence") > 0)
        buf_printf(&line, " (%" PRIu64 " of evidence)", json_u64_at(info, "evidence"));
    buf_printf(&line, ", %" PRIu64 " events", json_u64_at(info, "events"));
    if (json_u64_at(info, "stacks") > 0)
        buf_printf(&line, " (%" PRIu64 " are stacks of others)", json_u64_at(info, "stacks"));
    buf_printf(&line, ", ");
    lost_show(&line, info);
    if (*json_text_at(info, "from")) {
        buf_printf(&line, "%s to %s: ", json_text_at(info, "from"), json_text_at(info, "to"));
        text_put_duration(&line, json_u64_at(info, "length_ns"));
        buf_printf(&line, "\n");
    }
    printf("%s", text_of(&line));
    trace_twins_say(info);
    printf("\n");
    buf_fini(&line);
}

/* "a=b,runtime=go,c=d": a label of that name and value. */
static bool has_label(const char *labels, const char *label)
{
    size_t bytes = strlen(label);
    for (const char *at = labels; (at = strstr(at, label)) != NULL; at += bytes)
        if ((at == labels || at[-1] == ',') && (at[bytes] == ',' || at[bytes] == '\0'))
            return true;
    return false;
}

/* What the tracer cannot see in these programs (client-lib/preload/preload_main.c). */
static void blind_spots_show(const cJSON *processes)
{
    const cJSON *process;
    bool go = false;
    cJSON_ArrayForEach(process, processes)
        go = go || has_label(json_text_at(process, "labels"), "runtime=go");
    if (go)
        printf("runtime=go: goroutines are not seen, only what C code calls\n\n");
}

static int info_show(const cJSON *info)
{
    static const struct table_column processes[] = {
        {"SERVICE", "service", TABLE_TEXT},
        {"HOST", "host", TABLE_TEXT},
        {"PID", "pid", TABLE_NUMBER},
        {"PARTITIONS", "partitions", TABLE_NUMBER | TABLE_SPARE},
        {"EVENTS", "events", TABLE_NUMBER},
        {"LOST", "missing", TABLE_NUMBER},
        {"THREADS", "threads", TABLE_NUMBER | TABLE_SPARE},
        {"LENGTH", "length_ns", TABLE_NS},
        {"PROCESS", "process", TABLE_ID},
        {NULL, NULL, TABLE_TEXT}};
    static const struct table_column types[] = {{"EVENT", "name", TABLE_TEXT},
                                                {"CLASS", "class", TABLE_TEXT},
                                                {"EVENTS", "events", TABLE_NUMBER},
                                                {NULL, NULL, TABLE_TEXT}};
    static const struct table_column losses[] = {{"LOST BECAUSE", "reason", TABLE_TEXT},
                                                 {"TIMES", "times", TABLE_NUMBER},
                                                 {"EVENTS", "missing", TABLE_NUMBER},
                                                 {NULL, NULL, TABLE_TEXT}};
    head_show(info);
    blind_spots_show(json_at(info, "processes"));
    cJSON *rows = rows_with_missing(json_at(info, "processes"), "lost");
    int status = table_print(rows, false, processes, "no processes");
    cJSON_Delete(rows);
    printf("\n");
    if (status == CLI_OK)
        status = table_print(json_at(info, "types"), false, types, "no events");
    const cJSON *lost = json_at(info, "losses");
    if (status == CLI_OK && lost != NULL && lost->child != NULL) {
        printf("\n");
        rows = rows_with_missing(lost, "events");
        status = table_print(rows, false, losses, "");
        cJSON_Delete(rows);
    }
    return status;
}

/* What belongs to no partition is damage; `check` says which rule it breaks. */
static int torn_tell(const cJSON *info)
{
    uint64_t torn = json_u64_at(info, "torn_bytes");
    if (torn == 0)
        return CLI_OK;
    say_error("%s: %" PRIu64 " bytes belong to no whole partition; `skein check` says more",
              json_text_at(info, "file"), torn);
    return CLI_FAILED;
}

static int info_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    int status = CLI_OK;
    cJSON *all = cJSON_CreateArray();
    for (int i = 0; i < call->count; i++) {
        cJSON *info = info_of(call->arguments[i]);
        if (info != NULL && o->json)
            cJSON_AddItemToArray(all, info);
        else if (info == NULL || info_show(info) != CLI_OK)
            status = CLI_FAILED;
        if (info != NULL && torn_tell(info) != CLI_OK)
            status = CLI_FAILED;
        if (!o->json)
            cJSON_Delete(info);
    }
    int printed = o->json ? json_show(call->count == 1 && all->child != NULL ? all->child : all)
                          : out_close();
    cJSON_Delete(all);
    return status == CLI_OK ? printed : status;
}

const struct cli_command cmd_info = {
    .name = "info",
    .arguments = "FILE...",
    .summary = "What is in a trace file: time, processes, events, losses",
    .details =
        "Reads footers and clocks alone, so that it is quick on large files. Times are by the\n"
        "collector's clock.\n",
    .examples = "  skein info redis.skein\n  skein info redis.skein -o json | jq .events\n",
    CLI_RUN(options, struct options, info_run),
};
