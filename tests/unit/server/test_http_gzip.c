/* SPDX-License-Identifier: Apache-2.0
 * Answers that are packed: long JSON, for who takes it, and no others; the same bytes come out. */
#include <stdio.h>
#include <string.h>

#include "http_raw.h"
#include "http_subject.h"
#include "support.h"

#define TAKES "Accept-Encoding: gzip, deflate\r\n"

static struct http_server *server;

static void setup(void)
{
    struct http_settings settings = subject_settings();
    char error[256] = "";
    int status = http_start(&settings, subject_routes, NULL, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

static void teardown(void)
{
    http_stop(&server);
}

/* The answer is a string of JSON of n bytes, and came so. */
static void expect_json(const char *path, const char *headers, size_t n, const char *coding,
                        const char *vary)
{
    struct answer a;
    struct buf body = {0};
    ask(server, "GET", path, headers, &a);
    ck_assert_uint_eq(a.status, 200);
    expect_value(&a, "Content-Encoding", coding);
    expect_value(&a, "Vary", vary);
    body_of(&a, &body);
    ck_assert_msg(body.len == n, "%s: %zu bytes", path, body.len);
    ck_assert(body.data[0] == '"' && body.data[n / 2] == 'a' && body.data[n - 1] == '"');
    if (coding[0] != '\0')
        ck_assert_uint_lt(a.n, n / 10);
    buf_fini(&body);
    forget(&a);
}

START_TEST(long_json_is_packed_for_who_takes_it)
{
    expect_json("/json?n=4097", TAKES, 4097, "gzip", "Accept-Encoding");
    expect_json("/json?n=3000000", TAKES, 3000000, "gzip", "Accept-Encoding");
    expect_json("/json?n=4097", "", 4097, "", "Accept-Encoding");
    expect_json("/json?n=4097", "Accept-Encoding: gzip;q=0, br\r\n", 4097, "", "Accept-Encoding");
}
END_TEST

START_TEST(other_answers_go_as_they_are)
{
    expect_json("/json?n=4096", TAKES, 4096, "", "");
    expect_json("/json?n=5000&text=1", TAKES, 5000, "", "");
    expect_json("/json?n=5000&tag=1", TAKES, 5000, "", ""); /* the tag is of these bytes */
    expect_json("/json?n=33554433", TAKES, 33554433, "", "");
    struct answer a;
    ask(server, "GET", "/big", TAKES "Range: bytes=0-9999\r\n", &a); /* made while it is sent */
    ck_assert_uint_eq(a.status, 206);
    expect_value(&a, "Content-Encoding", "");
    ck_assert_uint_eq(a.n, 10000);
    forget(&a);
}
END_TEST

START_TEST(head_says_what_get_would)
{
    char of_get[512], of_head[512];
    struct answer get, head;
    ask(server, "GET", "/json?n=5000", TAKES, &get);
    ask(server, "HEAD", "/json?n=5000", TAKES, &head);
    ck_assert_uint_eq(head.n, 0);
    expect_value(&head, "Content-Encoding", "gzip");
    ck_assert_str_eq(value(&get, "Content-Length", of_get),
                     value(&head, "Content-Length", of_head));
    forget(&get);
    forget(&head);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_gzip");
    TCase *tests = tcase_create("http_gzip");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, long_json_is_packed_for_who_takes_it);
    tcase_add_test(tests, other_answers_go_as_they_are);
    tcase_add_test(tests, head_says_what_get_would);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
