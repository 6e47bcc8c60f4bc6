/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the collector's control bodies; see agent_command.h. Unknown members are ignored, wrong
 * types refused, as docs/protocol.md says.
 */
#include "agent_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define HOUR_MS UINT64_C(3600000)

static cJSON *parse_object(const void *body, size_t n, char *error, size_t error_bytes)
{
    cJSON *root = json_parse(body, n, error, error_bytes);
    if (root != NULL && !cJSON_IsObject(root)) {
        snprintf(error, error_bytes, "must be an object");
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

static int finish(cJSON *root, const struct json_reader *r, char *error, size_t error_bytes)
{
    cJSON_Delete(root);
    if (r->error[0] == '\0')
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s", r->error);
    return SKEIN_INVALID;
}

static void fail(struct json_reader *r, const char *why)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s", why);
}

static void read_capture_id(struct json_reader *r, const cJSON *root, struct command *command)
{
    const char *text = json_str(r, root, "", "capture", JSON_REQUIRED, "", 32);
    if (r->error[0] == '\0' && id_parse(text, command->capture.bytes) != SKEIN_OK)
        fail(r, "capture: must be 32 hex digits");
}

static void read_processes(struct json_reader *r, const cJSON *root, struct command *command)
{
    const cJSON *array = json_array(r, root, "", "processes", JSON_REQUIRED);
    int count = array == NULL ? 0 : cJSON_GetArraySize(array);
    if (r->error[0] != '\0')
        return;
    if (count < 1 || count > COMMAND_PROCESSES_MAX) {
        fail(r, "processes: must name 1 to 1024 processes");
        return;
    }
    command->processes = calloc((size_t)count, sizeof *command->processes);
    if (command->processes == NULL) {
        fail(r, "out of memory");
        return;
    }
    for (const cJSON *item = array->child; item != NULL; item = item->next) {
        uint8_t *to = command->processes[command->process_count++].bytes;
        if (!cJSON_IsString(item) || id_parse(item->valuestring, to) != SKEIN_OK)
            fail(r, "processes: must be ids of 32 hex digits");
    }
}

static void read_capture(struct json_reader *r, const cJSON *root, struct command *command)
{
    command->kind = COMMAND_CAPTURE;
    read_capture_id(r, root, command);
    command->at_ns = json_u64(r, root, "", "at_ns", JSON_REQUIRED, 0, 0, INT64_MAX);
    command->pre_ms = json_u64(r, root, "", "pre_ms", JSON_OPTIONAL, 0, 0, 24 * HOUR_MS);
    command->post_ms = json_u64(r, root, "", "post_ms", JSON_OPTIONAL, 0, 0, 24 * HOUR_MS);
    command->deadline_ns = json_u64(r, root, "", "deadline_ns", JSON_OPTIONAL, 0, 0, INT64_MAX);
    command->stream_ms = json_u64(r, root, "", "stream_ms", JSON_OPTIONAL, 0, 0, HOUR_MS);
    if (command->stream_ms != 0 && command->stream_ms < COMMAND_STREAM_MS_MIN)
        fail(r, "stream_ms: must be 0 or 100 to 3600000");
    command->alone = !json_bool(r, root, "", "share", true);
    command->upload_after_ms =
        json_u64(r, root, "", "upload_after_ms", JSON_OPTIONAL, 0, 0, HOUR_MS);
    command->clock = json_u64(r, root, "", "clock", JSON_OPTIONAL, 0, 0, INT64_MAX);
    command->sent_ns = json_u64(r, root, "", "sent_ns", JSON_OPTIONAL, 0, 0, INT64_MAX);
    read_processes(r, root, command);
}

static void read_set(struct json_reader *r, cJSON *root, const char *name, struct command *command)
{
    command->kind = strcmp(name, "rules") == 0 ? COMMAND_RULES : COMMAND_POLICIES;
    command->generation = json_u64(r, root, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
    (void)json_array(r, root, "", name, JSON_REQUIRED);
    if (r->error[0] == '\0')
        command->set = cJSON_DetachItemFromObjectCaseSensitive(root, name);
}

static void read_command(struct json_reader *r, cJSON *root, struct command *command)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(root, "command");
    if (!cJSON_IsString(id) && !cJSON_IsNumber(id)) {
        fail(r, "command: must be a string or a number");
        return;
    }
    command->id = cJSON_Duplicate(id, 0);
    const char *kind = json_str(r, root, "", "kind", JSON_REQUIRED, "", 32);
    if (r->error[0] != '\0')
        return;
    if (strcmp(kind, "capture") == 0) {
        read_capture(r, root, command);
    } else if (strcmp(kind, "stop") == 0) {
        command->kind = COMMAND_STOP;
        read_capture_id(r, root, command);
    } else if (strcmp(kind, "rules") == 0 || strcmp(kind, "policies") == 0) {
        read_set(r, root, kind, command);
    } else {
        fail(r, "kind: this agent knows capture, stop, rules and policies");
    }
}

int command_parse(const void *body, size_t n, struct command **out, cJSON **id, char *error,
                  size_t error_bytes)
{
    *out = NULL;
    *id = NULL;
    cJSON *root = parse_object(body, n, error, error_bytes);
    if (root == NULL)
        return SKEIN_INVALID;
    struct command *command = calloc(1, sizeof *command);
    if (command == NULL) {
        cJSON_Delete(root);
        return SKEIN_NO_MEMORY;
    }
    struct json_reader r = {.error = ""};
    read_command(&r, root, command);
    int status = finish(root, &r, error, error_bytes);
    if (status != SKEIN_OK) {
        *id = command->id;
        command->id = NULL;
        command_free(&command);
    }
    *out = command;
    return status;
}

void command_free(struct command **command_p)
{
    struct command *command = *command_p;
    *command_p = NULL;
    if (command == NULL)
        return;
    cJSON_Delete(command->id);
    cJSON_Delete(command->set);
    free(command->processes);
    free(command);
}

int welcome_parse(const void *body, size_t n, struct welcome *out, char *error, size_t error_bytes)
{
    cJSON *root = parse_object(body, n, error, error_bytes);
    if (root == NULL)
        return SKEIN_INVALID;
    struct json_reader r = {.error = ""};
    out->lease_ms = json_u64(&r, root, "", "lease_ms", JSON_OPTIONAL, 0, 0, 24 * HOUR_MS);
    out->heartbeat_ms = json_u64(&r, root, "", "heartbeat_ms", JSON_OPTIONAL, 0, 0, HOUR_MS);
    out->rules_generation =
        json_u64(&r, root, "", "rules_generation", JSON_OPTIONAL, 0, 0, INT64_MAX);
    out->received_ns = json_u64(&r, root, "", "received_ns", JSON_OPTIONAL, 0, 0, INT64_MAX);
    out->clock = json_u64(&r, root, "", "clock", JSON_OPTIONAL, 0, 0, INT64_MAX);
    return finish(root, &r, error, error_bytes);
}

int heartbeat_ack_parse(const void *body, size_t n, struct heartbeat_ack *out, char *error,
                        size_t error_bytes)
{
    cJSON *root = parse_object(body, n, error, error_bytes);
    if (root == NULL)
        return SKEIN_INVALID;
    struct json_reader r = {.error = ""};
    out->received_ns = json_u64(&r, root, "", "received_ns", JSON_OPTIONAL, 0, 0, INT64_MAX);
    out->clock = json_u64(&r, root, "", "clock", JSON_OPTIONAL, 0, 0, INT64_MAX);
    out->rules_generation =
        json_u64(&r, root, "", "rules_generation", JSON_OPTIONAL, 0, 0, INT64_MAX);
    out->hello = json_bool(&r, root, "", "hello", false);
    out->cloned = json_bool(&r, root, "", "cloned", false);
    return finish(root, &r, error, error_bytes);
}

int report_ack_parse(const void *body, size_t n, char *error, size_t error_bytes)
{
    cJSON *root = parse_object(body, n, error, error_bytes);
    if (root == NULL)
        return SKEIN_INVALID;
    struct json_reader r = {.error = ""};
    bool ok = json_bool(&r, root, "", "ok", false);
    const char *why =
        json_str(&r, root, "", "error", JSON_OPTIONAL, "refused without a reason", 4096);
    char copy[256];
    snprintf(copy, sizeof copy, "%s", why);
    int status = finish(root, &r, error, error_bytes);
    if (status == SKEIN_OK && !ok) {
        snprintf(error, error_bytes, "%s", copy);
        status = SKEIN_REFUSED;
    }
    return status;
}
