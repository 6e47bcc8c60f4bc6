/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules and /policies: the handlers of a set of named things, by the path that was asked. No state;
 * any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"

static struct named_set *set_of(struct api_services *api, const struct http_exchange *x)
{
    static const char rules[] = "/api/v1/rules/";
    return strncmp(http_path(x), rules, sizeof rules - 2) == 0 ? rules_set(api->rules)
                                                               : policies_set(api->policies);
}

/* ---- what they answer ---- */

void api_named_none(struct http_exchange *x, const struct named_set *set)
{
    http_problem(x, 404, NULL, "no %s %.64s; GET /api/v1/%s lists them", set->kind->noun,
                 http_part(x, 0), set->kind->folder);
}

/* Shows only the server of an address: for many receivers the path is the password. */
static void path_hide(cJSON *url)
{
    char shown[1200];
    const char *text = cJSON_GetStringValue(url);
    const char *host = text != NULL ? strstr(text, "://") : NULL;
    size_t n = host != NULL ? (size_t)(host - text) + 3 : 0;
    if (n == 0)
        return;
    n += strcspn(text + n, "/?#");
    if (text[n] == '\0' || strcmp(text + n, "/") == 0)
        return;
    snprintf(shown, sizeof shown, "%.*s/hidden", (int)n, text);
    cJSON_SetValuestring(url, shown);
}

/* What leads to a receiver may hold a password: who may not set it does not see it. */
static void secrets_hide(const struct http_exchange *x, cJSON *thing)
{
    const cJSON *notify = cJSON_GetObjectItemCaseSensitive(thing, "notify");
    const cJSON *webhook = cJSON_GetObjectItemCaseSensitive(notify, "webhook");
    cJSON *header;
    if (http_principal(x)->scope >= HTTP_ADMIN)
        return;
    path_hide(cJSON_GetObjectItemCaseSensitive(webhook, "url"));
    cJSON_ArrayForEach(header, cJSON_GetObjectItemCaseSensitive(webhook, "headers"))
        cJSON_SetValuestring(header, "hidden");
}

static void etag_add(struct http_exchange *x, const cJSON *json)
{
    char etag[NAMED_ETAG_BYTES];
    named_etag(json, etag);
    http_add_header(x, "ETag", etag);
}

/* What the request makes its change depend on. False: that cannot be read, and nothing may be changed
 * by it; an answer was given. */
static bool condition_get(struct http_exchange *x, struct named_if *out)
{
    if (http_header_list(x, "If-Match", &out->match) &&
        http_header_list(x, "If-None-Match", &out->none_match))
        return true;
    http_problem(x, 500, NULL, "there is no memory to read what the change depends on");
    return false;
}

/* ---- a change that somebody else came before ---- */

struct last_change {
    char words[160]; /* " by NAME at TIME"; "" where it is not known */
};

/* Of put, delete and what else is done to it, tried or done. */
static int change_take(void *context, const struct audit_row *row)
{
    struct last_change *last = context;
    const struct audit_entry *e = &row->entry;
    const char *verb = strchr(e->action, '.');
    char time[CLOCK_TEXT_BYTES];
    if (verb == NULL || (strcmp(verb, ".put") != 0 && strcmp(verb, ".delete") != 0) ||
        strcmp(e->result, "ok") != 0)
        return 0;
    clock_text(row->time_ns, time);
    (void)snprintf(last->words, sizeof last->words, " by %.63s at %s", e->actor, time);
    return 1;
}

/* Who made the last change, as the audit log has it: of its newest entries about the thing. */
static void last_change_find(struct api_services *api, const struct named_kind *kind,
                             const char *name, struct last_change *out)
{
    char action[64];
    struct audit_query query = {
        .action = action, .object = name, .to_ns = UINT64_MAX, .before = UINT64_MAX, .limit = 50};
    snprintf(action, sizeof action, "%s.*", kind->noun);
    out->words[0] = '\0';
    (void)audit_list(api->audit, &query, change_take, out);
}

/* Whoever may try a change may know who made the last one. */
static void reply_changed(struct http_exchange *x, struct named_set *set)
{
    const char *noun = set->kind->noun, *name = http_part(x, 0);
    struct last_change last;
    cJSON *json = NULL;
    bool there = named_set_get(set, name, &json) == SKEIN_OK;
    cJSON_Delete(json);
    last_change_find(http_context(x), set->kind, name, &last);
    if (!there && last.words[0] != '\0')
        http_problem(x, 412, "If-Match", "the %s %.63s was deleted%s", noun, name, last.words);
    else if (!there)
        http_problem(x, 412, "If-Match", "there is no %s %.63s", noun, name);
    else if (http_header(x, "If-Match") == NULL)
        http_problem(x, 412, "If-None-Match", "there is a %s %.63s already%s%s", noun, name,
                     last.words[0] != '\0' ? ", put" : "", last.words);
    else
        http_problem(x, 412, "If-Match",
                     "the %s %.63s has been changed since%s: GET it, and change that", noun, name,
                     last.words);
}

