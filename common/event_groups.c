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

static const char *const names[] = {"app", "net", "io", "lock", "thread", "sleep", "log"};
#define NAMED (sizeof names / sizeof names[0])

/* The number of the group that n bytes name, or -1. */
static int group_of(const char *name, size_t n)
{
    for (size_t i = 0; i < NAMED; i++)
        if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0)
            return (int)i;
    if (n != 2 || strspn(name, "0123456789") < 2)
        return -1;
    int number = (name[0] - '0') * 10 + (name[1] - '0');
    return number >= FIRST_OWN && number <= LAST_OWN ? number : -1;
}

bool event_groups_parse(const char *text, uint64_t *groups)
{
    uint64_t found = 0;
    bool all = strcmp(text, "all") == 0, more = !all;
    while (more) {
        size_t n = strcspn(text, ",");
        int group = group_of(text, n);
        if (group < 0)
            return false;
        found |= UINT64_C(1) << group;
        more = text[n] == ',';
        text += n + 1;
    }
    *groups = found;
    return true;
}

void event_groups_put(struct buf *b, uint64_t groups)
{
    const char *comma = "";
    for (unsigned i = 0; i <= LAST_OWN; i++) {
        if ((groups >> i & 1) == 0)
            continue;
        if (i < NAMED)
            buf_printf(b, "%s%s", comma, names[i]);
        else
            buf_printf(b, "%s%u", comma, i);
        comma = ",";
    }
}

cJSON *event_groups_json(uint64_t groups)
{
    cJSON *array = cJSON_CreateArray();
    for (unsigned i = 0; i <= LAST_OWN; i++) {
        char number[4];
        snprintf(number, sizeof number, "%u", i);
        if ((groups >> i & 1) != 0)
            cJSON_AddItemToArray(array, cJSON_CreateString(i < NAMED ? names[i] : number));
    }
    return array;
}

uint64_t event_groups_get(struct json_reader *r, const cJSON *object, const char *key)
{
    const cJSON *item, *array = json_array(r, object, "", key, JSON_OPTIONAL);
    uint64_t groups = 0;
    bool good = array == NULL || array->child != NULL;
    cJSON_ArrayForEach(item, array) {
        int group =
            cJSON_IsString(item) ? group_of(item->valuestring, strlen(item->valuestring)) : -1;
        good = good && group >= 0;
        groups |= group >= 0 ? UINT64_C(1) << group : 0;
    }
    if (!good)
        json_fail(r, "", key, "must list some of " EVENT_GROUPS);
    return good ? groups : 0;
}
