/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kinds of evidence; see evidence_kinds.h. No state.
 */
#include "evidence_kinds.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(kind, name) name,
    EVIDENCE_KINDS(X)
#undef X
};

const char *evidence_kind_name(enum evidence_kind kind)
{
    return names[kind];
}

/* The bit of the kind that n bytes name; 0: none. */
static uint32_t bit_of(const char *name, size_t n)
{
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++)
        if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0)
            return EVIDENCE_BIT(i);
    return 0;
}

bool evidence_wish_has(const struct evidence_wish *wish, const char *kind)
{
    uint32_t bit = bit_of(kind, strlen(kind));
    if ((wish->kinds & bit) != 0 || wish->only)
        return (wish->kinds & bit) != 0;
    if (bit == EVIDENCE_BIT(EVIDENCE_GO)) /* the program does work for it, as for a dump */
        return (wish->kinds & EVIDENCE_BIT(EVIDENCE_THREADS)) != 0;
    return bit != EVIDENCE_BIT(EVIDENCE_THREADS);
}

static void wish_read(struct json_reader *r, const cJSON *object, const char *path, bool threads,
                      bool strict, struct evidence_wish *wish)
{
    static const cJSON empty = {.type = cJSON_Object};
    object = object != NULL ? object : &empty;
    const cJSON *item, *list = json_array(r, object, path, "evidence", JSON_OPTIONAL);
    *wish = (struct evidence_wish){.only = list != NULL};
    cJSON_ArrayForEach(item, list) {
        const char *name = cJSON_GetStringValue(item);
        uint32_t bit = name != NULL ? bit_of(name, strlen(name)) : 0;
        if (name == NULL || (strict && bit == 0))
            json_fail(r, path, "evidence", "must list some of " EVIDENCE_KINDS_KNOWN);
        wish->kinds |= bit;
    }
    bool listed = (wish->kinds & EVIDENCE_BIT(EVIDENCE_THREADS)) != 0;
    bool wanted = json_bool(r, object, path, "threads", wish->only ? listed : threads);
    if (listed && !wanted)
        json_fail(r, path, "threads", "is false, and evidence names them");
    if (wanted)
        wish->kinds |= EVIDENCE_BIT(EVIDENCE_THREADS);
}

void evidence_wish_get(struct json_reader *r, const cJSON *object, const char *path, bool threads,
                       struct evidence_wish *wish)
{
    wish_read(r, object, path, threads, true, wish);
}

void evidence_wish_told(struct json_reader *r, const cJSON *object, const char *path, bool threads,
                        struct evidence_wish *wish)
{
    wish_read(r, object, path, threads, false, wish);
}

void evidence_wish_add(const struct evidence_wish *wish, cJSON *object)
{
    if ((wish->kinds & EVIDENCE_BIT(EVIDENCE_THREADS)) != 0)
        cJSON_AddBoolToObject(object, "threads", true);
    if (!wish->only)
        return;
    cJSON *list = cJSON_AddArrayToObject(object, "evidence");
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++)
        if ((wish->kinds & EVIDENCE_BIT(i)) != 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
}

bool evidence_kinds_parse(const char *text, uint32_t *kinds)
{
    uint32_t found = 0;
    bool none = strcmp(text, "none") == 0, more = !none;
    while (more) {
        size_t n = strcspn(text, ",");
        uint32_t bit = bit_of(text, n);
        if (bit == 0)
            return false;
        found |= bit;
        more = text[n] == ',';
        text += n + 1;
    }
    *kinds = found;
    return true;
}

void evidence_kinds_put(struct buf *b, uint32_t kinds)
{
    const char *comma = "";
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++) {
        if ((kinds & EVIDENCE_BIT(i)) == 0)
            continue;
        buf_printf(b, "%s%s", comma, names[i]);
        comma = ",";
    }
    if (comma[0] == '\0')
        buf_printf(b, "none");
}
