/* SPDX-License-Identifier: Apache-2.0
 *
 * See no_core.h. Keys are marked one by one nowhere: tokens of requests pass through the buffers of
 * libraries, and a core of the rest would be full of traces. The limit is what programs go by that are
 * given cores by the kernel (core_pattern with a pipe), and what children begin with.
 */
#include "no_core.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void no_core_set(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
