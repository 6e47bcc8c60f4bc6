/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's counters. Owns the one struct metrics; entered by any thread; never fails.
 */
#include "metrics.h"

struct metrics metrics;

void metrics_print(struct buf *out)
{
#define X(kind, name, help)                                                                        \
    buf_printf(out,                                                                                \
               "# HELP skein_" #name " " help "\n# TYPE skein_" #name " " #kind "\nskein_" #name   \
               " %llu\n",                                                                          \
               (unsigned long long)__atomic_load_n(&metrics.name, __ATOMIC_RELAXED));
    METRICS_LIST(X)
#undef X
}
