/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's counters. Owns the one struct metrics; entered by any thread; never fails.
 */
#include "metrics.h"

#include "capture_status.h"

#include <inttypes.h>

struct metrics metrics;

_Static_assert(METRICS_CAPTURES == CAPTURE_STOPPED + 1, "one counter for each status");

static const uint64_t bounds_us[METRICS_BUCKETS - 1] = {METRICS_BOUNDS_US};

static uint64_t counter_load(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t took_ns)
{
    uint64_t us = took_ns / 1000;
    size_t i = 0;
    while (i < METRICS_BUCKETS - 1 && us > bounds_us[i])
        i++;
    __atomic_fetch_add(&histogram->buckets[i], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&histogram->sum_us, us, __ATOMIC_RELAXED);
}

/* ---- print ---- */

static void counter_head_put(struct buf *out, const char *name, const char *kind, const char *help)
{
    buf_printf(out, "# HELP skein_%s %s\n# TYPE skein_%s %s\n", name, help, name, kind);
}

/* The count is the buckets' sum, so that both agree whatever is added meanwhile. */
static void histogram_put(struct buf *out, const char *name,
                          const struct metrics_histogram *histogram)
{
    uint64_t count = 0, sum_us = counter_load(&histogram->sum_us);
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        count += counter_load(&histogram->buckets[i]);
        if (i < METRICS_BUCKETS - 1)
            buf_printf(out, "skein_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                       (double)bounds_us[i] / 1e6, count);
        else
            buf_printf(out, "skein_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
    }
    buf_printf(out, "skein_%s_sum %.6f\nskein_%s_count %" PRIu64 "\n", name, (double)sum_us / 1e6,
               name, count);
}

/* The labels of a family's i-th counter; each has a function of the family's name. False: there is
 * none to show. */

static bool labels_captures_ended_total(struct buf *out, size_t i)
{
    if (i != CAPTURE_RUNNING)
        buf_printf(out, "status=\"%s\"", capture_status_text((enum capture_status)i));
    return i != CAPTURE_RUNNING;
}

static bool labels_lost_events_total(struct buf *out, size_t i)
{
    enum loss_reason reason = (enum loss_reason)i;
    if (loss_place(reason) != LOSS_PLACE_KEPT)
        buf_printf(out, "place=\"%s\",reason=\"%s\"", loss_place_text(loss_place(reason)),
                   loss_text(reason));
    return loss_place(reason) != LOSS_PLACE_KEPT;
}

static bool labels_agent_counters_total(struct buf *out, size_t i)
{
    static const char *const names[] = {
#define X(name, help) #name,
        AGENT_COUNTER_LIST(X)
#undef X
    };
    buf_printf(out, "counter=\"%s\"", names[i]);
    return true;
}

static bool labels_http_requests_total(struct buf *out, size_t i)
{
    bool seen = counter_load(&metrics.http_requests_total[i]) > 0;
    if (seen)
        buf_printf(out, "code=\"%zu\"", i);
    return seen;
}

static bool labels_http_logins_total(struct buf *out, size_t i)
{
    static const char *const texts[METRICS_LOGINS] = {"token", "code"};
    buf_printf(out, "by=\"%s\"", texts[i]);
    return true;
}

static bool labels_http_logins_refused_total(struct buf *out, size_t i)
{
    static const char *const texts[METRICS_LOGIN_REFUSALS] = {"token",  "code",       "too_many",
                                                              "origin", "not_secure", "request"};
    buf_printf(out, "reason=\"%s\"", texts[i]);
    return true;
}

static void family_put(struct buf *out, const char *name, const uint64_t *values, size_t count,
                       bool (*labels)(struct buf *out, size_t i))
{
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};
        if (labels(&text, i))
            buf_printf(out, "skein_%s{%.*s} %" PRIu64 "\n", name, (int)text.len,
                       (const char *)text.data, counter_load(&values[i]));
        buf_fini(&text);
    }
}

void metrics_print(struct buf *out)
{
#define X(kind, name, help)                                                                        \
    counter_head_put(out, #name, #kind, help);                                                     \
    buf_printf(out, "skein_" #name " %" PRIu64 "\n", (uint64_t)counter_load(&metrics.name));
    METRICS_LIST(X)
#undef X
#define X(name, count, help)                                                                       \
    counter_head_put(out, #name, "counter", help);                                                 \
    family_put(out, #name, metrics.name, count, labels_##name);
    METRICS_FAMILY_LIST(X)
#undef X
#define X(name, help)                                                                              \
    counter_head_put(out, #name, "histogram", help);                                               \
    histogram_put(out, #name, &metrics.name);
    METRICS_HISTOGRAM_LIST(X)
#undef X
}
