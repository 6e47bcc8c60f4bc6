/* SPDX-License-Identifier: Apache-2.0
 *
 * What the index says of the room that partitions take, for retention and GET /storage. Threads as
 * in index.h.
 */
#ifndef INDEX_USAGE_H
#define INDEX_USAGE_H

#include "index.h"

/* live_bytes: of all partitions. dead_bytes: of what lies in segments and is not needed: it is
 * given back when they are compacted or removed. SKEIN_OK or a status. */
int index_usage(struct index *index, uint64_t *live_bytes, uint64_t *dead_bytes);

/* Bytes of each service's partitions, each counted once however many captures have it; by name. fn
 * runs under the lock of the database. Returns services given to fn, or a status. */
typedef int index_service_fn(void *context, const char *service, uint64_t bytes);
int64_t index_services(struct index *index, index_service_fn *fn, void *context);

#endif
