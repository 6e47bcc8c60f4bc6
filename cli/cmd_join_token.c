/* SPDX-License-Identifier: Apache-2.0
 *
 * skein join-token: the tokens that let new agents in. One thread.
 */
#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    struct cli_number expires, uses;
    bool json;
};

static const struct cli_option create_options[] = {
    CLI_OPTION(CLI_DURATION, 0, "expires", "TIME", struct options, expires,
               "good for so long: 30m, 7d (default: 1h)"),
    CLI_OPTION(CLI_NUMBER, 0, "uses", "N", struct options, uses,
               "for how many agents (default: 1)"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct table_column listed[] = {{"ID", "id", TABLE_TEXT},
                                             {"STATE", "state", TABLE_TEXT},
                                             {"CREATED", "created", TABLE_TIME},
                                             {"EXPIRES", "expires", TABLE_TIME},
                                             {"USES LEFT", "uses_left", TABLE_NUMBER},
                                             {NULL, NULL, TABLE_TEXT}};
static const struct resource tokens = {"join_token", "/join-tokens", listed,
                                       "no join tokens: no new agent is let in"};

static int join_token_create_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    cJSON *body = cJSON_CreateObject();
    if (o->uses.given)
        cJSON_AddNumberToObject(body, "uses", (double)o->uses.value);
    return resource_create_secret(&tokens, o->collector, o->json, body, &o->expires, "id");
}

static const struct cli_command join_token_ls = {
    .name = "join-token ls",
    .summary = "List join tokens: until when, and for how many agents they are good",
    RESOURCE_LIST(&tokens),
};
static const struct cli_command join_token_create = {
    .name = "join-token create",
    .summary = "Make a join token and print it, once",
    .details = "Agents read it from the file that collector.join_token_file names, and need it\n"
               "until they have joined.\n",
    .examples = "  skein join-token create > join-token\n"
                "  skein join-token create --uses 50 --expires 1d > join-token\n",
    CLI_RUN(create_options, struct options, join_token_create_run),
};
static const struct cli_command join_token_revoke = {
    .name = "join-token revoke",
    .arguments = "ID...",
    .summary = "Make join tokens worthless; agents that they let in stay",
    RESOURCE_EACH(&tokens, resource_revoke),
};

static const struct cli_command *const actions[] = {&join_token_ls, &join_token_create,
                                                    &join_token_revoke, NULL};

const struct cli_command cmd_join_token = {
    .name = "join-token",
    .summary = "Manage the tokens that let new agents in",
    .examples = "  skein join-token create --uses 50 --expires 1d > join-token\n",
    .actions = actions,
};