static void reply_put(struct http_exchange *x, const struct named_kind *kind, bool created,
                      cJSON *out)
{
    char location[128];
    snprintf(location, sizeof location, "/api/v1/%s/%.63s", kind->folder, http_part(x, 0));
    if (created)
        http_add_header(x, "Location", location);
    etag_add(x, out);
    http_reply_json(x, created ? 201 : 200, out);
}

static void named_audit(struct http_exchange *x, const struct named_kind *kind, const char *verb,
                        int status)
{
    char action[64];
    snprintf(action, sizeof action, "%s.%s", kind->noun, verb);
    api_audit(x, action, http_part(x, 0), api_result(status), NULL);
}

/* ---- the handlers ---- */

void api_named_list(void *context, struct http_exchange *x)
{
    struct named_set *set = set_of(context, x);
    const char *cursor = http_query(x, "cursor");
    size_t limit;
    char next[64] = "";
    bool more = false;
    if (!api_limit(x, &limit))
        return;
    cJSON *all = named_set_list(set), *items = cJSON_CreateArray(), *item;
    while ((item = cJSON_DetachItemFromArray(all, 0)) != NULL) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(item, "name"));
        bool behind = cursor == NULL || (name != NULL && strcmp(name, cursor) > 0);
        if (behind && (size_t)cJSON_GetArraySize(items) < limit) {
            snprintf(next, sizeof next, "%s", name != NULL ? name : "");
            secrets_hide(x, item);
            cJSON_AddItemToArray(items, item);
        } else {
            more |= behind;
            cJSON_Delete(item);
        }
    }
    cJSON_Delete(all);
    api_reply_items(x, items, more ? next : NULL);
}

void api_named_get(void *context, struct http_exchange *x)
{
    struct named_set *set = set_of(context, x);
    cJSON *json;
    if (named_set_get(set, http_part(x, 0), &json) != SKEIN_OK) {
        api_named_none(x, set);
        return;
    }
    etag_add(x, json);
    secrets_hide(x, json);
    http_reply_json(x, 200, json);
}

static void named_change(struct http_exchange *x, struct named_set *set, bool patch)
{
    const struct named_kind *kind = set->kind;
    char error[512] = "", words[64];
    bool created = false;
    struct named_change asked = {.patch = patch};
    cJSON *out = NULL, *body = condition_get(x, &asked.when) ? http_body_json(x) : NULL;
    if (body == NULL)
        return;
    asked.body = body;
    int status = named_set_put(set, http_part(x, 0), &asked, &created, &out, error, sizeof error);
    cJSON_Delete(body);
    if (status != SKEIN_INVALID && status != SKEIN_TOO_LARGE && status != SKEIN_EXISTS &&
        status != SKEIN_NOT_FOUND)
        named_audit(x, kind, "put", status);
    snprintf(words, sizeof words, "the %s could not be saved", kind->noun);
    if (status == SKEIN_OK)
        reply_put(x, kind, created, out);
    else if (status == SKEIN_NOT_FOUND)
        api_named_none(x, set);
    else if (status == SKEIN_EXISTS)
        reply_changed(x, set);
    else if (status == SKEIN_INVALID)
        api_invalid(x, error);
    else if (status == SKEIN_TOO_LARGE)
        http_problem(x, 422, NULL,
                     "all %s together must fit one message to an agent, 63 KiB of JSON: delete or "
                     "shorten some",
                     kind->folder);
    else
        api_failed(x, status, words);
}

void api_named_put(void *context, struct http_exchange *x)
{
    named_change(x, set_of(context, x), false);
}

void api_named_patch(void *context, struct http_exchange *x)
{
    named_change(x, set_of(context, x), true);
}

void api_named_delete(void *context, struct http_exchange *x)
{
    struct named_set *set = set_of(context, x);
    struct named_if when;
    char words[64];
    if (!condition_get(x, &when))
        return;
    int status = named_set_delete(set, http_part(x, 0), &when);
    if (status == SKEIN_EXISTS) {
        reply_changed(x, set);
        return;
    }
    named_audit(x, set->kind, "delete", status);
    snprintf(words, sizeof words, "the %s could not be deleted", set->kind->noun);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        api_named_none(x, set);
    else
        api_failed(x, status, words);
}

void api_named_matches(void *context, struct http_exchange *x)
{
    struct named_set *set = set_of(context, x);
    char *text, words[64];
    int status = named_set_selector(set, http_part(x, 0), &text);
    snprintf(words, sizeof words, "the %s's selector cannot be read", set->kind->noun);
    if (status == SKEIN_NOT_FOUND)
        api_named_none(x, set);
    else if (status != SKEIN_OK)
        api_failed(x, status, words);
    else
        api_reply_matches(context, x, text);
    free(text);
}
