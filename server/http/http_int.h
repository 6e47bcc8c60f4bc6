/* SPDX-License-Identifier: Apache-2.0
 * The inside of the HTTP server; for http_*.c alone. */
#ifndef HTTP_INT_H
#define HTTP_INT_H

#include "http.h"

/* ---- http_listen.c ---- */

/* Binds and listens. SKEIN_OK with the descriptor, the caller's, and the port; SKEIN_INVALID,
 * SKEIN_BUSY, SKEIN_IO with words. */
int http_listen(const char *address, int *out, unsigned *port, char *error, size_t error_bytes);

struct sockaddr;

/* ---- http_mhd_live.c: connections that are set aside ---- */

struct MHD_Connection;
struct http_lives;

struct http_lives *http_lives_new(void); /* NULL: no memory */
void http_lives_free(struct http_lives **lives);
/* From here on every read of a live answer ends that answer. */
void http_lives_stop(struct http_lives *lives);

/* A live answer to `who` (its selector is not looked at) on fd. */
struct http_live *http_live_new(struct http_lives *lives, struct MHD_Connection *connection, int fd,
                                const struct principal *who);
/* Ends the answers to those who may no longer listen (still may be NULL: all may), and finds out
 * who is no longer there. */
void http_lives_look(struct http_lives *lives, http_still *still, void *context);
void http_live_free(struct http_live *live);
/* Reads from the source; 0: the connection is set aside; HTTP_LIVE_END: the server stops. */
#define HTTP_LIVE_END INT64_MAX
int64_t http_live_read(struct http_live *live, const struct http_source *source, void *out,
                       size_t n);

/* ---- http_mhd_aside.c: answers that are made on threads of their own ---- */

struct http_asides;

struct http_asides *http_asides_new(void); /* NULL: no memory */
void http_asides_free(struct http_asides **asides);
/* Waits for all of them; no further one begins. Their connections are resumed then. */
void http_asides_wait(struct http_asides *asides);
/* Whether the exchange's answer is being made now. */
bool http_aside_runs(struct http_exchange *x);

/* ---- http_gzip.c: pure, any thread ---- */

/* Whether a body of this type and length is one that is packed for those who take it. */
bool http_gzip_is_worth(const char *type, size_t n);
/* Appends it packed to out. False: it goes as it is, as that is not taken, not shorter, or there is no
 * memory for it; what is in out then means nothing. */
bool http_gzip(const char *accept_encoding, const void *body, size_t n, struct buf *out);

/* ---- http_request.c: what is said of a request beside its answer; pure, any thread ---- */

#define HTTP_REQUEST_ID_BYTES 65
/* `given` if it is 1 to 64 of [A-Za-z0-9._-], else a new one. */
void http_request_id_make(const char *given, char out[HTTP_REQUEST_ID_BYTES]);

#define HTTP_ADDRESS_BYTES 64
void http_address_text(const struct sockaddr *address, char out[HTTP_ADDRESS_BYTES]);

/* One line of the access log: changes at info, refusals and the server's failures at warn, reads
 * that went well at debug. It has the request's id by log_set_request. */
struct http_access {
    const char *method, *path, *address, *principal;
    unsigned status;
};
void http_access_log(const struct http_access *access);

/* ---- http_mhd_body.c ---- */

struct MHD_Response;
struct http_watch;
struct http_link;

#define HTTP_BLOCK_BYTES  (128u << 10) /* in one step of a body that is made while it is sent */
#define ANSWER_STEP_BYTES (1u << 20)
#define ANSWER_STEP_NS                                                                             \
    (UINT64_C(120) * 1000000000u) /* for a small answer, or 1 MiB of a large one */
/* A response that reads `length` bytes (HTTP_SIZE_UNKNOWN: until it ends) of the source from `base`
 * on. Takes the source, and live, which may be NULL; on failure both are done with. What it reads
 * is logged under the request's id. */
struct MHD_Response *http_body_response(struct http_watch *watch, struct http_link *link,
                                        const struct http_source *source, uint64_t base,
                                        uint64_t length, struct http_live *live,
                                        const char *request_id);

/* ---- http_watch.c: deadlines of connections; any thread ---- */

/* Where a connection comes from: its address, and what counts as one place with it where room is
 * short: all of this host, or a network that is one customer's. Hashes. */
struct http_whence {
    uint64_t address, around;
};
struct http_whence
http_whence_of(const struct sockaddr *address); /* http_request.c; NULL: unknown */

/* At most so many connections are open, of all and of one address. `look` is called by its thread
 * four times a second. NULL: no memory or thread. */
struct http_watch *http_watch_start(uint64_t max, uint64_t max_per_address,
                                    void (*look)(void *context), void *context);
void http_watch_stop(struct http_watch **watch);

#define HTTP_NO_DEADLINE (UINT64_MAX / 2) /* centuries */
/* fd is shut down (not closed) when the deadline, from now, is over. Where there is no room, another
 * is shut down, or, if all are being answered, this one. NULL when out of memory. */
struct http_link *http_watch_add(struct http_watch *w, int fd, const struct http_whence *whence,
                                 uint64_t deadline_ns);
/* A request has begun to come; or its answer is over, and the next is waited for. */
void http_watch_asking(struct http_watch *w, struct http_link *link, bool asking);
/* before fd is closed; link may be NULL */
void http_watch_remove(struct http_watch *w, struct http_link *link);
void http_watch_deadline(struct http_watch *w, struct http_link *link, uint64_t from_now_ns);
void http_watch_answering(struct http_watch *w, struct http_link *link, bool answering);

/* Waits until no connection is answering, at most timeout_ms. */
void http_watch_wait(struct http_watch *w, uint64_t timeout_ms);

#endif
