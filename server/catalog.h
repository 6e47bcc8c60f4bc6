/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector must not forget and cannot find in the segments: captures, their targets,
 * deletions, rules, agents. folder/state.db, synchronous=FULL: what catalog_end has committed
 * survives a power cut. Rows only; the meaning is capture.c's, rules.c's and fleet.c's.
 *
 * Any thread reads. Writers hold the control lock (fleet_lock), so that memory and rows agree; who
 * does not is named below.
 * Text in a row that is handed out is valid during the callback; callbacks must not call the
 * catalog.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "ids.h"

struct catalog;

/* Makes or opens folder/state.db. SKEIN_OK, SKEIN_IO, SKEIN_CORRUPT, SKEIN_VERSION (a newer
 * collector's) with words in error. */
int catalog_open(const char *folder, struct catalog **out, char *error, size_t error_bytes);
void catalog_close(struct catalog **catalog);

/* All writes lie between these two, on one thread. catalog_end: SKEIN_OK when committed, else
 * nothing of it happened. */
int catalog_begin(struct catalog *c);
int catalog_end(struct catalog *c, bool commit);

uint64_t catalog_collector(const struct catalog *c); /* random, made with the database */

/* ---- captures ---- */

struct catalog_capture {
    struct capture_id id;
    uint64_t created_ns, at_ns, pre_ms, post_ms, deadline_ns, finished_ns;
    bool stopped, own; /* own: begun by an agent */
    const char *status, *kind, *selector, *trigger, *rule, *process, *reason;
    const char *listing; /* the capture as JSON, without targets */
    uint64_t ttl_ms, expires_ns, min_targets, max_targets, stream_ms;
    bool pin;
};
struct catalog_target {
    struct capture_id capture;
    struct process_uid process;
    struct capture_id source; /* the capture as the agent knows it: another one after a merge */
    bool own;                 /* its agent began it by itself */
    uint64_t agent, updated_ns;
    uint32_t pid;
    const char *host, *service, *labels, *exe, *status, *reason;
    const char *report; /* the agent's last report as JSON; "" where none */
    const char *times;  /* when it entered its states, as JSON; "" where nobody noted it */
    const char *ledger; /* its ledger as JSON */
};
struct catalog_capture_query {
    const char *status;      /* NULL: any */
    uint64_t from_ns, to_ns; /* windows that overlap; 0 and UINT64_MAX for all */
    bool before;             /* cursor: captures older than these two */
    uint64_t before_created_ns;
    struct capture_id before_id;
    size_t limit;
};
typedef int catalog_capture_fn(void *context, const struct catalog_capture *capture);
typedef int catalog_target_fn(void *context, const struct catalog_target *target);

int catalog_put_capture(struct catalog *c, const struct catalog_capture *capture);
int catalog_put_target(struct catalog *c, const struct catalog_target *target);

/* Newest first. Each returns rows given, or a status. */
int64_t catalog_captures(struct catalog *c, const struct catalog_capture_query *query,
                         catalog_capture_fn *fn, void *context);
int64_t catalog_capture(struct catalog *c, const struct capture_id *id, catalog_capture_fn *fn,
                        void *context);
int64_t catalog_targets(struct catalog *c, const struct capture_id *id, catalog_target_fn *fn,
                        void *context);

/* For retention; none of them runs. Those that are to be deleted by now, the first due first. */
int64_t catalog_expired(struct catalog *c, uint64_t now_ns, catalog_capture_fn *fn, void *context);
/* Those that are not pinned, behind the cursor (all-zero: from the oldest), at most `limit`. */
struct catalog_cursor {
    uint64_t created_ns;
    struct capture_id id;
};
int64_t catalog_oldest(struct catalog *c, const struct catalog_cursor *after, size_t limit,
                       catalog_capture_fn *fn, void *context);
/* All that are pinned or run. */
typedef int catalog_id_fn(void *context, const struct capture_id *id);
int64_t catalog_protected(struct catalog *c, catalog_id_fn *fn, void *context);

/* Captures of which the process's target has expired before all that it lists was stored. */
int64_t catalog_late(struct catalog *c, const struct process_uid *process, catalog_id_fn *fn,
                     void *context);

/* A request that its sender may repeat, and what it began. Putting one drops those before
 * `drop_before_ns`. */
struct catalog_once {
    const char *principal, *key;
    uint64_t checksum, at_ns; /* checksum: of the request */
    struct capture_id capture;
};
int catalog_put_once(struct catalog *c, const struct catalog_once *once, uint64_t drop_before_ns);
/* Looks principal and key up and fills the rest. 1, 0 where there is none, or a status. */
int catalog_find_once(struct catalog *c, struct catalog_once *once);

/* Merged captures: `from` has no rows any more and stands for `into`, as all that stood for `from`
 * does. */
int catalog_put_alias(struct catalog *c, const struct capture_id *from,
                      const struct capture_id *into);
bool catalog_alias(struct catalog *c, const struct capture_id *id, struct capture_id *into);

