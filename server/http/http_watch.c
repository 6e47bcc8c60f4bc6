/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds connections to deadlines, and to their number. Owns the list of open connections and one
 * thread that shuts down those whose deadline is over; entered by all threads of the HTTP server,
 * under one lock.
 *
 * Where there are as many as may be, of all or of one address, one gives way to the newcomer: one of
 * the neighbourhood with most; of these one of the address with most; of these one that is older than
 * a second before one that may still be about to send its first request; of these one that waits for
 * a request, and has perhaps never sent a byte, before one whose request has begun to come; of these
 * the one that has been so longest. Where all are younger than a second, the oldest. One that is being
 * answered never does.
 *
 * Addresses come first: whoever fills the place with half requests has most there, however busy those
 * look, and whoever has just come with one connection, whose head is still on its way, has least.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "clock.h"
#include "http_int.h"
#include "metrics.h"
#include "own_thread.h"
#include "shares.h"

#define STEP_NS  (UINT64_C(250) * 1000000u)
#define FRESH_NS (UINT64_C(1000) * 1000000u) /* in which a newcomer's first request is to come */

struct http_link {
    struct http_link *prev, *next;
    int fd;
    struct http_whence whence;
    uint64_t deadline_ns;         /* monotonic, as these: */
    uint64_t opened_ns, since_ns; /* since: as it is now */
    bool asking;                  /* a request has begun to come, or is being answered */
    bool answering;
    bool cut; /* it is shut down, and no longer counts */
};

/* What the connections that are looked at have: by neighbourhood, and by address. Whose number falls
 * together with a crowd's in one tally seldom does in both, and the lesser is believed. */
struct crowd {
    struct share_tally around, address, again;
    uint64_t now_ns;
};

struct http_watch {
    void (*look)(void *context);
    void *context;
    uint64_t max, max_per_address;
    struct own_thread thread; /* its lock guards what follows, and all links */
    struct http_link *links;
    uint64_t answering;
    struct crowd crowd; /* of the newcomer that is looked at */
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

static uint64_t again_of(const struct http_link *link)
{
    return ~link->whence.address;
}

static uint64_t of_address(const struct crowd *crowd, const struct http_link *link)
{
    uint64_t one = share_tally_of(&crowd->address, link->whence.address);
    uint64_t other = share_tally_of(&crowd->again, again_of(link));
    return one < other ? one : other;
}

static bool is_fresh(const struct crowd *crowd, const struct http_link *link)
{
    return crowd->now_ns - link->opened_ns < FRESH_NS;
}

/* Whether a gives way before b. */
static bool gives_way_before(const struct crowd *crowd, const struct http_link *a,
                             const struct http_link *b)
{
    uint64_t near_a = share_tally_of(&crowd->around, a->whence.around);
    uint64_t near_b = share_tally_of(&crowd->around, b->whence.around);
    uint64_t of_a = of_address(crowd, a), of_b = of_address(crowd, b);
    bool fresh_a = is_fresh(crowd, a), fresh_b = is_fresh(crowd, b);
    if (near_a != near_b)
        return near_a > near_b;
    if (of_a != of_b)
        return of_a > of_b;
    if (fresh_a != fresh_b)
        return fresh_b;
    if (!fresh_a && a->asking != b->asking)
        return b->asking;
    return a->since_ns < b->since_ns;
}

static bool is_of(const struct http_link *link, const struct http_whence *of)
{
    return !link->cut && (of == NULL || link->whence.address == of->address);
}

/* Locked. Makes room for one more of this address (of any: NULL). False: all are being answered. */
static bool room_make_for(struct http_watch *w, const struct http_whence *of, uint64_t max)
{
    struct crowd *crowd = &w->crowd;
    struct http_link *out = NULL;
    uint64_t count = 0;
    for (const struct http_link *link = w->links; link != NULL; link = link->next)
        count += is_of(link, of);
    if (count < max)
        return true;
    *crowd = (struct crowd){.now_ns = clock_monotonic_ns()};
    for (const struct http_link *link = w->links; link != NULL; link = link->next) {
        if (!is_of(link, of))
            continue;
        share_tally_add(&crowd->around, link->whence.around, 1);
        share_tally_add(&crowd->address, link->whence.address, 1);
        share_tally_add(&crowd->again, again_of(link), 1);
    }
    for (struct http_link *link = w->links; link != NULL; link = link->next) {
        if (!is_of(link, of) || link->answering)
            continue;
        if (out == NULL || gives_way_before(crowd, link, out))
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
    link->opened_ns = link->since_ns = clock_monotonic_ns();
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
