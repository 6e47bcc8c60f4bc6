/* SPDX-License-Identifier: Apache-2.0
 *
 * See logins.h. Owns two tables, of sessions and of codes, and their mutex, under which nobody
 * waits. Never keeps the text of a secret. Secrets are found by comparing hashes: whoever tries
 * texts cannot choose their hashes, so the time that a comparison takes tells nothing.
 */
#include "logins.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "seal.h"
#include "secret.h"

/* A session or a code. */
struct entry {
    uint64_t number; /* 0: the place is free */
    uint64_t begun_ns, used_ns;
    char token[PRINCIPAL_TOKEN_BYTES];
    uint8_t hash[SECRET_HASH_BYTES];
};

/* Entries end idle_ns after their last use, and most_ns after their begin. */
struct table {
    struct entry *entries;
    size_t most, of_token;
    uint64_t idle_ns, most_ns;
};

struct logins {
    pthread_mutex_t lock;
    uint64_t numbers;
    struct table sessions, codes;
    struct entry session_entries[LOGINS_MOST], code_entries[LOGIN_CODES_MOST];
};

struct logins *logins_new(void)
{
    struct logins *l = seal_init() == SKEIN_OK ? calloc(1, sizeof *l) : NULL;
    if (l == NULL)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->sessions = (struct table){l->session_entries, LOGINS_MOST, LOGINS_OF_TOKEN, LOGIN_IDLE_NS,
                                 LOGIN_MOST_NS};
    l->codes = (struct table){l->code_entries, LOGIN_CODES_MOST, LOGIN_CODES_OF_TOKEN,
                              LOGIN_CODE_NS, LOGIN_CODE_NS};
    return l;
}

void logins_free(struct logins **logins)
{
    struct logins *l = *logins;
    if (l == NULL)
        return;
    pthread_mutex_destroy(&l->lock);
    seal_wipe(l, sizeof *l);
    free(l);
    *logins = NULL;
}

/* ---- tables; locked ---- */

/* Another thread may have used it at a later `now` already. */
static bool is_alive(const struct table *t, const struct entry *e, uint64_t now_ns)
{
    return e->number != 0 && now_ns < e->used_ns + t->idle_ns && now_ns < e->begun_ns + t->most_ns;
}

/* The place for one more entry of the token: a free one; else, where the token or all have as many
 * as they may, the one of them that was used longest ago. */
static struct entry *place_take(struct table *t, const char *token, uint64_t now_ns)
{
    struct entry *free_place = NULL, *own = NULL, *any = NULL;
    size_t owns = 0;
    for (size_t i = 0; i < t->most; i++) {
        struct entry *e = &t->entries[i];
        if (!is_alive(t, e, now_ns)) {
            free_place = e;
            continue;
        }
        if (any == NULL || e->used_ns < any->used_ns)
            any = e;
        if (strcmp(e->token, token) != 0)
            continue;
        owns++;
        if (own == NULL || e->used_ns < own->used_ns)
            own = e;
    }
    if (owns >= t->of_token)
        return own;
    return free_place != NULL ? free_place : any;
}

static struct entry *entry_find(struct table *t, const char *secret, size_t n, uint64_t now_ns)
{
    uint8_t hash[SECRET_HASH_BYTES];
    if (n != LOGIN_SECRET_BYTES - 1)
        return NULL;
    secret_hash(secret, n, hash);
    for (size_t i = 0; i < t->most; i++)
        if (is_alive(t, &t->entries[i], now_ns) &&
            secret_equal(t->entries[i].hash, hash, sizeof hash))
            return &t->entries[i];
    return NULL;
}

static struct entry *number_find(struct table *t, uint64_t number, uint64_t now_ns)
{
    for (size_t i = 0; i < t->most; i++)
        if (t->entries[i].number == number && is_alive(t, &t->entries[i], now_ns))
            return &t->entries[i];
    return NULL;
}

static void entry_begin(struct logins *l, struct table *t, const char *token, uint64_t now_ns,
                        const uint8_t hash[SECRET_HASH_BYTES], struct login *out)
{
    pthread_mutex_lock(&l->lock);
    struct entry *e = place_take(t, token, now_ns);
    *e = (struct entry){.number = ++l->numbers, .begun_ns = now_ns, .used_ns = now_ns};
    memcpy(e->token, token, strnlen(token, sizeof e->token - 1));
    memcpy(e->hash, hash, sizeof e->hash);
    *out = (struct login){.number = e->number, .ends_ns = now_ns + t->most_ns};
    memcpy(out->token, e->token, sizeof out->token);
    pthread_mutex_unlock(&l->lock);
}

