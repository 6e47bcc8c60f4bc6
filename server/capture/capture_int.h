/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the capture engine; for capture*.c alone. All of it is guarded by the control lock,
 * but for the inbox, which has its own.
 */
#ifndef CAPTURE_INT_H
#define CAPTURE_INT_H

#include <pthread.h>

#include "capture.h"
#include "idmap.h"
#include "ledger.h"
#include "stored_set.h"

#define CAPTURE_REASON_MAX 256
#define CAPTURE_ONCE_NS    (UINT64_C(24) * 3600 * 1000000000u) /* how long a repeat is known */

/* name, text, final */
#define TARGET_STATUS_LIST(X)                                                                      \
    X(PENDING, "pending", false)     /* chosen; no command on its way yet */                       \
    X(SENT, "sent", false)           /* the command is repeated until the agent answers */         \
    X(OFFLINE, "offline", false)     /* its agent is silent */                                     \
    X(CAPTURING, "capturing", false) /* the agent has begun */                                     \
    X(UPLOADING, "uploading", false) /* the agent has cut and listed its partitions */             \
    X(COMPLETE, "complete", true)    /* every listed partition is stored */                        \
    X(NOTHING, "nothing", true)      /* the window held no records */                              \
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
    bool own; /* begun by its agent: no command is sent for it */
    struct capture *capture;
    struct capture_target *next_of_agent; /* of the capture */
    struct capture_target *next_anywhere; /* of the process, in any capture in memory */
    uint64_t agent, updated_ns;
    uint32_t pid;
    char host[CONTROL_NAME_MAX + 1], service[128], labels[CONTROL_LABELS_MAX + 1],
        exe[CONTROL_NAME_MAX + 1];
    enum target_status status;
    uint64_t entered_ns[TARGET_STATUS_COUNT]; /* when it was last entered; 0: never */
    char reason[CAPTURE_REASON_MAX];
    cJSON *report; /* the agent's last one with facts, or NULL; owns the text of `facts` */
    struct report_target facts; /* with the ranges that the capture has of the process */
    bool list_changed;          /* since the ranges were saved */
    struct stored_set stored;   /* of the partitions that facts list */
    uint64_t low_ns, high_ns;   /* between which those end; low above high: none is */
    uint64_t stored_count, stored_events, stored_bytes;
    uint64_t damaged_count, damaged_events; /* of the stored_count; the events are not in theirs */
    uint64_t lost_counted[LOSS_REASONS];    /* by the metric */
    bool implausible;                       /* it has told of losses that cannot be; counted */
    uint64_t rows_put, rows_saved; /* checksums of its ledger: as rows, and once they are saved */
    bool refused;      /* its deadline came while the collector had no room for its partitions */
    bool dirty, whole; /* whole: all that it had in the window is stored */
    struct capture_target *next_dirty;
};

struct capture {
    struct capture_id id, incident; /* incident: of the first firing of those that overlap; or id */
    struct idmap *anywhere;         /* the engine's by_process */
    const struct damages *damages;  /* the engine's */
    uint64_t clock; /* the setting of our clock that its times are of, the deadline's apart */
    uint64_t created_ns, at_ns, pre_ms, post_ms, deadline_ns, finished_ns;
    uint64_t ttl_ms, expires_ns, min_targets, max_targets, stream_ms;
    uint64_t known_from_ns; /* who ended before, in its window, may be no target; 0: all are */
    bool stopped, pin, own; /* own: begun by an agent */
    enum capture_kind kind;
    enum capture_status status;
    char trigger[16], rule[64] /* a sample's policy */, reason[CONTROL_WORDS_MAX + 1],
        trigger_process[ID_TEXT_BYTES];
    char *selector;
    struct capture_target **targets;
    size_t target_count, target_cap;
    size_t open_count, whole_count;    /* open: not final */
    struct idmap by_process, by_agent; /* by_agent: heads of the targets' chains */
    /* To be saved: itself, or targets of the list. Its listing sums up all targets: made anew with
     * its own row, or once enough have changed. */
    bool dirty, row_dirty;
    struct capture_target *dirty_targets;
    uint64_t behind, listed_ns; /* changes of targets that the listing lacks; when it was made */
    uint64_t touched_ns;        /* monotonic; finished captures leave memory some time after */
};

struct stored_note {
    struct capture_id capture;
    struct partition_key key;
    uint64_t events, bytes, to_ns;
};

