/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of the HTTP server, made on the thread of their exchange. The first answer of an
 * exchange stands; http_mhd.c sends it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_field.h"
#include "http_mhd_int.h"
#include "json.h"
#include "metrics.h"
#include "problem.h"

bool http_add_header(struct http_exchange *x, const char *name, const char *value)
{
    char *copy = x->header_count < EXTRA_HEADERS_MAX ? strdup(value) : NULL;
    if (copy == NULL)
        return false;
    x->headers[x->header_count].name = name;
    x->headers[x->header_count].value = copy;
    x->header_count++;
    return true;
}

/* Browsers ask this name by HTTPS alone from then on, on all of its ports; so it is not said of
 * "localhost", which is many other programs', too. Of addresses they do not keep it. */
static bool is_strict(const struct http_exchange *x)
{
    static const char own[] = "localhost";
    const char *host = http_header(x, "Host");
    size_t n = host != NULL ? http_host_bytes(host) : 0, own_bytes = sizeof own - 1;
    bool ends_so = n >= own_bytes && strncasecmp(host + n - own_bytes, own, own_bytes) == 0;
    return x->server->tls != NULL && n > 0 &&
           !(ends_so && (n == own_bytes || host[n - own_bytes - 1] == '.'));
}

/* Takes the response: it replaces none, because the first answer stands. */
static void response_set(struct http_exchange *x, unsigned status, const char *type,
                         struct MHD_Response *response)
{
    if (response == NULL)
        return;
    if (x->response != NULL) {
        MHD_destroy_response(response);
        return;
    }
    if (type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    if (is_strict(x))
        MHD_add_response_header(response, "Strict-Transport-Security", "max-age=31536000");
    MHD_add_response_header(response, "X-Request-Id", x->request_id);
    for (size_t i = 0; i < x->header_count; i++)
        MHD_add_response_header(response, x->headers[i].name, x->headers[i].value);
    if (__atomic_load_n(&x->server->stopping, __ATOMIC_RELAXED))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    x->response = response;
    x->status = status;
}

static bool has_header(const struct http_exchange *x, const char *name)
{
    for (size_t i = 0; i < x->header_count; i++)
        if (strcmp(x->headers[i].name, name) == 0)
            return true;
    return false;
}

void http_reply(struct http_exchange *x, unsigned status, const char *type, const void *body,
                size_t n)
{
    struct buf packed = {0};
    if (x->response == NULL && http_gzip_is_worth(type, n) && !has_header(x, "ETag")) {
        http_add_header(x, "Vary", "Accept-Encoding");
        if (http_gzip(http_header(x, "Accept-Encoding"), body, n, &packed) &&
            http_add_header(x, "Content-Encoding", "gzip")) {
            body = packed.data;
            n = packed.len;
        }
    }
    /* The cast is for libmicrohttpd's prototype; MUST_COPY only reads. */
    union {
        const void *in;
        void *out;
    } bytes = {.in = n > 0 ? body : ""};
    metrics_add(http_bytes_total, n);
    response_set(x, status, type,
                 MHD_create_response_from_buffer(n, bytes.out, MHD_RESPMEM_MUST_COPY));
    buf_fini(&packed);
}

void http_reply_static(struct http_exchange *x, unsigned status, const char *type, const void *body,
                       size_t n)
{
    /* As above: PERSISTENT only reads. */
    union {
        const void *in;
        void *out;
    } bytes = {.in = body};
    if (status != 304 && strcmp(x->method, "HEAD") != 0)
        metrics_add(http_bytes_total, n);
    response_set(x, status, type,
                 MHD_create_response_from_buffer(n, bytes.out, MHD_RESPMEM_PERSISTENT));
}

void http_reply_json(struct http_exchange *x, unsigned status, cJSON *json)
{
    struct buf text = {0};
    if (json != NULL && status >= 400)
        cJSON_AddStringToObject(json, "request_id", x->request_id);
    if (json != NULL)
        json_print(json, &text);
    cJSON_Delete(json);
    if (text.len > 0 && text.status == SKEIN_OK) {
        buf_put_u8(&text, '\n');
        http_add_header(x, "Cache-Control", "no-store");
        http_reply(x, status, status >= 400 ? PROBLEM_TYPE : "application/json", text.data,
                   text.len);
    }
    buf_fini(&text); /* out of memory: no answer given, which becomes a 500 */
}

__attribute__((format(printf, 4, 0))) static void reply_problem(struct http_exchange *x,
                                                                enum problem kind,
                                                                const char *field,
                                                                const char *format, va_list args)
{
    char detail[1024];
    unsigned status = problem_status(kind);
    vsnprintf(detail, sizeof detail, format, args);
    if (status == 503)
        http_add_header(x, "Retry-After", "5");
    http_reply_json(x, status, problem_new(kind, field, detail));
}

void http_problem(struct http_exchange *x, unsigned status, const char *field, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    reply_problem(x, problem_of_status(status), field, format, args);
    va_end(args);
}

void http_problem_of(struct http_exchange *x, enum problem kind, const char *field,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reply_problem(x, kind, field, format, args);
    va_end(args);
}

/* ---- bodies made while they are sent ---- */

static bool is_head(const struct http_exchange *x)
{
    return strcmp(x->method, "HEAD") == 0;
}

static bool reply_part(struct http_exchange *x, unsigned status, const char *type, uint64_t base,
                       uint64_t length, const struct http_source *source)
{
    struct MHD_Response *response =
        http_body_response(x->server->watch, x->link, source, base, length, NULL, x->request_id);
    /* Else libmicrohttpd ends the chunks of a body that has none, in the midst of what follows. */
    if (response != NULL && length == HTTP_SIZE_UNKNOWN && is_head(x))
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    response_set(x, status, type, response);
    return !is_head(x);
}

bool http_reply_source(struct http_exchange *x, unsigned status, const char *type, uint64_t size,
                       const struct http_source *source)
{
    return reply_part(x, status, type, 0, size, source);
}

struct http_live *http_reply_live(struct http_exchange *x, const char *type,
                                  const struct http_source *source)
{
    if (is_head(x)) {
        http_add_header(x, "Cache-Control", "no-store");
        reply_part(x, 200, type, 0, HTTP_SIZE_UNKNOWN, source);
        return NULL;
    }
    struct http_live *live = x->response == NULL ? http_live_new(x->server->lives, x->connection,
                                                                 x->peer->door.fd, &x->principal)
                                                 : NULL;
    if (live == NULL) {
        source->done(source->context);
        return NULL;
    }
    struct MHD_Response *response = http_body_response(x->server->watch, x->link, source, 0,
                                                       HTTP_SIZE_UNKNOWN, live, x->request_id);
    if (response == NULL)
        return NULL;
    http_add_header(x, "Cache-Control", "no-store");
    http_add_header(x, "Connection", "close"); /* its end is the connection's */
    response_set(x, 200, type, response);
    return live;
}

bool http_reply_ranged(struct http_exchange *x, const char *type, uint64_t size, const char *etag,
                       const struct http_source *source)
{
    char text[96];
    http_add_header(x, "ETag", etag);
    http_add_header(x, "Accept-Ranges", "bytes");
    const char *known;
    if (http_header_list(x, "If-None-Match", &known) && http_etag_in(known, etag)) {
        /* The length is that of the body that is not sent. */
        reply_part(x, 304, NULL, 0, size, source);
        return false;
    }
    /* If-Range: the rest is only worth having if the first part was of the same bytes. */
    const char *same = http_header(x, "If-Range");
    const char *range = same == NULL || strcmp(same, etag) == 0 ? http_header(x, "Range") : NULL;
    uint64_t from, length;
    switch (http_range_get(range, size, &from, &length)) {
    case HTTP_RANGE_OUTSIDE:
        source->done(source->context);
        snprintf(text, sizeof text, "bytes */%" PRIu64, size);
        http_add_header(x, "Content-Range", text);
        http_problem(x, 416, "Range", "the body has %" PRIu64 " bytes", size);
        return false;
    case HTTP_RANGE_PART:
        snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
                 (from + length - 1), size);
        http_add_header(x, "Content-Range", text);
        return reply_part(x, 206, type, from, length, source);
    case HTTP_RANGE_WHOLE:
    default:
        return reply_part(x, 200, type, 0, size, source);
    }
}
