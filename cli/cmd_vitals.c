/* SPDX-License-Identifier: Apache-2.0
 *
 * skein vitals: how the host and the processes of a trace were: each counter's least, median and
 * most, what held processes back, who was on top. One thread; the memory of two partitions, and 16
 * bytes of each counter's value.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_out.h"
#include "cli_states.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "cmd.h"
#include "json.h"
#include "vitals_table.h"

#define ROWS_MAX 40 /* of the table, without --all */
#define TOPS_MAX 10

struct options {
    struct cli_collector collector;
    const char *name;
    bool all, json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 'n', "name", "NAME", struct options, name,
               "counters of that name; may have * and ?"),
    CLI_OPTION(CLI_FLAG, 0, "all", NULL, struct options, all,
               "all counters, also those that did nothing unusual"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

/* ---- as JSON; the text is made from it ---- */

static cJSON *row_json(const struct vitals_row *row)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", row->name);
    cJSON_AddStringToObject(json, "unit", row->unit);
    states_of_add(json, &row->of);
    cJSON_AddNumberToObject(json, "samples", (double)row->samples);
    cJSON_AddNumberToObject(json, "min", row->least);
    cJSON_AddNumberToObject(json, "median", row->median);
    cJSON_AddNumberToObject(json, "max", row->most);
    cJSON_AddNumberToObject(json, "deviation", row->deviation);
    cJSON_AddNumberToObject(json, "farthest", row->farthest);
    json_add_time(json, "farthest_at", row->farthest_ns);
    return json;
}

static cJSON *top_json(const struct vitals_top *top)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "host", top->host);
    json_add_u64(json, "pid", top->pid);
    cJSON_AddStringToObject(json, "name", top->name);
    cJSON_AddStringToObject(json, "unit", top->unit);
    cJSON_AddNumberToObject(json, "max", top->most);
    json_add_time(json, "at", top->at_ns);
    cJSON_AddNumberToObject(json, "times", (double)top->times);
    return json;
}

static cJSON *vitals_json(const struct vitals_list *list, const struct options *o)
{
    static const char *const kinds[] = {"cpu", "memory", "io"};
    cJSON *json = cJSON_CreateObject();
    if (list->to_ns > 0) {
        json_add_time(json, "from", list->from_ns);
        json_add_time(json, "to", list->to_ns);
    }
    states_add(json, list);
    cJSON *rows = cJSON_AddArrayToObject(json, "counters");
    for (size_t i = 0; i < list->row_count; i++)
        if (list->rows[i].samples > 0 &&
            (o->name == NULL || fnmatch(o->name, list->rows[i].name, 0) == 0))
            cJSON_AddItemToArray(rows, row_json(&list->rows[i]));
    cJSON *top = cJSON_AddObjectToObject(json, "top");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        cJSON *of_kind = cJSON_AddArrayToObject(top, kinds[k]);
        for (size_t i = 0; i < list->top_count; i++)
            if (strcmp(list->tops[i].kind, kinds[k]) == 0)
                cJSON_AddItemToArray(of_kind, top_json(&list->tops[i]));
    }
    return json;
}

/* ---- as text ---- */

static void value_put(struct buf *out, double value, const char *unit)
{
    if (strncmp(unit, "bytes", 5) == 0 && value >= 0 && value < 1e18) {
        text_put_bytes(out, (uint64_t)value);
        unit += 5;
    } else {
        buf_printf(out, value >= 100 || value <= -100 ? "%.0f" : "%.3g", value);
    }
    if (unit[0] != '\0' && unit[0] != '/' && unit[0] != '%')
        buf_printf(out, " ");
    shown_put(out, unit);
}

static void value_add(cJSON *row, const char *from, const char *to)
{
    struct buf text = {0};
    value_put(&text, cJSON_GetNumberValue(json_at(row, from)), json_text_at(row, "unit"));
    cJSON_AddStringToObject(row, to, text_of(&text));
    buf_fini(&text);
}

static void who_add(cJSON *row)
{
    struct buf text = {0};
    const char *service = json_text_at(row, "service");
    if (json_at(row, "service") != NULL)
        buf_printf(&text, "%s[%" PRIu64 "]", service, json_u64_at(row, "pid"));
    else
        buf_printf(&text, "host");
    if (json_at(row, "tid") != NULL)
        buf_printf(&text, " %s(%" PRIu64 ")", json_text_at(row, "thread"), json_u64_at(row, "tid"));
    cJSON_AddStringToObject(row, "of", text_of(&text));
    buf_fini(&text);
}

