/* SPDX-License-Identifier: Apache-2.0
 *
 * What the handlers of the HTTP API (docs/api.md, api_handlers.h) share. For api_*.c and triggers.c
 * alone. Handlers run on the HTTP server's threads; their context is the struct api_services.
 */
#ifndef API_H
#define API_H

#include "api_services.h"
#include "capture_incident.h"
#include "json.h"
#include "withhold.h"

/* api_agents.c */
cJSON *api_process_json(struct fleet *f, const struct fleet_process *p) CONTROL_LOCKED;
/* Adds since when the agent is enrolled, and revoked; nothing if it is not. (api_enroll.c) */
void api_add_enrolment(struct enroll *enroll, cJSON *agent);
/* api_captures.c */
void api_no_capture(struct http_exchange *x); /* 404 */
/* The capture as the asker sees it, which the caller frees; false: an answer was given. */
bool api_capture_get(struct api_services *api, struct http_exchange *x, const struct capture_id *id,
                     cJSON **capture);
/* Adds its `url`, where that is known. */
void api_add_url(const struct api_services *api, cJSON *capture);
/* Answers a change of a capture or an incident that failed: 404, 403, or as api_failed. */
void api_no_pin(struct http_exchange *x); /* SKEIN_REFUSED of a pin (capture.h) */
void api_no_change(struct http_exchange *x, int status, const char *what);
/* Reads what a request is about: the capture in its path, or else all of the query's `incident`,
 * which must be there. False: an answer was given. */
bool api_captures_id(struct http_exchange *x, struct capture_id *id, bool *incident);
/* What a request is about: the capture in its path, or all captures of `incident` that the asker
 * sees. Not to be copied. api_captures_of false: an answer was given; true: call
 * api_captures_fini. */
struct api_captures {
    struct capture_id id; /* the capture's or the incident's */
    bool incident;
    struct capture_ids all;
};
bool api_captures_of(struct api_services *api, struct http_exchange *x, struct api_captures *out);
void api_captures_fini(struct api_captures *captures);
/* api_audit.c */
/* Tells the audit log of a change, or of a download that begins, after it was tried. result:
 * api_result; detail may be NULL. A malformed request (422) is no change. */
void api_audit(struct http_exchange *x, const char *action, const char *object, const char *result,
               const char *detail);
void api_audit_id(struct http_exchange *x, const char *action, const uint8_t id[16], int status,
                  const char *detail);
const char *api_result(int status); /* "ok", or the status's words */
/* The same for a change of what api_captures_id has read. Of an incident: one entry for each of
 * `ids`, or one for the incident where there are none, and its words instead of `detail`. */
void api_audit_captures(struct http_exchange *x, const char *action, const struct capture_id *id,
                        bool incident, const struct capture_ids *ids, int status,
                        const char *detail); /* api_captures.c */
/* api_matches.c */
/* Answers with the processes that a capture with this selector would have as targets. */
void api_reply_matches(struct api_services *api, struct http_exchange *x, const char *selector);

/* Takes a place among the exports, and has fn(context, x) answer beside the server's threads
 * (http_aside); fn leaves the place by places_leave(api->exports, api_holder(x)). False: an answer was
 * given, and fn is not called. (api_ask.c) */
bool api_read_aside(struct http_exchange *x, http_handler *fn, void *context);

/* ---- reading stored captures ---- (api_ask.c) */

struct trace_stream;
struct trace_stream_query;
/* Opens what is stored of the capture for reading in any order. The query says of what, and when to
 * stop; the rest of it is filled. *damaged: partitions were left out for damage. SKEIN_OK, or a status
 * of capture_ranges and trace_stream_open. */
int api_stream_open(struct api_services *api, const struct capture_id *capture,
                    struct trace_stream_query *query, bool *damaged, struct trace_stream **out);
/* The event groups that the capture names (0: none). As catalog_capture. */
int64_t api_groups_of(struct api_services *api, const struct capture_id *capture, uint64_t *groups);
/* What a reader's answer means: a source that has no such partition any more had it when it was opened
 * (SKEIN_AGAIN). */
int api_read_status(int status);
/* Answers for what may go wrong while a capture is read; `less` says how to ask for less. */
void api_read_failed(struct http_exchange *x, const struct capture_id *capture, int status,
                     const char *error, const char *less);

/* What of evidence the asker may not know (withhold.h). */
struct withhold api_withhold(const struct http_exchange *x); /* api_access.c */

/* Who holds places (places.h): the token's holder; "": there is no token. */
const char *api_holder(const struct http_exchange *x); /* api_access.c */

