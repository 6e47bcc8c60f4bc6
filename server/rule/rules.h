/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules: their text, their push to every agent by generation, their state. Agents do the checks.
 * Here are the counters and the history, which outlive agents and collector, and the limits, which
 * hold across restarts of both. Guarded by the control lock (control.h).
 */
#ifndef RULES_H
#define RULES_H

#include "capture.h"
#include "events.h"
#include "fleet.h"
#include "named_set.h"
#include "notify.h"

#define RULE_GRANTS_MAX 10000 /* firings that a limit may count */

struct rules;

/* Loads the rules from the catalog. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
struct rules_settings {
    uint64_t captures_per_hour; /* bound for what all rules together begin; 0: none */
    uint64_t bytes_per_hour;    /* bound for what is stored of these; 0: none */
    struct events *events;      /* told of firings; may be NULL */
    struct notify *notify;      /* tells the rules' receivers; may be NULL */
    const char *public_url;     /* of links to captures in what they are told; "" or NULL: none */
};
int rules_new(const struct rules_settings *settings, struct fleet *fleet, struct catalog *catalog,
              struct rules **out);
void rules_set_captures(struct rules *r,
                        struct capture_engine *captures); /* before the first use */
void rules_free(struct rules **rules);

/* ---- for HTTP; any thread, not locked; JSON handed out is the caller's ---- */

/* Newest first: rows below *before (UINT64_MAX: all), which becomes the cursor for the next ones;
 * 0: there are no more. With a selector, only rows of matching processes. Also for a deleted rule.
 * SKEIN_OK; SKEIN_NOT_FOUND (nothing is known of the name); or a status. */
struct rules_history_query {
    const struct selector *selector; /* NULL: all */
    uint64_t from_ns, to_ns, before;
    size_t limit;
};
int rules_history(struct rules *r, const char *name, struct rules_history_query *query,
                  cJSON **out);
enum rules_trigger_result { RULES_FIRED, RULES_REPEATED, RULES_HELD };
struct rules_trigger {
    const cJSON *alerts;             /* Alertmanager's array; NULL: a plain trigger */
    const char *group;               /* its cooldown is its own; "": a plain trigger */
    const char *reason;              /* for the capture */
    const char *selector;            /* narrows the rule's; "" */
    uint64_t at_ns;                  /* the window's; 0: now */
    const struct capture_once *once; /* NULL: it is not repeated */
};
/* SKEIN_OK with *result: fired (*capture is new), repeated within the cooldown (*capture is the
 * earlier one), or held back (words in why). SKEIN_NOT_FOUND: no such rule with when.webhook;
 * SKEIN_INVALID: the selectors contradict each other (words in why); SKEIN_EXISTS, SKEIN_CLOSED as
 * capture_create; others: could not be saved. With `once`, a repeat gets the answer of the request
 * that fired; a request that fired nothing leaves no key. */
int rules_trigger(struct rules *r, const char *name, const struct rules_trigger *trigger,
                  enum rules_trigger_result *result, struct capture_id *capture, char *why,
                  size_t why_bytes);
struct named_set *rules_set(struct rules *r); /* to put, get, list and delete them */

/* ---- for the control thread ---- */

void rules_on_report(struct rules *r, struct fleet_agent *agent,
                     const struct report_rule *report) CONTROL_LOCKED;

/* An agent has begun a capture for a rule. If the limits allow it, the capture joins the rule's
 * last incident where it overlaps that; else it begins one, with its neighbours. SKEIN_OK;
 * SKEIN_REFUSED: held back, counted, words in error; SKEIN_AGAIN. If the rule was deleted meanwhile
 * the firing is granted: the agent acted on what it was told. */
int rules_on_fired(struct rules *r, struct fleet_agent *agent, const struct report_fired *fired,
                   char *error, size_t error_bytes) CONTROL_LOCKED;

/* The firing was refused, as somebody's share of what its agent may begin is used up: it is counted,
 * and the rule's state says why. */
void rules_on_refused(struct rules *r, const struct report_fired *fired,
                      const char *why) CONTROL_LOCKED;

/* A capture of the rule has ended, or its verdict has changed since. Takes `listing`, the capture
 * without targets; NULL: it is not its incident's first. May come before rules_set_captures. */
void rules_on_ended(struct rules *r, const struct capture_id *incident, const char *rule,
                    cJSON *listing) CONTROL_LOCKED;

void rules_save(struct rules *r) CONTROL_LOCKED;
void rules_saved(struct rules *r, bool ok) CONTROL_LOCKED;
void rules_tick(struct rules *r, uint64_t now_ns) CONTROL_LOCKED;

/* ---- rule_check.c: pure ---- */

/* A checked copy of a rule in its full form, with defaults, without `state`. NULL, and "path: what
 * is wrong" in error. */
cJSON *rule_check(const char *name, const cJSON *json, char *error, size_t error_bytes);
bool rule_name_valid(const char *name);

#endif
