/* SPDX-License-Identifier: Apache-2.0
 *
 * See uplink_seal.h. Trust: a key of the collector is trusted when the config names it, or when a
 * collector that proved a trusted key said so (a rotation). collector.keys has lines "FROM TO", so
 * that what was learned from a key goes with it when the config names it no more.
 */
#include "uplink_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "durable.h"
#include "log.h"

#define SECOND      UINT64_C(1000000000)
#define SOON_NS     (SECOND / 20)
#define KEYS_FILE   "collector.keys"
#define PINS_MAX    32
#define LINE_BYTES  (2 * SEAL_TEXT_BYTES) /* two texts, a blank, a newline */
#define KEYS_MAX    (PINS_MAX * LINE_BYTES)
#define TRIES_A_KEY 3
#define TRIES_A_LOG 30 /* seconds without an answer */

struct uplink_seal {
    struct seal_pair own;
    struct seal_public pins[PINS_MAX],
        from[PINS_MAX];    /* from: what said so; itself in the config */
    size_t pin_count, pin; /* pin: the one that is asked for */
    char *token_file;
    int folder;
    uint64_t agent, time_ns; /* time_ns: of the last OPEN; they go up */
    struct seal_opening opening;
    bool waits;
    unsigned unanswered;
    int token_error;                     /* errno of the last look at token_file; 0: it was read */
    uint64_t open_id, next_ns, renew_ns; /* monotonic */
    struct seal_session *now, *before;
};

/* ---- keys ---- */

static size_t pin_find(const struct uplink_seal *s, const struct seal_public *key)
{
    size_t i = 0;
    while (i < s->pin_count && !seal_public_equal(&s->pins[i], key))
        i++;
    return i;
}

static bool pin_add(struct uplink_seal *s, const struct seal_public *key,
                    const struct seal_public *from)
{
    if (s->pin_count == PINS_MAX || pin_find(s, key) < s->pin_count)
        return false;
    s->pins[s->pin_count] = *key;
    s->from[s->pin_count++] = *from;
    return true;
}

/* Lines of the past, oldest first: a key that was learned from a learned one comes after it. */
static void learned_read(struct uplink_seal *s)
{
    struct buf text = {0};
    if (durable_read(s->folder, KEYS_FILE, KEYS_MAX, &text) == SKEIN_OK) {
        for (size_t at = 0; text.len - at >= LINE_BYTES; at += LINE_BYTES) {
            char line[LINE_BYTES];
            struct seal_public from, to;
            memcpy(line, text.data + at, LINE_BYTES);
            line[SEAL_TEXT_BYTES - 1] = line[LINE_BYTES - 1] = '\0';
            if (seal_key_parse(line, from.bytes) == SKEIN_OK &&
                seal_key_parse(line + SEAL_TEXT_BYTES, to.bytes) == SKEIN_OK &&
                pin_find(s, &from) < s->pin_count && pin_add(s, &to, &from))
                s->pin = s->pin_count - 1; /* the newest is tried first */
        }
    }
    buf_fini(&text);
}

static void learned_write(const struct uplink_seal *s)
{
    char text[KEYS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < s->pin_count; i++) {
        char from[SEAL_TEXT_BYTES], to[SEAL_TEXT_BYTES];
        if (seal_public_equal(&s->from[i], &s->pins[i]))
            continue;
        seal_key_text(s->from[i].bytes, from);
        seal_key_text(s->pins[i].bytes, to);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s\n", from, to);
    }
    struct durable_part part = {text, n};
    if (durable_write(s->folder, KEYS_FILE, &part, 1) != SKEIN_OK)
        log_warn("uplink", "the collector's new key could not be kept; it is learned again", NULL);
}

