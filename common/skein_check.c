/* SPDX-License-Identifier: Apache-2.0
 *
 * The last words of a program with a broken invariant. Any thread; returns to nobody.
 */
#include "skein_check.h"

#include <stdlib.h>

#include "log.h"

void skein_check_failed(const char *file, int line, const char *condition)
{
    log_error("check", "a state that cannot be; ends", "file", file, "line", log_fmt("%d", line),
              "condition", condition, NULL);
    abort();
}
