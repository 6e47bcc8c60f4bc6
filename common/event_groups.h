/* SPDX-License-Identifier: Apache-2.0
 *
 * The event groups of the client library (enum skein_group) by name, as policies list them: app,
 * net, io, lock, thread, sleep, log, and "16" to "63", which are a service's own.
 */
#ifndef EVENT_GROUPS_H
#define EVENT_GROUPS_H

#include "json.h"

/* Bit n: group n. 0 where the array is absent. Fails r where it is empty or names what is no
 * group. */
uint64_t event_groups_get(struct json_reader *r, const cJSON *object, const char *key);

#endif
