/* SPDX-License-Identifier: Apache-2.0
 *
 * HELLO and WELCOME as JSON; see hello.h.
 */
#include "hello.h"

#include "control_body_int.h"

void hello_put(const struct hello *hello, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    json_add_agent(root, "agent", hello->agent);
    cJSON_AddStringToObject(root, "host", hello->host);
    cJSON_AddStringToObject(root, "version", hello->version);
    cJSON_AddStringToObject(root, "boot", hello->boot);
    json_add_u64(root, "epoch", hello->epoch);
    json_add_u64(root, "instance", hello->instance);
    cJSON_AddStringToObject(root, "labels", hello->labels);
    json_add_u64(root, "heartbeat_ms", hello->heartbeat_ms);
    cJSON_AddNullToObject(root, "seal");
    body_print(root, out);
}

int hello_get(const cJSON *json, struct hello *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct hello h = {.agent = body_agent(&r, json)};
    h.host = json_str(&r, json, "", "host", JSON_REQUIRED, "", CONTROL_NAME_MAX);
    h.version = body_text(&r, json, "", "version", 63);
    h.boot = body_text(&r, json, "", "boot", 63);
    h.labels = body_labels(&r, json, "");
    h.epoch = body_number(&r, json, "", "epoch");
    h.instance = body_number(&r, json, "", "instance");
    h.heartbeat_ms = body_number(&r, json, "", "heartbeat_ms");
    *out = h;
    return body_status(&r, error, error_bytes);
}

void welcome_put(const struct welcome *welcome, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "collector", welcome->collector);
    json_add_u64(root, "lease_ms", welcome->lease_ms);
    json_add_u64(root, "heartbeat_ms", welcome->heartbeat_ms);
    json_add_u64(root, "rules_generation", welcome->rules_generation);
    json_add_u64(root, "received_ns", welcome->received_ns);
    json_add_u64(root, "clock", welcome->clock);
    if (welcome->captures_per_hour != WELCOME_SAYS_NOT)
        json_add_u64(root, "captures_per_hour", welcome->captures_per_hour);
    cJSON_AddNullToObject(root, "seal");
    body_print(root, out);
}

int welcome_get(const cJSON *json, struct welcome *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct welcome w = {.collector = body_text(&r, json, "", "collector", 63)};
    w.lease_ms = body_up_to(&r, json, "lease_ms", 24 * HOUR_MS);
    w.heartbeat_ms = body_up_to(&r, json, "heartbeat_ms", HOUR_MS);
    w.rules_generation = body_up_to(&r, json, "rules_generation", INT64_MAX);
    w.received_ns = body_up_to(&r, json, "received_ns", INT64_MAX);
    w.clock = body_up_to(&r, json, "clock", INT64_MAX);
    w.captures_per_hour =
        json_u64(&r, json, "", "captures_per_hour", JSON_OPTIONAL, WELCOME_SAYS_NOT, 0, INT64_MAX);
    *out = w;
    return body_status(&r, error, error_bytes);
}
