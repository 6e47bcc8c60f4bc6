/* SPDX-License-Identifier: Apache-2.0
 * Who may ask what: tokens and scopes over a real port, and that a token which is confined to one
 * tenant's processes shows nothing of another's, whatever it asks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture_control.h"
#include "clock.h"
#include "collector_fixture.h"
#include "support.h"

static long status_of_call(const struct fixture *f, const char *method, const char *path,
                           const char *body, const char *header)
{
    struct http_response response;
    call(f, method, path, body, header, &response);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

/* A token as a header. */
static void make_token(struct fixture *f, const char *name, enum http_scope scope,
                       const char *selector, char header[128])
{
    struct token token = {.scope = scope};
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    snprintf(token.name, sizeof token.name, "%s", name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    int status =
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    snprintf(header, 128, "Authorization: Bearer %s", text);
}

START_TEST(without_tokens_only_this_machine_asks_and_no_page_of_the_web)
{
    struct fixture f;
    static const char body[] = "{\"selector\":\"a=b\"}";
    fixture_start(&f);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, NULL), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, "Host: localhost:1"), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, "Host: evil.example"), 421);
    ck_assert_int_eq(
        status_of_call(&f, "GET", "/api/v1/agents", NULL, "Host: localhost.evil.example"), 421);
    static const char *const not_ours[] = {"Host: [::1]evil", "Host: [::1].evil.example",
                                           "Host: [::1", "Host: localhost:1evil", "Host: :7462"};
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, not_ours[i]), 421);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, "Host: [::1]:7462"), 200);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/captures", body, "Origin: http://evil.x"),
                     403);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/captures", body, "Origin: null"), 403);
    fixture_stop(&f);
}
END_TEST

/* The status of a request with these lines, in which PORT is the collector's. */
static long status_with(const struct fixture *f, const char *method, const char *const *lines)
{
    char texts[4][128];
    const char *headers[5] = {NULL};
    for (size_t i = 0; i < 4 && lines[i] != NULL; i++) {
        const char *port = strstr(lines[i], "PORT");
        if (port != NULL)
            snprintf(texts[i], sizeof texts[i], "%.*s%u%s", (int)(port - lines[i]), lines[i],
                     f->http_port, port + 4);
        else
            snprintf(texts[i], sizeof texts[i], "%s", lines[i]);
        headers[i] = texts[i];
    }
    struct http_response response;
    char url[128];
    bool change = strcmp(method, "GET") != 0;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/api/v1/%s", f->http_port,
             change ? "captures" : "agents");
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .body = change ? "{}" : NULL,
                                   .body_bytes = change ? 2 : 0,
                                   .timeout_ms = support_deadline_ms()};
    ck_assert_int_eq(http_request(&request, &response), SKEIN_OK);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

#define JSON "Content-Type: application/json"

/* A page of evil.example that its browser has pointed at 127.0.0.1, or that asks across; a page of
 * another port of this machine; and the collector's own. 422: it was let in. */
START_TEST(pages_of_other_places_and_ports_are_refused_while_there_is_no_token)
{
    struct fixture f;
    static const struct {
        const char *method;
        const char *lines[5];
        long status;
    } cases[] = {
        {"GET", {"Host: evil.example:PORT", "Sec-Fetch-Site: same-origin"}, 421},
        {"GET", {"Host: evil.example", "Origin: http://evil.example"}, 421},
        {"POST", {JSON, "Host: evil.example:PORT", "Origin: http://evil.example:PORT"}, 421},
        {"GET", {"Origin: http://evil.example"}, 403},
        {"GET", {"Origin: http://evil.example:PORT"}, 403},
        {"GET", {"Origin: null"}, 403},
        {"GET", {"Sec-Fetch-Site: cross-site"}, 403},
        {"GET", {"Sec-Fetch-Site: same-site"}, 403},
        {"GET", {"Sec-Fetch-Site: something new"}, 403},
        {"GET", {"Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: cross-site"}, 403},
        {"GET", {"Sec-Fetch-Site: same-origin"}, 200},
        {"GET", {"Sec-Fetch-Site: none"}, 200},
        {"GET", {"X-Forwarded-For: 192.0.2.7"}, 401}, /* a proxy of root's is not who asks it */
        {"GET", {"Forwarded: for=192.0.2.7"}, 401},
        {"GET", {"X-Forwarded-Host: skein.lan"}, 401},
        {"GET", {"Via: 1.1 proxy"}, 401},
        {"GET", {"Origin: http://127.0.0.1:PORT"}, 200},
        {"POST", {JSON, "Origin: http://127.0.0.1:PORT"}, 422},
        {"POST", {JSON, "Origin: HTTP://127.0.0.1:PORT"}, 422},
        {"POST", {JSON, "Origin: http://127.0.0.1:1"}, 403},
        {"POST", {JSON, "Origin: http://127.0.0.1"}, 403},
        {"POST", {JSON, "Origin: http://localhost:PORT"}, 403},
        {"POST", {JSON, "Host: localhost:PORT", "Origin: http://localhost:PORT"}, 422},
        {"POST", {JSON, "Host: localhost", "Origin: http://localhost:80"}, 422},
        {"POST", {JSON, "Host: localhost:443", "Origin: https://localhost"}, 422},
        {"POST", {JSON, "Origin: http://127.0.0.1:PORT.evil.example"}, 403},
        {"POST", {JSON, "Origin: http://127.0.0.1:PORT/evil"}, 403},
        {"POST", {JSON, "Origin: http://evil.example@127.0.0.1:PORT"}, 403},
        {"POST", {JSON, "Origin: ftp://127.0.0.1:PORT"}, 403},
        {"POST", {JSON, "Origin: 127.0.0.1:PORT"}, 403},
        {"POST", {JSON, "Origin;"}, 403}, /* so libcurl is told to send one without a value */
        {"POST", {JSON, "Origin: https://skein.lan"}, 422},
        {"POST", {JSON, "Origin: https://skein.lan.evil.example"}, 403},
        {"POST", {JSON, "Sec-Fetch-Site: same-site", "Origin: https://skein.lan"}, 403},
        {"POST", {JSON}, 422},
        {"GET", {"Host: public.lan:99"}, 200},
        {"GET", {"Host: public.lan.evil.example"}, 421},
        {"POST", {JSON, "Origin: https://public.lan"}, 422},
        {"POST", {JSON, "Origin: http://public.lan:443"}, 403},
        {"POST", {JSON, "Origin: https://public.lan:99"}, 403},
    };
    char error[512] = "";
    fixture_start(&f);
    collector_stop(&f.collector);
    free(f.collector.config.http_hosts);
    f.collector.config.http_hosts = strdup("skein.lan");
    free(f.collector.config.http_public_url);
    f.collector.config.http_public_url = strdup("https://public.lan");
    ck_assert_int_eq(collector_start(&f.collector, error, sizeof error), SKEIN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long status = status_with(&f, cases[i].method, cases[i].lines);
        ck_assert_msg(status == cases[i].status, "case %zu: %s, %s, %s: %ld", i, cases[i].method,
                      cases[i].lines[0], cases[i].lines[1] != NULL ? cases[i].lines[1] : "",
                      status);
    }
    fixture_stop(&f);
}
END_TEST

