/* SPDX-License-Identifier: Apache-2.0
 *
 * A pushed set on disk; see set_store.h.
 */
#include "set_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "durable.h"
#include "json.h"
#include "log.h"

#define SET_BYTES_MAX (1u << 20)

struct store_job {
    int folder;
    const char *name;
    char file[32];
    struct buf text;
};

static void file_of(const char *name, char out[32])
{
    (void)snprintf(out, 32, "%s.json", name);
}

static void store_run(void *context)
{
    struct store_job *job = context;
    struct durable_part part = {job->text.data, job->text.len};
    int status = durable_write(job->folder, job->file, &part, 1);
    if (status != SKEIN_OK)
        log_error(job->name, "cannot be kept: a restart will need the collector", "reason",
                  skein_status_text(status), NULL);
    buf_fini(&job->text);
    free(job);
}

void set_store(struct worker *worker, int folder, const char *name, uint64_t generation,
               const cJSON *array)
{
    struct store_job *job = calloc(1, sizeof *job);
    cJSON *root = cJSON_CreateObject();
    if (job == NULL || root == NULL) {
        free(job);
        cJSON_Delete(root);
        return;
    }
    job->folder = folder;
    job->name = name;
    file_of(name, job->file);
    json_add_u64(root, "generation", generation);
    cJSON_AddItemReferenceToObject(root, name, (cJSON *)(uintptr_t)array);
    json_print(root, &job->text);
    cJSON_Delete(root);
    if (job->text.status != SKEIN_OK || worker_post(worker, NULL, store_run, job) != SKEIN_OK) {
        log_error(name, "cannot be kept", "reason", skein_status_text(SKEIN_NO_MEMORY), NULL);
        buf_fini(&job->text);
        free(job);
    }
}

cJSON *set_load(int folder, const char *name, uint64_t *generation)
{
    struct buf text = {0};
    char why[200] = "", file[32];
    cJSON *array = NULL;
    file_of(name, file);
    int status = durable_read(folder, file, SET_BYTES_MAX, &text);
    if (status == SKEIN_OK) {
        struct json_reader r = {.error = ""};
        cJSON *root = json_parse((const char *)text.data, text.len, why, sizeof why);
        *generation =
            root == NULL ? 0 : json_u64(&r, root, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
        if (root != NULL && json_array(&r, root, "", name, JSON_REQUIRED) != NULL &&
            r.error[0] == '\0')
            array = cJSON_DetachItemFromObjectCaseSensitive(root, name);
        cJSON_Delete(root);
        if (array == NULL)
            log_warn(name, "what was kept cannot be read; waiting for the collector's", "reason",
                     why[0] != '\0' ? why : r.error, NULL);
    } else if (status != SKEIN_NOT_FOUND) {
        log_warn(name, "what was kept cannot be read", "reason", skein_status_text(status), NULL);
    }
    buf_fini(&text);
    return array;
}
