/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole messages between agents and the collector. transport_nn.c does it over nanomsg's raw
 * REQ/REP on tcp and is the only module that knows nanomsg; its sharp edges
 * (docs/architecture.md) end here. Carries bytes; seal.h seals them.
 *
 * Neither side may assume that a sent message arrives: whoever needs that waits for an
 * acknowledgement on its own level and sends again.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

struct transport;

/* The return path to one peer, as the listener saw it with a message. Stale ones are harmless: what
 * is sent there is dropped. */
#define TRANSPORT_PEER_MAX 64
struct transport_peer {
    uint8_t bytes[TRANSPORT_PEER_MAX];
    size_t len;
    /* Not the transport's, which leaves both 0: the session that what goes there is sealed with,
     * and the agent that has proven to be there. */
    uint64_t session, agent;
};

/* A received message, the caller's until transport_message_free. `data` is 4-byte aligned. */
struct transport_message {
    uint8_t *data;
    size_t len;
    struct transport_peer peer; /* listener only */
};

/* Orders peers of listeners by the connections that they came by; 0: it is the same one. */
int transport_peer_compare(const struct transport_peer *a, const struct transport_peer *b);

/* Listens on / dials "tcp://HOST:PORT". Messages above max_message_bytes are refused by closing
 * that connection. Dialling does not wait for the peer; it redials by itself with a randomised
 * interval. SKEIN_OK; SKEIN_INVALID (address); SKEIN_BUSY (address in use); SKEIN_IO;
 * SKEIN_NO_MEMORY. *out is NULL on failure. */
int transport_listen(const char *address, size_t max_message_bytes, struct transport **out);
int transport_dial(const char *address, size_t max_message_bytes, struct transport **out);
void transport_free(struct transport **transport);

/* Whether "tcp://HOST:PORT" is this machine by its very text: 127.…, localhost, [::1]. */
bool transport_is_loopback(const char *address);

/* A descriptor that polls readable while a message may be received; owned by the transport. */
int transport_poll_fd(struct transport *transport);
/* The same while a message may be sent; and whether one may be now. */
int transport_send_fd(struct transport *transport);
bool transport_can_send(struct transport *transport);

/* SKEIN_OK; SKEIN_AGAIN (none now; blocks at most timeout_ms); SKEIN_NO_MEMORY; SKEIN_CLOSED. */
int transport_receive(struct transport *transport, int timeout_ms, struct transport_message *out);
void transport_message_free(struct transport_message *message);

/* A buffer to build a message in without a copy later. NULL when out of memory. */
void *transport_alloc(size_t len);
void transport_alloc_free(void *message);

/* Sends a buffer from transport_alloc; it is gone after SKEIN_OK and the caller's still after a
 * failure. `peer` for the listener, NULL for the dialler. SKEIN_OK (handed over, not arrived);
 * SKEIN_AGAIN (no peer or no room within timeout_ms); SKEIN_INVALID. */
int transport_send(struct transport *transport, void *message, const struct transport_peer *peer,
                   int timeout_ms);

/* So many connections of the listener at the address are enough: from seven eighths of them on, who
 * holds most gives way, and ordinary users of this machine get none as long as that is themselves
 * (transport_crowd.h). For one listener of the process, where the executable has transport_sockets.c. */
void transport_enough(const char *address, uint64_t connections);

/* Connections of this process's listeners that were closed at once, because they would have taken
 * the descriptors that its other parts need. Any thread. The second and third are transport_sockets.c's;
 * that one says how many are enough there, 0: there is no bound. */
uint64_t transport_refused(void);
uint64_t transport_enough_at(uint16_t port);
void transport_note_refused(void);

/* Dialler: drops the connection and dials anew. The cure for nanomsg's wedged sockets; call it when
 * a peer has been silent too long. */
int transport_redial(struct transport *transport);

#endif
