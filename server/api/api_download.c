/* SPDX-License-Identifier: Apache-2.0
 *
 * Downloads of stored partitions; see api_download.h. No state but the places of running exports; any
 * thread.
 */
#include "api_download.h"

#include <stdio.h>
#include <stdlib.h>

struct sending {
    struct api_services *api;
    struct trace_stream *stream;
    bool place;
    char who[PRINCIPAL_NAME_BYTES]; /* holds the place */
};

static int64_t sending_read(void *context, uint64_t offset, void *out, size_t n)
{
    struct sending *d = context;
    return trace_stream_read(d->stream, offset, out, n);
}

static void sending_end(void *context)
{
    struct sending *d = context;
    if (d->place)
        places_leave(d->api->exports, d->who);
    trace_stream_free(&d->stream);
    free(d);
}

bool api_download_send(struct api_services *api, struct http_exchange *x,
                       const struct api_download *download)
{
    struct trace_stream *stream = download->stream;
    bool keep = download->place && (download->costs || trace_stream_withholds(stream));
    struct sending *d = malloc(sizeof *d);
    if (download->place && (d == NULL || !keep))
        places_leave(api->exports, api_holder(x));
    if (d == NULL) {
        trace_stream_free(&stream);
        return false;
    }
    *d = (struct sending){.api = api, .stream = stream, .place = keep};
    snprintf(d->who, sizeof d->who, "%s", api_holder(x));
    const struct http_source source = {d, sending_read, sending_end, NULL};
    if (download->unknown_bytes)
        return http_reply_source(x, 200, download->type, HTTP_SIZE_UNKNOWN, &source);
    return http_reply_ranged(x, download->type, trace_stream_bytes(stream),
                             trace_stream_etag(stream), &source);
}
