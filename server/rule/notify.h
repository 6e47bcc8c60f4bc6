/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices of rules to receivers outside: what a rule's capture is, when it begins and when it has
 * ended, posted to the rule's webhook. A notice is saved in the transaction of what it tells, and
 * goes when the receiver has answered with 2xx: each arrives at least once, with an id that tells
 * a repeat, and those of a rule in their order.
 *
 * Owns one thread, the only one that waits for receivers; the control thread never does. A receiver
 * that fails is left alone for longer each time, and holds up its own rule's notices only.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <cjson/cJSON.h>

#include "catalog.h"

#define NOTIFY_PENDING_MAX 1000                                /* of a rule; the oldest give way */
#define NOTIFY_KEEP_NS     (UINT64_C(24) * 3600 * 1000000000u) /* then a notice is given up */

struct notify;

/* Loads what was not delivered. It waits for the rules that it belongs to: notify_rule_set for each
 * of them, then notify_start. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
int notify_new(struct catalog *catalog, struct notify **out);
/* SKEIN_OK, SKEIN_NO_MEMORY. Notices of rules without a receiver are dropped. */
int notify_start(struct notify *n);
/* Ends a delivery that is under way; its notice stays. */
void notify_free(struct notify **n);

/* ---- any thread; none waits for a receiver ---- */

/* The rule's receiver: rule_check's {"url","headers"?}, copied; a new one is tried at once. NULL:
 * it has none (any more), and what is pending goes. SKEIN_OK, SKEIN_NO_MEMORY. */
int notify_rule_set(struct notify *n, const char *rule, const cJSON *webhook);

/* Queues {"id","event","time","rule",`key`:member}, for the next save; takes member. Without a
 * receiver nothing happens. Whether a save is due. */
bool notify_add(struct notify *n, const char *rule, const char *event, const char *key,
                cJSON *member);
int notify_save(struct notify *n);   /* inside the catalog's transaction */
void notify_saved(struct notify *n); /* it is committed: they may go */

/* {"pending","delivered","dropped","last_delivery"?,"last_failure"?,"last_error"?}, counted since
 * the start; NULL where the rule has no receiver. The caller's. */
cJSON *notify_state(struct notify *n, const char *rule);

#endif
