/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps on disk what the collector has pushed whole (rules, policies), so that an agent that
 * restarts without a collector goes on with it: "NAME.json", {"generation":7,"NAME":[...]}. The
 * worker writes it; it is read at start.
 */
#ifndef SET_STORE_H
#define SET_STORE_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "worker.h"

/* The name is static text. Failures are logged: a restart will need the collector. */
void set_store(struct worker *worker, int folder, const char *name, uint64_t generation,
               const cJSON *array);
cJSON *set_load(int folder, const char *name, uint64_t *generation); /* the array, or NULL */

#endif
