/* SPDX-License-Identifier: Apache-2.0
 *
 * What held processes back: stopped, traced, frozen, throttled. Rows of JSON, of which the text is
 * made. One thread.
 */
#ifndef CLI_STATES_H
#define CLI_STATES_H

#include <cjson/cJSON.h>

#include "buf.h"
#include "vitals_table.h"

/* The members of whom a row is: host, and service, pid, thread, tid as far as there are. */
void states_of_add(cJSON *json, const struct vitals_of *of);
/* Adds the array `states`. */
void states_add(cJSON *json, const struct vitals_list *list);
/* "shop[42] was stopped at ..., since 1.2 s at least", a line each. */
void states_put(struct buf *out, const cJSON *states);

#endif
