/* SPDX-License-Identifier: Apache-2.0
 *
 * skein token: who may use the collector's HTTP interface. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli_resource.h"
#include "clock.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *scope, *selector;
    struct cli_number expires;
    bool json;
};

static const char *const scopes[] = {"viewer", "operator", "admin", NULL};

static const struct cli_option options[] = {CLI_OUTPUT(struct options),
                                            CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

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

static const struct resource tokens = {"token", "/tokens"};

static int list(const void *values, int count, char **arguments)
{
    static const struct table_column columns[] = {{"NAME", "name", TABLE_TEXT},
                                                  {"SCOPE", "scope", TABLE_TEXT},
                                                  {"SELECTOR", "selector", TABLE_TEXT},
                                                  {"CREATOR", "creator", TABLE_TEXT},
                                                  {"CREATED", "created", TABLE_TEXT},
                                                  {"EXPIRES", "expires", TABLE_TEXT},
                                                  {"LAST USED", "last_used", TABLE_TEXT},
                                                  {"REVOKED", "revoked", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    const struct options *o = values;
    struct api api;
    struct buf path = {0};
    (void)count;
    (void)arguments;
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/tokens");
    return listing_show(
        &api, &path,
        &(struct listing){columns, "no tokens: who reaches the collector on loopback is admin", 0,
                          o->json});
}

static int create(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct api api;
    char expires[CLOCK_TEXT_BYTES];
    cJSON *body = cJSON_CreateObject(), *token = NULL;
    (void)count;
    cJSON_AddStringToObject(body, "name", arguments[0]);
    cJSON_AddStringToObject(body, "scope", o->scope ? o->scope : "viewer");
    if (o->selector)
        cJSON_AddStringToObject(body, "selector", o->selector);
    if (o->expires.given) {
        clock_text(clock_realtime_ns() + o->expires.value, expires);
        cJSON_AddStringToObject(body, "expires", expires);
    }
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = api_call(&api, "POST", "/tokens", body, &token);
    if (status == CLI_OK && o->json) {
        status = json_show(token);
    } else if (status == CLI_OK) {
        /* Alone on standard output, so that a script can take it. */
        fprintf(stderr, "token %s, shown this once:\n", arguments[0]);
        printf("%s\n", json_text_at(token, "secret"));
        status = out_close();
    }
    cJSON_Delete(body);
    cJSON_Delete(token);
    return status;
}

static int revoke_one(const struct api *api, const struct resource *r, const char *name, bool json)
{
    return resource_remove(api, r, name, "revoked", json);
}

static int revoke(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    return resource_each(&tokens, o->collector, o->json, revoke_one, count, arguments);
}

static const struct cli_command token_ls = {
    .name = "token ls",
    .arguments = "",
    .summary = "List tokens: scopes, when they were last used, which are revoked",
    .options = options,
    .options_bytes = sizeof(struct options),
    .run = list,
};
static const struct cli_command token_create = {
    .name = "token create",
    .arguments = "NAME",
    .summary = "Make a token and print it, once",
    .details = "Make an admin token first: from the first token on nobody is admin without one.\n",
    .examples = "  skein token create me --scope admin\n"
                "  SKEIN_TOKEN=$(skein token create ci --scope operator -l env=ci --expires 90d)\n",
    .options = create_options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = create,
};
static const struct cli_command token_revoke = {
    .name = "token revoke",
    .arguments = "NAME...",
    .summary = "Make tokens worthless",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = revoke,
};

static const struct cli_command *const actions[] = {&token_ls, &token_create, &token_revoke, NULL};

const struct cli_command cmd_token = {
    .name = "token",
    .arguments = "",
    .summary = "Manage the tokens for the collector's HTTP interface",
    .examples = "  skein token create me --scope admin\n  skein token revoke ci\n",
    .actions = actions,
};
