/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that speaks docs/protocol.md over the real transport, by hand: the test says what it
 * sends and looks at what comes. Failures end the test through libcheck. One thread.
 */
#ifndef FAKE_WIRE_AGENT_H
#define FAKE_WIRE_AGENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "partition_make.h"
#include "transport.h"
#include "wire.h"

struct wire_agent {
    uint64_t id, epoch, next_frame, version;
    uint64_t policies_generation; /* what heartbeats say */
    const char *samples;          /* the same, as JSON; NULL: nothing */
    const char *refused;          /* as well */
    const char *clock;            /* an object whose members they have, too; NULL: none */
    const uint32_t *users;        /* whose each process is, by its number; NULL: not said */
    const char *host;
    struct transport *control, *data;
    uint16_t data_port;
    cJSON *waiting[64]; /* commands that came while something else was awaited */
    size_t waiting_count;
};

void wire_agent_open(struct wire_agent *a, uint64_t id, const char *host, uint16_t control_port,
                     uint16_t data_port);
void wire_agent_close(struct wire_agent *a);

/* HELLO until WELCOME, which is the caller's to free. */
cJSON *wire_agent_hello(struct wire_agent *a);
/* One heartbeat and its answer, the caller's to free. sent_ns 0: now. */
cJSON *wire_agent_beat(struct wire_agent *a, uint64_t sent_ns, uint64_t rules_generation);

/* A process list of `count` processes from process_of(first), service as given; acknowledged when
 * this returns. */
void wire_agent_processes(struct wire_agent *a, uint32_t first, uint32_t count,
                          const char *service);

/* Sends the report until it is answered; takes it. True when the answer says ok; else its words are
 * in error. */
bool wire_agent_report(struct wire_agent *a, cJSON *report, char *error, size_t error_bytes);
cJSON *wire_report(const struct wire_agent *a, const char *kind); /* with agent and kind in it */
/* A target's report: `sequences` partitions from sequence 0, each of `events` events. */
cJSON *wire_target(const struct wire_agent *a, const char *capture, uint32_t process,
                   const char *state, unsigned sequences, unsigned events);
cJSON *wire_fired(const struct wire_agent *a, const char *capture, uint32_t process,
                  const char *rule, uint64_t at_ns);

/* The next command of a kind, not acknowledged; the caller frees. NULL when none comes in time. */
cJSON *wire_agent_command(struct wire_agent *a, const char *kind, int timeout_ms);
/* The collector has heard of it when this returns, and no repeat of the command comes behind it. */
void wire_agent_ack(struct wire_agent *a, const cJSON *command, const char *error);

/* Uploads a partition of the capture and waits until it is stored. */
enum wire_ack_status wire_agent_upload(struct wire_agent *a, uint32_t process, uint64_t sequence,
                                       const char *capture, size_t noise_bytes);
/* The same, of this service on the agent's host. */
enum wire_ack_status wire_agent_upload_of(struct wire_agent *a, uint32_t process, uint64_t sequence,
                                          const char *capture, const char *service);

#endif
