/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether somebody has set the collector's clock. Each setting has a number, which is sent to
 * agents with every time (P-28) and kept with captures. A time of one setting is moved to another
 * by what the clock was set by in between. Slewing is no setting: MONOTONIC goes along with it.
 */
#ifndef CLOCK_STEPS_H
#define CLOCK_STEPS_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_STEPS_KEPT 64

struct clock_steps {
    struct {
        uint64_t number;
        int64_t ahead_ns;         /* how far REALTIME is ahead of MONOTONIC */
        uint64_t error_ns;        /* how far the reading may be from that */
        uint64_t seen_ns;         /* monotonic: when it was seen first */
    } settings[CLOCK_STEPS_KEPT]; /* a ring */
    size_t count;
};

/* Takes in a reading of both clocks, at most error_ns apart. Returns the number of the current
 * setting. */
uint64_t clock_steps_take(struct clock_steps *steps, uint64_t realtime_ns, uint64_t monotonic_ns,
                          uint64_t error_ns);
/* What to add to a time of setting `from` to get one of `to`; 0: one is unknown, or forgotten. */
int64_t clock_steps_between(const struct clock_steps *steps, uint64_t from, uint64_t to);

/* How far clock_steps_between may be from what the clock was set by: 0 within one setting;
 * UINT64_MAX: nobody knows, as one is unknown, or forgotten. */
uint64_t clock_steps_doubt(const struct clock_steps *steps, uint64_t from, uint64_t to);

/* For what goes when it is old. A clock that is set forward makes all old at once, which it is not. */
struct clock_view {
    uint64_t now_ns;    /* as it is set now */
    uint64_t least_ns;  /* the least that it would say now, as it was set at any time */
    uint64_t steady_ns; /* for how long it has been set as it is */
};
struct clock_view clock_steps_view(const struct clock_steps *steps, uint64_t monotonic_ns);
/* The time before which all is older than age_ns. For age_ns behind a setting it is one by which what
 * was dated before is old, too. */
uint64_t clock_view_before(const struct clock_view *view, uint64_t age_ns);

/* ---- of this process; any thread ---- */

/* Reads the clock. Returns the setting's number; *realtime_ns (may be NULL): a time of it. */
uint64_t clock_setting(uint64_t *realtime_ns);
/* What the clock says at a monotonic time, as it is set now. */
uint64_t clock_setting_time(uint64_t monotonic_ns);
int64_t clock_setting_shift(uint64_t from, uint64_t to);
struct clock_view clock_setting_view(void);
uint64_t clock_setting_before(uint64_t age_ns);
uint64_t clock_setting_doubt(uint64_t from, uint64_t to);

#endif
