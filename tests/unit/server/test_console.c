/* SPDX-License-Identifier: Apache-2.0
 * The console over HTTP, from a folder made for this test (console_dist): pages, files, what a browser
 * may keep, which form it gets, and what it is allowed to do with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "console_files.h"
#include "http_raw.h"
#include "http_route.h"
#include "http_subject.h"
#include "support.h"

#define SCRIPT "/assets/main-a1b2c3d4.js"
#define BROWSER                                                                                    \
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"                  \
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"

static struct http_server *server;

static void setup(void)
{
    static const struct http_route none[] = {{NULL, NULL, NULL, 0, NULL}};
    struct http_settings settings = subject_settings();
    char error[256] = "";
    settings.pages = console_routes;
    int status = http_start(&settings, none, NULL, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

static void teardown(void)
{
    http_stop(&server);
}

static void expect_safe(const struct answer *a)
{
    expect_value(a, "Content-Security-Policy",
                 "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
                 "img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
                 "form-action 'none'; frame-ancestors 'none'");
    expect_value(a, "X-Content-Type-Options", "nosniff");
    expect_value(a, "Referrer-Policy", "no-referrer");
    expect_value(a, "Cross-Origin-Opener-Policy", "same-origin");
}

static const struct console_file *file_of(const char *path)
{
    const struct console_file *file = console_files;
    while (file->path != NULL && strcmp(file->path, path) != 0)
        file++;
    ck_assert_ptr_nonnull(file->path);
    return file;
}

static void expect_bytes(const struct answer *a, const char *path)
{
    const struct console_file *file = file_of(path);
    struct buf plain = {0};
    body_of(a, &plain);
    ck_assert_uint_eq(plain.len, file->n);
    ck_assert_mem_eq(plain.data, file->bytes, file->n);
    buf_fini(&plain);
}

/* ---- pages ---- */

/* The pattern with a word for each "{}". */
static void sample_path(const char *pattern, char out[256])
{
    size_t n = 0;
    for (; *pattern != '\0' && n < 250; pattern++) {
        if (*pattern == '{' || *pattern == '}')
            out[n++] = *pattern == '{' ? 'w' : '7';
        else
            out[n++] = *pattern;
    }
    out[n] = '\0';
}

static bool is_page(const struct http_route *route)
{
    return route->fn == console_routes[0].fn;
}

START_TEST(every_page_is_the_shell)
{
    char path[256];
    size_t pages = 0;
    for (const struct http_route *route = console_routes; route->method != NULL; route++) {
        struct answer a;
        if (!is_page(route))
            continue;
        pages++;
        sample_path(route->pattern, path);
        ask(server, "GET", path, BROWSER, &a);
        ck_assert_msg(a.status == 200, "%s: %u", path, a.status);
        expect_safe(&a);
        expect_value(&a, "Content-Type", "text/html; charset=utf-8");
        expect_value(&a, "Cache-Control", "no-cache");
        expect_value(&a, "Content-Encoding", "gzip");
        expect_value(&a, "Vary", "Accept, Accept-Encoding");
        expect_bytes(&a, "/index.html");
        forget(&a);
    }
    ck_assert_uint_ge(pages, 20);
}
END_TEST

/* ":capture" of the console's own table as "{}". */
static void pattern_of(const char *path, size_t n, char out[256])
{
    size_t to = 0;
    for (size_t i = 0; i < n && to < 250; i++) {
        if (path[i] != ':') {
            out[to++] = path[i];
            continue;
        }
        while (i + 1 < n && path[i + 1] != '/')
            i++;
        out[to++] = '{';
        out[to++] = '}';
    }
    out[to] = '\0';
}

