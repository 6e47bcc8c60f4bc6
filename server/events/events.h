/* SPDX-License-Identifier: Apache-2.0
 *
 * What has just happened in the collector, for watchers (GET /api/v1/events): the last events in
 * memory, and the watchers that wait for the next. Any thread publishes. Nobody ever waits for a
 * watcher: one that is too slow is told that it has missed some.
 *
 * Ids grow also over restarts (they begin with the time), so a watcher that comes back with its
 * last id gets what followed, or learns that there is a gap.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <cjson/cJSON.h>

#include "buf.h"
#include "http.h"

struct events;
struct events_watch; /* one watcher: the source of one answer */

/* SKEIN_OK, SKEIN_NO_MEMORY. max_watches: watchers at once. */
int events_new(size_t max_watches, struct events **out);
/* No watcher may be left: after http_stop. */
void events_free(struct events **events);

struct event_note {
    const char *type;  /* "capture.finished" */
    const char *about; /* member that says what it is about, "capture", and its value */
    const char *name;
    /* The processes it concerns, as process_labels_put lists them. NULL or empty: none, so only
     * those who may see everything see it. Stays the caller's. */
    const struct buf *processes;
    cJSON *data; /* further members, owned by the event; NULL: none */
};
/* Never blocks for long; never fails its caller: without memory the event is missing, and watchers
 * see a gap. `events` may be NULL. Any thread. */
void events_publish(struct events *events, const struct event_note *note);

/* Sends waiting watchers a sign of life when it is time. Any thread, about every second. */
void events_tick(struct events *events, uint64_t now_monotonic_ns);

struct events_query {
    const char *types; /* "capture.finished,rule.*"; NULL: all */
    /* NULL: everything. Else only events of matching processes, and of these only what they are
     * about. Copied. */
    const char *selector_text;
    const char *who; /* whose place it takes (places.h); NULL: nobody's. Copied */
    bool resume;
    uint64_t after; /* with resume: the last id that the watcher has seen */
};
/* SKEIN_OK; SKEIN_FULL (max_watches watch); SKEIN_INVALID (selector); SKEIN_NO_MEMORY. */
int events_watch_new(struct events *events, const struct events_query *query,
                     struct events_watch **out);
/* Gives what there is to send: at most n bytes, HTTP_LATER, or a status. One thread at a time. */
int64_t events_watch_read(struct events_watch *w, void *out, size_t n);
/* Sets whom to wake when there is something (the HTTP server's). Call it before the first read. */
void events_watch_live(struct events_watch *w, struct http_live *live);
void events_watch_free(struct events_watch *w);

/* Whether each item of a list of types ("a.b,c.*") names one that there is. */
bool event_types_known(const char *list);

#endif
