/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions and changes of what has a name; see named.h.
 */
#include "named.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checksum.h"
#include "http_field.h"
#include "json.h"
#include "skein/status.h"

void named_etag(const cJSON *json, char out[NAMED_ETAG_BYTES])
{
    struct buf text = {0};
    cJSON *copy = cJSON_Duplicate(json, true);
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "state");
    json_print(copy, &text);
    cJSON_Delete(copy);
    snprintf(out, NAMED_ETAG_BYTES, "\"%016" PRIx64 "\"", checksum64(text.data, text.len));
    buf_fini(&text);
}

bool named_allows(const struct named_if *when, const cJSON *json)
{
    char etag[NAMED_ETAG_BYTES] = "";
    if (when->match == NULL && when->none_match == NULL)
        return true;
    if (json == NULL)
        return when->match == NULL;
    named_etag(json, etag);
    return (when->match == NULL || http_etag_in_strongly(when->match, etag)) &&
           (when->none_match == NULL || !http_etag_in(when->none_match, etag));
}

/* RFC 7396, 2. As deep as the parser lets a body be. False: no memory. */
static bool named_merge(cJSON *target, const cJSON *patch)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, patch) {
        cJSON *there = cJSON_GetObjectItemCaseSensitive(target, member->string);
        if (cJSON_IsNull(member)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, member->string);
            continue;
        }
        if (cJSON_IsObject(member) && cJSON_IsObject(there)) {
            if (!named_merge(there, member))
                return false;
            continue;
        }
        cJSON *fresh =
            cJSON_IsObject(member) ? cJSON_CreateObject() : cJSON_Duplicate(member, true);
        if (fresh == NULL || (cJSON_IsObject(member) && !named_merge(fresh, member))) {
            cJSON_Delete(fresh);
            return false;
        }
        cJSON_DeleteItemFromObjectCaseSensitive(target, member->string);
        if (!cJSON_AddItemToObject(target, member->string, fresh)) {
            cJSON_Delete(fresh);
            return false;
        }
    }
    return true;
}

cJSON *named_patched(const cJSON *json, const cJSON *patch)
{
    cJSON *copy = cJSON_Duplicate(json, true);
    if (copy != NULL && named_merge(copy, patch))
        return copy;
    cJSON_Delete(copy);
    return NULL;
}

int named_changed(const struct named_change *change, const cJSON *json, cJSON **out)
{
    *out = NULL;
    if (change->patch && json == NULL)
        return SKEIN_NOT_FOUND;
    if (!named_allows(&change->when, json))
        return SKEIN_EXISTS;
    *out = change->patch ? named_patched(json, change->body) : cJSON_Duplicate(change->body, true);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}
