/* SPDX-License-Identifier: Apache-2.0
 *
 * skein captures: the captures that the collector holds, newest first. One thread.
 */
#include "cli_id.h"
#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *selector, *status, *kind, *rule, *policy, *incident, *trace_id;
    struct cli_number from, to, limit;
    bool json;
};

static const char *const statuses[] = {"running", "complete", "incomplete", "stopped", NULL};
static const char *const kinds[] = {"snapshot", "record", "stream", "sample", NULL};

static const struct cli_option options[] = {
    CLI_SELECTOR(struct options),
    CLI_CHOICE('s', "status", "STATUS", struct options, status, statuses,
               "running, complete, incomplete or stopped"),
    CLI_CHOICE('k', "kind", "KIND", struct options, kind, kinds,
               "snapshot, record, stream or sample"),
    CLI_OPTION(CLI_TEXT, 0, "rule", "NAME", struct options, rule, "those that this rule began"),
    CLI_OPTION(CLI_TEXT, 0, "policy", "NAME", struct options, policy, "samples of this policy"),
    CLI_OPTION(CLI_TEXT, 'i', "incident", "ID", struct options, incident,
               "those of the incident that this capture is of"),
    CLI_OPTION(CLI_TEXT, 0, "trace-id", "ID", struct options, trace_id,
               "those that may hold this trace of OpenTelemetry (32 hex digits)"),
    CLI_NEWEST_FIRST(struct options),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const struct table_column columns[] = {{"CREATED", "created", TABLE_TIME},
                                              {"KIND", "kind", TABLE_TEXT | TABLE_SPARE},
                                              {"STATUS", "status", TABLE_STATUS},
                                              {"TRIGGER", "trigger.type", TABLE_TEXT},
                                              {"RULE", "trigger.rule", TABLE_TEXT | TABLE_SPARE},
                                              {"SELECTOR", "selector", TABLE_TEXT | TABLE_SPARE},
                                              {"EVENTS", "ledger.stored", TABLE_NUMBER},
                                              {"CAPTURE", "capture", TABLE_ID},
                                              {"INCIDENT", "incident", TABLE_ID | TABLE_SPARE},
                                              {"VERDICT", "verdict.text", TABLE_TEXT | TABLE_SPARE},
                                              {NULL, NULL, TABLE_TEXT}};

/* Where a trace is looked for: what a filter says is "perhaps", about one in a hundred for nothing. */
static const struct table_column traced[] = {{"CREATED", "created", TABLE_TIME},
                                             {"STATUS", "status", TABLE_STATUS},
                                             {"HOLDS IT", "trace_id.answer", TABLE_TEXT},
                                             {"SERVICE", "trace_id.service", TABLE_TEXT},
                                             {"HOST", "trace_id.host", TABLE_TEXT | TABLE_SPARE},
                                             {"FROM", "trace_id.from", TABLE_TIME},
                                             {"PROCESS", "trace_id.process", TABLE_ID},
                                             {"CAPTURE", "capture", TABLE_ID},
                                             {NULL, NULL, TABLE_TEXT}};

static int captures_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    char incident[CLI_ID_BYTES];
    int status = api_init(&api, o->collector);
    if (status == CLI_OK && o->incident != NULL)
        status = incident_id_find(&api, o->incident, incident);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/captures");
    api_query(&path, "selector", o->selector);
    api_query(&path, "status", o->status);
    api_query(&path, "kind", o->kind);
    api_query(&path, "rule", o->rule);
    api_query(&path, "policy", o->policy);
    api_query(&path, "incident", o->incident != NULL ? incident : NULL);
    api_query(&path, "trace_id", o->trace_id);
    api_query_time(&path, "from", &o->from);
    api_query_time(&path, "to", &o->to);
    return listing_show(
        &api, &path,
        &(struct listing){o->trace_id != NULL ? traced : columns,
                          o->trace_id != NULL
                              ? "no capture holds it"
                              : "no captures; take one: skein snapshot -l service=NAME",
                          o->limit.given ? o->limit.value : 50, o->json});
}

const struct cli_command cmd_captures = {
    .name = "captures",
    .summary = "List captures, newest first",
    .examples = "  skein captures\n"
                "  skein captures --from -1h --status incomplete\n"
                "  skein captures --rule slow-requests -n 5\n"
                "  skein captures --incident 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein captures --trace-id 4bf92f3577b34da6a3ce929d0e0e4736 --from -1h\n"
                "  skein captures -l service=redis -n 1 -o json | jq -r '.[0].capture'\n",
    CLI_RUN(options, struct options, captures_run),
};
