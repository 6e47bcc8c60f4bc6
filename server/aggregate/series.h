/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rows of the series say (docs/series.md): values by service and name over time, and counters
 * for Prometheus. Any thread; reads only.
 */
#ifndef SERIES_H
#define SERIES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "aggregate.h"

#define SERIES_POINTS 1100u  /* of one line */
#define SERIES_VALUES 40000u /* of all lines: there are fewer lines then */
#define SERIES_LINES  200u

enum series_metric {
    SERIES_METRIC_COUNT,
    SERIES_METRIC_RATE,
    SERIES_METRIC_LATENCY,
    SERIES_METRIC_SELF,
    SERIES_METRIC_WAIT,
    SERIES_METRIC_CPU,
    SERIES_METRIC_ERRORS,
    SERIES_METRIC_SAMPLED,
    SERIES_METRICS
};
#define SERIES_METRIC_NAMES "count, rate, latency, self, wait, cpu, errors or sampled"
/* SERIES_METRICS: it is none. */
enum series_metric series_metric_of(const char *name);
/* Whether it is of names of a service: it needs the service, and takes a name. */
bool series_metric_is_of_names(enum series_metric metric);
bool series_metric_needs_service(enum series_metric metric);

struct series_query {
    enum series_metric metric;
    const char *service, *name; /* NULL: all, as far as the metric has them */
    uint64_t from_s, to_s;      /* buckets that begin in between; at most SERIES_POINTS steps */
    uint32_t step_s;            /* a multiple of 600 */
    double quantile;            /* latency; 0 to 1 */
    size_t limit;               /* lines, those with most; 1 to SERIES_LINES */
    /* Whether nobody wants the answer any more; asked before anything is read, when its turn has come,
     * and while rows are read; not while the database sorts the lines by what they weigh, which takes
     * one look at all rows in between, before the first is given. NULL: somebody always does. */
    bool (*stop)(void *context);
    void *context;
};
/* SKEIN_OK, *out is the caller's; SKEIN_NO_MEMORY; SKEIN_CLOSED: stopped; or a status of the database. */
int series_json(struct aggregate *aggregate, const struct series_query *query, cJSON **out);

/* Appends counters and histograms since analysis.db was begun, of one service or all (NULL). SKEIN_OK,
 * SKEIN_NO_MEMORY, or a status of the database. */
enum series_form { SERIES_PROMETHEUS, SERIES_OPENMETRICS }; /* 0.0.4, and 1.0.0 */
int series_expose(struct aggregate *aggregate, const char *service, enum series_form form,
                  struct buf *out);

#endif
