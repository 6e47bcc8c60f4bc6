/* SPDX-License-Identifier: Apache-2.0
 *
 * Bearer tokens of the HTTP API: "skn_<v|o|a>_<43 letters>". folder/tokens.db has only a hash of
 * each. The first 12 letters find the row; the whole text is compared in constant time. A change by
 * one process (skeind token) counts at the next check of another. Any thread.
 */
#ifndef TOKENS_H
#define TOKENS_H

#include <stdint.h>

#include "principal.h"

struct tokens;

#define TOKEN_SELECTOR_BYTES PRINCIPAL_SELECTOR_BYTES
#define TOKEN_TEXT_BYTES     64 /* a token's text and NUL */

struct token {
    char id[PRINCIPAL_TOKEN_BYTES];  /* from tokens_check: the first letters, which are no secret */
    char name[PRINCIPAL_NAME_BYTES]; /* [A-Za-z0-9][A-Za-z0-9._-]* */
    enum http_scope scope;
    char selector[TOKEN_SELECTOR_BYTES]; /* what it is confined to; "": nothing */
    char creator[PRINCIPAL_NAME_BYTES];
    uint64_t created_ns, expires_ns /* 0: never */, used_ns, revoked_ns /* 0: not */;
};

/* Makes or opens folder/tokens.db, for its owner alone. SKEIN_OK, or a status with words:
 * SKEIN_CORRUPT where it is damaged. */
int tokens_open(const char *folder, struct tokens **out, char *error, size_t error_bytes);
void tokens_close(struct tokens **tokens);

/* Renames a damaged tokens.db, which nobody has open, to `to`, so that a new one can be made.
 * Tokens are still needed then, though there is none. */
int tokens_set_aside(const char *folder, char *to, size_t to_bytes);

/* 1: there has been a token (maybe a revoked one), or tokens.db is not what it was; 0; or a
 * status. */
int tokens_any(struct tokens *t);
/* Whether there has been a token, but tokens.db has none. */
bool tokens_lost(struct tokens *t);

/* Of name, scope, selector, creator and expires_ns. `text` is the token, never to be had again.
 * SKEIN_OK; SKEIN_INVALID with "member: what is wrong" in error, also where the first is no
 * admin's; SKEIN_EXISTS (a token that is not revoked has the name); SKEIN_IO and others of the
 * disk. */
int tokens_create(struct tokens *t, const struct token *token, uint64_t now_ns,
                  char text[TOKEN_TEXT_BYTES], char *error, size_t error_bytes);
/* SKEIN_OK, SKEIN_NOT_FOUND (none, or revoked already), a status of the disk. */
int tokens_revoke(struct tokens *t, const char *name, uint64_t now_ns);

/* Whose token it is. SKEIN_OK; SKEIN_NOT_FOUND: unknown, expired or revoked; a status of the disk:
 * nobody can say. */
int tokens_check(struct tokens *t, const char *text, uint64_t now_ns, struct token *out);

/* The token with this id, as of somebody who has proven to hold it, and who uses it now; as above. */
int tokens_find(struct tokens *t, const char *id, uint64_t now_ns, struct token *out);
/* Whether the token with this id is good, as above. */
int tokens_still(struct tokens *t, const char *id, uint64_t now_ns);

/* By name. The number of tokens given, or a status. */
typedef int token_fn(void *context, const struct token *token);
int64_t tokens_list(struct tokens *t, token_fn *fn, void *context);

const char *scope_text(enum http_scope scope); /* "viewer"; "" for what no token can have */
bool scope_parse(const char *text, enum http_scope *scope);

#endif
