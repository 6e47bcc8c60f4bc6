/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds connections to deadlines, and to their number. Owns the list of open connections and one
 * thread that shuts down those whose deadline is over; entered by all threads of the HTTP server,
 * under one lock.
 *
 * Where there are as many as may be, of all or of one address, one gives way to the newcomer: one
 * that waits for a request, and has perhaps never sent a byte, before one that is sending its own;
 * of these one of the address with most; of these the one that has been so longest. One that is
 * being answered never does.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "clock.h"
#include "http_int.h"
#include "metrics.h"
#include "own_thread.h"
#include "shares.h"

#define STEP_NS (UINT64_C(250) * 1000000u)

struct http_link {
    struct http_link *prev, *next;
    int fd;
    struct http_whence whence;
    uint64_t deadline_ns, since_ns; /* monotonic; since: as it is now */
    bool asking;                    /* a request has begun to come, or is being answered */
    bool answering;
    bool cut; /* it is shut down, and no longer counts */
};

struct http_watch {
    void (*look)(void *context);
    void *context;
    uint64_t max, max_per_address;
    struct own_thread thread; /* its lock guards what follows, and all links */
    struct http_link *links;
    uint64_t answering;
};

/* Locked. */
static void link_cut(struct http_link *link)
{
    shutdown(link->fd, SHUT_RDWR);
    link->deadline_ns = UINT64_MAX;
    link->cut = true;
}

static void *watch_run(void *context)
{
    struct http_watch *w = context;
    pthread_mutex_lock(&w->thread.lock);
    while (!own_thread_is_stopping(&w->thread)) {
        uint64_t now = clock_monotonic_ns();
        for (struct http_link *link = w->links; link != NULL; link = link->next) {
            if (link->deadline_ns > now)
                continue;
            link_cut(link);
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

struct http_watch *http_watch_start(uint64_t max, uint64_t max_per_address,
                                    void (*look)(void *context), void *context)
{
    struct http_watch *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->look = look;
    w->max = max;
    w->max_per_address = max_per_address;
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

/* ---- their number ---- */

/* Whether a gives way before b; tally: of the connections of each neighbourhood. */
static bool gives_way_before(const struct share_tally *tally, const struct http_link *a,
                             const struct http_link *b)
{
    uint64_t of_a = share_tally_of(tally, a->whence.around);
    uint64_t of_b = share_tally_of(tally, b->whence.around);
    if (a->asking != b->asking)
        return b->asking;
    return of_a != of_b ? of_a > of_b : a->since_ns < b->since_ns;
}

/* Locked. Makes room for one more of this address (of any: NULL). False: all are being answered. */
static bool room_make_for(struct http_watch *w, const struct http_whence *of, uint64_t max)
{
    struct share_tally tally = {{0}};
    struct http_link *out = NULL;
    uint64_t count = 0;
    for (struct http_link *link = w->links; link != NULL; link = link->next) {
        if (link->cut || (of != NULL && link->whence.address != of->address))
            continue;
        count++;
        share_tally_add(&tally, link->whence.around, 1);
    }
    if (count < max)
        return true;
    for (struct http_link *link = w->links; link != NULL; link = link->next) {
        if (link->cut || link->answering || (of != NULL && link->whence.address != of->address))
            continue;
        if (out == NULL || gives_way_before(&tally, link, out))
            out = link;
    }
    if (out == NULL)
        return false;
    link_cut(out);
    metrics_add(http_crowded_out_total, 1);
    return true;
}

struct http_link *http_watch_add(struct http_watch *w, int fd, const struct http_whence *whence,
                                 uint64_t deadline_ns)
{
    struct http_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    link->fd = fd;
    link->whence = *whence;
    link->since_ns = clock_monotonic_ns();
    link->deadline_ns = link->since_ns + deadline_ns;
    pthread_mutex_lock(&w->thread.lock);
    bool room = room_make_for(w, whence, w->max_per_address) && room_make_for(w, NULL, w->max);
    link->next = w->links;
    if (w->links != NULL)
        w->links->prev = link;
    w->links = link;
    if (!room) {
        link_cut(link);
        metrics_add(http_crowded_out_total, 1);
    }
    pthread_mutex_unlock(&w->thread.lock);
    return link;
}

void http_watch_asking(struct http_watch *w, struct http_link *link, bool asking)
{
    if (link == NULL)
        return;
    pthread_mutex_lock(&w->thread.lock);
    link->asking = asking;
    link->since_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&w->thread.lock);
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
    if (!link->cut)
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
