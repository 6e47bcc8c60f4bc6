/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rules; see rule_spec.h. Pure; any thread.
 */
#include "rule_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule_spec_int.h"

#define TEXT_MAX RULE_TEXT_MAX
#define DAY_MS   RULE_DAY_MS

static const char *const when_words[] = {
    [RULE_HEALTH] = "health",     [RULE_LATENCY] = "latency", [RULE_LOG] = "log",
    [RULE_COUNTER] = "counter",   [RULE_CPU] = "cpu",         [RULE_MEMORY] = "memory",
    [RULE_PRESSURE] = "pressure", [RULE_CRASH] = "crash",     [RULE_APPLICATION] = "application",
    [RULE_SCHEDULE] = "schedule", [RULE_WEBHOOK] = "webhook"};

void rule_spec_fail(struct json_reader *r, const char *why)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s", why);
}

char *rule_spec_copy(struct json_reader *r, const char *text)
{
    if (text == NULL)
        return NULL;
    char *out = strdup(text);
    if (out == NULL)
        rule_spec_fail(r, "out of memory");
    return out;
}

static void exec_read(struct json_reader *r, const cJSON *exec, struct rule_spec *spec)
{
    static const char path[] = "when.health.exec";
    spec->kind = CHECK_EXEC;
    spec->expect =
        rule_spec_copy(r, json_str(r, exec, path, "expect", JSON_OPTIONAL, NULL, TEXT_MAX));
    const cJSON *command = json_array(r, exec, path, "command", JSON_REQUIRED);
    int count = command == NULL ? 0 : cJSON_GetArraySize(command);
    if (count < 1 || count > RULE_ARGS_MAX) {
        rule_spec_fail(r, "when.health.exec.command: must have 1 to 64 words");
        return;
    }
    spec->argv = calloc((size_t)count + 1, sizeof *spec->argv);
    if (spec->argv == NULL) {
        rule_spec_fail(r, "out of memory");
        return;
    }
    size_t i = 0;
    for (const cJSON *word = command->child; word != NULL; word = word->next) {
        if (!cJSON_IsString(word) || strlen(word->valuestring) > TEXT_MAX) {
            rule_spec_fail(r, "when.health.exec.command: must be words of at most 4096 bytes");
            return;
        }
        if (i == 0 && word->valuestring[0] == '\0') {
            rule_spec_fail(r, "when.health.exec.command: must begin with a program");
            return;
        }
        spec->argv[i] = rule_spec_copy(r, word->valuestring);
        if (spec->argv[i++] == NULL)
            return;
    }
}

/* One row for each kind that is an object with one text. */
static void target_read(struct json_reader *r, const cJSON *object, enum check_kind kind,
                        struct rule_spec *spec)
{
    static const struct {
        const char *path, *key;
    } kinds[] = {[CHECK_HTTP] = {"when.health.http", "url"},
                 [CHECK_TCP] = {"when.health.tcp", "address"},
                 [CHECK_UNIX] = {"when.health.unix", "path"}};
    spec->kind = kind;
    spec->target = rule_spec_copy(
        r, json_str(r, object, kinds[kind].path, kinds[kind].key, JSON_REQUIRED, NULL, TEXT_MAX));
    spec->http_status =
        json_u64(r, object, kinds[kind].path, "status", JSON_OPTIONAL, 200, 100, 599);
    if (kind == CHECK_HTTP && spec->target != NULL && strncmp(spec->target, "http://", 7) != 0 &&
        strncmp(spec->target, "https://", 8) != 0)
        rule_spec_fail(r, "when.health.http.url: must begin with http:// or https://");
}

static void heartbeat_read(struct json_reader *r, const cJSON *object, struct rule_spec *spec)
{
    spec->kind = CHECK_HEARTBEAT;
    spec->silent_ms =
        json_u64(r, object, "when.health.heartbeat", "silent_ms", JSON_OPTIONAL, 10000, 10, DAY_MS);
}

/* A heartbeat is a process's own word. */
static void per_field_read(struct json_reader *r, const cJSON *health, struct rule_spec *spec)
{
    const char *process = "process", *service = "service";
    const char *otherwise = spec->kind == CHECK_HEARTBEAT ? process : service;
    const char *per = json_str(r, health, "when.health", "per", JSON_OPTIONAL, otherwise, 32);
    spec->per_service = strcmp(per, service) == 0;
    if (!spec->per_service && strcmp(per, process) != 0)
        rule_spec_fail(r, "when.health.per: is none that this agent knows");
    if (spec->per_service && spec->kind == CHECK_HEARTBEAT)
        rule_spec_fail(r, "when.health.per: a heartbeat is a process's own");
}

