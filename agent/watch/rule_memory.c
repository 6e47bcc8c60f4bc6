/* SPDX-License-Identifier: Apache-2.0
 *
 * What rules remember over a restart of the agent: when each fired last for whom, and how often.
 * "rules-state.json" beside the rules; a firing is written at once, held-back ones with the next
 * report. One that was journalled and not yet written here comes from the journal. Loop thread; the
 * worker writes. A file that is gone or spoiled costs a cooldown, no more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "checksum.h"
#include "clock.h"
#include "durable.h"
#include "json.h"
#include "log.h"
#include "report_fired.h"
#include "rules_int.h"

#define STATE_FILE "rules-state.json"
#define STATE_MAX  (1u << 20)

uint64_t rule_memory_key(const struct rule_spec *spec, enum trigger_type type,
                         const struct process *process, uint32_t user)
{
    /* The whole rule: a changed one begins anew. A process crashes once; its program may again. */
    struct buf text = {0};
    buf_printf(&text, "%s\n", spec != NULL ? spec->text : trigger_text(type));
    if (type == TRIGGER_CRASH)
        buf_printf(&text, "%s\n%s\n%" PRIu32, process->service, process->exe, user);
    else if (spec != NULL && spec->per_service)
        buf_printf(&text, "%s\n%" PRIu32, process->service, user);
    else
        buf_put(&text, process->uid.bytes, sizeof process->uid.bytes);
    uint64_t key = text.status == SKEIN_OK ? checksum64(text.data, text.len) : 1;
    buf_fini(&text);
    return key != 0 ? key : 1;
}

/* A time in the future was left by a clock that has gone back since, and holds nothing up. */
bool rule_memory_cools(const struct rule_memory *memory, uint64_t at_ns, uint64_t cooldown_ms)
{
    return memory->last_fired_ns != 0 && at_ns < memory->last_fired_ns + cooldown_ms * NS_PER_MS &&
           memory->last_fired_ns <= agent_clock_ns();
}

void rule_memory_fire(struct rule_memory *memory, uint64_t at_ns)
{
    memory->last_fired_ns = at_ns;
    memory->fired++;
}

const struct rule_memory *rule_memory_find(const struct agent_rules *rules, uint64_t key)
{
    for (size_t i = 0; i < RULE_MEMORIES; i++) {
        if (rules->memories[i].key == key)
            return &rules->memories[i];
    }
    return NULL;
}

struct rule_memory *rule_memory_take(struct agent_rules *rules, uint64_t key)
{
    struct rule_memory *place = &rules->memories[0];
    rules->memories_changed = true;
    for (size_t i = 0; i < RULE_MEMORIES; i++) {
        struct rule_memory *one = &rules->memories[i];
        if (one->key == key)
            return one;
        if (place->key != 0 && (one->key == 0 || one->last_fired_ns < place->last_fired_ns))
            place = one;
    }
    *place = (struct rule_memory){.key = key};
    return place;
}

struct state_job {
    int folder;
    struct buf text;
};

static void state_write(void *context)
{
    struct state_job *job = context;
    struct durable_part part = {job->text.data, job->text.len};
    int status = durable_write(job->folder, STATE_FILE, &part, 1);
    if (status != SKEIN_OK)
        log_error("rules", "cooldowns and counts could not be kept for a restart", "reason",
                  skein_status_text(status), NULL);
    buf_fini(&job->text);
    free(job);
}

static void state_print(const struct agent_rules *rules, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *array = cJSON_AddArrayToObject(root, "fired");
    for (size_t i = 0; i < RULE_MEMORIES; i++) {
        const struct rule_memory *one = &rules->memories[i];
        if (one->key == 0)
            continue;
        cJSON *item = cJSON_CreateObject();
        json_add_u64(item, "key", one->key);
        json_add_u64(item, "last_fired_ns", one->last_fired_ns);
        json_add_u64(item, "fired", one->fired);
        json_add_u64(item, "suppressed", one->suppressed);
        cJSON_AddItemToArray(array, item);
    }
    json_print(root, out);
    cJSON_Delete(root);
}

