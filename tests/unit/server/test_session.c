/* SPDX-License-Identifier: Apache-2.0
 * Logging in with a browser, over a real port: the cookie, what it may, which pages may use it, and
 * when it ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "collector_fixture.h"
#include "contract.h"
#include "support.h"

#define JSON   "Content-Type: application/json"
#define COOKIE "NAME=" /* the collector's own name of it */
#define RULE                                                                                       \
    "{\"selector\":\"a=b\",\"when\":{\"schedule\":{\"every_ms\":60000}},"                          \
    "\"capture\":{\"pre_ms\":1000,\"post_ms\":0}}"

struct reply {
    long status;
    char text[65536]; /* head and body */
    const char *body;
    char cookie[64]; /* the value set; "" where none is */
};

/* One request with these lines, in which PORT is the collector's, NAME its cookie's and SECRET the
 * session's. */
struct ask {
    const char *method, *path;
    const char *lines[5];
    const char *body, *secret;
};

static void name_put(const struct fixture *f, struct buf *out)
{
    buf_printf(out, "__Host-skein-%08x", (unsigned)catalog_collector(f->collector.catalog));
}

static void line_put(const struct fixture *f, const struct ask *a, const char *line,
                     struct buf *out)
{
    for (; *line != '\0'; line++) {
        if (strncmp(line, "PORT", 4) == 0) {
            buf_printf(out, "%u", f->http_port);
            line += 3;
        } else if (strncmp(line, "NAME", 4) == 0) {
            name_put(f, out);
            line += 3;
        } else if (strncmp(line, "SECRET", 6) == 0) {
            buf_printf(out, "%s", a->secret);
            line += 5;
        } else {
            buf_put_u8(out, (uint8_t)*line);
        }
    }
    buf_printf(out, "\r\n");
}

static bool has_host(const struct ask *a)
{
    for (size_t i = 0; i < 5 && a->lines[i] != NULL; i++)
        if (strncmp(a->lines[i], "Host:", 5) == 0)
            return true;
    return false;
}

static void record(const struct ask *a, const struct reply *r)
{
    struct http_response response = {.status = r->status};
    const char *type = strcasestr(r->text, "\r\nContent-Type: ");
    if (type != NULL && type < r->body)
        snprintf(response.content_type, sizeof response.content_type, "%.*s",
                 (int)strcspn(type + 16, "\r"), type + 16);
    buf_put(&response.body, r->body, strlen(r->body));
    contract_record(a->method, a->path, &response);
    buf_fini(&response.body);
}

