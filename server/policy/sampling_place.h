/* SPDX-License-Identifier: Apache-2.0
 *
 * Spreads the processes of a sampling policy over its slots (sampling.h) so evenly that no slot has
 * more than one process more than another, moving as few as it can. Pure; any thread.
 */
#ifndef SAMPLING_PLACE_H
#define SAMPLING_PLACE_H

#include "sampling.h"

#define SAMPLING_UNPLACED UINT32_MAX

struct sampling_member {
    struct process_uid process;
    uint32_t slot; /* SAMPLING_UNPLACED: it is new */
};

/* Gives every member a slot. Those that have one keep it where the spread allows; others get the
 * slot that their hash gives, or the next with room. SKEIN_OK, SKEIN_NO_MEMORY (nothing changed).
 */
int sampling_place(const struct sampling_plan *plan, struct sampling_member *members, size_t count);

#endif
