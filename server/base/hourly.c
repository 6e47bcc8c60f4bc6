/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of sixty minutes. No state of its own.
 */
#include "hourly.h"

#define MINUTE_NS (UINT64_C(60) * 1000000000u)

/* Empties the minutes that have passed since the newest count. */
static void hour_turn(struct hourly *h, uint64_t now_ns)
{
    uint64_t minute = now_ns / MINUTE_NS;
    uint64_t passed = minute > h->minute ? minute - h->minute : 0;
    for (uint64_t i = 1; i <= passed && i <= HOURLY_MINUTES; i++)
        h->counts[(h->minute + i) % HOURLY_MINUTES] = 0;
    if (passed > 0)
        h->minute = minute;
}

uint64_t hourly_sum(struct hourly *h, uint64_t now_ns)
{
    uint64_t sum = 0;
    hour_turn(h, now_ns);
    for (int i = 0; i < HOURLY_MINUTES; i++)
        sum += h->counts[i];
    return sum;
}

bool hourly_take(struct hourly *h, uint64_t now_ns, uint32_t n, uint64_t limit)
{
    uint64_t sum = hourly_sum(h, now_ns);
    if (n > limit || sum > limit - n)
        return false;
    h->counts[h->minute % HOURLY_MINUTES] += n;
    return true;
}