static void secret_make(char secret[LOGIN_SECRET_BYTES], uint8_t hash[SECRET_HASH_BYTES])
{
    uint8_t random[SEAL_KEY_BYTES];
    _Static_assert(LOGIN_SECRET_BYTES == SEAL_TEXT_BYTES, "a secret is written as a key is");
    seal_random(random, sizeof random);
    seal_key_text(random, secret);
    seal_wipe(random, sizeof random);
    secret_hash(secret, LOGIN_SECRET_BYTES - 1, hash);
}

/* ---- sessions ---- */

void logins_begin(struct logins *l, const char *token, uint64_t now_ns,
                  char secret[LOGIN_SECRET_BYTES], struct login *out)
{
    uint8_t hash[SECRET_HASH_BYTES];
    secret_make(secret, hash);
    entry_begin(l, &l->sessions, token, now_ns, hash, out);
}

static void login_take(const struct entry *e, struct login *out)
{
    *out = (struct login){.number = e->number, .ends_ns = e->begun_ns + LOGIN_MOST_NS};
    memcpy(out->token, e->token, sizeof out->token);
}

bool logins_find(struct logins *l, const char *secret, size_t n, uint64_t now_ns, struct login *out)
{
    pthread_mutex_lock(&l->lock);
    struct entry *e = entry_find(&l->sessions, secret, n, now_ns);
    if (e != NULL) {
        e->used_ns = now_ns > e->used_ns ? now_ns : e->used_ns;
        login_take(e, out);
    }
    pthread_mutex_unlock(&l->lock);
    return e != NULL;
}

bool logins_still(struct logins *l, uint64_t number, uint64_t now_ns, struct login *out)
{
    pthread_mutex_lock(&l->lock);
    const struct entry *e = number_find(&l->sessions, number, now_ns);
    if (e != NULL && out != NULL)
        login_take(e, out);
    pthread_mutex_unlock(&l->lock);
    return e != NULL;
}

void logins_end(struct logins *l, uint64_t number)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < LOGINS_MOST; i++)
        if (l->session_entries[i].number == number)
            seal_wipe(&l->session_entries[i], sizeof l->session_entries[i]);
    pthread_mutex_unlock(&l->lock);
}

size_t logins_count(struct logins *l, uint64_t now_ns)
{
    size_t count = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < LOGINS_MOST; i++)
        count += is_alive(&l->sessions, &l->session_entries[i], now_ns);
    pthread_mutex_unlock(&l->lock);
    return count;
}

void logins_sweep(struct logins *l, uint64_t now_ns, login_gone_fn *is_gone, void *context)
{
    for (size_t i = 0; i < LOGINS_MOST; i++) {
        struct login login = {.number = 0};
        pthread_mutex_lock(&l->lock);
        if (is_alive(&l->sessions, &l->session_entries[i], now_ns)) {
            login_take(&l->session_entries[i], &login);
        }
        pthread_mutex_unlock(&l->lock);
        if (login.number != 0 && is_gone(context, login.token))
            logins_end(l, login.number);
    }
}

/* ---- codes ---- */

void logins_code_make(struct logins *l, const char *token, uint64_t now_ns,
                      char code[LOGIN_SECRET_BYTES])
{
    uint8_t hash[SECRET_HASH_BYTES];
    struct login made;
    secret_make(code, hash);
    entry_begin(l, &l->codes, token, now_ns, hash, &made);
}

bool logins_code_take(struct logins *l, const char *code, uint64_t now_ns,
                      char token[PRINCIPAL_TOKEN_BYTES])
{
    pthread_mutex_lock(&l->lock);
    struct entry *e = entry_find(&l->codes, code, strlen(code), now_ns);
    if (e != NULL) {
        memcpy(token, e->token, sizeof e->token);
        seal_wipe(e, sizeof *e);
    }
    pthread_mutex_unlock(&l->lock);
    return e != NULL;
}
