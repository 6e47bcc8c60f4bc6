/* SPDX-License-Identifier: Apache-2.0
 * A change that depends on what is there, while memory is short: it is refused, and never made as if it
 * depended on nothing. The handlers run on a server of the test's own, beside the collector's. */
#include <stdio.h>
#include <string.h>

#include "alloc_fail.h"
#include "api_handlers.h"
#include "collector_fixture.h"
#include "http_subject.h"
#include "support.h"

#define PATH  "/api/v1/rules/ping"
#define FIRST "{\"selector\":\"service=shop\",\"when\":{\"crash\":{}}}"
#define OTHER "{\"selector\":\"service=pay\",\"when\":{\"crash\":{}}}"

static unsigned fails_at; /* which allocation of the handler */
static bool failed;

static void put(void *context, struct http_exchange *x)
{
    alloc_fail_at(fails_at);
    api_named_put(context, x);
    failed = alloc_fail_end();
}

static void delete (void *context, struct http_exchange *x)
{
    alloc_fail_at(fails_at);
    api_named_delete(context, x);
    failed = alloc_fail_end();
}

static const struct http_route routes[] = {
    {"PUT", "/api/v1/rules/{}", put, HTTP_PUBLIC, NULL},
    {"DELETE", "/api/v1/rules/{}", delete, HTTP_PUBLIC, NULL},
    {NULL, NULL, NULL, 0, NULL}};

static long ask(const struct http_server *server, const char *method, const char *condition)
{
    char url[96];
    struct http_response response;
    const char *headers[] = {"Content-Type: application/json", condition, NULL};
    snprintf(url, sizeof url, "http://127.0.0.1:%d" PATH, http_port(server));
    const struct http_request request = {.method = method,
                                         .url = url,
                                         .headers = headers,
                                         .body = OTHER,
                                         .body_bytes = sizeof OTHER - 1,
                                         .timeout_ms = support_deadline_ms()};
    ck_assert_int_eq(http_request(&request, &response), SKEIN_OK);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

/* Each allocation fails once, until none does: the condition holds in every case. */
static void expect_refused(struct fixture *f, const struct http_server *server, const char *method,
                           const char *condition)
{
    bool short_of_it = false;
    for (fails_at = 1;; fails_at++) {
        long status = ask(server, method, condition);
        ck_assert_msg(status == 412 || status == 400 || status >= 500,
                      "%s, %s without the %u-th: %ld", method, condition, fails_at, status);
        short_of_it |= status == 500;
        cJSON *json = call_json(f, "GET", PATH, NULL, 200);
        ck_assert_str_eq(text_at(json, "selector"), "service=shop");
        cJSON_Delete(json);
        if (!failed) {
            ck_assert_int_eq(status, 412);
            break;
        }
    }
    ck_assert(short_of_it);
}

START_TEST(a_change_whose_condition_cannot_be_read_is_not_made)
{
    struct fixture f;
    char error[256] = "";
    struct http_server *server;
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", PATH, FIRST, 201));
    struct http_settings settings = subject_settings();
    int status = http_start(&settings, routes, &f.collector.api, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    expect_refused(&f, server, "PUT", "If-None-Match: *");
    expect_refused(&f, server, "PUT", "If-Match: \"0\", \"1\"");
    expect_refused(&f, server, "DELETE", "If-None-Match: *");
    expect_refused(&f, server, "DELETE", "If-Match: \"0\"");
    http_stop(&server);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("named_memory", a_change_whose_condition_cannot_be_read_is_not_made, NULL));
}
