/* SPDX-License-Identifier: Apache-2.0
 *
 * What is changed by name over HTTP, rules and policies: the tag of a version, whether a change may
 * be made (RFC 9110: If-Match, If-None-Match), and changes of single members (RFC 7396). Pure; any
 * thread.
 */
#ifndef NAMED_H
#define NAMED_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The headers; NULL: absent. */
struct named_if {
    const char *match, *none_match;
};

struct named_change {
    const cJSON *body;
    bool patch; /* the body is one, else it is the whole */
    struct named_if when;
};

/* The tag, with its quotes, of the content without `state`. Equal content has equal tags. */
#define NAMED_ETAG_BYTES 24
void named_etag(const cJSON *json, char out[NAMED_ETAG_BYTES]);

/* Whether the change of `json`, NULL where nothing has the name, is allowed. */
bool named_allows(const struct named_if *when, const cJSON *json);

/* What would be there after the change of `json` (NULL: nothing has the name), unchecked, for the
 * caller to free. SKEIN_OK; SKEIN_NOT_FOUND; SKEIN_EXISTS (change->when does not hold);
 * SKEIN_NO_MEMORY. */
int named_changed(const struct named_change *change, const cJSON *json, cJSON **out);

/* A copy of json with the patch merged into it; the caller's. NULL: no memory. */
cJSON *named_patched(const cJSON *json, const cJSON *patch);

#endif
