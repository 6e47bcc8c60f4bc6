/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture engine: captures, their targets' states, ledger, verdict, deadlines.
 *
 * Everything is guarded by the control lock (fleet.h). Functions for HTTP take it themselves and
 * are for any thread; those marked "locked" are the control thread's. Captures that run are in
 * memory, others are loaded when something late arrives for them. What is stored is asked of the
 * index, so whatever order reports and partitions come in, and whoever was killed in between, the
 * targets' states come out the same.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "audit.h"
#include "events.h"
#include "fleet.h"
#include "index.h"

struct capture_engine;

enum capture_status { CAPTURE_RUNNING, CAPTURE_COMPLETE, CAPTURE_INCOMPLETE, CAPTURE_STOPPED };
const char *capture_status_text(enum capture_status status); /* capture_state.c */

struct capture_settings {
    uint64_t deadline_ms; /* of captures that agents begin */
    uint64_t ttl_ms;      /* of captures that say nothing themselves; 0: no bound */
    /* Deletes a capture's partitions for good; waits. Called without the lock. */
    int (*purge)(void *context, const struct capture_id *capture);
    /* Whether the disk is too short for a new capture; NULL: never. */
    bool (*is_full)(void *context);
    void *context;
    struct events *events; /* told of captures; NULL: nobody is */
    struct audit *audit;   /* told of those that nobody has asked for by HTTP; NULL: none */
    /* A capture of a rule has ended, or an ended one's verdict has changed. Takes listing, the
     * capture without targets. Locked; NULL: nobody asks. */
    void (*ended)(void *context, const struct capture_id *id, const char *rule, cJSON *listing);
    /* A partition of a policy's sample is stored. Locked; NULL: nobody asks. */
    void (*sampled)(void *context, const char *policy, uint64_t bytes);
};

/* Loads the captures that run and looks at what of them has arrived meanwhile. SKEIN_OK,
 * SKEIN_NO_MEMORY, SKEIN_IO. */
int capture_engine_new(const struct capture_settings *settings, struct fleet *fleet,
                       struct catalog *catalog, struct index *index, struct capture_engine **out);
void capture_engine_free(struct capture_engine **engine);

/* ---- for HTTP; any thread, not locked; JSON handed out is the caller's ---- */

enum capture_kind {
    CAPTURE_SNAPSHOT, /* a window of the past, and what follows it up to its end */
    CAPTURE_RECORD,   /* what comes from now on: pre_ms is 0 */
    CAPTURE_STREAM,   /* the same, cut and uploaded every stream_ms until it is stopped or over */
    CAPTURE_SAMPLE, /* by a policy: agents begin it, each process has its own part of the window */
    CAPTURE_KINDS,  /* how many there are */
};

/* A request that may come again within a day: it begins one capture all the same. */
struct capture_once {
    const char *principal, *key;
    uint64_t checksum; /* of the request */
};

struct capture_request {
    const struct capture_once *once; /* NULL: it will not */
    enum capture_kind kind;
    const char *selector_text;
    const struct selector *selector;
    /* at_ns 0: now; the deadline counts from the window's end */
    uint64_t at_ns, pre_ms, post_ms, deadline_ms;
    uint64_t stream_ms; /* 0 but for a stream */
    const char *reason;
    const char *trigger, *rule; /* NULL: "request", none */
    /* Fewer matches than min_targets (0: 1) and there is no capture; of more than max_targets (0:
     * no bound) those with the lowest ids are taken. */
    uint64_t min_targets, max_targets;
    uint64_t ttl_ms; /* how long it is kept after its end; 0: the settings' */
    bool pin;
    bool unsaved; /* the caller saves it (fleet_flush), together with what else belongs to it */
    uint64_t *matched; /* out: how many processes match; may be NULL */
};
/* Begins a capture on every matching process that is not gone; it is durable when this returns
 * (but where `unsaved`), and its commands are on their way. SKEIN_OK; SKEIN_NOT_FOUND (the selector
 * matches nobody, or fewer than min_targets); SKEIN_IO (could not be saved);
 * SKEIN_FULL (no room for what it would bring). Nothing is left of one that failed.
 *
 * With `once`, a repeat gives the capture that the first one has begun, as it is now; the key is
 * durable with the capture. SKEIN_EXISTS: the key came with another request; SKEIN_CLOSED: its
 * capture has been deleted. */
int capture_create(struct capture_engine *e, const struct capture_request *request,
                   struct capture_id *id, cJSON **out);
/* SKEIN_OK, SKEIN_NOT_FOUND */
int capture_get(struct capture_engine *e, const struct capture_id *id, cJSON **out);

/* Changes are for those who see all targets: where `within` is not NULL and some targets do not
 * match it, SKEIN_DENIED; none does, SKEIN_NOT_FOUND. */

/* The same, SKEIN_IO. The window ends now, and the deadline comes that much earlier. */
int capture_stop(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within, cJSON **out);
/* Makes *id that of the capture that it was merged into. */
bool capture_exists(struct capture_engine *e, struct capture_id *id);

/* NULL: stays as it is. ttl_ms 0: no bound. A pinned capture does not expire. */
struct capture_change {
    const uint64_t *ttl_ms;
    const bool *pin;
    const char *reason;
};
/* SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_IO */
int capture_change(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within, const struct capture_change *change, cJSON **out);

