/* SPDX-License-Identifier: Apache-2.0
 *
 * How a table of regions by name is headed, in report and stats alike: what is one number in both stands
 * below one title in both.
 */
#ifndef REGION_COLUMNS_H
#define REGION_COLUMNS_H

#include "cli_out.h"

/* The last three: members with the median, the 99th percentile and the longest. */
#define REGION_COLUMNS(p50, p99, longest)                                                          \
    {"COUNT", "count", TABLE_NUMBER}, {"TOTAL", "total_ns", TABLE_NS},                             \
        {"ITS OWN", "self_ns", TABLE_NS}, {"IDLE", "idle_ns", TABLE_NS | TABLE_SPARE},             \
        {"OPEN", "open", TABLE_NUMBER | TABLE_SPARE}, {"P50", p50, TABLE_NS},                      \
        {"P99", p99, TABLE_NS},                                                                    \
    {                                                                                              \
        "LONGEST", longest, TABLE_NS                                                               \
    }

#endif
