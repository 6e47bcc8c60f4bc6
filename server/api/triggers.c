/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /triggers/{name}: the body read, the rule fired, the answer. No state; any thread.
 */
#include "triggers.h"

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"

#define ALERTS_MAX 10000

/* ---- bodies ---- */

static void plain_parse(struct json_reader *r, const cJSON *json, struct trigger_body *out)
{
    static const char *const known[] = {"reason", "selector", "at", NULL};
    json_known(r, json, "", known);
    const char *reason = json_str(r, json, "", "reason", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    out->trigger.selector = json_str(r, json, "", "selector", JSON_OPTIONAL, "", 1024);
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    api_body_moment(r, json, "at", &out->trigger.at_ns);
}

/* What the alerts have in common, for people: their name and summary. */
static void alert_reason(const cJSON *json, struct trigger_body *out)
{
    const cJSON *labels = cJSON_GetObjectItemCaseSensitive(json, "commonLabels");
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, "commonAnnotations");
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, "alertname"));
    const char *words = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(notes, "summary"));
    snprintf(out->reason, sizeof out->reason, "alert %s%s%s", name != NULL ? name : "(several)",
             words != NULL ? ": " : "", words != NULL ? words : "");
}

/* Keys that this does not know are Alertmanager's own affair. */
static void alerts_parse(struct json_reader *r, const cJSON *json, struct trigger_body *out)
{
    const char *version = json_str(r, json, "", "version", JSON_REQUIRED, "", 16);
    const char *status = json_str(r, json, "", "status", JSON_REQUIRED, "", 16);
    out->trigger.group = json_str(r, json, "", "groupKey", JSON_REQUIRED, "", 65536);
    out->trigger.alerts = json_array(r, json, "", "alerts", JSON_REQUIRED);
    out->resolved = strcmp(status, "resolved") == 0;
    alert_reason(json, out);
    if (r->error[0] != '\0')
        return;
    if (strcmp(version, "4") != 0)
        json_fail(r, "", "version", "must be \"4\", Alertmanager's payload");
    else if (!out->resolved && strcmp(status, "firing") != 0)
        json_fail(r, "", "status", "must be firing or resolved");
    else if (out->trigger.group[0] == '\0')
        json_fail(r, "", "groupKey", "must not be empty");
    else if (cJSON_GetArraySize(out->trigger.alerts) > ALERTS_MAX)
        json_fail(r, "", "alerts", "must be at most %d", ALERTS_MAX);
}

int trigger_parse(const cJSON *json, struct trigger_body *out, char *error, size_t error_bytes)
{
    struct json_reader r = {{0}};
    memset(out, 0, sizeof *out);
    out->trigger.group = out->trigger.selector = "";
    if (!cJSON_IsObject(json))
        json_fail(&r, "", "body", "must be an object");
    else if (cJSON_GetObjectItemCaseSensitive(json, "groupKey") != NULL)
        alerts_parse(&r, json, out);
    else
        plain_parse(&r, json, out);
    out->trigger.reason = out->reason;
    if (r.error[0] == '\0')
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s", r.error);
    return SKEIN_INVALID;
}

/* ---- the endpoint ---- */

static void trigger_answer(struct http_exchange *x, enum rules_trigger_result result,
                           const struct capture_id *capture, const char *why)
{
    static const char *const words[] = {
        [RULES_FIRED] = "fired", [RULES_REPEATED] = "repeated", [RULES_HELD] = "held"};
    char id[ID_TEXT_BYTES], location[96];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "result", words[result]);
    if (result != RULES_HELD) {
        json_add_id(json, "capture", capture->bytes);
        id_text(capture->bytes, id);
        snprintf(location, sizeof location, "/api/v1/captures/%s", id);
        http_add_header(x, "Location", location);
    }
    if (why[0] != '\0')
        cJSON_AddStringToObject(json, "why", why);
    http_reply_json(x, result == RULES_FIRED ? 202 : 200, json);
}

static void trigger_fire(struct api_services *api, struct http_exchange *x,
                         const struct trigger_body *body)
{
    enum rules_trigger_result result;
    struct capture_id capture;
    char why[256] = "";
    int status = rules_trigger(api->rules, http_part(x, 0), &body->trigger, &result, &capture, why,
                               sizeof why);
    if (status != SKEIN_INVALID)
        api_audit(x, "rule.trigger", http_part(x, 0), api_result(status), why);
    if (status == SKEIN_OK)
        trigger_answer(x, result, &capture, why);
    else if (status == SKEIN_NOT_FOUND)
        http_problem(x, 404, NULL, "no rule %.64s with when.webhook", http_part(x, 0));
    else if (status == SKEIN_INVALID)
        http_problem(x, 422, "selector", "selector: %s", why);
    else if (body->trigger.once == NULL || !api_once_refused(x, status))
        api_failed(x, status, "the capture could not be saved and was not begun");
}

void api_triggers_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct trigger_body parsed;
    struct capture_once once = {0};
    struct selector *selector = NULL;
    char error[256] = "";
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    int status = trigger_parse(body, &parsed, error, sizeof error);
    if (status == SKEIN_OK)
        status = selector_new(parsed.trigger.selector, &selector, error, sizeof error);
    selector_free(&selector);
    if (status != SKEIN_OK)
        api_invalid(x, error);
    else if (http_principal(x)->selector != NULL)
        http_problem(x, 403, NULL,
                     "a rule fires for all that it selects: this token sees only some processes");
    else if (parsed.resolved)
        trigger_answer(x, RULES_HELD, NULL, "the alert is resolved");
    else if (api_once(x, body, http_part(x, 0), &once)) {
        parsed.trigger.once = once.key != NULL ? &once : NULL;
        trigger_fire(api, x, &parsed);
    }
    cJSON_Delete(body);
}
