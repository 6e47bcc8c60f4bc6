/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may make a request: a token's holder, by the token or by the session of a browser that has
 * logged in with it; or, while there is no token and only this machine can reach the port, root and
 * the collector's own user on it. Asked by the HTTP server before a body is read. Any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api_access_int.h"
#include "api_handlers.h"
#include "clock.h"
#include "http_field.h"
#include "metrics.h"

#define CHALLENGE "Bearer realm=\"skein\""

/* Whether the request names this server. A page in a browser on this machine can send requests
 * here, under a name that it has pointed at us, or from its own place: neither is ours. */
static bool is_ours(const struct api_services *api, const char *host)
{
    const char *address = api->config.http_address;
    size_t n = host != NULL ? http_host_bytes(host) : 0;
    struct http_origin known;
    bool public = http_origin_get(api->config.http_public_url, &known);
    return http_host_loopback(host, n) ||
           (public && n > 0 && n == http_host_bytes(known.authority) &&
            strncasecmp(known.authority, host, n) == 0) ||
           http_host_in(api->config.http_hosts, host, n) ||
           (n > 0 && n == http_host_bytes(address) && strncasecmp(address, host, n) == 0);
}

static void refusal_audit(struct api_services *api, struct http_exchange *x, const char *actor,
                          const char *result, const char *detail)
{
    struct audit_entry entry = {
        actor, http_address(x), http_request_id(x), "auth.refused", http_path(x), result, detail};
    audit_add_refusal(api->audit, &entry);
}

static void access_challenge(struct api_services *api, struct http_exchange *x, enum problem kind,
                             const char *field, const char *detail)
{
    /* Who asks without a secret who it is does what each visit of the console begins with. */
    if (kind != PROBLEM_UNAUTHORIZED || strcmp(http_path(x), "/api/v1/whoami") != 0)
        refusal_audit(api, x, "", "unauthorized", detail);
    metrics_add(http_unauthorized_total, 1);
    http_add_header(x, "WWW-Authenticate", CHALLENGE);
    http_problem_of(x, kind, field, "%s", detail);
}

/* ---- pages in browsers ---- */

/* Whether a page from there is this server's own. A browser knows the server by the name in Host,
 * or, where a proxy does not pass Host on, by http.public_url or one of http.hosts. A proxy with TLS
 * makes http of what the browser knows as https, so the scheme is not compared with ours. */
static bool is_own_page(const struct api_services *api, const char *origin, const char *host)
{
    struct http_origin from, known;
    if (!http_origin_get(origin, &from))
        return false;
    return (host != NULL && http_origin_is(&from, host)) ||
           (http_origin_get(api->config.http_public_url, &known) && from.https == known.https &&
            http_origin_is(&from, known.authority)) ||
           http_host_in(api->config.http_hosts, from.authority, http_host_bytes(from.authority));
}

/* Where the page is that has made its browser ask. Browsers say so by Origin (of all changes, and
 * of reads by pages from elsewhere), and by Sec-Fetch-Site where they trust the connection, as they
 * do on loopback; other programs say nothing. */
enum page { PAGE_UNTOLD, PAGE_OWN, PAGE_OTHER };
static enum page page_kind(const struct api_services *api, const struct http_exchange *x)
{
    const char *origin = http_header(x, "Origin"), *site = http_header(x, "Sec-Fetch-Site");
    bool same = site != NULL && strcmp(site, "same-origin") == 0;
    if (site != NULL && !same && strcmp(site, "none") != 0)
        return PAGE_OTHER;
    /* A page that sends no referrer may hide its origin as well. */
    if (origin == NULL || (same && strcmp(origin, "null") == 0))
        return same ? PAGE_OWN : PAGE_UNTOLD;
    return is_own_page(api, origin, http_header(x, "Host")) ? PAGE_OWN : PAGE_OTHER;
}

/* Whether the browser trusts its connection, as far as can be told: by TLS, of this server or of a
 * proxy before it, or because it is to its own machine. Elsewhere it keeps no cookie of a session,
 * and sends no Sec-Fetch-Site. */
static bool is_trusted(const struct api_services *api, const struct http_exchange *x)
{
    const char *origin = http_header(x, "Origin"), *host = http_header(x, "Host");
    struct http_origin from;
    if (origin != NULL && http_origin_get(origin, &from))
        return from.https || (!api->config.http_tls &&
                              http_host_loopback(from.authority, http_host_bytes(from.authority)));
    return api->config.http_tls || http_header(x, "Sec-Fetch-Site") != NULL ||
           (host != NULL && http_host_loopback(host, http_host_bytes(host)));
}