/* GET /whoami with this header; the caller frees. */
static cJSON *whoami(const struct fixture *f, const char *header, long status)
{
    struct http_response response;
    call(f, "GET", "/api/v1/whoami", NULL, header, &response);
    ck_assert_int_eq(response.status, status);
    cJSON *json = cJSON_ParseWithLength((const char *)response.body.data, response.body.len);
    ck_assert_ptr_nonnull(json);
    http_response_fini(&response);
    return json;
}

START_TEST(asker_is_told_who_it_is_and_what_it_may)
{
    struct fixture f;
    char admin[128], confined[128];
    fixture_start(&f);
    cJSON *json = whoami(&f, NULL, 200);
    ck_assert_str_eq(text_at(json, "name"), "local");
    ck_assert_str_eq(text_at(json, "scope"), "admin");
    ck_assert_str_eq(text_at(json, "via"), "local");
    ck_assert_str_eq(text_at(json, "version"), SKEIN_VERSION_TEXT);
    ck_assert_str_eq(text_at(json, "features.0"), "analysis");
    ck_assert(cJSON_IsFalse(at_path(json, "login_needed")));
    ck_assert_ptr_null(at_path(json, "selector"));
    cJSON_Delete(json);
    make_token(&f, "root", HTTP_ADMIN, "", admin);
    make_token(&f, "mine", HTTP_VIEWER, "service=shop", confined);
    json = whoami(&f, NULL, 401);
    ck_assert_ptr_nonnull(strstr(text_at(json, "detail"), "a token is needed"));
    cJSON_Delete(json);
    cJSON_Delete(whoami(&f, "Authorization: Bearer skn_a_x", 401));
    json = whoami(&f, confined, 200);
    ck_assert_str_eq(text_at(json, "name"), "mine");
    ck_assert_str_eq(text_at(json, "scope"), "viewer");
    ck_assert_str_eq(text_at(json, "selector"), "service=shop");
    ck_assert_str_eq(text_at(json, "via"), "token");
    ck_assert(cJSON_IsTrue(at_path(json, "login_needed")));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(from_the_first_token_on_each_request_needs_one)
{
    struct fixture f;
    char viewer[128], operator[128], admin[128];
    static const char body[] = "{\"selector\":\"a=b\"}";
    static const char made[] = "{\"name\":\"new\",\"scope\":\"viewer\"}";
    fixture_start(&f);
    expect_problem(&f, "POST", "/api/v1/tokens", made, 422, "scope"); /* nobody would be admin */
    make_token(&f, "a", HTTP_ADMIN, "", admin);
    make_token(&f, "v", HTTP_VIEWER, "", viewer);
    make_token(&f, "o", HTTP_OPERATOR, "", operator);
    expect_problem(&f, "GET", "/api/v1/agents", NULL, 401, "Authorization");
    ck_assert_int_eq(status_of_call(&f, "GET", "/healthz", NULL, NULL), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/readyz", NULL, NULL), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/metrics", NULL, NULL), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, viewer), 200);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/captures", body, viewer), 403);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/captures", body, operator), 422);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/tokens", NULL, operator), 403);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/tokens", made, operator), 403);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/tokens", made, admin), 201);
    ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/tokens", made, admin), 409);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/tokens", NULL, admin), 200);
    ck_assert_int_eq(status_of_call(&f, "DELETE", "/api/v1/tokens/v", NULL, admin), 204);
    ck_assert_int_eq(status_of_call(&f, "DELETE", "/api/v1/tokens/v", NULL, admin), 404);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, viewer), 401);
    fixture_stop(&f);
}
END_TEST

