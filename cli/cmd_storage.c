/* SPDX-License-Identifier: Apache-2.0
 *
 * skein storage: what takes how much room on the collector's disk. One thread.
 */
#include <stdio.h>

#include "cli_resource.h"
#include "cmd.h"

static int storage_show(const cJSON *storage)
{
    static const struct table_column fields[] = {{"status", "status", TABLE_STATUS},
                                                 {"on disk", "bytes", TABLE_BYTES},
                                                 {"of it alive", "live_bytes", TABLE_BYTES},
                                                 {"of it dead", "dead_bytes", TABLE_BYTES},
                                                 {"segments", "segments", TABLE_NUMBER},
                                                 {"free on disk", "free_bytes", TABLE_BYTES},
                                                 {"must stay free", "min_free_bytes", TABLE_BYTES},
                                                 {"quota", "quota.max_bytes", TABLE_BYTES},
                                                 {"quotas", "quota.status", TABLE_STATUS},
                                                 {"because", "quota.reason", TABLE_TEXT},
                                                 {NULL, NULL, TABLE_TEXT}};
    static const struct table_column columns[] = {{"SERVICE", "service", TABLE_TEXT},
                                                  {"BYTES", "bytes", TABLE_BYTES},
                                                  {"QUOTA", "max_bytes", TABLE_BYTES},
                                                  {NULL, NULL, TABLE_TEXT}};
    int status = fields_print(storage, fields);
    const cJSON *services = json_at(storage, "services");
    if (status != CLI_OK || !cJSON_IsArray(services))
        return status;
    printf("\n");
    return table_print(services, false, columns, "nothing is stored");
}

static int storage_run(const struct cli_call *call)
{
    const struct resource_options *o = call->options;
    struct api api;
    cJSON *storage = NULL;
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = api_call(&api, "GET", "/storage", NULL, &storage);
    if (status == CLI_OK)
        status = o->json ? json_show(storage) : storage_show(storage);
    cJSON_Delete(storage);
    return status;
}

const struct cli_command cmd_storage = {
    .name = "storage",
    .summary = "Show what takes how much room on the collector's disk, and the quotas",
    .examples = "  skein storage\n  skein storage -o json | jq .services\n",
    CLI_RUN(resource_options, struct resource_options, storage_run),
};
