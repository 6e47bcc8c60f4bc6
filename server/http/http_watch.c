/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds connections to deadlines. Owns the list of open connections and one thread that shuts down
 * those whose deadline is over; entered by all threads of the HTTP server, under one lock.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "clock.h"
#include "http_int.h"
#include "metrics.h"
#include "own_thread.h"

#define STEP_NS (UINT64_C(250) * 1000000u)

struct http_link {
    struct http_link *prev, *next;
    int fd;
    uint64_t deadline_ns; /* monotonic */
    bool answering;
};

struct http_watch {
    void (*look)(void *context);
    void *context;
    struct own_thread thread; /* its lock guards what follows, and all links */
    struct http_link *links;
    uint64_t answering;
};

static void *watch_run(void *context)
{
    struct http_watch *w = context;
    pthread_mutex_lock(&w->thread.lock);
    while (!own_thread_is_stopping(&w->thread)) {
        uint64_t now = clock_monotonic_ns();
        for (struct http_link *link = w->links; link != NULL; link = link->next) {
            if (link->deadline_ns > now)
                continue;
            shutdown(link->fd, SHUT_RDWR);
            link->deadline_ns = UINT64_MAX;
            metrics_add(http_slow_clients_total, 1);
        }
        (void)own_thread_wait(&w->thread, now + STEP_NS);
        pthread_mutex_unlock(&w->thread.lock);
        w->look(w->context);
        pthread_mutex_lock(&w->thread.lock);
    }
    pthread_mutex_unlock(&w->thread.lock);
    return NULL;
}

struct http_watch *http_watch_start(void (*look)(void *context), void *context)
{
    struct http_watch *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->look = look;
    w->context = context;
    own_thread_init(&w->thread);
    if (own_thread_start(&w->thread, watch_run, w) == SKEIN_OK)
        return w;
    own_thread_end(&w->thread);
    free(w);
    return NULL;
}

void http_watch_stop(struct http_watch **watch)
{
    struct http_watch *w = *watch;
    if (w == NULL)
        return;
    own_thread_end(&w->thread);
    free(w);
    *watch = NULL;
}

struct http_link *http_watch_add(struct http_watch *w, int fd, uint64_t deadline_ns)
{
    struct http_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    link->fd = fd;
    link->deadline_ns = clock_monotonic_ns() + deadline_ns;
    pthread_mutex_lock(&w->thread.lock);
    link->next = w->links;
    if (w->links != NULL)
        w->links->prev = link;
    w->links = link;
    pthread_mutex_unlock(&w->thread.lock);
    return link;
}

/* Locked. The watchdog wakes as well; it is seldom enough. */
static void answering_set(struct http_watch *w, struct http_link *link, bool answering)
{
    if (link->answering == answering)
        return;
    link->answering = answering;
    if (answering)
        w->answering++;
    else if (--w->answering == 0)
        pthread_cond_broadcast(&w->thread.changed);
}

void http_watch_remove(struct http_watch *w, struct http_link *link)
{
    if (link == NULL)
        return;
    pthread_mutex_lock(&w->thread.lock);
    answering_set(w, link, false);
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        w->links = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    pthread_mutex_unlock(&w->thread.lock);
    free(link);
}

void http_watch_deadline(struct http_watch *w, struct http_link *link, uint64_t from_now_ns)
{
    if (link == NULL)
        return;
    pthread_mutex_lock(&w->thread.lock);
    link->deadline_ns = clock_monotonic_ns() + from_now_ns;
    pthread_mutex_unlock(&w->thread.lock);
}

void http_watch_answering(struct http_watch *w, struct http_link *link, bool answering)
{
    if (link == NULL)
        return;
    pthread_mutex_lock(&w->thread.lock);
    answering_set(w, link, answering);
    pthread_mutex_unlock(&w->thread.lock);
}

void http_watch_wait(struct http_watch *w, uint64_t timeout_ms)
{
    uint64_t until_ns = clock_monotonic_ns() + timeout_ms * 1000000u;
    pthread_mutex_lock(&w->thread.lock);
    while (w->answering > 0 && own_thread_wait(&w->thread, until_ns))
        continue;
    pthread_mutex_unlock(&w->thread.lock);
}
