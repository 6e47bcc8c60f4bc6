/* SPDX-License-Identifier: Apache-2.0
 *
 * The data port: assembles chunks into partitions, checks them, stores them in group commits, adds
 * them to the index and only then acknowledges. Owns two threads: one receives, one writes.
 */
#ifndef INGEST_H
#define INGEST_H

#include "gate.h"
#include "index.h"
#include "index_delete.h"
#include "store.h"

struct ingest_settings {
    const char *address;           /* "tcp://127.0.0.1:7460" */
    uint64_t max_assembling_bytes; /* memory for partitions that still miss chunks */
    uint64_t commit_wait_ms;       /* how long a partition may wait for company in a group commit */
    struct gate *gate;             /* seals messages; must outlive ingest; NULL: all is plain */
    uint64_t compact_below_percent; /* compact a closed segment with less alive; 0: none */
    /* Bound for all segments together; 0: none. Above it, or while the disk is short, any segment
     * is compacted whose dead part is worth the copying. */
    uint64_t max_bytes;
};

struct ingest_hooks {
    void *context;
    /* Called after these rows are durable and before they are acknowledged. Ingest thread; must not
     * block. May be NULL. */
    void (*stored)(void *context, const struct partition_row *rows, size_t count);
    /* The agent of this process, 0 where unknown: a chunk does not name it. Ingest thread; must not
     * block. May be NULL. */
    uint64_t (*agent_of)(void *context, const struct process_uid *process);
    /* Asks whether the process belongs to this agent, which has proven itself; a process without an
     * agent may become its own. SKEIN_OK; SKEIN_AGAIN: yes, but that is not on disk yet;
     * SKEIN_DENIED; SKEIN_NO_MEMORY. Ingest thread; must not block. May be NULL: all are OK. */
    int (*claim)(void *context, const struct process_uid *process, uint64_t agent);
    /* Asks about a partition that was sent for *capture, which is deleted. 1: another capture lists
     * it, and *capture is set to that one; 0: none does; a status: nobody can say now, so it must
     * not be acknowledged. Ingest thread; may wait for the control lock. May be NULL: 0. */
    int (*wanted)(void *context, const struct partition_key *key, struct capture_id *capture);
    /* Gives the ranges of a capture that is being deleted: at most `room` of those after *after
     * (all-zero: from the first), which moves along. Returns how many, or a status. Ingest thread;
     * may wait. May be NULL: the capture has only what was sent for it. */
    int64_t (*ranges)(void *context, const struct capture_id *capture,
                      struct partition_range *after, struct partition_range *ranges, size_t room);
    /* Removes from `entries` those that a capture has that is not deleted; the rest keep their
     * order. Returns how many are left, or a status. Ingest thread; may wait for the control lock.
     * May be NULL: no capture has any. */
    int64_t (*unlisted)(void *context, struct index_entry *entries, size_t count);
    /* Says that the entries `unlisted` left in its last call are deleted, or are there as before.
     * Ingest thread; may wait for the control lock. May be NULL. */
    void (*deleted)(void *context);
};

struct ingest;

/* SKEIN_OK; SKEIN_INVALID, SKEIN_BUSY (address); SKEIN_IO; SKEIN_NO_MEMORY, with words in error.
 * hooks may be NULL. */
int ingest_start(const struct ingest_settings *settings, struct store *store, struct index *index,
                 const struct ingest_hooks *hooks, struct ingest **out, char *error,
                 size_t error_bytes);
/* Takes no more chunks, commits and acknowledges whole partitions, ends both threads. */
void ingest_stop(struct ingest **ingest);

/* Why partitions are sent back to their agents now, for readyz: "ok", "full: …", … A constant.
 * Brought up to date about every second, also when nothing arrives. Any thread. */
const char *ingest_state(struct ingest *ingest);

/* Whether partitions are sent back because the disk is short. Becomes true when the free bytes fall
 * below what is kept free, or a partition finds no room; false when there is room for that one,
 * too. Any thread. */
bool ingest_is_full(struct ingest *ingest);

/* Deletes the partitions that the capture has, or that were sent for it, and that no other capture
 * has (steps: ingest_reclaim.c). Partitions of it that arrive later are acknowledged and not
 * stored, except those that another capture lists. Any thread; waits for the ingest thread.
 * SKEIN_OK; SKEIN_INVALID (the zero id); SKEIN_CLOSED (stopping); SKEIN_BUSY (the index takes no
 * rows now); SKEIN_IO; SKEIN_FULL; SKEIN_NO_MEMORY. */
int ingest_delete_capture(struct ingest *ingest, const struct capture_id *capture);

/* Deletes some of the partitions that no capture has and that were received before before_ns, the
 * oldest first. One call looks at up to some thousand rows after *after, which moves along and
 * becomes 0 at the end. Adds the bytes of the deleted to *bytes. Returns how many it deleted, or a
 * status. Threads and errors as ingest_delete_capture. */
int64_t ingest_delete_strays(struct ingest *ingest, uint64_t *after, uint64_t before_ns,
                             uint64_t *bytes);

#endif