static int pins_read(struct uplink_seal *s, const struct config_strs *texts, char *error,
                     size_t error_bytes)
{
    for (size_t i = 0; i < texts->count; i++) {
        struct seal_public key;
        if (seal_key_parse(texts->items[i], key.bytes) != SKEIN_OK) {
            snprintf(error, error_bytes,
                     "collector.public_key[%zu]: is no key as skeind keygen prints it", i);
            return SKEIN_INVALID;
        }
        (void)pin_add(s, &key, &key);
    }
    return SKEIN_OK;
}

static int own_key_read(struct uplink_seal *s, const char *state_dir, char *error,
                        size_t error_bytes)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/agent.key", state_dir) >= (int)sizeof path)
        return SKEIN_IO;
    int status = seal_file_read(path, &s->own, error, error_bytes);
    if (status != SKEIN_NOT_FOUND)
        return status;
    seal_pair_make(&s->own);
    error[0] = '\0';
    return seal_file_write(path, &s->own, error, error_bytes);
}

int uplink_seal_new(const struct uplink_seal_settings *settings, struct uplink_seal **out,
                    char *error, size_t error_bytes)
{
    struct uplink_seal *s = *out = calloc(1, sizeof *s);
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    s->folder = settings->folder;
    s->agent = settings->agent;
    s->token_file = strdup(settings->join_token_file);
    int status = s->token_file == NULL ? SKEIN_NO_MEMORY : seal_init();
    if (status == SKEIN_OK)
        status = pins_read(s, settings->public_keys, error, error_bytes);
    if (status == SKEIN_OK)
        status = own_key_read(s, settings->state_dir, error, error_bytes);
    if (status == SKEIN_OK)
        learned_read(s);
    else
        uplink_seal_free(out);
    return status;
}

void uplink_seal_free(struct uplink_seal **seal)
{
    struct uplink_seal *s = *seal;
    if (s == NULL)
        return;
    *seal = NULL;
    seal_session_free(&s->now);
    seal_session_free(&s->before);
    free(s->token_file);
    seal_wipe(s, sizeof *s);
    free(s);
}

/* ---- OPEN ---- */

/* The file's first line, or nothing. An enrolled agent needs no token, so only a refusal tells that
 * the file cannot be read. */
static void token_read(struct uplink_seal *s, char token[SEAL_TOKEN_MAX + 1])
{
    token[0] = '\0';
    if (s->token_file[0] == '\0')
        return;
    int fd = open(s->token_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, token, SEAL_TOKEN_MAX) : -1;
    s->token_error = n < 0 ? errno : 0;
    token[n > 0 ? n : 0] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    fd_close(&fd);
}

bool uplink_seal_ready(const struct uplink_seal *s)
{
    return s->now != NULL;
}

static bool wants_open(const struct uplink_seal *s, uint64_t now_ns)
{
    return s->now == NULL || s->waits || now_ns >= s->renew_ns || seal_session_worn(s->now);
}

int uplink_seal_step(struct uplink_seal *s, uint64_t now_ns, uint64_t id, struct buf *body,
                     uint64_t *wake_ns)
{
    struct seal_hello hello = {.agent = s->agent};
    if (!wants_open(s, now_ns)) {
        *wake_ns = s->renew_ns < *wake_ns ? s->renew_ns : *wake_ns;
        return SKEIN_AGAIN;
    }
    if (now_ns < s->next_ns) {
        *wake_ns = s->next_ns < *wake_ns ? s->next_ns : *wake_ns;
        return SKEIN_AGAIN;
    }
    if (s->unanswered > 0 && s->unanswered % TRIES_A_LOG == 0)
        log_warn("uplink",
                 "the collector does not answer the handshake; has it one of the keys of "
                 "collector.public_key?",
                 "tries", log_fmt("%u", s->unanswered), NULL);
    if (s->unanswered > 0 && s->unanswered % TRIES_A_KEY == 0)
        s->pin = (s->pin + 1) % s->pin_count;
    hello.time_ns = clock_realtime_ns();
    if (hello.time_ns <= s->time_ns)
        hello.time_ns = s->time_ns + 1;
    s->time_ns = hello.time_ns;
    token_read(s, hello.token);
    int status = seal_open_make(&s->own, &s->pins[s->pin], &hello, &s->opening, body);
    seal_wipe(&hello, sizeof hello);
    s->waits = status == SKEIN_OK;
    s->open_id = id;
    s->unanswered++;
    s->next_ns = now_ns + SECOND;
    *wake_ns = s->next_ns < *wake_ns ? s->next_ns : *wake_ns;
    return status == SKEIN_OK ? SKEIN_OK : SKEIN_AGAIN;
}