START_TEST(pages_are_those_that_the_console_has)
{
    size_t n, found = 0, pages = 0;
    char pattern[256], path[256];
    char *text = file_read(CONSOLE_ROUTES, &n);
    bool named[64] = {false};
    ck_assert_ptr_nonnull(text);
    for (const char *at = text; (at = strstr(at, "path: \"")) != NULL; found++) {
        struct http_match match;
        at += strlen("path: \"");
        pattern_of(at, strcspn(at, "\""), pattern);
        sample_path(pattern, path);
        http_route_find(console_routes, "GET", path, &match);
        ck_assert_msg(match.route != NULL && is_page(match.route), "%s is no page of skeind", path);
        named[match.route - console_routes] = true;
    }
    for (size_t i = 0; console_routes[i].method != NULL; i++) {
        pages += is_page(&console_routes[i]);
        ck_assert_msg(named[i] || !is_page(&console_routes[i]), "the console has no page %s",
                      console_routes[i].pattern);
    }
    ck_assert_uint_ge(found, pages);
    free(text);
}
END_TEST

START_TEST(program_that_reads_no_pages_is_told_where_the_api_is)
{
    struct answer a;
    ask(server, "GET", "/captures", "Accept: application/json\r\n", &a);
    ck_assert_uint_eq(a.status, 404);
    expect_safe(&a);
    expect_value(&a, "Content-Type", "application/problem+json");
    ck_assert_ptr_nonnull(memmem(a.body, a.n, "/api/v1", 7));
    forget(&a);
    ask(server, "GET", "/captures", "", &a); /* what it reads is not said */
    ck_assert_uint_eq(a.status, 200);
    expect_value(&a, "Content-Encoding", "");
    expect_bytes(&a, "/index.html");
    forget(&a);
}
END_TEST

static void expect_none(const char *method, const char *path, const char *headers, unsigned status,
                        const char *type)
{
    struct answer a;
    ask(server, method, path, headers, &a);
    ck_assert_msg(a.status == status, "%s %s: %u", method, path, a.status);
    expect_value(&a, "Content-Type", type);
    forget(&a);
}

START_TEST(what_is_not_there_is_404_and_says_so_to_whom_it_is_said)
{
    static const char json[] = "application/problem+json", html[] = "text/html; charset=utf-8";
    expect_none("GET", "/nothing", BROWSER, 404, html);
    expect_none("GET", "/captures/a/b", BROWSER, 404, html);
    expect_none("GET", "/nothing", "Accept: */*\r\n", 404, json);
    expect_none("GET", "/nothing", "", 404, json);
    expect_none("GET", "/assets/main-00000000.js", BROWSER, 404, json);
    expect_none("GET", "/assets/", BROWSER, 404, html);
    expect_none("GET", "/assets/../index.html", "", 404, json);
    expect_none("GET", "/assets/%2e%2e%2findex.html", "", 404, json);
    expect_none("GET", "/api/v1/nothing", BROWSER, 404, json);
    expect_none("GET", "/api/index.html", BROWSER, 404, json);
    expect_none("POST", "/nothing", BROWSER, 404, json);
    expect_none("POST", "/captures", BROWSER, 405, json);
    expect_none("DELETE", SCRIPT, BROWSER, 405, json);
}
END_TEST

/* ---- files ---- */

START_TEST(files_have_their_types_and_those_with_a_hash_are_kept)
{
    static const struct {
        const char *path, *type, *kept, *coding;
    } files[] = {
        {SCRIPT, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "gzip"},
        {"/assets/small-0a1e12ab.css", "text/css; charset=utf-8",
         "public, max-age=31536000, immutable", ""},
        /* no hash, or one that might be none */
        {"/assets/icon-AAAAAAA0.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/icon-aaaaAAAA.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/icon-my-icons.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/dejavu-sans-400.woff2", "font/woff2", "no-cache", ""},
        {"/assets/icon-settings.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/icon-Settings.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/icon-SETTINGS.svg", "image/svg+xml", "no-cache", ""},
        {"/assets/reader-a0000b00.wasm", "application/wasm", "public, max-age=31536000, immutable",
         ""},
        {"/assets/licences.txt", "text/plain; charset=utf-8", "no-cache", "gzip"},
        {"/index.html", "text/html; charset=utf-8", "no-cache", "gzip"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct answer a;
        ask(server, "GET", files[i].path, "Accept: */*\r\nAccept-Encoding: gzip, br\r\n", &a);
        ck_assert_msg(a.status == 200, "%s: %u", files[i].path, a.status);
        expect_safe(&a);
        expect_value(&a, "Content-Type", files[i].type);
        expect_value(&a, "Cache-Control", files[i].kept);
        expect_value(&a, "Content-Encoding", files[i].coding);
        expect_value(&a, "Vary", "Accept-Encoding");
        expect_bytes(&a, files[i].path);
        forget(&a);
    }
}
END_TEST

START_TEST(gzip_is_for_those_who_take_it)
{
    static const struct {
        const char *header, *coding;
    } asks[] = {{"", ""},
                {"Accept-Encoding: gzip\r\n", "gzip"},
                {"Accept-Encoding: deflate, GZIP;q=0.5\r\n", "gzip"},
                {"Accept-Encoding: *\r\n", "gzip"},
                {"Accept-Encoding: br\r\n", ""},
                {"Accept-Encoding: gzip;q=0\r\n", ""},
                {"Accept-Encoding: gzip;q=0, *\r\n", ""},
                {"Accept-Encoding: identity, gzip;q=0.2\r\n", ""},
                {"Accept-Encoding: gzipped\r\n", ""}};
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct answer a;
        ask(server, "GET", SCRIPT, asks[i].header, &a);
        ck_assert_uint_eq(a.status, 200);
        expect_value(&a, "Content-Encoding", asks[i].coding);
        expect_bytes(&a, SCRIPT);
        forget(&a);
    }
}
END_TEST

