/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that take long to make: each is made on a thread of its own, while its connection is
 * suspended in libmicrohttpd, so that it holds none of the server's threads. How many there are at
 * once is the handlers' to bound.
 *
 *            http_aside                     made: resumed
 *   handler ------------> suspended, RUNS ----------------> DONE: a thread of the server sends it
 *
 * libmicrohttpd neither closes nor times out a connection that is suspended, and cannot stop while one
 * is. So an exchange that is aside lives until it is resumed, and http_stop waits for all of them.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "http_mhd_int.h"
#include "log.h"
#include "skein_check.h"

struct http_asides {
    pthread_mutex_t lock; /* guards what follows, and the aside state of all exchanges */
    pthread_cond_t ended;
    size_t running;
    bool stopping;
};

/* Locked. */
static void aside_assert(const struct http_asides *asides, const struct http_exchange *x)
{
    skein_check(x->aside <= HTTP_ASIDE_DONE);
    skein_check(x->aside == HTTP_ASIDE_NONE || x->aside_fn != NULL);
    skein_check(x->aside != HTTP_ASIDE_RUNS || asides->running > 0);
}

/* Locked: one step of the drawing. */
static void aside_set(struct http_asides *asides, struct http_exchange *x,
                      enum http_aside_state state)
{
    aside_assert(asides, x);
    skein_check(x->aside + 1 == state);
    x->aside = state;
    asides->running += state == HTTP_ASIDE_RUNS;
    aside_assert(asides, x);
    asides->running -= state == HTTP_ASIDE_DONE;
}

struct http_asides *http_asides_new(void)
{
    struct http_asides *asides = calloc(1, sizeof *asides);
    if (asides != NULL) {
        pthread_mutex_init(&asides->lock, NULL);
        pthread_cond_init(&asides->ended, NULL);
    }
    return asides;
}

void http_asides_free(struct http_asides **asides)
{
    if (*asides == NULL)
        return;
    pthread_cond_destroy(&(*asides)->ended);
    pthread_mutex_destroy(&(*asides)->lock);
    free(*asides);
    *asides = NULL;
}

void http_asides_wait(struct http_asides *asides)
{
    pthread_mutex_lock(&asides->lock);
    asides->stopping = true;
    while (asides->running > 0)
        pthread_cond_wait(&asides->ended, &asides->lock);
    pthread_mutex_unlock(&asides->lock);
}

static void *aside_run(void *context)
{
    struct http_exchange *x = context;
    struct http_asides *asides = x->server->asides;
    pthread_mutex_lock(&asides->lock); /* until the connection is suspended */
    pthread_mutex_unlock(&asides->lock);
    log_set_request(x->request_id);
    x->aside_fn(x->aside_context, x);
    log_set_request(NULL);
    pthread_mutex_lock(&asides->lock);
    aside_set(asides, x, HTTP_ASIDE_DONE);
    MHD_resume_connection(x->connection); /* from here on the exchange is the server's */
    pthread_cond_broadcast(&asides->ended);
    pthread_mutex_unlock(&asides->lock);
    return NULL;
}

/* Locked. Its thread begins when the lock is free. */
static bool aside_start(struct http_asides *asides, struct http_exchange *x)
{
    pthread_t thread;
    if (asides->stopping || x->aside != HTTP_ASIDE_NONE ||
        pthread_create(&thread, NULL, aside_run, x) != 0)
        return false;
    pthread_detach(thread);
    aside_set(asides, x, HTTP_ASIDE_RUNS);
    MHD_suspend_connection(x->connection);
    return true;
}

bool http_aside(struct http_exchange *x, http_handler *fn, void *context)
{
    struct http_asides *asides = x->server->asides;
    struct http_watch *watch = x->server->watch;
    x->aside_fn = fn;
    x->aside_context = context;
    /* Before it begins: it may be over at once. */
    http_watch_deadline(watch, x->link, HTTP_NO_DEADLINE);
    http_watch_answering(watch, x->link, true);
    pthread_mutex_lock(&asides->lock);
    bool started = aside_start(asides, x);
    pthread_mutex_unlock(&asides->lock);
    if (!started)
        http_problem_of(x, PROBLEM_UNAVAILABLE, NULL,
                        "the collector stops, or has no thread for this");
    return started;
}

bool http_aside_runs(struct http_exchange *x)
{
    struct http_asides *asides = x->server->asides;
    pthread_mutex_lock(&asides->lock);
    aside_assert(asides, x);
    bool runs = x->aside == HTTP_ASIDE_RUNS;
    pthread_mutex_unlock(&asides->lock);
    return runs;
}

bool http_gone(const struct http_exchange *x)
{
    struct pollfd p = {.fd = x->peer->door.fd, .events = POLLRDHUP};
    if (__atomic_load_n(&x->server->stopping, __ATOMIC_RELAXED))
        return true;
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}
