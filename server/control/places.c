/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts who has how many places, under a lock of its own that is held for a walk over those who
 * have some.
 */
#include "places.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct holder {
    char who[64];
    size_t held;
    struct holder *next;
};

struct places {
    pthread_mutex_t lock;
    size_t most, taken;
    struct holder *holders;
};

struct places *places_new(size_t most)
{
    struct places *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->most = most;
    return p;
}

void places_free(struct places **places)
{
    struct places *p = *places;
    if (p == NULL)
        return;
    *places = NULL;
    while (p->holders != NULL) {
        struct holder *h = p->holders;
        p->holders = h->next;
        free(h);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Locked. The link that leads to the holder, or to the end. */
static struct holder **holder_find(struct places *p, const char *who)
{
    struct holder **at = &p->holders;
    while (*at != NULL && strcmp((*at)->who, who) != 0)
        at = &(*at)->next;
    return at;
}

/* Locked. */
static bool place_take(struct places *p, const char *who)
{
    size_t left = p->most - p->taken, kept = p->most / 4 > 0 ? p->most / 4 : p->most > 1;
    if (left == 0)
        return false;
    if (who[0] == '\0')
        return true;
    struct holder **at = holder_find(p, who);
    if (*at != NULL && left <= kept)
        return false;
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        if (*at == NULL)
            return false;
        snprintf((*at)->who, sizeof(*at)->who, "%s", who);
    }
    (*at)->held++;
    return true;
}

bool places_enter(struct places *p, const char *who)
{
    pthread_mutex_lock(&p->lock);
    bool entered = place_take(p, who);
    p->taken += entered;
    pthread_mutex_unlock(&p->lock);
    return entered;
}

void places_leave(struct places *p, const char *who)
{
    pthread_mutex_lock(&p->lock);
    struct holder **at = holder_find(p, who);
    p->taken--;
    if (*at != NULL && --(*at)->held == 0) {
        struct holder *h = *at;
        *at = h->next;
        free(h);
    }
    pthread_mutex_unlock(&p->lock);
}

size_t places_taken(struct places *p)
{
    pthread_mutex_lock(&p->lock);
    size_t taken = p->taken;
    pthread_mutex_unlock(&p->lock);
    return taken;
}
