/* SPDX-License-Identifier: Apache-2.0
 *
 * What has come to a service and its names since analysis.db was begun: it never falls, also when rows
 * of the series are dropped, so that Prometheus can read it. For series*.c alone.
 */
#ifndef SERIES_TOTAL_H
#define SERIES_TOTAL_H

#include "aggregate_db.h"

#define SERIES_TOTALS 4000u /* services and names; what comes then is in the others, told by them */
/* Bounds of a bucket: 2^(SERIES_LE_FIRST + 2 i) ns, from a microsecond to 69 s, and one without. */
#define SERIES_LE       14u
#define SERIES_LE_FIRST 10u

struct series_total {
    const char *service, *name; /* valid during the callback */
    uint32_t group;
    uint64_t n[SERIES_NUMBERS];
    uint64_t le[SERIES_LE + 1]; /* how many regions took less than the bound and not less than that
                                   in front */
    uint64_t sum_ns;            /* of these */
};
void series_total_put(const struct series_total *total, struct buf *out);
/* SKEIN_OK, SKEIN_CORRUPT, SKEIN_TRUNCATED */
int series_total_get(const void *bytes, size_t n, struct series_total *total);

/* In the order in which they came first, of one service or all (NULL). Returns how many, or a
 * status. */
typedef int series_total_fn(void *context, const struct series_total *total);
int64_t series_totals(struct db *db, const char *service, series_total_fn *fn, void *context);

#endif
