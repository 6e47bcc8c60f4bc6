/* SPDX-License-Identifier: Apache-2.0
 * The OpenAPI document names each route of the table, and no other. What is answered there is held
 * against it by tests/contract. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "collector_fixture.h"
#include "http_raw.h"
#include "support.h"

static cJSON *document;

static void setup(void)
{
    size_t n;
    char *text = file_read(OPENAPI_JSON, &n);
    document = cJSON_ParseWithLength(text, n);
    free(text);
    ck_assert_ptr_nonnull(document);
}

static void teardown(void)
{
    cJSON_Delete(document);
}

/* "/a/{capture}:stop" as "/a/{}:stop". */
static void bare_path(const char *path, char out[256])
{
    size_t n = 0;
    for (bool inside = false; *path != '\0' && n < 255; path++) {
        inside = inside && *path != '}';
        if (!inside)
            out[n++] = *path;
        inside = inside || *path == '{';
    }
    out[n] = '\0';
}

static bool has_route(const char *method, const char *pattern)
{
    for (const struct http_route *route = api_routes; route->method != NULL; route++)
        if (strcmp(route->method, method) == 0 && strcmp(route->pattern, pattern) == 0)
            return true;
    return false;
}

static const cJSON *operation_find(const struct http_route *route)
{
    char path[256], method[16];
    const cJSON *item;
    snprintf(method, sizeof method, "%s", route->method);
    for (char *c = method; *c != '\0'; c++)
        *c = (char)(*c | 0x20);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "paths")) {
        bare_path(item->string, path);
        if (strcmp(path, route->pattern) == 0)
            return cJSON_GetObjectItem(item, method);
    }
    return NULL;
}

START_TEST(every_route_is_in_the_document)
{
    for (const struct http_route *route = api_routes; route->method != NULL; route++)
        ck_assert_msg(operation_find(route) != NULL, "%s %s is not in openapi.json", route->method,
                      route->pattern);
}
END_TEST

START_TEST(every_operation_of_the_document_is_a_route)
{
    const cJSON *item, *operation;
    char path[256], method[16];
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "paths")) {
        bare_path(item->string, path);
        cJSON_ArrayForEach(operation, item) {
            snprintf(method, sizeof method, "%s", operation->string);
            for (char *c = method; *c != '\0'; c++)
                *c = (char)(*c & ~0x20);
            ck_assert_msg(has_route(method, path), "%s %s is no route", method, path);
        }
    }
}
END_TEST

START_TEST(what_needs_no_token_says_so)
{
    for (const struct http_route *route = api_routes; route->method != NULL; route++) {
        const cJSON *security = cJSON_GetObjectItem(operation_find(route), "security");
        ck_assert_msg((route->scope == HTTP_PUBLIC) ==
                          (security != NULL && cJSON_GetArraySize(security) == 0),
                      "security of %s %s", route->method, route->pattern);
    }
}
END_TEST

/* ---- problems ---- */

static bool has_text(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
        if (strcmp(item->valuestring, text) == 0)
            return true;
    return false;
}

