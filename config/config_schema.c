/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the JSON Schema of a table of parameters. The schema refuses what config_load refuses:
 * unknown keys, wrong types, numbers out of bounds. Pure over the table; writes to its stream
 * alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "json.h"
#include "units.h"

enum { SECTION_BYTES = 64 };

/* The member of that name, made if it is missing; NULL: no memory. */
static cJSON *child_object(cJSON *object, const char *name)
{
    cJSON *child = cJSON_GetObjectItemCaseSensitive(object, name);
    return child != NULL ? child : cJSON_AddObjectToObject(object, name);
}

/* Makes `schema` an object's, and returns its properties. */
static cJSON *object_properties(cJSON *schema)
{
    if (!cJSON_HasObjectItem(schema, "type") &&
        (cJSON_AddStringToObject(schema, "type", "object") == NULL ||
         cJSON_AddFalseToObject(schema, "additionalProperties") == NULL))
        return NULL;
    return child_object(schema, "properties");
}

/* A number may also be text: with a unit where its name says one; or as digits, which numbers above
 * 2^53 must be. */
static bool number_add(cJSON *schema, const struct config_param *p)
{
    static const char *const patterns[] = {
        [UNIT_NONE] = "^[0-9]+$",
        [UNIT_NS] = "^([0-9]{16,20}|0|[0-9]+([.][0-9]+)?(ns|us|ms|s|m|h|d|w))$",
        [UNIT_US] = "^([0-9]{16,20}|0|[0-9]+([.][0-9]+)?(ns|us|ms|s|m|h|d|w))$",
        [UNIT_MS] = "^([0-9]{16,20}|0|[0-9]+([.][0-9]+)?(ns|us|ms|s|m|h|d|w))$",
        [UNIT_BYTES] = "^([0-9]{16,20}|0|[0-9]+([.][0-9]+)?([kMGT]?B|[KMGT]iB))$"};
    const char *pattern = patterns[unit_of_name(config_leaf(p))];
    cJSON *forms = cJSON_AddArrayToObject(schema, "anyOf");
    cJSON *number = cJSON_CreateObject(), *digits = cJSON_CreateObject();
    if (forms == NULL || !cJSON_AddItemToArray(forms, number) ||
        !cJSON_AddItemToArray(forms, digits))
        return false;
    cJSON_AddStringToObject(number, "type", "integer");
    json_add_u64(number, "minimum", p->min);
    if (p->max <= UINT64_C(1) << 53)
        json_add_u64(number, "maximum", p->max);
    cJSON_AddStringToObject(digits, "type", "string");
    cJSON_AddStringToObject(digits, "pattern", pattern);
    return true;
}

static bool value_add(cJSON *schema, const struct config_param *p)
{
    cJSON *items;
    if (cJSON_AddStringToObject(schema, "description", p->help) == NULL)
        return false;
    switch (p->type) {
    case CONFIG_TYPE_STR:
        return cJSON_AddStringToObject(schema, "type", "string") != NULL &&
               cJSON_AddStringToObject(schema, "default",
                                       p->otherwise != NULL ? p->otherwise : "") != NULL;
    case CONFIG_TYPE_U64:
        if (!number_add(schema, p))
            return false;
        json_add_u64(schema, "default", p->number);
        return true;
    case CONFIG_TYPE_BOOL:
        return cJSON_AddStringToObject(schema, "type", "boolean") != NULL &&
               cJSON_AddBoolToObject(schema, "default", p->number != 0) != NULL;
    case CONFIG_TYPE_STRS:
        items = cJSON_AddObjectToObject(schema, "items");
        return items != NULL && cJSON_AddStringToObject(items, "type", "string") != NULL &&
               cJSON_AddStringToObject(schema, "type", "array") != NULL;
    case CONFIG_TYPE_MAP:
        items = cJSON_AddObjectToObject(schema, "additionalProperties");
        return items != NULL && number_add(items, p) &&
               cJSON_AddStringToObject(schema, "type", "object") != NULL;
    case CONFIG_TYPE_NONE:
        break;
    }
    return true;
}

/* Walks the sections of the path, makes what is missing, and describes the key at its end. */
static bool param_add(cJSON *root, const struct config_param *p)
{
    cJSON *schema = root;
    const char *at = p->path;
    for (;;) {
        char name[SECTION_BYTES];
        size_t n = strcspn(at, ".");
        cJSON *properties = object_properties(schema);
        if (properties == NULL || n >= sizeof name)
            return false;
        memcpy(name, at, n);
        name[n] = '\0';
        schema = child_object(properties, name);
        if (schema == NULL)
            return false;
        if (!at[n])
            return value_add(schema, p);
        at += n + 1;
    }
}

int config_print_schema(const struct config_param *params, const char *title, FILE *out)
{
    cJSON *root = cJSON_CreateObject();
    bool whole = root != NULL &&
                 cJSON_AddStringToObject(root, "$schema",
                                         "https://json-schema.org/draft/2020-12/schema") != NULL &&
                 cJSON_AddStringToObject(root, "title", title) != NULL &&
                 object_properties(root) != NULL;
    cJSON *editor = whole ? cJSON_AddObjectToObject(object_properties(root), "$schema") : NULL;
    whole = editor != NULL && cJSON_AddStringToObject(editor, "type", "string") != NULL;
    for (const struct config_param *p = params; whole && p->type != CONFIG_TYPE_NONE; p++)
        whole = param_add(root, p);
    char *text = whole ? cJSON_Print(root) : NULL;
    if (text != NULL)
        fprintf(out, "%s\n", text);
    bool printed = text != NULL;
    cJSON_free(text);
    cJSON_Delete(root);
    return printed ? SKEIN_OK : SKEIN_NO_MEMORY;
}
