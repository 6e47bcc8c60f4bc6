/* SPDX-License-Identifier: Apache-2.0
 *
 * skein token: who may use the collector's HTTP interface. One thread.
 */
#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *scope, *selector;
    struct cli_number expires;
    bool json;
};

static const char *const scopes[] = {"viewer", "operator", "admin", NULL};

static const struct cli_option create_options[] = {
    CLI_CHOICE('s', "scope", "SCOPE", struct options, scope, scopes,
               "viewer (reads), operator (captures, too) or admin (default: viewer)"),
    CLI_OPTION(CLI_TEXT, 'l', "selector", "LABELS", struct options, selector,
               "confine it to the processes that match: service=shop"),
    CLI_OPTION(CLI_DURATION, 0, "expires", "TIME", struct options, expires,
               "good for so long: 90d (default: without end)"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const struct table_column listed[] = {{"NAME", "name", TABLE_TEXT},
                                             {"SCOPE", "scope", TABLE_TEXT},
                                             {"SELECTOR", "selector", TABLE_TEXT},
                                             {"CREATOR", "creator", TABLE_TEXT},
                                             {"CREATED", "created", TABLE_TIME},
                                             {"EXPIRES", "expires", TABLE_TIME},
                                             {"LAST USED", "last_used", TABLE_TIME},
                                             {"REVOKED", "revoked", TABLE_TIME},
                                             {NULL, NULL, TABLE_TEXT}};
static const struct resource tokens = {
    "token", "/tokens", listed,
    "no tokens: root and the collector's own user are admin on its machine"};

static int token_create_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "name", call->arguments[0]);
    cJSON_AddStringToObject(body, "scope", o->scope != NULL ? o->scope : "viewer");
    if (o->selector != NULL)
        cJSON_AddStringToObject(body, "selector", o->selector);
    return resource_create_secret(&tokens, o->collector, o->json, body, &o->expires, "name");
}

static const struct cli_command token_ls = {
    .name = "token ls",
    .summary = "List tokens: scopes, when they were last used, which are revoked",
    RESOURCE_LIST(&tokens),
};
static const struct cli_command token_create = {
    .name = "token create",
    .arguments = "NAME",
    .summary = "Make a token and print it, once",
    .details = "Make an admin token first: from the first token on nobody is admin without one.\n",
    .examples = "  skein token create me --scope admin\n"
                "  SKEIN_TOKEN=$(skein token create ci --scope operator -l env=ci --expires 90d)\n",
    CLI_RUN(create_options, struct options, token_create_run),
};
static const struct cli_command token_revoke = {
    .name = "token revoke",
    .arguments = "NAME...",
    .summary = "Make tokens worthless",
    RESOURCE_EACH(&tokens, resource_revoke),
};

static const struct cli_command *const actions[] = {&token_ls, &token_create, &token_revoke, NULL};

const struct cli_command cmd_token = {
    .name = "token",
    .summary = "Manage the tokens for the collector's HTTP interface",
    .examples = "  skein token create me --scope admin\n  skein token revoke ci\n",
    .actions = actions,
};
