/* SPDX-License-Identifier: Apache-2.0
 *
 * skein policy: what the fleet samples, a steady share of it at any moment. One thread.
 */
#include <stdio.h>

#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    bool json;
};

static const struct cli_option options[] = {CLI_OUTPUT(struct options),
                                            CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct resource policies = {"policy", "/policies"};

static int policy_list(const void *values, int count, char **arguments)
{
    static const struct table_column columns[] = {
        {"NAME", "name", TABLE_TEXT},
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
    const struct options *o = values;
    (void)count;
    (void)arguments;
    return resource_list(&policies, o->collector, o->json, columns,
                         "no policies; add one: skein policy apply FILE");
}

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

static int policy_show_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    return resource_each(&policies, o->collector, o->json, policy_show_one, count, arguments);
}

static int policy_matches_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    return resource_each(&policies, o->collector, o->json, resource_matches, count, arguments);
}

static int policy_apply_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    return resource_each(&policies, o->collector, o->json, resource_apply, count, arguments);
}

static int policy_drop(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    return resource_each(&policies, o->collector, o->json, resource_delete, count, arguments);
}

static const struct cli_command policy_ls = {
    .name = "policy ls",
    .arguments = "",
    .summary = "List policies, how many processes they record now, and what that costs",
    .options = options,
    .options_bytes = sizeof(struct options),
    .run = policy_list,
};
static const struct cli_command policy_show = {
    .name = "policy show",
    .arguments = "NAME",
    .summary = "Show a policy and how far it is in force",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = policy_show_run,
};
static const struct cli_command policy_apply = {
    .name = "policy apply",
    .arguments = "FILE...",
    .summary = "Add or replace the policies in JSON files",
    .details = "A file holds one policy, or an array of them; - is standard input.\n",
    .examples =
        "  echo '{\"name\":\"all\",\"selector\":\"\",\"record_ms\":1000,\"every_ms\":1000000}' "
        "| skein policy apply -\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = policy_apply_run,
};
static const struct cli_command policy_matches = {
    .name = "policy matches",
    .arguments = "NAME",
    .summary = "List the processes that a policy matches now",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = policy_matches_run,
};
static const struct cli_command policy_delete = {
    .name = "policy delete",
    .arguments = "NAME...",
    .summary = "Delete policies; what they captured stays",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = policy_drop,
};

static const struct cli_command *const actions[] = {&policy_ls,      &policy_show,   &policy_apply,
                                                    &policy_matches, &policy_delete, NULL};

const struct cli_command cmd_policy = {
    .name = "policy",
    .arguments = "",
    .summary = "Manage the policies by which the fleet samples itself",
    .examples = "  skein policy apply sample.json\n  skein policy show sample\n",
    .actions = actions,
};
