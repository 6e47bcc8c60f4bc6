/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealing of docs/protocol.md (P-16 on): keys, the handshake, sealed frames. seal_sodium.c is the
 * only module that knows libsodium; seal_file.c keeps keys in files. Functions over bytes, hostile
 * input expected; no clock, no network. Any thread; a session belongs to one thread at a time.
 *
 *   agent                                             collector
 *   seal_open_make      ───────── OPEN ─────────▶     seal_open_read
 *   seal_accept_read    ◀──────── ACCEPT ────────     seal_accept_make   or
 *   seal_refuse_read    ◀──────── REFUSE ────────     seal_refuse_make
 *   seal_frame_close    ◀──── sealed frames ────▶     seal_frame_open
 */
#ifndef SEAL_H
#define SEAL_H

#include "wire.h"

#define SEAL_KEY_BYTES  32
#define SEAL_TEXT_BYTES 44 /* a key as text: 43 letters of base64 without padding, and NUL */
#define SEAL_TOKEN_MAX  128
#define SEAL_REASON_MAX 160

struct seal_public {
    uint8_t bytes[SEAL_KEY_BYTES];
};
struct seal_pair {
    struct seal_public open;
    uint8_t secret[SEAL_KEY_BYTES];
};

/* Before all else, once or more often. SKEIN_OK, SKEIN_IO (no randomness). */
int seal_init(void);
void seal_wipe(void *bytes, size_t n); /* is not optimised away */
void seal_random(void *to, size_t n);
void seal_hash(const void *bytes, size_t n, uint8_t out[32]); /* BLAKE2b-256 */

/* ---- keys ---- */
void seal_pair_make(struct seal_pair *out);
int seal_pair_from_secret(const uint8_t secret[SEAL_KEY_BYTES], struct seal_pair *out);
bool seal_public_equal(const struct seal_public *a, const struct seal_public *b);
uint64_t seal_public_id(const struct seal_public *key);
void seal_key_text(const uint8_t key[SEAL_KEY_BYTES], char out[SEAL_TEXT_BYTES]);
/* SKEIN_OK; SKEIN_INVALID: not the one text of some 32 bytes. */
int seal_key_parse(const char *text, uint8_t out[SEAL_KEY_BYTES]);

/* Key files hold one secret key. Writing: 0600, synced, whole or not at all; SKEIN_OK, SKEIN_EXISTS
 * (never overwritten), SKEIN_IO. Reading: SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_IO, SKEIN_DENIED (others
 * may read or change it), SKEIN_INVALID; with words in error. */
int seal_file_write(const char *path, const struct seal_pair *pair, char *error,
                    size_t error_bytes);
int seal_file_read(const char *path, struct seal_pair *out, char *error, size_t error_bytes);

/* ---- handshake ---- */
struct seal_hello { /* what only the collector can read of OPEN */
    uint64_t agent, time_ns;
    char token[SEAL_TOKEN_MAX + 1]; /* join token; "" for none */
};

struct seal_opening { /* the agent's, until the answer; holds secrets: seal_wipe it */
    struct seal_pair ephemeral;
    struct seal_public collector;
    uint8_t aeads, up[32], down[32], statics[32], refuse_key[32], transcript[32];
};

/* Appends the body of OPEN. SKEIN_OK; SKEIN_INVALID (a key that no one can have; a long token);
 * SKEIN_NO_MEMORY. */
int seal_open_make(const struct seal_pair *agent, const struct seal_public *collector,
                   const struct seal_hello *hello, struct seal_opening *opening, struct buf *body);

struct seal_request { /* the collector's, until it has answered; holds secrets */
    size_t key;       /* which of its keys the agent asked for */
    struct seal_public agent, ephemeral;
    struct seal_hello hello;
    uint8_t aeads, up[32], down[32], statics[32], refuse_key[32], transcript[32];
};

/* Whether an OPEN asks for one of these keys. This proves nothing, and does no work that a stranger
 * could make us do. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_VERSION, SKEIN_TRUNCATED, SKEIN_CORRUPT. */
int seal_open_look(const struct seal_pair *keys, size_t key_count, const uint8_t *body, size_t n);
/* Proves who opens: the request comes from the holder of request.agent, but may be an old one that
 * is played again. SKEIN_OK; as seal_open_look; SKEIN_CORRUPT. *out is unchanged on failure. */
int seal_open_read(const struct seal_pair *keys, size_t key_count, const uint8_t *body, size_t n,
                   struct seal_request *out);

struct seal_session; /* from seal_accept_*; the caller's: seal_session_free */
struct seal_grant {
    uint64_t session, time_ns;
    uint32_t renew_ms;          /* the agent opens anew after this */
    struct seal_public current; /* the key that the agent shall pin */
};
/* SKEIN_OK; SKEIN_INVALID (no common cipher, a bad key); SKEIN_NO_MEMORY. *out NULL on failure. */
int seal_accept_make(const struct seal_request *request, const struct seal_grant *grant,
                     struct buf *body, struct seal_session **out);
int seal_refuse_make(const struct seal_request *request, const char *reason, struct buf *body);

/* Proves that the answer comes from the collector, and to this very OPEN. SKEIN_OK;
 * SKEIN_TRUNCATED; SKEIN_CORRUPT; SKEIN_NO_MEMORY. Nothing is changed on failure. */
int seal_accept_read(const struct seal_opening *opening, const struct seal_pair *agent,
                     const uint8_t *body, size_t n, struct seal_grant *grant,
                     struct seal_session **out);
int seal_refuse_read(const struct seal_opening *opening, const uint8_t *body, size_t n,
                     char reason[SEAL_REASON_MAX + 1]);

/* ---- sealed frames ---- */
enum seal_channel { SEAL_CONTROL, SEAL_DATA };

uint64_t seal_session_id(const struct seal_session *session);
const char *seal_session_cipher(const struct seal_session *session); /* a constant */
void seal_session_free(struct seal_session **session);
/* Whether a key of it has been used so often that a new session is due. */
bool seal_session_worn(const struct seal_session *session);

#define SEAL_HEAD_BYTES (WIRE_HEADER_BYTES + 16u) /* the body begins here */
#define SEAL_TAG_BYTES  16u
#define SEAL_MORE_BYTES (16u + SEAL_TAG_BYTES) /* what sealing adds to a frame */

/* `message` has SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES, and the body in place: it is sealed there.
 * SKEIN_OK; SKEIN_FULL: the key is used up. */
int seal_frame_close(struct seal_session *session, enum seal_channel channel, uint8_t *message,
                     uint8_t type, uint64_t id, size_t n);

/* The session that a frame says it is sealed for. SKEIN_OK; SKEIN_NOT_FOUND: not sealed. */
int seal_frame_session(const uint8_t *message, size_t n, uint64_t *session);

/* Opens a frame in place; frame->body lies in the message. SKEIN_OK; SKEIN_TRUNCATED;
 * SKEIN_CORRUPT (not from the peer, not of this channel, changed); SKEIN_EXISTS (seen before, or
 * too old to tell). On failure the message may be garbage; *frame and the session are unchanged. */
int seal_frame_open(struct seal_session *session, enum seal_channel channel, uint8_t *message,
                    size_t n, struct wire_frame *frame);

#endif
