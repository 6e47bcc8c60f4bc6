/* SPDX-License-Identifier: Apache-2.0
 *
 * Recursion to a depth that each operation tells, which half of the time ends by an exception that
 * the C++ runtime carries through all of it.
 */
#include <stdexcept>

#include "skein/skein.hpp"

extern "C" {
void stack_load_dive(unsigned depth, bool throws);
}

static skein_site site = SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_APP, "dive", (i64, "depth"),
                                    (u64, "thrown"));

static void operation(unsigned depth, bool throws)
{
    skein_op op = skein_op_enter(&site, depth);
    skein_value values[2] = {};
    values[1].u64 = throws;
    skein_op_leave(&op, 0, values);
}

/* The only function of its section: how many of a stack's addresses lie there is the truth. */
__attribute__((noinline, section("dive_text"))) static void dive(unsigned left, unsigned depth,
                                                                 bool throws)
{
    volatile unsigned kept = left;
    if (left == 0) {
        operation(depth, throws);
        if (throws)
            throw std::runtime_error("out");
    } else {
        dive(left - 1, depth, throws);
    }
    kept = kept + 1;
}

void stack_load_dive(unsigned depth, bool throws)
{
    try {
        dive(depth, depth, throws);
    } catch (const std::runtime_error &) {
        operation(0, true);
    }
}
