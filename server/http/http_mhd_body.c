/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies that are made while they are sent: a source's bytes become libmicrohttpd's, and each step
 * renews the connection's deadline. Entered by the server's threads; one answer, one thread at a
 * time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "http_mhd_int.h"
#include "log.h"
#include "metrics.h"

/* Each answer that is under way holds one. Larger ones are hardly faster, and a thousand downloads
 * should not take the machine's memory. */
#define SOURCE_BLOCK_BYTES HTTP_BLOCK_BYTES
#define LIVE_BLOCK_BYTES   (16u << 10)

struct body {
    struct http_watch *watch;
    struct http_link *link;
    struct http_source source;
    uint64_t base, length;  /* of the source; length HTTP_SIZE_UNKNOWN: until it ends */
    struct http_live *live; /* or NULL */
    uint64_t renewed;       /* the position at which the deadline was set last */
    char request_id[HTTP_REQUEST_ID_BYTES];
};

static ssize_t body_read(void *context, uint64_t position, char *out, size_t max)
{
    struct body *body = context;
    /* The clock of the deadline is set once for each of its steps. */
    if (position - body->renewed >= ANSWER_STEP_BYTES || position == 0) {
        body->renewed = position;
        http_watch_deadline(body->watch, body->link, ANSWER_STEP_NS);
    }
    if (body->length != HTTP_SIZE_UNKNOWN) {
        if (position >= body->length)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (max > body->length - position)
            max = (size_t)(body->length - position);
    }
    const char *before = log_set_request(body->request_id);
    int64_t n = body->source.read(body->source.context, body->base + position, out, max);
    log_set_request(before);
    if (n > 0) {
        metrics_add(http_bytes_total, n);
        return (ssize_t)n;
    }
    if (n == 0 && body->length == HTTP_SIZE_UNKNOWN)
        return MHD_CONTENT_READER_END_OF_STREAM;
    metrics_add(http_cut_answers_total, 1);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t body_read_live(void *context, uint64_t position, char *out, size_t max)
{
    struct body *body = context;
    (void)position;
    http_watch_deadline(body->watch, body->link, ANSWER_STEP_NS);
    const char *before = log_set_request(body->request_id);
    int64_t n = http_live_read(body->live, &body->source, out, max);
    log_set_request(before);
    if (n == HTTP_LIVE_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    metrics_add(http_bytes_total, n > 0 ? n : 0);
    return n >= 0 ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void body_free(void *context)
{
    struct body *body = context;
    const char *before = log_set_request(body->request_id);
    body->source.done(body->source.context);
    log_set_request(before);
    http_live_free(body->live);
    free(body);
}

struct MHD_Response *http_body_response(struct http_watch *watch, struct http_link *link,
                                        const struct http_source *source, uint64_t base,
                                        uint64_t length, struct http_live *live,
                                        const char *request_id)
{
    struct body *body = malloc(sizeof *body);
    if (body == NULL) {
        source->done(source->context);
        http_live_free(live);
        return NULL;
    }
    *body = (struct body){.watch = watch,
                          .link = link,
                          .source = *source,
                          .base = base,
                          .length = length,
                          .live = live};
    snprintf(body->request_id, sizeof body->request_id, "%s", request_id);
    struct MHD_Response *response = MHD_create_response_from_callback(
        length == HTTP_SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN : length,
        live != NULL ? LIVE_BLOCK_BYTES : SOURCE_BLOCK_BYTES,
        live != NULL ? body_read_live : body_read, body, body_free);
    if (response == NULL)
        body_free(body);
    return response;
}
