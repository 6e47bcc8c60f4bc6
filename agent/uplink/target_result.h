/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of one process in a capture, as it is put together cut by cut, and the report of it
 * (report_target.h): made of the result, and read again from the spool's journal. No state; any
 * thread, one at a time for one result.
 */
#ifndef TARGET_RESULT_H
#define TARGET_RESULT_H

#include "loss.h"
#include "report_target.h"
#include "spool.h"
#include "uplink_clock.h"

/* Owned by whoever collects it; target_result_fini frees. */
struct target_evidence {
    char kind[32], state[16], reason[160];
    uint64_t events, took_us;
};
struct target_result {
    struct capture_id capture;
    struct process_uid process;
    uint32_t user;             /* whose share of the journal it takes */
    enum trigger_type trigger; /* told while REPORT_CAPTURING, for a restart */
    bool stream;               /* the same */
    enum report_state state;
    char reason[256]; /* "" where there is none */
    uint64_t from_ns, to_ns;
    uint64_t began_ns;           /* the process */
    struct clock_map map;        /* of all its times to the collector's clock */
    struct report_range *ranges; /* by epoch and sequence, apart from each other */
    size_t range_count, range_cap;
    uint64_t events, lost[LOSS_REASONS];
    uint64_t window_events;  /* of those that it lists, in its window */
    bool at_most;            /* these, and what of partitions is lost, are so many at most */
    struct report_gap *gaps; /* their reasons are static text */
    size_t gap_count, gap_cap;
    struct target_evidence evidence[REPORT_EVIDENCE_MAX];
    size_t evidence_count;
    struct {
        uint64_t epoch, sequence;
        bool known;
    } evidence_at; /* its partition; its loss is none of the ring's */
    struct {
        int32_t signal, status;
        bool known;
    } death;
    struct report_ring ring; /* its `why` is ring_why */
    char ring_why[REPORT_RING_WHY_MAX + 1];
};
void target_result_fini(struct target_result *result);
/* Adds partitions not listed yet; neighbours become one range. SKEIN_OK, SKEIN_NO_MEMORY. */
int target_result_add_range(struct target_result *result, const struct report_range *range);
/* Takes a lost partition out of the list. Its events go under "lost", its time under "gaps". If
 * that splits a range, the two parts share its other events and bytes by their numbers of
 * partitions: only the sum is known. SKEIN_OK, SKEIN_NO_MEMORY. */
int target_result_drop(struct target_result *result, const struct spool_head *lost,
                       const char *reason);
/* Gaps of one reason that touch become one; beyond 256 gaps, all of one reason do. */
int target_result_add_gap(struct target_result *result, const struct report_gap *gap);

/* Adds what became of a kind of evidence. Beyond REPORT_EVIDENCE_MAX kinds nothing is added. */
void target_result_add_evidence(struct target_result *result,
                                const struct report_evidence *evidence);

/* Appends the report; failures are sticky in `out`. */
void target_result_put(uint64_t agent, const struct target_result *result, struct buf *out);
/* Adds what a journalled report of the target says: window, ranges, events, losses, gaps, trigger.
 * SKEIN_OK, SKEIN_CORRUPT (nothing of it is in), SKEIN_NO_MEMORY. */
int target_result_read(struct target_result *result, const char *report, size_t n);
/* spool_amend_fn: the report after target_result_drop; a target that has nothing left is failed. */
int target_result_amend(const char *report, size_t n, const struct spool_head *lost,
                        const char *reason, struct buf *out);

#endif