START_TEST(address_that_guesses_is_answered_shortly_and_right_tokens_go_on)
{
    struct fixture f;
    static const char wrong[] = "Authorization: Bearer skn_a_x";
    char admin[128];
    fixture_start(&f);
    make_token(&f, "a", HTTP_ADMIN, "", admin);
    for (uint64_t i = 0; i < f.collector.config.http_bad_tokens; i++)
        ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, wrong), 401);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, wrong), 429);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, admin), 200);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/agents", NULL, wrong), 429);
    ck_assert_int_eq(status_of_call(&f, "GET", "/healthz", NULL, NULL), 200);
    fixture_stop(&f);
}
END_TEST

/* ---- event streams ---- */

/* Listens with this token (a header), until the first event is here. */
static int listen_as(const struct fixture *f, const char *header)
{
    char text[4096];
    size_t n = 0;
    int fd = tcp_connect(f->http_port);
    ck_assert_int_ge(fd, 0);
    int len =
        snprintf(text, sizeof text, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n",
                 header, header[0] != '\0' ? "\r\n" : "");
    ck_assert_int_eq(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
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

START_TEST(stream_ends_with_its_token)
{
    struct fixture f;
    char admin[128], revoked[128];
    fixture_start(&f);
    int local = listen_as(&f, "");
    make_token(&f, "a", HTTP_ADMIN, "", admin);
    ck_assert(wait_until(has_ended, &local, 0)); /* from now on each needs a token */
    make_token(&f, "v", HTTP_VIEWER, "", revoked);
    struct token expires = {.name = "e",
                            .scope = HTTP_VIEWER,
                            .expires_ns = clock_realtime_ns() + UINT64_C(3000000000)};
    char text[TOKEN_TEXT_BYTES], header[128], error[256] = "";
    ck_assert_int_eq(
        tokens_create(f.collector.tokens, &expires, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    snprintf(header, sizeof header, "Authorization: Bearer %s", text);
    int stays = listen_as(&f, admin), leaves = listen_as(&f, revoked), ends = listen_as(&f, header);
    ck_assert_int_eq(tokens_revoke(f.collector.tokens, "v", clock_realtime_ns()), SKEIN_OK);
    ck_assert(wait_until(has_ended, &leaves, 0));
    ck_assert(wait_until(has_ended, &ends, 0));
    ck_assert(!has_ended(&stays));
    close(local);
    close(stays);
    close(leaves);
    close(ends);
    fixture_stop(&f);
}
END_TEST

START_TEST(network_address_needs_a_certificate)
{
    struct fixture f;
    char error[512] = "";
    fixture_start(&f);
    collector_stop(&f.collector);
    free(f.collector.config.http_address);
    f.collector.config.http_address = strdup("*:0");
    ck_assert_int_eq(collector_start(&f.collector, error, sizeof error), SKEIN_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "http.tls_certificate"));
    fixture_stop(&f);
}
END_TEST

/* The entries of GET /audit?QUERY, as "actor action object result;". */
static void audit_text(const struct fixture *f, const char *query, const char *header,
                       char out[2048])
{
    struct http_response response;
    char path[256];
    const cJSON *item;
    size_t n = 0;
    snprintf(path, sizeof path, "/api/v1/audit?%s", query);
    call(f, "GET", path, NULL, header, &response);
    ck_assert_int_eq(response.status, 200);
    buf_put_u8(&response.body, 0);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    out[0] = '\0';
    cJSON_ArrayForEach(item, at_path(json, "items")) {
        int more =
            snprintf(out + n, 2048 - n, "%s %s %s %s;", text_at(item, "actor"),
                     text_at(item, "action"), text_at(item, "object"), text_at(item, "result"));
        ck_assert_int_lt(more, (int)(2048 - n));
        n += (size_t)more;
        ck_assert_str_eq(text_at(item, "address"), "127.0.0.1");
        ck_assert_uint_gt(strlen(text_at(item, "request")), 0);
    }
    cJSON_Delete(json);
    http_response_fini(&response);
}

START_TEST(changes_and_refusals_are_in_the_audit_log)
{
    struct fixture f;
    char viewer[128], admin[128], text[2048];
    static const char rule[] = "{\"selector\":\"a=b\",\"when\":{\"schedule\":{\"every_ms\":60000}},"
                               "\"capture\":{\"pre_ms\":1000,\"post_ms\":0}}";
    fixture_start(&f);
    ck_assert_int_eq(status_of_call(&f, "PUT", "/api/v1/rules/r1", rule, NULL), 201);
    make_token(&f, "a", HTTP_ADMIN, "", admin);
    make_token(&f, "v", HTTP_VIEWER, "", viewer);
    ck_assert_int_eq(status_of_call(&f, "DELETE", "/api/v1/rules/r1", NULL, viewer), 403);
    ck_assert_int_eq(status_of_call(&f, "DELETE", "/api/v1/rules/r1", NULL, admin), 204);
    ck_assert_int_eq(status_of_call(&f, "DELETE", "/api/v1/rules/r1", NULL, admin), 404);
    ck_assert_int_eq(
        status_of_call(&f, "GET", "/api/v1/agents", NULL, "Authorization: Bearer skn_a_x"), 401);
    ck_assert_int_eq(status_of_call(&f, "GET", "/api/v1/audit", NULL, viewer), 403);
    audit_text(&f, "action=rule.*", admin, text);
    ck_assert_str_eq(text, "a rule.delete r1 not found;a rule.delete r1 ok;local rule.put r1 ok;");
    audit_text(&f, "action=auth.refused", admin, text);
    ck_assert_str_eq(text, "v auth.refused /api/v1/audit forbidden;"
                           " auth.refused /api/v1/agents unauthorized;"
                           "v auth.refused /api/v1/rules/r1 forbidden;");
    fixture_stop(&f);
}
END_TEST

START_TEST(downloads_are_in_the_audit_log_where_bytes_are_sent)
{
    struct fixture f;
    struct http_response response;
    char error[256], path[128], etag[160], text[2048], expected[2048];
    static const char capture[] = "01a10000000000000000000000000002";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert(wire_agent_report(&f.agent,
                                wire_fired(&f.agent, capture, 1, NULL, clock_realtime_ns()), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, capture, 0), WIRE_STORED);
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, capture, 1, "uploading", 1, 1),
                                error, sizeof error));
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    snprintf(path, sizeof path, "/api/v1/partitions/%s", text_at(json, "items.0.partition"));
    snprintf(expected, sizeof expected,
             "local capture.download %s ok;local partition.download %s ok;", capture,
             text_at(json, "items.0.partition"));
    cJSON_Delete(json);
    ck_assert_int_eq(status_of_call(&f, "HEAD", path, NULL, NULL), 200);
    call(&f, "GET", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    http_response_fini(&response);
    ck_assert_int_eq(status_of_call(&f, "GET", path, NULL, "Range: bytes=99999999-"), 416);
    snprintf(etag, sizeof etag, "If-None-Match: *");
    ck_assert_int_eq(status_of_call(&f, "GET", path, NULL, etag), 304);
    snprintf(path, sizeof path, "/api/v1/captures/%s/trace", capture);
    ck_assert_int_eq(status_of_call(&f, "GET", path, NULL, NULL), 200);
    audit_text(&f, "actor=local", NULL, text);
    ck_assert_str_eq(text, expected);
    fixture_stop(&f);
}
END_TEST

/* ---- two tenants ---- */

#define OTHERS                                                                                     \
    "01a10000000000000000000000000001" /* a capture of the other tenant's process alone */

struct tenants {
    struct fixture f;
    struct wire_agent agent; /* of the tenant that asks; the fixture's is the other's */
    char token[128], root[128], both[ID_TEXT_BYTES], shared[ID_TEXT_BYTES],
        partition[PARTITION_KEY_TEXT_BYTES];
    char others_process[ID_TEXT_BYTES];
};

static void tenants_start(struct tenants *t)
{
    char error[256];
    struct fixture *f = &t->f;
    fixture_start(f);
    wire_agent_open(&t->agent, 8, "host-mine", f->control_port, f->data_port);
    cJSON_Delete(wire_agent_hello(&t->agent));
    wire_agent_processes(&f->agent, 1, 1, "bankzeta");
    wire_agent_processes(&t->agent, 50, 1, "mine");
    ck_assert(wire_agent_report(&f->agent,
                                wire_fired(&f->agent, OTHERS, 1, NULL, clock_realtime_ns()), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 0, OTHERS, 0), WIRE_STORED);
    cJSON *json = call_json(f, "POST", "/api/v1/captures",
                            "{\"selector\":\"tier=front,service!=zeta-word\",\"pre_ms\":1000,"
                            "\"reason\":\"zeta-reason\"}",
                            202);
    snprintf(t->both, sizeof t->both, "%s", text_at(json, "capture"));
    cJSON_Delete(json);
    json = call_json(f, "POST", "/api/v1/captures",
                     "{\"selector\":\"tier=front,service!=zeta-word\",\"pre_ms\":1000}", 202);
    snprintf(t->shared, sizeof t->shared, "%s", text_at(json, "capture"));
    cJSON_Delete(json);
    json = call_json(f, "GET", "/api/v1/partitions", NULL, 200);
    snprintf(t->partition, sizeof t->partition, "%s", text_at(json, "items.0.partition"));
    snprintf(t->others_process, sizeof t->others_process, "%s", text_at(json, "items.0.process"));
    cJSON_Delete(json);
    wait_for_text(f, "/api/v1/captures?selector=service%3Dmine", "items.0.kind", "snapshot");
    make_token(f, "root", HTTP_ADMIN, "", t->root);
    make_token(f, "mine", HTTP_OPERATOR, "service=mine", t->token);
}

static void tenants_stop(struct tenants *t)
{
    wire_agent_close(&t->agent);
    fixture_stop(&t->f);
}

static void expect_no_other(const struct tenants *t, const char *path,
                            const struct http_response *response)
{
    const char *const markers[] = {"bankzeta", "host-a", "zeta-word", "zeta-reason",
                                   t->others_process};
    for (size_t i = 0; i < sizeof markers / sizeof markers[0] && response->body.len > 0; i++)
        ck_assert_msg(
            memmem(response->body.data, response->body.len, markers[i], strlen(markers[i])) == NULL,
            "%s shows %s: %.*s", path, markers[i], (int)response->body.len,
            (const char *)response->body.data);
}

/* What a confined token is answered; every other route must refuse it. */
static const struct {
    const char *method, *pattern, *path; /* %s: the other tenant's, see fill */
    long status;
} confinable[] = {
    {"GET", "/healthz", "/healthz", 200},
    {"GET", "/readyz", "/readyz", 200},
    {"GET", "/metrics", "/metrics", 200},
    {"GET", "/api/v1/openapi.json", "/api/v1/openapi.json", 200},
    {"GET", "/api/v1/whoami", "/api/v1/whoami", 200},
    {"POST", "/api/v1/session", "/api/v1/session", 422}, /* for want of a token */
    {"DELETE", "/api/v1/session", "/api/v1/session", 404},
    {"POST", "/api/v1/login-codes", "/api/v1/login-codes", 201},
    {"GET", "/api/v1/processes", "/api/v1/processes", 200},
    {"GET", "/api/v1/processes", "/api/v1/processes?selector=service%3Dbankzeta", 200},
    {"GET", "/api/v1/processes/{}", "/api/v1/processes/PROCESS", 404},
    {"GET", "/api/v1/series", "/api/v1/series?metric=rate", 200},
    {"GET", "/api/v1/series", "/api/v1/series?metric=rate&service=bankzeta", 403},
    {"GET", "/api/v1/loss", "/api/v1/loss", 200},
    {"GET", "/api/v1/loss", "/api/v1/loss?by=service", 200},
    {"GET", "/api/v1/loss", "/api/v1/loss?by=host", 200},
    {"GET", "/api/v1/loss", "/api/v1/loss?by=capture", 200},
    {"GET", "/api/v1/loss", "/api/v1/loss?by=rule", 403},
    {"GET", "/api/v1/captures", "/api/v1/captures", 200},
    {"GET", "/api/v1/captures", "/api/v1/captures?selector=service%3Dbankzeta", 200},
    {"GET", "/api/v1/captures", "/api/v1/captures?incident=" OTHERS, 200},
    {"GET", "/api/v1/captures", "/api/v1/captures?kind=snapshot", 200},
    {"GET", "/api/v1/captures", "/api/v1/captures?rule=ping", 403},
    {"PATCH", "/api/v1/captures", "/api/v1/captures?incident=BOTH", 403},
    {"PATCH", "/api/v1/captures", "/api/v1/captures?incident=" OTHERS, 404},
    {"DELETE", "/api/v1/captures", "/api/v1/captures?incident=BOTH", 403},
    {"DELETE", "/api/v1/captures", "/api/v1/captures?incident=" OTHERS, 404},
    {"GET", "/api/v1/captures/trace", "/api/v1/captures/trace?incident=BOTH", 404},
    {"GET", "/api/v1/captures/trace", "/api/v1/captures/trace?incident=" OTHERS, 404},
    {"GET", "/api/v1/captures/manifest", "/api/v1/captures/manifest?incident=BOTH", 200},
    {"GET", "/api/v1/captures/manifest", "/api/v1/captures/manifest?incident=" OTHERS, 404},
    {"GET", "/api/v1/captures/{}", "/api/v1/captures/BOTH", 200},
    {"GET", "/api/v1/captures/{}", "/api/v1/captures/" OTHERS, 404},
    {"GET", "/api/v1/captures/{}/trace", "/api/v1/captures/BOTH/trace", 404},
    {"GET", "/api/v1/captures/{}/trace", "/api/v1/captures/" OTHERS "/trace", 404},
    {"GET", "/api/v1/captures/{}/manifest", "/api/v1/captures/BOTH/manifest", 200},
    {"GET", "/api/v1/captures/{}/manifest", "/api/v1/captures/" OTHERS "/manifest", 404},
    {"GET", "/api/v1/captures/{}/overview", "/api/v1/captures/BOTH/overview", 200},
    {"GET", "/api/v1/captures/{}/overview", "/api/v1/captures/" OTHERS "/overview", 404},
    {"GET", "/api/v1/captures/{}/diff", "/api/v1/captures/BOTH/diff", 404}, /* nothing stored */
    {"GET", "/api/v1/captures/{}/diff", "/api/v1/captures/" OTHERS "/diff", 404},
    {"GET", "/api/v1/captures/{}/diff", "/api/v1/captures/BOTH/diff?with=" OTHERS, 404},
    {"GET", "/api/v1/captures/{}/report", "/api/v1/captures/BOTH/report", 404}, /* nothing stored */
    {"GET", "/api/v1/captures/{}/report", "/api/v1/captures/" OTHERS "/report", 404},
    {"POST", "/api/v1/captures/{}/sql", "/api/v1/captures/BOTH/sql", 422}, /* for want of a query */
    {"POST", "/api/v1/captures/{}/sql", "/api/v1/captures/" OTHERS "/sql", 404},
    {"POST", "/api/v1/captures", "/api/v1/captures", 422}, /* for want of a selector */
    {"PATCH", "/api/v1/captures/{}", "/api/v1/captures/BOTH", 403},
    {"PATCH", "/api/v1/captures/{}", "/api/v1/captures/" OTHERS, 404},
    {"POST", "/api/v1/captures/{}:stop", "/api/v1/captures/BOTH:stop", 403},
    {"POST", "/api/v1/captures/{}:stop", "/api/v1/captures/" OTHERS ":stop", 404},
    {"DELETE", "/api/v1/captures/{}", "/api/v1/captures/BOTH", 403},
    {"DELETE", "/api/v1/captures/{}", "/api/v1/captures/" OTHERS, 404},
    {"GET", "/api/v1/partitions", "/api/v1/partitions", 200},
    {"GET", "/api/v1/partitions", "/api/v1/partitions?capture=" OTHERS, 200},
    {"GET", "/api/v1/partitions/{}", "/api/v1/partitions/PARTITION", 404},
    {"GET", "/api/v1/partitions/{}/footer", "/api/v1/partitions/PARTITION/footer", 404},
    {"POST", "/api/v1/rules:test", "/api/v1/rules:test", 422}, /* for want of a rule */
};

static void fill(const struct tenants *t, const char *path, char out[256])
{
    const char *at = strstr(path, "BOTH"), *with = t->both;
    size_t n = 4;
    if (at == NULL && (at = strstr(path, "PARTITION")) != NULL) {
        with = t->partition;
        n = 9;
    }
    if (at == NULL && (at = strstr(path, "PROCESS")) != NULL) {
        with = t->others_process;
        n = 7;
    }
    if (at == NULL)
        snprintf(out, 256, "%s", path);
    else
        snprintf(out, 256, "%.*s%s%s", (int)(at - path), path, with, at + n);
}

static void walk_route(struct tenants *t, const struct http_route *route)
{
    struct http_response response;
    char path[256];
    const char *body = strcmp(route->method, "GET") == 0 ? NULL : "{}";
    bool known = false;
    if (strcmp(route->pattern, "/api/v1/events") == 0)
        return; /* it never ends: test_events.c */
    for (size_t i = 0; i < sizeof confinable / sizeof confinable[0]; i++) {
        if (strcmp(confinable[i].method, route->method) != 0 ||
            strcmp(confinable[i].pattern, route->pattern) != 0)
            continue;
        known = true;
        fill(t, confinable[i].path, path);
        call(&t->f, route->method, path, body, t->token, &response);
        ck_assert_msg(response.status == confinable[i].status, "%s: %ld", path, response.status);
        /* the answer to a path repeats the path */
        if (strstr(confinable[i].path, "PARTITION") == NULL &&
            strstr(confinable[i].path, "PROCESS") == NULL)
            expect_no_other(t, path, &response);
        http_response_fini(&response);
    }
    if (known)
        return;
    const char *brace = strstr(route->pattern, "{}");
    if (brace != NULL)
        snprintf(path, sizeof path, "%.*s%s%s", (int)(brace - route->pattern), route->pattern,
                 OTHERS, brace + 2);
    else
        snprintf(path, sizeof path, "%s", route->pattern);
    call(&t->f, route->method, path, body, t->token, &response);
    ck_assert_msg(response.status == 403, "%s %s answers a confined token %ld: add it to the table",
                  route->method, path, response.status);
    expect_no_other(t, path, &response);
    http_response_fini(&response);
}

START_TEST(confined_token_sees_nothing_of_another_tenant_on_any_route)
{
    struct tenants t;
    tenants_start(&t);
    for (const struct http_route *route = api_routes; route->method != NULL; route++)
        walk_route(&t, route);
    tenants_stop(&t);
}
END_TEST

START_TEST(confined_token_sees_its_own)
{
    struct tenants t;
    struct http_response response;
    char path[96];
    tenants_start(&t);
    call(&t.f, "GET", "/api/v1/processes", NULL, t.token, &response);
    ck_assert_ptr_nonnull(memmem(response.body.data, response.body.len, "host-mine", 9));
    http_response_fini(&response);
    snprintf(path, sizeof path, "/api/v1/captures/%s", t.both);
    call(&t.f, "GET", path, NULL, t.token, &response);
    buf_put_u8(&response.body, 0);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 1);
    ck_assert_str_eq(text_at(json, "targets.0.service"), "mine");
    ck_assert_ptr_null(at_path(json, "selector"));
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "target_counts")), 1);
    cJSON_Delete(json);
    http_response_fini(&response);
    tenants_stop(&t);
}
END_TEST

