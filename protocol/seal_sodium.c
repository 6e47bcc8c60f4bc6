/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns all cryptography of the protocol: X25519 by crypto_kx and crypto_scalarmult, BLAKE2b for
 * keys out of secrets, XChaCha20-Poly1305 in the handshake, that or AES-256-GCM for frames. The
 * only file that includes sodium.h. Never logs, never keeps a secret in a static. P-16 to P-21.
 *
 * The handshake, with es, ss, ee, se = X25519 of (e)phemeral and (s)tatic keys, agent's first:
 *   kx        = crypto_kx(agent ephemeral, collector static)              es, 64 bytes
 *   box 1     = agent's static key,    under H(kx, head)                  hides who asks
 *   box 2     = agent, time, token,    under H(kx, ss, head, box 1)       proves who asks
 *   master    = H(kx, ss, ee, se, OPEN, head of ACCEPT)                   proves both, is new
 *   sub-keys  = crypto_kdf(master): ACCEPT's box, then one for each direction of each channel
 */
#include "seal.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(crypto_kx_PUBLICKEYBYTES == SEAL_KEY_BYTES, "X25519");
_Static_assert(crypto_scalarmult_BYTES == SEAL_KEY_BYTES, "X25519");
_Static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == SEAL_TAG_BYTES, "tag");
_Static_assert(crypto_aead_aes256gcm_ABYTES == SEAL_TAG_BYTES, "tag");

#define SEAL_VERSION      1
#define AEAD_XCHACHA      1u
#define AEAD_AES          2u
#define OPEN_HEAD_BYTES   44u /* version, ciphers, 0, key id, ephemeral key */
#define OPEN_BOX1_BYTES   (SEAL_KEY_BYTES + SEAL_TAG_BYTES)
#define ACCEPT_HEAD_BYTES 44u /* cipher, 0, session, ephemeral key */
#define ACCEPT_TEXT_BYTES (SEAL_KEY_BYTES + 8u + 4u)
#define NONCE_BYTES       crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define KDF_CONTEXT       "skeinsl1"

/* AES-GCM of one key: well below the 2^32 messages and 2^38 bytes where its bounds begin to tell.
 * A data frame has at most 2^20 bytes. */
#define FRAMES_MAX  (UINT64_C(1) << 17)
#define FRAMES_WORN (FRAMES_MAX / 2)

enum { KEY_ACCEPT = 1, KEY_CONTROL_UP, KEY_CONTROL_DOWN, KEY_DATA_UP, KEY_DATA_DOWN };

struct channel {
    uint8_t out_key[32], in_key[32];
    uint64_t sent;           /* the counter of the last frame out; 0: none yet */
    uint64_t newest, window; /* in: bit i is set when newest - i has been seen */
};

struct seal_session {
    uint64_t id;
    uint8_t aead;
    struct channel channels[2];
};

int seal_init(void)
{
    return sodium_init() < 0 ? SKEIN_IO : SKEIN_OK;
}

void seal_wipe(void *bytes, size_t n)
{
    sodium_memzero(bytes, n);
}

void seal_random(void *to, size_t n)
{
    randombytes_buf(to, n);
}

void seal_hash(const void *bytes, size_t n, uint8_t out[32])
{
    crypto_generichash(out, 32, bytes, n, NULL, 0);
}

static void le_store(uint8_t *to, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t le_load(const uint8_t *from, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)from[i] << (8 * i);
    return v;
}

/* ---- keys ---- */

void seal_pair_make(struct seal_pair *out)
{
    crypto_kx_keypair(out->open.bytes, out->secret);
}

int seal_pair_from_secret(const uint8_t secret[SEAL_KEY_BYTES], struct seal_pair *out)
{
    memcpy(out->secret, secret, SEAL_KEY_BYTES);
    return crypto_scalarmult_base(out->open.bytes, out->secret) == 0 ? SKEIN_OK : SKEIN_INVALID;
}

bool seal_public_equal(const struct seal_public *a, const struct seal_public *b)
{
    return sodium_memcmp(a->bytes, b->bytes, SEAL_KEY_BYTES) == 0;
}

uint64_t seal_public_id(const struct seal_public *key)
{
    uint8_t hash[32];
    crypto_generichash(hash, sizeof hash, key->bytes, SEAL_KEY_BYTES, NULL, 0);
    return le_load(hash, 8);
}

