/* SPDX-License-Identifier: Apache-2.0
 * Paths to routes, Range and If-None-Match headers. */
#include <string.h>

#include "http_field.h"
#include "http_route.h"
#include "support.h"

static void nothing(void *context, struct http_exchange *x)
{
    (void)context;
    (void)x;
}

static const struct http_route routes[] = {{"GET", "/a", nothing, HTTP_PUBLIC, NULL},
                                           {"POST", "/a", nothing, HTTP_PUBLIC, NULL},
                                           {"GET", "/a/{}", nothing, HTTP_PUBLIC, NULL},
                                           {"DELETE", "/a/{}", nothing, HTTP_PUBLIC, NULL},
                                           {"POST", "/a/{}:stop", nothing, HTTP_PUBLIC, NULL},
                                           {"GET", "/a/{}/b/{}", nothing, HTTP_PUBLIC, NULL},
                                           {NULL, NULL, NULL, 0, NULL}};

START_TEST(path_finds_its_route_and_parts)
{
    struct http_match m;
    http_route_find(routes, "GET", "/a/x1/b/y2", &m);
    ck_assert_ptr_eq(m.route, &routes[5]);
    ck_assert_str_eq(m.parts[0], "x1");
    ck_assert_str_eq(m.parts[1], "y2");
    http_route_find(routes, "HEAD", "/a", &m);
    ck_assert_ptr_eq(m.route, &routes[0]);
}
END_TEST

START_TEST(suffix_beats_the_plain_pattern)
{
    struct http_match m;
    http_route_find(routes, "POST", "/a/x1:stop", &m);
    ck_assert_ptr_eq(m.route, &routes[4]);
    ck_assert_str_eq(m.parts[0], "x1");
    http_route_find(routes, "GET", "/a/x1:stop", &m);
    ck_assert_ptr_null(m.route);
    ck_assert_str_eq(m.allow, "POST");
    http_route_find(routes, "GET", "/a/:stop", &m);
    ck_assert_ptr_eq(m.route, &routes[2]);
}
END_TEST

START_TEST(unknown_path_and_unknown_method_differ)
{
    struct http_match m;
    char longest[400];
    http_route_find(routes, "PUT", "/a", &m);
    ck_assert_ptr_null(m.route);
    ck_assert_str_eq(m.allow, "GET, HEAD, POST");
    http_route_find(routes, "GET", "/a/", &m);
    ck_assert_str_eq(m.allow, "");
    http_route_find(routes, "GET", "", &m);
    ck_assert_str_eq(m.allow, "");
    http_route_find(routes, "GET", "/a/x/b", &m);
    ck_assert_str_eq(m.allow, "");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "/a/", 3);
    longest[sizeof longest - 1] = '\0';
    http_route_find(routes, "GET", longest, &m);
    ck_assert_str_eq(m.allow, "");
}
END_TEST

static void expect_range(const char *header, uint64_t size, enum http_range_result result,
                         uint64_t from, uint64_t length)
{
    uint64_t f, l;
    ck_assert_msg(http_range_get(header, size, &f, &l) == result, "%s", header);
    if (result != HTTP_RANGE_OUTSIDE)
        ck_assert_msg(f == from && l == length, "%s: %llu+%llu", header, (unsigned long long)f,
                      (unsigned long long)l);
}

START_TEST(range_is_read_as_the_rfc_says)
{
    expect_range("bytes=0-0", 10, HTTP_RANGE_PART, 0, 1);
    expect_range("bytes=2-5", 10, HTTP_RANGE_PART, 2, 4);
    expect_range("bytes=2-", 10, HTTP_RANGE_PART, 2, 8);
    expect_range("bytes=2-99", 10, HTTP_RANGE_PART, 2, 8);
    expect_range("bytes=-3", 10, HTTP_RANGE_PART, 7, 3);
    expect_range("bytes=-30", 10, HTTP_RANGE_PART, 0, 10);
    expect_range("bytes=10-", 10, HTTP_RANGE_OUTSIDE, 0, 0);
    expect_range("bytes=-0", 10, HTTP_RANGE_OUTSIDE, 0, 0);
    expect_range("bytes=0-", 0, HTTP_RANGE_OUTSIDE, 0, 0);
    expect_range("bytes=18446744073709551615-", 10, HTTP_RANGE_OUTSIDE, 0, 0);
    expect_range("bytes=0-18446744073709551615", 10, HTTP_RANGE_PART, 0, 10);
}
END_TEST