static int counters_print(const cJSON *vitals, bool all)
{
    static const struct table_column columns[] = {{"COUNTER", "name", TABLE_TEXT},
                                                  {"OF", "of", TABLE_TEXT},
                                                  {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                  {"MIN", "least", TABLE_TEXT},
                                                  {"MEDIAN", "middle", TABLE_TEXT},
                                                  {"MAX", "most", TABLE_TEXT},
                                                  {"FARTHEST AT", "farthest_at", TABLE_TIME},
                                                  {NULL, NULL, TABLE_TEXT}};
    cJSON *rows = cJSON_CreateArray();
    const cJSON *item;
    int left_out = 0;
    cJSON_ArrayForEach(item, json_at(vitals, "counters")) {
        if (!all && cJSON_GetArraySize(rows) == ROWS_MAX) {
            left_out++;
            continue;
        }
        cJSON *row = cJSON_Duplicate(item, true);
        value_add(row, "min", "least");
        value_add(row, "median", "middle");
        value_add(row, "max", "most");
        who_add(row);
        cJSON_AddItemToArray(rows, row);
    }
    int status = table_print(rows, false, columns,
                             "no counters (skein capture says what became of its evidence)");
    cJSON_Delete(rows);
    if (left_out > 0)
        printf("and %d more that did less of what is unusual (--all lists them)\n", left_out);
    return status;
}

static int top_print(const cJSON *vitals, const char *kind, const char *title)
{
    static const struct table_column columns[] = {
        {"MAX", "most", TABLE_TEXT},  {"PROCESS", "name", TABLE_TEXT},
        {"PID", "pid", TABLE_NUMBER}, {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
        {"AT", "at", TABLE_TIME},     {"TIMES", "times", TABLE_NUMBER},
        {NULL, NULL, TABLE_TEXT}};
    char path[16];
    snprintf(path, sizeof path, "top.%s", kind);
    const cJSON *item, *items = json_at(vitals, path);
    int all = cJSON_GetArraySize(items);
    if (all == 0)
        return CLI_OK;
    cJSON *rows = cJSON_CreateArray();
    cJSON_ArrayForEach(item, items) {
        if (cJSON_GetArraySize(rows) == TOPS_MAX)
            break;
        cJSON *row = cJSON_Duplicate(item, true);
        value_add(row, "max", "most");
        cJSON_AddItemToArray(rows, row);
    }
    printf("\n%s%s%s\n", colour_on(stdout, COLOUR_BOLD), title, colour_off(stdout));
    int status = table_print(rows, false, columns, "");
    cJSON_Delete(rows);
    if (all > TOPS_MAX)
        printf("and %d more (-o json lists all)\n", all - TOPS_MAX);
    return status;
}

static bool states_print(const cJSON *vitals)
{
    struct buf out = {0};
    states_put(&out, json_at(vitals, "states"));
    if (out.len > 0)
        buf_printf(&out, "\n");
    bool written = out_write(&out);
    buf_fini(&out);
    return written;
}

static int vitals_print(const cJSON *vitals, bool all)
{
    int status = states_print(vitals) ? counters_print(vitals, all) : CLI_FAILED;
    if (status == CLI_OK)
        status = top_print(vitals, "cpu", "Most CPU");
    if (status == CLI_OK)
        status = top_print(vitals, "memory", "Most memory");
    if (status == CLI_OK)
        status = top_print(vitals, "io", "Most I/O of disks");
    return status == CLI_OK ? out_close() : status;
}

/* ---- */

static int table_read(struct trace_walk *walk, struct vitals_table *table)
{
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && trace_walk_next(walk, &step))
        while (status == SKEIN_OK && trace_walk_event(walk, &event))
            status = vitals_table_add(table, partition_reader_info(step.reader), &event);
    return status;
}

static int file_show(const char *file, const struct options *o)
{
    struct trace_walk *walk = NULL;
    struct vitals_table *table = NULL;
    const struct vitals_list *list = NULL;
    if (trace_walk_new(file, &walk) != CLI_OK)
        return CLI_FAILED;
    int status = CLI_OK, read = vitals_table_new(&table);
    if (read == SKEIN_OK)
        read = table_read(walk, table);
    if (read == SKEIN_OK)
        read = vitals_table_end(table, &list);
    if (read == SKEIN_OK) {
        cJSON *json = vitals_json(list, o);
        status = o->json ? json_show(json) : vitals_print(json, o->all);
        cJSON_Delete(json);
    } else {
        say_error("out of memory");
        status = CLI_FAILED;
    }
    if (status == CLI_OK && !trace_walk_sound(walk))
        status = CLI_FAILED;
    vitals_table_free(&table);
    trace_walk_free(&walk);
    return status;
}

static int vitals_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct trace_subject subject;
    int status = subject_open(o->collector, call->arguments[0], &subject);
    if (status == CLI_OK)
        status = file_show(subject.file, o);
    subject_close(&subject);
    return status;
}

const struct cli_command cmd_vitals = {
    .name = "vitals",
    .arguments = "FILE|CAPTURE",
    .summary = "How the host and the processes were: counters, states, who used most",
    .details =
        "Each counter's least, median and most from ten seconds before the window on. First come\n"
        "those that went farthest from their median, in what is usual for each: a peak among\n"
        "equals stands above what goes up and down all the time.\n",
    .examples = "  skein vitals 0193a5c0\n"
                "  skein vitals redis.skein --all -n 'host.disk.*'\n"
                "  skein vitals redis.skein -o json | jq '.top.cpu[0]'\n",
    CLI_RUN(options, struct options, vitals_run),
};
