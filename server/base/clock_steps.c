/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of the collector's clock; see clock_steps.h. Owns those of this process, under a
 * mutex of its own.
 */
#include "clock_steps.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "metrics.h"

/* Two readings of both clocks may differ by this though nobody has set one. */
#define STEP_NS INT64_C(1000000)

static uint64_t step_newest(const struct clock_steps *steps)
{
    return steps->settings[(steps->count - 1) % CLOCK_STEPS_KEPT].number;
}

uint64_t clock_steps_take(struct clock_steps *steps, uint64_t realtime_ns, uint64_t monotonic_ns,
                          uint64_t error_ns)
{
    int64_t ahead_ns = (int64_t)(realtime_ns - monotonic_ns);
    if (steps->count > 0) {
        int64_t before_ns = steps->settings[(steps->count - 1) % CLOCK_STEPS_KEPT].ahead_ns;
        if (llabs(ahead_ns - before_ns) <= STEP_NS + (int64_t)error_ns)
            return step_newest(steps);
    }
    /* Greater than any number of an earlier run, unless the clock was set back by more than it
     * ran. */
    uint64_t number = realtime_ns / 1000;
    if (steps->count > 0 && number <= step_newest(steps))
        number = step_newest(steps) + 1;
    size_t at = steps->count++ % CLOCK_STEPS_KEPT;
    steps->settings[at].number = number;
    steps->settings[at].ahead_ns = ahead_ns;
    steps->settings[at].error_ns = error_ns;
    steps->settings[at].seen_ns = monotonic_ns;
    return number;
}

/* Its place in the ring; CLOCK_STEPS_KEPT: it is not there. */
static size_t step_find(const struct clock_steps *steps, uint64_t number)
{
    for (size_t i = 0; i < CLOCK_STEPS_KEPT && i < steps->count; i++)
        if (steps->settings[i].number == number)
            return i;
    return CLOCK_STEPS_KEPT;
}

int64_t clock_steps_between(const struct clock_steps *steps, uint64_t from, uint64_t to)
{
    const size_t a = step_find(steps, from), b = step_find(steps, to);
    if (from == to || a == CLOCK_STEPS_KEPT || b == CLOCK_STEPS_KEPT)
        return 0;
    return steps->settings[b].ahead_ns - steps->settings[a].ahead_ns;
}

uint64_t clock_steps_doubt(const struct clock_steps *steps, uint64_t from, uint64_t to)
{
    const size_t a = step_find(steps, from), b = step_find(steps, to);
    if (from == to)
        return 0;
    if (a == CLOCK_STEPS_KEPT || b == CLOCK_STEPS_KEPT)
        return UINT64_MAX;
    return 2 * (uint64_t)STEP_NS + steps->settings[a].error_ns + steps->settings[b].error_ns;
}

struct clock_view clock_steps_view(const struct clock_steps *steps, uint64_t monotonic_ns)
{
    struct clock_view view = {0};
    if (steps->count == 0)
        return view;
    const size_t newest = (steps->count - 1) % CLOCK_STEPS_KEPT;
    view.now_ns = monotonic_ns + (uint64_t)steps->settings[newest].ahead_ns;
    view.least_ns = view.now_ns;
    view.steady_ns = monotonic_ns - steps->settings[newest].seen_ns;
    for (size_t i = 0; i < CLOCK_STEPS_KEPT && i < steps->count; i++) {
        const uint64_t by_ns = monotonic_ns + (uint64_t)steps->settings[i].ahead_ns;
        view.least_ns = by_ns < view.least_ns ? by_ns : view.least_ns;
    }
    return view;
}

uint64_t clock_view_before(const struct clock_view *view, uint64_t age_ns)
{
    const uint64_t from_ns = view->steady_ns < age_ns ? view->least_ns : view->now_ns;
    return from_ns > age_ns ? from_ns - age_ns : 0;
}

/* ---- of this process ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clock_steps ours;

uint64_t clock_setting(uint64_t *realtime_ns)
{
    uint64_t real = 0, mono = 0, took = UINT64_MAX;
    for (int i = 0; i < 5 && took > (uint64_t)STEP_NS; i++) {
        mono = clock_monotonic_ns();
        real = clock_realtime_ns();
        took = clock_monotonic_ns() - mono;
    }
    pthread_mutex_lock(&lock);
    size_t before = ours.count;
    uint64_t was = before > 0 ? step_newest(&ours) : 0;
    uint64_t number = clock_steps_take(&ours, real, mono, took);
    int64_t step_ns = clock_steps_between(&ours, was, number);
    bool set = before > 0 && ours.count != before;
    pthread_mutex_unlock(&lock);
    if (set) {
        metrics_add(clock_steps_total, 1);
        log_warn("collector", "the clock was set", "by_ms",
                 log_fmt("%" PRId64, (step_ns / 1000000)), NULL);
    }
    if (realtime_ns != NULL)
        *realtime_ns = real;
    return number;
}

uint64_t clock_setting_time(uint64_t monotonic_ns)
{
    (void)clock_setting(NULL);
    pthread_mutex_lock(&lock);
    int64_t ahead_ns = ours.settings[(ours.count - 1) % CLOCK_STEPS_KEPT].ahead_ns;
    pthread_mutex_unlock(&lock);
    return monotonic_ns + (uint64_t)ahead_ns;
}

struct clock_view clock_setting_view(void)
{
    (void)clock_setting(NULL);
    const uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&lock);
    struct clock_view view = clock_steps_view(&ours, now_ns);
    pthread_mutex_unlock(&lock);
    return view;
}

uint64_t clock_setting_before(uint64_t age_ns)
{
    const struct clock_view view = clock_setting_view();
    return clock_view_before(&view, age_ns);
}

int64_t clock_setting_shift(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&lock);
    int64_t shift_ns = clock_steps_between(&ours, from, to);
    pthread_mutex_unlock(&lock);
    return shift_ns;
}

uint64_t clock_setting_doubt(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&lock);
    uint64_t doubt_ns = clock_steps_doubt(&ours, from, to);
    pthread_mutex_unlock(&lock);
    return doubt_ns;
}