/* Stored partitions whose bytes are not what they were. Few, or the disk is to be replaced. */
struct damage {
    struct partition_key key;
    uint64_t from_ns, to_ns;
    struct store_place place;
};
struct damages {
    struct damage *items;
    size_t count, cap;
};

struct capture_engine {
    struct capture_settings settings;
    struct fleet *fleet;
    struct control *control; /* the fleet's */
    struct catalog *catalog;
    struct index *index;
    struct idmap loaded;
    struct idmap by_process; /* heads of the chains of all targets in memory (next_anywhere) */
    struct idmap purge; /* ids (as values) of deleted captures whose partitions must go (again) */
    /* Sorted. Nobody has them, and their tombstones are being written: they are stored no more for
     * whoever lists them now. */
    struct partition_key *leaving;
    size_t leaving_count, leaving_cap;
    uint64_t next_purge_ns; /* monotonic */
    uint64_t clock;         /* the setting of our clock at the tick before */
    /* Partitions of deleted captures may hold time up to this: agents do not list them for captures
     * that begin before. */
    uint64_t deleted_to_ns;
    const struct catalog_once *once; /* to be saved with the capture that is being begun */

    pthread_mutex_t inbox_lock;
    struct stored_note *inbox;
    size_t inbox_count, inbox_cap;
    struct damages damage_inbox, damages; /* found and not looked at yet; known */
    bool inbox_overflow; /* no memory for a note: everything that runs is looked up in the index */
};

/* capture_create.c */
void capture_send(struct capture_engine *e, struct capture *c,
                  struct fleet_agent *agent) CONTROL_LOCKED;
/* What a command says as upload_after_ms: nothing for up to 1,000 agents; of more about two a
 * millisecond begin to upload, the last by a quarter of the time that the capture has left. */
uint64_t capture_upload_after_ms(const struct capture *c, uint64_t agent);
/* To one agent, also of a capture that is not there. */
void capture_tell_stop(struct capture_engine *e, uint64_t agent, const struct capture_id *id,
                       uint64_t deadline_ns) CONTROL_LOCKED;
void capture_begin_target(struct capture_engine *e, struct capture *c, struct capture_target *t,
                          enum target_status status, const char *reason) CONTROL_LOCKED;

/* capture.c */
/* Whether who sees `within` sees the capture: one of its targets at least. c may be NULL. */
bool capture_seen(const struct capture *c, const struct selector *within);
/* Whether who sees `within` may change it (capture.h). c may be NULL. */
int capture_allowed(const struct capture *c, const struct selector *within);
void capture_stop_targets(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;

/* A deleted one's partitions, in the next rounds (capture_kept.c). */
int capture_purge_soon(void *engine, const struct capture_id *id) CONTROL_LOCKED;
/* capture_events.c: "capture.created", "capture.finished", "capture.deleted", "retention.deleted";
 * why may be NULL */
void capture_publish(struct capture_engine *e, const struct capture *c, const char *type,
                     const char *why) CONTROL_LOCKED;
/* What a rule or an agent has begun; what HTTP was asked for is told by the handler. */
void capture_audit_created(struct capture_engine *e, const struct capture *c) CONTROL_LOCKED;

void capture_take_inbox(struct capture_engine *e) CONTROL_LOCKED; /* capture_inbox.c */

/* capture_damage.c */
int capture_load_damages(struct capture_engine *e) CONTROL_LOCKED; /* before any capture */
void capture_take_damages(struct capture_engine *e) CONTROL_LOCKED;
const struct damage *damage_find(const struct damages *damages, const struct partition_key *key);

/* capture_load.c */
/* In memory or loaded; NULL. */
struct capture *capture_find(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
int capture_load_running(struct capture_engine *e) CONTROL_LOCKED;
/* Those whose rows lack their listing: they are listed anew with the next ticks. */
int capture_load_unlisted(struct capture_engine *e) CONTROL_LOCKED;

/* capture_has.c */
/* Appends the ids of the captures, in memory or not, that list the partition, each once. SKEIN_OK
 * or a status. */
int capture_owners(struct capture_engine *e, const struct partition_key *key,
                   struct buf *ids) CONTROL_LOCKED;
bool capture_is_leaving(const struct capture_engine *e,
                        const struct partition_key *key) CONTROL_LOCKED;

const char *capture_kind_text(enum capture_kind kind); /* capture_json.c */
/* As who sees `within` (NULL: everything) may see it: nothing tells of other targets. */
cJSON *capture_json(const struct capture *c, const struct selector *within, bool with_targets);

#endif
