/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT processes: all processes of an agent, in pages that fit a message (P-5, P-8). One that a
 * complete list does not name is gone.
 */
#ifndef REPORT_PROCESSES_H
#define REPORT_PROCESSES_H

#include <stdbool.h>

#include "control_body.h"
#include "ids.h"
#include "shares.h"

struct report_process {
    struct process_uid uid;
    uint32_t pid;
    uint32_t user; /* SHARE_USER_UNKNOWN: an older agent does not say */
    bool live;
    const char *service, *labels, *exe;
    uint64_t start_ns;
    uint64_t ended_ns;        /* 0: it runs, or nobody knows */
    uint64_t attached_ns;     /* since when it is recorded */
    const char *not_recorded; /* why there is no ring of it; "": there is, and then: */
    const char *mode;         /* of the ring */
    const char *title;        /* what it calls itself; "": nobody says */
    uint64_t ring_bytes, used_bytes, bytes_per_s, reach_ms, events_lost, wrapped;
    uint64_t ring_wished_bytes, ring_memory_bytes; /* memory: what its agent pays for */
    const char
        *ring_why; /* why it is smaller, or has less memory, than was wished; "": it is not */
};
struct report_processes {
    uint64_t agent, version, page, pages;
    int64_t clock_offset_ns; /* to be added to all times (P-28) */
    uint64_t clock; /* which setting of the collector's clock that is of; 0: none is known */
    uint64_t known_from_ns; /* of what ended before, the agent may know nothing; 0: it does */
    struct report_process *items;
    size_t count;
};
void report_processes_put(const struct report_processes *list, struct buf *out);
/* How many of these one page takes: one at least, if there is any. */
size_t report_processes_fit(const struct report_process *items, size_t count);
int report_processes_get(const cJSON *json, struct report_processes *out, char *error,
                         size_t error_bytes);
void report_processes_fini(struct report_processes *list); /* of report_processes_get */
void report_processes_align(struct report_processes *list);

#endif
