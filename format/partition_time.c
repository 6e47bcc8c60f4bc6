/* SPDX-License-Identifier: Apache-2.0
 *
 * Ticks of a partition to UTC (docs/format.md F-16, F-17). Pure functions.
 */
#include "clock.h"
#include "partition_int.h"

int tick_scale_init(struct tick_scale *scale, const struct partition_info *info)
{
    const struct clock_snapshot *begin = &info->begin, *end = &info->end;
    if (begin->ticks >= end->ticks || begin->monotonic_ns >= end->monotonic_ns)
        return SKEIN_INVALID;
    uint64_t ticks = end->ticks - begin->ticks, ns = end->monotonic_ns - begin->monotonic_ns;
    unsigned __int128 factor = ((unsigned __int128)ns << FRACTION_BITS) / ticks;
    if (factor == 0 || factor > (unsigned __int128)NS_PER_TICK_MAX << FRACTION_BITS)
        return SKEIN_INVALID;
    *scale = (struct tick_scale){end->ticks, end->realtime_ns, (uint64_t)factor};
    return SKEIN_OK;
}

struct tick_scale tick_scale_shift(const struct tick_scale *scale, int64_t offset_ns)
{
    struct tick_scale shifted = *scale;
    shifted.anchor_ns = clock_shift_ns(scale->anchor_ns, offset_ns);
    return shifted;
}

uint64_t tick_scale_ns(const struct tick_scale *scale, uint64_t ticks)
{
    /* |difference| < 2^64 and factor <= 2^60, so the product fits 128 bits with its sign */
    __int128 difference = (__int128)ticks - (__int128)scale->anchor_ticks;
    __int128 ns = ((difference * (__int128)scale->factor) >> FRACTION_BITS) + scale->anchor_ns;
    if (ns < 0)
        return 0;
    return ns > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t tick_scale_span_ns(const struct tick_scale *scale, uint64_t from_ticks, uint64_t to_ticks)
{
    if (from_ticks >= to_ticks)
        return 0;
    return tick_scale_ns(scale, to_ticks) - tick_scale_ns(scale, from_ticks);
}
