/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds over /proc: which processes are new. A round costs a directory entry for each process; one
 * is looked at when it has been there for a round, and then in each OUTSIDE_LOOK_EACH-th, as it may
 * call exec, move or begin to listen. A round that costs more than its budget goes on in the next
 * step. One thread.
 *
 *    entry seen     the round behind     every 10th round from then on
 *       new ──────────────▶ looked at ───────────▶ looked at ──▶ …
 */
#ifndef OUTSIDE_SCAN_H
#define OUTSIDE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define OUTSIDE_LOOK_EACH 10
#define OUTSIDE_SEEN_MAX  65536 /* processes of a round; beyond, they are looked at each time */

struct outside_scan;

/* Looks at one process. */
typedef void outside_look_fn(void *context, uint32_t pid);

/* `proc` outlives it. SKEIN_OK, SKEIN_NO_MEMORY. */
int outside_scan_new(const char *proc, outside_look_fn *look, void *context,
                     struct outside_scan **out);
void outside_scan_free(struct outside_scan **scan);

/* A part of a round, of so much of the thread's CPU time and one look at a process at most, or the
 * rest of it. Returns whether the round is over. */
bool outside_scan_step(struct outside_scan *scan, uint64_t budget_ns);
/* In the next round all are looked at. */
void outside_scan_anew(struct outside_scan *scan);

#endif
