/* SPDX-License-Identifier: Apache-2.0
 *
 * What selectors see of a process, wherever it is described: in the fleet, in a capture's target,
 * in a partition's row, beside an event. Values; any thread.
 */
#ifndef PROCESS_LABELS_H
#define PROCESS_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "selector.h"

/* The labels service, host, pid, process, exe (its base name) and the process's own, "k=v,…". */
struct process_labels {
    const char *service, *host, *exe, *own;
    uint32_t pid;
    const uint8_t *process; /* 16 bytes */
};

/* NULL matches all. */
bool process_labels_match(const struct selector *selector, const struct process_labels *labels);

/* Appends a copy to a list, for somebody who keeps it. */
void process_labels_put(struct buf *list, const struct process_labels *labels);
/* Whether the selector matches one of the list, which holds nothing else. */
bool process_labels_match_any(const struct selector *selector, const struct buf *list);

#endif