void api_named_none(struct http_exchange *x, const struct named_set *set); /* 404 (api_named.c) */

/* ---- api_util.c ---- */

#define API_LIMIT_DEFAULT 100
#define API_LIMIT_MAX     1000

/* Each reads a query parameter; false: a 400 that names the parameter was given. */
/* A whole number from 1 to `most`; *number stays as it is where there is none. */
bool api_query_number(struct http_exchange *x, const char *name, size_t most, size_t *number);
bool api_limit(struct http_exchange *x, size_t *limit);
/* A time, RFC 3339 or nanoseconds. */
bool api_query_time(struct http_exchange *x, const char *name, uint64_t otherwise, uint64_t *ns);
/* `from` and `to`, RFC 3339 or nanoseconds; all times if they are absent. */
bool api_window(struct http_exchange *x, uint64_t *from_ns, uint64_t *to_ns);
/* The same by two other names; 0: not asked for. */
bool api_times(struct http_exchange *x, const char *from, const char *to, uint64_t *from_ns,
               uint64_t *to_ns);
/* The parameter and what the principal is confined to, as one selector; NULL: neither. The caller
 * frees it. `text` has room for both, and may be NULL. */
#define API_SELECTOR_BYTES (8192 + PRINCIPAL_SELECTOR_BYTES)
bool api_selector(struct http_exchange *x, struct selector **selector,
                  char text[API_SELECTOR_BYTES]);
/* The same with `text` (may be NULL) in place of the parameter. SKEIN_OK; SKEIN_INVALID with words
 * in error. */
int api_confine(const struct http_exchange *x, const char *text, struct selector **selector,
                char out[API_SELECTOR_BYTES], char *error, size_t error_bytes);

/* Reads the header Idempotency-Key into once->key, if there is one. `what` tells requests with
 * equal bodies apart. False: a 400 was given. */
bool api_once(struct http_exchange *x, const cJSON *body, const char *what,
              struct capture_once *once);
/* Answers 422 or 409 if the status is about the key (capture_create); false: it is not. */
bool api_once_refused(struct http_exchange *x, int status);

/* Each reads an optional member of a body as a time; false: it is absent or wrong. api_body_moment
 * takes one that is not more than an hour ahead, and not 0. */
bool api_body_time(struct json_reader *r, const cJSON *body, const char *key, uint64_t *ns);
bool api_body_moment(struct json_reader *r, const cJSON *body, const char *key, uint64_t *ns);

bool api_query_id(struct http_exchange *x, const char *name, uint8_t id[16], bool *given);

/* Reads "<number>-<rest>"; *rest points into the text. */
bool api_cursor_parse(const char *text, uint64_t *number, const char **rest);
/* Reads the parameter `cursor` like that; *given false: there is none. False: a 400 was given. */
bool api_cursor(struct http_exchange *x, bool *given, uint64_t *number, const char **rest);
void api_bad_cursor(struct http_exchange *x);

/* Part 0 of the path as an id; false: a 404 was given. */
bool api_path_id(struct http_exchange *x, const char *what, uint8_t id[16]);

/* Answers {"items":[...]}, with the cursor unless it is NULL. Owns items from here on. */
void api_reply_items(struct http_exchange *x, cJSON *items, const char *next_cursor);

/* A page of things that come in the order of their keys; the last key is the cursor. api_page_begin
 * false: a 400 was given. api_page_wants: whether this thing is on the page; *more: no further one
 * is. api_page_reply answers, with the words if the listing failed. */
struct api_page {
    cJSON *items;
    const char *after;
    size_t limit, count;
    char last[PRINCIPAL_NAME_BYTES];
    bool more;
};
bool api_page_begin(struct http_exchange *x, struct api_page *page);
bool api_page_wants(struct api_page *page, const char *key);
void api_page_reply(struct http_exchange *x, struct api_page *page, int64_t status,
                    const char *words);

/* Answers 422 for "path: what is wrong"; the path becomes `field`. */
void api_invalid(struct http_exchange *x, const char *error);
/* Answers 503 or 500 for a failure that is not the client's. */
void api_failed(struct http_exchange *x, int status, const char *what);
/* Answers 500, and says where the damage is; `more` ends the sentence. (api_partitions.c) */
void api_damaged(struct api_services *api, struct http_exchange *x, const struct partition_key *key,
                 const char *more);

void api_add_labels(cJSON *to, const char *key, const char *labels); /* "k=v,…" as an object */

#endif
