/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent for tests of the client library: makes host page, process page and ring as an agent
 * does, for a writer in this process or for those that connect to its socket. The socket's thread
 * and the test's share it under the mutex.
 */
#ifndef FAKE_AGENT_H
#define FAKE_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attach_proto.h"
#include "privacy.h"
#include "ring_layout.h"

#define FAKE_PEERS_MAX 16

struct fake_ring {
    int ring_fd, page_fd;
    uint8_t *ring;
    struct process_page *page;
    struct ring_geometry geometry;
};

struct fake_peer {
    int socket;
    pid_t pid; /* 0: no such peer yet */
    struct fake_ring ring;
    struct attach_hello hello;
    bool adopted, bye, left, gone;
    unsigned snapshots, heartbeats;
    char reason[128];
    struct attach_health heartbeat; /* the last */
};

struct fake_agent {
    int host_fd;
    struct host_page *host;
    /* the served socket */
    uint8_t mode;
    uint64_t ring_bytes;
    uint64_t stack_ns;           /* of each process page */
    bool refuse_adoption, old;   /* old: takes nothing beyond the first version */
    bool mute;                   /* hears, and does not answer */
    unsigned late_ms;            /* answers only then */
    struct privacy_rule privacy; /* of the rings that it makes */
    uint64_t threshold_ns;       /* the same, of all groups; 0: each one's own */
    int listener, wake;
    pthread_t thread;
    pthread_mutex_t mutex;
    struct fake_peer peers[FAKE_PEERS_MAX];
    unsigned peer_count;
};

/* A host page. Failures abort the program. */
void fake_agent_init(struct fake_agent *agent, uint64_t generation);
void fake_agent_fini(struct fake_agent *agent);

/* A ring with its process page, all groups enabled. */
void fake_ring_init(struct fake_ring *ring, uint8_t mode, uint64_t bytes);
void fake_ring_fini(struct fake_ring *ring);

/* Attaches this very process to a new ring, without a socket. */
void fake_agent_attach_self(struct fake_agent *agent, struct fake_ring *ring, uint8_t mode,
                            uint64_t bytes);

/* Serves the socket from a thread; stopping closes every connection, as a killed agent would. The
 * rings stay readable until fini. */
void fake_agent_serve(struct fake_agent *agent, const char *path, uint8_t mode, uint64_t bytes);
void fake_agent_stop(struct fake_agent *agent);

/* Whether a process that attached had events before it had its ring, as one has that the agent
 * answered late, or ended before. What is to be found from the first event on is tried again then:
 * nobody waits long for an agent. */
bool fake_agent_was_late(const struct fake_agent *agent);

#endif