static void ask(const struct fixture *f, const struct ask *a, struct reply *r)
{
    struct buf out = {0};
    size_t n = 0;
    ssize_t got;
    buf_printf(&out, "%s %s HTTP/1.1\r\nConnection: close\r\n", a->method, a->path);
    if (!has_host(a))
        buf_printf(&out, "Host: 127.0.0.1:%u\r\n", f->http_port);
    for (size_t i = 0; i < 5 && a->lines[i] != NULL; i++)
        line_put(f, a, a->lines[i], &out);
    if (a->body != NULL)
        buf_printf(&out, "Content-Length: %zu\r\n", strlen(a->body));
    buf_printf(&out, "\r\n%s", a->body != NULL ? a->body : "");
    int fd = tcp_connect(f->http_port);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(send(fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    while (n < sizeof r->text - 1 && (got = recv(fd, r->text + n, sizeof r->text - 1 - n, 0)) > 0)
        n += (size_t)got;
    r->text[n] = '\0';
    close(fd);
    buf_fini(&out);
    r->status = strtol(n > 9 ? r->text + 9 : "0", NULL, 10);
    struct buf head = {0};
    buf_printf(&head, "Set-Cookie: ");
    name_put(f, &head);
    buf_printf(&head, "=");
    buf_put_u8(&head, 0);
    const char *end = strstr(r->text, "\r\n\r\n"), *set = strstr(r->text, (const char *)head.data);
    ck_assert_ptr_nonnull(end);
    r->body = end + 4;
    r->cookie[0] = '\0';
    if (set != NULL && set < end) {
        set += head.len - 1;
        snprintf(r->cookie, sizeof r->cookie, "%.*s", (int)strcspn(set, ";"), set);
    }
    buf_fini(&head);
    record(a, r);
}

static long status_of(const struct fixture *f, const struct ask *a)
{
    struct reply r;
    ask(f, a, &r);
    return r.status;
}

static void make_token(struct fixture *f, const char *name, enum http_scope scope,
                       const char *selector, uint64_t expires_ns, char text[TOKEN_TEXT_BYTES])
{
    struct token token = {.scope = scope, .expires_ns = expires_ns};
    char error[256] = "";
    snprintf(token.name, sizeof token.name, "%s", name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    int status =
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

/* Logs in, as the console's page does. */
static void log_in(const struct fixture *f, const char *member, const char *text, char secret[64])
{
    char body[256];
    struct reply r;
    snprintf(body, sizeof body, "{\"%s\":\"%s\"}", member, text);
    ask(f,
        &(struct ask){.method = "POST",
                      .path = "/api/v1/session",
                      .lines = {JSON, "Origin: http://127.0.0.1:PORT"},
                      .body = body},
        &r);
    ck_assert_msg(r.status == 204, "%s", r.text);
    ck_assert_uint_eq(strlen(r.cookie), 43);
    snprintf(secret, 64, "%s", r.cookie);
}

/* What /whoami says with the cookie; the caller frees. */
static cJSON *whoami(const struct fixture *f, const char *secret, const char *more, long status)
{
    struct reply r;
    ask(f,
        &(struct ask){.method = "GET",
                      .path = "/api/v1/whoami",
                      .lines = {"Cookie: " COOKIE "SECRET", more},
                      .secret = secret},
        &r);
    ck_assert_msg(r.status == status, "%s", r.text);
    cJSON *json = cJSON_Parse(r.body);
    ck_assert_ptr_nonnull(json);
    return json;
}

static void expect_over(const struct fixture *f, const char *secret)
{
    cJSON *json = whoami(f, secret, NULL, 401);
    ck_assert_str_eq(text_at(json, "type"), "urn:skein:problem:session-over");
    cJSON_Delete(json);
}

static void expect_alive(const struct fixture *f, const char *secret)
{
    cJSON_Delete(whoami(f, secret, NULL, 200));
}

static long log_out(const struct fixture *f, const char *secret)
{
    return status_of(f, &(struct ask){.method = "DELETE",
                                      .path = "/api/v1/session",
                                      .lines = {"Cookie: theme=dark; " COOKIE "SECRET",
                                                "Origin: http://127.0.0.1:PORT"},
                                      .secret = secret});
}

START_TEST(token_becomes_a_cookie_that_is_the_token)
{
    struct fixture f;
    char admin[TOKEN_TEXT_BYTES], viewer[TOKEN_TEXT_BYTES], secret[64], bearer[128];
    static const char scope[] = "; Path=/; Secure; HttpOnly; SameSite=Strict\r\n";
    struct reply r;
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, admin);
    make_token(&f, "view", HTTP_VIEWER, "", 0, viewer);
    char body[128];
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", admin);
    ask(&f,
        &(struct ask){.method = "POST", .path = "/api/v1/session", .lines = {JSON}, .body = body},
        &r);
    ck_assert_int_eq(r.status, 204);
    snprintf(secret, sizeof secret, "%s", r.cookie);
    char *attributes = strstr(r.text, secret) + 43;
    ck_assert_msg(strncmp(attributes, scope, sizeof scope - 1) == 0, "%.80s", attributes);
    ck_assert_ptr_nonnull(strstr(r.text, "Cache-Control: no-store"));
    cJSON *json = whoami(&f, secret, NULL, 200);
    ck_assert_str_eq(text_at(json, "name"), "root");
    ck_assert_str_eq(text_at(json, "scope"), "admin");
    ck_assert_str_eq(text_at(json, "via"), "session");
    uint64_t expires = 0, now = clock_realtime_ns();
    ck_assert_int_eq(clock_parse(text_at(json, "expires"), &expires), SKEIN_OK);
    ck_assert(expires > now + LOGIN_MOST_NS / 2 && expires <= now + LOGIN_MOST_NS);
    cJSON_Delete(json);
    /* A token in the request goes before the cookie, also a wrong one. */
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", viewer);
    json = whoami(&f, secret, bearer, 200);
    ck_assert_str_eq(text_at(json, "name"), "view");
    ck_assert_str_eq(text_at(json, "via"), "token");
    cJSON_Delete(json);
    cJSON_Delete(whoami(&f, secret, "Authorization: Bearer skn_a_x", 401));
    /* Whoever logs in anew has one session, not two. */
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", viewer);
    ask(&f,
        &(struct ask){.method = "POST",
                      .path = "/api/v1/session",
                      .lines = {JSON, "Cookie: " COOKIE "SECRET"},
                      .body = body,
                      .secret = secret},
        &r);
    ck_assert_int_eq(r.status, 204);
    ck_assert_str_ne(r.cookie, secret);
    expect_over(&f, secret);
    ck_assert_int_eq(log_out(&f, r.cookie), 204);
    expect_over(&f, r.cookie);
    ck_assert_int_eq(log_out(&f, r.cookie), 401);
    fixture_stop(&f);
}
END_TEST

/* 422 and 404: it was let in. */
START_TEST(cookie_counts_where_the_collectors_own_page_asks)
{
    struct fixture f;
    char admin[TOKEN_TEXT_BYTES], secret[64], path[64];
    static const char mine[] = "Cookie: " COOKIE "SECRET";
    static const char own[] = "Origin: http://127.0.0.1:PORT", hidden[] = "Origin: null";
    static const char same[] = "Sec-Fetch-Site: same-origin", proxied[] = "Host: skein.example";
    static const struct {
        const char *method, *path, *lines[4];
        long status;
    } cases[] = {
        {"GET", "rules", {mine}, 200},
        {"HEAD", "rules", {mine}, 200},
        {"GET", "rules", {mine, own}, 200},
        {"GET", "rules", {mine, "Sec-Fetch-Site: same-origin"}, 200},
        {"GET", "rules", {mine, "Sec-Fetch-Site: none"}, 200},
        {"GET", "rules", {mine, "Sec-Fetch-Site: cross-site"}, 403},
        {"GET", "rules", {mine, "Sec-Fetch-Site: same-site"}, 403},
        {"GET", "rules", {mine, "Origin: https://evil.example"}, 403},
        {"PUT", "rules/r1", {mine, JSON, own}, 201},
        {"PUT", "rules/r1", {mine, JSON}, 403},
        {"PUT", "rules/r1", {mine, JSON, "Origin: null"}, 403},
        {"PUT", "rules/r1", {mine, JSON, "Origin: http://127.0.0.1:1"}, 403},
        {"PUT", "rules/r1", {mine, JSON, "Origin: http://evil.example"}, 403},
        {"PUT", "rules/r1", {mine, JSON, same}, 200},
        {"PUT", "rules/r1", {mine, JSON, hidden, same}, 200},
        {"PUT", "rules/r1", {mine, JSON, hidden, "Sec-Fetch-Site: cross-site"}, 403},
        {"PUT", "rules/r1", {mine, JSON, hidden, "Sec-Fetch-Site: none"}, 403},
        {"PUT", "rules/r1", {mine, JSON, "Sec-Fetch-Site: none"}, 403},
        {"PUT", "rules/r1", {mine, JSON, own, "Sec-Fetch-Site: same-site"}, 403},
        {"PUT", "rules/r1", {mine, "Content-Type: text/plain", own}, 415},
        {"PUT", "rules/r1", {mine, own}, 415},
        {"DELETE", "rules/r1", {mine}, 403},
        {"DELETE", "rules/r1", {mine, "Origin: http://evil.example"}, 403},
        {"DELETE", "rules/r1", {mine, own}, 204},
        {"DELETE", "session", {mine}, 403},
        {"POST", "login-codes", {mine, own}, 403},
        /* a proxy with TLS before it, which passes Host on; one without */
        {"DELETE", "rules/r1", {mine, proxied, "Origin: https://skein.example"}, 404},
        {"DELETE", "rules/r1", {mine, proxied, hidden, same}, 404},
        {"DELETE", "rules/r1", {mine, proxied, "Origin: http://skein.example"}, 403},
    };
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, admin);
    log_in(&f, "token", admin, secret);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ask a = {.method = cases[i].method, .path = path, .secret = secret};
        struct reply r;
        snprintf(path, sizeof path, "/api/v1/%s", cases[i].path);
        memcpy(a.lines, cases[i].lines, sizeof cases[i].lines);
        a.body = strcmp(a.method, "PUT") == 0 ? RULE : NULL;
        ask(&f, &a, &r);
        ck_assert_msg(r.status == cases[i].status, "case %zu: %s", i, r.text);
    }
    expect_alive(&f, secret);
    fixture_stop(&f);
}
END_TEST

START_TEST(login_is_for_pages_of_the_collector_over_a_trusted_connection)
{
    struct fixture f;
    char admin[TOKEN_TEXT_BYTES], body[128];
    static const struct {
        const char *lines[3];
        long status;
        const char *type;
    } cases[] = {
        {{JSON}, 204, NULL},
        {{JSON, "Origin: http://127.0.0.1:PORT"}, 204, NULL},
        {{JSON, "Host: localhost:PORT", "Origin: http://localhost:PORT"}, 204, NULL},
        {{JSON, "Host: [::1]:9", "Origin: http://[::1]:9"}, 204, NULL},
        {{JSON, "Host: skein.example", "Origin: https://skein.example"}, 204, NULL},
        {{JSON, "Host: skein.example", "Origin: http://skein.example"}, 403, "not-secure"},
        {{JSON, "Host: 10.0.0.1:7462"}, 403, "not-secure"},
        {{JSON, "Origin: http://evil.example"}, 403, "other-origin"},
        {{JSON, "Origin: https://evil.example"}, 403, "other-origin"},
        {{JSON, "Sec-Fetch-Site: cross-site"}, 403, "other-origin"},
        {{"Content-Type: text/plain"}, 415, NULL},
        {{"Content-Type: application/x-www-form-urlencoded"}, 415, NULL},
    };
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, admin);
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", admin);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply r;
        struct ask a = {.method = "POST", .path = "/api/v1/session", .body = body};
        memcpy(a.lines, cases[i].lines, sizeof cases[i].lines);
        ask(&f, &a, &r);
        ck_assert_msg(r.status == cases[i].status, "case %zu: %s", i, r.text);
        ck_assert_msg((r.cookie[0] != '\0') == (r.status == 204), "case %zu: %s", i, r.text);
        if (cases[i].type != NULL)
            ck_assert_msg(strstr(r.body, cases[i].type) != NULL, "case %zu: %s", i, r.text);
    }
    static const char *const wrong[] = {"{}", "{\"token\":\"a\",\"code\":\"b\"}", "{\"token\":7}",
                                        "{\"name\":\"a\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(status_of(&f, &(struct ask){.method = "POST",
                                                     .path = "/api/v1/session",
                                                     .lines = {JSON},
                                                     .body = wrong[i]}),
                         422);
    fixture_stop(&f);
}
END_TEST

