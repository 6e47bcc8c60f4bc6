/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices of rules to receivers outside: a rule's capture begins, or has ended, and what it is;
 * each is posted to the rule's webhook. A notice is saved in one transaction with what it tells,
 * and is deleted when the receiver has answered with 2xx. So each arrives at least once; its id
 * tells a repeat, and the notices of a rule arrive in order.
 *
 * Owns one thread, the only one that waits for receivers; the control thread never does. A receiver
 * that fails is left alone for longer each time. It delays only its own rule's notices.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <cjson/cJSON.h>

#include "control.h"

#define NOTIFY_PENDING_MAX 1000 /* for a rule; the oldest are dropped */
#define NOTIFY_KEEP_NS     (UINT64_C(24) * 3600 * 1000000000u) /* then a notice is dropped */

struct notify;

/* Loads what was not delivered. Then call notify_rule_set for each rule, and then notify_start.
 * SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
int notify_new(struct catalog *catalog, struct notify **out);
/* SKEIN_OK, SKEIN_NO_MEMORY. Notices of rules without a receiver are dropped. */
int notify_start(struct notify *n);
/* Ends a delivery that is running; its notice stays. */
void notify_free(struct notify **n);

/* ---- any thread; none waits for a receiver ---- */

/* Sets the rule's receiver: a copy of rule_check's {"url","headers"?}; a new one is tried at once.
 * NULL: it has none, and its notices are dropped. SKEIN_OK, SKEIN_NO_MEMORY. */
int notify_rule_set(struct notify *n, const char *rule, const cJSON *webhook);

/* Queues {"id","event","time","rule",`key`:member} for the next save; owns member from here on.
 * Without a receiver, drops it. Returns whether a save is due. */
bool notify_add(struct notify *n, const char *rule, const char *event, const char *key,
                cJSON *member);
void notify_save(struct notify *n);           /* as control.h's hooks */
void notify_saved(struct notify *n, bool ok); /* ok: they may be sent */

/* {"pending","delivered","dropped","last_delivery"?,"last_failure"?,"last_error"?}, counted since
 * the start; NULL where the rule has no receiver. The caller's. */
cJSON *notify_state(struct notify *n, const char *rule);

#endif