void rule_memory_save(struct agent_rules *rules)
{
    if (!rules->memories_changed)
        return;
    struct state_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return; /* the next report tries again */
    job->folder = rules->settings.folder;
    state_print(rules, &job->text);
    if (job->text.status != SKEIN_OK ||
        worker_post(rules->settings.worker, NULL, state_write, job) != SKEIN_OK) {
        buf_fini(&job->text);
        free(job);
        return;
    }
    rules->memories_changed = false;
}

int rule_memories_read(const char *text, size_t n, struct rule_memory memories[RULE_MEMORIES],
                       char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    size_t count = 0;
    memset(memories, 0, RULE_MEMORIES * sizeof *memories);
    cJSON *root = json_parse(text, n, error, error_bytes);
    if (root == NULL)
        return SKEIN_INVALID;
    const cJSON *array = json_array(&r, root, "", "fired", JSON_REQUIRED), *item;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsObject(item) || count == RULE_MEMORIES)
            break;
        memories[count++] = (struct rule_memory){
            .key = json_u64(&r, item, "fired[]", "key", JSON_REQUIRED, 0, 1, UINT64_MAX),
            .last_fired_ns =
                json_u64(&r, item, "fired[]", "last_fired_ns", JSON_REQUIRED, 0, 0, INT64_MAX),
            .fired = json_u64(&r, item, "fired[]", "fired", JSON_REQUIRED, 0, 0, INT64_MAX),
            .suppressed =
                json_u64(&r, item, "fired[]", "suppressed", JSON_REQUIRED, 0, 0, INT64_MAX)};
    }
    cJSON_Delete(root);
    if (r.error[0] == '\0')
        return SKEIN_OK;
    memset(memories, 0, RULE_MEMORIES * sizeof *memories);
    snprintf(error, error_bytes, "%s", r.error);
    return SKEIN_INVALID;
}

void rule_memory_load(struct agent_rules *rules)
{
    struct buf file = {0};
    char why[256] = "";
    if (durable_read(rules->settings.folder, STATE_FILE, STATE_MAX, &file) == SKEIN_OK &&
        rule_memories_read((const char *)file.data, file.len, rules->memories, why, sizeof why) !=
            SKEIN_OK)
        log_warn("rules", "the kept cooldowns cannot be read", "reason", why, NULL);
    buf_fini(&file);
}

/* ---- firings that only the journal knows ---- */

static const struct rule_spec *spec_named(const struct agent_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (strcmp(rules->specs[i]->name, name) == 0)
            return rules->specs[i];
    }
    return NULL;
}

static void fired_recover(struct agent_rules *rules, const struct report_fired *report)
{
    struct process process = {.uid = report->process}; /* who it was, no more */
    snprintf(process.service, sizeof process.service, "%s", report->service);
    snprintf(process.exe, sizeof process.exe, "%s", report->exe);
    const struct rule_spec *spec = report->rule[0] != '\0' ? spec_named(rules, report->rule) : NULL;
    enum trigger_type type = report->trigger;
    bool own = type == TRIGGER_CRASH || type == TRIGGER_APPLICATION;
    if (report->rule[0] != '\0' ? spec == NULL || rule_trigger(spec) != type : !own)
        return; /* a rule that is gone or another one now, or a sample */
    struct rule_memory *memory =
        rule_memory_take(rules, rule_memory_key(spec, type, &process, report->user));
    if (memory->last_fired_ns >= report->at_ns)
        return;
    memory->last_fired_ns = report->at_ns;
    memory->fired++;
}

void rule_memory_recover(struct agent_rules *rules)
{
    struct spool_report report;
    struct report_fired fired;
    uint64_t after = 0;
    char why[256];
    while (spool_report_next(rules->settings.spool, after, &report) == SKEIN_OK) {
        after = report.revision;
        cJSON *json = report.kind == SPOOL_FIRED
                          ? control_body_parse(report.text, report.len, why, sizeof why)
                          : NULL;
        if (json != NULL && report_fired_get(json, &fired, why, sizeof why) == SKEIN_OK) {
            fired_recover(rules, &fired);
            report_fired_fini(&fired);
        }
        cJSON_Delete(json);
        free(report.text);
    }
    rule_memory_save(rules);
}
