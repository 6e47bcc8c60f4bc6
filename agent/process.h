/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced process as the agent sees it, from its HELLO until the last user lets go. The table and
 * all fields but those marked are the loop thread's; a worker that cuts holds a reference and reads
 * only what is constant after attach.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring_layout.h"
#include "ids.h"
#include "partition.h"

enum process_state { PROCESS_LIVE = 1, PROCESS_ENDED = 2 /* BYE, then gone */, PROCESS_CRASHED = 3 /* gone without BYE */ };

struct process {
    /* constant after attach */
    struct process_uid uid;
    uint32_t pid;
    uint64_t start_clock_ticks; /* /proc/PID/stat field 22 */
    uint64_t start_ns;          /* realtime */
    uint64_t attached_ns;       /* realtime, of this attach */
    struct clock_snapshot attached_clock;
    char service[128], labels[512], exe[256];
    uint8_t *ring; /* read and (for PIN only) written */
    struct ring_geometry geometry;
    struct process_page *page; /* ours to write */
    /* shared */
    uint32_t references; /* atomic */
    uint64_t next_sequence; /* atomic; of partitions in this agent's epoch */
    /* loop thread */
    enum process_state state;
    int socket, pidfd, ring_fd, page_fd;
    struct { int32_t signal, status; bool known; } death;
    struct process *next;
};

struct process *process_ref(struct process *p);
void process_unref(struct process **p); /* frees and unmaps with the last reference; any thread */

#endif
