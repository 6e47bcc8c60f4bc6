/* SPDX-License-Identifier: Apache-2.0
 *
 * What the handlers of the HTTP API (docs/api.md, api_handlers.h) share. For api_*.c and triggers.c
 * alone. Handlers run on the HTTP server's threads; their context is the struct api_services.
 */
#ifndef API_H
#define API_H

#include "api_services.h"
#include "capture_incident.h"

/* api_agents.c */
cJSON *api_process_json(struct fleet *f, const struct fleet_process *p) CONTROL_LOCKED;
/* api_enroll.c */
/* Since when the agent is enrolled, and revoked; nothing for one that is not. */
void api_add_enrolment(struct enroll *enroll, cJSON *agent);
/* api_captures.c */
void api_no_capture(struct http_exchange *x); /* 404 */
/* Answers for a change of a capture, or an incident, that failed: 404, 403, or as api_failed. */
void api_no_change(struct http_exchange *x, int status, const char *what);
/* The query's `incident`, which must be there; false after a 400. */
bool api_incident(struct http_exchange *x, struct capture_id *incident);
/* What a request is about: the capture in its path, or all of `incident` that the asker sees. Not
 * to be copied. api_captures_of is false after an answer; else api_captures_fini. */
struct api_captures {
    struct capture_id id; /* of the one or the other */
    bool incident;
    struct capture_ids all;
};
bool api_captures_of(struct api_services *api, struct http_exchange *x, struct api_captures *out);
void api_captures_fini(struct api_captures *captures);
/* api_audit.c */
/* Tells the audit log of a change, or of a download that begins, after it was tried. result:
 * api_result; detail may be NULL. What was refused as malformed (422) is no change. */
void api_audit(struct http_exchange *x, const char *action, const char *object, const char *result,
               const char *detail);
void api_audit_id(struct http_exchange *x, const char *action, const uint8_t id[16], int status,
                  const char *detail);
const char *api_result(int status); /* "ok", or the status's words */
/* The same for what was done to all captures of an incident: an entry for each of `ids`; one for
 * the incident, where there are none. */
void api_audit_incident(struct http_exchange *x, const char *action,
                        const struct capture_id *incident, const struct capture_ids *ids,
                        int status); /* api_captures.c */
/* api_matches.c */
/* Processes that a capture with this selector would have as targets. */
void api_reply_matches(struct api_services *api, struct http_exchange *x, const char *selector);

/* Whose places are taken: a token holder's; "" where there is no token. */
const char *api_holder(const struct http_exchange *x); /* api_access.c */

/* api_named.c: the handlers of a set of things with names. hide takes out of an answer what who
 * asks must not see; NULL: nothing. */
typedef void api_named_hide(const struct http_exchange *x, cJSON *json);
void api_named_list(struct http_exchange *x, struct named_set *set, api_named_hide *hide);
void api_named_get(struct http_exchange *x, struct named_set *set, api_named_hide *hide);
void api_named_change(struct http_exchange *x, struct named_set *set, bool patch);
void api_named_delete(struct http_exchange *x, struct named_set *set);
void api_named_matches(struct api_services *api, struct http_exchange *x, struct named_set *set);
void api_named_none(struct http_exchange *x, const struct named_set *set); /* 404 */

/* ---- api_util.c ---- */

#define API_LIMIT_DEFAULT 100
#define API_LIMIT_MAX     1000

/* Each reads a query parameter; false after a 400 with the parameter's name was given. */
bool api_limit(struct http_exchange *x, size_t *limit);
/* `from` and `to`, RFC 3339 or nanoseconds; all times where they are absent. */
bool api_window(struct http_exchange *x, uint64_t *from_ns, uint64_t *to_ns);
/* Of the parameter and of what the principal is confined to, both; NULL where there is neither;
 * freed by the caller. The text, with room for both, may be NULL. */
#define API_SELECTOR_BYTES (8192 + PRINCIPAL_SELECTOR_BYTES)
bool api_selector(struct http_exchange *x, struct selector **selector,
                  char text[API_SELECTOR_BYTES]);
/* The same of a text that is not the parameter, or NULL. SKEIN_OK; SKEIN_INVALID with words in
 * error. */
int api_confine(const struct http_exchange *x, const char *text, struct selector **selector,
                char out[API_SELECTOR_BYTES], char *error, size_t error_bytes);

/* The header Idempotency-Key: once->key where there is one; `what` tells requests with the same
 * body apart. False after a 400 was given. */
bool api_once(struct http_exchange *x, const cJSON *body, const char *what,
              struct capture_once *once);
/* Answers 422 or 409 for capture_create's statuses that are about the key; false for others. */
bool api_once_refused(struct http_exchange *x, int status);

bool api_query_id(struct http_exchange *x, const char *name, uint8_t id[16], bool *given);

/* "<number>-<rest>": *rest points into the text. */
bool api_cursor_parse(const char *text, uint64_t *number, const char **rest);
/* The same of the parameter `cursor`; *given false where there is none. False after a 400. */
bool api_cursor(struct http_exchange *x, bool *given, uint64_t *number, const char **rest);
void api_bad_cursor(struct http_exchange *x);

/* Part 0 of the path as an id; false after a 404. */
bool api_path_id(struct http_exchange *x, const char *what, uint8_t id[16]);

/* {"items":[...]} with the cursor where it is not NULL. Takes items. */
void api_reply_items(struct http_exchange *x, cJSON *items, const char *next_cursor);

/* A page of things that come in the order of their keys, which are its cursor. api_page_begin:
 * false after a 400. api_page_wants: whether this one belongs to it; `more`: no further one does.
 * api_page_reply answers, with the words where the listing failed. */
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

/* 422 for "path: what is wrong": the path becomes `field`. */
void api_invalid(struct http_exchange *x, const char *error);
/* 503 or 500 for a failure that is not the client's. */
void api_failed(struct http_exchange *x, int status, const char *what);
/* 500, and where it lies; `more` ends the sentence. (api_partitions.c) */
void api_damaged(struct api_services *api, struct http_exchange *x, const struct partition_key *key,
                 const char *more);

/* Takes one of the places of what may take long, so that it does not take all threads; false after
 * a 503. `running` is atomic, `what` is for "2 tests of rules run already". */
bool api_enter(struct http_exchange *x, uint64_t *running, unsigned places, const char *what);
void api_leave(uint64_t *running);

void api_add_id(cJSON *to, const char *key, const uint8_t id[16]);
void api_add_labels(cJSON *to, const char *key, const char *labels); /* "k=v,…" as an object */

#endif
