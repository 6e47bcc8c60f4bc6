/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread that does jobs: cuts, and what must be on disk after them. Owns the thread and the
 * queue. Any thread may post.
 *
 * Users take turns, within each one his programs, and within each of those its causes; jobs of one
 * cause are done in the order they came. So who posts thousands of jobs waits for his own, and the
 * next of anybody else comes after one job of each user who waits:
 *
 *     user A   A1 A2 A3 A4 ... A1000 ─┐
 *     user B   B1                     ├─▶  A1 B1 C1 A2 C2 A3 A4 ...
 *     user C   C1 C2 ─────────────────┘
 */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>

#include "shares.h"
#include "skein/status.h"

struct worker;
typedef void worker_fn(void *context); /* on the worker's thread */

int worker_new(struct worker **out); /* SKEIN_OK, SKEIN_NO_MEMORY */

/* Does all jobs that were posted, ends the thread. Nothing may be posted meanwhile. */
void worker_free(struct worker **worker);

/* `whose`: in whose turn it is done; NULL: the agent's own, who is one more user.
 * SKEIN_OK, SKEIN_NO_MEMORY */
int worker_post(struct worker *worker, const struct share_key *whose, worker_fn *fn, void *context);
/* The same, in front of all that wait for the same turn: for the end of what has waited already. */
int worker_post_first(struct worker *worker, const struct share_key *whose, worker_fn *fn,
                      void *context);

#endif