/* Deletion: the rows go and the id is remembered for good, so that nothing late brings the capture
 * back. `purged` is set when its partitions are gone too. */
int catalog_delete_capture(struct catalog *c, const struct capture_id *id, uint64_t now_ns);
int catalog_set_purged(struct catalog *c, const struct capture_id *id);
bool catalog_is_deleted(struct catalog *c, const struct capture_id *id);
int64_t catalog_unpurged(struct catalog *c, catalog_id_fn *fn, void *context);

/* ---- rules ---- */

struct catalog_rule {
    const char *name, *json; /* the rule without state */
    uint64_t fired, suppressed, last_fired_ns;
    struct capture_id last_capture;
};
struct catalog_firing { /* the last firing that a rule was granted for a process: its cooldown */
    const char *rule;
    struct process_uid process;
    uint64_t at_ns;
};
typedef int catalog_rule_fn(void *context, const struct catalog_rule *rule);
typedef int catalog_firing_fn(void *context, const struct catalog_firing *firing);

int catalog_put_rule(struct catalog *c, const struct catalog_rule *rule);
int catalog_delete_rule(struct catalog *c, const char *name); /* its firings too */
int64_t catalog_rules(struct catalog *c, catalog_rule_fn *fn, void *context);
int catalog_put_firing(struct catalog *c, const struct catalog_firing *firing);
int64_t catalog_firings(struct catalog *c, catalog_firing_fn *fn, void *context);
int catalog_drop_firings(struct catalog *c, uint64_t before_ns);
/* Of a set that agents are pushed: "rules", "policies". */
int catalog_put_generation(struct catalog *c, const char *set, uint64_t generation);
uint64_t catalog_generation(struct catalog *c, const char *set);

/* What rules did (catalog_rules.c). A deleted rule's rows stay until they are too old. */
struct catalog_history {
    uint64_t id; /* grows; not set when added */
    const char *rule;
    uint64_t at_ns;
    struct process_uid process; /* zero: no single one */
    const char *what, *why;     /* "fired", "suppressed", or a condition's new state */
    struct capture_id capture;  /* zero: none */
};
struct catalog_history_query {
    const char *rule;
    uint64_t before_id, from_ns, to_ns; /* UINT64_MAX: no bound */
    size_t limit;
};
typedef int catalog_history_fn(void *context, const struct catalog_history *row);
int catalog_add_history(struct catalog *c, const struct catalog_history *row);
/* Newest first; rows given, or a status. */
int64_t catalog_history(struct catalog *c, const struct catalog_history_query *query,
                        catalog_history_fn *fn, void *context);
/* Of all rules, oldest first. */
int64_t catalog_history_since(struct catalog *c, const char *what, uint64_t from_ns,
                              catalog_history_fn *fn, void *context);
int catalog_trim_history(struct catalog *c, uint64_t before_ns, uint64_t keep_rows);

/* ---- notices (catalog_notices.c) ---- */

struct catalog_notice {
    uint64_t turn; /* grows */
    uint64_t created_ns;
    const char *id, *rule, *body;
};
typedef int catalog_notice_fn(void *context, const struct catalog_notice *notice);
int catalog_put_notice(struct catalog *c, const struct catalog_notice *notice);
/* Outside of transactions: the thread that delivers. */
int catalog_drop_notice(struct catalog *c, uint64_t turn);
int64_t catalog_notices(struct catalog *c, catalog_notice_fn *fn, void *context); /* by turn */

/* ---- policies (catalog_policies.c) ---- */

struct catalog_policy {
    const char *name, *json; /* the policy without state */
    uint64_t generation;
    uint64_t day, bytes; /* stored on that day, in days since 1970 */
    uint64_t captures;
    struct capture_id last_capture;
};
typedef int catalog_policy_fn(void *context, const struct catalog_policy *policy);
int catalog_put_policy(struct catalog *c, const struct catalog_policy *policy);
int catalog_delete_policy(struct catalog *c, const char *name);
int64_t catalog_policies(struct catalog *c, catalog_policy_fn *fn, void *context); /* by name */

/* ---- hosts (catalog_hosts.c) ---- */

/* Whose processes are those of a host: see claims.h. agent 0: nobody's. */
int catalog_put_host(struct catalog *c, const uint8_t host[8], uint64_t agent);
typedef int catalog_host_fn(void *context, const uint8_t host[8], uint64_t agent);
int64_t catalog_hosts(struct catalog *c, catalog_host_fn *fn, void *context); /* oldest first */

/* ---- agents ---- */

struct catalog_agent {
    uint64_t agent, epoch, last_seen_ns;
    int64_t clock_offset_ns;
    const char *host, *version, *labels;
};
typedef int catalog_agent_fn(void *context, const struct catalog_agent *agent);
int catalog_put_agent(struct catalog *c, const struct catalog_agent *agent);
int catalog_delete_agent(struct catalog *c, uint64_t agent);
int64_t catalog_agents(struct catalog *c, catalog_agent_fn *fn, void *context);

#endif
