/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between a service and its agent on the agent's SOCK_SEQPACKET Unix socket. Included
 * by client-lib, agent and cli/agent_ask.c only. One message is one packet; identity is
 * SO_PEERCRED's, never the message's. Both ends check magic, version, type and exact size, and drop
 * the connection otherwise.
 *
 *   service                                   agent
 *   HELLO (+ ring fd it already has) ------->  checks seals, size; makes or adopts the ring
 *           <------- WELCOME + 3 fds: ring, host page (read-only), process page (read-only)
 *   SNAPSHOT reason ------------------------>  captures this process
 *   HEALTH ok, why ------------------------->  says how the service is (skein_health)
 *   BYE ------------------------------------>  recording ends: a normal end follows
 *   LEAVE ---------------------------------->  the connection ends, the process and its ring go on
 *
 *   any process of the host                   agent
 *   WATCH pid, service, labels ------------->  watches that process from outside, or no longer
 *           <------- WATCHED status, text      and the connection ends
 *
 * A service sends HEALTH and LEAVE only to an agent whose WELCOME says that it takes them: an older
 * one would drop the connection, which for LEAVE is what follows anyway.
 *
 * A connection that ends after LEAVE is not an end: the program wants no guest for a while (it
 * forks, or changes who it is), and goes on writing to its ring. It comes back with a HELLO that
 * says so, without the ring's descriptor, and is given the same ring again. One that ends without
 * LEAVE, in a process that lives on, is that of another program: exec().
 */
#ifndef ATTACH_PROTO_H
#define ATTACH_PROTO_H

#include <stdint.h>

#define ATTACH_MAGIC   UINT32_C(0x41534b31)
#define ATTACH_VERSION 1

enum attach_type {
    ATTACH_HELLO = 1,
    ATTACH_WELCOME = 2,
    ATTACH_SNAPSHOT = 3,
    ATTACH_BYE = 4,
    ATTACH_HEALTH = 5,
    ATTACH_LEAVE = 6,
    ATTACH_WATCH = 7,
    ATTACH_WATCHED = 8
};

#define ATTACH_TAKES_HEALTH 1u /* welcome.takes */
#define ATTACH_TAKES_LEAVE  2u

struct attach_head {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
};

struct attach_hello {
    struct attach_head head;
    uint64_t ring_bytes; /* wished, 0: the agent's default */
    uint8_t mode;        /* enum skein_mode, 0: the agent's default */
    uint8_t has_ring;    /* 1: the packet carries the memfd of a ring from an agent that is gone */
    uint8_t comes_back;  /* 1: this program was here, and has its ring mapped */
    uint8_t is_service;  /* 1: the program that was started as the service, not what that starts */
    /* Since when the process has something to record: CLOCK_MONOTONIC in ms, the low 32 bits; 0: it
     * does not say. An agent that reads this after the process has ended knows what is lacking. */
    uint32_t began_ms;
    char service[128]; /* NUL-terminated, as are all texts */
    char labels[512];
};

struct attach_welcome {
    struct attach_head head;
    int32_t status; /* SKEIN_OK, or why not: no fds then */
    uint8_t mode;
    uint8_t takes; /* ATTACH_TAKES_...: what this agent understands beyond the first version */
    uint8_t reserved[2];
    uint64_t ring_bytes;
};

struct attach_snapshot {
    struct attach_head head;
    char reason[128];
};

struct attach_health {
    struct attach_head head;
    uint8_t ok; /* 0: it is not; anything else: it is */
    uint8_t reserved[7];
    char why[128];
};

enum attach_watch_what {
    ATTACH_WATCH_NOW = 1,
    ATTACH_WATCH_BECOMES = 2, /* the asker itself, once it has called exec */
    ATTACH_WATCH_STOP = 3
};

struct attach_watch {
    struct attach_head head;
    uint32_t pid; /* as the agent sees it */
    uint8_t what; /* enum attach_watch_what */
    uint8_t reserved[3];
    char service[128]; /* "": the program's name */
    char labels[512];
};

struct attach_watched {
    struct attach_head head;
    int32_t status; /* SKEIN_OK, or why not */
    uint8_t reserved[4];
    char text[256]; /* a sentence for people */
};

struct attach_bye { /* also LEAVE */
    struct attach_head head;
};

#endif
