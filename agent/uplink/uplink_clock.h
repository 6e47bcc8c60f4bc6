/* SPDX-License-Identifier: Apache-2.0
 *
 * How far the collector's clock is ahead of the agent's line of time (agent_clock.h), measured by
 * the round trips of HELLO and heartbeats. One thread; pure.
 *
 *   the agent's line     sent |--------- middle ---------| answered
 *   the collector's clock            ^ received_ns
 *
 * The offset is received_ns less the middle, give or take half of the round trip. That holds at the
 * middle; before and after it the two may run apart by a thousandth of the time.
 *
 * The collector numbers the settings of its clock ("clock" in its messages, P-28). A sample of one
 * number says nothing about another. The last numbers are kept, so that each time is placed by the
 * setting that it was read from.
 */
#ifndef UPLINK_CLOCK_H
#define UPLINK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define UPLINK_CLOCK_SAMPLES  8
#define UPLINK_CLOCK_SETTINGS 4

/* From the agent's line to the collector's clock of one number. */
struct clock_map {
    bool known;
    uint64_t clock;    /* the number; 0: of a collector that numbers nothing */
    int64_t offset_ns; /* to be added; 0 where that is not more than its own error */
    /* How far the offset may be from the true one, at least 1; 0: nobody says. It holds at
     * measured_ns of the line. measured_ns 0: it holds for all that it was told of. */
    uint64_t error_ns, measured_ns;
};

struct clock_trip {
    uint64_t sent_ns, answered_ns; /* on the agent's line */
    uint64_t received_ns;          /* on the collector's clock */
};

struct clock_setting {
    uint64_t clock;
    struct clock_trip trips[UPLINK_CLOCK_SAMPLES];
    uint32_t count; /* of all so far; 0: the place is free */
};
struct uplink_clock {
    struct clock_setting settings[UPLINK_CLOCK_SETTINGS]; /* a ring; `newest` is its last */
    uint32_t newest;
};

/* Takes a sample in. Returns whether it shows that the collector's clock was set: no offset fits
 * both this sample and those before, which are dropped. A new number alone does not show that: it
 * may be of another run of the collector. *step_ns is by how much, as far as known. */
bool uplink_clock_take(struct uplink_clock *clock, uint64_t number, const struct clock_trip *trip,
                       int64_t *step_ns);

/* By the sample with the shortest round trip; not known where there is none of that number. */
struct clock_map uplink_clock_of(const struct uplink_clock *clock, uint64_t number);
struct clock_map uplink_clock_newest(const struct uplink_clock *clock);

/* How far the map's offset may be from the true one at any time of the line in [from_ns, to_ns];
 * 0: nobody says. */
uint64_t clock_map_error(const struct clock_map *map, uint64_t from_ns, uint64_t to_ns);

/* Whether the map of this number can be true for a message that the collector sent at sent_ns, by
 * its clock, and that is here at now_ns: it must have been sent before it came. */
bool uplink_clock_allows(const struct uplink_clock *clock, uint64_t number, uint64_t sent_ns,
                         uint64_t now_ns);

#endif
