/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a rule's `when` (docs/api.md): the one condition that it holds, each kind by its own
 * function in one table. Pure; any thread; hostile input expected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule_check.h"
#include "rule_pattern.h"

#define COMMAND_WORDS  64
#define WEBHOOK_LABELS 8
#define DAY_MS         UINT64_C(86400000)
#define HOUR_MS        UINT64_C(3600000)
#define COUNT_MAX      UINT64_C(1000000)

typedef void check_fn(struct json_reader *r, const cJSON *from, const char *path, cJSON *to);

/* ---- what several conditions share ---- */

/* One of a NULL-terminated list of words; the first is the default where it is optional. */
static void word_copy(struct json_reader *r, const cJSON *from, const char *path, const char *key,
                      bool required, const char *const *words, cJSON *to)
{
    char must[128] = "must be ";
    const char *text = json_str(r, from, path, key, required, words[0], 32);
    size_t used = strlen(must);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            cJSON_AddStringToObject(to, key, text);
            return;
        }
        used += (size_t)snprintf(must + used, sizeof must - used, "%s%s", i > 0 ? " or " : "",
                                 words[i]);
    }
    json_fail(r, path, key, "%s", must);
}

/* A name that the traced program has given: not empty. */
static void name_copy(struct json_reader *r, const cJSON *from, const char *path, const char *key,
                      cJSON *to)
{
    const char *text = json_str(r, from, path, key, JSON_REQUIRED, "", 255);
    if (text[0] == '\0')
        json_fail(r, path, key, "must not be empty");
    cJSON_AddStringToObject(to, key, text);
}

/* A POSIX extended regular expression that compiles, without taking much memory for it. */
static void regex_copy(struct json_reader *r, const cJSON *from, const char *path, const char *key,
                       cJSON *to)
{
    char words[160];
    regex_t compiled;
    const char *text = json_str(r, from, path, key, JSON_OPTIONAL, NULL, RULE_PATTERN_MAX);
    if (text == NULL || r->error[0] != '\0')
        return;
    if (rule_pattern_compile(text, &compiled, words, sizeof words) != SKEIN_OK) {
        json_fail(r, path, key, "%s", words);
        return;
    }
    regfree(&compiled);
    cJSON_AddStringToObject(to, key, text);
}

static void count_copy(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    rule_copy_number(r, from, path, "count", 1, 1, COUNT_MAX, to);
    rule_copy_number(r, from, path, "window_ms", 60000, 1, DAY_MS, to);
}

static uint64_t number_need(struct json_reader *r, const cJSON *from, const char *path,
                            const char *key, uint64_t min, uint64_t max, cJSON *to)
{
    uint64_t number = json_u64(r, from, path, key, JSON_REQUIRED, min, min, max);
    json_add_u64(to, key, number);
    return number;
}

/* ---- health ---- */

static void exec_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"command", "expect", NULL};
    json_known(r, from, path, known);
    const cJSON *command = json_array(r, from, path, "command", JSON_REQUIRED), *word;
    int words = cJSON_GetArraySize(command);
    if (command != NULL && (words < 1 || words > COMMAND_WORDS))
        json_fail(r, path, "command", "must hold 1 to 64 words");
    cJSON *copy = cJSON_AddArrayToObject(to, "command");
    cJSON_ArrayForEach(word, command) {
        if (!cJSON_IsString(word) || strlen(word->valuestring) > RULE_WORD_MAX)
            json_fail(r, path, "command", "must hold text only, at most 4096 bytes a word");
        else
            cJSON_AddItemToArray(copy, cJSON_CreateString(word->valuestring));
    }
    word = cJSON_GetArrayItem(command, 0);
    if (word != NULL && cJSON_IsString(word) && word->valuestring[0] == '\0')
        json_fail(r, path, "command", "must begin with the program's name");
    const char *expect = json_str(r, from, path, "expect", JSON_OPTIONAL, NULL, RULE_WORD_MAX);
    if (expect != NULL)
        cJSON_AddStringToObject(to, "expect", expect);
}

static void http_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"url", "status", NULL};
    json_known(r, from, path, known);
    const char *url = json_str(r, from, path, "url", JSON_REQUIRED, "", RULE_WORD_MAX);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        json_fail(r, path, "url", "must begin with http:// or https://");
    cJSON_AddStringToObject(to, "url", url);
    rule_copy_number(r, from, path, "status", 200, 100, 599, to);
}