void uplink_seal_unsent(struct uplink_seal *s, uint64_t now_ns)
{
    s->unanswered--;
    s->next_ns = now_ns + SOON_NS;
}

unsigned uplink_seal_unanswered(const struct uplink_seal *s)
{
    return s->unanswered;
}

/* ---- answers ---- */

static void seal_learn(struct uplink_seal *s, const struct seal_public *current)
{
    if (pin_find(s, current) < s->pin_count) {
        s->pin = pin_find(s, current);
        return;
    }
    struct seal_public from = s->pins[s->pin];
    if (!pin_add(s, current, &from))
        return;
    s->pin = s->pin_count - 1;
    learned_write(s);
    log_info("uplink", "the collector has a new key; it is pinned from now on", NULL);
}

bool uplink_seal_answer(struct uplink_seal *s, const struct wire_frame *frame, uint64_t now_ns)
{
    struct seal_session *session = NULL;
    struct seal_grant grant;
    char reason[SEAL_REASON_MAX + 1];
    if (!s->waits || frame->id != s->open_id)
        return false;
    if (frame->type == WIRE_REFUSE) {
        if (seal_refuse_read(&s->opening, frame->body, frame->body_bytes, reason) != SKEIN_OK)
            return false;
        log_warn("uplink", "the collector refuses this agent", "reason", reason,
                 s->token_error != 0 ? "join_token_file" : NULL, s->token_file, "error",
                 strerror(s->token_error), NULL);
        s->unanswered = 0;
        s->next_ns = now_ns + 5 * SECOND;
        return false;
    }
    if (seal_accept_read(&s->opening, &s->own, frame->body, frame->body_bytes, &grant, &session) !=
        SKEIN_OK)
        return false;
    seal_session_free(&s->before);
    s->before = s->now;
    s->now = session;
    s->waits = false;
    s->unanswered = 0;
    seal_wipe(&s->opening, sizeof s->opening);
    uint64_t renew_ms = grant.renew_ms < 1000 ? 1000 : grant.renew_ms;
    s->renew_ns = now_ns + renew_ms * 1000000;
    seal_learn(s, &grant.current);
    return true;
}

void uplink_seal_doubt(struct uplink_seal *s, uint64_t now_ns)
{
    if (s->now != NULL && now_ns < s->renew_ns)
        s->renew_ns = now_ns;
}

/* ---- frames ---- */

int uplink_seal_close(struct uplink_seal *s, enum seal_channel channel, uint8_t *message,
                      uint8_t type, uint64_t id, size_t n)
{
    if (s->now == NULL || seal_frame_close(s->now, channel, message, type, id, n) != SKEIN_OK)
        return SKEIN_AGAIN;
    return SKEIN_OK;
}

int uplink_seal_open(struct uplink_seal *s, enum seal_channel channel, uint8_t *message, size_t n,
                     struct wire_frame *frame)
{
    uint64_t id;
    if (seal_frame_session(message, n, &id) != SKEIN_OK)
        return SKEIN_CORRUPT;
    if (s->now != NULL && seal_session_id(s->now) == id)
        return seal_frame_open(s->now, channel, message, n, frame);
    if (s->before != NULL && seal_session_id(s->before) == id)
        return seal_frame_open(s->before, channel, message, n, frame);
    return SKEIN_NOT_FOUND;
}
