/* SPDX-License-Identifier: Apache-2.0
 * See capture_status.h. */
#include "capture_status.h"

const char *capture_status_text(enum capture_status status)
{
    static const char *const texts[] = {"running", "complete", "incomplete", "stopped"};
    return texts[status];
}
