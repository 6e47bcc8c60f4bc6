/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector must not forget and cannot find in the segments: captures, their targets,
 * deletions, rules, agents. folder/state.db, synchronous=FULL: what catalog_commit has written
 * survives a power cut. Rows only; the meaning is capture.c's, rules.c's and fleet.c's. Its largest
 * parts have headers of their own: catalog_capture.h, catalog_rules.h, catalog_loss.h.
 *
 * Any thread reads what is committed, and waits for no commit. What is to be written is collected
 * under the control lock (control.h), so that memory and rows agree, and committed without; who
 * writes at once is named below.
 * Text in a row that is handed out is valid during the callback; callbacks must not call the
 * catalog.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "db_batch.h"
#include "ids.h"

struct catalog;

/* Makes or opens folder/state.db. SKEIN_OK, SKEIN_IO, SKEIN_CORRUPT, SKEIN_VERSION (a newer
 * collector's) with words in error. */
int catalog_open(const char *folder, struct catalog **out, char *error, size_t error_bytes);
void catalog_close(struct catalog **catalog);

/* Whether damage was met in state.db, at open or since; notes damage that somebody else found. */
bool catalog_is_damaged(const struct catalog *c);
void catalog_note_damage(struct catalog *c);
bool catalog_is_new(const struct catalog *c); /* there was none before */

/* All writes lie between catalog_begin and catalog_collected, on one thread: they are kept in
 * memory, and given to the caller. catalog_commit writes them, in one transaction, and waits for
 * the disk; SKEIN_OK, else nothing of it happened. A write tells no status: where one had no memory,
 * or somebody has refused, catalog_commit writes nothing and returns that. SKEIN_NO_MEMORY of
 * catalog_begin: nothing has begun. */
int catalog_begin(struct catalog *c);
void catalog_refuse(struct catalog *c, int status); /* unless it is SKEIN_OK */
struct db_batch *catalog_collected(struct catalog *c);
int catalog_commit(struct catalog *c, struct db_batch *batch);
void catalog_trim(struct catalog *c); /* db_trim */

uint64_t catalog_collector(const struct catalog *c); /* random, made with the database */

/* ---- sets that agents are pushed ---- */

/* Of the set "rules" or "policies". */
void catalog_put_generation(struct catalog *c, const char *set, uint64_t generation);
uint64_t catalog_generation(struct catalog *c, const char *set);

/* ---- notices (catalog_notices.c) ---- */

struct catalog_notice {
    uint64_t turn; /* rises from notice to notice */
    uint64_t created_ns;
    const char *id, *rule, *body;
};
typedef int catalog_notice_fn(void *context, const struct catalog_notice *notice);
void catalog_put_notice(struct catalog *c, const struct catalog_notice *notice);
/* At once: the thread that delivers. */
int catalog_drop_notice(struct catalog *c, uint64_t turn);
int64_t catalog_notices(struct catalog *c, catalog_notice_fn *fn, void *context); /* by turn */

/* ---- policies (catalog_policies.c) ---- */

struct catalog_policy {
    const char *name, *json; /* the policy without state */
    uint64_t generation;
    uint64_t day, bytes; /* stored on that day; days since 1970 */
    uint64_t captures;
    struct capture_id last_capture;
};
typedef int catalog_policy_fn(void *context, const struct catalog_policy *policy);
void catalog_put_policy(struct catalog *c, const struct catalog_policy *policy);
void catalog_delete_policy(struct catalog *c, const char *name);
int64_t catalog_policies(struct catalog *c, catalog_policy_fn *fn, void *context); /* by name */

/* ---- hosts (catalog_hosts.c) ---- */

/* Which agent has the processes of a host: see claims.h. agent 0: none any more. */
void catalog_put_host(struct catalog *c, const uint8_t host[8], uint64_t agent);
typedef int catalog_host_fn(void *context, const uint8_t host[8], uint64_t agent);
int64_t catalog_hosts(struct catalog *c, catalog_host_fn *fn, void *context); /* oldest first */

/* ---- room ---- */

int catalog_usage(struct catalog *c, uint64_t *bytes); /* size of the pages in use */

/* ---- agents ---- */

struct catalog_agent {
    uint64_t agent, epoch, last_seen_ns;
    int64_t clock_offset_ns;
    const char *host, *version, *labels;
};
typedef int catalog_agent_fn(void *context, const struct catalog_agent *agent);
void catalog_put_agent(struct catalog *c, const struct catalog_agent *agent);
void catalog_delete_agent(struct catalog *c, uint64_t agent);
int64_t catalog_agents(struct catalog *c, catalog_agent_fn *fn, void *context);

#endif
