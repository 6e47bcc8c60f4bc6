/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks (/whoami), and how browsers log in: /session, /login-codes. No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api_access_int.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"
#include "metrics.h"
#include "seal.h"

#define COOKIE_SCOPE "; Path=/; Secure; HttpOnly; SameSite=Strict"

/* ---- /whoami ---- */

static const char *via_text(const struct principal *who)
{
    if (who->session != 0)
        return "session";
    return who->token[0] != '\0' ? "token" : "local";
}

/* What not every collector has: a client looks here before it offers it. */
static void features_add(const struct api_services *api, cJSON *json)
{
    cJSON *features = cJSON_AddArrayToObject(json, "features");
    if (api->analyst_run != NULL)
        cJSON_AddItemToArray(features, cJSON_CreateString("analysis"));
    cJSON_AddItemToArray(features, cJSON_CreateString("sessions"));
}

/* When the token or the session ends, at the latest; nothing where it does not. */
static void expiry_add(struct api_services *api, const struct principal *who, cJSON *json)
{
    struct token token;
    struct login login;
    uint64_t now = clock_realtime_ns(), boot = clock_boottime_ns(), ends = 0;
    if (who->token[0] != '\0' && tokens_find(api->tokens, who->token, now, &token) == SKEIN_OK)
        ends = token.expires_ns;
    if (who->session != 0 && logins_still(api->logins, who->session, boot, &login)) {
        uint64_t session_ends = now + (login.ends_ns - boot);
        ends = ends == 0 || session_ends < ends ? session_ends : ends;
    }
    if (ends != 0)
        json_add_time(json, "expires", ends);
}

void api_whoami(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const struct principal *who = http_principal(x);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", who->name);
    cJSON_AddStringToObject(json, "scope", scope_text(who->scope));
    if (who->selector_text[0] != '\0')
        cJSON_AddStringToObject(json, "selector", who->selector_text);
    cJSON_AddStringToObject(json, "via", via_text(who));
    cJSON_AddBoolToObject(json, "login_needed", who->token[0] != '\0');
    cJSON_AddStringToObject(json, "version", SKEIN_VERSION_TEXT);
    if (api->config.http_public_url[0] != '\0')
        cJSON_AddStringToObject(json, "url", api->config.http_public_url);
    features_add(api, json);
    expiry_add(api, who, json);
    http_reply_json(x, 200, json);
}

/* ---- /session ---- */

/* False where no token is needed, or nobody knows: an answer was given. */
static bool is_login_needed(struct api_services *api, struct http_exchange *x)
{
    int needed = access_needs_token(api);
    if (needed < 0)
        api_failed(x, needed, "tokens cannot be checked");
    else if (needed == 0)
        http_problem(
            x, 409, NULL,
            "there is no token yet to log in with: root and the collector's own user are admin on "
            "this machine, and nobody else is answered; skeind token create makes the first "
            "token");
    return needed > 0;
}

/* Whose token or code the body has. False: an answer was given. */
static bool body_token(struct api_services *api, struct http_exchange *x, const cJSON *body,
                       struct token *out)
{
    static const char *const known[] = {"token", "code", NULL};
    struct json_reader r = {{0}};
    char id[PRINCIPAL_TOKEN_BYTES];
    json_known(&r, body, "", known);
    const char *token = json_str(&r, body, "", "token", JSON_OPTIONAL, NULL, 256);
    const char *code = json_str(&r, body, "", "code", JSON_OPTIONAL, NULL, 256);
    if (r.error[0] == '\0' && (token == NULL) == (code == NULL))
        snprintf(r.error, sizeof r.error, "token: there must be a token or a code, and not both");
    if (r.error[0] != '\0') {
        metrics_add_at(http_logins_refused_total, METRICS_REFUSED_REQUEST, 1);
        api_invalid(x, r.error);
        return false;
    }
    if (token != NULL)
        return access_token(api, x, token, "token", out);
    int status = logins_code_take(api->logins, code, clock_boottime_ns(), id)
                     ? tokens_find(api->tokens, id, clock_realtime_ns(), out)
                     : SKEIN_NOT_FOUND;
    if (status == SKEIN_NOT_FOUND)
        access_wrong(api, x, code, "code",
                     "this code is unknown, used, or older than 60 s: skein console makes another");
    else if (status != SKEIN_OK)
        api_failed(x, status, "tokens cannot be checked");
    return status == SKEIN_OK;
}

static void session_audit(struct api_services *api, const struct http_exchange *x,
                          const char *action, const char *name, const char *detail)
{
    struct audit_entry entry = {name, http_address(x), http_request_id(x), action, name,
                                "ok", detail};
    audit_add(api->audit, &entry);
}

/* Begins a session in place of the one that the browser may have. */
static void session_begin(struct api_services *api, struct http_exchange *x,
                          const struct token *token, bool by_code)
{
    char secret[LOGIN_SECRET_BYTES], name[SESSION_COOKIE_BYTES], cookie[160];
    struct login old, login;
    if (access_login(api, x, &old))
        logins_end(api->logins, old.number);
    logins_begin(api->logins, token->id, clock_boottime_ns(), secret, &login);
    snprintf(cookie, sizeof cookie, "%s=%s" COOKIE_SCOPE, session_cookie(api, name), secret);
    session_audit(api, x, "session.create", token->name, by_code ? "by code" : "by token");
    metrics_add_at(http_logins_total, by_code ? METRICS_LOGIN_CODE : METRICS_LOGIN_TOKEN, 1);
    http_add_header(x, "Set-Cookie", cookie);
    http_add_header(x, "Cache-Control", "no-store");
    http_reply(x, 204, NULL, NULL, 0);
    seal_wipe(secret, sizeof secret);
    seal_wipe(cookie, sizeof cookie);
}

void api_session_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct token token;
    if (!access_page(api, x, "", false) || !is_login_needed(api, x))
        return;
    cJSON *body = http_body_json(x);
    if (body == NULL) {
        metrics_add_at(http_logins_refused_total, METRICS_REFUSED_REQUEST, 1);
        return;
    }
    bool by_code = cJSON_GetObjectItemCaseSensitive(body, "code") != NULL;
    if (body_token(api, x, body, &token))
        session_begin(api, x, &token, by_code);
    cJSON_Delete(body);
}

void api_session_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const struct principal *who = http_principal(x);
    char name[SESSION_COOKIE_BYTES], cookie[160];
    if (who->session == 0) {
        http_problem(x, 404, NULL, "this request is of no session, and there is none to end");
        return;
    }
    logins_end(api->logins, who->session);
    session_audit(api, x, "session.delete", who->name, NULL);
    snprintf(cookie, sizeof cookie, "%s=" COOKIE_SCOPE "; Max-Age=0", session_cookie(api, name));
    http_add_header(x, "Set-Cookie", cookie);
    http_reply(x, 204, NULL, NULL, 0);
}

/* ---- /login-codes ---- */

/* Of a token alone: a session that made codes would never end. */
void api_login_codes_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const struct principal *who = http_principal(x);
    char code[LOGIN_SECRET_BYTES];
    if (!is_login_needed(api, x))
        return;
    if (who->session != 0 || who->token[0] == '\0') {
        http_problem(x, 403, NULL, "only a token's holder makes codes, by the token itself");
        return;
    }
    logins_code_make(api->logins, who->token, clock_boottime_ns(), code);
    session_audit(api, x, "login_code.create", who->name, NULL);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "code", code);
    json_add_time(json, "expires", clock_realtime_ns() + LOGIN_CODE_NS);
    seal_wipe(code, sizeof code);
    http_reply_json(x, 201, json);
}
