/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of CPUs as the kernel writes them, "0-3,8,10-11". Pure; any thread.
 */
#ifndef CPU_LIST_H
#define CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/status.h"

#define CPU_LIST_MAX 8192 /* as many as Linux has on any machine (NR_CPUS) */

struct cpu_list {
    uint64_t bits[CPU_LIST_MAX / 64];
    unsigned count;
};

/* SKEIN_OK; SKEIN_CORRUPT where it is no such list, or names a CPU beyond CPU_LIST_MAX: then *out
 * is unchanged. An empty line is an empty list. */
int cpu_list_parse(const char *text, struct cpu_list *out);

static inline bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
    return cpu < CPU_LIST_MAX && (list->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

#endif
