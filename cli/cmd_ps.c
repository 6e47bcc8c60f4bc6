/* SPDX-License-Identifier: Apache-2.0
 *
 * skein ps: the processes that the collector knows. One thread.
 */
#include <string.h>

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

/* Says once of each host that it lacks samples, and why. */
static void samples_say(const cJSON *items)
{
    const cJSON *item, *before;
    cJSON_ArrayForEach(item, items) {
        const char *why = json_text_at(item, "samples_refused"), *host = json_text_at(item, "host");
        if (why[0] == '\0')
            continue;
        cJSON_ArrayForEach(before, items) {
            if (before == item || (strcmp(json_text_at(before, "host"), host) == 0 &&
                                   json_text_at(before, "samples_refused")[0] != '\0'))
                break;
        }
        if (before == item)
            say_warning("%s: captures have no CPU samples: %s", host, why);
    }
}

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
    cJSON *items = NULL;
    bool more = false;
    status = api_list(&api, text_of(&path), 0, &items, &more);
    if (status == CLI_OK)
        status = table_print(items, o->json, columns,
                             o->selector != NULL
                                 ? "no process matches"
                                 : "no process is traced; start one: skein run -- PROGRAM");
    if (status == CLI_OK && !o->json)
        samples_say(items);
    cJSON_Delete(items);
    buf_fini(&path);
    return status;
}

const struct cli_command cmd_ps = {
    .name = "ps",
    .arguments = "",
    .summary = "List the processes that are traced",
    .details =
        "Agents are asked for their lists. UPDATED says how old the figures of a line are: they are\n"
        "older than a second where an agent did not answer within one. STATUS also says why one is\n"
        "not recorded. A host whose CPUs may not be sampled is named behind the list, with what would\n"
        "allow it.\n",
    .examples = "  skein ps\n"
                "  skein ps -l 'service=redis,zone in (a,b)'\n"
                "  skein ps -o json | jq -r '.[].process'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .run = ps_run,
};
