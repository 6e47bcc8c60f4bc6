/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of something there was within the last hour, minute by minute. A value; all zero:
 * nothing.
 */
#ifndef HOURLY_H
#define HOURLY_H

#include <stdbool.h>
#include <stdint.h>

#define HOURLY_MINUTES 60

struct hourly {
    uint64_t minute; /* of the newest count, by any clock that only rises */
    uint32_t counts[HOURLY_MINUTES];
};

uint64_t hourly_sum(struct hourly *h, uint64_t now_ns);
/* Adds n, unless the hour's sum would then be above `limit`: false. */
bool hourly_take(struct hourly *h, uint64_t now_ns, uint32_t n, uint64_t limit);

#endif
