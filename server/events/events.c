/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring of the last events and the list of watchers, under one lock that is held for copying
 * text alone. See events.h.
 */
#include "events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "metrics.h"
#include "places.h"
#include "process_labels.h"
#include "skein_check.h"

#define EVENTS_KEPT     4096
#define EVENT_BYTES_MAX (UINT64_C(64) << 10) /* a longer one is told without its data */
#define KEPT_BYTES_MAX  (UINT64_C(16) << 20)
#define PENDING_BYTES   (64u << 10)
#define SIGN_NS         (UINT64_C(15) * 1000000000u)

/* What may be published, and asked for. */
static const char *const types[] = {"agent.enrolled",    "agent.offline",   "agent.online",
                                    "capture.created",   "capture.deleted", "capture.finished",
                                    "rule.changed",      "rule.fired",      "rule.suppressed",
                                    "retention.deleted", "policy.changed"};
enum { TYPES = sizeof types / sizeof *types };

struct event {
    char type[48];
    char *whole; /* its data line; NULL: there was no memory for it */
    char *brief; /* for watchers that are confined */
    struct buf processes;
    size_t bytes;
};

struct events_watch {
    struct events_watch *prev, *next;
    struct events *events;
    struct selector *selector;
    char *types;
    uint64_t seen; /* the last id taken or passed over */
    bool greeted, sign_due;
    struct http_live *live;
    struct buf pending;
    size_t sent;
    char who[PRINCIPAL_NAME_BYTES];
};

struct events {
    pthread_mutex_t lock;
    struct event *ring;    /* EVENTS_KEPT; event id lies at id % EVENTS_KEPT */
    uint64_t oldest, next; /* ids of those kept: oldest up to next, without it */
    uint64_t kept_bytes;
    struct events_watch *watches;
    struct places *places;
    uint64_t sign_ns; /* monotonic; when the next signs of life are due */
};

/* ---- publishing ---- */

int events_new(size_t max_watches, struct events **out)
{
    struct events *e = calloc(1, sizeof *e);
    *out = NULL;
    if (e != NULL) {
        e->ring = calloc(EVENTS_KEPT, sizeof *e->ring);
        e->places = places_new(max_watches);
    }
    if (e == NULL || e->ring == NULL || e->places == NULL) {
        if (e != NULL) {
            places_free(&e->places);
            free(e->ring);
        }
        free(e);
        return SKEIN_NO_MEMORY;
    }
    pthread_mutex_init(&e->lock, NULL);
    /* Microseconds: no collector publishes a million events a second, so the next start's ids are
     * above all of this one's. */
    e->oldest = e->next = clock_realtime_ns() / 1000;
    *out = e;
    return SKEIN_OK;
}

static void event_clear(struct event *event)
{
    free(event->whole);
    free(event->brief);
    buf_fini(&event->processes);
    *event = (struct event){0};
}

void events_free(struct events **events)
{
    struct events *e = *events;
    if (e == NULL)
        return;
    for (size_t i = 0; i < EVENTS_KEPT; i++)
        event_clear(&e->ring[i]);
    pthread_mutex_destroy(&e->lock);
    places_free(&e->places);
    free(e->ring);
    free(e);
    *events = NULL;
}

/* {"type","time",ABOUT:NAME, ...data} as text to be freed; NULL without memory. */
static char *event_json(const struct event_note *note, const char *time, const cJSON *data)
{
    struct buf text = {0};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "type", note->type);
    cJSON_AddStringToObject(json, "time", time);
    if (note->about != NULL)
        cJSON_AddStringToObject(json, note->about, note->name);
    for (const cJSON *m = data != NULL ? data->child : NULL; m != NULL; m = m->next)
        cJSON_AddItemToObject(json, m->string, cJSON_Duplicate(m, true));
    if (json != NULL)
        json_print(json, &text);
    cJSON_Delete(json);
    buf_put_u8(&text, 0);
    if (text.status == SKEIN_OK && text.len > 1)
        return (char *)text.data;
    buf_fini(&text);
    return NULL;
}

