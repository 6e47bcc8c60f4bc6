/* SPDX-License-Identifier: Apache-2.0
 *
 * The times of a report are on the agent's line, and the report says what puts them on the
 * collector's clock (P-28). A get leaves them on the line, so that what is put again says the same.
 * An align puts them on the collector's clock.
 */
#ifndef REPORT_CLOCK_H
#define REPORT_CLOCK_H

#include <stdint.h>

struct report_clock {
    int64_t offset_ns; /* to be added */
    uint64_t clock;    /* which setting of the collector's clock that is of; 0: it numbers none */
    uint64_t error_ns; /* how far it may be from the true one (P-28); 0: nobody says */
};

/* A time of the line on the collector's clock, within 0 to 2^62. 0, which is none, stays 0. */
uint64_t report_clock_time(const struct report_clock *clock, uint64_t line_ns);

#endif
