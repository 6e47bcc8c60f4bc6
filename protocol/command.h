/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND, from the collector until the agent's COMMAND_ACK (P-7). Its times are on the collector's
 * clock (P-28).
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

#include "control_body.h"
#include "evidence_kinds.h"
#include "ids.h"

#define COMMAND_STREAM_MS_MIN       100
#define COMMAND_UPLOAD_AFTER_MS_MAX UINT64_C(3600000)
#define COMMAND_PROCESSES_MAX       1024 /* what fits one message (P-5) */

enum command_kind {
    COMMAND_CAPTURE = 1,
    COMMAND_STOP,
    COMMAND_RULES,
    COMMAND_POLICIES,
    COMMAND_PROCESSES,   /* tell of all that there are, now */
    COMMAND_RULES_CHANGE /* what has changed in the set of rules since `base` */
};

struct command {
    enum command_kind kind;
    const char *command;       /* text that the acknowledgement repeats; NULL: none is put */
    struct capture_id capture; /* of capture and stop */
    /* capture */
    uint64_t clock;   /* the setting of the collector's clock that its times are of */
    uint64_t sent_ns; /* 0: it does not say */
    uint64_t at_ns, pre_ms, post_ms;
    uint64_t deadline_ns;     /* 0: none */
    uint64_t stream_ms;       /* 0: a window, else how often its past is cut and uploaded */
    uint64_t upload_after_ms; /* the next upload waits so long, where nothing is under way */
    bool unshared; /* `share` false: no partitions of earlier captures are listed (P-9) */
    struct evidence_wish wish; /* for which evidence (P-32) */
    struct process_uid *processes;
    size_t process_count;
    /* rules and policies */
    uint64_t generation;
    cJSON *set; /* the array, as in docs/api.md; not looked into here */
    /* rules_change: to be made to a set of any generation from base on */
    uint64_t base;
    cJSON *removed; /* names; those that the set does not have are passed over */
};
void command_put(const struct command *command, struct buf *out);
/* The set points into the JSON. After a failure out->command is the text to refuse it by, or NULL
 * where it cannot be read. */
int command_get(const cJSON *json, struct command *out, char *error, size_t error_bytes);
void command_fini(struct command *command); /* of command_get */

struct command_ack {
    uint64_t agent;
    const char *command;
    bool ok;
    const char *error; /* where it is not ok */
};
void command_ack_put(const struct command_ack *ack, struct buf *out);
int command_ack_get(const cJSON *json, struct command_ack *out, char *error, size_t error_bytes);

#endif
