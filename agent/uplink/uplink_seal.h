/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end of the handshake (P-16 to P-24): its key (state_dir/agent.key), the collector's
 * keys that it trusts (config, and state_dir/collector.keys for what a rotation taught it), the
 * session now and the one before. Made by the main thread, then the uplink thread's alone.
 */
#ifndef UPLINK_SEAL_H
#define UPLINK_SEAL_H

#include "config.h"
#include "seal.h"

struct uplink_seal;

struct uplink_seal_settings {
    const struct config_strs *public_keys; /* the pins, at least one */
    const char *join_token_file;           /* "" for none; read when a token is asked for */
    const char *state_dir;
    int folder; /* its descriptor; must stay open */
    uint64_t agent;
};

/* Makes the agent's key at the first start. SKEIN_OK; else a sentence in error. */
int uplink_seal_new(const struct uplink_seal_settings *settings, struct uplink_seal **out,
                    char *error, size_t error_bytes);
void uplink_seal_free(struct uplink_seal **seal);

bool uplink_seal_ready(const struct uplink_seal *s); /* there is a session */

/* SKEIN_OK: the body of an OPEN is appended, to be sent with frame id `id`; SKEIN_AGAIN: none is
 * due; lowers *wake_ns to when one is. */
int uplink_seal_step(struct uplink_seal *s, uint64_t now_ns, uint64_t id, struct buf *body,
                     uint64_t *wake_ns);
void uplink_seal_unsent(struct uplink_seal *s, uint64_t now_ns); /* there was no connection */
/* How many in a row had no answer, for who dials. */
unsigned uplink_seal_unanswered(const struct uplink_seal *s);

/* ACCEPT or REFUSE: true when there is a new session. */
bool uplink_seal_answer(struct uplink_seal *s, const struct wire_frame *frame, uint64_t now_ns);
/* The collector may have lost the session: another one soon. */
void uplink_seal_doubt(struct uplink_seal *s, uint64_t now_ns);

/* seal_frame_close and seal_frame_open with the sessions there are. SKEIN_AGAIN: no session. */
int uplink_seal_close(struct uplink_seal *s, enum seal_channel channel, uint8_t *message,
                      uint8_t type, uint64_t id, size_t n);
int uplink_seal_open(struct uplink_seal *s, enum seal_channel channel, uint8_t *message, size_t n,
                     struct wire_frame *frame);

#endif
