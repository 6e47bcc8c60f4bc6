/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct ingest. Included only by ingest.c, which receives, ingest_commit.c, which
 * commits and answers, ingest_writer.c, which writes and syncs, and ingest_reclaim.c, which
 * deletes. Fields belong to the ingest thread, except those titled "shared"; a group that is
 * WRITING, and with it the writing half of the store, belongs to the writer.
 */
#ifndef INGEST_INT_H
#define INGEST_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "assembly.h"
#include "ingest.h"
#include "transport.h"
#include "wire.h"

#define GROUP_BYTES_MAX (UINT64_C(16) << 20) /* a group with this much takes no more members */
#define GROUP_COUNT_MAX 512
/* A group with this much is worth its own sync: it does not wait for commit_wait_ns. */
#define GROUP_BYTES_ENOUGH (UINT64_C(1) << 20)
/* How long agents are told to wait. RETRY_MEMORY_MS also serves while a claim is not saved. */
#define RETRY_MEMORY_MS 500
#define RETRY_INDEX_MS  1000
#define RETRY_DISK_MS   5000

/* ingest_state's values */
#define INGEST_PROBLEM_LIST(X)                                                                     \
    X(NONE, "ok")                                                                                  \
    X(FULL, "full: agents keep their data until there is room, see store.min_free_bytes")          \
    X(STORE, "segments cannot be written")                                                         \
    X(INDEX, "the index takes no rows")
enum ingest_problem {
#define X(name, words) INGEST_##name,
    INGEST_PROBLEM_LIST(X)
#undef X
};

/* Who waits for an answer about which partition. */
struct answer_to {
    struct partition_key key;
    struct transport_peer peer;
    uint64_t frame_id, received_ns; /* monotonic: of the last chunk */
};

/* One whole partition of the group. Its bytes are in `assembled` or inside `message`. */
struct member {
    struct answer_to to;
    bool repeat; /* of a member before it: has no bytes, gets the same answer */
    struct store_record record;
    struct store_place place;
    struct partition_footer footer;
    int64_t clock_offset_ns;
    const uint8_t *bytes;
    size_t len;
    uint64_t checksum; /* of the bytes; of a repeat as it was said */
    uint8_t *assembled;
    struct transport_message message;
};

/* groups_assert (ingest_commit.c) draws them and says what holds in each. */
enum group_state { GROUP_COLLECTING, GROUP_WRITING, GROUP_DURABLE };
struct group {
    enum group_state state;
    struct member *members; /* GROUP_COUNT_MAX of them */
    size_t count;
    uint64_t bytes;
    uint64_t since_ns; /* when its first member came */
    uint64_t retry_ns; /* DURABLE: when to try the index again */
    size_t written;    /* the writer's result: how many of its members are durable */
};

struct delete_request {
    struct capture_id capture;
    uint64_t *after, *bytes, before_ns; /* after NULL: delete `capture`; else strays */
    int64_t status;
    bool done;
    struct delete_request *next;
};

struct ingest {
    struct transport *transport;
    struct gate *gate;
    struct store *store;
    struct index *index;
    struct ingest_hooks hooks;
    uint64_t commit_wait_ns;
    unsigned compact_percent;
    uint64_t max_bytes;       /* of all segments; 0: no bound */
    uint64_t compact_segment; /* the one that is being compacted; 0: none */
    uint64_t compact_ns;      /* when the next step is due */
    struct assembler *assembler;
    struct group groups[2];
    unsigned oldest, given;     /* `given` groups from groups[oldest] on are WRITING or DURABLE */
    struct partition_row *rows; /* GROUP_COUNT_MAX, for the commit */
    uint64_t last_segment;      /* of the last commit */
    bool reclaim;               /* a segment was closed: look for empty ones */
    bool behind;                /* the index missed a tombstone: it must follow the store first */
    uint64_t expire_ns;         /* when stale assemblies are looked for next */
    uint64_t refused_bytes;     /* the largest partition that found no room on the full disk */

    /* shared with any thread */
    pthread_t thread;
    int wake_fd;
    _Atomic int problem; /* enum ingest_problem */
    _Atomic bool stopping;
    pthread_mutex_t lock; /* guards requests and closed */
    pthread_cond_t done;
    struct delete_request *requests;
    bool closed;
    /* shared with the writer */
    pthread_t writer;
    pthread_mutex_t writer_lock; /* guards job and writer_ends */
    pthread_cond_t writer_turn;
    struct group *job; /* what it writes; NULL: nothing */
    bool writer_ends;
};

/* Sends an acknowledgement. If it cannot be sent, the agent sends its chunks again and asks so. */
void ingest_answer(struct ingest *in, const struct answer_to *to, enum wire_ack_status status,
                   uint32_t retry_ms, uint32_t have);

/* ---- ingest_writer.c ---- */

int writer_start(struct ingest *in);
void writer_stop(struct ingest *in); /* waits until its last group is written */
/* The group, WRITING, belongs to the writer until writer_is_done; in->wake_fd says when to look. */
void writer_give(struct ingest *in, struct group *group);
bool writer_is_done(struct ingest *in);
void writer_wait(struct ingest *in);

/* Gives the index what it missed. SKEIN_OK or the index's status. */
int ingest_index_follow(struct ingest *in);
/* Removes segments that hold nothing that is needed. SKEIN_OK or the first failure. */
int ingest_reclaim(struct ingest *in);
/* Does one bounded step of compaction, if one is due. */
void ingest_compact(struct ingest *in, uint64_t now_ns);
/* What ingest_delete_capture and ingest_delete_strays ask for, on the ingest thread. */
int ingest_delete_now(struct ingest *in, const struct capture_id *capture);
int64_t ingest_strays_now(struct ingest *in, const struct delete_request *request);

#endif
