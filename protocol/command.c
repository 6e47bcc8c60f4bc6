/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND and its acknowledgement as JSON; see command.h.
 */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "control_body_int.h"

static const char *const kinds[] = {"",         "capture",   "stop",        "rules",
                                    "policies", "processes", "rules_change"};

/* The member that holds the set. */
static const char *set_name(const struct command *command)
{
    return kinds[command->kind == COMMAND_RULES_CHANGE ? COMMAND_RULES : command->kind];
}

/* ---- put ---- */

static void capture_put(const struct command *command, cJSON *root)
{
    char id[ID_TEXT_BYTES];
    json_add_u64(root, "clock", command->clock);
    json_add_u64(root, "sent_ns", command->sent_ns);
    json_add_u64(root, "at_ns", command->at_ns);
    json_add_u64(root, "pre_ms", command->pre_ms);
    json_add_u64(root, "post_ms", command->post_ms);
    json_add_u64_some(root, "stream_ms", command->stream_ms);
    json_add_u64_some(root, "upload_after_ms", command->upload_after_ms);
    if (command->unshared)
        cJSON_AddBoolToObject(root, "share", false);
    evidence_wish_add(&command->wish, root);
    json_add_u64(root, "deadline_ns", command->deadline_ns);
    cJSON *processes = cJSON_AddArrayToObject(root, "processes");
    for (size_t i = 0; i < command->process_count; i++) {
        id_text(command->processes[i].bytes, id);
        cJSON_AddItemToArray(processes, cJSON_CreateString(id));
    }
}

void command_put(const struct command *command, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "kind", kinds[command->kind]);
    if (command->kind == COMMAND_CAPTURE || command->kind == COMMAND_STOP) {
        json_add_id(root, "capture", command->capture.bytes);
    } else if (command->kind != COMMAND_PROCESSES) {
        json_add_u64(root, "generation", command->generation);
        cJSON_AddItemReferenceToObject(root, set_name(command), command->set);
    }
    if (command->kind == COMMAND_CAPTURE)
        capture_put(command, root);
    if (command->kind == COMMAND_RULES_CHANGE) {
        json_add_u64(root, "base", command->base);
        cJSON_AddItemReferenceToObject(root, "removed", command->removed);
    }
    if (command->command != NULL)
        cJSON_AddStringToObject(root, "command", command->command);
    body_print(root, out);
}

/* ---- get ---- */

static void processes_get(struct json_reader *r, const cJSON *json, struct command *command)
{
    const cJSON *array = json_array(r, json, "", "processes", JSON_REQUIRED), *item;
    int count = cJSON_GetArraySize(array);
    if (r->error[0] != '\0')
        return;
    if (count < 1 || count > COMMAND_PROCESSES_MAX) {
        json_fail(r, "", "processes", "must name 1 to 1024 processes");
        return;
    }
    command->processes = body_array(r, array, sizeof *command->processes, &command->process_count);
    if (command->processes == NULL)
        return;
    struct process_uid *to = command->processes;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsString(item) || id_parse(item->valuestring, to++->bytes) != SKEIN_OK)
            json_fail(r, "", "processes", "must be ids of 32 hex digits");
    }
}

static void command_capture_get(struct json_reader *r, const cJSON *json, struct command *command)
{
    command->at_ns = json_u64(r, json, "", "at_ns", JSON_REQUIRED, 0, 0, INT64_MAX);
    command->pre_ms = body_up_to(r, json, "pre_ms", 24 * HOUR_MS);
    command->post_ms = body_up_to(r, json, "post_ms", 24 * HOUR_MS);
    command->deadline_ns = body_up_to(r, json, "deadline_ns", INT64_MAX);
    command->stream_ms = body_up_to(r, json, "stream_ms", HOUR_MS);
    if (command->stream_ms != 0 && command->stream_ms < COMMAND_STREAM_MS_MIN)
        json_fail(r, "", "stream_ms", "must be 0 or 100 to 3600000");
    command->unshared = !json_bool(r, json, "", "share", true);
    evidence_wish_told(r, json, "", false, &command->wish);
    command->upload_after_ms = body_up_to(r, json, "upload_after_ms", COMMAND_UPLOAD_AFTER_MS_MAX);
    command->clock = body_up_to(r, json, "clock", INT64_MAX);
    command->sent_ns = body_up_to(r, json, "sent_ns", INT64_MAX);
    processes_get(r, json, command);
}

