/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread that does jobs in the order they came: cuts, and what must be on disk after them. Owns
 * the thread and the queue. Any thread may post.
 */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>

#include "skein/status.h"

struct worker;
typedef void worker_fn(void *context); /* on the worker's thread */

int worker_new(struct worker **out); /* SKEIN_OK, SKEIN_NO_MEMORY */

/* Does all jobs that were posted, ends the thread. Nothing may be posted meanwhile. */
void worker_free(struct worker **worker);

int worker_post(struct worker *worker, worker_fn *fn,
                void *context); /* SKEIN_OK, SKEIN_NO_MEMORY */
/* The same, in front of all that wait: for the end of what has waited its turn already. */
int worker_post_first(struct worker *worker, worker_fn *fn, void *context);

#endif