static void tcp_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"address", NULL};
    json_known(r, from, path, known);
    const char *address = json_str(r, from, path, "address", JSON_REQUIRED, "", 255);
    const char *colon = strrchr(address, ':');
    unsigned long port = colon != NULL ? strtoul(colon + 1, NULL, 10) : 0;
    bool digits = colon != NULL && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    bool holder = colon != NULL && strchr(colon, '{') != NULL; /* "{pid}" is filled in later */
    if (colon == NULL || colon == address || (!holder && (!digits || port < 1 || port > 65535)))
        json_fail(r, path, "address", "must be HOST:PORT");
    cJSON_AddStringToObject(to, "address", address);
}

static void unix_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"path", NULL};
    json_known(r, from, path, known);
    const char *file = json_str(r, from, path, "path", JSON_REQUIRED, "", 107);
    if (file[0] != '/')
        json_fail(r, path, "path", "must be an absolute path");
    cJSON_AddStringToObject(to, "path", file);
}

static void heartbeat_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"silent_ms", NULL};
    json_known(r, from, path, known);
    rule_copy_number(r, from, path, "silent_ms", 10000, 10, DAY_MS, to);
}

/* A heartbeat is one process's own word: a service has none. */
static void per_field_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const service_first[] = {"service", "process", NULL};
    static const char *const process_only[] = {"process", NULL};
    bool heartbeat = cJSON_GetObjectItemCaseSensitive(from, "heartbeat") != NULL;
    word_copy(r, from, path, "per", JSON_OPTIONAL, heartbeat ? process_only : service_first, to);
}

static void health_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"per",  "every_ms", "timeout_ms", "failures",  "exec",
                                        "http", "tcp",      "unix",       "heartbeat", NULL};
    static const struct {
        const char *name, *path;
        check_fn *check;
    } kinds[] = {{"exec", "when.health.exec", exec_check},
                 {"http", "when.health.http", http_check},
                 {"tcp", "when.health.tcp", tcp_check},
                 {"unix", "when.health.unix", unix_check},
                 {"heartbeat", "when.health.heartbeat", heartbeat_check}};
    unsigned found = 0;
    json_known(r, from, path, known);
    per_field_check(r, from, path, to);
    rule_copy_number(r, from, path, "every_ms", 1000, 100, DAY_MS, to);
    rule_copy_number(r, from, path, "timeout_ms", 500, 10, HOUR_MS, to);
    rule_copy_number(r, from, path, "failures", 1, 1, 1000, to);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const cJSON *o = json_object(r, from, path, kinds[i].name, JSON_OPTIONAL);
        if (o == NULL)
            continue;
        found++;
        kinds[i].check(r, o, kinds[i].path, cJSON_AddObjectToObject(to, kinds[i].name));
    }
    if (found != 1)
        json_fail(r, "", path, "must hold exactly one of exec, http, tcp, unix, heartbeat");
}

/* ---- what the events of a process show ---- */

static void latency_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"region", "over_us", "count", "window_ms", NULL};
    json_known(r, from, path, known);
    name_copy(r, from, path, "region", to);
    number_need(r, from, path, "over_us", 1, DAY_MS * 1000, to);
    count_copy(r, from, path, to);
}

static void log_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"level", "match", "count", "window_ms", NULL};
    static const char *const levels[] = {"warn", "debug", "info", "error", NULL};
    json_known(r, from, path, known);
    word_copy(r, from, path, "level", JSON_OPTIONAL, levels, to);
    regex_copy(r, from, path, "match", to);
    count_copy(r, from, path, to);
}

static void counter_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"name", "above", "below", "count", "window_ms", NULL};
    static const char *const bounds[] = {"above", "below"};
    unsigned found = 0;
    json_known(r, from, path, known);
    name_copy(r, from, path, "name", to);
    for (size_t i = 0; i < 2; i++) {
        const cJSON *bound = cJSON_GetObjectItemCaseSensitive(from, bounds[i]);
        if (bound == NULL)
            continue;
        found++;
        if (!cJSON_IsNumber(bound) || !isfinite(bound->valuedouble))
            json_fail(r, path, bounds[i], "must be a number");
        else
            cJSON_AddNumberToObject(to, bounds[i], bound->valuedouble);
    }
    if (found != 1)
        json_fail(r, "", path, "must hold exactly one of above, below");
    count_copy(r, from, path, to);
}

static void crash_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"exit", NULL};
    json_known(r, from, path, known);
    cJSON_AddBoolToObject(to, "exit", json_bool(r, from, path, "exit", true));
}

static void application_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"match", NULL};
    json_known(r, from, path, known);
    regex_copy(r, from, path, "match", to);
}

/* ---- what the collector itself watches ---- */

static void schedule_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"every_ms", "offset_ms", NULL};
    json_known(r, from, path, known);
    uint64_t every_ms = number_need(r, from, path, "every_ms", 1000, 31 * DAY_MS, to);
    rule_copy_number(r, from, path, "offset_ms", 0, 0, every_ms - 1, to);
}