/* The answer to a request of the confined token; freed by the caller. */
static cJSON *ask(struct tenants *t, const char *method, const char *path, const char *body,
                  long status)
{
    struct http_response response;
    call(&t->f, method, path, body, t->token, &response);
    ck_assert_msg(response.status == status, "%s %s: %ld", method, path, response.status);
    expect_no_other(t, path, &response);
    buf_put_u8(&response.body, 0);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    http_response_fini(&response);
    return json;
}

START_TEST(confined_token_captures_its_own_and_changes_what_is_all_its_own)
{
    struct tenants t;
    struct capture_id id;
    struct selector *others;
    char path[96], stop[128], error[160];
    tenants_start(&t);
    cJSON *json = ask(&t, "POST", "/api/v1/captures",
                      "{\"selector\":\"tier=front\",\"kind\":\"stream\"}", 202);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 1);
    ck_assert_str_eq(text_at(json, "targets.0.service"), "mine");
    ck_assert_int_eq(id_parse(text_at(json, "capture"), id.bytes), SKEIN_OK);
    snprintf(path, sizeof path, "/api/v1/captures/%s", text_at(json, "capture"));
    snprintf(stop, sizeof stop, "%s:stop", path);
    cJSON_Delete(json);
    /* Nothing of others, whatever is asked for, also by what the appended words would mend. */
    cJSON_Delete(ask(&t, "POST", "/api/v1/captures", "{\"selector\":\"host=host-b\"}", 422));
    cJSON_Delete(ask(&t, "POST", "/api/v1/captures", "{\"selector\":\"tier in (front\"}", 422));
    json = ask(&t, "PATCH", path, "{\"pin\":true}", 200);
    ck_assert_ptr_null(at_path(json, "selector"));
    cJSON_Delete(json);
    cJSON_Delete(ask(&t, "POST", stop, NULL, 202));
    /* A neighbour of another tenant makes it everybody's. */
    ck_assert_int_eq(selector_new("service=bankzeta", &others, error, sizeof error), SKEIN_OK);
    control_lock(fleet_control(t.f.collector.fleet));
    ck_assert_int_eq(capture_extend(t.f.collector.captures, &id, others, false, 0), 1);
    control_unlock(fleet_control(t.f.collector.fleet));
    selector_free(&others);
    cJSON_Delete(ask(&t, "PATCH", path, "{\"pin\":false}", 403));
    cJSON_Delete(ask(&t, "POST", stop, NULL, 403));
    cJSON_Delete(ask(&t, "DELETE", path, NULL, 403));
    json = ask(&t, "POST", "/api/v1/captures", "{\"selector\":\"tier=front\"}", 202);
    snprintf(path, sizeof path, "/api/v1/captures/%s", text_at(json, "capture"));
    cJSON_Delete(json);
    cJSON_Delete(ask(&t, "DELETE", path, NULL, 204));
    cJSON_Delete(ask(&t, "GET", path, NULL, 404));
    tenants_stop(&t);
}
END_TEST

