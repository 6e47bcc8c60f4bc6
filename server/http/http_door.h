/* SPDX-License-Identifier: Apache-2.0
 *
 * What the HTTP library reads of a connection goes through a framing filter first. For http_mhd.c
 * and http_tls.c alone.
 */
#ifndef HTTP_DOOR_H
#define HTTP_DOOR_H

#include <sys/types.h>

#include "http_framing.h"

struct http_door {
    int fd;
    bool tls; /* the filter is behind the decryption */
    struct http_framing framing;
};

/* From here on everything read from door->fd is filtered; call it on the thread that serves the
 * connection. False: there are too many descriptors. */
bool http_door_open(struct http_door *door);
void http_door_close(struct http_door *door); /* before its descriptor is closed */
struct http_door *http_door_of(int fd);       /* NULL: none */

/* How to read from the connection, like recv; and whether there is more that poll() does not
 * see. */
struct http_door_source {
    ssize_t (*read)(void *context, void *out, size_t n);
    bool (*more)(void *context);
    void *context;
};
/* Fills at most n bytes with what the filter lets through. Returns how many; what `read` returned
 * if that is 0 or less; `again` if nothing got through. */
ssize_t http_door_read(struct http_door *door, const struct http_door_source *source, void *out,
                       size_t n, ssize_t again);

#endif