static void rules_change_get(struct json_reader *r, const cJSON *json, struct command *command)
{
    const cJSON *name;
    command->base = json_u64(r, json, "", "base", JSON_REQUIRED, 0, 0, INT64_MAX);
    (void)json_array(r, json, "", "removed", JSON_REQUIRED);
    command->removed = cJSON_GetObjectItemCaseSensitive(json, "removed");
    cJSON_ArrayForEach(name, command->removed) {
        if (!cJSON_IsString(name))
            json_fail(r, "", "removed", "must be names");
    }
}

static void kind_get(struct json_reader *r, const cJSON *json, struct command *command)
{
    const char *kind = json_str(r, json, "", "kind", JSON_REQUIRED, "", 32);
    for (int i = COMMAND_CAPTURE; i <= COMMAND_RULES_CHANGE; i++)
        if (strcmp(kind, kinds[i]) == 0)
            command->kind = (enum command_kind)i;
    if (command->kind == 0)
        json_fail(r, "", "kind",
                  "this agent knows capture, stop, rules, policies, processes "
                  "and rules_change");
}

int command_get(const cJSON *json, struct command *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    memset(out, 0, sizeof *out);
    const char *text = json_str(&r, json, "", "command", JSON_REQUIRED, "", 63);
    out->command = r.error[0] == '\0' ? text : NULL;
    kind_get(&r, json, out);
    if (r.error[0] != '\0')
        return body_status(&r, error, error_bytes);
    if (out->kind == COMMAND_CAPTURE || out->kind == COMMAND_STOP) {
        body_id(&r, json, "", "capture", out->capture.bytes);
    } else if (out->kind != COMMAND_PROCESSES) {
        out->generation = json_u64(&r, json, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
        (void)json_array(&r, json, "", set_name(out), JSON_REQUIRED);
        out->set = cJSON_GetObjectItemCaseSensitive(json, set_name(out));
    }
    if (out->kind == COMMAND_CAPTURE)
        command_capture_get(&r, json, out);
    if (out->kind == COMMAND_RULES_CHANGE)
        rules_change_get(&r, json, out);
    int status = body_status(&r, error, error_bytes);
    if (status != SKEIN_OK)
        command_fini(out);
    return status;
}

void command_fini(struct command *command)
{
    free(command->processes);
    command->processes = NULL;
    command->process_count = 0;
}

/* ---- the acknowledgement ---- */

void command_ack_put(const struct command_ack *ack, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    json_add_agent(root, "agent", ack->agent);
    cJSON_AddStringToObject(root, "command", ack->command);
    cJSON_AddStringToObject(root, "status", ack->ok ? "ok" : "failed");
    if (!ack->ok)
        cJSON_AddStringToObject(root, "error", ack->error);
    body_print(root, out);
}

int command_ack_get(const cJSON *json, struct command_ack *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct command_ack a = {.agent = body_agent(&r, json)};
    a.command = json_str(&r, json, "", "command", JSON_REQUIRED, "", 63);
    a.error = body_text(&r, json, "", "error", CONTROL_WORDS_MAX);
    const char *status = json_str(&r, json, "", "status", JSON_REQUIRED, "", 15);
    a.ok = strcmp(status, "ok") == 0;
    if (!a.ok && strcmp(status, "failed") != 0)
        json_fail(&r, "", "status", "must be ok or failed");
    *out = a;
    return body_status(&r, error, error_bytes);
}
