/* SPDX-License-Identifier: Apache-2.0
 * The server and the exchange over libmicrohttpd; for http_mhd*.c alone. */
#ifndef HTTP_MHD_INT_H
#define HTTP_MHD_INT_H

#include <microhttpd.h>

#include "http_door.h"
#include "http_int.h"
#include "http_route.h"
#include "http_server.h"

#define EXTRA_HEADERS_MAX 12
#define HTTP_LISTS_MAX    4

enum http_aside_state { HTTP_ASIDE_NONE, HTTP_ASIDE_RUNS, HTTP_ASIDE_DONE };

struct http_server {
    struct MHD_Daemon *daemon;
    const struct http_route *routes;
    void *context;
    struct http_settings settings;
    int listen_fd;
    unsigned port;
    struct http_tls *tls; /* NULL: plain HTTP */
    struct http_watch *watch;
    struct http_lives *lives;
    struct http_asides *asides;
    bool stopping; /* atomic */
};

/* One connection. */
struct http_peer {
    struct http_door door;
    struct http_link *link; /* its deadline */
    uint64_t requests;      /* that have begun */
};

struct http_exchange {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_peer *peer;
    struct http_link *link;
    uint64_t number;           /* of the request on its connection, from 1 */
    const char *method, *path; /* libmicrohttpd's, as long as the request lives */
    char request_id[HTTP_REQUEST_ID_BYTES], address[HTTP_ADDRESS_BYTES];
    struct principal principal;
    struct selector *selector; /* what the principal is confined to */
    size_t uri_bytes;
    bool nul_in_uri, begun, body_too_large, dispatched;
    uint64_t body_received;
    struct buf body;
    struct http_match match;
    struct {
        const char *name;
        char *value;
    } headers[EXTRA_HEADERS_MAX];
    size_t header_count;
    struct buf lists[HTTP_LISTS_MAX]; /* of http_header_list */
    size_t list_count;
    struct MHD_Response *response;
    unsigned status;
    enum http_aside_state aside; /* under the lock of http_asides */
    http_handler *aside_fn;
    void *aside_context;
};

#endif
