/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the capture engine; for capture*.c alone. Constant from capture_engine_new on, or
 * guarded by the control lock (CONTROL_GUARDED), or by the inboxes' own lock.
 */
#ifndef CAPTURE_INT_H
#define CAPTURE_INT_H

#include <pthread.h>

#include "capture_incident.h"
#include "capture_parts_int.h"

#define CAPTURE_ONCE_NS (UINT64_C(24) * 3600 * 1000000000u) /* how long a key is remembered */

struct stored_note {
    struct capture_id capture;
    struct partition_key key;
    uint64_t events, bytes, to_ns;
};

/* Stored partitions whose bytes have changed. They are few, or the disk must be replaced. */
struct damage {
    struct partition_key key;
    uint64_t from_ns, to_ns;
    struct store_place place;
    enum save_state save;
};
struct damages {
    struct damage *items; /* sorted by key */
    size_t count, cap;
};

struct capture_engine {
    struct capture_settings settings;
    struct fleet *fleet;
    struct control *control; /* the fleet's */
    struct catalog *catalog;
    struct index *index;

    struct idmap loaded CONTROL_GUARDED;
    int missing CONTROL_GUARDED; /* capture_missing */
    /* First target in memory of each process (next_anywhere). */
    struct idmap by_process CONTROL_GUARDED;
    /* struct purge: deleted captures whose partitions must go (again). */
    struct idmap purge CONTROL_GUARDED;
    uint64_t purges_asked CONTROL_GUARDED;  /* numbers the wishes that partitions go */
    uint64_t next_purge_ns CONTROL_GUARDED; /* monotonic */
    /* Sorted. Partitions that no capture has, and whose tombstones are being written: a report that
     * lists one now does not have it stored. */
    struct partition_key *leaving CONTROL_GUARDED;
    size_t leaving_count CONTROL_GUARDED, leaving_cap CONTROL_GUARDED;
    bool leaving_listed CONTROL_GUARDED; /* by such a report: it may be there after all */
    uint64_t clock CONTROL_GUARDED;      /* the setting of our clock at the last tick */
    /* Partitions of deleted captures may reach up to this time. Agents do not list those partitions
     * for captures that begin before it. */
    uint64_t deleted_to_ns CONTROL_GUARDED;
    struct deletion *deletions CONTROL_GUARDED; /* that are to be committed */
    struct damages damages CONTROL_GUARDED;     /* known */
    struct damages mended CONTROL_GUARDED;      /* their rows must go: the start found them whole */

    pthread_mutex_t inbox_lock; /* guards what follows */
    struct stored_note *inbox;
    size_t inbox_count, inbox_cap;
    bool inbox_overflow;         /* a note was lost: ask the index about every target that waits */
    struct damages damage_inbox; /* found, still to be looked at */
};

/* capture_create.c */
/* Sends the capture's commands to one agent, which is online, for its targets that wait; fresh: for
 * those that no command has named yet. */
void capture_send(struct capture_engine *e, struct capture *c, const struct fleet_agent *agent,
                  bool fresh) CONTROL_LOCKED;
/* What a command says as upload_after_ms. Up to 1,000 agents: 0. With more, about two a millisecond
 * begin to upload; the last begins within a quarter of the time that the capture has left. */
uint64_t capture_upload_after_ms(const struct capture *c, uint64_t agent);
/* Tells one agent to stop; the capture need not exist here. */
void capture_tell_stop(struct capture_engine *e, uint64_t agent, const struct capture_id *id,
                       uint64_t due_ns) CONTROL_LOCKED;
void capture_begin_target(struct capture_engine *e, struct capture *c, struct capture_target *t,
                          enum target_status status, const char *reason) CONTROL_LOCKED;