static void webhook_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"labels", NULL};
    json_known(r, from, path, known);
    const cJSON *labels = json_object(r, from, path, "labels", JSON_OPTIONAL), *label;
    if (labels == NULL)
        return;
    cJSON *copy = cJSON_AddObjectToObject(to, "labels");
    if (cJSON_GetArraySize(labels) > WEBHOOK_LABELS)
        json_fail(r, path, "labels", "must hold at most 8 labels");
    cJSON_ArrayForEach(label, labels) {
        const char *valid = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
        size_t n = strlen(label->string);
        if (n == 0 || n > 63 || strspn(label->string, valid) != n ||
            cJSON_GetObjectItemCaseSensitive(copy, label->string) != NULL)
            json_fail(r, path, "labels", "must have labels of processes as keys, each once");
        else if (!cJSON_IsString(label) || label->valuestring[0] == '\0' ||
                 strlen(label->valuestring) > 63)
            json_fail(r, path, "labels", "must have names of the alert's labels as values");
        else
            cJSON_AddStringToObject(copy, label->string, label->valuestring);
    }
}

/* ---- what the host shows ---- */

static const char *const process_first[] = {"process", "host", NULL};

static void cpu_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"of", "above_percent", "for_ms", NULL};
    json_known(r, from, path, known);
    word_copy(r, from, path, "of", JSON_OPTIONAL, process_first, to);
    /* 100 is one core: a process with many threads goes above */
    number_need(r, from, path, "above_percent", 1, 1000000, to);
    rule_copy_number(r, from, path, "for_ms", 10000, 0, DAY_MS, to);
}

static void memory_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"of", "above_bytes", "above_percent", "for_ms", NULL};
    json_known(r, from, path, known);
    word_copy(r, from, path, "of", JSON_OPTIONAL, process_first, to);
    bool bytes = cJSON_GetObjectItemCaseSensitive(from, "above_bytes") != NULL;
    bool percent = cJSON_GetObjectItemCaseSensitive(from, "above_percent") != NULL;
    if (bytes == percent)
        json_fail(r, "", path, "must hold exactly one of above_bytes, above_percent");
    if (bytes)
        number_need(r, from, path, "above_bytes", 1, UINT64_MAX, to);
    if (percent)
        number_need(r, from, path, "above_percent", 1, 100, to);
    rule_copy_number(r, from, path, "for_ms", 10000, 0, DAY_MS, to);
}

static void pressure_check(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const known[] = {"of", "resource", "kind", "above_percent", "for_ms", NULL};
    static const char *const host_first[] = {"host", "process", NULL};
    static const char *const resources[] = {"cpu", "memory", "io", NULL};
    static const char *const kinds[] = {"some", "full", NULL};
    json_known(r, from, path, known);
    word_copy(r, from, path, "of", JSON_OPTIONAL, host_first, to);
    word_copy(r, from, path, "resource", JSON_REQUIRED, resources, to);
    word_copy(r, from, path, "kind", JSON_OPTIONAL, kinds, to);
    number_need(r, from, path, "above_percent", 1, 100, to);
    rule_copy_number(r, from, path, "for_ms", 10000, 0, DAY_MS, to);
}

/* ---- the table ---- */

static const struct {
    const char *name, *path;
    check_fn *check;
} conditions[] = {{"health", "when.health", health_check},
                  {"latency", "when.latency", latency_check},
                  {"log", "when.log", log_check},
                  {"counter", "when.counter", counter_check},
                  {"cpu", "when.cpu", cpu_check},
                  {"memory", "when.memory", memory_check},
                  {"pressure", "when.pressure", pressure_check},
                  {"crash", "when.crash", crash_check},
                  {"application", "when.application", application_check},
                  {"schedule", "when.schedule", schedule_check},
                  {"webhook", "when.webhook", webhook_check}};
#define CONDITIONS (sizeof conditions / sizeof conditions[0])

void rule_check_when(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    const char *known[CONDITIONS + 1] = {NULL};
    unsigned found = 0;
    const cJSON *when = json_object(r, json, "", "when", JSON_REQUIRED);
    if (when == NULL)
        return;
    for (size_t i = 0; i < CONDITIONS; i++)
        known[i] = conditions[i].name;
    json_known(r, when, "when", known);
    cJSON *copy = cJSON_AddObjectToObject(rule, "when");
    for (size_t i = 0; i < CONDITIONS; i++) {
        const cJSON *o = json_object(r, when, "when", conditions[i].name, JSON_OPTIONAL);
        if (o == NULL)
            continue;
        found++;
        conditions[i].check(r, o, conditions[i].path,
                            cJSON_AddObjectToObject(copy, conditions[i].name));
    }
    if (found != 1)
        json_fail(r, "", "when", "must hold exactly one condition, such as health or latency");
}
