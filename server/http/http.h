/* SPDX-License-Identifier: Apache-2.0
 *
 * A small HTTP server, as a handler sees it: routes, requests, answers. http_server.h starts one;
 * http_mhd*.c do it over libmicrohttpd, which they alone know.
 *
 * Handlers run on the server's pool threads, several at once, each with one exchange that nobody
 * else touches. A handler must give exactly one answer; where it gives none, the client gets 500.
 * Text that an exchange hands out is valid until the handler returns.
 */
#ifndef HTTP_H
#define HTTP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "principal.h"
#include "problem.h"

struct http_exchange;

typedef void http_handler(void *context, struct http_exchange *x);

/* One row of the route table; the last has method NULL. A pattern is text with at most 2 "{}" that
 * match one or more characters other than '/': "/api/v1/captures/{}:stop". GET rows answer HEAD
 * too. The pattern "" matches what no other one does, and makes no path of it: with another method
 * there is none. */
struct http_route {
    const char *method, *pattern;
    http_handler *fn;
    enum http_scope scope;
    /* the parameters that there are, "from, to"; a query with another one is answered 400. NULL:
     * whatever it has is passed by */
    const char *parameters;
};

/* Decides who asks, before the body is read. True: `who` is filled in, and *selector if it is
 * confined, which the exchange owns from here on. False: an answer was given. */
typedef bool http_authorize(void *context, struct http_exchange *x, const struct http_route *route,
                            struct principal *who, struct selector **selector);

/* Whether the receiver of an answer that goes on (http_reply_live) may still get it; asked four
 * times a second. */
typedef bool http_still(void *context, const struct principal *who);

/* ---- the request ---- */
/* what the i-th "{}" matched */
const char *http_part(const struct http_exchange *x, unsigned i);
const char *http_query(const struct http_exchange *x, const char *name);  /* NULL where absent */
const char *http_header(const struct http_exchange *x, const char *name); /* NULL where absent */
/* Of a field that is a list, which several lines may continue; *list is NULL where it is absent. False,
 * and NULL: it is there, and there is no memory to read it. */
bool http_header_list(struct http_exchange *x, const char *name, const char **list);
/* The value, *n bytes, of a cookie, in whichever of the Cookie fields it is; NULL where absent, or
 * where it is there with different values. */
const char *http_cookie(const struct http_exchange *x, const char *name, size_t *n);

const struct principal *http_principal(const struct http_exchange *x); /* never NULL in a handler */
const char *http_address(const struct http_exchange *x); /* the client's, without its port */
/* The user of this machine who asks (socket_owner.h); never this one, which is the kernel's word for
 * users that the collector's user namespace has not. */
#define HTTP_UID_UNKNOWN 65534u
int http_user(const struct http_exchange *x, uint32_t *uid);
const char *http_request_id(const struct http_exchange *x); /* also in the answer's X-Request-Id */
const char *http_path(const struct http_exchange *x);
void *http_context(const struct http_exchange *x); /* the server's, of http_start */

/* The body as a JSON object, for the caller to free; NULL: a 415 (Content-Type) or 400 (no JSON
 * object) was given. */
cJSON *http_body_json(struct http_exchange *x);

/* ---- the answer: add headers first, then exactly one reply ---- */
/* False: there is no memory for it. */
bool http_add_header(struct http_exchange *x, const char *name, const char *value);
/* copies */
void http_reply(struct http_exchange *x, unsigned status, const char *type, const void *body,
                size_t n);
/* The same without a copy: the bytes outlive the server. For 304 they are what is not sent. */
void http_reply_static(struct http_exchange *x, unsigned status, const char *type, const void *body,
                       size_t n);
/* frees json */
void http_reply_json(struct http_exchange *x, unsigned status, cJSON *json);
/* field: NULL or the path of the wrong member or parameter */
void http_problem(struct http_exchange *x, unsigned status, const char *field, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* The same if the status alone does not say what is wrong. */
void http_problem_of(struct http_exchange *x, enum problem kind, const char *field,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* For an answer that takes long to make: fn(context, x) makes it on a thread of its own, with the
 * usual calls, while the connection holds no thread of the server. The handler returns at once and
 * uses x no more. How many run at once is the caller's to bound. False: an answer was given, and fn
 * is not called. */
bool http_aside(struct http_exchange *x, http_handler *fn, void *context);
/* For fn, some times a second: nobody waits for the answer any more. The client has closed its end (or
 * its half: whoever waits for an answer here keeps it open), or the server stops. */
bool http_gone(const struct http_exchange *x);

/* A body that is made while it is sent. `read` fills at most n bytes and returns how many; 0: the
 * end; below 0: a failure. The connection is then cut, so that the client sees that the body is not
 * whole. */
struct http_source {
    void *context;
    int64_t (*read)(void *context, uint64_t offset, void *out, size_t n);
    /* frees context; called once, also when the answer could not be given */
    void (*done)(void *context);
    /* for a live answer: bytes that mean nothing, to find out whether the client is there; or
     * NULL */
    const char *sign;
};
#define HTTP_SIZE_UNKNOWN UINT64_MAX
/* Returns whether its bytes are sent: not for HEAD. */
bool http_reply_source(struct http_exchange *x, unsigned status, const char *type, uint64_t size,
                       const struct http_source *source);

/* An answer that goes on until the client leaves or the server stops (server-sent events). `read`
 * returns HTTP_LATER when it has nothing to send. The connection is then set aside, at no cost to
 * others, until http_live_wake. Returns what to wake, valid until `done` is called; NULL: nothing
 * is ever sent, because the answer could not be given or is to HEAD. */
#define HTTP_LATER INT64_MIN
struct http_live;
struct http_live *http_reply_live(struct http_exchange *x, const char *type,
                                  const struct http_source *source);
/* Any thread; a wake between two reads is not lost. */
void http_live_wake(struct http_live *live);

/* Answers a GET of `size` bytes with `etag` (with its quotes): 200, 206, 304 or 416 as Range,
 * If-Range and If-None-Match say. Returns whether bytes are sent. */
bool http_reply_ranged(struct http_exchange *x, const char *type, uint64_t size, const char *etag,
                       const struct http_source *source);

#endif
