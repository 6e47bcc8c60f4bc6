/* SPDX-License-Identifier: Apache-2.0
 *
 * What a principal that is confined to a selector may see: processes, partitions and captures'
 * targets that match it. No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "catalog_capture.h"
#include "json.h"
#include "ledger.h"

bool api_is_confined(const struct http_exchange *x)
{
    return http_principal(x)->selector != NULL;
}

bool api_sees_labels(const struct http_exchange *x, const struct process_labels *labels)
{
    return process_labels_match(http_principal(x)->selector, labels);
}

struct sight {
    const struct http_exchange *x;
    bool seen;
};

static int look(void *context, const struct catalog_target *t)
{
    struct sight *sight = context;
    struct process_labels labels = {t->service, t->host, t->exe,
                                    t->labels,  t->pid,  t->process.bytes};
    sight->seen = api_sees_labels(sight->x, &labels);
    return sight->seen;
}

bool api_sees_capture(const struct collector *c, const struct http_exchange *x,
                      const struct capture_id *id)
{
    struct sight sight = {x, !api_is_confined(x)};
    if (!sight.seen)
        catalog_targets(c->catalog, id, look, &sight);
    return sight.seen;
}

/* ---- a capture's JSON ---- */

/* What says nothing of targets: anything else is left out, so that a new member is, too. */
static const char *const plain[] = {"capture",  "kind",     "status",  "at",
                                    "pre_ms",   "post_ms",  "window",  "created",
                                    "deadline", "finished", "expires", NULL};

struct visible {
    const struct http_exchange *x;
    const cJSON *all;
    cJSON *shown;
};

static int show_target(void *context, const struct catalog_target *t)
{
    struct visible *v = context;
    struct process_labels labels = {t->service, t->host, t->exe,
                                    t->labels,  t->pid,  t->process.bytes};
    char id[ID_TEXT_BYTES];
    const cJSON *item;
    if (!api_sees_labels(v->x, &labels))
        return 0;
    id_text(t->process.bytes, id);
    cJSON_ArrayForEach(item, v->all)
    {
        const char *process = cJSON_GetStringValue(cJSON_GetObjectItem(item, "process"));
        if (process != NULL && strcmp(process, id) == 0)
            cJSON_AddItemToArray(v->shown, cJSON_Duplicate(item, true));
    }
    return 0;
}

static void count_up(cJSON *to, const char *key, double n)
{
    cJSON *at = cJSON_GetObjectItemCaseSensitive(to, key);
    if (at == NULL)
        at = cJSON_AddNumberToObject(to, key, 0);
    if (at != NULL)
        cJSON_SetNumberValue(at, at->valuedouble + n);
}

static void add_counts(cJSON *out, const cJSON *targets)
{
    cJSON *counts = cJSON_AddObjectToObject(out, "target_counts");
    struct ledger ledger = {.stored = 0};
    const cJSON *target;
    cJSON_ArrayForEach(target, targets)
    {
        const char *status = cJSON_GetStringValue(cJSON_GetObjectItem(target, "status"));
        count_up(counts, status != NULL ? status : "", 1);
        ledger_read(&ledger, cJSON_GetObjectItemCaseSensitive(target, "ledger"));
    }
    cJSON_AddItemToObject(out, "ledger", ledger_json(&ledger));
    ledger_fini(&ledger);
}

cJSON *api_capture_shown(const struct collector *c, const struct http_exchange *x,
                         const struct capture_id *id, cJSON *json, bool with_targets)
{
    struct visible v = {x, cJSON_GetObjectItem(json, "targets"), NULL};
    if (!api_is_confined(x))
        return json;
    cJSON *out = cJSON_CreateObject();
    v.shown = cJSON_CreateArray();
    catalog_targets(c->catalog, id, show_target, &v);
    for (size_t i = 0; plain[i] != NULL; i++) {
        cJSON *member = cJSON_DetachItemFromObjectCaseSensitive(json, plain[i]);
        if (member != NULL)
            cJSON_AddItemToObject(out, plain[i], member);
    }
    add_counts(out, v.shown);
    if (with_targets)
        cJSON_AddItemToObject(out, "targets", v.shown);
    else
        cJSON_Delete(v.shown);
    cJSON_Delete(json);
    return out;
}
