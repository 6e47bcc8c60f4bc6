/* SPDX-License-Identifier: Apache-2.0
 * Handlers for tests of the HTTP server. */
#include "http_subject.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_live *live; /* guarded by live_lock, as is ticks */
static unsigned ticks;

static void small(void *context, struct http_exchange *x)
{
    (void)context;
    http_reply(x, 200, "text/plain", "small", 5);
}

/* Longer than the bound of whoever asks for it: the server's watchdog has looked twice. */
static void slow(void *context, struct http_exchange *x)
{
    poll(NULL, 0, SUBJECT_SLOW_MS);
    small(context, x);
}

static int64_t read_big(void *context, uint64_t offset, void *out, size_t n)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)((offset + i) % 251);
    return (int64_t)n;
}

static void done(void *context)
{
    (void)context;
}

static void big(void *context, struct http_exchange *x)
{
    struct http_source source = {context, read_big, done, NULL};
    http_reply_ranged(x, "application/octet-stream", SUBJECT_BIG_BYTES, "\"big\"", &source);
}

static int64_t read_live(void *context, uint64_t offset, void *out, size_t n)
{
    (void)context;
    (void)offset;
    (void)n;
    pthread_mutex_lock(&live_lock);
    bool some = ticks > 0;
    if (some)
        ticks--;
    pthread_mutex_unlock(&live_lock);
    if (!some)
        return HTTP_LATER;
    memcpy(out, "tick", 4);
    return 4;
}

static void end_live(void *context)
{
    (void)context;
    pthread_mutex_lock(&live_lock);
    live = NULL;
    pthread_mutex_unlock(&live_lock);
}

static void begin_live(void *context, struct http_exchange *x)
{
    struct http_source source = {context, read_live, end_live, ":\n\n"};
    pthread_mutex_lock(&live_lock);
    live = http_reply_live(x, "text/event-stream", &source);
    pthread_mutex_unlock(&live_lock);
}

void subject_tick(void)
{
    pthread_mutex_lock(&live_lock);
    ticks++;
    if (live != NULL)
        http_live_wake(live);
    pthread_mutex_unlock(&live_lock);
}

bool subject_is_heard(void)
{
    pthread_mutex_lock(&live_lock);
    bool heard = live != NULL;
    pthread_mutex_unlock(&live_lock);
    return heard;
}

static bool held;       /* atomic, as asides */
static unsigned asides; /* that are being made */

void subject_hold(bool hold)
{
    __atomic_store_n(&held, hold, __ATOMIC_RELAXED);
}

unsigned subject_asides(void)
{
    return __atomic_load_n(&asides, __ATOMIC_RELAXED);
}

static void aside_make(void *context, struct http_exchange *x)
{
    bool gone = false;
    __atomic_add_fetch(&asides, 1, __ATOMIC_RELAXED);
    while (!gone && __atomic_load_n(&held, __ATOMIC_RELAXED)) {
        poll(NULL, 0, 5);
        gone = http_gone(x);
    }
    if (gone)
        http_problem(x, 503, NULL, "nobody waits for it");
    else
        small(context, x);
    __atomic_sub_fetch(&asides, 1, __ATOMIC_RELAXED);
}

static void aside(void *context, struct http_exchange *x)
{
    http_aside(x, aside_make, context);
}

static void echo(void *context, struct http_exchange *x)
{
    (void)context;
    cJSON *body = http_body_json(x);
    if (body != NULL)
        http_reply_json(x, 200, body);
}

/* JSON of as many bytes as `n` says, and with `tag` an entity tag. */
static void json(void *context, struct http_exchange *x)
{
    const char *bytes = http_query(x, "n");
    size_t n = bytes != NULL ? strtoul(bytes, NULL, 10) : 2;
    char *text = malloc(n);
    (void)context;
    if (text == NULL || n < 2)
        return free(text);
    memset(text, 'a', n);
    text[0] = text[n - 1] = '"';
    if (http_query(x, "tag") != NULL)
        http_add_header(x, "ETag", "\"tag\"");
    http_reply(x, 200, http_query(x, "text") != NULL ? "text/plain" : "application/json", text, n);
    free(text);
}

const struct http_route subject_routes[] = {
    {"GET", "/small", small, HTTP_PUBLIC, NULL}, {"GET", "/slow", slow, HTTP_PUBLIC, NULL},
    {"GET", "/big", big, HTTP_PUBLIC, NULL},     {"GET", "/live", begin_live, HTTP_PUBLIC, NULL},
    {"GET", "/aside", aside, HTTP_PUBLIC, NULL}, {"POST", "/echo", echo, HTTP_PUBLIC, NULL},
    {"GET", "/json", json, HTTP_PUBLIC, NULL},   {NULL, NULL, NULL, 0, NULL}};

struct http_settings subject_settings(void)
{
    return (struct http_settings){.address = "127.0.0.1:0",
                                  .max_body_bytes = 1024,
                                  .max_connections = 256,
                                  .max_connections_per_ip = 256,
                                  .threads = 2,
                                  .receive_ms = 60000,
                                  .idle_ms = 60000,
                                  .drain_ms = 100};
}
