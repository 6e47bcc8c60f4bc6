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

/* From here on what is read of door->fd is filtered, by the thread that serves the connection.
 * False: there are too many descriptors. */
bool http_door_open(struct http_door *door);
void http_door_close(struct http_door *door); /* before its descriptor is closed */
struct http_door *http_door_of(int fd);       /* NULL: none */

/* How to read of the connection: as recv; and whether there is more that poll() does not tell of.
 */
struct http_door_source {
    ssize_t (*read)(void *context, void *out, size_t n);
    bool (*more)(void *context);
    void *context;
};
/* Fills at most n bytes with what the filter lets through. What `read` returned where that is 0 or
 * less; `again` where nothing got through. */
ssize_t http_door_read(struct http_door *door, const struct http_door_source *source, void *out,
                       size_t n, ssize_t again);

#endif
