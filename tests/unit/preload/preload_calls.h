/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of each function that the preload library records, made from a library of its own: calls
 * from the preload library itself are not recorded, and in the test that is the whole program.
 */
#ifndef PRELOAD_CALLS_H
#define PRELOAD_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct expect {
    int64_t detail, result;
    const char *text; /* NULL: none, or not looked at */
};

struct call {
    const char *function, *event;
    void (*make)(struct expect *expect);
};

extern const struct call calls[];
extern const size_t call_count;

void calls_prepare(void);

#endif
