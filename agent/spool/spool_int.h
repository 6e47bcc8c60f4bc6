/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the spool, shared by spool.c, spool_report.c and spool_recover.c alone. Functions
 * named spool_*_locked want the mutex held.
 */
#ifndef SPOOL_INT_H
#define SPOOL_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "spool.h"

/*
 *   spool_put ──▶ HELD ──spool_release──▶ QUEUED ──spool_open_partition──▶ ON_WAY
 *                   ▲                     ▲  │  │                          │   │
 *   spool_recover ──┴─ has a report: ─────┘  │  └── spool_done ──▶ gone ◀──┘   │
 *                                            │ no room: item_evict_locked      │ the same
 *                                            ▼                                 ▼
 *                                    gone, told as lost        gone ◀───── EVICTED
 *                                                         spool_done
 *
 *   HELD     no report tells of it: it is never dropped
 *   QUEUED   it may go up
 *   ON_WAY   the uplink has it open: it may arrive whatever becomes of the file
 *   EVICTED  its file and its room are given up, its upload goes on; lost unless that says stored
 *
 * spool_done also ends a QUEUED one whose file does not open.
 */
enum spool_state { SPOOL_HELD, SPOOL_QUEUED, SPOOL_ON_WAY, SPOOL_EVICTED };

struct spool_item {
    TAILQ_ENTRY(spool_item) link;
    struct spool_head head; /* its capture is the one that it was cut for */
    uint64_t order;
    enum spool_state state;
    struct capture_id *shared; /* by these captures too */
    size_t shared_count, shared_cap;
};
TAILQ_HEAD(spool_items, spool_item);

/* A journalled report. Its file and its place in the list change together. It goes when the
 * collector has taken its revision, but a target's final one then waits for its last partition:
 *
 *   spool_report_put, spool_recover ──▶ waits ──spool_report_acked──▶ gone
 *                                         └──(a target's)──▶ acked ──spool_settle_locked──▶ gone
 *   report_amend_locked: waits, under a new revision
 */
struct spool_entry {
    TAILQ_ENTRY(spool_entry) link;
    struct spool_head head;
    uint64_t revision;
    bool acked;
    size_t len;
    char text[];
};
TAILQ_HEAD(spool_entries, spool_entry);

struct spool_loss { /* of a target without a final report */
    TAILQ_ENTRY(spool_loss) link;
    struct spool_head head;
    const char *reason;
};
TAILQ_HEAD(spool_losses, spool_loss);

/* Lost partitions are remembered so that no capture begins to share them. A capture may list one
 * that is forgotten; the collector then counts it as not arrived. */
#define SPOOL_LOST_REMEMBERED 256

/* Constant down to the mutex, which guards the rest. */
struct spool {
    int folder, rejected;
    uint64_t max_bytes;
    uint32_t max_reports, max_rejected;
    spool_amend_fn *amend;

    pthread_mutex_t mutex;
    struct spool_items items;     /* by order */
    struct spool_entries reports; /* by revision */
    struct spool_losses losses;
    struct partition_key lost[SPOOL_LOST_REMEMBERED]; /* lately; a ring */
    size_t lost_count;
    uint64_t next_order, next_revision;
    uint64_t reserved_bytes; /* of puts whose file is being written */
    struct spool_counters counters;
};

int spool_recover(struct spool *spool);

uint64_t spool_room(uint64_t payload_bytes); /* what a partition counts for */
void spool_insert_locked(struct spool *spool, struct spool_item *item);
/* Takes it out and settles the reports that list it. */
void spool_remove_locked(struct spool *spool, struct spool_item *item, bool lost);
void spool_item_free(struct spool_item *item);
/* No capture begins to share it any more (spool_has_lost). */
void spool_remember_lost_locked(struct spool *spool, const struct partition_key *key);
/* They check, at each change, what always holds of a partition and of a report. */
void spool_item_assert(const struct spool *spool, const struct spool_item *item);
void spool_entry_assert(const struct spool *spool, const struct spool_entry *entry);

/* The i-th capture that shares the partition; NULL behind the last. */
const struct capture_id *spool_member(const struct spool_item *item, size_t i);
bool spool_has_member(const struct spool_item *item, const struct capture_id *capture,
                      const struct process_uid *process);

struct spool_entry *spool_entry_new(const struct spool_head *head, const char *text, size_t n);
void spool_entry_add_locked(struct spool *spool, struct spool_entry *entry);
void spool_entry_remove_locked(struct spool *spool, struct spool_entry *entry);

/* Rewrites the reports that list this partition, and notes the loss where more will follow; best
 * effort on a failing disk. `reason` is static text. */
void spool_lose_locked(struct spool *spool, const struct spool_item *lost, const char *reason);
/* Removes an acknowledged report whose partitions are all gone. */
void spool_settle_locked(struct spool *spool, const struct capture_id *capture,
                         const struct process_uid *process);

#endif
