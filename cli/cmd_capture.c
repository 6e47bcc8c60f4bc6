/* SPDX-License-Identifier: Apache-2.0
 *
 * skein capture: one capture, shown, changed, stopped or deleted; changed or deleted also with all
 * others of its incident. One thread.
 */
#include <stdio.h>

#include "cli_capture.h"
#include "cli_id.h"
#include "cli_resource.h"
#include "clock.h"
#include "cmd.h"
#include "json.h"

struct options {
    struct cli_collector collector;
    const char *reason;
    struct cli_number ttl;
    bool json, wait, keep, pin, unpin, gaps, incident;
};

#define INCIDENT                                                                                   \
    CLI_OPTION(CLI_FLAG, 'i', "incident", NULL, struct options, incident,                          \
               "with all other captures of its incident")

static const struct cli_option delete_options[] = {INCIDENT, CLI_OUTPUT(struct options),
                                                   CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct cli_option wait_options[] = {
    CLI_OPTION(CLI_FLAG, 'w', "wait", NULL, struct options, wait, "wait until it is final"),
    CLI_OPTION(CLI_FLAG, 0, "gaps", NULL, struct options, gaps, "all gaps, not only the first few"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct cli_option update_options[] = {
    CLI_OPTION(CLI_DURATION, 0, "ttl", "TIME", struct options, ttl,
               "delete it that long after its end"),
    CLI_OPTION(CLI_FLAG, 0, "no-ttl", NULL, struct options, keep, "keep it without a bound"),
    CLI_OPTION(CLI_FLAG, 0, "pin", NULL, struct options, pin,
               "keep it, whatever its ttl and the quotas"),
    CLI_OPTION(CLI_FLAG, 0, "unpin", NULL, struct options, unpin, "pin it no longer"),
    CLI_OPTION(CLI_TEXT, 0, "reason", "TEXT", struct options, reason, "why it was taken"),
    INCIDENT,
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const struct resource captures = {"capture", "/captures", NULL, NULL};
static const struct resource incidents = {"incident", "/captures", NULL, NULL};

/* Waits where that is asked for, and prints it; takes the capture. A final capture with gaps is
 * CLI_INCOMPLETE to who has waited for it. */
static int capture_present(const struct api *api, const struct options *o, cJSON *capture)
{
    int status = CLI_OK;
    char id[33];
    snprintf(id, sizeof id, "%s", json_text_at(capture, "capture"));
    if (o->wait && capture_running(capture)) {
        uint64_t until_ns = capture_until_ns(capture);
        cJSON_Delete(capture);
        status = capture_wait(api, id, until_ns, false, &capture);
        if (status != CLI_OK)
            return status;
    }
    capture_link(api, capture);
    status = o->json ? json_show(capture) : capture_show(capture, o->gaps);
    if (status == CLI_OK && o->wait)
        status = capture_exit(capture);
    cJSON_Delete(capture);
    return status;
}

static int capture_call(const struct options *o, const char *id, const char *method,
                        const char *rest, const cJSON *body)
{
    struct api api;
    struct buf path = {0};
    cJSON *capture = NULL;
    char whole[CLI_ID_BYTES];
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = capture_id_find(&api, id, whole);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/captures/%s%s", whole, rest);
    status = api_call(&api, method, text_of(&path), body, &capture);
    buf_fini(&path);
    return status == CLI_OK ? capture_present(&api, o, capture) : status;
}

/* One request for all captures of the incident of that capture. */
static int incident_call(const struct api *api, const char *method, const char *id,
                         const cJSON *body, cJSON **answer, char incident[CLI_ID_BYTES])
{
    struct buf path = {0};
    int status = incident_id_find(api, id, incident);
    buf_printf(&path, "/captures");
    api_query(&path, "incident", incident);
    if (status == CLI_OK)
        status = api_call(api, method, text_of(&path), body, answer);
    buf_fini(&path);
    return status;
}

static int incident_update(const struct options *o, const char *id, const cJSON *body)
{
    static const struct table_column columns[] = {{"CAPTURE", "capture", TABLE_ID},
                                                  {"STATUS", "status", TABLE_STATUS},
                                                  {"PINNED", "pin", TABLE_TEXT},
                                                  {"EXPIRES", "expires", TABLE_TIME},
                                                  {"REASON", "trigger.reason", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    struct api api;
    cJSON *answer = NULL;
    char incident[CLI_ID_BYTES];
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = incident_call(&api, "PATCH", id, body, &answer, incident);
    if (status == CLI_OK)
        status = table_print(json_at(answer, "items"), o->json, columns, "");
    cJSON_Delete(answer);
    return status;
}

static int capture_show_run(const struct cli_call *call)
{
    return capture_call(call->options, call->arguments[0], "GET", "", NULL);
}

static int capture_stop_run(const struct cli_call *call)
{
    return capture_call(call->options, call->arguments[0], "POST", ":stop", NULL);
}

static int capture_update_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    if ((o->ttl.given && o->keep) || (o->pin && o->unpin)) {
        say_error("capture update: --%s and --%s exclude each other", o->keep ? "ttl" : "pin",
                  o->keep ? "no-ttl" : "unpin");
        return CLI_USAGE;
    }
    if (!o->ttl.given && !o->keep && !o->pin && !o->unpin && o->reason == NULL) {
        say_error("capture update: what is to be changed? See: skein capture update --help");
        return CLI_USAGE;
    }
    cJSON *body = cJSON_CreateObject();
    if (o->ttl.given)
        json_add_u64(body, "ttl_ms", o->ttl.value / NS_PER_MS);
    if (o->keep)
        cJSON_AddNullToObject(body, "ttl_ms");
    if (o->pin || o->unpin)
        cJSON_AddBoolToObject(body, "pin", o->pin);
    if (o->reason != NULL)
        cJSON_AddStringToObject(body, "reason", o->reason);
    int status = o->incident ? incident_update(o, call->arguments[0], body)
                             : capture_call(o, call->arguments[0], "PATCH", "", body);
    cJSON_Delete(body);
    return status;
}

static int member_drop(const struct api *api, const struct resource *r, const char *id, bool json)
{
    char whole[CLI_ID_BYTES];
    int status = capture_id_find(api, id, whole);
    return status == CLI_OK ? resource_delete(api, r, whole, json) : status;
}

static int incident_drop(const struct api *api, const struct resource *r, const char *id, bool json)
{
    char incident[CLI_ID_BYTES];
    int status = incident_call(api, "DELETE", id, NULL, NULL, incident);
    return status == CLI_OK ? resource_said(r, incident, "deleted", json) : status;
}

static int capture_drop(const struct cli_call *call)
{
    const struct options *o = call->options;
    return resource_each(o->incident ? &incidents : &captures, o->collector, o->json,
                         o->incident ? incident_drop : member_drop, call);
}

/* ---- the table ---- */

static const struct cli_command capture_show_command = {
    .name = "capture show",
    .arguments = "ID",
    .summary = "Show a capture: its targets, losses and verdict",
    .examples = "  skein capture show --wait 0193a5c0e1f27d3b8c4e5f60718293a4\n",
    CLI_RUN(wait_options, struct options, capture_show_run),
};
static const struct cli_command capture_update = {
    .name = "capture update",
    .arguments = "ID",
    .summary = "Change how long a capture is kept, or its reason",
    .examples = "  skein capture update --pin --reason 'outage of the 21st' "
                "0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture update --pin --incident 0193a5c0e1f27d3b8c4e5f60718293a4\n",
    CLI_RUN(update_options, struct options, capture_update_run),
};
static const struct cli_command capture_stop = {
    .name = "capture stop",
    .arguments = "ID",
    .summary = "End a running capture now; what is there is kept",
    CLI_RUN(wait_options, struct options, capture_stop_run),
};
static const struct cli_command capture_delete = {
    .name = "capture delete",
    .arguments = "ID...",
    .summary = "Delete captures, and of their data what no other capture has",
    .examples = "  skein capture delete 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture delete --incident 0193a5c0e1f27d3b8c4e5f60718293a4\n",
    CLI_RUN(delete_options, struct options, capture_drop),
};

static const struct cli_command *const actions[] = {&capture_show_command, &capture_update,
                                                    &capture_stop, &capture_delete, NULL};

const struct cli_command cmd_capture = {
    .name = "capture",
    .summary = "Show, change, stop or delete one capture",
    .examples = "  skein capture show 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture stop --wait 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture update --ttl 30d 0193a5c0e1f27d3b8c4e5f60718293a4\n",
    .actions = actions,
};