static struct event event_make(const struct event_note *note)
{
    struct event event = {0};
    bool unlisted = false; /* who may see it is not known for lack of memory */
    char time[CLOCK_TEXT_BYTES];
    clock_text(clock_realtime_ns(), time);
    snprintf(event.type, sizeof event.type, "%s", note->type);
    event.brief = event_json(note, time, NULL);
    event.whole = event_json(note, time, note->data);
    if (event.whole != NULL && strlen(event.whole) > EVENT_BYTES_MAX) {
        free(event.whole);
        event.whole = event.brief != NULL ? strdup(event.brief) : NULL;
    }
    if (note->processes != NULL) {
        buf_put(&event.processes, note->processes->data, note->processes->len);
        unlisted = note->processes->status != SKEIN_OK || event.processes.status != SKEIN_OK;
    }
    if (event.whole == NULL || event.brief == NULL || unlisted) {
        event_clear(&event);
        return event;
    }
    event.bytes = strlen(event.whole) + strlen(event.brief) + event.processes.len;
    return event;
}

/* Locked. */
static void oldest_drop(struct events *e)
{
    struct event *old = &e->ring[e->oldest % EVENTS_KEPT];
    e->kept_bytes -= old->bytes;
    event_clear(old);
    e->oldest++;
}

/* Locked. */
static void watchers_wake(struct events *e)
{
    for (struct events_watch *w = e->watches; w != NULL; w = w->next)
        if (w->live != NULL)
            http_live_wake(w->live);
}

void events_publish(struct events *events, const struct event_note *note)
{
    skein_check(event_types_known(note->type));
    if (events != NULL) {
        struct event event = event_make(note);
        pthread_mutex_lock(&events->lock);
        while (
            events->next - events->oldest >= EVENTS_KEPT ||
            (events->oldest != events->next && events->kept_bytes + event.bytes > KEPT_BYTES_MAX))
            oldest_drop(events);
        events->ring[events->next++ % EVENTS_KEPT] = event;
        events->kept_bytes += event.bytes;
        watchers_wake(events);
        pthread_mutex_unlock(&events->lock);
        metrics_add(events_total, 1);
    }
    cJSON_Delete(note->data);
}

void events_tick(struct events *events, uint64_t now_monotonic_ns)
{
    if (events == NULL)
        return;
    pthread_mutex_lock(&events->lock);
    if (now_monotonic_ns >= events->sign_ns) {
        events->sign_ns = now_monotonic_ns + SIGN_NS;
        for (struct events_watch *w = events->watches; w != NULL; w = w->next)
            w->sign_due = true;
        watchers_wake(events);
    }
    pthread_mutex_unlock(&events->lock);
}

/* ---- watching ---- */

/* Whether one term of a list, n bytes, names this type. */
static bool names(const char *term, size_t n, const char *type)
{
    bool open = n > 0 && term[n - 1] == '*';
    size_t compare = open ? n - 1 : n;
    return strncmp(term, type, compare) == 0 && (open || type[compare] == '\0');
}

