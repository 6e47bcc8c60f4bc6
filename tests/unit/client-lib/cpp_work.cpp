/* SPDX-License-Identifier: Apache-2.0
 *
 * The macros and the objects of skein.hpp compile as C++17 and close their regions when an
 * exception passes.
 */
#include <stdexcept>

#include "skein/skein.hpp"

extern "C" {
int cpp_work(void);
}

static skein_site member_site = SKEIN_SITE(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP_APP, "member");
static skein_site op_site =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_APP, "op", (i64, "detail"), (u64, "n"));

static void throws(int depth)
{
    SKEIN_REGION("macro", (i64, "depth", depth));
    skein::region member(member_site);
    if (depth == 0)
        throw std::runtime_error("out");
    throws(depth - 1);
}

int cpp_work(void)
{
    static skein_string text = SKEIN_STRING("interned");
    skein::sequence order;
    try {
        throws(2);
    } catch (const std::runtime_error &) {
        SKEIN_INSTANT("caught", (str, "s", "text"), (sym, "y", &text), (f64, "f", 0.5),
                      (boolean, "b", true), (ptr, "p", &order), (seq, "q", order.next()));
    }
    auto lambda = [](int n) { SKEIN_INSTANT("in a lambda", (i64, "n", n)); };
    lambda(-1);
    skein::operation op(op_site, 7, 0);
    skein_value n;
    n.u64 = 9;
    op.set(1, n);
    if (skein::health(true) != SKEIN_CLOSED) /* attached by hand: there is no socket */
        return 1;
    SKEIN_COUNTER("count", 1);
    SKEIN_BEGIN("begun");
    SKEIN_END();
    return 0;
}
