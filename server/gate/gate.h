/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands between the collector's two ports and the messages on them: handshakes, sealed sessions,
 * and what may come in plain (P-16 to P-24). Fleet and ingest hand each message in and each answer
 * out. Owns the sessions, under one mutex; any thread. Never waits for the control lock.
 *
 *   OPEN ──▶ pending ──first frame that verifies──▶ live ──a newer session goes live──▶ old
 *              └─ a newer OPEN takes its place         └─ agent revoked: gone              └─ grace
 */
#ifndef GATE_H
#define GATE_H

#include "enroll.h"
#include "transport.h"

struct gate;
struct gate_settings {
    struct enroll *enroll; /* must outlive the gate */
    bool plain;            /* plain messages are taken too */
    uint64_t max_agents;
    uint32_t renew_ms;       /* how long a session lasts; 0: an hour */
    uint32_t opens_a_second; /* handshakes; 0: 500 */
    /* An agent has joined by this token. Called by the control thread: must not block it, nor call
     * the gate. May be NULL. */
    void (*joined)(void *context, uint64_t agent, const char *token_id);
    void *context;
};
int gate_new(const struct gate_settings *settings, struct gate **out); /* SKEIN_NO_MEMORY */
void gate_free(struct gate **gate);

/* Takes a message. SKEIN_OK: *frame lies in it, and message->peer names session and agent (both 0:
 * plain). SKEIN_AGAIN: the gate has dealt with it; send `answer` back as it is, unless it is empty.
 * Another status: the message is malformed; drop it. A NULL gate takes plain messages. */
int gate_take(struct gate *gate, enum seal_channel channel, struct transport_message *message,
              struct wire_frame *frame, struct buf *answer);

/* Makes a message for the peer, plain or sealed as the peer says, in memory for transport_send.
 * SKEIN_OK; SKEIN_NO_MEMORY; SKEIN_CLOSED (the session is over). */
int gate_make(struct gate *gate, enum seal_channel channel, const struct transport_peer *peer,
              uint8_t type, uint64_t id, const void *body, size_t n, void **message);

/* Ends sessions of revoked and forgotten agents. gate_look: now. gate_tick: once a second, by the
 * control thread, for changes that another process has made. */
void gate_look(struct gate *gate);
void gate_tick(struct gate *gate);

#endif
