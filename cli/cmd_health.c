/* SPDX-License-Identifier: Apache-2.0
 *
 * skein health: whether the collector works, and which agents it hears. One thread.
 */
#include <stdio.h>

#include "cli_resource.h"
#include "cmd.h"

static const struct table_column check_columns[] = {
    {"CHECK", "check", TABLE_TEXT}, {"RESULT", "result", TABLE_STATUS}, {NULL, NULL, TABLE_TEXT}};

static const struct table_column agent_columns[] = {
    {"HOST", "host", TABLE_TEXT},
    {"STATUS", "status", TABLE_STATUS},
    {"LAST SEEN", "last_seen", TABLE_TIME},
    {"PROCESSES", "processes", TABLE_NUMBER},
    {"SPOOL", "spool.bytes", TABLE_BYTES | TABLE_SPARE},
    {"LOST", "lost.spool_events", TABLE_NUMBER},
    {"VERSION", "version", TABLE_TEXT | TABLE_SPARE},
    {"AGENT", "agent", TABLE_ID},
    {NULL, NULL, TABLE_TEXT}};

/* {"store":"ok"} to [{"check":"store","result":"ok"}] */
static cJSON *checks_rows(const cJSON *ready)
{
    cJSON *rows = cJSON_CreateArray();
    const cJSON *check;
    cJSON_ArrayForEach(check, json_at(ready, "checks")) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "check", check->string);
        cJSON_AddStringToObject(row, "result", cJSON_IsString(check) ? check->valuestring : "?");
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

static int health_show(const cJSON *ready, const cJSON *agents)
{
    cJSON *rows = checks_rows(ready);
    bool is_ready = cJSON_IsTrue(json_at(ready, "ready"));
    printf("%scollector is %s%s\n\n", colour_on(stdout, is_ready ? COLOUR_GREEN : COLOUR_RED),
           is_ready ? "ready" : "not ready", colour_off(stdout));
    int status = table_print(rows, false, check_columns, "no checks");
    printf("\n");
    if (status == CLI_OK)
        status =
            table_print(agents, false, agent_columns, "no agents; start skein-agent on a host");
    cJSON_Delete(rows);
    return status;
}

static int health_run(const struct cli_call *call)
{
    const struct resource_options *o = call->options;
    struct api api;
    cJSON *ready = NULL, *agents = NULL;
    bool more;
    const struct api_request asked = {.method = "GET", .path = "!/readyz", .also_good = 503};
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = api_call_with(&api, &asked, &ready);
    if (status == CLI_OK)
        status = api_list(&api, "/agents", 0, &agents, &more);
    bool is_ready = cJSON_IsTrue(json_at(ready, "ready"));
    if (status == CLI_OK && o->json) {
        cJSON *all = cJSON_CreateObject();
        cJSON_AddItemReferenceToObject(all, "collector", ready);
        cJSON_AddItemReferenceToObject(all, "agents", agents);
        status = json_show(all);
        cJSON_Delete(all);
    } else if (status == CLI_OK) {
        status = health_show(ready, agents);
    }
    cJSON_Delete(ready);
    cJSON_Delete(agents);
    return status == CLI_OK && !is_ready ? CLI_FAILED : status;
}

const struct cli_command cmd_health = {
    .name = "health",
    .summary = "Whether the collector works, and which agents it hears",
    .details =
        "The exit status is 0 where the collector is ready. An offline agent is shown; it is\n"
        "no failure of the collector.\n",
    .examples = "  skein health\n  skein health -o json | jq '.agents[].status'\n",
    CLI_RUN(resource_options, struct resource_options, health_run),
};
