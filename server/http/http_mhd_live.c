/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that wait for something to happen: their connections are suspended in libmicrohttpd, so
 * that they hold no thread, and resumed by whoever has something to say. The reads are the server's
 * threads'; wakes come from any.
 *
 *            read: HTTP_LATER                      wake
 *   READING ------------------> suspended -----------------> READING
 *      |  wake: noted, so that the next HTTP_LATER reads again
 *
 * libmicrohttpd does not look at a connection that is set aside. The watchdog does: it asks whether
 * the receiver may still listen, and whether anybody is there. A client that has closed its half of
 * the connection may still read. A few bytes that mean nothing show it: if nobody is there, the
 * answer to them is a reset.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http_mhd_int.h"

#define PROBE_NS UINT64_C(1000000000) /* to who has closed its half, at most so often */

struct http_live {
    struct http_live *prev, *next;
    struct http_lives *lives;
    struct MHD_Connection *connection;
    int fd;
    uint64_t number; /* of all that have ever been */
    struct principal who;
    bool suspended, woken, probe, ended;
    uint64_t probed_ns;
};

struct http_lives {
    pthread_mutex_t lock; /* guards all of it, and all their live answers */
    struct http_live *list;
    size_t count;
    uint64_t numbers;
    bool stopping;
};

struct http_lives *http_lives_new(void)
{
    struct http_lives *lives = calloc(1, sizeof *lives);
    if (lives != NULL)
        pthread_mutex_init(&lives->lock, NULL);
    return lives;
}

void http_lives_free(struct http_lives **lives)
{
    if (*lives == NULL)
        return;
    pthread_mutex_destroy(&(*lives)->lock);
    free(*lives);
    *lives = NULL;
}

/* Locked. */
static void live_wake_locked(struct http_live *live)
{
    live->woken = true;
    if (live->suspended) {
        live->suspended = false;
        MHD_resume_connection(live->connection);
    }
}

void http_lives_stop(struct http_lives *lives)
{
    pthread_mutex_lock(&lives->lock);
    lives->stopping = true; /* none is suspended after this: libmicrohttpd cannot stop then */
    for (struct http_live *live = lives->list; live != NULL; live = live->next)
        live_wake_locked(live);
    pthread_mutex_unlock(&lives->lock);
}

struct http_live *http_live_new(struct http_lives *lives, struct MHD_Connection *connection, int fd,
                                const struct principal *who)
{
    struct http_live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return NULL;
    live->lives = lives;
    live->connection = connection;
    live->fd = fd;
    live->who = *who;
    live->who.selector = NULL; /* the exchange's */
    pthread_mutex_lock(&lives->lock);
    live->number = ++lives->numbers;
    live->next = lives->list;
    if (live->next != NULL)
        live->next->prev = live;
    lives->list = live;
    lives->count++;
    pthread_mutex_unlock(&lives->lock);
    return live;
}

void http_live_free(struct http_live *live)
{
    if (live == NULL)
        return;
    pthread_mutex_lock(&live->lives->lock);
    if (live->prev != NULL)
        live->prev->next = live->next;
    else
        live->lives->list = live->next;
    if (live->next != NULL)
        live->next->prev = live->prev;
    live->lives->count--;
    pthread_mutex_unlock(&live->lives->lock);
    free(live);
}

void http_live_wake(struct http_live *live)
{
    pthread_mutex_lock(&live->lives->lock);
    live_wake_locked(live);
    pthread_mutex_unlock(&live->lives->lock);
}

/* ---- the watchdog's look ---- */

struct listener {
    uint64_t number;
    struct principal who;
    bool ends;
};

/* Of those who may no longer listen. The permission is asked without the lock: it may take time,
 * and who publishes must not wait for it. */
static void live_end_forbidden(struct http_lives *lives, http_still *still, void *context)
{
    pthread_mutex_lock(&lives->lock);
    size_t count = 0, room = lives->count;
    struct listener *list = room > 0 ? calloc(room, sizeof *list) : NULL;
    for (struct http_live *live = lives->list; list != NULL && live != NULL; live = live->next)
        list[count++] = (struct listener){live->number, live->who, false};
    pthread_mutex_unlock(&lives->lock);
    for (size_t i = 0; i < count; i++)
        list[i].ends = !still(context, &list[i].who);
    pthread_mutex_lock(&lives->lock);
    for (struct http_live *live = lives->list; live != NULL; live = live->next) {
        for (size_t i = 0; i < count; i++)
            live->ended |= list[i].ends && list[i].number == live->number;
        if (live->ended)
            live_wake_locked(live);
    }
    pthread_mutex_unlock(&lives->lock);
    free(list);
}

/* Locked. */
static void live_probe(struct http_live *live, uint64_t now_ns)
{
    struct pollfd p = {.fd = live->fd, .events = POLLRDHUP};
    if (!live->suspended || poll(&p, 1, 0) <= 0)
        return;
    bool gone = (p.revents & (POLLHUP | POLLERR)) != 0;
    if (!gone && now_ns - live->probed_ns < PROBE_NS)
        return;
    live->probed_ns = now_ns;
    live->probe = true;
    live_wake_locked(live);
}

void http_lives_look(struct http_lives *lives, http_still *still, void *context)
{
    if (still != NULL)
        live_end_forbidden(lives, still, context);
    uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&lives->lock);
    for (struct http_live *live = lives->list; live != NULL; live = live->next)
        live_probe(live, now_ns);
    pthread_mutex_unlock(&lives->lock);
}

/* ---- reading ---- */

int64_t http_live_read(struct http_live *live, const struct http_source *source, void *out,
                       size_t n)
{
    struct http_lives *lives = live->lives;
    for (;;) {
        /* Before the read: what is published after it wakes us once more. */
        pthread_mutex_lock(&lives->lock);
        live->woken = false;
        bool ends = lives->stopping || live->ended, probed = live->probe;
        live->probe = false;
        pthread_mutex_unlock(&lives->lock);
        if (ends)
            return HTTP_LIVE_END;
        int64_t got = source->read(source->context, 0, out, n);
        if (got == 0)
            return HTTP_LIVE_END;
        if (got == HTTP_LATER && probed && source->sign != NULL) {
            size_t sign = strlen(source->sign) < n ? strlen(source->sign) : n;
            memcpy(out, source->sign, sign);
            return (int64_t)sign;
        }
        if (got != HTTP_LATER)
            return got;
        pthread_mutex_lock(&lives->lock);
        bool wait = !live->woken && !lives->stopping && !live->ended;
        if (wait) {
            live->suspended = true;
            MHD_suspend_connection(live->connection);
        }
        pthread_mutex_unlock(&lives->lock);
        if (wait)
            return 0;
    }
}