/* ---- the end of a session ---- */

/* Listens with the cookie until the first event is here. */
static int listen_as(const struct fixture *f, const char *secret)
{
    char text[4096];
    size_t n = 0;
    struct buf out = {0};
    int fd = tcp_connect(f->http_port);
    ck_assert_int_ge(fd, 0);
    buf_printf(&out, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: ");
    name_put(f, &out);
    buf_printf(&out, "=%s\r\n\r\n", secret);
    ck_assert_int_eq(send(fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    buf_fini(&out);
    text[0] = '\0';
    while (strstr(text, "event: ready") == NULL) {
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        ck_assert_msg(got > 0, "%s", text);
        n += (size_t)got;
        text[n] = '\0';
    }
    return fd;
}

static bool has_ended(void *context)
{
    char text[4096];
    ssize_t got;
    while ((got = recv(*(int *)context, text, sizeof text, MSG_DONTWAIT)) > 0)
        continue;
    return got == 0;
}

static void expect_ends(int fd)
{
    ck_assert(wait_until(has_ended, &fd, 0));
    close(fd);
}

START_TEST(session_and_its_streams_end_with_the_token_and_with_it)
{
    struct fixture f;
    char text[TOKEN_TEXT_BYTES], secrets[4][64];
    int streams[4];
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, text);
    log_in(&f, "token", text, secrets[0]);
    log_in(&f, "token", text, secrets[1]);
    make_token(&f, "gone", HTTP_VIEWER, "", 0, text);
    log_in(&f, "token", text, secrets[2]);
    make_token(&f, "brief", HTTP_VIEWER, "", clock_realtime_ns() + UINT64_C(3000000000), text);
    log_in(&f, "token", text, secrets[3]);
    cJSON *json = whoami(&f, secrets[3], NULL, 200);
    uint64_t expires = 0;
    ck_assert_int_eq(clock_parse(text_at(json, "expires"), &expires), SKEIN_OK);
    ck_assert_uint_lt(expires, clock_realtime_ns() + UINT64_C(4000000000)); /* the token's end */
    cJSON_Delete(json);
    for (size_t i = 0; i < 4; i++)
        streams[i] = listen_as(&f, secrets[i]);
    ck_assert_int_eq(log_out(&f, secrets[1]), 204);
    ck_assert_int_eq(tokens_revoke(f.collector.tokens, "gone", clock_realtime_ns()), SKEIN_OK);
    expect_over(&f, secrets[1]);
    expect_over(&f, secrets[2]);
    for (size_t i = 1; i < 4; i++)
        expect_ends(streams[i]);
    expect_over(&f, secrets[3]);
    /* A new token of the same name is another one. */
    make_token(&f, "gone", HTTP_VIEWER, "", 0, text);
    expect_over(&f, secrets[2]);
    expect_alive(&f, secrets[0]);
    ck_assert(!has_ended(&streams[0]));
    close(streams[0]);
    fixture_restart(&f);
    expect_over(&f, secrets[0]);
    fixture_stop(&f);
}
END_TEST

/* Sessions of other times, as the handlers make them now. */
START_TEST(session_that_was_idle_or_is_old_is_over)
{
    struct fixture f;
    char text[TOKEN_TEXT_BYTES], secret[LOGIN_SECRET_BYTES];
    struct token token;
    struct login login;
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, text);
    ck_assert_int_eq(tokens_check(f.collector.tokens, text, clock_realtime_ns(), &token), SKEIN_OK);
    struct logins *l = f.collector.logins;
    logins_begin(l, token.id, clock_boottime_ns() - LOGIN_IDLE_NS / 2, secret, &login);
    expect_alive(&f, secret);
    logins_begin(l, token.id, clock_boottime_ns() - LOGIN_IDLE_NS, secret, &login);
    expect_over(&f, secret);
    logins_begin(l, token.id, clock_boottime_ns() - LOGIN_MOST_NS, secret, &login);
    ck_assert(!logins_find(l, secret, strlen(secret), clock_boottime_ns(), &login));
    expect_over(&f, secret);
    fixture_stop(&f);
}
END_TEST

START_TEST(cookies_of_strangers_are_no_session)
{
    struct fixture f;
    char text[TOKEN_TEXT_BYTES], secret[64];
    static const char *const lines[] = {
        "Cookie: " COOKIE,
        "Cookie: " COOKIE "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "Cookie: " COOKIE "\"SECRET\"",
        "Cookie: " COOKIE "SECRETx",
        "Cookie: " COOKIE "SECRET; " COOKIE "other",
        "Cookie: skein=SECRET",
        "Cookie: __Host-skein=SECRET",
        "Cookie: __Host-skein-00000000=SECRET", /* another collector's */
        "Cookie: \xff\xfe; " COOKIE "\xc3\xa4",
        "Cookie: ;;;===;" COOKIE ";",
    };
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, text);
    log_in(&f, "token", text, secret);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(status_of(&f, &(struct ask){.method = "GET",
                                                  .path = "/api/v1/agents",
                                                  .lines = {lines[i]},
                                                  .secret = secret}) == 401,
                      "%s", lines[i]);
    expect_alive(&f, secret);
    fixture_stop(&f);
}
END_TEST

