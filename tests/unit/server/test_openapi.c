/* SPDX-License-Identifier: Apache-2.0
 * The OpenAPI document names each route of the table, and no other. What is answered there is held
 * against it by tests/contract. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
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
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "paths"))
    {
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
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(document, "paths"))
    {
        bare_path(item->string, path);
        cJSON_ArrayForEach(operation, item)
        {
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

int main(void)
{
    Suite *suite = suite_create("openapi");
    TCase *tests = tcase_create("document");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_route_is_in_the_document);
    tcase_add_test(tests, every_operation_of_the_document_is_a_route);
    tcase_add_test(tests, what_needs_no_token_says_so);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
