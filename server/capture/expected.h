/* SPDX-License-Identifier: Apache-2.0
 *
 * Which captures expect partitions of which processes: the targets that are in memory, by the
 * capture's id. The capture engine fills it under the control lock; the
 * ingest thread asks without that lock, once a partition. A mutex of its own; any thread.
 */
#ifndef EXPECTED_H
#define EXPECTED_H

#include <pthread.h>
#include <stdbool.h>

#include "idmap.h"
#include "ids.h"

struct expected {
    pthread_mutex_t mutex;
    struct idmap by_process; /* heads of chains */
};

void expected_init(struct expected *e);
void expected_fini(struct expected *e);

/* As often as it was added it is to be removed. SKEIN_OK, SKEIN_NO_MEMORY. */
int expected_add(struct expected *e, const struct process_uid *process,
                 const struct capture_id *capture);
void expected_remove(struct expected *e, const struct process_uid *process,
                     const struct capture_id *capture);
bool expected_has(struct expected *e, const struct process_uid *process,
                  const struct capture_id *capture);

#endif
