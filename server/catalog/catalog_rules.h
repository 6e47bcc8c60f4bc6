/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's rules: what they are, for which processes they were granted a firing, and what they
 * did. Threads and transactions as in catalog.h.
 */
#ifndef CATALOG_RULES_H
#define CATALOG_RULES_H

#include "catalog.h"

struct catalog_rule {
    const char *name, *json; /* the rule without state */
    uint64_t fired, suppressed, last_fired_ns;
    struct capture_id last_capture;
};
struct catalog_firing { /* a rule's last firing for a process, which begins its cooldown */
    const char *rule;
    struct process_uid process;
    uint64_t at_ns;
};
typedef int catalog_rule_fn(void *context, const struct catalog_rule *rule);
typedef int catalog_firing_fn(void *context, const struct catalog_firing *firing);

void catalog_put_rule(struct catalog *c, const struct catalog_rule *rule);
void catalog_delete_rule(struct catalog *c, const char *name); /* its firings too */
int64_t catalog_rules(struct catalog *c, catalog_rule_fn *fn, void *context);
void catalog_put_firing(struct catalog *c, const struct catalog_firing *firing);
int64_t catalog_firings(struct catalog *c, catalog_firing_fn *fn, void *context);
void catalog_drop_firings(struct catalog *c, uint64_t before_ns);

/* What rules did (catalog_rules.c). The rows of a deleted rule stay until they are too old. */
struct catalog_history {
    uint64_t id; /* rises; not set when added */
    const char *rule;
    uint64_t at_ns;
    struct process_uid process; /* zero: no one process */
    const char *what, *why;     /* "fired", "joined", "suppressed", or a condition's new state */
    struct capture_id capture, incident; /* zero: none */
    uint32_t user; /* whose process it is about; SHARE_USER_UNKNOWN: nobody's, or not known */
};
struct catalog_history_query {
    const char *rule;
    uint64_t before_id, from_ns, to_ns; /* UINT64_MAX: no bound */
    size_t limit;
};
typedef int catalog_history_fn(void *context, const struct catalog_history *row);
void catalog_add_history(struct catalog *c, const struct catalog_history *row);
/* Newest first. Returns how many rows fn got, or a status. */
int64_t catalog_history(struct catalog *c, const struct catalog_history_query *query,
                        catalog_history_fn *fn, void *context);
/* Of all rules, oldest first. */
int64_t catalog_history_since(struct catalog *c, const char *what, uint64_t from_ns,
                              catalog_history_fn *fn, void *context);
void catalog_trim_history(struct catalog *c, uint64_t before_ns, uint64_t keep_rows);

#endif
