/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of who sent wrong tokens. Owns it and its mutex; any thread. Nobody waits for anything
 * else while holding the mutex. Of a wrong token, which may be a password that somebody mistook for
 * one, a checksum of its beginning is kept.
 */
#include "lockout.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "clock.h"

#define ROWS_MAX     4096
#define PREFIXES_MAX 16 /* of one address; what comes with others counts as one of them, REST */
#define PREFIX_BYTES 18 /* of a token: its scope and what is no secret of it */
#define REST         0
#define MINUTE_NS    (60 * NS_PER_S)

struct row {
    uint8_t key[8];  /* IPv4: 0 and the address; IPv6: its /64 */
    uint64_t prefix; /* of the token; REST */
    bool used;
    uint64_t bad, since_ns, last_ns, until_ns;
};

struct lockout {
    pthread_mutex_t lock;
    uint64_t limit, locked_ns;
    struct row rows[ROWS_MAX];
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

static uint64_t prefix_of(const char *token)
{
    return checksum64(token, strnlen(token, PREFIX_BYTES)) | 1;
}

static struct row *row_find(struct lockout *l, const uint8_t key[8], uint64_t prefix)
{
    for (size_t i = 0; i < ROWS_MAX; i++)
        if (l->rows[i].used && l->rows[i].prefix == prefix && memcmp(l->rows[i].key, key, 8) == 0)
            return &l->rows[i];
    return NULL;
}

static bool is_recent(const struct row *r, uint64_t now)
{
    return r->until_ns > now || now <= r->last_ns + MINUTE_NS;
}

/* Under which prefix a token of this address counts: its own, unless the address comes with ever
 * new ones. */
static uint64_t prefix_counted(struct lockout *l, const uint8_t key[8], uint64_t prefix,
                               uint64_t now)
{
    size_t recent = 0;
    for (size_t i = 0; i < ROWS_MAX; i++) {
        const struct row *r = &l->rows[i];
        if (!r->used || memcmp(r->key, key, 8) != 0 || r->prefix == REST)
            continue;
        if (r->prefix == prefix)
            return prefix;
        recent += is_recent(r, now) ? 1 : 0;
    }
    return recent < PREFIXES_MAX ? prefix : REST;
}

/* Whether a should be forgotten before b. */
static bool is_staler(const struct row *a, const struct row *b, uint64_t now)
{
    bool a_locked = a->until_ns > now, b_locked = b->until_ns > now;
    return a_locked != b_locked ? b_locked : a->last_ns < b->last_ns;
}

static struct row *place_take(struct lockout *l, uint64_t now)
{
    struct row *stalest = &l->rows[0];
    for (size_t i = 0; i < ROWS_MAX; i++) {
        struct row *r = &l->rows[i];
        if (!r->used)
            return r;
        if (is_staler(r, stalest, now))
            stalest = r;
    }
    return stalest;
}

uint64_t lockout_left(struct lockout *l, const char *address, const char *token, uint64_t now)
{
    uint8_t key[8];
    key_of(address, key);
    pthread_mutex_lock(&l->lock);
    const struct row *r = row_find(l, key, prefix_counted(l, key, prefix_of(token), now));
    uint64_t until = r != NULL ? r->until_ns : 0;
    pthread_mutex_unlock(&l->lock);
    return until > now ? (until - now + NS_PER_S - 1) / NS_PER_S : 0;
}

void lockout_bad(struct lockout *l, const char *address, const char *token, uint64_t now)
{
    uint8_t key[8];
    key_of(address, key);
    pthread_mutex_lock(&l->lock);
    uint64_t prefix = prefix_counted(l, key, prefix_of(token), now);
    struct row *r = row_find(l, key, prefix);
    if (r == NULL) {
        r = place_take(l, now);
        *r = (struct row){.prefix = prefix, .used = true, .since_ns = now};
        memcpy(r->key, key, sizeof key);
    } else if (now > r->since_ns + MINUTE_NS) {
        r->since_ns = now;
        r->bad = 0;
    }
    r->last_ns = now;
    if (++r->bad >= l->limit) {
        r->until_ns = now + l->locked_ns;
        r->bad = 0;
    }
    pthread_mutex_unlock(&l->lock);
}