/* What is pinned no quota can take: half of it stays for those whom the token may not see. */
START_TEST(confined_tokens_pin_no_more_than_half_of_what_may_be_kept)
{
    static const char with_pin[] = "{\"selector\":\"service=mine\",\"pin\":true}";
    static const char without[] = "{\"selector\":\"service=mine\"}";
    struct fixture f;
    char admin[128], confined[128], path[96];
    struct http_response response;
    fixture_start_with(&f, NULL, ",\"retention\":{\"max_bytes\":67108864}");
    wire_agent_processes(&f.agent, 1, 1, "mine");
    make_token(&f, "boss", HTTP_ADMIN, "", admin);
    make_token(&f, "mine", HTTP_OPERATOR, "service=mine", confined);
    for (int i = 0; i < 2; i++) /* 16 MiB each, as long as it is not known what they will have */
        ck_assert_int_eq(status_of_call(&f, "POST", "/api/v1/captures", with_pin, confined), 202);
    call(&f, "POST", "/api/v1/captures", with_pin, confined, &response);
    ck_assert_int_eq(response.status, 403);
    buf_put_u8(&response.body, 0);
    ck_assert_ptr_nonnull(strstr((const char *)response.body.data, "retention.max_bytes"));
    http_response_fini(&response);
    call(&f, "POST", "/api/v1/captures", without, confined, &response);
    ck_assert_int_eq(response.status, 202);
    buf_put_u8(&response.body, 0);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    snprintf(path, sizeof path, "/api/v1/captures/%s", text_at(json, "capture"));
    cJSON_Delete(json);
    http_response_fini(&response);
    ck_assert_int_eq(status_of_call(&f, "PATCH", path, "{\"pin\":true}", confined), 403);
    ck_assert_int_eq(status_of_call(&f, "PATCH", path, "{\"pin\":false}", confined), 200);
    ck_assert_int_eq(status_of_call(&f, "PATCH", path, "{\"pin\":true}", admin), 200);
    fixture_stop(&f);
}
END_TEST

