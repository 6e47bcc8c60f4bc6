/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds problem documents. No state; any thread.
 */
#include "problem.h"

#include <stddef.h>
#include <stdio.h>

static const struct {
    unsigned status;
    const char *name, *title;
} problems[] = {
#define X(kind, status, name, title) {status, name, title},
    PROBLEM_LIST(X)
#undef X
};

enum problem problem_of_status(unsigned status)
{
    for (int i = 0; i < PROBLEMS; i++)
        if (problems[i].status == status)
            return (enum problem)i;
    return PROBLEM_INTERNAL;
}

unsigned problem_status(enum problem kind)
{
    return problems[kind].status;
}

const char *problem_name(enum problem kind)
{
    return problems[kind].name;
}

cJSON *problem_new(enum problem kind, const char *field, const char *detail)
{
    char type[PROBLEM_URN_SIZE];
    cJSON *json = cJSON_CreateObject();
    if (json == NULL)
        return NULL;
    snprintf(type, sizeof type, PROBLEM_URN "%s", problems[kind].name);
    cJSON_AddStringToObject(json, "type", type);
    cJSON_AddStringToObject(json, "title", problems[kind].title);
    cJSON_AddNumberToObject(json, "status", (double)problems[kind].status);
    cJSON_AddStringToObject(json, "detail", detail);
    if (field != NULL)
        cJSON_AddStringToObject(json, "field", field);
    return json;
}