static bool event_type_in(const char *list, const char *type)
{
    while (*list != '\0') {
        size_t n = strcspn(list, ",");
        if (names(list, n, type))
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

bool event_types_known(const char *list)
{
    for (;;) {
        size_t n = strcspn(list, ","), i = 0;
        while (i < TYPES && !names(list, n, types[i]))
            i++;
        if (i == TYPES)
            return false;
        if (list[n] == '\0')
            return true;
        list += n + 1;
    }
}

int events_watch_new(struct events *events, const struct events_query *query,
                     struct events_watch **out)
{
    char error[256];
    int status = SKEIN_OK;
    struct events_watch *w = calloc(1, sizeof *w);
    *out = NULL;
    if (w == NULL)
        return SKEIN_NO_MEMORY;
    if (query->selector_text != NULL)
        status = selector_new(query->selector_text, &w->selector, error, sizeof error);
    if (status == SKEIN_OK && query->types != NULL && (w->types = strdup(query->types)) == NULL)
        status = SKEIN_NO_MEMORY;
    pthread_mutex_lock(&events->lock);
    snprintf(w->who, sizeof w->who, "%s", query->who != NULL ? query->who : "");
    if (status == SKEIN_OK && !places_enter(events->places, w->who))
        status = SKEIN_FULL;
    if (status == SKEIN_OK) {
        w->events = events;
        w->seen = query->resume ? query->after : events->next - 1;
        w->next = events->watches;
        if (w->next != NULL)
            w->next->prev = w;
        events->watches = w;
        metrics_set(event_watchers, places_taken(events->places));
    }
    pthread_mutex_unlock(&events->lock);
    if (status != SKEIN_OK)
        events_watch_free(w);
    else
        *out = w;
    return status;
}

void events_watch_live(struct events_watch *w, struct http_live *live)
{
    pthread_mutex_lock(&w->events->lock);
    w->live = live;
    pthread_mutex_unlock(&w->events->lock);
}

void events_watch_free(struct events_watch *w)
{
    if (w->events != NULL) {
        pthread_mutex_lock(&w->events->lock);
        if (w->prev != NULL)
            w->prev->next = w->next;
        else
            w->events->watches = w->next;
        if (w->next != NULL)
            w->next->prev = w->prev;
        places_leave(w->events->places, w->who);
        metrics_set(event_watchers, places_taken(w->events->places));
        pthread_mutex_unlock(&w->events->lock);
    }
    selector_free(&w->selector);
    free(w->types);
    buf_fini(&w->pending);
    free(w);
}

/* Locked. What is missing between the last id seen and the oldest kept. */
static void gap_put(struct events_watch *w)
{
    struct events *e = w->events;
    buf_printf(&w->pending,
               "id: %" PRIu64 "\nevent: gap\ndata: {\"type\":\"gap\",\"after\":\"%" PRIu64
               "\",\"before\":\"%" PRIu64 "\"}"
               "\n\n",
               (e->oldest - 1), w->seen, e->oldest);
    w->seen = e->oldest - 1;
}

/* Locked. */
static void event_put(struct events_watch *w, uint64_t id, const struct event *event)
{
    if (event->whole == NULL) {
        buf_printf(&w->pending, "id: %" PRIu64 "\nevent: gap\ndata: {\"type\":\"gap\"}\n\n", id);
        return;
    }
    if (w->types != NULL && !event_type_in(w->types, event->type))
        return;
    if (w->selector != NULL && !process_labels_match_any(w->selector, &event->processes))
        return;
    buf_printf(&w->pending, "id: %" PRIu64 "\nevent: %s\ndata: ", id, event->type);
    const char *data = w->selector != NULL ? event->brief : event->whole;
    buf_put(&w->pending, data, strlen(data));
    buf_put(&w->pending, "\n\n", 2);
}

static void events_fill(struct events_watch *w)
{
    struct events *e = w->events;
    pthread_mutex_lock(&e->lock);
    if (!w->greeted) {
        w->greeted = true;
        /* An id of another collector, or of one whose clock was ahead, is as good as none. */
        if (w->seen >= e->next)
            w->seen = e->oldest > 0 ? e->oldest - 1 : 0;
        buf_printf(&w->pending,
                   "retry: 2000\nid: %" PRIu64 "\nevent: ready\ndata: {\"type\":\"ready\"}\n\n",
                   w->seen);
    }
    if (w->seen + 1 < e->oldest)
        gap_put(w);
    while (w->seen + 1 < e->next && w->pending.len < PENDING_BYTES) {
        w->seen++;
        event_put(w, w->seen, &e->ring[w->seen % EVENTS_KEPT]);
    }
    /* It carries the id, so that a watcher whom nothing concerned does not come back to a gap. */
    if (w->pending.len == 0 && w->sign_due)
        buf_printf(&w->pending, ": still here\nid: %" PRIu64 "\n\n", w->seen);
    w->sign_due = false;
    pthread_mutex_unlock(&e->lock);
}

int64_t events_watch_read(struct events_watch *w, void *out, size_t n)
{
    if (w->sent == w->pending.len) {
        buf_clear(&w->pending);
        w->sent = 0;
        events_fill(w);
    }
    if (w->pending.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    if (w->pending.len == 0)
        return HTTP_LATER;
    size_t part = w->pending.len - w->sent < n ? w->pending.len - w->sent : n;
    memcpy(out, w->pending.data + w->sent, part);
    w->sent += part;
    return (int64_t)part;
}