static void page_refuse(struct api_services *api, struct http_exchange *x, const char *actor,
                        enum problem kind, const char *words)
{
    metrics_add(http_forbidden_total, 1);
    refusal_audit(api, x, actor, "forbidden", "Origin");
    http_problem_of(x, kind, "Origin", "%s", words);
}

bool access_page(struct api_services *api, struct http_exchange *x, const char *actor, bool told)
{
    enum page page = page_kind(api, x);
    bool other = page == PAGE_OTHER || (page == PAGE_UNTOLD && told);
    if (!other && is_trusted(api, x))
        return true;
    if (!told) /* a login */
        metrics_add_at(http_logins_refused_total,
                       other ? METRICS_REFUSED_ORIGIN : METRICS_REFUSED_NOT_SECURE, 1);
    if (other)
        page_refuse(api, x, actor, PROBLEM_ORIGIN,
                    "with a session, pages of this collector alone change something: Origin must "
                    "be the place that Host names");
    else
        page_refuse(api, x, actor, PROBLEM_NOT_SECURE,
                    "over plain HTTP everybody on the way could take the session: use https, or a "
                    "tunnel to the collector's own machine (ssh -L 7462:localhost:7462 HOST, then "
                    "http://localhost:7462)");
    return false;
}

/* ---- this machine, while there is no token ---- */

/* Who could read the collector's files anyway: its own user and root. False: a 401 was given. */
static bool is_owner(struct api_services *api, struct http_exchange *x)
{
    char words[300];
    uint32_t uid = 0;
    int status = http_user(x, &uid);
    if (status == SKEIN_OK && (uid == 0 || uid == geteuid()))
        return true;
    if (status == SKEIN_UNSUPPORTED)
        snprintf(words, sizeof words,
                 "a token is needed: the kernel does not tell who asks (sock_diag); "
                 "skeind token create makes one");
    else if (geteuid() == HTTP_UID_UNKNOWN)
        snprintf(words, sizeof words,
                 "a token is needed: without one, only root is answered, as the collector "
                 "runs as nobody (run it as a user of its own); one is made by skeind token "
                 "create --name NAME --scope viewer");
    else
        snprintf(words, sizeof words,
                 "a token is needed: without one, only root and the collector's own user (uid %u) "
                 "are answered; they make one by skeind token create --name NAME --scope viewer",
                 (unsigned)geteuid());
    access_challenge(api, x, PROBLEM_UNAUTHORIZED, "Authorization", words);
    return false;
}

/* A proxy says so as a rule, and asks as the user that it runs as: not as who stands behind it. */
static bool is_passed_on(const struct http_exchange *x)
{
    return http_header(x, "Forwarded") != NULL || http_header(x, "X-Forwarded-For") != NULL ||
           http_header(x, "X-Forwarded-Host") != NULL || http_header(x, "Via") != NULL;
}

static bool local_authorize(struct api_services *api, struct http_exchange *x,
                            struct principal *who)
{
    const char *host = http_header(x, "Host");
    if (!is_ours(api, host)) {
        refusal_audit(api, x, "local", "forbidden", "Host");
        http_problem(x, 421, "Host",
                     "this collector is not %.100s: use localhost, or name it in http.hosts",
                     host != NULL ? host : "a server without a name");
        return false;
    }
    if (page_kind(api, x) == PAGE_OTHER) {
        page_refuse(api, x, "local", PROBLEM_ORIGIN,
                    "pages of other places ask nothing here without a token");
        return false;
    }
    if (is_passed_on(x)) {
        access_challenge(api, x, PROBLEM_UNAUTHORIZED, "Authorization",
                         "a token is needed: a proxy has passed this request on, and nobody knows "
                         "for whom; skeind token create makes one");
        return false;
    }
    if (!is_owner(api, x))
        return false;
    *who = (struct principal){.name = "local", .scope = HTTP_ADMIN};
    return true;
}

/* ---- tokens ---- */

/* `field`: where the secret was; a token or a code of a body is a login's. */
static void login_refused(const char *field, bool too_many)
{
    bool code = strcmp(field, "code") == 0;
    if (code || strcmp(field, "token") == 0)
        metrics_add_at(http_logins_refused_total,
                       too_many ? METRICS_REFUSED_TOO_MANY
                       : code   ? METRICS_REFUSED_CODE
                                : METRICS_REFUSED_TOKEN,
                       1);
}

/* After many wrong tokens there is a short answer, and no line in the audit log for each. This saves
 * work; it is not against guessing: among 2^256 tokens nobody finds one by trying. So a right token
 * still gets in, whoever else is behind the same address. */
