/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture and its targets as the engine has them in memory; for capture*.c alone. The control lock
 * guards all of it.
 */
#ifndef CAPTURE_PARTS_INT_H
#define CAPTURE_PARTS_INT_H

#include "capture.h"
#include "idmap.h"
#include "ledger.h"
#include "stored_set.h"

#define CAPTURE_REASON_MAX 256
#define CAPTURE_HOLDER_MAX (CONTROL_NAME_MAX + 32)

/* name, text, final */
#define TARGET_STATUS_LIST(X)                                                                      \
    X(PENDING, "pending", false)     /* chosen; no command on its way yet */                       \
    X(SENT, "sent", false)           /* the command is repeated until the agent answers */         \
    X(OFFLINE, "offline", false)     /* its agent is silent */                                     \
    X(CAPTURING, "capturing", false) /* the agent has begun */                                     \
    X(UPLOADING, "uploading", false) /* the agent has cut and listed its partitions */             \
    X(COMPLETE, "complete", true)    /* every listed partition is stored */                        \
    X(NOTHING, "nothing", true)      /* the window held no records */                              \
    X(WATCHED, "watched", true)      /* it has no ring: what was seen from outside is stored */    \
    X(FAILED, "failed", true)                                                                      \
    X(EXPIRED, "expired", true) /* the deadline came first; late truth still completes it */
enum target_status {
#define X(name, text, final) TARGET_##name,
    TARGET_STATUS_LIST(X)
#undef X
        TARGET_STATUS_COUNT
};

struct capture_target {
    struct process_uid process;
    bool own; /* its agent began it: no command is sent for it */
    struct capture *capture;
    struct capture_target *next_of_agent; /* next target of the capture with the same agent */
    /* targets of the process, in any capture in memory */
    struct capture_target *next_anywhere, *before_anywhere;
    uint64_t agent, updated_ns;
    uint32_t pid;
    char host[CONTROL_NAME_MAX + 1], service[128], labels[CONTROL_LABELS_MAX + 1],
        exe[CONTROL_NAME_MAX + 1];
    enum target_status status;
    uint64_t entered_ns[TARGET_STATUS_COUNT]; /* when it was last entered; 0: never */
    char reason[CAPTURE_REASON_MAX];
    cJSON *report; /* the agent's last report with facts, or NULL; owns the text of `facts` */
    struct report_target facts; /* the ranges in it are what the capture has of the process */
    enum save_state list_save;  /* the ranges */
    struct stored_set stored;   /* of the partitions that facts list */
    struct stored_set
        sent; /* stored, sent for the capture, and listed by no facts when they came */
    uint64_t sent_low_ns, sent_high_ns; /* between these the sent ones end */
    uint64_t low_ns, high_ns; /* between these the stored ones end; low above high: none is */
    uint64_t stored_count, stored_events, stored_bytes;
    uint64_t damaged_count, damaged_events; /* damaged_count is part of stored_count; events not */
    uint64_t lost_counted[LOSS_REASONS];    /* what the metric has counted */
    bool implausible;                       /* it told of impossible losses; counted once */
    uint64_t rows_put, rows_saved; /* checksums of its ledger: last written; last committed */
    bool refused; /* its deadline came while the collector had no room for its partitions */
    enum save_state save;
    bool whole; /* everything that it had in the window is stored */
    struct capture_target *next_dirty;
};

struct capture {
    struct capture_id id, incident; /* incident: id of its first firing's capture, or its own */
    struct idmap *anywhere;         /* the engine's by_process */
    const struct damages *damages;  /* the engine's */
    uint64_t clock; /* which setting of our clock its times follow, except the deadline */
    uint64_t created_ns, at_ns, pre_ms, post_ms, finished_ns;
    /* The deadline: due_ns is monotonic, and what counts; deadline_ns is shown and kept, as the clock
     * was set last (capture_set_due). */
    uint64_t due_ns, deadline_ns;
    uint64_t ttl_ms, expires_ns, min_targets, max_targets, stream_ms;
    uint64_t groups;        /* event groups that it is read for; 0: all. All are stored */
    uint64_t known_from_ns; /* processes that ended before may be unknown, so no targets; 0: none */
    bool stopped, pin, own; /* own: an agent began it */
    /* For which evidence agents are asked; of a rule's, for which it asks by name. Its listing
     * keeps it. */
    struct evidence_wish wish;
    enum capture_kind kind;
    enum capture_status status;
    char trigger[16], rule[64] /* a sample's policy */, reason[CONTROL_WORDS_MAX + 1],
        trigger_process[ID_TEXT_BYTES];
    char *selector;
    /* For whom it counts where a quota is shared out (retention). "": not known. */
    enum share_rank rank;
    char holder[CAPTURE_HOLDER_MAX + 1];
    struct capture_target **targets;
    size_t target_count, target_cap;
    size_t open_count, whole_count;    /* open: its state is not final */
    struct idmap by_process, by_agent; /* by_agent: the first target of each agent's chain */
    /* To be saved: itself, or targets of the list. Its listing sums up all targets: made anew with
     * its own row, or once enough have changed. */
    enum save_state save, row_save;
    /* The key of the request that begins it, saved with its row: its thread's, until control_save is
     * over. NULL: none. */
    const struct catalog_once *once;
    struct capture_target *dirty_targets;
    uint64_t behind, listed_ns;      /* target changes that the listing lacks; when it was made */
    uint64_t behind_taken;           /* those that the listing which is being saved has */
    struct partition_ranges *ranges; /* what it has; NULL: to be gathered when asked for */
    uint64_t touched_ns;             /* monotonic; an ended capture leaves memory some time after */
    uint64_t over_ns;                /* monotonic: when it ended last */
};

/* The window that was asked for; its times follow the capture's setting of our clock. */
static inline uint64_t capture_from_ns(const struct capture *c)
{
    uint64_t pre_ns = c->pre_ms * 1000000u;
    return pre_ns < c->at_ns ? c->at_ns - pre_ns : 0;
}
static inline uint64_t capture_to_ns(const struct capture *c)
{
    return c->at_ns + c->post_ms * 1000000u;
}

#endif
