/* SPDX-License-Identifier: Apache-2.0
 *
 * skein ps: the processes that the collector knows. One thread.
 */
#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *selector;
    bool json, all;
};

static const struct cli_option options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_FLAG, 'a', "all", NULL, struct options, all, "those that are gone, too"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct table_column columns[] = {
    {"SERVICE", "service", TABLE_TEXT},
    {"HOST", "host", TABLE_TEXT},
    {"PID", "pid", TABLE_NUMBER},
    {"TITLE", "title", TABLE_TEXT},
    {"STATUS", "status not_recorded", TABLE_STATUS},
    {"REACHES", "reach_ms", TABLE_MS},
    {"A SECOND", "bytes_per_s", TABLE_BYTES | TABLE_SPARE},
    {"LOST", "events_lost", TABLE_NUMBER},
    {"UPDATED", "age_ms", TABLE_AGO},
    {"PROCESS", "process", TABLE_ID},
    {"LABELS", "labels", TABLE_LABELS | TABLE_SPARE},
    {"EXE", "exe", TABLE_TEXT | TABLE_SPARE},
    {"MODE", "mode", TABLE_TEXT | TABLE_SPARE},
    {"RING", "ring_bytes", TABLE_BYTES | TABLE_SPARE},
    {"USED", "used_bytes", TABLE_BYTES | TABLE_SPARE},
    {"WRAPPED", "wrapped", TABLE_NUMBER | TABLE_SPARE},
    {NULL, NULL, TABLE_TEXT}};

static int ps_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct api api;
    struct buf path = {0};
    (void)count;
    (void)arguments;
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/processes");
    api_query(&path, "selector", o->selector);
    api_query(&path, "gone", o->all ? NULL : "false");
    api_query(&path, "fresh", "true");
    return listing_show(
        &api, &path,
        &(struct listing){columns,
                          o->selector != NULL
                              ? "no process matches"
                              : "no process is traced; start one: skein run -- PROGRAM",
                          0, o->json});
}

const struct cli_command cmd_ps = {
    .name = "ps",
    .arguments = "",
    .summary = "List the processes that are traced",
    .details =
        "Agents are asked for their lists. UPDATED says how old the figures of a line are: they are\n"
        "older than a second where an agent did not answer within one. STATUS also says why one is\n"
        "not recorded.\n",
    .examples = "  skein ps\n"
                "  skein ps -l 'service=redis,zone in (a,b)'\n"
                "  skein ps -o json | jq -r '.[].process'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .run = ps_run,
};