START_TEST(confined_listing_waits_for_nobody)
{
    struct tenants t;
    tenants_start(&t);
    control_lock(fleet_control(t.f.collector.fleet));
    cJSON *json = ask(&t, "GET", "/api/v1/captures", NULL, 200);
    control_unlock(fleet_control(t.f.collector.fleet));
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items.0.target_counts")), 1);
    cJSON_Delete(json);
    tenants_stop(&t);
}
END_TEST

/* The confined token sees all of the capture's targets, as who is not confined does. */
static void expect_whole(struct tenants *t, const char *capture, const char *incident)
{
    char path[128];
    struct capture_id id;
    cJSON *all;
    id_parse(capture, id.bytes);
    ck_assert_int_eq(capture_get(t->f.collector.captures, &id, NULL, &all), SKEIN_OK);
    snprintf(path, sizeof path, "/api/v1/captures/%s", capture);
    cJSON *own = ask(t, "GET", path, NULL, 200);
    static const char *const same[] = {"targets", "target_counts", "ledger", "window", "incident"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        ck_assert_msg(cJSON_Compare(at_path(all, same[i]), at_path(own, same[i]), true), "%s",
                      same[i]);
    ck_assert_str_eq(text_at(own, "incident"), incident);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(own, "targets")), 1);
    /* A listing shows the same but for the targets. */
    snprintf(path, sizeof path, "/api/v1/captures?incident=%s", incident);
    cJSON *list = ask(t, "GET", path, NULL, 200), *listed;
    cJSON_DeleteItemFromObject(own, "targets");
    unsigned found = 0;
    cJSON_ArrayForEach(listed, at_path(list, "items"))
        found += cJSON_Compare(listed, own, true) ? 1 : 0;
    ck_assert_uint_eq(found, 1);
    cJSON_Delete(list);
    cJSON_Delete(all);
    cJSON_Delete(own);
}