/* As proxies send it that speak HTTP/2 with the browser. */
START_TEST(cookie_counts_in_whichever_field_it_comes)
{
    struct fixture f;
    char text[TOKEN_TEXT_BYTES], secret[64];
    static const struct {
        const char *lines[3];
        long status;
    } cases[] = {
        {{"Cookie: theme=dark", "Cookie: " COOKIE "SECRET", "cookie: c=d"}, 200},
        {{"Cookie: " COOKIE "SECRET", "COOKIE: " COOKIE "SECRET"}, 200},
        {{"Cookie: __Host-skein-00000000=x; " COOKIE "SECRET", "Cookie: __Host-skein=y"}, 200},
        {{"Cookie: theme=dark", "Cookie: c=d"}, 401},
        {{"Cookie: " COOKIE "SECRET", "Cookie: theme=dark", "Cookie: " COOKIE "other"}, 401},
    };
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, text);
    log_in(&f, "token", text, secret);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ask a = {.method = "GET", .path = "/api/v1/agents", .secret = secret};
        memcpy(a.lines, cases[i].lines, sizeof cases[i].lines);
        ck_assert_msg(status_of(&f, &a) == cases[i].status, "case %zu", i);
    }
    fixture_stop(&f);
}
END_TEST

/* ---- codes ---- */

