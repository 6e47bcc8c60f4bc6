/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT fired as JSON; see report_fired.h.
 */
#include "report_fired.h"

#include <stdlib.h>

#include "report_int.h"

static void report_fired_add_with(cJSON *root, const struct report_fired *report)
{
    char id[ID_TEXT_BYTES];
    cJSON *with = report->with_count > 0 ? cJSON_AddArrayToObject(root, "with") : NULL;
    for (size_t i = 0; with != NULL && i < report->with_count && i < REPORT_WITH_MAX; i++) {
        id_text(report->with[i].bytes, id);
        cJSON_AddItemToArray(with, cJSON_CreateString(id));
    }
}

void report_fired_put(const struct report_fired *report, struct buf *out)
{
    cJSON *root = report_begin(report->agent, "fired");
    json_add_id(root, "capture", report->capture.bytes);
    cJSON_AddStringToObject(root, "trigger", trigger_text(report->trigger));
    json_add_text_some(root, "rule", report->rule);
    json_add_text_some(root, "policy", report->policy);
    json_add_id(root, "process", report->process.bytes);
    report_fired_add_with(root, report);
    json_add_u64(root, "pid", report->pid);
    if (report->user != SHARE_USER_UNKNOWN)
        json_add_u64(root, "uid", report->user);
    cJSON_AddStringToObject(root, "service", report->service);
    cJSON_AddStringToObject(root, "labels", report->labels);
    cJSON_AddStringToObject(root, "exe", report->exe);
    json_add_u64(root, "at_ns", report->at_ns);
    report_add_clock(root, &report->clock);
    cJSON_AddStringToObject(root, "reason", report->reason);
    json_add_u64(root, "pre_ms", report->pre_ms);
    json_add_u64(root, "post_ms", report->post_ms);
    body_print(root, out);
}

static void report_fired_get_with(struct json_reader *r, const cJSON *json,
                                  struct report_fired *out)
{
    const cJSON *array = json_array(r, json, "", "with", JSON_OPTIONAL), *item;
    if (array == NULL || r->error[0] != '\0')
        return;
    if (cJSON_GetArraySize(array) > REPORT_WITH_MAX) {
        json_fail(r, "", "with", "must name at most 512 processes");
        return;
    }
    out->with = body_array(r, array, sizeof *out->with, &out->with_count);
    if (out->with == NULL)
        return;
    struct process_uid *to = out->with;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsString(item) || id_parse(item->valuestring, to++->bytes) != SKEIN_OK)
            json_fail(r, "", "with", "must be ids of 32 hex digits");
    }
}

/* The condition of a rule that agents look at, or policy with its name. */
static void trigger_get(struct json_reader *r, const cJSON *json, struct report_fired *out)
{
    out->trigger = trigger_find(json_str(r, json, "", "trigger", JSON_REQUIRED, "", 15));
    out->rule = body_text(r, json, "", "rule", 63);
    out->policy = body_text(r, json, "", "policy", 63);
    if (out->trigger == TRIGGER_REQUEST || out->trigger == TRIGGER_TYPES)
        json_fail(r, "", "trigger", "must be the condition of a rule, or policy");
    if ((out->trigger == TRIGGER_POLICY) != (out->policy[0] != '\0'))
        json_fail(r, "", "policy", "must be there with the trigger policy, and with no other");
}

int report_fired_get(const cJSON *json, struct report_fired *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    *out = (struct report_fired){.agent = body_agent(&r, json)};
    body_id(&r, json, "", "capture", out->capture.bytes);
    body_id(&r, json, "", "process", out->process.bytes);
    trigger_get(&r, json, out);
    out->reason = body_text(&r, json, "", "reason", CONTROL_WORDS_MAX);
    out->pid = (uint32_t)body_up_to(&r, json, "pid", UINT32_MAX);
    out->user = (uint32_t)json_u64(&r, json, "", "uid", JSON_OPTIONAL, SHARE_USER_UNKNOWN, 0,
                                   SHARE_USER_UNKNOWN);
    out->service = body_text(&r, json, "", "service", 127);
    out->labels = body_labels(&r, json, "");
    out->exe = body_text(&r, json, "", "exe", CONTROL_NAME_MAX);
    out->at_ns = body_time(&r, json, "", "at_ns");
    out->clock = report_read_clock(&r, json);
    out->pre_ms = body_up_to(&r, json, "pre_ms", UINT32_MAX);
    out->post_ms = body_up_to(&r, json, "post_ms", UINT32_MAX);
    if (capture_id_is_zero(&out->capture))
        json_fail(&r, "", "capture", "must not be zero");
    report_fired_get_with(&r, json, out);
    int status = body_status(&r, error, error_bytes);
    if (status != SKEIN_OK)
        report_fired_fini(out);
    return status;
}

void report_fired_fini(struct report_fired *report)
{
    free(report->with);
    report->with = NULL;
    report->with_count = 0;
}

void report_fired_align(struct report_fired *report)
{
    report->at_ns = report_clock_time(&report->clock, report->at_ns);
    report->clock.offset_ns = 0;
}
