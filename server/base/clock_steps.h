/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether somebody has set the collector's clock. Each setting has a number, which goes to agents
 * with every time (P-28) and stands at captures: a time of one number is moved by what the clock
 * was set by to be one of another. Slewing is no setting: MONOTONIC goes along with it.
 */
#ifndef CLOCK_STEPS_H
#define CLOCK_STEPS_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_STEPS_KEPT 64

struct clock_steps {
    struct {
        uint64_t number;
        int64_t ahead_ns;         /* of REALTIME: what it was ahead of MONOTONIC */
    } settings[CLOCK_STEPS_KEPT]; /* a ring */
    size_t count;
};

/* Takes a reading of both clocks in; error_ns is what lay between them at most. The number of the
 * setting that runs. */
uint64_t clock_steps_take(struct clock_steps *steps, uint64_t realtime_ns, uint64_t monotonic_ns,
                          uint64_t error_ns);
/* What to add to a time of setting `from` for one of `to`; 0 where one is not known (any more). */
int64_t clock_steps_between(const struct clock_steps *steps, uint64_t from, uint64_t to);

/* ---- of this process; any thread ---- */

/* Looks at the clock; the number, and the time that is of it where realtime_ns is not NULL. */
uint64_t clock_setting(uint64_t *realtime_ns);
int64_t clock_setting_shift(uint64_t from, uint64_t to);

#endif
