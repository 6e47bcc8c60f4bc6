/* SPDX-License-Identifier: Apache-2.0
 *
 * skein loss: what of the fleet is stored, what is missing, and where it was lost. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli_api.h"
#include "cli_out.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *selector, *by;
    struct cli_number from, to, limit;
    bool json;
};

static const char *const groups[] = {"process", "service", "host",  "capture",
                                     "rule",    "reason",  "place", NULL};

static const struct cli_option options[] = {
    CLI_SELECTOR(struct options),
    CLI_CHOICE(
        'b', "by", "WHAT", struct options, by, groups,
        "a line for each process (the default), service, host, capture, rule, reason or place"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "of captures that touch this time and later: 2026-11-21T09:40:00Z, or -2h"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "or up to then"),
    CLI_OPTION(CLI_NUMBER, 'n', "limit", "N", struct options, limit,
               "at most so many lines (default: 50; 0: all)"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

#define LEDGER_COLUMNS                                                                             \
    {"PRODUCED", "ledger.produced", TABLE_NUMBER}, {"STORED", "ledger.stored", TABLE_NUMBER},      \
        {"RING", "ledger.lost.ring", TABLE_NUMBER}, {"SPOOL", "ledger.lost.spool", TABLE_NUMBER},  \
        {"WIRE", "ledger.lost.wire", TABLE_NUMBER}, {"QUOTA", "ledger.lost.quota", TABLE_NUMBER},  \
        {"STORE", "ledger.lost.store", TABLE_NUMBER},                                              \
    {                                                                                              \
        "COMPLETE", "ledger.complete", TABLE_TEXT                                                  \
    }

#define GROUP_COLUMNS(title, name, type)                                                           \
    {title, name, type}, {"PROCESSES", "processes", TABLE_NUMBER | TABLE_SPARE}, LEDGER_COLUMNS,   \
    {                                                                                              \
        NULL, NULL, TABLE_TEXT                                                                     \
    }

static const struct table_column process_columns[] = {
    {"SERVICE", "service", TABLE_TEXT}, {"HOST", "host", TABLE_TEXT},
    {"PID", "pid", TABLE_NUMBER},       LEDGER_COLUMNS,
    {"PROCESS", "process", TABLE_ID},   {NULL, NULL, TABLE_TEXT}};
static const struct table_column service_columns[] = {
    GROUP_COLUMNS("SERVICE", "service", TABLE_TEXT)};
static const struct table_column host_columns[] = {GROUP_COLUMNS("HOST", "host", TABLE_TEXT)};
static const struct table_column capture_columns[] = {
    GROUP_COLUMNS("CAPTURE", "capture", TABLE_ID)};
static const struct table_column rule_columns[] = {GROUP_COLUMNS("RULE", "rule", TABLE_TEXT)};
static const struct table_column reason_columns[] = {{"LOST IN", "place", TABLE_TEXT},
                                                     {"REASON", "reason", TABLE_TEXT},
                                                     {"EVENTS", "events", TABLE_NUMBER},
                                                     {"GAPS", "gaps", TABLE_NUMBER},
                                                     {NULL, NULL, TABLE_TEXT}};
static const struct table_column place_columns[] = {{"LOST IN", "place", TABLE_TEXT},
                                                    {"EVENTS", "events", TABLE_NUMBER},
                                                    {"GAPS", "gaps", TABLE_NUMBER},
                                                    {NULL, NULL, TABLE_TEXT}};

static const struct table_column *columns_of(const struct options *o)
{
    static const struct table_column *const columns[] = {
        process_columns, service_columns, host_columns, capture_columns,
        rule_columns,    reason_columns,  place_columns};
    size_t group = 0;
    while (o->by != NULL && groups[group + 1] != NULL && strcmp(groups[group], o->by) != 0)
        group++;
    return columns[group];
}

static void path_put(struct buf *path, const struct options *o)
{
    buf_printf(path, "/loss");
    api_query(path, "selector", o->selector);
    api_query(path, "by", o->by);
    api_query_time(path, "from", &o->from);
    api_query_time(path, "to", &o->to);
}

/* Of what comes in pages the first one has the sums: one item brings them. */
static int total_get(const struct api *api, const struct options *o, cJSON **answer)
{
    struct buf path = {0};
    path_put(&path, o);
    if (o->by == NULL || strcmp(o->by, "process") == 0 || strcmp(o->by, "capture") == 0)
        api_query(&path, "limit", "1");
    int status = api_call(api, "GET", text_of(&path), NULL, answer);
    buf_fini(&path);
    return status;
}

