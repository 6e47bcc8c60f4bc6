/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers for the console's pages and files; see console.h. The browser is told to keep what is named
 * by its own bytes, and to ask about the rest, each time.
 */
#include "console.h"

#include <stdio.h>
#include <string.h>

#include "console_files.h"
#include "http_field.h"

#define ETAG_BYTES 80
#define VARY_PAGE  "Accept, Accept-Encoding"

/* Scripts, styles and data from here alone; WebAssembly may be compiled, text may not. */
#define CONTENT_POLICY                                                                             \
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "                 \
    "img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; "               \
    "form-action 'none'; frame-ancestors 'none'"

/* Beside what every answer of this server has. */
static void policy_add(struct http_exchange *x)
{
    http_add_header(x, "Content-Security-Policy", CONTENT_POLICY);
    http_add_header(x, "Cross-Origin-Opener-Policy", "same-origin");
}

static const struct console_file *file_find(const char *path)
{
    const struct console_file *file = console_files;
    while (file->path != NULL && strcmp(file->path, path) != 0)
        file++;
    return file->path != NULL ? file : NULL;
}

static void file_reply(struct http_exchange *x, unsigned status, const struct console_file *file,
                       const char *vary)
{
    char etag[ETAG_BYTES];
    bool gzip = file->gzip != NULL && http_takes_gzip(http_header(x, "Accept-Encoding")) &&
                http_add_header(x, "Content-Encoding", "gzip");
    /* Two forms of one file are not the same bytes, and so have not the same tag. */
    snprintf(etag, sizeof etag, "\"%s%s\"", file->hash, gzip ? "-gzip" : "");
    policy_add(x);
    http_add_header(x, "ETag", etag);
    http_add_header(x, "Cache-Control",
                    file->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    http_add_header(x, "Vary", vary);
    const char *known;
    if (status == 200 && http_header_list(x, "If-None-Match", &known) && http_etag_in(known, etag))
        status = 304;
    http_reply_static(x, status, file->type, gzip ? file->gzip : file->bytes,
                      gzip ? file->gzip_n : file->n);
}

static void no_file(struct http_exchange *x)
{
    policy_add(x);
    http_problem_of(x, PROBLEM_NO_PATH, NULL, "no such path: %.200s", http_path(x));
}

static bool reads_pages(const struct http_exchange *x)
{
    return http_weight(http_header(x, "Accept"), "text/html", 0) > 0;
}

static void page_get(void *context, struct http_exchange *x)
{
    const struct console_file *shell = file_find("/index.html");
    const char *accept = http_header(x, "Accept");
    (void)context;
    if (shell == NULL) {
        no_file(x);
    } else if (accept != NULL && !reads_pages(x)) {
        policy_add(x);
        http_problem_of(x, PROBLEM_NO_PATH, NULL,
                        "%.200s is a page of the console, as text/html; the API's paths begin with "
                        "/api/v1",
                        http_path(x));
    } else {
        file_reply(x, 200, shell, VARY_PAGE);
    }
}

static void file_get(void *context, struct http_exchange *x)
{
    const struct console_file *file = file_find(http_path(x));
    (void)context;
    if (file != NULL)
        file_reply(x, 200, file, "Accept-Encoding");
    else
        no_file(x);
}

/* A person who is lost gets the console, which says that there is no such page; a program gets the
 * problem that any other wrong path has. */
static void rest_get(void *context, struct http_exchange *x)
{
    const struct console_file *shell = file_find("/index.html");
    bool api = strncmp(http_path(x), "/api/", 5) == 0;
    if (!api && file_find(http_path(x)) != NULL)
        file_get(context, x);
    else if (!api && shell != NULL && http_header(x, "Accept") != NULL &&
             http_weight(http_header(x, "Accept"), "text/html", 0) >
                 http_weight(http_header(x, "Accept"), "application/json", 0))
        file_reply(x, 404, shell, VARY_PAGE);
    else
        no_file(x);
}

/* The same paths as in web/src/routes.ts (a test compares them). */
const struct http_route console_routes[] = {
    {"GET", "/", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/agents", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/audit", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/captures", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/captures/{}", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/captures/{}/timeline", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/compare", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/events", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/join-tokens", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/login", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/loss", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/open", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/policies", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/policies/{}", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/processes/{}", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/rules", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/rules/{}", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/series", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/settings", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/storage", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/tokens", page_get, HTTP_PUBLIC, NULL},
    {"GET", "/assets/{}", file_get, HTTP_PUBLIC, NULL},
    {"GET", "", rest_get, HTTP_PUBLIC, NULL},
    {NULL, NULL, NULL, 0, NULL}};
