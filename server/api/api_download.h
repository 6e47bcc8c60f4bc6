/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream of stored partitions as an answer's body: for api_captures_trace.c and api_partitions.c.
 */
#ifndef API_DOWNLOAD_H
#define API_DOWNLOAD_H

#include "api.h"
#include "trace_stream.h"

struct api_download {
    struct trace_stream *stream;
    const char *type;   /* of its content */
    bool unknown_bytes; /* it is made while it is sent, and has no length before */
    bool place;         /* the caller has a place among the exports */
    bool costs; /* sending it takes work: else the place is left, unless something is withheld */
};
/* Takes the stream, and the place until the sending ends, also where it fails. Returns whether bytes
 * are sent: not for HEAD. */
bool api_download_send(struct api_services *api, struct http_exchange *x,
                       const struct api_download *download);

#endif