/* What has gaps alone is no loss of 0 events. */
static cJSON *part_rows(const cJSON *items)
{
    cJSON *rows = cJSON_Duplicate(items, true), *row;
    cJSON_ArrayForEach(row, rows) {
        if (json_u64_at(row, "events") == 0)
            cJSON_ReplaceItemInObjectCaseSensitive(row, "events",
                                                   cJSON_CreateString("unknown number"));
    }
    return rows;
}

static int loss_show(const cJSON *answer, const struct options *o)
{
    static const struct table_column fields[] = {{"processes", "processes", TABLE_NUMBER},
                                                 {"produced", "total.produced", TABLE_NUMBER},
                                                 {"stored", "total.stored", TABLE_NUMBER},
                                                 {"lost in rings", "total.lost.ring", TABLE_NUMBER},
                                                 {"in spools", "total.lost.spool", TABLE_NUMBER},
                                                 {"on the wire", "total.lost.wire", TABLE_NUMBER},
                                                 {"by quotas", "total.lost.quota", TABLE_NUMBER},
                                                 {"in the store", "total.lost.store", TABLE_NUMBER},
                                                 {"complete", "total.complete", TABLE_TEXT},
                                                 {NULL, NULL, TABLE_TEXT}};
    const struct table_column *columns = columns_of(o);
    const char *empty = "nothing is known of them";
    bool parts = columns == reason_columns || columns == place_columns;
    if (parts && cJSON_IsTrue(json_at(answer, "total.complete")))
        empty = "nothing was lost";
    else if (parts)
        empty = "nothing was lost so far; something is still under way";
    cJSON *rows = parts ? part_rows(json_at(answer, "items")) : NULL;
    int status = table_print(rows != NULL ? rows : json_at(answer, "items"), false, columns, empty);
    cJSON_Delete(rows);
    printf("\n");
    return status == CLI_OK ? fields_print(answer, fields) : status;
}

static int loss_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    cJSON *items = NULL, *answer = NULL;
    bool more = false;
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = total_get(&api, o, &answer);
    if (status == CLI_OK) {
        path_put(&path, o);
        status =
            api_list(&api, text_of(&path), o->limit.given ? o->limit.value : 50, &items, &more);
        buf_fini(&path);
    }
    if (status == CLI_OK) {
        cJSON_DeleteItemFromObjectCaseSensitive(answer, "items");
        cJSON_DeleteItemFromObjectCaseSensitive(answer, "next_cursor");
        cJSON_AddItemToObject(answer, "items", items);
        status = o->json ? json_show(answer) : loss_show(answer, o);
    }
    if (status == CLI_OK && more)
        say_warning("there are more; --limit 0 lists all");
    cJSON_Delete(answer);
    return status;
}

const struct cli_command cmd_loss = {
    .name = "loss",
    .summary = "Show what of the fleet is stored, what is missing, and where it was lost",
    .details =
        "Every event that was produced is stored, or was lost in a ring, in an agent's spool,\n"
        "on the wire, to a quota, or in the store (damaged there). A gap is a time of which\n"
        "something is missing: how many events the ring has overwritten there nobody knows.\n",
    .examples = "  skein loss --by service\n"
                "  skein loss -l service=redis --from -1h\n"
                "  skein loss --by reason -o json\n",
    CLI_RUN(options, struct options, loss_run),
};
