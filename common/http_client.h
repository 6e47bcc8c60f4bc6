/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests, blocking. The only module that knows libcurl. Used by the agent's health checks,
 * the collector's notices and the CLI. Any thread, each call on its own; call http_client_init()
 * once, first.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

struct http_request {
    const char *method; /* "GET" where NULL */
    const char *url;
    const char *const *headers; /* NULL-terminated "Name: value", or NULL */
    /* PEM file of whom to trust for https, instead of the system's; NULL: those */
    const char *ca_file;
    const void *body;
    size_t body_bytes;
    uint64_t timeout_ms;      /* whole request; 0: none */
    uint64_t max_body_bytes;  /* of the answer kept in memory; 0: 64 MiB */
    uint64_t idle_timeout_ms; /* without a byte, to the second; 0: none */
    /* Instead of into memory: takes the bytes of a 2xx answer as they come; `out` of http_request
     * has its status and headers by then. Another status than SKEIN_OK ends the request with it. */
    int (*sink)(void *context, const void *bytes, size_t n);
    void (*progress)(void *context, uint64_t done, uint64_t total); /* total 0: unknown */
    void *context;
    const int *cancel; /* atomic; not 0: the call ends within a second, SKEIN_CLOSED. May be NULL */
};

struct http_response {
    long status;
    struct buf body;
    char content_type[128], location[512], etag[128];
    uint64_t received_bytes;
    char error[256]; /* words for a person where the call failed */
};

int http_client_init(void);

/* SKEIN_OK (any HTTP status), SKEIN_TIMEOUT, SKEIN_CLOSED (no connection), SKEIN_TOO_LARGE,
 * SKEIN_IO, SKEIN_INVALID (URL), SKEIN_NO_MEMORY. `out` needs no initialising; the caller calls
 * http_response_fini after any result. */
int http_request(const struct http_request *request, struct http_response *out);
void http_response_fini(struct http_response *response);

#endif
