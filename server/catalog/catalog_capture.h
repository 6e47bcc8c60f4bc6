/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's captures: their rows, their targets' rows, and deletions. Threads and transactions
 * as in catalog.h.
 */
#ifndef CATALOG_CAPTURE_H
#define CATALOG_CAPTURE_H

#include "catalog.h"
#include "clock_steps.h"
#include "shares.h"

struct catalog_capture {
    struct capture_id id, incident; /* incident zero: as id */
    uint64_t created_ns, at_ns, pre_ms, post_ms, deadline_ns, finished_ns;
    bool stopped, own; /* own: an agent began it */
    const char *status, *kind, *selector, *trigger, *rule, *process, *reason;
    const char *listing; /* the capture as JSON, without targets; "": still to be made */
    uint64_t ttl_ms, expires_ns, min_targets, max_targets, stream_ms, known_from_ns;
    uint64_t groups; /* that it is read for: bit n, group n; 0: all */
    bool pin;
    enum share_rank rank;
    const char *holder; /* for whom it counts where a quota is shared out; "": not known */
    uint64_t bytes;     /* stored of it, what it shares with others included */
};
struct catalog_target {
    struct capture_id capture;
    struct process_uid process;
    bool own; /* its agent began it by itself */
    uint64_t agent, updated_ns;
    uint32_t pid;
    const char *host, *service, *labels, *exe, *status, *reason;
    const char *report; /* the agent's last report as JSON; "": none */
    const char *times;  /* when it entered each state, as JSON; "": not noted */
};
struct catalog_capture_query {
    const char *status, *kind;         /* NULL: any */
    const char *rule, *policy;         /* what began it; NULL: anything */
    const struct capture_id *incident; /* NULL: any */
    const char *id_begins;             /* hex digits, lower case, with which ids begin; NULL: any */
    uint64_t from_ns, to_ns;           /* windows that overlap this; 0 and UINT64_MAX for all */
    bool before;                       /* cursor: only captures older than these two */
    uint64_t before_created_ns;
    struct capture_id before_id;
    size_t limit;
};
typedef int catalog_capture_fn(void *context, const struct catalog_capture *capture);
typedef int catalog_target_fn(void *context, const struct catalog_target *target);

void catalog_put_capture(struct catalog *c, const struct catalog_capture *capture);
void catalog_put_target(struct catalog *c, const struct catalog_target *target);

/* Newest first. Each returns how many rows fn got, or a status. */
int64_t catalog_captures(struct catalog *c, const struct catalog_capture_query *query,
                         catalog_capture_fn *fn, void *context);
/* fn may be NULL: whether it is there. */
int64_t catalog_capture(struct catalog *c, const struct capture_id *id, catalog_capture_fn *fn,
                        void *context);
int64_t catalog_targets(struct catalog *c, const struct capture_id *id, catalog_target_fn *fn,
                        void *context);

/* For retention; running captures are left out. Those due to be deleted by now, first due first. */
int64_t catalog_expired(struct catalog *c, const struct clock_view *now, catalog_capture_fn *fn,
                        void *context);
/* Who has captures that are not pinned, and have ended or were begun after young_ns: in all, or,
 * with a service, with a target of it. `young`: those of them that run. */
struct catalog_holder {
    enum share_rank rank;
    const char *name;
    uint64_t captures, young, bytes, oldest_ns;
};
typedef int catalog_holder_fn(void *context, const struct catalog_holder *holder);
int64_t catalog_holders(struct catalog *c, const char *service, uint64_t young_ns,
                        catalog_holder_fn *fn, void *context);
/* A holder's that are not pinned: at most `limit` behind the cursor (all-zero: from the oldest on). */
struct catalog_cursor {
    uint64_t created_ns;
    struct capture_id id;
};
int64_t catalog_oldest(struct catalog *c, enum share_rank rank, const char *holder,
                       const struct catalog_cursor *after, size_t limit, catalog_capture_fn *fn,
                       void *context);
/* What pinned captures take, at least: a target has rows, and one that runs gets a partition yet. */
int catalog_pinned_bytes(struct catalog *c, uint64_t *bytes);
typedef int catalog_id_fn(void *context, const struct capture_id *id);

/* A request that its sender may repeat, and the capture it began. Putting one drops all from before
 * `drop_before_ns`. */
struct catalog_once {
    const char *principal, *key;
    uint64_t checksum, at_ns; /* checksum: of the request */
    struct capture_id capture;
};
void catalog_put_once(struct catalog *c, const struct catalog_once *once, uint64_t drop_before_ns);
/* Looks up principal and key, and fills in the rest. 1; 0: there is none; or a status. */
int catalog_find_once(struct catalog *c, struct catalog_once *once);

int64_t catalog_incident(struct catalog *c, const struct capture_id *incident, catalog_id_fn *fn,
                         void *context);
int64_t catalog_unlisted(struct catalog *c, catalog_id_fn *fn, void *context); /* no listing yet */

/* Deletion. First the rows go, except the ranges, and the id is remembered for good, so that
 * nothing late brings the capture back. When its partitions are gone too, `purged` is set and the
 * ranges go. */
void catalog_delete_capture(struct catalog *c, const struct capture_id *id, uint64_t now_ns);
void catalog_set_purged(struct catalog *c, const struct capture_id *id);
uint64_t catalog_last_deleted_ns(struct catalog *c); /* 0: none was ever deleted */
bool catalog_is_deleted(struct catalog *c, const struct capture_id *id);
int64_t catalog_unpurged(struct catalog *c, catalog_id_fn *fn, void *context);

#endif
