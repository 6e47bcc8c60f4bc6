/* SPDX-License-Identifier: Apache-2.0
 *
 * skein agents: the agents that the collector knows, and whether they are let in. One thread.
 */
#include "cli_id.h"
#include "cli_resource.h"
#include "cmd.h"

static const struct table_column listed[] = {{"HOST", "host", TABLE_TEXT},
                                             {"STATUS", "status", TABLE_STATUS},
                                             {"LAST SEEN", "last_seen", TABLE_TIME},
                                             {"PROCESSES", "processes", TABLE_NUMBER},
                                             {"CPU", "cpu_ms", TABLE_MS | TABLE_SPARE},
                                             {"SPOOL", "spool.bytes", TABLE_BYTES | TABLE_SPARE},
                                             {"LOST", "lost.spool_events", TABLE_NUMBER},
                                             {"VERSION", "version", TABLE_TEXT | TABLE_SPARE},
                                             {"AGENT", "agent", TABLE_ID},
                                             {NULL, NULL, TABLE_TEXT}};
static const struct resource agents = {"agent", "/agents", listed,
                                       "no agents; start skein-agent on a host"};

static int agent_show_one(const struct api *api, const struct resource *r, const char *name,
                          bool json)
{
    static const struct table_column fields[] = {
        {"agent", "agent", TABLE_TEXT},
        {"host", "host", TABLE_TEXT},
        {"status", "status", TABLE_STATUS},
        {"last seen", "last_seen", TABLE_TIME},
        {"another has its identity", "cloned", TABLE_TEXT},
        {"version", "version", TABLE_TEXT},
        {"labels", "labels", TABLE_LABELS},
        {"processes", "processes", TABLE_NUMBER},
        {"CPU used", "cpu_ms", TABLE_MS},
        {"samples a second", "samples.hz", TABLE_NUMBER},
        {"CPUs sampled", "samples.cpus", TABLE_NUMBER},
        {"samples reach back", "samples.reach_ms", TABLE_MS},
        {"samples refused", "samples.refused", TABLE_TEXT},
        {"scheduling refused", "refused.sched", TABLE_TEXT},
        {"stacks refused", "refused.threads", TABLE_TEXT},
        {"spool", "spool.bytes", TABLE_BYTES},
        {"spooled partitions", "spool.partitions", TABLE_NUMBER},
        {"lost in the spool", "lost.spool_events", TABLE_NUMBER},
        {"enrolled", "enrolled", TABLE_TIME},
        {"revoked", "revoked", TABLE_TIME},
        {"clock offset (ns)", "clock_offset_ns", TABLE_NUMBER},
        {"rules generation", "rules_generation", TABLE_NUMBER},
        {"starts", "epoch", TABLE_NUMBER},
        {NULL, NULL, TABLE_TEXT}};
    cJSON *agent = NULL;
    char id[CLI_ID_BYTES];
    int status = agent_id_find(api, name, id);
    if (status == CLI_OK)
        status = resource_get(api, r, id, "", &agent);
    if (status == CLI_OK)
        status = json ? json_show(agent) : fields_print(agent, fields);
    cJSON_Delete(agent);
    return status;
}

static int agent_revoke_one(const struct api *api, const struct resource *r, const char *name,
                            bool json)
{
    struct buf path = {0};
    char id[CLI_ID_BYTES];
    int status = agent_id_find(api, name, id);
    buf_printf(&path, "%s/%s:revoke", r->folder, id);
    if (status == CLI_OK)
        status = api_call(api, "POST", text_of(&path), NULL, NULL);
    buf_fini(&path);
    return status == CLI_OK ? resource_said(r, id, "revoked", json) : status;
}

static int agent_forget_one(const struct api *api, const struct resource *r, const char *name,
                            bool json)
{
    char id[CLI_ID_BYTES];
    int status = agent_id_find(api, name, id);
    return status == CLI_OK ? resource_remove(api, r, id, "forgotten", json) : status;
}

static const struct cli_command agents_ls = {
    .name = "agents ls",
    .summary = "List agents, online and offline",
    RESOURCE_LIST(&agents),
};
static const struct cli_command agents_show = {
    .name = "agents show",
    .arguments = "AGENT",
    .summary = "Show an agent",
    RESOURCE_EACH(&agents, agent_show_one),
};

static const struct cli_command agents_revoke = {
    .name = "agents revoke",
    .arguments = "AGENT...",
    .summary = "End agents' sessions and refuse them from now on",
    RESOURCE_EACH(&agents, agent_revoke_one),
};
static const struct cli_command agents_forget = {
    .name = "agents forget",
    .arguments = "AGENT...",
    .summary = "Forget agents: they may join anew, with a token and another key",
    .details = "Takes them and their processes out of the listings; what was captured stays. One\n"
               "that speaks plain and still runs comes back.\n",
    RESOURCE_EACH(&agents, agent_forget_one),
};

static const struct cli_command *const actions[] = {&agents_ls, &agents_show, &agents_revoke,
                                                    &agents_forget, NULL};

const struct cli_command cmd_agents = {
    .name = "agents",
    .summary = "List, show, revoke and forget the agents that the collector knows",
    .examples =
        "  skein agents\n  skein agents -o json | jq '.[] | select(.status != \"online\")'\n",
    .actions = actions,
};
