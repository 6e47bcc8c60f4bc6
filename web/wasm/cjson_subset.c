/* SPDX-License-Identifier: Apache-2.0
 *
 * What analysis/ and common/ use of cJSON's header to make JSON, for WebAssembly: Debian ships that
 * library without its source. Trees are made, printed by common/json.c and freed; nothing is parsed.
 * No state. As cJSON does, a function that is given NULL does nothing, and where memory is missing a
 * member is.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static cJSON *item_new(int type)
{
    cJSON *item = calloc(1, sizeof *item);
    if (item != NULL)
        item->type = type;
    return item;
}

cJSON *cJSON_CreateObject(void)
{
    return item_new(cJSON_Object);
}

cJSON *cJSON_CreateArray(void)
{
    return item_new(cJSON_Array);
}

cJSON *cJSON_CreateString(const char *text)
{
    cJSON *item = item_new(cJSON_String);
    if (item == NULL || (item->valuestring = strdup(text)) != NULL)
        return item;
    free(item);
    return NULL;
}

void cJSON_Delete(cJSON *item)
{
    while (item != NULL) {
        cJSON *next = item->next;
        cJSON_Delete(item->child);
        free(item->valuestring);
        free(item->string);
        free(item);
        item = next;
    }
}

/* The first child's `prev` is the last one. */
cJSON_bool cJSON_AddItemToArray(cJSON *array, cJSON *item)
{
    if (array == NULL || item == NULL)
        return 0;
    if (array->child == NULL) {
        array->child = item->prev = item;
        return 1;
    }
    item->prev = array->child->prev;
    item->prev->next = item;
    array->child->prev = item;
    return 1;
}

/* Takes the item; NULL, and it is gone, if it cannot be added. */
static cJSON *child_append(cJSON *object, const char *name, cJSON *item)
{
    if (item != NULL)
        item->string = strdup(name);
    if (item != NULL && item->string != NULL && cJSON_AddItemToArray(object, item))
        return item;
    cJSON_Delete(item);
    return NULL;
}

cJSON *cJSON_AddObjectToObject(cJSON *object, const char *name)
{
    return child_append(object, name, cJSON_CreateObject());
}

cJSON *cJSON_AddArrayToObject(cJSON *object, const char *name)
{
    return child_append(object, name, cJSON_CreateArray());
}

cJSON *cJSON_AddStringToObject(cJSON *object, const char *name, const char *text)
{
    return child_append(object, name, cJSON_CreateString(text));
}

cJSON *cJSON_AddTrueToObject(cJSON *object, const char *name)
{
    return child_append(object, name, item_new(cJSON_True));
}

cJSON *cJSON_AddBoolToObject(cJSON *object, const char *name, cJSON_bool is)
{
    return child_append(object, name, item_new(is ? cJSON_True : cJSON_False));
}

cJSON *cJSON_AddNumberToObject(cJSON *object, const char *name, double number)
{
    cJSON *item = item_new(cJSON_Number);
    if (item != NULL) {
        item->valuedouble = number;
        item->valueint = number >= 2147483647.0    ? 2147483647
                         : number <= -2147483648.0 ? -2147483647 - 1
                                                   : (int)number;
    }
    return child_append(object, name, item);
}

/* ---- what an item is ---- */

#define IS(name, types)                                                                            \
    cJSON_bool cJSON_Is##name(const cJSON *item)                                                   \
    {                                                                                              \
        return item != NULL && (item->type & (types)) != 0;                                        \
    }

IS(Array, cJSON_Array)
IS(Bool, cJSON_True | cJSON_False)
IS(Number, cJSON_Number)
IS(Object, cJSON_Object)
IS(Raw, cJSON_Raw)
IS(String, cJSON_String)
IS(True, cJSON_True)
