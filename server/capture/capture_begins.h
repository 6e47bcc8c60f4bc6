/* SPDX-License-Identifier: Apache-2.0
 *
 * Young processes: those whose first second reaches into a capture's window, and that lack the time until they were
 * recorded (V-34). For capture*.c alone; under the control lock. No state.
 */
#ifndef CAPTURE_BEGINS_H
#define CAPTURE_BEGINS_H

#include "capture_parts_int.h"

struct capture_begins {
    size_t young,
        late; /* processes that began in the window; of these, those that lack their begin */
    uint64_t longest_ns; /* from a process's begin until it was recorded */
    bool rest_whole;     /* nothing else is missing in the capture, and it has ended */
};
void capture_begins_find(const struct capture *c, struct capture_begins *out);

/* Whether the target lacks nothing but the first moments of its process's life, and these lie within
 * the window. */
bool target_begins_late(const struct capture *c, const struct capture_target *t);

#endif
