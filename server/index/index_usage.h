/* SPDX-License-Identifier: Apache-2.0
 *
 * How much room partitions take, for retention and GET /storage. Threads as in index.h.
 */
#ifndef INDEX_USAGE_H
#define INDEX_USAGE_H

#include "index.h"

/* live_bytes: all partitions. dead_bytes: what segments hold that is not needed; compacting or
 * removing them gives it back. SKEIN_OK or a status. */
int index_usage(struct index *index, uint64_t *live_bytes, uint64_t *dead_bytes);

/* Calls fn with the bytes of each service's partitions, by name. A partition counts once, however
 * many captures have it. fn runs under the lock of the database. Returns how many services, or a
 * status. */
typedef int index_service_fn(void *context, const char *service, uint64_t bytes);
int64_t index_services(struct index *index, index_service_fn *fn, void *context);

#endif