static void code_of(const struct fixture *f, const char *token, char code[64])
{
    char bearer[128];
    struct reply r;
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", token);
    ask(f,
        &(struct ask){
            .method = "POST", .path = "/api/v1/login-codes", .lines = {bearer}, .body = ""},
        &r);
    ck_assert_msg(r.status == 201, "%s", r.text);
    cJSON *json = cJSON_Parse(r.body);
    uint64_t expires = 0;
    snprintf(code, 64, "%s", text_at(json, "code"));
    ck_assert_int_eq(clock_parse(text_at(json, "expires"), &expires), SKEIN_OK);
    ck_assert(expires <= clock_realtime_ns() + LOGIN_CODE_NS);
    cJSON_Delete(json);
}

static long status_of_code(const struct fixture *f, const char *code)
{
    char body[128];
    snprintf(body, sizeof body, "{\"code\":\"%s\"}", code);
    return status_of(
        f,
        &(struct ask){.method = "POST", .path = "/api/v1/session", .lines = {JSON}, .body = body});
}

START_TEST(code_logs_in_once_as_the_token_that_made_it)
{
    struct fixture f;
    char root[TOKEN_TEXT_BYTES], mine[TOKEN_TEXT_BYTES], code[64], other[64], secret[64];
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, root);
    make_token(&f, "mine", HTTP_VIEWER, "service=shop", 0, mine);
    code_of(&f, mine, code);
    log_in(&f, "code", code, secret);
    cJSON *json = whoami(&f, secret, NULL, 200);
    ck_assert_str_eq(text_at(json, "name"), "mine");
    ck_assert_str_eq(text_at(json, "selector"), "service=shop");
    cJSON_Delete(json);
    /* What the token may not, its session may not. */
    ck_assert_int_eq(status_of(&f, &(struct ask){.method = "GET",
                                                 .path = "/api/v1/rules",
                                                 .lines = {"Cookie: " COOKIE "SECRET"},
                                                 .secret = secret}),
                     403);
    ck_assert_int_eq(status_of_code(&f, code), 401);
    /* A code of a token that is revoked before it is used; and no code of a stranger. */
    code_of(&f, mine, other);
    ck_assert_int_eq(tokens_revoke(f.collector.tokens, "mine", clock_realtime_ns()), SKEIN_OK);
    ck_assert_int_eq(status_of_code(&f, other), 401);
    expect_over(&f, secret);
    ck_assert_int_eq(status_of(&f, &(struct ask){.method = "POST",
                                                 .path = "/api/v1/login-codes",
                                                 .lines = {JSON},
                                                 .body = "{}"}),
                     401);
    for (uint64_t i = 1; i < f.collector.config.http_bad_tokens; i++)
        ck_assert_int_eq(status_of_code(&f, code), 401);
    ck_assert_int_eq(status_of_code(&f, code), 429);
    ck_assert_int_eq(status_of_code(&f, "another that is wrong"), 401); /* behind the same proxy */
    code_of(&f, root, code);
    ck_assert_int_eq(status_of_code(&f, code), 204);
    fixture_stop(&f);
}
END_TEST

