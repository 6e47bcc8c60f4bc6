/* SPDX-License-Identifier: Apache-2.0
 *
 * skein audit: who changed, downloaded and was refused what. One thread.
 */
#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *actor, *action, *object;
    struct cli_number from, to, limit;
    bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 0, "actor", "NAME", struct options, actor,
               "of that one alone: a token's name, local, rule:NAME, retention"),
    CLI_OPTION(CLI_TEXT, 0, "action", "ACTION", struct options, action,
               "of that one alone: capture.delete, rule.*"),
    CLI_OPTION(CLI_TEXT, 0, "object", "NAME", struct options, object,
               "on that one alone: a capture's id, a rule's name"),
    CLI_NEWEST_FIRST(struct options),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const struct table_column columns[] = {
    {"TIME", "time", TABLE_TIME},       {"ACTOR", "actor", TABLE_TEXT},
    {"ADDRESS", "address", TABLE_TEXT}, {"ACTION", "action", TABLE_TEXT},
    {"OBJECT", "object", TABLE_TEXT},   {"RESULT", "result", TABLE_STATUS},
    {"DETAIL", "detail", TABLE_TEXT},   {NULL, NULL, TABLE_TEXT}};

static int audit_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/audit");
    api_query(&path, "actor", o->actor);
    api_query(&path, "action", o->action);
    api_query(&path, "object", o->object);
    api_query_time(&path, "from", &o->from);
    api_query_time(&path, "to", &o->to);
    return listing_show(&api, &path,
                        &(struct listing){columns, "nothing was done in that time",
                                          o->limit.given ? o->limit.value : 50, o->json});
}

const struct cli_command cmd_audit = {
    .name = "audit",
    .summary = "List who changed, downloaded and was refused what, newest first",
    .examples = "  skein audit --from -1d --action capture.delete\n"
                "  skein audit --object 0193a5c0e1f27d3b8c4e5f60718293a4 -o json\n",
    CLI_RUN(options, struct options, audit_run),
};