/* A firing of the rule `ping` on a host of theirs, or the other tenant's. */
static void fire_ping(struct tenants *t, bool mine, const char *capture, uint64_t at_ns)
{
    char error[256] = "";
    struct wire_agent *agent = mine ? &t->agent : &t->f.agent;
    ck_assert_msg(wire_agent_report(agent, wire_fired(agent, capture, mine ? 50 : 1, "ping", at_ns),
                                    error, sizeof error),
                  "%s", error);
    ck_assert_int_eq(wire_agent_upload_of(agent, mine ? 50 : 1, (uint64_t)(capture[31] - '0'),
                                          capture, mine ? "mine" : "bankzeta"),
                     WIRE_STORED);
}

#define INCIDENT "/api/v1/captures?incident="

START_TEST(confined_token_changes_an_incident_that_is_all_its_own)
{
    static const char *const texts[] = {"01a10000000000000000000000000003",
                                        "01a10000000000000000000000000004"};
    static const char theirs[] = "01a10000000000000000000000000005";
    static const char rule[] = "{\"selector\":\"\",\"when\":{\"crash\":{}},"
                               "\"limits\":{\"cooldown_ms\":0}}";
    struct tenants t;
    uint64_t now = clock_realtime_ns();
    tenants_start(&t);
    ck_assert_int_eq(status_of_call(&t.f, "PUT", "/api/v1/rules/ping", rule, t.root), 201);
    fire_ping(&t, true, texts[0], now);
    fire_ping(&t, true, texts[1], now + 1);
    for (unsigned i = 0; i < 2; i++)
        expect_whole(&t, texts[i], texts[0]);
    cJSON *json =
        ask(&t, "PATCH", INCIDENT "01a10000000000000000000000000003", "{\"pin\":true}", 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
    ck_assert_ptr_null(at_path(json, "items.0.trigger"));
    cJSON_Delete(json);
    cJSON_Delete(ask(&t, "DELETE", INCIDENT "01a10000000000000000000000000003", NULL, 204));
    cJSON_Delete(ask(&t, "DELETE", INCIDENT "01a10000000000000000000000000003", NULL, 404));
    /* One firing of another tenant makes the incident everybody's. */
    fire_ping(&t, false, theirs, now + 2);
    fire_ping(&t, true, "01a10000000000000000000000000006", now + 3);
    expect_whole(&t, "01a10000000000000000000000000006", theirs);
    json = ask(&t, "GET", INCIDENT "01a10000000000000000000000000005", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    cJSON_Delete(json);
    cJSON_Delete(
        ask(&t, "PATCH", INCIDENT "01a10000000000000000000000000005", "{\"pin\":true}", 403));
    cJSON_Delete(ask(&t, "DELETE", INCIDENT "01a10000000000000000000000000005", NULL, 403));
    expect_whole(&t, "01a10000000000000000000000000006", theirs);
    tenants_stop(&t);
}
END_TEST

/* A download of the confined token: 200, with its own process in it and nothing of the other's. */
static void expect_own(const struct tenants *t, const char *path, const char *own)
{
    struct http_response response;
    call(&t->f, "GET", path, NULL, t->token, &response);
    ck_assert_msg(response.status == 200, "%s: %ld", path, response.status);
    ck_assert_msg(memmem(response.body.data, response.body.len, own, strlen(own)) != NULL,
                  "%s shows nothing of %s", path, own);
    expect_no_other(t, path, &response);
    http_response_fini(&response);
}

START_TEST(confined_token_downloads_its_own_of_captures_and_partitions_that_it_shares)
{
    struct tenants t;
    struct http_response response;
    char path[256], own[PARTITION_KEY_TEXT_BYTES], error[256] = "";
    tenants_start(&t);
    /* Both captures hold a partition of both tenants; the asker's is stored once and in both. */
    ck_assert_int_eq(wire_agent_upload_of(&t.f.agent, 1, 1, t.both, "bankzeta"), WIRE_STORED);
    ck_assert_int_eq(wire_agent_upload_of(&t.f.agent, 1, 2, t.shared, "bankzeta"), WIRE_STORED);
    ck_assert_int_eq(wire_agent_upload_of(&t.agent, 50, 0, t.both, "mine"), WIRE_STORED);
    const char *const captures[] = {t.both, t.shared};
    for (size_t i = 0; i < 2; i++) {
        cJSON *others = wire_target(&t.f.agent, captures[i], 1, "uploading", 3, 1);
        ck_assert_msg(wire_agent_report(&t.f.agent, others, error, sizeof error), "%s", error);
        cJSON *report = wire_target(&t.agent, captures[i], 50, "uploading", 1, 1);
        ck_assert_msg(wire_agent_report(&t.agent, report, error, sizeof error), "%s", error);
    }
    call(&t.f, "GET", "/api/v1/partitions", NULL, t.token, &response);
    buf_put_u8(&response.body, 0);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    snprintf(own, sizeof own, "%s", text_at(json, "items.0.partition"));
    cJSON_Delete(json);
    http_response_fini(&response);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/api/v1/captures/%s/trace", captures[i]);
        expect_own(&t, path, "host-mine");
        snprintf(path, sizeof path, "/api/v1/captures/%s/trace?format=perfetto", captures[i]);
        expect_own(&t, path, "mine");
        snprintf(path, sizeof path, "/api/v1/captures/%s/trace?process=%s", captures[i],
                 t.others_process);
        ck_assert_int_eq(status_of_call(&t.f, "GET", path, NULL, t.token), 404);
        snprintf(path, sizeof path, "/api/v1/captures/%s/manifest", captures[i]);
        expect_own(&t, path, own);
        snprintf(path, sizeof path, "/api/v1/partitions?capture=%s", captures[i]);
        expect_own(&t, path, own);
    }
    snprintf(path, sizeof path, "/api/v1/partitions/%s", own);
    expect_own(&t, path, "host-mine");
    snprintf(path, sizeof path, "/api/v1/partitions/%s/footer", own);
    expect_own(&t, path, "host-mine");
    tenants_stop(&t);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "access", without_tokens_only_this_machine_asks_and_no_page_of_the_web,
        pages_of_other_places_and_ports_are_refused_while_there_is_no_token,
        asker_is_told_who_it_is_and_what_it_may, from_the_first_token_on_each_request_needs_one,
        address_that_guesses_is_answered_shortly_and_right_tokens_go_on, stream_ends_with_its_token,
        network_address_needs_a_certificate, changes_and_refusals_are_in_the_audit_log,
        downloads_are_in_the_audit_log_where_bytes_are_sent,
        confined_token_sees_nothing_of_another_tenant_on_any_route, confined_token_sees_its_own,
        confined_token_captures_its_own_and_changes_what_is_all_its_own,
        confined_token_changes_an_incident_that_is_all_its_own,
        confined_tokens_pin_no_more_than_half_of_what_may_be_kept,
        confined_listing_waits_for_nobody,
        confined_token_downloads_its_own_of_captures_and_partitions_that_it_shares, NULL));
}
