/* SPDX-License-Identifier: Apache-2.0
 *
 * The event groups of the client library (enum skein_group) by name, as policies and readers of
 * captures list them; "16" to "63" are a service's own. Bit n: group n; 0: all.
 */
#ifndef EVENT_GROUPS_H
#define EVENT_GROUPS_H

#include "buf.h"
#include "json.h"

#define EVENT_GROUPS "app, net, io, lock, thread, sleep, log, \"16\" to \"63\""

/* 0 where the array is absent. Fails r where it is empty or names what is no group. */
uint64_t event_groups_get(struct json_reader *r, const cJSON *object, const char *key);
/* "net,io", or "all". False, and nothing is set, where it names what is no group. */
bool event_groups_parse(const char *text, uint64_t *groups);
void event_groups_put(struct buf *b, uint64_t groups); /* "net,io" */
cJSON *event_groups_json(uint64_t groups);

#endif
