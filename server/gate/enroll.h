/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may talk to the collector sealed: its own keys (folder/keys), the public keys of agents, and
 * join tokens (folder/enroll.db, synchronous=FULL; tokens hashed). `skeind keygen`, `join-token`
 * and `agent` change them from another process while skeind runs, so keys and rows are read anew
 * when they are needed. Any thread.
 */
#ifndef ENROLL_H
#define ENROLL_H

#include "seal.h"

struct enroll;

/* SKEIN_OK; SKEIN_IO, SKEIN_DENIED, SKEIN_INVALID, SKEIN_CORRUPT, SKEIN_NO_MEMORY, with words in
 * error. A folder without keys is fine: nobody can open a session then. */
int enroll_open(const char *folder, struct enroll **out, char *error, size_t error_bytes);
void enroll_close(struct enroll **enroll);
bool enroll_is_new(const struct enroll *e); /* there was no enroll.db before */

/* ---- the collector's keys ---- */
#define ENROLL_KEYS 2 /* current, previous */
/* Returns how many there are, the current one first; the caller wipes them. */
size_t enroll_keys(struct enroll *e, struct seal_pair keys[ENROLL_KEYS]);

/* make: makes the first key; SKEIN_EXISTS: there is one. rotate: makes a new one, the current one
 * becomes the previous one; SKEIN_EXISTS: there is a previous one. retire: removes the previous
 * one; SKEIN_NOT_FOUND: there is none. Run by root, the keys get the folder's owner. */
enum enroll_key_change { ENROLL_MAKE, ENROLL_ROTATE, ENROLL_RETIRE };
int enroll_change_keys(const char *folder, enum enroll_key_change change, char *error,
                       size_t error_bytes);

/* ---- agents ---- */
struct enroll_agent {
    uint64_t agent, enrolled_ns, revoked_ns; /* 0: not revoked */
    struct seal_public key;
};
typedef int enroll_agent_fn(void *context, const struct enroll_agent *agent);

#define ENROLL_ID_BYTES 17 /* a token's id, 16 hex digits of its hash, and NUL */

/* Decides whether to let the agent in: yes, if its key is enrolled, or the token is good. A token
 * loses one use then, and `by` gets its id ("": the agent was enrolled before). SKEIN_OK;
 * SKEIN_REFUSED, with a sentence for the agent's log in reason; SKEIN_IO, SKEIN_FULL, SKEIN_BUSY:
 * not now. */
int enroll_admit(struct enroll *e, uint64_t agent, const struct seal_public *key, const char *token,
                 uint64_t now_ns, char by[ENROLL_ID_BYTES], char *reason, size_t reason_bytes);
bool enroll_is_good(struct enroll *e, uint64_t agent); /* enrolled and not revoked */
/* SKEIN_OK, SKEIN_NOT_FOUND, or the database's status. */
int enroll_agent_find(struct enroll *e, uint64_t agent, struct enroll_agent *out);
int64_t enroll_agents(struct enroll *e, enroll_agent_fn *fn, void *context);
/* revoke: the agent is refused from now on, with a token or not. forget: it may join again with a
 * token, also with another key. SKEIN_OK, SKEIN_NOT_FOUND, or the database's status. */
int enroll_revoke(struct enroll *e, uint64_t agent, uint64_t now_ns);
int enroll_forget(struct enroll *e, uint64_t agent);
/* A number that differs after each revocation; a status below 0: it cannot be read. */
int64_t enroll_changes(struct enroll *e);

/* ---- join tokens ---- */
#define ENROLL_TOKEN_BYTES 48 /* "skj_" and 43 letters, NUL */
struct enroll_token {
    const char *id;
    uint64_t created_ns, expires_ns, uses_left;
    const char *state; /* "active", "used" up, else "expired" */
};
typedef int enroll_token_fn(void *context, const struct enroll_token *token);

#define ENROLL_TOKEN_NS_MAX (UINT64_C(366) * 86400 * 1000000000) /* how long one may be good */
#define ENROLL_KEEP_NS      (UINT64_C(7) * 86400 * 1000000000)   /* listed after it has expired */
#define ENROLL_USES_MAX     1000000

/* The token is in `text` and nowhere else. */
int enroll_token_create(struct enroll *e, uint64_t now_ns, uint64_t expires_ns, uint64_t uses,
                        char id[ENROLL_ID_BYTES], char text[ENROLL_TOKEN_BYTES]);
/* By id, until fn returns not 0. Those that expired ENROLL_KEEP_NS ago are gone. */
int64_t enroll_tokens(struct enroll *e, uint64_t now_ns, enroll_token_fn *fn, void *context);
int enroll_token_revoke(struct enroll *e, const char *id); /* SKEIN_NOT_FOUND */

#endif