START_TEST(without_tokens_there_is_nothing_to_log_in_to)
{
    struct fixture f;
    fixture_start(&f);
    ck_assert_int_eq(status_of_code(&f, "x"), 409);
    ck_assert_int_eq(status_of(&f, &(struct ask){.method = "POST",
                                                 .path = "/api/v1/login-codes",
                                                 .lines = {JSON},
                                                 .body = "{}"}),
                     409);
    ck_assert_int_eq(log_out(&f, "x"), 404);
    fixture_stop(&f);
}
END_TEST

START_TEST(logins_are_in_the_audit_log_by_the_name_of_the_token)
{
    struct fixture f;
    char root[TOKEN_TEXT_BYTES], code[64], secret[64];
    struct reply r;
    static const char *const rows[] = {
        "session.delete\",\"object\":\"root\",\"result\":\"ok\"",
        "session.create\",\"object\":\"root\",\"result\":\"ok\",\"detail\":\"by code\"",
        "login_code.create\",\"object\":\"root\",\"result\":\"ok\"",
        "session.create\",\"object\":\"root\",\"result\":\"ok\",\"detail\":\"by token\"",
        "auth.refused\",\"object\":\"/api/v1/session\",\"result\":\"unauthorized\""};
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, root);
    ck_assert_int_eq(status_of_code(&f, "wrong"), 401);
    log_in(&f, "token", root, secret);
    code_of(&f, root, code);
    log_in(&f, "code", code, secret);
    ck_assert_int_eq(log_out(&f, secret), 204);
    log_in(&f, "token", root, secret);
    ask(&f,
        &(struct ask){.method = "GET",
                      .path = "/api/v1/audit",
                      .lines = {"Cookie: " COOKIE "SECRET"},
                      .secret = secret},
        &r);
    ck_assert_int_eq(r.status, 200);
    const char *at = r.body;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        at = strstr(at, rows[i]);
        ck_assert_msg(at != NULL, "%s in %s", rows[i], r.body);
    }
    ck_assert_ptr_nonnull(strstr(r.body, "\"actor\":\"root\""));
    ck_assert_ptr_null(strstr(r.text, secret));
    ck_assert_ptr_null(strstr(r.text, code));
    fixture_stop(&f);
}
END_TEST

