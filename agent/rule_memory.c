/* SPDX-License-Identifier: Apache-2.0
 *
 * What rules remember over a restart of the agent: when each fired last for whom, and how often.
 * "rules-state.json" beside the rules; a firing is written at once, held-back ones with the next
 * report. Loop thread; the worker writes. A file that is gone or spoiled costs a cooldown, no more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "durable.h"
#include "json.h"
#include "log.h"
#include "rules_int.h"

#define STATE_FILE "rules-state.json"
#define STATE_MAX  (1u << 20)

uint64_t rule_memory_key(const struct rule_spec *spec, const struct process *process)
{
    /* The whole rule: a changed one begins anew. A process crashes once; its service may again. */
    struct buf text = {0};
    buf_printf(&text, "%s\n", spec->text);
    if (spec->when == RULE_CRASH)
        buf_printf(&text, "%s", process->service);
    else
        buf_put(&text, process->uid.bytes, sizeof process->uid.bytes);
    uint64_t key = text.status == SKEIN_OK ? checksum64(text.data, text.len) : 1;
    buf_fini(&text);
    return key != 0 ? key : 1;
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
        worker_post(rules->settings.worker, state_write, job) != SKEIN_OK) {
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
    cJSON_ArrayForEach(item, array)
    {
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
