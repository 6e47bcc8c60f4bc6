/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the conditions of rules that are no health checks, and matches texts with their patterns.
 * The collector has checked them, but it may be newer than this agent, or not what it seems. Pure;
 * any thread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule_pattern.h"
#include "rule_spec_int.h"

/* A time is kept for each, for each process: more than this is left to other agents. */
#define COUNT_MAX UINT64_C(10000)

/* ---- patterns ---- */

static void match_read(struct json_reader *r, const cJSON *object, const char *path,
                       struct rule_spec *spec)
{
    char words[128];
    const char *text = json_str(r, object, path, "match", JSON_OPTIONAL, NULL, RULE_PATTERN_MAX);
    if (text == NULL || r->error[0] != '\0')
        return;
    spec->has_pattern = rule_pattern_compile(text, &spec->pattern, words, sizeof words) == SKEIN_OK;
    if (!spec->has_pattern)
        json_fail(r, path, "match", "%s", words);
}

bool rule_spec_matches(const struct rule_spec *spec, const char *text)
{
    return !spec->has_pattern || regexec(&spec->pattern, text, 0, NULL, 0) == 0;
}

/* ---- what the events of a process show ---- */

static void name_read(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                      struct rule_spec *spec)
{
    spec->event.name = rule_spec_copy(r, json_str(r, object, path, key, JSON_REQUIRED, NULL, 255));
    if (spec->event.name != NULL && spec->event.name[0] == '\0')
        json_fail(r, path, key, "must not be empty");
}

static void count_read(struct json_reader *r, const cJSON *object, const char *path,
                       struct rule_spec *spec)
{
    spec->event.count = json_u64(r, object, path, "count", JSON_OPTIONAL, 1, 1, COUNT_MAX);
    spec->event.window_ms =
        json_u64(r, object, path, "window_ms", JSON_OPTIONAL, 60000, 1, RULE_DAY_MS);
}

static void latency_read(struct json_reader *r, const cJSON *object, const char *path,
                         struct rule_spec *spec)
{
    name_read(r, object, path, "region", spec);
    spec->event.over_us =
        json_u64(r, object, path, "over_us", JSON_REQUIRED, 1, 1, RULE_DAY_MS * 1000);
    count_read(r, object, path, spec);
}

/* Which of a NULL-terminated list of words; `otherwise` where it is absent. */
static unsigned word_read(struct json_reader *r, const cJSON *object, const char *path,
                          const char *key, const char *const *words, const char *otherwise)
{
    const char *text = json_str(r, object, path, key, otherwise == NULL, otherwise, 32);
    for (unsigned i = 0; text != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
    }
    json_fail(r, path, key, "is none that this agent knows");
    return 0;
}

static void log_read(struct json_reader *r, const cJSON *object, const char *path,
                     struct rule_spec *spec)
{
    static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
    spec->event.level = word_read(r, object, path, "level", levels, "warn");
    match_read(r, object, path, spec);
    count_read(r, object, path, spec);
}

static void counter_read(struct json_reader *r, const cJSON *object, const char *path,
                         struct rule_spec *spec)
{
    name_read(r, object, path, "name", spec);
    const cJSON *above = cJSON_GetObjectItemCaseSensitive(object, "above");
    const cJSON *below = cJSON_GetObjectItemCaseSensitive(object, "below");
    const cJSON *bound = above != NULL ? above : below;
    if ((above == NULL) == (below == NULL) || !cJSON_IsNumber(bound) ||
        !isfinite(bound->valuedouble)) {
        rule_spec_fail(r, "when.counter: must hold a number, above or below");
        return;
    }
    spec->event.below = below != NULL;
    spec->event.bound = bound->valuedouble;
    count_read(r, object, path, spec);
}

static void crash_read(struct json_reader *r, const cJSON *object, const char *path,
                       struct rule_spec *spec)
{
    spec->exits = json_bool(r, object, path, "exit", true);
}

/* ---- what the system shows ---- */

static void of_read(struct json_reader *r, const cJSON *object, const char *path,
                    const char *otherwise, struct rule_spec *spec)
{
    static const char *const words[] = {"process", "host", NULL};
    spec->system.host = word_read(r, object, path, "of", words, otherwise) == 1;
    spec->system.for_ms = json_u64(r, object, path, "for_ms", JSON_OPTIONAL, 10000, 0, RULE_DAY_MS);
}

static void cpu_read(struct json_reader *r, const cJSON *object, const char *path,
                     struct rule_spec *spec)
{
    of_read(r, object, path, "process", spec);
    spec->system.above = json_u64(r, object, path, "above_percent", JSON_REQUIRED, 1, 1, 1000000);
}

static void memory_read(struct json_reader *r, const cJSON *object, const char *path,
                        struct rule_spec *spec)
{
    of_read(r, object, path, "process", spec);
    bool bytes = cJSON_HasObjectItem(object, "above_bytes");
    if (bytes == (bool)cJSON_HasObjectItem(object, "above_percent")) {
        rule_spec_fail(r, "when.memory: must hold one of above_bytes, above_percent");
        return;
    }
    spec->system.bytes = bytes;
    spec->system.above =
        bytes ? json_u64(r, object, path, "above_bytes", JSON_REQUIRED, 1, 1, UINT64_MAX)
              : json_u64(r, object, path, "above_percent", JSON_REQUIRED, 1, 1, 100);
}

static void pressure_read(struct json_reader *r, const cJSON *object, const char *path,
                          struct rule_spec *spec)
{
    static const char *const resources[] = {"cpu", "memory", "io", NULL};
    static const char *const kinds[] = {"some", "full", NULL};
    of_read(r, object, path, "host", spec);
    spec->system.resource = resources[word_read(r, object, path, "resource", resources, NULL)];
    spec->system.full = word_read(r, object, path, "kind", kinds, "some") == 1;
    spec->system.above = json_u64(r, object, path, "above_percent", JSON_REQUIRED, 1, 1, 100);
}

void rule_condition_read(struct json_reader *r, const cJSON *object, struct rule_spec *spec)
{
    static const struct {
        const char *path;
        void (*read)(struct json_reader *, const cJSON *, const char *, struct rule_spec *);
    } rows[] = {[RULE_LATENCY] = {"when.latency", latency_read},
                [RULE_LOG] = {"when.log", log_read},
                [RULE_COUNTER] = {"when.counter", counter_read},
                [RULE_CPU] = {"when.cpu", cpu_read},
                [RULE_MEMORY] = {"when.memory", memory_read},
                [RULE_PRESSURE] = {"when.pressure", pressure_read},
                [RULE_CRASH] = {"when.crash", crash_read},
                [RULE_APPLICATION] = {"when.application", match_read}};
    if ((size_t)spec->when < sizeof rows / sizeof rows[0] && rows[spec->when].read != NULL)
        rows[spec->when].read(r, object, rows[spec->when].path, spec);
}