START_TEST(types_of_problems_are_in_the_document_and_in_the_docs)
{
    size_t n;
    char type[PROBLEM_URN_SIZE], row[80];
    char *docs = file_read(API_MD, &n);
    ck_assert_ptr_nonnull(docs);
    const cJSON *at = document, *path;
    static const char *const names[] = {"components", "schemas", "Problem",
                                        "properties", "type",    "examples"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        at = cJSON_GetObjectItem(at, names[i]);
    path = at;
    ck_assert_int_eq(cJSON_GetArraySize(path), PROBLEMS);
    for (int i = 0; i < PROBLEMS; i++) {
        snprintf(type, sizeof type, PROBLEM_URN "%s", problem_name((enum problem)i));
        ck_assert_msg(has_text(path, type), "%s", type);
        snprintf(row, sizeof row, "| `%s` | %u |", problem_name((enum problem)i),
                 problem_status((enum problem)i));
        ck_assert_msg(strstr(docs, row) != NULL, "%s", row);
    }
    free(docs);
}
END_TEST

/* ---- what generators make of it ---- */

/* A property with the keyword "default" is one that generated clients demand: what holds where it
 * is absent stands in its description. */
static void expect_no_default(const cJSON *at, const char *name)
{
    const cJSON *item, *property;
    cJSON_ArrayForEach(property, cJSON_GetObjectItem(at, "properties"))
        ck_assert_msg(cJSON_GetObjectItem(property, "default") == NULL, "%s: %s", name,
                      property->string);
    cJSON_ArrayForEach(item, at) {
        if (cJSON_IsObject(item) || cJSON_IsArray(item))
            expect_no_default(item, item->string != NULL ? item->string : name);
    }
}

START_TEST(no_member_with_a_default_is_demanded)
{
    const cJSON *components = cJSON_GetObjectItem(document, "components");
    expect_no_default(cJSON_GetObjectItem(components, "schemas"), "schemas");
}
END_TEST

START_TEST(each_body_has_an_example)
{
    const cJSON *path, *operation, *media;
    cJSON_ArrayForEach(path, cJSON_GetObjectItem(document, "paths")) {
        cJSON_ArrayForEach(operation, path) {
            const cJSON *content =
                cJSON_GetObjectItem(cJSON_GetObjectItem(operation, "requestBody"), "content");
            cJSON_ArrayForEach(media, content) {
                ck_assert_msg(cJSON_GetObjectItem(media, "example") != NULL ||
                                  cJSON_GetObjectItem(media, "examples") != NULL,
                              "%s %s", operation->string, path->string);
            }
        }
    }
}
END_TEST

/* The first of the examples that are told apart by name. */
static const cJSON *example_of(const cJSON *operation)
{
    const cJSON *media = cJSON_GetObjectItem(
        cJSON_GetObjectItem(cJSON_GetObjectItem(operation, "requestBody"), "content"),
        "application/json");
    const cJSON *examples = cJSON_GetObjectItem(media, "examples");
    return examples != NULL ? cJSON_GetObjectItem(examples->child, "value")
                            : cJSON_GetObjectItem(media, "example");
}

/* Taken, or refused because nothing is there that it is about. A change whose path names nothing is
 * about an incident. */
static void expect_fit(const struct fixture *f, const char *method, const char *pattern,
                       const cJSON *example)
{
    struct http_response response;
    char path[256], *text = cJSON_PrintUnformatted(example);
    const char *at = strstr(pattern, "{");
    const char *rest =
        strcmp(method, "PATCH") == 0 ? "?incident=01a10000000000000000000000000001" : "";
    snprintf(path, sizeof path, "%.*s%s%s", at != NULL ? (int)(at - pattern) : 256, pattern,
             at != NULL ? "example" : "", at != NULL ? strstr(pattern, "}") + 1 : rest);
    call(f, method, path, text, NULL, &response);
    buf_put_u8(&response.body, 0);
    const char *answer = (const char *)response.body.data;
    ck_assert_msg(response.status < 400 || strstr(answer, "no-match") != NULL ||
                      strstr(answer, "not-found") != NULL ||
                      strstr(answer, "token-refused") != NULL, /* by POST /session */
                  "%s %s: %s", method, path, answer);
    http_response_fini(&response);
    free(text);
}

START_TEST(examples_are_taken)
{
    static const char *const methods[] = {"put", "post", "patch"};
    struct fixture f;
    const cJSON *path;
    fixture_start(&f);
    cJSON_ArrayForEach(path, cJSON_GetObjectItem(document, "paths")) {
        for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
            static const char *const names[] = {"PUT", "POST", "PATCH"};
            const cJSON *example = example_of(cJSON_GetObjectItem(path, methods[i]));
            /* From the first token on, others would need it; before, there is no session. */
            if (example != NULL && strcmp(path->string, "/api/v1/tokens") != 0 &&
                strcmp(path->string, "/api/v1/session") != 0)
                expect_fit(&f, names[i], path->string, example);
        }
    }
    static const char *const last[] = {"/api/v1/tokens", "/api/v1/session"};
    const cJSON *paths = cJSON_GetObjectItem(document, "paths");
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        expect_fit(&f, "POST", last[i],
                   example_of(cJSON_GetObjectItem(cJSON_GetObjectItem(paths, last[i]), "post")));
    fixture_stop(&f);
}
END_TEST

/* Packed at build, the same bytes for all; HEAD says what GET would. */
START_TEST(document_is_given_as_it_is_or_packed)
{
    struct fixture f;
    size_t n;
    char *text = file_read(OPENAPI_JSON, &n), length[512], length_of_head[512];
    fixture_start(&f);
    static const char *const takes[] = {"", "Accept-Encoding: gzip, br\r\n",
                                        "Accept-Encoding: gzip;q=0\r\n"};
    for (size_t i = 0; i < 3; i++) {
        struct answer get, head;
        struct buf body = {0};
        ask(f.collector.http, "GET", "/api/v1/openapi.json", takes[i], &get);
        ask(f.collector.http, "HEAD", "/api/v1/openapi.json", takes[i], &head);
        ck_assert_uint_eq(get.status, 200);
        expect_value(&get, "Content-Encoding", i == 1 ? "gzip" : "");
        expect_value(&get, "Vary", "Accept-Encoding");
        expect_value(&get, "Content-Type", "application/json");
        ck_assert_str_eq(value(&get, "Content-Length", length),
                         value(&head, "Content-Length", length_of_head));
        ck_assert_uint_eq(head.n, 0);
        ck_assert(i != 1 || get.n < n / 4);
        body_of(&get, &body);
        ck_assert_uint_eq(body.len, n);
        ck_assert_mem_eq(body.data, text, n);
        buf_fini(&body);
        forget(&get);
        forget(&head);
    }
    free(text);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi");
    TCase *tests = tcase_create("document");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_route_is_in_the_document);
    tcase_add_test(tests, every_operation_of_the_document_is_a_route);
    tcase_add_test(tests, what_needs_no_token_says_so);
    tcase_add_test(tests, types_of_problems_are_in_the_document_and_in_the_docs);
    tcase_add_test(tests, no_member_with_a_default_is_demanded);
    tcase_add_test(tests, each_body_has_an_example);
    tcase_add_test(tests, examples_are_taken);
    tcase_add_test(tests, document_is_given_as_it_is_or_packed);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
