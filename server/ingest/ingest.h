/* SPDX-License-Identifier: Apache-2.0
 *
 * The data port: assembles chunks into partitions, checks them, stores them in group commits, adds
 * them to the index and only then acknowledges. Owns two threads: one receives, one writes.
 */
#ifndef INGEST_H
#define INGEST_H

#include "gate.h"
#include "index.h"
#include "store.h"

struct ingest_settings {
    const char *address;           /* "tcp://127.0.0.1:7460" */
    uint64_t max_assembling_bytes; /* memory for partitions of which chunks are missing */
    uint64_t commit_wait_ms;       /* how long a partition may wait for company in a group commit */
    struct gate *gate;             /* what seals; must outlive ingest; NULL: all is plain */
    uint64_t compact_below_percent; /* a closed segment with less alive is compacted; 0: none is */
    /* While segments take more (0: no bound), or the disk is short, those that hold anything dead
     * worth the copying are compacted, too. */
    uint64_t max_bytes;
};

struct ingest_hooks {
    void *context;
    /* After the durable commit of these rows, before their acknowledgement; ingest thread; must not
     * block. */
    void (*stored)(void *context, const struct partition_row *rows, size_t count);
    /* The agent that has this process, 0 where unknown: chunks do not say it. Ingest thread; must
     * not block. May be NULL. */
    uint64_t (*agent_of)(void *context, const struct process_uid *process);
    /* Whether the process is that of an agent that has proven itself, maybe from now on: SKEIN_OK;
     * SKEIN_AGAIN: it is not on disk yet; SKEIN_DENIED; SKEIN_NO_MEMORY. Ingest thread; must not
     * block. May be NULL: all are. */
    int (*claim)(void *context, const struct process_uid *process, uint64_t agent);
    /* Of a partition that was sent for a deleted capture: whether another capture lists it, and
     * which. Ingest thread; may wait for the control lock. May be NULL. */
    bool (*wanted)(void *context, const struct partition_key *key, struct capture_id *capture);
    /* The ranges of a capture that is deleted, behind *after (all-zero: from the beginning), which
     * moves; at most `room`. Their number, or a status. Ingest thread; may wait. May be NULL: it
     * has what was sent for it alone. */
    int64_t (*ranges)(void *context, const struct capture_id *capture,
                      struct partition_range *after, struct partition_range *ranges, size_t room);
    /* Keeps of entries, in their order, those that no capture has that is there. Their number, or a
     * status. Ingest thread; may wait for the control lock. May be NULL: none has any. */
    int64_t (*unlisted)(void *context, struct index_entry *entries, size_t count);
    /* What `unlisted` has kept last is deleted. Ingest thread; may wait for the control lock. May
     * be NULL. */
    void (*deleted)(void *context);
};

struct ingest;

/* SKEIN_OK; SKEIN_INVALID, SKEIN_BUSY (address); SKEIN_IO; SKEIN_NO_MEMORY, with words in error.
 * hooks may be NULL. */
int ingest_start(const struct ingest_settings *settings, struct store *store, struct index *index,
                 const struct ingest_hooks *hooks, struct ingest **out, char *error,
                 size_t error_bytes);
/* Stops taking chunks, commits and acknowledges what is whole, ends the thread. */
void ingest_stop(struct ingest **ingest);

/* Why partitions are being sent back to their agents, for readyz: "ok", "full: …", … Any thread; a
 * constant. Looked at about every second, also when nothing arrives. */
const char *ingest_state(struct ingest *ingest);

/* Whether partitions are sent back because the disk is short: from when less than what is kept free
 * is free, or a partition found no room, until there is room for it, too. Any thread. */
bool ingest_is_full(struct ingest *ingest);

/* Deletes what a capture has, or was sent for it, and no other has: tombstones, sync, index,
 * segments that are empty. Any thread;
 * waits for the ingest thread. What arrives of it later is acknowledged and not stored, but for
 * what another capture wants. SKEIN_OK;
 * SKEIN_INVALID (the zero id); SKEIN_CLOSED (stopping); SKEIN_BUSY (the index takes no rows now);
 * SKEIN_IO; SKEIN_FULL; SKEIN_NO_MEMORY. */
int ingest_delete_capture(struct ingest *ingest, const struct capture_id *capture);

/* Deletes some of the partitions that no capture has and that were received before then, the oldest
 * first: looks at some thousand behind *after, which moves, to 0 at the end. Adds their bytes to
 * *bytes. Returns how many, or a status. As ingest_delete_capture. */
int64_t ingest_delete_strays(struct ingest *ingest, uint64_t *after, uint64_t before_ns,
                             uint64_t *bytes);

#endif
