/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of an HTTP server: its settings, start and stop. The thread that owns it, but where a
 * function says otherwise.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http.h"

struct http_server;

struct http_settings {
    const char *address; /* "127.0.0.1:7462", "[::1]:7462", "*:7462" (all) */
    uint64_t max_body_bytes, max_connections, max_connections_per_ip, threads;
    /* a request must be whole so long after its connection's opening or its first byte, or is
     * cut */
    uint64_t receive_ms;
    uint64_t idle_ms;  /* a connection without traffic is closed after this */
    uint64_t drain_ms; /* when the server stops, running answers have so long to finish */
    const char *tls_certificate, *tls_key; /* PEM files, for HTTPS alone; both NULL: plain HTTP */
    /* asked for each request with the server's context; NULL: everybody is "local", an admin */
    http_authorize *authorize;
    http_still *still; /* NULL: everybody may */
    /* further routes, for paths that the others do not know; they outlive the server; or NULL */
    const struct http_route *pages;
};

/* Serves routes until http_stop. SKEIN_OK; SKEIN_INVALID (address), SKEIN_BUSY (port in use),
 * SKEIN_IO, SKEIN_NO_MEMORY with words in error; of the files as well. `routes` and `context`
 * outlive the server. */
int http_start(const struct http_settings *settings, const struct http_route *routes, void *context,
               struct http_server **out, char *error, size_t error_bytes);
/* Reads certificate and key again: new connections get the new ones, open connections go on. On
 * failure (as above) everything stays as it was. SKEIN_OK also for plain HTTP. Any thread. */
int http_reload(struct http_server *server, char *error, size_t error_bytes);
/* Stops accepting, lets answers finish for at most drain_ms, closes everything. */
void http_stop(struct http_server **server);
/* Whether only this machine can reach the address. False also if it is no address. */
bool http_is_loopback(const char *address);
unsigned http_port(const struct http_server *server); /* the port bound, where 0 was asked for */

#endif
