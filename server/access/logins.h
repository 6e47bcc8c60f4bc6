/* SPDX-License-Identifier: Apache-2.0
 *
 * People who have logged in with a browser: sessions, and the codes by which `skein console` begins
 * one. Both are 256 random bits, of which a hash is kept, in memory: after a restart of the
 * collector everybody logs in again. Each is bound to a token, by its id; whether that token is
 * still good is for the caller to ask (tokens_find), each time. Bounded tables. Any thread.
 *
 * Times are of one clock that never goes back, given by the caller.
 */
#ifndef LOGINS_H
#define LOGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "principal.h"

struct logins;

#define LOGIN_SECRET_BYTES 44 /* 43 letters of A-Z a-z 0-9 - _, and NUL */

#define LOGIN_IDLE_NS (UINT64_C(8) * 3600 * 1000000000)  /* a session without a request ends */
#define LOGIN_MOST_NS (UINT64_C(24) * 3600 * 1000000000) /* and each ends so long after its begin */
#define LOGIN_CODE_NS (UINT64_C(60) * 1000000000)

/* At most so many; where one more begins, the one that was used longest ago ends. */
#define LOGINS_MOST          1024
#define LOGINS_OF_TOKEN      32
#define LOGIN_CODES_MOST     256
#define LOGIN_CODES_OF_TOKEN 8

struct login {
    uint64_t number;                   /* of all that ever were, from 1 */
    char token[PRINCIPAL_TOKEN_BYTES]; /* the token's id */
    uint64_t ends_ns;                  /* at the latest */
};

struct logins *logins_new(void); /* NULL: no memory */
void logins_free(struct logins **logins);

/* Begins a session of the token with this id; `secret` is what its cookie holds. */
void logins_begin(struct logins *l, const char *token, uint64_t now_ns,
                  char secret[LOGIN_SECRET_BYTES], struct login *out);
/* Whose session it is (n bytes of a cookie); this counts as a request of it. False: nobody's, or it
 * has ended. */
bool logins_find(struct logins *l, const char *secret, size_t n, uint64_t now_ns,
                 struct login *out);
/* Whether the session goes on. `out` may be NULL. */
bool logins_still(struct logins *l, uint64_t number, uint64_t now_ns, struct login *out);
void logins_end(struct logins *l, uint64_t number);
size_t logins_count(struct logins *l, uint64_t now_ns); /* sessions that have not ended */
/* Ends those whose token is_gone says is no longer good; it is called without the table's lock. */
typedef bool login_gone_fn(void *context, const char *token);
void logins_sweep(struct logins *l, uint64_t now_ns, login_gone_fn *is_gone, void *context);

/* Makes a code for a session of the token. */
void logins_code_make(struct logins *l, const char *token, uint64_t now_ns,
                      char code[LOGIN_SECRET_BYTES]);
/* Takes the code away: it is good once, for LOGIN_CODE_NS. False: it is none, or is over. */
bool logins_code_take(struct logins *l, const char *code, uint64_t now_ns,
                      char token[PRINCIPAL_TOKEN_BYTES]);

#endif