/* The value of a metric, as /metrics has it. */
static unsigned long metric(const struct fixture *f, const char *name)
{
    struct reply r;
    char line[128];
    ask(f, &(struct ask){.method = "GET", .path = "/metrics"}, &r);
    snprintf(line, sizeof line, "\nskein_%s ", name);
    const char *at = strstr(r.body, line);
    ck_assert_msg(at != NULL, "%s", name);
    return strtoul(at + strlen(line), NULL, 10);
}

START_TEST(logins_are_counted_and_refusals_by_their_reason)
{
    struct fixture f;
    char root[TOKEN_TEXT_BYTES], code[64], secret[64];
    fixture_start(&f);
    make_token(&f, "root", HTTP_ADMIN, "", 0, root);
    ck_assert_uint_eq(metric(&f, "http_sessions"), 0);
    log_in(&f, "token", root, secret);
    code_of(&f, root, code);
    log_in(&f, "code", code, secret);
    ck_assert_uint_eq(metric(&f, "http_sessions"), 2);
    ck_assert_uint_eq(metric(&f, "http_logins_total{by=\"token\"}"), 1);
    ck_assert_uint_eq(metric(&f, "http_logins_total{by=\"code\"}"), 1);
    ck_assert_int_eq(log_out(&f, secret), 204);
    ck_assert_uint_eq(metric(&f, "http_sessions"), 1);
    char other[TOKEN_TEXT_BYTES];
    make_token(&f, "other", HTTP_VIEWER, "", 0, other);
    log_in(&f, "token", other, secret);
    ck_assert_uint_eq(metric(&f, "http_sessions"), 2);
    ck_assert_int_eq(tokens_revoke(f.collector.tokens, "other", clock_realtime_ns()), SKEIN_OK);
    ck_assert_uint_eq(metric(&f, "http_sessions"), 1); /* nobody has asked with it since */
    static const struct {
        const char *lines[2], *body, *reason;
    } refused[] = {
        {{JSON}, "{\"token\":\"skn_wrong\"}", "token"},
        {{JSON}, "{\"code\":\"wrong\"}", "code"},
        {{JSON}, "{\"codes\":\"wrong\"}", "request"},
        {{"Content-Type: text/plain"}, "{\"code\":\"wrong\"}", "request"},
        {{JSON, "Origin: http://elsewhere.example"}, "{\"code\":\"wrong\"}", "origin"},
        {{JSON, "Host: collector.example"}, "{\"code\":\"wrong\"}", "not_secure"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char name[96];
        snprintf(name, sizeof name, "http_logins_refused_total{reason=\"%s\"}", refused[i].reason);
        unsigned long before = metric(&f, name);
        struct ask a = {.method = "POST", .path = "/api/v1/session", .body = refused[i].body};
        memcpy(a.lines, refused[i].lines, sizeof refused[i].lines);
        ck_assert_msg(status_of(&f, &a) >= 400, "case %zu", i);
        ck_assert_msg(metric(&f, name) == before + 1, "case %zu: %s", i, name);
    }
    for (uint64_t i = 0; i <= f.collector.config.http_bad_tokens; i++)
        (void)status_of_code(&f, "wrong");
    ck_assert_uint_gt(metric(&f, "http_logins_refused_total{reason=\"too_many\"}"), 0);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "session", token_becomes_a_cookie_that_is_the_token,
        cookie_counts_where_the_collectors_own_page_asks,
        login_is_for_pages_of_the_collector_over_a_trusted_connection,
        session_and_its_streams_end_with_the_token_and_with_it,
        session_that_was_idle_or_is_old_is_over, cookies_of_strangers_are_no_session,
        cookie_counts_in_whichever_field_it_comes, code_logs_in_once_as_the_token_that_made_it,
        without_tokens_there_is_nothing_to_log_in_to,
        logins_are_in_the_audit_log_by_the_name_of_the_token,
        logins_are_counted_and_refusals_by_their_reason, NULL));
}
