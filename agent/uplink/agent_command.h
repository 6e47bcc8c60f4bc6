/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector says on control, read into structs: WELCOME, HEARTBEAT_ACK, REPORT_ACK and the
 * commands. Pure functions over hostile bytes; no ownership beyond what they hand out. Any thread.
 */
#ifndef AGENT_COMMAND_H
#define AGENT_COMMAND_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "ids.h"
#include "uplink_clock.h"

#define COMMAND_STREAM_MS_MIN 100
#define COMMAND_PROCESSES_MAX 1024 /* what fits one message (P-5) */

enum command_kind { COMMAND_CAPTURE = 1, COMMAND_STOP, COMMAND_RULES, COMMAND_POLICIES };

struct command {
    enum command_kind kind;
    uint64_t frame_id; /* of the message, echoed by its answer (P-4) */
    cJSON *id;         /* "command" as it came: echoed */
    struct capture_id capture;
    uint64_t at_ns, pre_ms, post_ms, deadline_ns;
    uint64_t clock, sent_ns; /* which setting of the collector's clock its times are of; when it
                              * was sent; 0: it does not say */
    struct clock_map map;    /* for these times, by the uplink */
    uint64_t stream_ms;      /* 0: a window, else how often its past is cut and uploaded */
    bool alone;              /* no partitions of earlier captures are listed */
    uint64_t
        upload_after_ms; /* what is to be uploaded next waits so long, where nothing is under way */
    struct process_uid *processes;
    size_t process_count;
    uint64_t generation;
    cJSON *set; /* rules or policies: the array, not yet looked into */
};

/* SKEIN_OK and *out to free; SKEIN_INVALID with a sentence in error; SKEIN_NO_MEMORY. Where the
 * command's id could be read, *id is a copy for the refusal, else NULL; the caller's to delete. */
int command_parse(const void *body, size_t n, struct command **out, cJSON **id, char *error,
                  size_t error_bytes);
void command_free(struct command **command);

struct welcome {
    uint64_t lease_ms, heartbeat_ms, rules_generation;
    uint64_t received_ns; /* when HELLO came, on the collector's clock; 0: it does not say */
    uint64_t clock;       /* the number of that clock's setting */
};
int welcome_parse(const void *body, size_t n, struct welcome *out, char *error, size_t error_bytes);

struct heartbeat_ack {
    uint64_t received_ns, clock, rules_generation;
    bool cloned; /* another process speaks as this agent */
    bool hello;
};
int heartbeat_ack_parse(const void *body, size_t n, struct heartbeat_ack *out, char *error,
                        size_t error_bytes);

/* SKEIN_OK (ok true), SKEIN_REFUSED (ok false; its error in error), SKEIN_INVALID. */
int report_ack_parse(const void *body, size_t n, char *error, size_t error_bytes);

#endif
