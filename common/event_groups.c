/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of event groups; see event_groups.h. Pure; any thread; hostile input expected.
 */
#include "event_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_OWN 16
#define LAST_OWN  63

/* The group's number, or -1. */
static int group_of(const char *name)
{
    static const char *const names[] = {"app", "net", "io", "lock", "thread", "sleep", "log"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    if (strlen(name) != 2 || strspn(name, "0123456789") != 2)
        return -1;
    int number = (name[0] - '0') * 10 + (name[1] - '0');
    return number >= FIRST_OWN && number <= LAST_OWN ? number : -1;
}

uint64_t event_groups_get(struct json_reader *r, const cJSON *object, const char *key)
{
    const cJSON *item, *array = json_array(r, object, "", key, JSON_OPTIONAL);
    uint64_t groups = 0;
    bool good = array == NULL || array->child != NULL;
    cJSON_ArrayForEach(item, array) {
        int group = cJSON_IsString(item) ? group_of(item->valuestring) : -1;
        good = good && group >= 0;
        groups |= group >= 0 ? UINT64_C(1) << group : 0;
    }
    if (!good && r->error[0] == '\0')
        snprintf(r->error, sizeof r->error,
                 "%s: must list some of app, net, io, lock, thread, sleep, log, \"16\" to \"63\"",
                 key);
    return good ? groups : 0;
}