void seal_key_text(const uint8_t key[SEAL_KEY_BYTES], char out[SEAL_TEXT_BYTES])
{
    sodium_bin2base64(out, SEAL_TEXT_BYTES, key, SEAL_KEY_BYTES,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int seal_key_parse(const char *text, uint8_t out[SEAL_KEY_BYTES])
{
    uint8_t key[SEAL_KEY_BYTES];
    char again[SEAL_TEXT_BYTES];
    size_t n = 0;
    if (strlen(text) != SEAL_TEXT_BYTES - 1 ||
        sodium_base642bin(key, sizeof key, text, SEAL_TEXT_BYTES - 1, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        n != SEAL_KEY_BYTES)
        return SKEIN_INVALID;
    /* The last letter has bits to spare: one key, one text. */
    seal_key_text(key, again);
    bool same = sodium_memcmp(again, text, SEAL_TEXT_BYTES) == 0;
    if (same)
        memcpy(out, key, SEAL_KEY_BYTES);
    sodium_memzero(key, sizeof key);
    sodium_memzero(again, sizeof again);
    return same ? SKEIN_OK : SKEIN_INVALID;
}

/* ---- keys out of secrets ---- */

struct piece {
    const void *bytes;
    size_t n;
};

/* 32 bytes out of a label and pieces; where a piece's length varies it stands last. */
static void hash_mix(uint8_t out[32], const char *label, const struct piece *pieces, size_t count)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, 32);
    crypto_generichash_update(&state, (const uint8_t *)label, strlen(label) + 1);
    for (size_t i = 0; i < count; i++)
        crypto_generichash_update(&state, pieces[i].bytes, pieces[i].n);
    crypto_generichash_final(&state, out, 32);
    sodium_memzero(&state, sizeof state);
}

static void key_of_box1(uint8_t out[32], const uint8_t up[32], const uint8_t *head)
{
    const struct piece pieces[] = {{up, 32}, {head, OPEN_HEAD_BYTES}};
    hash_mix(out, "skein seal 1 open 1", pieces, 2);
}

static void key_of_box2(uint8_t out[32], const char *label, const uint8_t down[32],
                        const uint8_t statics[32], const uint8_t *head)
{
    const struct piece pieces[] = {
        {down, 32}, {statics, 32}, {head, OPEN_HEAD_BYTES + OPEN_BOX1_BYTES}};
    hash_mix(out, label, pieces, 3);
}

/* Appends text sealed with XChaCha20-Poly1305; `ad` may lie in the same buf. */
static void box_put(struct buf *body, const uint8_t key[32], const uint8_t nonce[NONCE_BYTES],
                    const void *text, size_t n, size_t ad_at, size_t ad_n)
{
    uint8_t *to = buf_reserve(body, n + SEAL_TAG_BYTES);
    if (to == NULL)
        return;
    unsigned long long len;
    crypto_aead_xchacha20poly1305_ietf_encrypt(to, &len, text, n, body->data + ad_at, ad_n, NULL,
                                               nonce, key);
    body->len += n + SEAL_TAG_BYTES;
}

/* n counts the tag; the text has SEAL_TAG_BYTES less. */
static bool box_get(void *text, const uint8_t key[32], const uint8_t nonce[NONCE_BYTES],
                    const uint8_t *box, size_t n, const uint8_t *ad, size_t ad_n)
{
    return crypto_aead_xchacha20poly1305_ietf_decrypt(text, NULL, NULL, box, n, ad, ad_n, nonce,
                                                      key) == 0;
}

/* Keys of boxes are used once, but for REFUSE's, which draws its nonce. */
static const uint8_t no_nonce[NONCE_BYTES];

/* ---- OPEN ---- */

static uint8_t own_aeads(void)
{
    return (uint8_t)(AEAD_XCHACHA | (crypto_aead_aes256gcm_is_available() ? AEAD_AES : 0));
}

int seal_open_make(const struct seal_pair *agent, const struct seal_public *collector,
                   const struct seal_hello *hello, struct seal_opening *o, struct buf *body)
{
    size_t token = strnlen(hello->token, SEAL_TOKEN_MAX + 1), at = body->len;
    uint8_t key[32], text[16 + SEAL_TOKEN_MAX];
    memset(o, 0, sizeof *o);
    o->collector = *collector;
    o->aeads = own_aeads();
    crypto_kx_keypair(o->ephemeral.open.bytes, o->ephemeral.secret);
    if (token > SEAL_TOKEN_MAX ||
        crypto_kx_client_session_keys(o->down, o->up, o->ephemeral.open.bytes, o->ephemeral.secret,
                                      collector->bytes) != 0 ||
        crypto_scalarmult(o->statics, agent->secret, collector->bytes) != 0)
        return SKEIN_INVALID;
    buf_put_u8(body, SEAL_VERSION);
    buf_put_u8(body, o->aeads);
    buf_put_u16(body, 0);
    buf_put_u64(body, seal_public_id(collector));
    buf_put(body, o->ephemeral.open.bytes, SEAL_KEY_BYTES);
    if (body->status != SKEIN_OK)
        return body->status;
    key_of_box1(key, o->up, body->data + at);
    box_put(body, key, no_nonce, agent->open.bytes, SEAL_KEY_BYTES, at, OPEN_HEAD_BYTES);
    if (body->status != SKEIN_OK)
        return body->status;
    le_store(text, hello->agent, 8);
    le_store(text + 8, hello->time_ns, 8);
    memcpy(text + 16, hello->token, token);
    key_of_box2(key, "skein seal 1 open 2", o->down, o->statics, body->data + at);
    key_of_box2(o->refuse_key, "skein seal 1 refuse", o->down, o->statics, body->data + at);
    box_put(body, key, no_nonce, text, 16 + token, at, OPEN_HEAD_BYTES + OPEN_BOX1_BYTES);
    sodium_memzero(key, sizeof key);
    sodium_memzero(text, sizeof text);
    if (body->status == SKEIN_OK)
        crypto_generichash(o->transcript, 32, body->data + at, body->len - at, NULL, 0);
    return body->status;
}

/* Which of the keys is asked for; `count` where none is. */
static size_t key_asked(const struct seal_pair *keys, size_t count, const uint8_t *body)
{
    uint64_t id = le_load(body + 4, 8);
    size_t i = 0;
    while (i < count && seal_public_id(&keys[i].open) != id)
        i++;
    return i;
}

int seal_open_look(const struct seal_pair *keys, size_t key_count, const uint8_t *body, size_t n)
{
    const size_t least = OPEN_HEAD_BYTES + OPEN_BOX1_BYTES + 16 + SEAL_TAG_BYTES;
    if (n > 0 && body[0] != SEAL_VERSION)
        return SKEIN_VERSION;
    if (n < least)
        return SKEIN_TRUNCATED;
    if (n - least > SEAL_TOKEN_MAX)
        return SKEIN_CORRUPT;
    return key_asked(keys, key_count, body) < key_count ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* Does the work of the first box. */
static int box1_open(const struct seal_pair *keys, size_t count, const uint8_t *body,
                     struct seal_request *r)
{
    uint8_t key[32];
    r->key = key_asked(keys, count, body);
    const struct seal_pair *own = &keys[r->key];
    if (crypto_kx_server_session_keys(r->up, r->down, own->open.bytes, own->secret,
                                      r->ephemeral.bytes) != 0)
        return SKEIN_CORRUPT;
    key_of_box1(key, r->up, body);
    bool ok = box_get(r->agent.bytes, key, no_nonce, body + OPEN_HEAD_BYTES, OPEN_BOX1_BYTES, body,
                      OPEN_HEAD_BYTES);
    sodium_memzero(key, sizeof key);
    if (!ok || crypto_scalarmult(r->statics, own->secret, r->agent.bytes) != 0)
        return SKEIN_CORRUPT;
    return SKEIN_OK;
}

static int box2_open(const uint8_t *body, size_t n, struct seal_request *r)
{
    const size_t ad = OPEN_HEAD_BYTES + OPEN_BOX1_BYTES;
    uint8_t key[32], text[16 + SEAL_TOKEN_MAX];
    size_t token = n - ad - SEAL_TAG_BYTES - 16;
    key_of_box2(key, "skein seal 1 open 2", r->down, r->statics, body);
    key_of_box2(r->refuse_key, "skein seal 1 refuse", r->down, r->statics, body);
    bool ok = box_get(text, key, no_nonce, body + ad, n - ad, body, ad) &&
              memchr(text + 16, 0, token) == NULL;
    if (ok) {
        r->hello.agent = le_load(text, 8);
        r->hello.time_ns = le_load(text + 8, 8);
        memcpy(r->hello.token, text + 16, token);
    }
    sodium_memzero(key, sizeof key);
    sodium_memzero(text, sizeof text);
    return ok ? SKEIN_OK : SKEIN_CORRUPT;
}

int seal_open_read(const struct seal_pair *keys, size_t key_count, const uint8_t *body, size_t n,
                   struct seal_request *out)
{
    struct seal_request r = {0};
    int status = seal_open_look(keys, key_count, body, n);
    if (status != SKEIN_OK)
        return status;
    r.aeads = body[1];
    memcpy(r.ephemeral.bytes, body + 12, SEAL_KEY_BYTES);
    status = box1_open(keys, key_count, body, &r);
    if (status == SKEIN_OK)
        status = box2_open(body, n, &r);
    if (status == SKEIN_OK) {
        crypto_generichash(r.transcript, 32, body, n, NULL, 0);
        *out = r;
    }
    sodium_memzero(&r, sizeof r);
    return status;
}

/* ---- ACCEPT ---- */

struct secrets { /* what both sides have when ACCEPT is made or read */
    const uint8_t *up, *down, *statics, *transcript, *accept_head;
    uint8_t ee[32], se[32];
};

/* The session out of the secrets, and the key of ACCEPT's box. NULL: out of memory. */
static struct seal_session *session_new(const struct secrets *s, bool collector,
                                        uint8_t accept_key[32])
{
    struct seal_session *session = calloc(1, sizeof *session);
    uint8_t master[32];
    const struct piece pieces[] = {{s->up, 32},
                                   {s->down, 32},
                                   {s->statics, 32},
                                   {s->ee, 32},
                                   {s->se, 32},
                                   {s->transcript, 32},
                                   {s->accept_head, ACCEPT_HEAD_BYTES}};
    if (session == NULL)
        return NULL;
    hash_mix(master, "skein seal 1 session", pieces, 7);
    session->aead = s->accept_head[0];
    session->id = le_load(s->accept_head + 4, 8);
    struct channel *control = &session->channels[SEAL_CONTROL],
                   *data = &session->channels[SEAL_DATA];
    crypto_kdf_derive_from_key(accept_key, 32, KEY_ACCEPT, KDF_CONTEXT, master);
    crypto_kdf_derive_from_key(collector ? control->in_key : control->out_key, 32, KEY_CONTROL_UP,
                               KDF_CONTEXT, master);
    crypto_kdf_derive_from_key(collector ? control->out_key : control->in_key, 32, KEY_CONTROL_DOWN,
                               KDF_CONTEXT, master);
    crypto_kdf_derive_from_key(collector ? data->in_key : data->out_key, 32, KEY_DATA_UP,
                               KDF_CONTEXT, master);
    crypto_kdf_derive_from_key(collector ? data->out_key : data->in_key, 32, KEY_DATA_DOWN,
                               KDF_CONTEXT, master);
    sodium_memzero(master, sizeof master);
    return session;
}

int seal_accept_make(const struct seal_request *r, const struct seal_grant *grant, struct buf *body,
                     struct seal_session **out)
{
    uint8_t common = r->aeads & own_aeads(), accept_key[32], text[ACCEPT_TEXT_BYTES];
    size_t at = body->len;
    struct seal_pair ephemeral;
    struct secrets s = {
        .up = r->up, .down = r->down, .statics = r->statics, .transcript = r->transcript};
    *out = NULL;
    crypto_kx_keypair(ephemeral.open.bytes, ephemeral.secret);
    if (common == 0 || crypto_scalarmult(s.ee, ephemeral.secret, r->ephemeral.bytes) != 0 ||
        crypto_scalarmult(s.se, ephemeral.secret, r->agent.bytes) != 0)
        return SKEIN_INVALID;
    buf_put_u8(body, (common & AEAD_AES) != 0 ? AEAD_AES : AEAD_XCHACHA);
    buf_put(body, "\0\0", 3);
    buf_put_u64(body, grant->session);
    buf_put(body, ephemeral.open.bytes, SEAL_KEY_BYTES);
    if (body->status != SKEIN_OK)
        return body->status;
    s.accept_head = body->data + at;
    struct seal_session *session = session_new(&s, true, accept_key);
    sodium_memzero(&ephemeral, sizeof ephemeral);
    sodium_memzero(&s, sizeof s);
    if (session == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(text, grant->current.bytes, SEAL_KEY_BYTES);
    le_store(text + SEAL_KEY_BYTES, grant->time_ns, 8);
    le_store(text + SEAL_KEY_BYTES + 8, grant->renew_ms, 4);
    box_put(body, accept_key, no_nonce, text, sizeof text, at, ACCEPT_HEAD_BYTES);
    sodium_memzero(accept_key, sizeof accept_key);
    if (body->status != SKEIN_OK)
        seal_session_free(&session);
    *out = session;
    return body->status;
}

int seal_accept_read(const struct seal_opening *o, const struct seal_pair *agent,
                     const uint8_t *body, size_t n, struct seal_grant *grant,
                     struct seal_session **out)
{
    uint8_t accept_key[32], text[ACCEPT_TEXT_BYTES];
    struct secrets s = {.up = o->up,
                        .down = o->down,
                        .statics = o->statics,
                        .transcript = o->transcript,
                        .accept_head = body};
    if (n < ACCEPT_HEAD_BYTES + ACCEPT_TEXT_BYTES + SEAL_TAG_BYTES)
        return SKEIN_TRUNCATED;
    const uint8_t *theirs = body + 12;
    if (n > ACCEPT_HEAD_BYTES + ACCEPT_TEXT_BYTES + SEAL_TAG_BYTES ||
        (body[0] != AEAD_XCHACHA && body[0] != AEAD_AES) || (body[0] & o->aeads) == 0 ||
        crypto_scalarmult(s.ee, o->ephemeral.secret, theirs) != 0 ||
        crypto_scalarmult(s.se, agent->secret, theirs) != 0)
        return SKEIN_CORRUPT;
    struct seal_session *session = session_new(&s, false, accept_key);
    sodium_memzero(&s, sizeof s);
    if (session == NULL)
        return SKEIN_NO_MEMORY;
    bool ok = box_get(text, accept_key, no_nonce, body + ACCEPT_HEAD_BYTES,
                      sizeof text + SEAL_TAG_BYTES, body, ACCEPT_HEAD_BYTES);
    sodium_memzero(accept_key, sizeof accept_key);
    if (!ok) {
        seal_session_free(&session);
        return SKEIN_CORRUPT;
    }
    grant->session = session->id;
    memcpy(grant->current.bytes, text, SEAL_KEY_BYTES);
    grant->time_ns = le_load(text + SEAL_KEY_BYTES, 8);
    grant->renew_ms = (uint32_t)le_load(text + SEAL_KEY_BYTES + 8, 4);
    *out = session;
    return SKEIN_OK;
}

/* ---- REFUSE ---- */

int seal_refuse_make(const struct seal_request *r, const char *reason, struct buf *body)
{
    uint8_t nonce[NONCE_BYTES];
    size_t at = body->len, n = strnlen(reason, SEAL_REASON_MAX);
    randombytes_buf(nonce, sizeof nonce);
    buf_put(body, nonce, sizeof nonce);
    if (body->status == SKEIN_OK)
        box_put(body, r->refuse_key, nonce, reason, n, at, 0);
    return body->status;
}

int seal_refuse_read(const struct seal_opening *o, const uint8_t *body, size_t n,
                     char reason[SEAL_REASON_MAX + 1])
{
    uint8_t text[SEAL_REASON_MAX];
    if (n < NONCE_BYTES + SEAL_TAG_BYTES)
        return SKEIN_TRUNCATED;
    size_t len = n - NONCE_BYTES - SEAL_TAG_BYTES;
    if (len > SEAL_REASON_MAX ||
        !box_get(text, o->refuse_key, body, body + NONCE_BYTES, len + SEAL_TAG_BYTES, NULL, 0))
        return SKEIN_CORRUPT;
    for (size_t i = 0; i < len; i++) /* it ends in log lines */
        reason[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
    reason[len] = '\0';
    return SKEIN_OK;
}

/* ---- sealed frames ---- */

uint64_t seal_session_id(const struct seal_session *session)
{
    return session->id;
}

const char *seal_session_cipher(const struct seal_session *session)
{
    return session->aead == AEAD_AES ? "aes-256-gcm" : "xchacha20-poly1305";
}

void seal_session_free(struct seal_session **session)
{
    if (*session != NULL)
        sodium_memzero(*session, sizeof **session);
    free(*session);
    *session = NULL;
}

bool seal_session_worn(const struct seal_session *session)
{
    for (int i = 0; i < 2; i++) {
        const struct channel *c = &session->channels[i];
        if (c->sent >= FRAMES_WORN || c->newest >= FRAMES_WORN)
            return true;
    }
    return false;
}

/* XChaCha20's nonce has 24 bytes, AES-GCM's 12: the counter stands last in both. */
static void nonce_of(uint8_t nonce[NONCE_BYTES], uint8_t aead, uint64_t counter)
{
    memset(nonce, 0, NONCE_BYTES);
    le_store(nonce + (aead == AEAD_AES ? crypto_aead_aes256gcm_NPUBBYTES : NONCE_BYTES) - 8,
             counter, 8);
}

int seal_frame_close(struct seal_session *session, enum seal_channel channel, uint8_t *message,
                     uint8_t type, uint64_t id, size_t n)
{
    struct channel *c = &session->channels[channel];
    uint8_t nonce[NONCE_BYTES], *text = message + SEAL_HEAD_BYTES, *tag = text + n;
    if (c->sent >= FRAMES_MAX)
        return SKEIN_FULL;
    uint64_t counter = ++c->sent;
    wire_header_sealed(message, type, id, n + SEAL_MORE_BYTES);
    le_store(message + WIRE_HEADER_BYTES, session->id, 8);
    le_store(message + WIRE_HEADER_BYTES + 8, counter, 8);
    nonce_of(nonce, session->aead, counter);
    if (session->aead == AEAD_AES)
        crypto_aead_aes256gcm_encrypt_detached(text, tag, NULL, text, n, message, SEAL_HEAD_BYTES,
                                               NULL, nonce, c->out_key);
    else
        crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
            text, tag, NULL, text, n, message, SEAL_HEAD_BYTES, NULL, nonce, c->out_key);
    return SKEIN_OK;
}

int seal_frame_session(const uint8_t *message, size_t n, uint64_t *session)
{
    struct wire_frame frame;
    if (wire_sealed_get(message, n, &frame) != SKEIN_OK || frame.body_bytes < SEAL_MORE_BYTES)
        return SKEIN_NOT_FOUND;
    *session = le_load(frame.body, 8);
    return SKEIN_OK;
}

static bool was_seen(const struct channel *c, uint64_t counter)
{
    if (counter == 0 || counter > FRAMES_MAX)
        return true;
    if (counter > c->newest)
        return false;
    uint64_t behind = c->newest - counter;
    return behind >= 64 || (c->window >> behind & 1) != 0;
}

static void seen_mark(struct channel *c, uint64_t counter)
{
    if (counter > c->newest) {
        uint64_t ahead = counter - c->newest;
        c->window = ahead >= 64 ? 0 : c->window << ahead;
        c->newest = counter;
    }
    c->window |= UINT64_C(1) << (c->newest - counter);
}

int seal_frame_open(struct seal_session *session, enum seal_channel channel, uint8_t *message,
                    size_t n, struct wire_frame *frame)
{
    struct channel *c = &session->channels[channel];
    struct wire_frame f;
    uint8_t nonce[NONCE_BYTES];
    int status = wire_sealed_get(message, n, &f);
    if (status != SKEIN_OK)
        return status;
    if (f.body_bytes < SEAL_MORE_BYTES)
        return SKEIN_TRUNCATED;
    if (le_load(f.body, 8) != session->id)
        return SKEIN_CORRUPT;
    uint64_t counter = le_load(f.body + 8, 8);
    if (was_seen(c, counter))
        return SKEIN_EXISTS;
    uint8_t *text = message + SEAL_HEAD_BYTES;
    size_t len = f.body_bytes - SEAL_MORE_BYTES;
    const uint8_t *tag = text + len;
    nonce_of(nonce, session->aead, counter);
    int bad = session->aead == AEAD_AES
                  ? crypto_aead_aes256gcm_decrypt_detached(text, NULL, text, len, tag, message,
                                                           SEAL_HEAD_BYTES, nonce, c->in_key)
                  : crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
                        text, NULL, text, len, tag, message, SEAL_HEAD_BYTES, nonce, c->in_key);
    if (bad != 0)
        return SKEIN_CORRUPT;
    seen_mark(c, counter);
    f.body = text;
    f.body_bytes = (uint32_t)len;
    *frame = f;
    return SKEIN_OK;
}
