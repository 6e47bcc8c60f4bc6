/* SPDX-License-Identifier: Apache-2.0
 *
 * How deep regions of one thread lie, by their times: one level below the deepest region that holds
 * them whole. It does not matter how a program recorded them: as a begin and an end, or as one record
 * at the end. One that reaches into another and out of it stands at the next depth that is free:
 *
 *   a ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    ▇▇▇▇▇▇▇ d   depth 0
 *   b   ▇▇▇▇▇▇▇   ▇▇▇▇▇▇▇▇▇ c         depth 1: b lies in a; c begins in a and ends in d
 *
 * No state; any thread.
 */
#ifndef REGION_NEST_H
#define REGION_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_DEEP 256u /* deeper ones are not told apart */

struct region_row {
    uint64_t begin_ns, end_ns; /* begin is not behind end */
    uint32_t type;
    uint32_t depth; /* in: the least that it may get, such as the ranges that were open around it */
};

/* Whether b may follow a: by their ends; of equal ones the inner first, and last what takes no time. */
bool region_follows(const struct region_row *a, const struct region_row *b);

void region_sort(struct region_row *rows, size_t count);

/* Sets the depths of rows of one thread, which are in order. A row deeper than REGION_DEEP gets that
 * or more. Time: count × the deepest. */
void region_nest(struct region_row *rows, size_t count);

#endif
