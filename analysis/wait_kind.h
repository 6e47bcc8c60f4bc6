/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of wait a region is, by its group and name: everywhere that waits are judged. A pure
 * function of what the tracer calls its events (docs/what-is-recorded.md).
 */
#ifndef WAIT_KIND_H
#define WAIT_KIND_H

#include <stdbool.h>
#include <stdint.h>

struct wait_kind {
    bool wait;         /* of the groups net, io, lock, thread, sleep */
    bool for_anything; /* whatever comes: poll, accept, …: idle where no work is around it */
    bool for_lock;     /* that somebody else holds */
    bool own_time;     /* for its turn, or for time: no reply is awaited */
    bool rhythmic;     /* may be how its thread passes the time */
};

struct wait_kind wait_kind_of(const char *name, uint8_t group);

#endif
