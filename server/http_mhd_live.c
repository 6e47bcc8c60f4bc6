/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that wait for something to happen: their connections are suspended in libmicrohttpd, so
 * that they hold no thread, and resumed by whoever has something to say. The reads are the server's
 * threads'; wakes come from any.
 *
 *            read: HTTP_LATER                      wake
 *   READING ------------------> suspended -----------------> READING
 *      |  wake: noted, so that the next HTTP_LATER reads again
 */
#include <pthread.h>
#include <stdlib.h>

#include "http_mhd_int.h"

struct http_live {
    struct http_live *prev, *next;
    struct http_lives *lives;
    struct MHD_Connection *connection;
    bool suspended, woken;
};

struct http_lives {
    pthread_mutex_t lock; /* guards all of it, and all their live answers */
    struct http_live *list;
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
static void wake_locked(struct http_live *live)
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
        wake_locked(live);
    pthread_mutex_unlock(&lives->lock);
}

struct http_live *http_live_new(struct http_lives *lives, struct MHD_Connection *connection)
{
    struct http_live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return NULL;
    live->lives = lives;
    live->connection = connection;
    pthread_mutex_lock(&lives->lock);
    live->next = lives->list;
    if (live->next != NULL)
        live->next->prev = live;
    lives->list = live;
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
    pthread_mutex_unlock(&live->lives->lock);
    free(live);
}

void http_live_wake(struct http_live *live)
{
    pthread_mutex_lock(&live->lives->lock);
    wake_locked(live);
    pthread_mutex_unlock(&live->lives->lock);
}

int64_t http_live_read(struct http_live *live, const struct http_source *source, void *out,
                       size_t n)
{
    struct http_lives *lives = live->lives;
    for (;;) {
        /* Before the read: what is published after it wakes us once more. */
        pthread_mutex_lock(&lives->lock);
        live->woken = false;
        bool stopping = lives->stopping;
        pthread_mutex_unlock(&lives->lock);
        if (stopping)
            return HTTP_LIVE_END;
        int64_t got = source->read(source->context, 0, out, n);
        if (got == 0)
            return HTTP_LIVE_END;
        if (got != HTTP_LATER)
            return got;
        pthread_mutex_lock(&lives->lock);
        bool wait = !live->woken && !lives->stopping;
        if (wait) {
            live->suspended = true;
            MHD_suspend_connection(live->connection);
        }
        pthread_mutex_unlock(&lives->lock);
        if (wait)
            return 0;
    }
}
