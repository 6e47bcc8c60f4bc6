/* SPDX-License-Identifier: Apache-2.0
 *
 * skein rule: what makes the fleet take captures by itself. One thread.
 */
#include <stdio.h>

#include "cli_resource.h"
#include "cmd.h"
#include "json.h"

struct options {
    struct cli_collector collector;
    const char *file;
    struct cli_number from, to, limit;
    bool json;
};

static const struct cli_option history_options[] = {CLI_NEWEST_FIRST(struct options),
                                                    CLI_OUTPUT(struct options),
                                                    CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct cli_option test_options[] = {
    CLI_OPTION(CLI_TEXT, 'f', "file", "FILE", struct options, file,
               "a rule in a JSON file: a new one, or NAME as it would be then"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "since then: 2026-11-21T09:40:00Z, or -2h (default: -1h)"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "until then (default: now)"),
    CLI_OPTION(CLI_NUMBER, 'n', "limit", "N", struct options, limit,
               "list at most so many instants (default: 100)"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const struct table_column listed[] = {
    {"NAME", "name", TABLE_TEXT},
    {"STATE", "state.status", TABLE_STATUS},
    {"SELECTOR", "selector", TABLE_TEXT},
    {"AGENTS", "state.agents_current", TABLE_NUMBER | TABLE_SPARE},
    {"OF", "state.agents", TABLE_NUMBER | TABLE_SPARE},
    {"FIRED", "state.fired", TABLE_NUMBER},
    {"SUPPRESSED", "state.suppressed", TABLE_NUMBER},
    {"LAST FIRED", "state.last_fired", TABLE_TIME},
    {NULL, NULL, TABLE_TEXT}};
static const struct resource rules = {"rule", "/rules", listed,
                                      "no rules; add one: skein rule apply FILE"};

/* ---- actions ---- */

/* Two lines: when and why it last fired, and last did not. */
static void last_firing_show(const cJSON *state)
{
    static const char *const rows[][3] = {{"fired", "last_fired", "last_fired_why"},
                                          {"did not", "last_not_fired", "last_not_fired_why"}};
    struct buf out = {0};
    const char *reason = json_text_at(state, "reason");
    buf_printf(&out, "%s", json_text_at(state, "status"));
    shown_put_between(&out, *reason ? ": " : "", reason, "\n");
    for (size_t i = 0; i < 2; i++) {
        const char *when = json_text_at(state, rows[i][1]), *why = json_text_at(state, rows[i][2]);
        if (!*when)
            continue;
        buf_printf(&out, "last %-8s %s: ", rows[i][0], when);
        shown_put_between(&out, "", why, "\n");
    }
    out_write(&out);
    buf_fini(&out);
}

static int processes_show(const cJSON *rule)
{
    static const struct table_column columns[] = {
        {"HOST", "host", TABLE_TEXT},
        {"PID", "pid", TABLE_NUMBER},
        {"HEALTH", "health", TABLE_STATUS},
        {"SINCE", "since", TABLE_TIME | TABLE_SPARE},
        {"CHECKS", "checks", TABLE_NUMBER | TABLE_SPARE},
        {"FAILURES", "failures", TABLE_NUMBER | TABLE_SPARE},
        {"FIRED", "fired", TABLE_NUMBER},
        {"SUPPRESSED", "suppressed", TABLE_NUMBER},
        {"LAST ERROR", "last_error", TABLE_TEXT},
        {NULL, NULL, TABLE_TEXT}};
    const cJSON *processes = json_at(rule, "state.processes");
    if (!cJSON_IsArray(processes))
        return out_close();
    printf("\n");
    /* schedule, webhook: the collector's own */
    bool of_collector =
        json_at(rule, "when.webhook") != NULL || json_at(rule, "when.schedule") != NULL;
    return table_print(processes, false, columns,
                       of_collector
                           ? "the collector itself sees this condition, so no process has a "
                             "health; `skein rule matches` lists whom the rule is for"
                           : "no agent has told of a process yet; `skein rule matches` "
                             "lists whom the rule is for");
}

static int rule_show_one(const struct api *api, const struct resource *r, const char *name,
                         bool json)
{
    cJSON *rule = NULL;
    int status = resource_get(api, r, name, "", &rule);
    if (status == CLI_OK)
        status = json ? json_show(rule) : resource_show(rule);
    if (status == CLI_OK && !json) {
        last_firing_show(json_at(rule, "state"));
        status = processes_show(rule);
    }
    cJSON_Delete(rule);
    return status;
}

static int rule_history_run(const struct cli_call *call)
{
    static const struct table_column columns[] = {
        {"TIME", "time", TABLE_TIME},       {"WHAT", "what", TABLE_STATUS},
        {"SERVICE", "service", TABLE_TEXT}, {"HOST", "host", TABLE_TEXT},
        {"CAPTURE", "capture", TABLE_ID},   {"INCIDENT", "incident", TABLE_ID},
        {"WHY", "why", TABLE_TEXT},         {NULL, NULL, TABLE_TEXT}};
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/rules/");
    api_segment(&path, call->arguments[0]);
    buf_printf(&path, "/history");
    api_query_time(&path, "from", &o->from);
    api_query_time(&path, "to", &o->to);
    return listing_show(&api, &path,
                        &(struct listing){columns, "the rule has done nothing in that time",
                                          o->limit.given ? o->limit.value : 50, o->json});
}

/* ---- trying a rule ---- */

static void time_add(cJSON *body, const char *key, const struct cli_number *time)
{
    if (time->given)
        json_add_time(body, key, time->value);
}

static int test_show(const cJSON *tried)
{
    static const struct table_column fields[] = {{"from", "from", TABLE_TEXT},
                                                 {"to", "to", TABLE_TEXT},
                                                 {"looked at", "source", TABLE_TEXT},
                                                 {"evaluated", "evaluated", TABLE_TEXT},
                                                 {"because", "why", TABLE_TEXT},
                                                 {"condition met", "met", TABLE_NUMBER},
                                                 {"would have fired", "fired", TABLE_NUMBER},
                                                 {"incidents", "incidents", TABLE_NUMBER},
                                                 {"held back", "held", TABLE_NUMBER},
                                                 {"left out", "left_out", TABLE_TEXT},
                                                 {"all was read", "covered.complete", TABLE_TEXT},
                                                 {"not, because", "covered.why", TABLE_TEXT},
                                                 {"processes", "covered.processes", TABLE_NUMBER},
                                                 {NULL, NULL, TABLE_TEXT}};
    static const struct table_column columns[] = {{"TIME", "time", TABLE_TIME},
                                                  {"RESULT", "result", TABLE_STATUS},
                                                  {"INCIDENT", "incident", TABLE_NUMBER},
                                                  {"SERVICE", "service", TABLE_TEXT},
                                                  {"HOST", "host", TABLE_TEXT},
                                                  {"PID", "pid", TABLE_NUMBER},
                                                  {"REASON", "reason", TABLE_TEXT},
                                                  {"WHY", "why", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    int status = fields_print(tried, fields);
    const cJSON *instants = json_at(tried, "instants");
    if (status != CLI_OK || !cJSON_IsArray(instants) || instants->child == NULL)
        return status;
    printf("\n");
    return table_print(instants, false, columns, "");
}

static int rule_test_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    cJSON *rule = NULL, *tried = NULL, *body = NULL;
    if (call->count == 0 && o->file == NULL) {
        say_error("rule test: which rule? A NAME, or --file FILE");
        return CLI_USAGE;
    }
    int status = o->file != NULL ? resource_read(o->file, &rule) : CLI_OK;
    if (status == CLI_OK)
        status = api_init(&api, o->collector);
    body = cJSON_CreateObject();
    if (rule != NULL)
        cJSON_AddItemToObject(body, "rule", rule);
    time_add(body, "from", &o->from);
    time_add(body, "to", &o->to);
    if (o->limit.given)
        json_add_u64(body, "limit", o->limit.value);
    buf_printf(&path, "/rules%s", call->count ? "/" : "");
    if (call->count)
        api_segment(&path, call->arguments[0]);
    buf_printf(&path, ":test");
    if (status == CLI_OK)
        status = api_call(&api, "POST", text_of(&path), body, &tried);
    if (status == CLI_OK)
        status = o->json ? json_show(tried) : test_show(tried);
    buf_fini(&path);
    cJSON_Delete(body);
    cJSON_Delete(tried);
    return status;
}

/* ---- as other things of the collector ---- */

/* ---- the table ---- */

static const struct cli_command rule_ls = {
    .name = "rule ls",
    .summary = "List rules, their states and how often they fired",
    RESOURCE_LIST(&rules),
};
static const struct cli_command rule_show = {
    .name = "rule show",
    .arguments = "NAME",
    .summary = "Show a rule, why it last fired and last did not, and each process that it watches",
    RESOURCE_EACH(&rules, rule_show_one),
};
static const struct cli_command rule_apply = {
    .name = "rule apply",
    .arguments = "FILE...",
    .summary = "Add or replace the rules in JSON files",
    .details = "A file holds one rule, or an array of them; - is standard input.\n",
    .examples = "  skein rule apply redis-ping.json\n",
    RESOURCE_EACH(&rules, resource_apply),
};
static const struct cli_command rule_history = {
    .name = "rule history",
    .arguments = "NAME",
    .summary = "List what a rule did, newest first, also a deleted one",
    .examples = "  skein rule history redis-ping --from -1d\n",
    CLI_RUN(history_options, struct options, rule_history_run),
};
static const struct cli_command rule_matches = {
    .name = "rule matches",
    .arguments = "NAME",
    .summary = "List the processes that a rule matches now",
    RESOURCE_EACH(&rules, resource_matches),
};
static const struct cli_command rule_test = {
    .name = "rule test",
    .arguments = "[NAME]",
    .summary = "Try a rule on what is stored: how often it would have fired, and what that costs",
    .details = "Changes nothing. Which conditions can be tried on what is in docs/api.md.\n",
    .examples = "  skein rule test redis-ping --from -1d\n"
                "  skein rule test -f new-rule.json\n",
    .max_arguments = 1,
    CLI_RUN(test_options, struct options, rule_test_run),
};
static const struct cli_command rule_delete = {
    .name = "rule delete",
    .arguments = "NAME...",
    .summary = "Delete rules; what they captured stays",
    RESOURCE_EACH(&rules, resource_delete),
};

static const struct cli_command *const actions[] = {&rule_ls,      &rule_show,    &rule_apply,
                                                    &rule_history, &rule_matches, &rule_test,
                                                    &rule_delete,  NULL};

const struct cli_command cmd_rule = {
    .name = "rule",
    .summary = "Manage the rules that make the fleet capture by itself",
    .examples = "  skein rule apply redis-ping.json\n"
                "  skein rule show redis-ping\n"
                "  skein rule history redis-ping --from -1d\n",
    .actions = actions,
};
