/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the uplink, shared by uplink.c, uplink_control.c and uplink_data.c alone.
 * Everything is the uplink thread's, but for what stands under the mutex or is marked atomic.
 */
#ifndef UPLINK_INT_H
#define UPLINK_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "transport.h"
#include "uplink.h"
#include "wire.h"

#define UPLINK_UPLOADS 8  /* partitions with chunks under way; also the window of chunks (P-11) */
#define UPLINK_HELD    64 /* commands that wait for a sample of the clock they speak of */

/* A message on control that waits to be sent, or for its answer. */
struct outgoing {
    TAILQ_ENTRY(outgoing) link;
    uint8_t type; /* WIRE_REPORT or WIRE_COMMAND_ACK */
    uint64_t id;
    uint64_t revision; /* of the spool; 0: not journalled */
    uint16_t kind;     /* enum spool_kind where revision is not 0 */
    bool on_target;    /* capture and process are set */
    struct capture_id capture;
    struct process_uid process;
    char key[192];
    uint64_t next_ns, wait_ms; /* when to send again, and the pause after that */
    size_t len;
    char text[];
};
TAILQ_HEAD(outgoing_list, outgoing);

/* One of the places for partitions that are under way:
 *
 *            upload_begin               upload_step: the last chunk went
 *     FREE ───────────────▶ SENDING ──────────────────────────────────▶ SENT
 *      ▲                     │   ▲                                      │ │
 *      │                     │   ├── overdue_resend: no answer in time ─┘ │
 *      │                     │   └── ack_take: WIRE_RETRY ────────────────┤
 *      └── upload_end ◀──────┴── ack_take: stored, rejected ──────────────┘
 *                                upload_step: unreadable · uplink_data_close
 *
 *   FREE     active is false; no file
 *   SENDING  next < count: these chunks go; up to `acknowledged` the collector has said it has them
 *   SENT     next == count: waits for the answer
 */
struct upload {
    bool active;
    uint64_t order;
    struct spool_head head;
    int fd;
    uint32_t count, next,
        acknowledged; /* chunks: all, next to send, that the collector said it has */
    uint64_t sent_all_ns, not_before_ns;
};

/* When HELLO or a heartbeat went, to compare with when the collector had it. */
struct clock_sample {
    uint64_t id, sent_ns; /* on the agent's line */
};

struct uplink {
    /* constant */
    uint64_t agent, epoch, resend_ns, idle_ns;
    char *control_address, *data_address, *host, *version, *boot, *labels;
    struct uplink_hooks hooks;
    struct spool *spool;
    struct uplink_seal *seal; /* NULL: plain */
    int wake_fd;
    pthread_t thread;
    bool started;

    /* atomic */
    uint64_t rules_generation, policies_generation, processes_version;
    uint64_t stop_by_ns; /* 0: run */

    pthread_mutex_t mutex; /* guards the list, the counters and the map */
    struct outgoing_list list;
    struct agent_counters counters;
    uint64_t captures_per_hour; /* of WELCOME */
    struct heartbeat_samples samples;
    struct heartbeat_refused refused;
    struct clock_map map; /* of the collector's newest clock */

    /* uplink thread: control */
    struct transport *control;
    bool up;
    uint64_t next_id, heartbeat_ns, random;
    uint64_t hello_first_id, hellos_unanswered;
    uint64_t next_beat_ns;
    uint32_t beats_unanswered;
    struct clock_sample hello, beats[4];
    struct uplink_clock clock;
    uint64_t instance;     /* of this start: another one's heartbeats are told from ours */
    bool cloned;           /* the collector has heard another one */
    int64_t host_ahead_ns; /* the host's clock less the agent's line, at the beat before */
    struct agent_command *held[UPLINK_HELD];
    size_t held_count;
    uint64_t spool_revision; /* of the journal, taken over so far */

    /* uplink thread: data */
    struct transport *data;
    struct upload uploads[UPLINK_UPLOADS];
    uint64_t data_used_ns;     /* last time that there was work */
    uint64_t data_hold_ms;     /* so long the next upload waits, if nothing is under way then */
    uint64_t data_after_ns;    /* until when what was begun waits */
    uint64_t data_progress_ns; /* last time that something moved */
    bool data_full;            /* a chunk waits until the connection takes one */
};

/* Each does what is due and lowers *wake_ns to when it wants to be called again. */
void uplink_control_step(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns);
void uplink_control_receive(struct uplink *uplink);
void uplink_data_step(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns);
void uplink_data_receive(struct uplink *uplink);
void uplink_data_close(struct uplink *uplink);
bool uplink_data_idle(const struct uplink *uplink);

struct outgoing *outgoing_new(uint8_t type, const char *key, const char *text, size_t n);
void outgoing_put_locked(struct uplink *uplink, struct outgoing *out);

/* Frames body and sends it at once or not at all: SKEIN_OK, SKEIN_AGAIN, SKEIN_NO_MEMORY. */
int uplink_control_send(struct uplink *uplink, uint8_t type, uint64_t id, const void *body,
                        size_t n);

#define UPLINK_COUNT(uplink, field)                                                                \
    do {                                                                                           \
        pthread_mutex_lock(&(uplink)->mutex);                                                      \
        (uplink)->counters.field++;                                                                \
        pthread_mutex_unlock(&(uplink)->mutex);                                                    \
    } while (0)

#endif
