/* SPDX-License-Identifier: Apache-2.0
 *
 * The size of a newcomer's ring; see ring_budget.h. Pure functions; any thread.
 */
#include "ring_budget.h"

#include "ring_layout.h"

#define GROWTH_DIVISOR 8
#define SHARE_DIVISOR  64

uint64_t ring_budget_grant(const struct ring_budget *budget, uint64_t wished)
{
    uint64_t growth = budget->reserved > budget->used ? budget->reserved - budget->used : 0;
    uint64_t taken = budget->used + growth / GROWTH_DIVISOR;
    uint64_t free = taken < budget->total ? budget->total - taken : 0;
    if (free < RING_BYTES_MIN)
        return 0;
    uint64_t large = free > budget->spare ? free - budget->spare : 0;
    uint64_t most = free > budget->total / 4 * 3 ? large / 2 : large / SHARE_DIVISOR;
    uint64_t bytes = wished < most ? wished : most;
    bytes = bytes > RING_BYTES_MIN ? bytes : RING_BYTES_MIN;
    return bytes - bytes % 4096;
}
