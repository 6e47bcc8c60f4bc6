/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture engine: captures, their targets' states, ledger, verdict, deadlines.
 *
 * The control lock (control.h) guards everything. The functions here take it themselves; any thread
 * may call them. capture_control.h has those whose caller holds it. Captures that run are in
 * memory; others are loaded when something late arrives for them. What is stored is always asked of
 * the index. So the targets' states come out the same, whatever the order of reports and
 * partitions, and whoever was killed in between.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "audit.h"
#include "capture_status.h"
#include "events.h"
#include "evidence_kinds.h"
#include "fleet.h"
#include "index.h"

struct capture_engine;

struct capture_settings {
    uint64_t deadline_ms;             /* for captures that agents begin */
    uint64_t ttl_ms;                  /* for captures that say nothing themselves; 0: no bound */
    uint64_t agent_captures_per_hour; /* that one agent may begin by itself; 0: no bound */
    uint64_t quota_bytes; /* of all: half of it is open to pins of who is confined; 0: no bound */
    /* Deletes a capture's partitions, durably; waits. Called without the lock. */
    int (*purge)(void *context, const struct capture_id *capture);
    /* Called before a deletion, without the lock: gives up the reserve where the disk is all but
     * full. NULL: not needed. */
    void (*make_room)(void *context);
    /* Whether the disk is too short for a new capture; NULL: never. */
    bool (*is_full)(void *context);
    void *context;
    struct events *events; /* told of captures; NULL: nobody is */
    struct audit *audit;   /* told of captures that HTTP has not asked for; NULL: none */
    /* Called when a rule's capture ends, or the verdict of an ended one changes. Takes `listing`:
     * the capture without targets; NULL where the capture is not its incident's first. Locked.
     * NULL: nobody asks. */
    void (*ended)(void *context, const struct capture_id *incident, const char *rule,
                  cJSON *listing);
    /* Called when something of a capture that has ended is saved, or its deletion. Locked. NULL: nobody
     * asks. */
    void (*touched)(void *context, const struct capture_id *capture);
    /* Called when a partition of a policy's sample is stored. Locked. NULL: nobody asks. */
    void (*sampled)(void *context, const char *policy, const struct process_uid *process,
                    uint64_t bytes);
};

/* Loads the captures that run, and takes in what was stored meanwhile. SKEIN_OK, SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int capture_engine_new(const struct capture_settings *settings, struct fleet *fleet,
                       struct catalog *catalog, struct index *index, struct capture_engine **out);
void capture_engine_free(struct capture_engine **engine);

/* Adds `url`, the capture's page in the console, to its JSON (whole or a listing; may be NULL): nothing
 * where public_url is "". */
void capture_add_url(cJSON *capture, const char *public_url);

/* ---- for HTTP; any thread; JSON handed out is the caller's ---- */

enum capture_kind {
    CAPTURE_SNAPSHOT, /* a window of the past, up to its end, which may be later than now */
    CAPTURE_RECORD,   /* only what comes from now on: pre_ms is 0 */
    CAPTURE_STREAM,   /* a record, cut and uploaded every stream_ms until it is stopped or over */
    CAPTURE_SAMPLE,   /* a policy's: agents begin it, each process has its own part of the window */
    CAPTURE_KINDS,    /* how many there are */
};

/* Names a request, so that a repeat within a day finds its capture and begins no second one. */
struct capture_once {
    const char *principal, *key;
    uint64_t checksum; /* of the request */
};

struct capture_request {
    const struct capture_once *once; /* NULL: the request is never repeated */
    enum capture_kind kind;
    const char *selector_text;
    const struct selector *selector;
    const struct selector *within; /* what the answer may show; NULL: everything */
    /* at_ns 0: now; deadline_ms counts from the window's end */
    uint64_t at_ns, pre_ms, post_ms, deadline_ms;
    uint64_t stream_ms; /* 0 unless it is a stream */
    const char *reason;
    const char *trigger, *rule; /* NULL: "request", none */
    const char *asker;          /* who asks, a token's name; NULL: the rule does */
    /* With fewer matches than min_targets (0: 1) there is no capture. With more than max_targets
     * (0: no bound) it takes those with the lowest ids. */
    uint64_t min_targets, max_targets;
    uint64_t ttl_ms; /* how long it is kept after its end; 0: as the settings say */
    bool pin;
    struct evidence_wish wish; /* for which evidence agents are asked */
    bool unsaved; /* the caller saves it (control_save), together with what else belongs to it */
    uint64_t *matched; /* out: how many processes match; may be NULL */
};
/* Begins a capture on every matching process that is not gone. When it returns, the capture is
 * durable (unless `unsaved`), and its commands are on their way. SKEIN_OK; SKEIN_NOT_FOUND (too few
 * processes match); SKEIN_IO (could not be saved); SKEIN_FULL (the disk has no room for what it
 * would bring); SKEIN_REFUSED (it would be pinned, who asks is confined, and pins have what is open
 * to such). A failure leaves nothing behind.
 *
 * With `once`, a repeat returns the capture that the first request began, as it is now; the key is
 * durable with the capture. SKEIN_EXISTS: the key came with another request before; SKEIN_CLOSED:
 * its capture has been deleted. */
int capture_create(struct capture_engine *e, const struct capture_request *request,
                   struct capture_id *id, cJSON **out);

/* `within` confines the asker; NULL: it does not. A capture without a target that matches it is not
 * found. Of other captures, the answer shows nothing of targets that do not match. */

/* SKEIN_OK, SKEIN_NOT_FOUND; SKEIN_CORRUPT and its like: what is kept of it cannot be read. */
int capture_get(struct capture_engine *e, const struct capture_id *id,
                const struct selector *within, cJSON **out);
/* The same without an answer. */
int capture_look(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within);

/* Only who sees all targets may change a capture: else SKEIN_DENIED. */

/* Ends the window now; the deadline comes that much earlier. 1: it was stopped; 0: it had ended or
 * been stopped before; SKEIN_NOT_FOUND, SKEIN_IO. */
int capture_stop(struct capture_engine *e, const struct capture_id *id,
                 const struct selector *within, cJSON **out);

struct capture_ids; /* capture_incident.h */
/* NULL: leaves it as it is. ttl_ms 0: no bound. A pinned capture does not expire. */
struct capture_change {
    const uint64_t *ttl_ms;
    const bool *pin;
    const char *reason;
};
/* Of the capture, or of all captures of an incident (capture_incident.h): of all or of none. Appends
 * the ids of those that it has changed. *out: the capture; of an incident an array, without
 * targets. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_IO, SKEIN_NO_MEMORY; SKEIN_REFUSED: as of
 * capture_create, for a pin. */
int capture_change(struct capture_engine *e, const struct capture_id *id, bool incident,
                   const struct selector *within, const struct capture_change *change,
                   struct capture_ids *ids, cJSON **out);

/* Deletes the capture, or all of an incident or none, with their partitions, and remembers their
 * ids: a partition that comes late for one is acknowledged and deleted, too. Appends the ids of the
 * deleted. SKEIN_OK; SKEIN_NOT_FOUND; SKEIN_NO_MEMORY; SKEIN_IO (if the rows of those that are
 * appended are gone but partitions are not, the engine tries those again by itself). */
int capture_delete(struct capture_engine *e, const struct capture_id *id, bool incident,
                   const struct selector *within, struct capture_ids *ids);

#endif
