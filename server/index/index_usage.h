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

/* Partitions that no capture has and that were received before then, the oldest first: looks at
 * some thousand rows behind *after and moves it, to 0 at the end. At most `room`; their number, and
 * the bytes of all of them added to *bytes; or a status. */
int64_t index_strays(struct index *index, uint64_t *after, uint64_t before_ns,
                     struct partition_key *keys, size_t room, uint64_t *bytes);

/* The captures that are not to be deleted, for index_frees. */
int index_protect(struct index *index, const struct capture_id *captures, size_t count);
/* What deleting a capture frees, of one service or (NULL) of all: `now`, of partitions that no
 * other capture has; `later`, also of those that other captures have but none that is protected. */
int index_frees(struct index *index, const struct capture_id *capture, const char *service,
                uint64_t *now, uint64_t *later);

#endif
