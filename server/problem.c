/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds problem documents. Owns the table of the statuses that the API uses; any thread.
 */
#include "problem.h"

#include <stddef.h>

static const struct {
    unsigned status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
};

const char *problem_title(unsigned status)
{
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

cJSON *problem_new(unsigned status, const char *field, const char *detail)
{
    cJSON *json = cJSON_CreateObject();
    if (json == NULL)
        return NULL;
    cJSON_AddStringToObject(json, "type", "about:blank");
    cJSON_AddStringToObject(json, "title", problem_title(status));
    cJSON_AddNumberToObject(json, "status", (double)status);
    cJSON_AddStringToObject(json, "detail", detail);
    if (field != NULL)
        cJSON_AddStringToObject(json, "field", field);
    return json;
}
