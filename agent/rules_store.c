/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule set on disk, so that an agent that restarts without a collector goes on checking:
 * "rules.json", {"generation":7,"rules":[...]}. Written by the worker, read at start.
 */
#include <stdlib.h>

#include "durable.h"
#include "json.h"
#include "log.h"
#include "rules_int.h"

#define RULES_FILE "rules.json"
#define RULES_MAX  (1u << 20)

struct store_job {
    int folder;
    struct buf text;
};

static void store_run(void *context)
{
    struct store_job *job = context;
    struct durable_part part = {job->text.data, job->text.len};
    int status = durable_write(job->folder, RULES_FILE, &part, 1);
    if (status != SKEIN_OK)
        log_error("rules", "the rules could not be kept: a restart will need the collector",
                  "reason", skein_status_text(status), NULL);
    buf_fini(&job->text);
    free(job);
}

void rules_store(struct agent_rules *rules, uint64_t generation, const cJSON *array)
{
    struct store_job *job = calloc(1, sizeof *job);
    cJSON *root = cJSON_CreateObject();
    if (job == NULL || root == NULL) {
        free(job);
        cJSON_Delete(root);
        return;
    }
    job->folder = rules->settings.folder;
    json_add_u64(root, "generation", generation);
    cJSON_AddItemToObject(root, "rules", cJSON_Duplicate(array, 1));
    json_print(root, &job->text);
    cJSON_Delete(root);
    if (job->text.status != SKEIN_OK ||
        worker_post(rules->settings.worker, store_run, job) != SKEIN_OK) {
        log_error("rules", "the rules could not be kept", "reason",
                  skein_status_text(SKEIN_NO_MEMORY), NULL);
        buf_fini(&job->text);
        free(job);
    }
}

cJSON *rules_load(int folder, uint64_t *generation)
{
    struct buf file = {0};
    char why[200] = "";
    cJSON *array = NULL;
    int status = durable_read(folder, RULES_FILE, RULES_MAX, &file);
    if (status == SKEIN_OK) {
        struct json_reader r = {.error = ""};
        cJSON *root = json_parse((const char *)file.data, file.len, why, sizeof why);
        *generation =
            root == NULL ? 0 : json_u64(&r, root, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
        if (root != NULL && json_array(&r, root, "", "rules", JSON_REQUIRED) != NULL &&
            r.error[0] == '\0')
            array = cJSON_DetachItemFromObjectCaseSensitive(root, "rules");
        cJSON_Delete(root);
        if (array == NULL)
            log_warn("rules", "the kept rules cannot be read; waiting for the collector's",
                     "reason", why[0] != '\0' ? why : r.error, NULL);
    } else if (status != SKEIN_NOT_FOUND) {
        log_warn("rules", "the kept rules cannot be read", "reason", skein_status_text(status),
                 NULL);
    }
    buf_fini(&file);
    return array;
}
