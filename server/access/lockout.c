/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of bad addresses. Owns it and its mutex; any thread. Nobody waits for anything else
 * while holding the mutex.
 */
#include "lockout.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MAX 1024
#define SECOND_NS     UINT64_C(1000000000)
#define MINUTE_NS     (60 * SECOND_NS)

struct address {
    uint8_t key[8]; /* IPv4: 0 and the address; IPv6: its /64 */
    bool used;
    uint64_t bad, since_ns, last_ns, until_ns;
};

struct lockout {
    pthread_mutex_t lock;
    uint64_t limit, locked_ns;
    struct address addresses[ADDRESSES_MAX];
};

struct lockout *lockout_new(uint64_t bad_in_a_minute, uint64_t locked_ms)
{
    struct lockout *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->limit = bad_in_a_minute;
    l->locked_ns = locked_ms * 1000000u;
    return l;
}

void lockout_free(struct lockout **lockout)
{
    if (*lockout == NULL)
        return;
    pthread_mutex_destroy(&(*lockout)->lock);
    free(*lockout);
    *lockout = NULL;
}

static void key_of(const char *address, uint8_t key[8])
{
    uint8_t bytes[16];
    memset(key, 0, 8);
    if (inet_pton(AF_INET, address, bytes) == 1)
        memcpy(key + 4, bytes, 4);
    else if (inet_pton(AF_INET6, address, bytes) == 1)
        memcpy(key, bytes, 8);
}

static struct address *address_find(struct lockout *l, const uint8_t key[8])
{
    for (size_t i = 0; i < ADDRESSES_MAX; i++)
        if (l->addresses[i].used && memcmp(l->addresses[i].key, key, 8) == 0)
            return &l->addresses[i];
    return NULL;
}

/* Whether a should be forgotten before b. */
static bool is_staler(const struct address *a, const struct address *b, uint64_t now)
{
    bool a_locked = a->until_ns > now, b_locked = b->until_ns > now;
    return a_locked != b_locked ? b_locked : a->last_ns < b->last_ns;
}

static struct address *place_take(struct lockout *l, uint64_t now)
{
    struct address *stalest = &l->addresses[0];
    for (size_t i = 0; i < ADDRESSES_MAX; i++) {
        struct address *a = &l->addresses[i];
        if (!a->used)
            return a;
        if (is_staler(a, stalest, now))
            stalest = a;
    }
    return stalest;
}

uint64_t lockout_left(struct lockout *l, const char *address, uint64_t now)
{
    uint8_t key[8];
    key_of(address, key);
    pthread_mutex_lock(&l->lock);
    const struct address *a = address_find(l, key);
    uint64_t until = a != NULL ? a->until_ns : 0;
    pthread_mutex_unlock(&l->lock);
    return until > now ? (until - now + SECOND_NS - 1) / SECOND_NS : 0;
}

void lockout_bad(struct lockout *l, const char *address, uint64_t now)
{
    uint8_t key[8];
    key_of(address, key);
    pthread_mutex_lock(&l->lock);
    struct address *a = address_find(l, key);
    if (a == NULL) {
        a = place_take(l, now);
        *a = (struct address){.used = true, .since_ns = now};
        memcpy(a->key, key, sizeof key);
    } else if (now - a->since_ns > MINUTE_NS) {
        a->since_ns = now;
        a->bad = 0;
    }
    a->last_ns = now;
    if (++a->bad >= l->limit) {
        a->until_ns = now + l->locked_ns;
        a->bad = 0;
    }
    pthread_mutex_unlock(&l->lock);
}