static void etag_of(const char *path, const char *headers, char out[512])
{
    struct answer a;
    ask(server, "GET", path, headers, &a);
    value(&a, "ETag", out);
    ck_assert_msg(strlen(out) > 16 && out[0] == '"', "%s", a.head);
    forget(&a);
}

START_TEST(what_a_browser_has_is_not_sent_again)
{
    char plain[512], packed[512], headers[1200];
    static const char *const paths[] = {"/", SCRIPT};
    for (size_t i = 0; i < 2; i++) {
        struct answer a;
        etag_of(paths[i], "", plain);
        etag_of(paths[i], "Accept-Encoding: gzip\r\n", packed);
        ck_assert_str_ne(plain, packed); /* not the same bytes */
        snprintf(headers, sizeof headers, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", packed);
        ask(server, "GET", paths[i], headers, &a);
        ck_assert_uint_eq(a.status, 304);
        ck_assert_uint_eq(a.n, 0);
        expect_value(&a, "ETag", packed);
        expect_safe(&a);
        forget(&a);
        snprintf(headers, sizeof headers, "If-None-Match: %s\r\n", packed);
        ask(server, "GET", paths[i], headers, &a);
        ck_assert_uint_eq(a.status, 200);
        forget(&a);
    }
    etag_of("/", "", plain);
    etag_of("/rules", "", packed);
    ck_assert_str_eq(plain, packed);
}
END_TEST

START_TEST(head_says_what_get_would)
{
    static const char *const paths[] = {"/", SCRIPT, "/assets/small-0a1e12ab.css"};
    static const char *const names[] = {"Content-Type", "Content-Length", "ETag",
                                        "Content-Encoding"};
    char of_get[512], of_head[512];
    for (size_t i = 0; i < 3; i++) {
        struct answer get, head;
        ask(server, "GET", paths[i], BROWSER, &get);
        ask(server, "HEAD", paths[i], BROWSER, &head);
        ck_assert_uint_eq(head.status, 200);
        ck_assert_uint_eq(head.n, 0);
        expect_safe(&head);
        for (size_t j = 0; j < 4; j++)
            ck_assert_str_eq(value(&get, names[j], of_get), value(&head, names[j], of_head));
        forget(&get);
        forget(&head);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("console");
    TCase *t = tcase_create("console");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_page_is_the_shell);
    tcase_add_test(t, pages_are_those_that_the_console_has);
    tcase_add_test(t, program_that_reads_no_pages_is_told_where_the_api_is);
    tcase_add_test(t, what_is_not_there_is_404_and_says_so_to_whom_it_is_said);
    tcase_add_test(t, files_have_their_types_and_those_with_a_hash_are_kept);
    tcase_add_test(t, gzip_is_for_those_who_take_it);
    tcase_add_test(t, what_a_browser_has_is_not_sent_again);
    tcase_add_test(t, head_says_what_get_would);
    return suite_run(s);
}
