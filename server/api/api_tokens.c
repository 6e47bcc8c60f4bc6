/* SPDX-License-Identifier: Apache-2.0
 *
 * /tokens. No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "seal.h"

static cJSON *token_json(const struct token *t)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", t->name);
    cJSON_AddStringToObject(json, "scope", scope_text(t->scope));
    json_add_text_some(json, "selector", t->selector);
    cJSON_AddStringToObject(json, "creator", t->creator);
    json_add_time(json, "created", t->created_ns);
    json_add_time_some(json, "expires", t->expires_ns);
    json_add_time_some(json, "last_used", t->used_ns);
    json_add_time_some(json, "revoked", t->revoked_ns);
    return json;
}

static int listed_take(void *context, const struct token *token)
{
    struct api_page *page = context;
    if (!api_page_wants(page, token->name))
        return page->more;
    cJSON_AddItemToArray(page->items, token_json(token));
    return 0;
}

void api_tokens_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct api_page page;
    if (!api_page_begin(x, &page))
        return;
    int64_t rows = tokens_list(api->tokens, listed_take, &page);
    api_page_reply(x, &page, rows, "the tokens cannot be listed");
}

static void token_read(struct json_reader *r, const cJSON *body, struct token *token)
{
    static const char *const known[] = {"name", "scope", "selector", "expires", NULL};
    json_known(r, body, "", known);
    const char *name = json_str(r, body, "", "name", JSON_REQUIRED, "", PRINCIPAL_NAME_BYTES - 1);
    const char *scope = json_str(r, body, "", "scope", JSON_REQUIRED, "", 16);
    const char *selector =
        json_str(r, body, "", "selector", JSON_OPTIONAL, "", TOKEN_SELECTOR_BYTES - 1);
    const char *expires = json_str(r, body, "", "expires", JSON_OPTIONAL, NULL, 64);
    if (r->error[0] != '\0')
        return;
    snprintf(token->name, sizeof token->name, "%s", name);
    snprintf(token->selector, sizeof token->selector, "%s", selector);
    if (!scope_parse(scope, &token->scope))
        snprintf(r->error, sizeof r->error, "scope: must be viewer, operator or admin");
    else if (expires != NULL && clock_parse(expires, &token->expires_ns) != SKEIN_OK)
        snprintf(r->error, sizeof r->error, "expires: must be a time as 2026-11-21T09:40:00Z");
}

static void reply_created(struct http_exchange *x, const struct token *token, char *text)
{
    char location[128];
    cJSON *json = token_json(token);
    cJSON_AddStringToObject(json, "secret", text);
    seal_wipe(text, TOKEN_TEXT_BYTES);
    snprintf(location, sizeof location, "/api/v1/tokens/%s", token->name);
    http_add_header(x, "Location", location);
    http_reply_json(x, 201, json);
}

void api_tokens_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct json_reader r = {{0}};
    struct token token = {.created_ns = clock_realtime_ns()};
    char text[TOKEN_TEXT_BYTES];
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    token_read(&r, body, &token);
    cJSON_Delete(body);
    memcpy(token.creator, http_principal(x)->name, sizeof token.creator);
    int status = r.error[0] != '\0' ? SKEIN_INVALID
                                    : tokens_create(api->tokens, &token, token.created_ns, text,
                                                    r.error, sizeof r.error);
    if (status != SKEIN_INVALID)
        api_audit(x, "token.create", token.name, api_result(status), scope_text(token.scope));
    if (status == SKEIN_OK)
        reply_created(x, &token, text);
    else if (status == SKEIN_INVALID)
        api_invalid(x, r.error);
    else if (status == SKEIN_EXISTS)
        http_problem(x, 409, "name", "%s", r.error);
    else
        api_failed(x, status, "the token could not be saved");
}

void api_tokens_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    int status = tokens_revoke(api->tokens, http_part(x, 0), clock_realtime_ns());
    api_audit(x, "token.revoke", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        http_problem(x, 404, NULL,
                     "no token %.64s that is not revoked; GET /api/v1/tokens lists them",
                     http_part(x, 0));
    else
        api_failed(x, status, "the token could not be revoked");
}
