/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a thread may wait for a disk; see no_sync.h.
 */
#include "no_sync.h"

#include "skein_check.h"

static _Thread_local unsigned held;

void no_sync(bool begin)
{
    skein_check(begin || held > 0);
    held += begin ? 1u : -1u;
}

void no_sync_check_at(const char *file, int line)
{
    if (held > 0)
        skein_check_failed(file, line, "no lock is held while a disk is waited for");
}
