/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns all use of libcurl: one easy handle a request, on the caller's thread, blocking. Follows no
 * redirects (the API's Location is for the caller to read), speaks http and https alone, goes
 * through no proxy (a health check must reach the service itself), raises no signals, and never
 * writes to the terminal.
 */
#include "http_client.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_MS = 10000 };
#define BODY_MAX_DEFAULT (UINT64_C(64) << 20)

/* One running request; lives on http_request's stack. */
struct transfer {
    const struct http_request *request;
    struct http_response *response;
    CURL *curl;
    struct curl_slist *headers;
    uint64_t body_max;
    int failure;      /* why a callback ended the transfer, or SKEIN_OK */
    char reason[128]; /* the same in words; libcurl overwrites its error buffer afterwards */
};

int http_client_init(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* A callback that returns less than it was given ends the transfer. */
static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    struct http_response *r = t->response;
    size_t n = size * count;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &r->status);
    /* An error's body is words about the error: it never goes to the caller's sink. */
    bool good = r->status >= 200 && r->status < 300;
    if (t->request->sink != NULL && good) {
        t->failure = t->request->sink(t->request->context, bytes, n);
    } else if (n > t->body_max - r->body.len) {
        t->failure = SKEIN_TOO_LARGE;
        snprintf(t->reason, sizeof t->reason, "the answer is larger than %" PRIu64 " bytes",
                 t->body_max);
    } else {
        buf_put(&r->body, bytes, n);
        t->failure = r->body.status;
    }
    if (t->failure != SKEIN_OK)
        return 0;
    r->received_bytes += n;
    return n;
}

/* Copies a header's value, without the blanks around it; a value that does not fit is left out. */
static void header_take(const char *line, size_t n, const char *name, char *out, size_t out_bytes)
{
    size_t name_len = strlen(name);
    if (n <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0)
        return;
    const char *from = line + name_len + 1, *end = line + n;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\n'))
        end--;
    size_t len = (size_t)(end - from);
    if (len >= out_bytes)
        return;
    memcpy(out, from, len);
    out[len] = '\0';
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    struct http_response *r = t->response;
    size_t n = size * count;
    header_take(line, n, "content-type", r->content_type, sizeof r->content_type);
    header_take(line, n, "location", r->location, sizeof r->location);
    header_take(line, n, "etag", r->etag, sizeof r->etag);
    return n;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now)
{
    struct transfer *t = context;
    (void)up_total;
    (void)up_now;
    const struct http_request *q = t->request;
    if (q->progress != NULL)
        q->progress(q->context, (uint64_t)now, (uint64_t)total);
    if (q->cancel == NULL || !__atomic_load_n(q->cancel, __ATOMIC_RELAXED))
        return 0;
    t->failure = SKEIN_CLOSED;
    snprintf(t->reason, sizeof t->reason, "given up by the caller");
    return 1;
}

static int headers_set(struct transfer *t)
{
    const char *const *h = t->request->headers;
    for (; h != NULL && *h != NULL; h++) {
        struct curl_slist *more = curl_slist_append(t->headers, *h);
        if (more == NULL)
            return SKEIN_NO_MEMORY;
        t->headers = more;
    }
    /* libcurl would wait a second for "100 Continue" before it sends a large body. */
    struct curl_slist *more = curl_slist_append(t->headers, "Expect:");
    if (more == NULL)
        return SKEIN_NO_MEMORY;
    t->headers = more;
    return curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK ? SKEIN_OK
                                                                                 : SKEIN_NO_MEMORY;
}

static void method_set(struct transfer *t)
{
    const struct http_request *q = t->request;
    const char *method = q->method != NULL ? q->method : "GET";
    bool has_body = q->body != NULL || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0;
    if (has_body) {
        curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, q->body != NULL ? q->body : "");
        curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_bytes);
    } else if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(t->curl, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, method);
}

static int options_set(struct transfer *t)
{
    const struct http_request *q = t->request;
    CURL *c = t->curl;
    if (curl_easy_setopt(c, CURLOPT_URL, q->url) != CURLE_OK)
        return SKEIN_NO_MEMORY;
    method_set(t);
    long timeout = q->timeout_ms > INT32_MAX ? INT32_MAX : (long)q->timeout_ms;
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout > 0 && timeout < CONNECT_MS ? timeout : (long)CONNECT_MS);
    if (q->idle_timeout_ms) {
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)((q->idle_timeout_ms + 999) / 1000));
    }
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L); /* signals belong to the program, not to us */
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* at least */
    if (q->ca_file != NULL && (curl_easy_setopt(c, CURLOPT_CAINFO, q->ca_file) != CURLE_OK ||
                               curl_easy_setopt(c, CURLOPT_CAPATH, NULL) != CURLE_OK))
        return SKEIN_NO_MEMORY;
    curl_easy_setopt(c, CURLOPT_USERAGENT, "skein/" SKEIN_VERSION_TEXT);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->response->error);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    if (q->progress != NULL || q->cancel != NULL) {
        curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    }
    return headers_set(t);
}

static int status_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return SKEIN_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return SKEIN_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return SKEIN_CLOSED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return SKEIN_INVALID;
    case CURLE_OUT_OF_MEMORY:
        return SKEIN_NO_MEMORY;
    default:
        return SKEIN_IO;
    }
}

int http_request(const struct http_request *request, struct http_response *out)
{
    memset(out, 0, sizeof *out);
    buf_init(&out->body);
    struct transfer t = {.request = request, .response = out, .curl = curl_easy_init()};
    t.body_max = request->max_body_bytes ? request->max_body_bytes : BODY_MAX_DEFAULT;
    if (t.curl == NULL)
        return SKEIN_NO_MEMORY;
    int status = options_set(&t);
    if (status == SKEIN_OK) {
        CURLcode code = curl_easy_perform(t.curl);
        curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &out->status);
        status = t.failure != SKEIN_OK ? t.failure : status_of(code);
        if (t.reason[0])
            snprintf(out->error, sizeof out->error, "%s", t.reason);
        else if (status != SKEIN_OK && !out->error[0])
            snprintf(out->error, sizeof out->error, "%s", curl_easy_strerror(code));
    }
    curl_slist_free_all(t.headers);
    curl_easy_cleanup(t.curl);
    return status;
}

void http_response_fini(struct http_response *response)
{
    buf_fini(&response->body);
}
