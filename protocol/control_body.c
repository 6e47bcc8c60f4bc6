/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of bodies; see control_body_int.h. And the body of ERROR.
 */
#include "control_body_int.h"

#include <stdio.h>
#include <stdlib.h>

#include "ids.h"
#include "selector.h"

cJSON *control_body_parse(const void *body, size_t n, char *error, size_t error_bytes)
{
    cJSON *json = json_parse(body, n, error, error_bytes);
    if (json != NULL && !cJSON_IsObject(json)) {
        snprintf(error, error_bytes, "must be an object");
        cJSON_Delete(json);
        json = NULL;
    }
    return json;
}

int body_status(const struct json_reader *r, char *error, size_t error_bytes)
{
    if (r->error[0] == '\0')
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s", r->error);
    return SKEIN_INVALID;
}

uint64_t body_number(struct json_reader *r, const cJSON *o, const char *path, const char *key)
{
    return json_u64(r, o, path, key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

uint64_t body_up_to(struct json_reader *r, const cJSON *o, const char *key, uint64_t max)
{
    return json_u64(r, o, "", key, JSON_OPTIONAL, 0, 0, max);
}

uint64_t body_time(struct json_reader *r, const cJSON *o, const char *path, const char *key)
{
    return json_u64(r, o, path, key, JSON_OPTIONAL, 0, 0, UINT64_C(1) << 62);
}

const char *body_text(struct json_reader *r, const cJSON *o, const char *path, const char *key,
                      size_t max_bytes)
{
    return json_str(r, o, path, key, JSON_OPTIONAL, "", max_bytes);
}

const char *body_labels(struct json_reader *r, const cJSON *o, const char *path)
{
    const char *labels = body_text(r, o, path, "labels", CONTROL_LABELS_MAX);
    if (labels[0] != '\0' && !labels_valid(labels))
        json_fail(r, path, "labels", "must be k=v,k2=v2");
    return labels;
}

uint64_t body_agent(struct json_reader *r, const cJSON *o)
{
    uint64_t agent = 0;
    const char *text = json_str(r, o, "", "agent", JSON_REQUIRED, "", 16);
    if (r->error[0] == '\0' && agent_parse(text, &agent) != SKEIN_OK)
        json_fail(r, "", "agent", "must be 16 hex digits");
    return agent;
}

void body_id(struct json_reader *r, const cJSON *o, const char *path, const char *key,
             uint8_t id[16])
{
    const char *text = json_str(r, o, path, key, JSON_REQUIRED, "", 32);
    if (r->error[0] == '\0' && id_parse(text, id) != SKEIN_OK)
        json_fail(r, path, key, "must be 32 hex digits");
}

void *body_array(struct json_reader *r, const cJSON *array, size_t item_bytes, size_t *count)
{
    int n = cJSON_GetArraySize(array);
    *count = n > 0 ? (size_t)n : 0;
    void *items = calloc(*count + 1, item_bytes);
    if (items == NULL)
        json_fail(r, "", "array", "out of memory");
    return items;
}

void body_print(cJSON *o, struct buf *out)
{
    json_print(o, out);
    cJSON_Delete(o);
}

void control_error_put(const struct control_error *message, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "error", message->error);
    body_print(root, out);
}

int control_error_get(const cJSON *json, struct control_error *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    out->error = body_text(&r, json, "", "error", CONTROL_WORDS_MAX);
    return body_status(&r, error, error_bytes);
}