START_TEST(range_that_is_none_is_ignored)
{
    static const char *const headers[] = {
        "bytes=",    "bytes=5-2", "bytes=a-b", "bytes=1-2,4-5",
        "lines=1-2", "bytes=--3", "bytes=1",   "bytes=18446744073709551616-",
        "",          "bytes=1-2 "};
    expect_range(NULL, 10, HTTP_RANGE_WHOLE, 0, 10);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        expect_range(headers[i], 10, HTTP_RANGE_WHOLE, 0, 10);
}
END_TEST

START_TEST(etag_is_found_in_a_list)
{
    ck_assert(http_etag_in("\"a\"", "\"a\""));
    ck_assert(http_etag_in("\"b\", W/\"a\"", "\"a\""));
    ck_assert(http_etag_in("*", "\"a\""));
    ck_assert(!http_etag_in("\"ab\"", "\"a\""));
    ck_assert(!http_etag_in("\"a\"b", "\"a\""));
    ck_assert(http_etag_in("\"b,\", \"a\"", "\"a\""));
    ck_assert(http_etag_in("\"b\"  ,,\t\"a\" ", "\"a\""));
    ck_assert(http_etag_in(" * ", "\"a\""));
    static const char *const none[] = {"\"b,\"a\"", "\"b\" \"a\"", "b, \"a\"", "\"a", "*\"a\"",
                                       "*, \"b\"",  "\"b\", *",    "W/ \"a\"", ",",   "w/\"a\""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_msg(!http_etag_in(none[i], "\"a\""), "%s", none[i]);
    ck_assert(http_etag_in_strongly("\"b\", \"a\"", "\"a\"") &&
              http_etag_in_strongly("*", "\"a\""));
    ck_assert(!http_etag_in_strongly("W/\"a\"", "\"a\""));
    ck_assert(http_etag_in_strongly("W/\"a\", \"a\"", "\"a\""));
    ck_assert(!http_etag_in("", "\"a\""));
    ck_assert(!http_etag_in(NULL, "\"a\""));
}
END_TEST

START_TEST(rest_takes_what_no_pattern_does_and_makes_no_path_of_it)
{
    static const struct http_route with_rest[] = {{"GET", "", nothing, HTTP_PUBLIC, NULL},
                                                  {"GET", "/", nothing, HTTP_PUBLIC, NULL},
                                                  {"GET", "/a/{}", nothing, HTTP_PUBLIC, NULL},
                                                  {NULL, NULL, NULL, 0, NULL}};
    struct http_match m;
    http_route_find(with_rest, "GET", "/", &m);
    ck_assert_ptr_eq(m.route, &with_rest[1]);
    http_route_find(with_rest, "HEAD", "/a/b/c", &m);
    ck_assert_ptr_eq(m.route, &with_rest[0]);
    ck_assert_str_eq(m.allow, "");
    http_route_find(with_rest, "POST", "/a/b/c", &m);
    ck_assert_ptr_null(m.route);
    ck_assert_str_eq(m.allow, "");
    http_route_find(with_rest, "POST", "/a/b", &m);
    ck_assert_ptr_null(m.route);
    ck_assert_str_eq(m.allow, "GET, HEAD");
}
END_TEST

START_TEST(weights_are_of_the_most_exact_item)
{
    static const char accept[] = "text/*;q=0.5, text/html;level=1;q=0.25, */*;Q=0.125";
    ck_assert_uint_eq(http_weight(accept, "text/html", 7), 250);
    ck_assert_uint_eq(http_weight(accept, "text/plain", 7), 500);
    ck_assert_uint_eq(http_weight(accept, "application/json", 7), 125);
    ck_assert_uint_eq(http_weight("application/json", "text/html", 7), 7);
    ck_assert_uint_eq(http_weight(NULL, "text/html", 7), 7);
    ck_assert_uint_eq(http_weight("", "gzip", 7), 7);
    ck_assert_uint_eq(http_weight("br , GZip ; q=0.3", "gzip", 7), 300);
    ck_assert_uint_eq(http_weight("gzip;q=0.0009", "gzip", 7), 0);
    ck_assert_uint_eq(http_weight("gzip;q=1.9", "gzip", 7), 1000);
    ck_assert_uint_eq(http_weight("gzip;q=", "gzip", 7), 0);
    ck_assert_uint_eq(http_weight("gzip;q=x", "gzip", 7), 0);
    ck_assert_uint_eq(http_weight("gzip;quality=0", "gzip", 7), 1000);
    ck_assert_uint_eq(http_weight("gz, gzip-like, xgzip", "gzip", 7), 7);
}
END_TEST

START_TEST(origin_is_a_scheme_a_name_and_a_port)
{
    static const char *const good[] = {"http://a",           "https://skein.example",
                                       "https://a-b.c:8443", "http://127.0.0.1:7462",
                                       "http://[::1]:80",    "http://[::1]"};
    static const char *const bad[] = {"",
                                      "skein.example",
                                      "ftp://a",
                                      "https://",
                                      "https://a/",
                                      "https://:1",
                                      "https://a/b",
                                      "https://a:",
                                      "https://a:b",
                                      "https://a:123456",
                                      "http://[]",
                                      "http://[::1",
                                      "https://u@a",
                                      "https://a b",
                                      "https://a\n",
                                      "http://a?b",
                                      "javascript://a",
                                      "https://\"a\"",
                                      "http://[x\"]:1",
                                      "https://a#",
                                      "http://[1\"",
                                      "http://[1\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(http_is_origin(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!http_is_origin(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(gzip_is_taken_where_it_is_not_worse_than_nothing)
{
    ck_assert(http_takes_gzip("gzip"));
    ck_assert(http_takes_gzip("br;q=1.0, gzip;q=0.8, *;q=0.1"));
    ck_assert(http_takes_gzip("identity;q=0.5, gzip;q=0.5"));
    ck_assert(!http_takes_gzip("identity, gzip;q=0.5"));
    ck_assert(!http_takes_gzip("*;q=0"));
    ck_assert(!http_takes_gzip(NULL));
}
END_TEST

static bool is_own(const char *from, const char *host)
{
    struct http_origin origin;
    return http_origin_get(from, &origin) && http_origin_is(&origin, host);
}

START_TEST(origin_is_the_place_that_host_names)
{
    ck_assert(is_own("http://localhost:7462", "localhost:7462"));
    ck_assert(is_own("https://Skein.Example", "skein.example"));
    ck_assert(is_own("https://skein.example", "skein.example:443"));
    ck_assert(is_own("http://skein.example:80", "skein.example"));
    ck_assert(is_own("http://[::1]:7462", "[::1]:7462"));
    static const char *const others[][2] = {{"http://skein.example", "skein.example:443"},
                                            {"https://skein.example", "skein.example:80"},
                                            {"http://localhost:7462", "localhost:7463"},
                                            {"http://localhost:74620", "localhost:7462"},
                                            {"http://localhost:7462", "localhost"},
                                            {"http://localhost", "localhost.evil"},
                                            {"http://evil@localhost", "localhost"},
                                            {"http://localhost/", "localhost"},
                                            {"http://localhost", "localhost/"},
                                            {"http://", ""},
                                            {"http://:80", ":80"},
                                            {"localhost", "localhost"},
                                            {"null", "null"},
                                            {"", ""}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!is_own(others[i][0], others[i][1]), "%s, %s", others[i][0], others[i][1]);
}
END_TEST

/* The cookie __Host-skein of the field is `value`; NULL: there is none. */
static void expect_cookie(const char *field, const char *value)
{
    struct http_cookie got = {.value = NULL};
    http_cookie_look(&got, field, "__Host-skein");
    ck_assert_msg((got.value == NULL) == (value == NULL), "%s", field);
    if (value != NULL)
        ck_assert_msg(got.n == strlen(value) && memcmp(got.value, value, got.n) == 0, "%s: %.*s",
                      field, (int)got.n, got.value);
}

START_TEST(cookie_is_found_among_others_and_only_whole)
{
    expect_cookie("__Host-skein=abc", "abc");
    expect_cookie("a=b; __Host-skein=abc; c=d", "abc");
    expect_cookie("a=b;__Host-skein=abc", "abc");
    expect_cookie(" ;; ;__Host-skein=abc ;", "abc");
    expect_cookie("__Host-skein=a=b==", "a=b==");
    expect_cookie("__Host-skein=", "");
    expect_cookie("__Host-skein=abc; __Host-skein=abc", "abc");
    static const char *const none[] = {"",
                                       ";",
                                       "__Host-skein",
                                       "__host-skein=abc", /* names of cookies have a case */
                                       "x__Host-skein=abc",
                                       "__Host-skeinx=abc",
                                       "__Host-skein =abc",
                                       "a=__Host-skein=abc",
                                       "__Host-skein=\"abc\"",
                                       "__Host-skein=a b",
                                       "__Host-skein=a,b",
                                       "__Host-skein=a\\b",
                                       "__Host-skein=a\xc3\xa4",
                                       "__Host-skein=a\x01",
                                       "__Host-skein=abc; __Host-skein=abd",
                                       "__Host-skein=abc; __Host-skein=abcd"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        expect_cookie(none[i], NULL);
}
END_TEST

START_TEST(cookie_is_found_in_whichever_field_it_is)
{
    static const struct {
        const char *fields[3], *value;
    } cases[] = {{{"a=b", "__Host-skein=abc", "c=d"}, "abc"},
                 {{"__Host-skein=abc", "", "__Host-skein=abc; c=d"}, "abc"},
                 {{"a=b", "c=d", "e=f"}, NULL},
                 {{"__Host-skein=abc", "a=b", "__Host-skein=abd"}, NULL},
                 {{"__Host-skein=\"x\"", "__Host-skein=abc", "a=b"}, NULL},
                 {{"__Host-skein=a", "__Host-skein=b", "__Host-skein=b"}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_cookie got = {.value = NULL};
        for (size_t k = 0; k < 3; k++)
            http_cookie_look(&got, cases[i].fields[k], "__Host-skein");
        ck_assert_msg((got.value == NULL) == (cases[i].value == NULL), "case %zu", i);
        if (got.value != NULL)
            ck_assert(got.n == strlen(cases[i].value) &&
                      memcmp(got.value, cases[i].value, got.n) == 0);
    }
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("http_route", path_finds_its_route_and_parts, suffix_beats_the_plain_pattern,
                 unknown_path_and_unknown_method_differ, range_is_read_as_the_rfc_says,
                 range_that_is_none_is_ignored, etag_is_found_in_a_list,
                 rest_takes_what_no_pattern_does_and_makes_no_path_of_it,
                 origin_is_a_scheme_a_name_and_a_port, weights_are_of_the_most_exact_item,
                 gzip_is_taken_where_it_is_not_worse_than_nothing,
                 origin_is_the_place_that_host_names, cookie_is_found_among_others_and_only_whole,
                 cookie_is_found_in_whichever_field_it_is, NULL));
}
