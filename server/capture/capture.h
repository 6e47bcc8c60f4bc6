/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture engine: captures, their targets' states, ledger, verdict, deadlines.
 *
 * Everything is guarded by the control lock (control.h). The functions here take it themselves and
 * are for any thread; those for who holds it are in capture_control.h. Captures that run are in
 * memory, others are loaded when something late arrives for them. What is stored is asked of the
 * index, so whatever order reports and partitions come in, and whoever was killed in between, the
 * targets' states come out the same.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "audit.h"
#include "capture_status.h"
#include "events.h"
#include "fleet.h"
#include "index.h"

struct capture_engine;

struct capture_settings {
    uint64_t deadline_ms;             /* of captures that agents begin */
    uint64_t ttl_ms;                  /* of captures that say nothing themselves; 0: no bound */
    uint64_t agent_captures_per_hour; /* that one agent may begin by itself; 0: no bound */
    /* Deletes a capture's partitions for good; waits. Called without the lock. */
    int (*purge)(void *context, const struct capture_id *capture);
    /* Before a deletion, without the lock: lets it write where the disk is all but full. NULL: it
     * can. */
    void (*make_room)(void *context);
    /* Whether the disk is too short for a new capture; NULL: never. */
    bool (*is_full)(void *context);
    void *context;
    struct events *events; /* told of captures; NULL: nobody is */
    struct audit *audit;   /* told of those that nobody has asked for by HTTP; NULL: none */
    /* A capture of a rule has ended, or an ended one's verdict has changed. Takes listing, the
     * capture without targets; NULL where it is not its incident's first. Locked; NULL: nobody
     * asks. */
    void (*ended)(void *context, const struct capture_id *incident, const char *rule,
                  cJSON *listing);
    /* A partition of a policy's sample is stored. Locked; NULL: nobody asks. */
    void (*sampled)(void *context, const char *policy, uint64_t bytes);
};

/* Loads the captures that run and looks at what of them has arrived meanwhile. SKEIN_OK,
 * SKEIN_NO_MEMORY, SKEIN_IO. */
int capture_engine_new(const struct capture_settings *settings, struct fleet *fleet,
                       struct catalog *catalog, struct index *index, struct capture_engine **out);
void capture_engine_free(struct capture_engine **engine);

/* ---- for HTTP; any thread; JSON handed out is the caller's ---- */

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
    const struct selector *within; /* what the answer may show; NULL: everything */
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
    bool unsaved; /* the caller saves it (control_save), together with what else belongs to it */
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

/* `within`: what the asker is confined to; NULL: nothing. Captures without a target that matches it
 * are not found; of others, what is handed out shows nothing of targets that do not. */

/* SKEIN_OK, SKEIN_NOT_FOUND */
int capture_get(struct capture_engine *e, const struct capture_id *id,
                const struct selector *within, cJSON **out);
bool capture_exists(struct capture_engine *e, const struct capture_id *id,
                    const struct selector *within);

/* Changes are for those who see all targets: where some do not match, SKEIN_DENIED. */

/* The same, SKEIN_IO. The window ends now, and the deadline comes that much earlier. 1: it was
 * stopped; 0: it had ended or been stopped before. */
int capture_stop(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within, cJSON **out);

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

/* ---- what captures have; any thread ---- (capture_has.c) */

/* What the captures have, in ranges, which are all-zero before and ready then; each partition once.
 * SKEIN_OK; SKEIN_NOT_FOUND (none of them is there), SKEIN_NO_MEMORY: they are empty. */
int capture_ranges(struct capture_engine *e, const struct capture_id *ids, size_t count,
                   struct partition_ranges *ranges);
/* Keeps of entries, in their order, those that no capture has, and that were sent for none that
 * runs. Their number, or a status; SKEIN_IO also while state.db is damaged. May wait for the
 * control lock. Whoever lists them from now on does not have them, until the caller has deleted
 * them and calls capture_deleted, or asks of others. */
int64_t capture_unlisted(struct capture_engine *e, struct index_entry *entries, size_t count);
void capture_deleted(struct capture_engine *e);

/* ---- for retention; any thread ---- */

/* What deleting the capture frees, of one service or (NULL) of all: `now`, of partitions that no
 * other capture has; `later`, also of those that other captures have but none that is pinned or
 * runs. SKEIN_OK or a status. */
int capture_frees(struct capture_engine *e, const struct capture_id *id, const char *service,
                  uint64_t *now, uint64_t *later);

/* As capture_delete, of a capture that has ended and is not pinned, with the event
 * retention.deleted that says why; with due_ns only where its time to be kept is over by then. Also
 * SKEIN_REFUSED: it is not so, or no longer. */
int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why);
/* Whether partitions of deleted captures still wait to be deleted. */
bool capture_is_purging(struct capture_engine *e);

#endif
