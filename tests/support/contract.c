/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_json(const char *type)
{
    return strncmp(type, "application/json", 16) == 0 ||
           strncmp(type, "application/problem+json", 24) == 0;
}

void contract_record(const char *method, const char *path, const struct http_response *response)
{
    char file[512];
    struct buf body = {0};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "method", method);
    cJSON_AddStringToObject(json, "path", path);
    cJSON_AddNumberToObject(json, "status", (double)response->status);
    cJSON_AddStringToObject(json, "type", response->content_type);
    if (is_json(response->content_type) && response->body.len > 0) {
        buf_put(&body, response->body.data, response->body.len);
        buf_put_u8(&body, 0);
        cJSON_AddStringToObject(json, "body", (const char *)body.data);
    }
    char *text = cJSON_PrintUnformatted(json);
    snprintf(file, sizeof file, "%s/%ld.jsonl", CONTRACT_FOLDER, (long)getpid());
    int out = text != NULL ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (out >= 0) {
        struct buf line = {0};
        buf_printf(&line, "%s\n", text);
        /* One write, however long it is: lines of two threads do not mix. */
        (void)!write(out, line.data, line.len);
        close(out);
        buf_fini(&line);
    }
    free(text);
    cJSON_Delete(json);
    buf_fini(&body);
}
