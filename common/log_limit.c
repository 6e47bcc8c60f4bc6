/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines a minute; see log_limit.h. Pure but for the limit that it is given.
 */
#include "log_limit.h"

bool log_limit_take(struct log_limit *limit, uint64_t now_ns)
{
    uint32_t most = limit->most > 0 ? limit->most : 1;
    /* What the minute before has held is told first: until then none begins anew. */
    bool over = limit->since_ns == 0 || now_ns - limit->since_ns >= LOG_LIMIT_NS;
    if (over && limit->held == 0) {
        limit->since_ns = now_ns;
        limit->written = 0;
    }
    if (limit->written < most) {
        limit->written++;
        return true;
    }
    limit->held += limit->held < UINT32_MAX;
    return false;
}

uint32_t log_limit_over(struct log_limit *limit, uint64_t now_ns, bool last)
{
    if (limit->held == 0 || (!last && now_ns - limit->since_ns < LOG_LIMIT_NS))
        return 0;
    uint32_t held = limit->held;
    limit->held = 0;
    limit->since_ns = now_ns;
    limit->written = 0;
    return held;
}