/* capture.c */
/* Whether `within` shows the capture, that is at least one of its targets. c may be NULL. */
bool capture_seen(const struct capture *c, const struct selector *within);
/* Whether who is confined to `within` may change it (capture.h). c may be NULL. */
int capture_allowed(const struct capture *c, const struct selector *within);
void capture_stop_targets(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;

/* capture_purge.c */
/* Deletes the partitions of a deleted capture in the next rounds. */
int capture_purge_soon(void *engine, const struct capture_id *id) CONTROL_LOCKED;
/* Deletes them and saves that they are gone. Not locked: waits for the ingest thread. SKEIN_OK or a
 * status: it is tried again. */
int capture_purge(struct capture_engine *e, const struct capture_id *id);
void capture_make_room(struct capture_engine *e);   /* as capture_settings.make_room */
void capture_free_purges(struct capture_engine *e); /* as capture_free_deletions */
void capture_save_purges(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved_purges(struct capture_engine *e, bool ok) CONTROL_LOCKED;

/* capture_kept.c */
/* Whether who is confined to `within` (NULL: to nothing) may pin something. What is pinned no quota
 * can take, so the rest must be enough for all others. */
bool capture_may_pin(struct capture_engine *e, const struct selector *within) CONTROL_LOCKED;
/* Tells whoever follows captures (capture_settings.touched). */
void capture_tell_touched(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Deletes a capture whose firing is refused. Nobody waits for it. */
void capture_withdraw(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;
/* Whether its deletion is still to be committed. */
bool capture_is_going(const struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Whether what comes for one that is not there comes too late. */
bool capture_is_deleted(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
void capture_free_deletions(struct capture_engine *e); /* at the end: no other thread */
void capture_save_deletions(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved_deletions(struct capture_engine *e, bool ok) CONTROL_LOCKED;

/* capture_agent.c: whether only a target's report has come so far of a capture that its agent began */
bool capture_waits_for_fired(const struct capture *c);
/* capture_refused.c: whether it is one of the last that were refused to this agent */
bool capture_is_refused(const struct fleet_agent *agent, const struct capture_id *id);

/* capture_events.c: "capture.created", "capture.finished", "capture.deleted", "retention.deleted";
 * why may be NULL */
void capture_publish(struct capture_engine *e, const struct capture *c, const char *type,
                     const char *why) CONTROL_LOCKED;
/* For captures that a rule or an agent has begun; the HTTP handler audits its own. */
void capture_audit_created(struct capture_engine *e, const struct capture *c) CONTROL_LOCKED;

/* capture_inbox.c */
void capture_take_inbox(struct capture_engine *e) CONTROL_LOCKED;
/* Makes the next round ask the index about every target that waits. Any thread. */
void capture_look_again(struct capture_engine *e);

/* capture_damage.c */
int capture_load_damages(struct capture_engine *e) CONTROL_LOCKED; /* before any capture */
void capture_take_damages(struct capture_engine *e) CONTROL_LOCKED;
void capture_save_damages(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved_damages(struct capture_engine *e, bool ok) CONTROL_LOCKED;
const struct damage *damage_find(const struct damages *damages, const struct partition_key *key);

/* capture_load.c */
/* The capture in memory, loaded if need be; NULL: there is none. */
struct capture *capture_find(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Why the last capture_find gave nothing: SKEIN_NOT_FOUND; or what keeps its rows from being read,
 * SKEIN_CORRUPT and its like, and then nobody knows whether there is such a capture. */
int capture_missing(const struct capture_engine *e) CONTROL_LOCKED;
int capture_load_running(struct capture_engine *e) CONTROL_LOCKED;
/* Loads captures whose rows lack the listing; the next ticks make it. */
int capture_load_unlisted(struct capture_engine *e) CONTROL_LOCKED;

/* capture_has.c */
/* Asks the index what was sent for the capture and is in no report (target_take_sent), and marks
 * what no row of ranges has yet as to be saved. SKEIN_OK or a status. */
int capture_take_sent(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;
/* Appends the ids of the captures, in memory or not, that list the partition, each once. SKEIN_OK
 * or a status. */
int capture_owners(struct capture_engine *e, const struct partition_key *key,
                   struct capture_ids *ids) CONTROL_LOCKED;
bool capture_is_leaving(const struct capture_engine *e,
                        const struct partition_key *key) CONTROL_LOCKED;

const char *capture_kind_text(enum capture_kind kind); /* capture_json.c */
/* The capture as who is confined to `within` (NULL: nobody is) may see it, without other
 * targets. */
cJSON *capture_json(const struct capture *c, const struct selector *within, bool with_targets);

#endif
