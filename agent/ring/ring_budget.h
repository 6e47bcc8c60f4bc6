/* SPDX-License-Identifier: Apache-2.0
 *
 * How large a newcomer's ring may be, so that all rings of a host stay within their bound. Counted
 * is the memory that rings use; what they may still grow by counts for an eighth, as few processes
 * fill theirs. So a hundred processes that trace little take no more than a few busy ones, and as
 * room grows short, newcomers get smaller rings rather than none. Pure; any thread.
 *
 *   more than 3/4 are free        the wished size
 *   less                          that, but no more than a 64th of what is free
 *   no more than the spare        the smallest
 *   not even the smallest ring    0: no room
 */
#ifndef RING_BUDGET_H
#define RING_BUDGET_H

#include <stdint.h>

struct ring_budget {
    uint64_t total;    /* bound of all rings */
    uint64_t used;     /* memory behind them */
    uint64_t reserved; /* their sizes; at least used */
    uint64_t spare; /* for the smallest rings of those that may still come: no larger one has it */
};

/* Bytes for a ring, a multiple of 4096 and at least RING_BYTES_MIN; 0: no room. */
uint64_t ring_budget_grant(const struct ring_budget *budget, uint64_t wished);

#endif
