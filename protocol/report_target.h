/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT target: what became of one process in a capture (P-8, P-9). Agents journal it and read it
 * again after a restart; the collector keeps it in its catalog.
 */
#ifndef REPORT_TARGET_H
#define REPORT_TARGET_H

#include <stdbool.h>

#include "control_body.h"
#include "ids.h"
#include "report_clock.h"
#include "trigger.h"

#define REPORT_LISTED_MAX (UINT64_C(1) << 40) /* partitions of a target */

enum report_state { REPORT_CAPTURING, REPORT_UPLOADING, REPORT_NOTHING, REPORT_FAILED };
const char *report_state_text(enum report_state state);

struct report_range { /* partitions of consecutive sequences, and what they hold together */
    uint64_t epoch, first, last, events, bytes;
};
struct report_loss {
    const char *reason; /* of loss.h, or of a newer agent's */
    uint64_t events;
};
struct report_gap {
    uint64_t from_ns, to_ns;
    const char *reason; /* as above */
};

/* What became of one kind of evidence (docs/evidence.md). */
#define REPORT_EVIDENCE_MAX 16
struct report_evidence {
    const char *kind;   /* threads, samples, …, or a newer agent's */
    const char *state;  /* taken, partial, refused, none */
    const char *reason; /* "" where there is none; 159 bytes at most */
    uint64_t events, took_us;
};

/* The process's ring as it was when the capture took the process. */
struct report_ring {
    uint64_t bytes, wished_bytes, memory_bytes; /* bytes 0: nobody says */
    const char *why; /* why it is smaller, or has less memory, than was wished; "": it is not */
};

struct report_target {
    uint64_t agent;
    struct capture_id capture;
    struct process_uid process;
    enum report_state state;
    enum trigger_type trigger; /* told with REPORT_CAPTURING alone, for the agent's restart */
    bool stream;               /* the same: what it lists is the collector's already */
    const char *reason;        /* "" where there is none */
    bool has_window, has_death;
    uint64_t from_ns, to_ns;   /* the window */
    uint64_t began_ns;         /* the process; 0: the agent does not say */
    struct report_clock clock; /* of all its times */
    uint64_t events;           /* of the ledger, with the losses */
    /* Of the partitions that it lists: events in its window; at_most: these, and what partitions have
     * lost, are so many at most. */
    bool has_window_events, at_most;
    uint64_t window_events;
    int64_t signal, status; /* of the death */
    struct report_range *partitions;
    struct report_loss *losses;
    struct report_gap *gaps;
    size_t partition_count, loss_count, gap_count;
    struct report_evidence *evidence;
    size_t evidence_count;
    bool has_evidence_at; /* the partition of the evidence, one of those listed */
    uint64_t evidence_epoch, evidence_sequence;
    struct report_ring ring;
    uint64_t listed, listed_events; /* by all ranges; report_target_get's sums */
};
void report_target_put(const struct report_target *report, struct buf *out);
int report_target_get(const cJSON *json, struct report_target *out, char *error,
                      size_t error_bytes);
void report_target_fini(struct report_target *report); /* of report_target_get */
void report_target_align(struct report_target *report);
/* Each adds a part of the report, in words that are the API's, too: "partitions"; "death" and
 * "evidence" (what became of each kind), "ring", if there is any. */
void report_partitions_add(const struct report_target *report, cJSON *to);
void report_death_add(const struct report_target *report, cJSON *to);
void report_evidence_add(const struct report_target *report, cJSON *to);
void report_ring_add(const struct report_target *report, cJSON *to);

#endif