static void health_read(struct json_reader *r, const cJSON *health, struct rule_spec *spec)
{
    static const char path[] = "when.health";
    static const char *const names[] = {[CHECK_EXEC] = "exec",
                                        [CHECK_HTTP] = "http",
                                        [CHECK_TCP] = "tcp",
                                        [CHECK_UNIX] = "unix",
                                        [CHECK_HEARTBEAT] = "heartbeat"};
    spec->every_ms = json_u64(r, health, path, "every_ms", JSON_OPTIONAL, 1000, 10, DAY_MS);
    spec->timeout_ms = json_u64(r, health, path, "timeout_ms", JSON_OPTIONAL, 500, 1, 3600000);
    spec->failures = json_u64(r, health, path, "failures", JSON_OPTIONAL, 1, 1, 1000000);
    unsigned found = 0;
    for (enum check_kind kind = CHECK_EXEC; kind <= CHECK_HEARTBEAT; kind++) {
        const cJSON *object = json_object(r, health, path, names[kind], JSON_OPTIONAL);
        if (object == NULL)
            continue;
        if (found++ > 0)
            break;
        if (kind == CHECK_EXEC)
            exec_read(r, object, spec);
        else if (kind == CHECK_HEARTBEAT)
            heartbeat_read(r, object, spec);
        else
            target_read(r, object, kind, spec);
    }
    if (found != 1)
        rule_spec_fail(r, "when.health: must hold one of exec, http, tcp, unix, heartbeat");
    per_field_read(r, health, spec);
}

static void when_read(struct json_reader *r, const cJSON *when, struct rule_spec *spec)
{
    unsigned found = 0;
    for (unsigned i = RULE_HEALTH; i <= RULE_WEBHOOK; i++) {
        const cJSON *object = json_object(r, when, "when", when_words[i], JSON_OPTIONAL);
        if (object == NULL || found++ > 0)
            continue;
        spec->when = i;
        if (i == RULE_HEALTH)
            health_read(r, object, spec);
        else if (i < RULE_SCHEDULE)
            rule_condition_read(r, object, spec);
    }
    if (found == 0)
        rule_spec_fail(r, "when: holds no condition that this agent knows");
    if (found > 1)
        rule_spec_fail(r, "when: must hold exactly one condition");
}

static void rule_read(struct json_reader *r, const cJSON *rule, struct rule_spec *spec)
{
    spec->name =
        rule_spec_copy(r, json_str(r, rule, "", "name", JSON_REQUIRED, NULL, RULE_NAME_MAX));
    spec->selector_text =
        rule_spec_copy(r, json_str(r, rule, "", "selector", JSON_OPTIONAL, "", TEXT_MAX));
    spec->enabled = json_bool(r, rule, "", "enabled", true);
    const cJSON *when = json_object(r, rule, "", "when", JSON_REQUIRED);
    if (when != NULL)
        when_read(r, when, spec);
    const cJSON *capture = json_object(r, rule, "", "capture", JSON_OPTIONAL);
    spec->pre_ms = capture == NULL
                       ? 10000
                       : json_u64(r, capture, "capture", "pre_ms", JSON_OPTIONAL, 10000, 0, DAY_MS);
    spec->post_ms = capture == NULL
                        ? 0
                        : json_u64(r, capture, "capture", "post_ms", JSON_OPTIONAL, 0, 0, DAY_MS);
    /* Of a stall it is half of the answer what everybody was doing then. */
    evidence_wish_told(r, capture, "capture",
                       spec->when == RULE_HEALTH || spec->when == RULE_LATENCY, &spec->wish);
    const cJSON *limits = json_object(r, rule, "", "limits", JSON_OPTIONAL);
    spec->cooldown_ms = limits == NULL ? 60000
                                       : json_u64(r, limits, "limits", "cooldown_ms", JSON_OPTIONAL,
                                                  60000, 0, 30 * DAY_MS);
    if (r->error[0] == '\0' && spec->name[0] == '\0')
        rule_spec_fail(r, "name: must not be empty");
}

int rule_spec_new(const cJSON *rule, struct rule_spec **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct rule_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL) {
        snprintf(error, error_bytes, "out of memory");
        return SKEIN_NO_MEMORY;
    }
    struct json_reader r = {.error = ""};
    if (cJSON_IsObject(rule))
        rule_read(&r, rule, spec);
    else
        rule_spec_fail(&r, "a rule must be an object");
    char why[160] = "";
    if (r.error[0] == '\0' &&
        selector_new(spec->selector_text, &spec->selector, why, sizeof why) != SKEIN_OK)
        snprintf(r.error, sizeof r.error, "selector: %s", why);
    if (r.error[0] == '\0') {
        spec->text = cJSON_PrintUnformatted(rule);
        if (spec->text == NULL)
            rule_spec_fail(&r, "out of memory");
    }
    if (r.error[0] != '\0') {
        snprintf(error, error_bytes, "%s", r.error);
        rule_spec_free(&spec);
        return SKEIN_INVALID;
    }
    if (spec->when >= RULE_SCHEDULE) {
        rule_spec_free(&spec);
        return SKEIN_UNSUPPORTED;
    }
    *out = spec;
    return SKEIN_OK;
}

void rule_spec_free(struct rule_spec **spec_p)
{
    struct rule_spec *spec = *spec_p;
    *spec_p = NULL;
    if (spec == NULL)
        return;
    for (char **arg = spec->argv; arg != NULL && *arg != NULL; arg++)
        free(*arg);
    free(spec->argv);
    selector_free(&spec->selector);
    if (spec->has_pattern)
        regfree(&spec->pattern);
    free(spec->event.name);
    free(spec->name);
    free(spec->selector_text);
    free(spec->text);
    free(spec->expect);
    free(spec->target);
    free(spec);
}
