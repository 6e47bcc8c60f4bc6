/* SPDX-License-Identifier: Apache-2.0
 *
 * skein policy: what the fleet samples, a steady share of it at any moment. One thread.
 */

#include "cli_resource.h"
#include "cmd.h"

static const struct table_column listed[] = {{"NAME", "name", TABLE_TEXT},
                                             {"STATE", "state.status", TABLE_STATUS},
                                             {"SELECTOR", "selector", TABLE_TEXT},
                                             {"RECORDS", "record_ms", TABLE_MS},
                                             {"EVERY", "every_ms", TABLE_MS},
                                             {"MATCHING", "state.processes.matching", TABLE_NUMBER},
                                             {"ON", "state.processes.on", TABLE_NUMBER},
                                             {"AGENTS", "state.agents_current", TABLE_NUMBER},
                                             {"OF", "state.agents", TABLE_NUMBER},
                                             {"TODAY", "state.bytes_today", TABLE_BYTES},
                                             {"CAPTURES", "state.captures", TABLE_NUMBER},
                                             {NULL, NULL, TABLE_TEXT}};
static const struct resource policies = {"policy", "/policies", listed,
                                         "no policies; add one: skein policy apply FILE"};

static int policy_show_one(const struct api *api, const struct resource *r, const char *name,
                           bool json)
{
    static const struct table_column fields[] = {
        {"status", "status", TABLE_STATUS},
        {"because", "reason", TABLE_TEXT},
        {"processes that match", "processes.matching", TABLE_NUMBER},
        {"recorded now", "processes.on", TABLE_NUMBER},
        {"planned", "processes.planned_on", TABLE_NUMBER},
        {"agents", "agents", TABLE_NUMBER},
        {"that know it", "agents_current", TABLE_NUMBER},
        {"their share", "share_of_agents", TABLE_NUMBER},
        {"that pause", "paused_agents.agents", TABLE_NUMBER},
        {"why they do", "paused_agents.why", TABLE_TEXT},
        {"that sample slower", "slower_agents.agents", TABLE_NUMBER},
        {"why, the first", "slower_agents.hosts.0.why", TABLE_TEXT},
        {"bytes today", "bytes_today", TABLE_BYTES},
        {"held back today", "held_back.samples", TABLE_NUMBER},
        {"why, the last", "held_back.why", TABLE_TEXT},
        {"captures", "captures", TABLE_NUMBER},
        {"last capture", "last_capture", TABLE_TEXT},
        {NULL, NULL, TABLE_TEXT}};
    cJSON *policy = NULL;
    int status = resource_get(api, r, name, "", &policy);
    if (status == CLI_OK)
        status = json ? json_show(policy) : resource_show(policy);
    if (status == CLI_OK && !json)
        status = fields_print(json_at(policy, "state"), fields);
    cJSON_Delete(policy);
    return status;
}

static const struct cli_command policy_ls = {
    .name = "policy ls",
    .summary = "List policies, how many processes they record now, and what that costs",
    RESOURCE_LIST(&policies),
};
static const struct cli_command policy_show = {
    .name = "policy show",
    .arguments = "NAME",
    .summary = "Show a policy and how far it is in force",
    RESOURCE_EACH(&policies, policy_show_one),
};
static const struct cli_command policy_apply = {
    .name = "policy apply",
    .arguments = "FILE...",
    .summary = "Add or replace the policies in JSON files",
    .details = "A file holds one policy, or an array of them; - is standard input.\n",
    .examples =
        "  echo '{\"name\":\"all\",\"selector\":\"\",\"record_ms\":1000,\"every_ms\":1000000}' "
        "| skein policy apply -\n",
    RESOURCE_EACH(&policies, resource_apply),
};
static const struct cli_command policy_matches = {
    .name = "policy matches",
    .arguments = "NAME",
    .summary = "List the processes that a policy matches now",
    RESOURCE_EACH(&policies, resource_matches),
};
static const struct cli_command policy_delete = {
    .name = "policy delete",
    .arguments = "NAME...",
    .summary = "Delete policies; what they captured stays",
    RESOURCE_EACH(&policies, resource_delete),
};

static const struct cli_command *const actions[] = {&policy_ls,      &policy_show,   &policy_apply,
                                                    &policy_matches, &policy_delete, NULL};

const struct cli_command cmd_policy = {
    .name = "policy",
    .summary = "Manage the policies by which the fleet samples itself",
    .examples = "  skein policy apply sample.json\n  skein policy show sample\n",
    .actions = actions,
};