void access_wrong(struct api_services *api, struct http_exchange *x, const char *text,
                  const char *field, const char *words)
{
    char seconds[24];
    uint64_t left = lockout_left(api->lockout, http_address(x), text, clock_monotonic_ns());
    metrics_add(http_bad_tokens_total, 1);
    login_refused(field, left > 0);
    if (left == 0) {
        lockout_bad(api->lockout, http_address(x), text, clock_monotonic_ns());
        access_challenge(api, x, PROBLEM_TOKEN_REFUSED, field, words);
        return;
    }
    metrics_add(http_locked_out_total, 1);
    snprintf(seconds, sizeof seconds, "%" PRIu64, left);
    http_add_header(x, "Retry-After", seconds);
    http_problem(x, 429, field, "too many wrong tokens came from %s; try again in %s s",
                 http_address(x), seconds);
}

bool access_token(struct api_services *api, struct http_exchange *x, const char *text,
                  const char *field, struct token *out)
{
    int status = tokens_check(api->tokens, text, clock_realtime_ns(), out);
    if (status == SKEIN_NOT_FOUND)
        access_wrong(api, x, text, field, "this token is unknown, expired or revoked");
    else if (status != SKEIN_OK)
        api_failed(x, status, "tokens cannot be checked");
    return status == SKEIN_OK;
}

static bool principal_take(struct http_exchange *x, const struct token *token,
                           struct principal *who, struct selector **selector)
{
    char error[160];
    int status = SKEIN_OK;
    if (token->selector[0] != '\0')
        status = selector_new(token->selector, selector, error, sizeof error);
    if (status != SKEIN_OK) {
        api_failed(x, status, "tokens cannot be checked");
        return false;
    }
    *who = (struct principal){.scope = token->scope};
    memcpy(who->name, token->name, sizeof who->name);
    memcpy(who->token, token->id, sizeof who->token);
    memcpy(who->selector_text, token->selector, sizeof who->selector_text);
    return true;
}

/* ---- sessions ---- */

const char *session_cookie(const struct api_services *api, char out[SESSION_COOKIE_BYTES])
{
    snprintf(out, SESSION_COOKIE_BYTES, "__Host-skein-%08" PRIx32,
             (uint32_t)catalog_collector(api->catalog));
    return out;
}

static const char *cookie_of(const struct api_services *api, const struct http_exchange *x,
                             size_t *n)
{
    char name[SESSION_COOKIE_BYTES];
    return http_cookie(x, session_cookie(api, name), n);
}

bool access_login(struct api_services *api, const struct http_exchange *x, struct login *out)
{
    size_t n;
    const char *secret = cookie_of(api, x, &n);
    return secret != NULL && logins_find(api->logins, secret, n, clock_boottime_ns(), out);
}

/* The token of the request's session. SKEIN_OK; SKEIN_NOT_FOUND: the session is over, for itself or
 * with its token; a status of the disk. */
static int session_token(struct api_services *api, const struct http_exchange *x,
                         struct login *login, struct token *token)
{
    if (!access_login(api, x, login))
        return SKEIN_NOT_FOUND;
    int status = tokens_find(api->tokens, login->token, clock_realtime_ns(), token);
    if (status == SKEIN_NOT_FOUND)
        logins_end(api->logins, login->number);
    return status;
}

/* A browser sends the cookie with whatever a page asks for; so it counts only where this server's
 * own page asks. Bodies are application/json alone (http_body_json), which no form can send. */
static bool session_authorize(struct api_services *api, struct http_exchange *x,
                              const struct http_route *route, struct principal *who,
                              struct selector **selector)
{
    struct login login;
    struct token token;
    int status = session_token(api, x, &login, &token);
    bool change = strcmp(route->method, "GET") != 0;
    if (status == SKEIN_NOT_FOUND) {
        access_challenge(api, x, PROBLEM_SESSION_OVER, "Cookie",
                         "this session is over: log in again");
        return false;
    }
    if (status != SKEIN_OK) {
        api_failed(x, status, "tokens cannot be checked");
        return false;
    }
    if (!change && page_kind(api, x) == PAGE_OTHER) {
        page_refuse(api, x, token.name, PROBLEM_ORIGIN,
                    "with a session, pages of this collector alone are answered");
        return false;
    }
    if ((change && !access_page(api, x, token.name, true)) ||
        !principal_take(x, &token, who, selector))
        return false;
    who->session = login.number;
    return true;
}