/* Deletes capture and partitions, and remembers the id: what comes late for it is acknowledged and
 * deleted as well. SKEIN_OK; SKEIN_NOT_FOUND; SKEIN_IO (where the rows are gone but partitions are
 * not, it is tried again by itself). */
int capture_delete(struct capture_engine *e, const struct capture_id *id,
                   const struct selector *within);

/* ---- for retention; any thread, not locked ---- */

/* As capture_delete, of a capture that has ended and is not pinned, with the event
 * retention.deleted that says why; with due_ns only where its time to be kept is over by then. Also
 * SKEIN_REFUSED: it is not so, or no longer. */
int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why);
/* Whether partitions of deleted captures still wait to be deleted. */
bool capture_is_purging(struct capture_engine *e);

/* ---- for rules; any thread, locked ---- */

/* The capture that a request with this key began. SKEIN_OK; SKEIN_NOT_FOUND: it is new;
 * SKEIN_EXISTS, SKEIN_CLOSED as capture_create; SKEIN_IO. */
int capture_find_once(struct capture_engine *e, const struct capture_once *once,
                      struct capture_id *id);
/* fleet_flush, with the key of the request that began the capture (NULL: none), both or neither. */
int capture_save_once(struct capture_engine *e, const struct capture_once *once,
                      const struct capture_id *id);

bool capture_exists_locked(struct capture_engine *e, struct capture_id *id);
/* The capture without targets; NULL where there is none. The caller's. */
cJSON *capture_listing(struct capture_engine *e, const struct capture_id *id);
/* What is stored of the capture now, in bytes; *ended: it does not run. false where there is none.
 */
bool capture_stored(struct capture_engine *e, const struct capture_id *id, uint64_t *bytes,
                    bool *ended);
/* capture_create; out may be NULL. */
int capture_create_locked(struct capture_engine *e, const struct capture_request *request,
                          struct capture_id *id, cJSON **out);
/* Adds matching processes that are not in the capture yet, with its window, and sends their
 * commands; a capture that has ended runs again. agent 0: of any host. max_targets bounds all
 * targets of the capture, 0: no bound. Returns how many were added; SKEIN_NOT_FOUND,
 * SKEIN_NO_MEMORY. */
int64_t capture_extend(struct capture_engine *e, const struct capture_id *id,
                       const struct selector *selector, uint64_t agent, uint64_t max_targets);
/* From now on `from`, known or not, stands for `into`: its targets move there, and what agents say
 * of it later counts for `into`. Durable with the next save, before anything that came after it is
 * acknowledged. The window of `into` stays. SKEIN_OK, also where it is done already;
 * SKEIN_NOT_FOUND (into); SKEIN_EXISTS (from is merged into another one); SKEIN_REFUSED (from was
 * deleted); SKEIN_NO_MEMORY. */
int capture_merge(struct capture_engine *e, const struct capture_id *from,
                  const struct capture_id *into);

/* ---- for the control thread; locked but where said ---- */

void capture_agent_joined(struct capture_engine *e, struct fleet_agent *agent);
void capture_agent_lost(struct capture_engine *e, struct fleet_agent *agent);
void capture_command_done(struct capture_engine *e, struct fleet_agent *agent,
                          const struct capture_id *id, const char *error);
/* How the rule wants its captures; NULL: as one of no rule. */
struct capture_keep {
    uint64_t ttl_ms, deadline_ms; /* ttl_ms 0: no bound */
    bool pin;
};
/* An agent has begun a capture. SKEIN_OK, also for one known or deleted; SKEIN_AGAIN. */
int capture_on_fired(struct capture_engine *e, struct fleet_agent *agent,
                     const struct control_fired *fired, const struct capture_keep *keep);
/* The same for a process's part of a sample. SKEIN_DENIED: the id is another capture's. */
struct capture_sample {
    const char *selector; /* the policy's; "" where it is gone */
    uint64_t span_ms;     /* in which parts of it begin */
    uint64_t ttl_ms;
    bool pin;
};
int capture_on_sample(struct capture_engine *e, struct fleet_agent *agent,
                      const struct control_fired *fired, const struct capture_sample *sample);
/* Whether `fired` for this id would be news: neither heard before nor deleted. A report may have
 * come first. */
bool capture_is_news(struct capture_engine *e, const struct capture_id *id);
/* Refuses a capture that an agent has begun: nothing of it is kept, now or when it arrives. */
void capture_refuse(struct capture_engine *e, const struct capture_id *id);
int capture_on_target(struct capture_engine *e, struct fleet_agent *agent,
                      const struct control_target *target, const cJSON *json);
void capture_tick(struct capture_engine *e, uint64_t now_ns);
int capture_save(struct capture_engine *e);
void capture_saved(struct capture_engine *e);
/* not locked: purges what came late for deleted captures */
void capture_unlocked(struct capture_engine *e);

/* The ingest hook: notes what was stored; never blocks. Ingest thread. */
void capture_on_stored(struct capture_engine *e, const struct partition_row *rows, size_t count);
/* Whether a capture lists the partition, and which. Any thread, not locked; it waits for the lock.
 */
bool capture_wants(struct capture_engine *e, const struct partition_key *key,
                   struct capture_id *capture);

#endif