/* By a token, which goes before a cookie, or by a session. */
static bool holder_authorize(struct api_services *api, struct http_exchange *x,
                             const struct http_route *route, struct principal *who,
                             struct selector **selector)
{
    const char *text = http_bearer(http_header(x, "Authorization"));
    struct token token;
    size_t n;
    if (text != NULL)
        return access_token(api, x, text, "Authorization", &token) &&
               principal_take(x, &token, who, selector);
    if (cookie_of(api, x, &n) != NULL)
        return session_authorize(api, x, route, who, selector);
    access_challenge(
        api, x, PROBLEM_UNAUTHORIZED, "Authorization",
        "a token is needed: \"Authorization: Bearer skn_...\"; skeind token create makes one");
    return false;
}

/* A viewer sees of files what everybody may read; who works with processes, what these could read
 * themselves; who is not confined and an admin, all. */
struct withhold api_withhold(const struct http_exchange *x)
{
    const struct principal *who = http_principal(x);
    bool confined = who->selector != NULL;
    return (struct withhold){.names = confined,
                             .words = who->scope < HTTP_OPERATOR            ? WITHHOLD_WORDS_ALL
                                      : confined || who->scope < HTTP_ADMIN ? WITHHOLD_WORDS_OTHERS
                                                                            : WITHHOLD_NO_WORDS};
}

const char *api_holder(const struct http_exchange *x)
{
    const struct principal *who = http_principal(x);
    return who->token[0] != '\0' ? who->name : "";
}

/* While it cannot be found out, an answer that was allowed goes on. */
bool api_still(void *context, const struct principal *who)
{
    struct api_services *api = context;
    if (who->token[0] == '\0') /* "local", until there is a token; nothing public goes on */
        return tokens_any(api->tokens) <= 0;
    if (who->session != 0 && !logins_still(api->logins, who->session, clock_boottime_ns(), NULL))
        return false;
    return tokens_still(api->tokens, who->token, clock_realtime_ns()) != SKEIN_NOT_FOUND;
}

static bool is_public(const struct api_services *api, const struct http_route *route)
{
    const char *setting = api->config.http_metrics_public;
    if (route->fn == api_metrics)
        return strcmp(setting, "yes") == 0 ||
               (strcmp(setting, "auto") == 0 && api->config.http_loopback);
    return route->scope == HTTP_PUBLIC;
}

/* Handlers that show a confined principal nothing of others, and change nothing of others. Every
 * other route refuses one, so that a new endpoint is closed until somebody has thought about
 * that. */
static bool is_confinable(const struct http_route *route)
{
    static http_handler *const handlers[] = {
        api_captures_list,     api_captures_get,   api_captures_trace,    api_captures_manifest,
        api_captures_overview, api_captures_diff,  api_captures_report,   api_captures_sql,
        api_captures_post,     api_captures_patch, api_captures_stop,     api_captures_delete,
        api_partitions_list,   api_partitions_get, api_partitions_footer, api_events,
        api_processes_get,     api_loss,           api_processes_list,    api_series,
        api_rules_test,        api_whoami,         api_session_delete,    api_login_codes_post};
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (route->fn == handlers[i])
            return true;
    return false;
}

static void access_forbid(struct api_services *api, struct http_exchange *x,
                          const struct http_route *route, const struct principal *who)
{
    metrics_add(http_forbidden_total, 1);
    refusal_audit(api, x, who->name, "forbidden", route->method);
    if (who->scope < route->scope)
        http_problem_of(x, PROBLEM_SCOPE, NULL, "the token %s has the scope %s; this needs %s",
                        who->name, scope_text(who->scope), scope_text(route->scope));
    else
        http_problem_of(x, PROBLEM_CONFINED, NULL,
                        "the token %s is confined to some processes; this is of all", who->name);
}

int access_needs_token(struct api_services *api)
{
    return api->config.http_loopback ? tokens_any(api->tokens) : 1;
}

bool api_authorize(void *context, struct http_exchange *x, const struct http_route *route,
                   struct principal *who, struct selector **selector)
{
    struct api_services *api = context;
    if (is_public(api, route)) {
        *who = (struct principal){.name = "public", .scope = route->scope};
        return true;
    }
    int needed = access_needs_token(api);
    if (needed < 0) {
        api_failed(x, needed, "tokens cannot be checked");
        return false;
    }
    if (needed == 0)
        return local_authorize(api, x, who);
    if (!holder_authorize(api, x, route, who, selector))
        return false;
    if (who->scope >= route->scope && (*selector == NULL || is_confinable(route)))
        return true;
    access_forbid(api, x, route, who);
    return false;
}
