/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of /captures/{capture}/diff: one side's summary (api_diff_side.c), a healthy sample
 * (api_diff_sample.c). For api_diff*.c alone. A request belongs to one thread.
 */
#ifndef API_DIFF_INT_H
#define API_DIFF_INT_H

#include "analyst.h"
#include "api.h"
#include "diff_baseline.h"
#include "summary.h"

#define DIFF_PROCESSES_MAX 64 /* of one service on one side; further ones are counted */

/* What is to be summed up. */
struct diff_part {
    struct capture_id capture;
    const struct process_uid *process; /* NULL: of all, or of `processes` */
    const char *processes;             /* ids with commas between; NULL: all */
    uint64_t from_ns, to_ns;           /* to_ns 0: no end */
};

struct diff_request {
    struct api_services *api;
    struct http_exchange *x;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC, of all reading */
    bool damaged;         /* damaged partitions were left out somewhere */
    char error[ANALYST_ERROR_BYTES];
};

/* Sums it up. What the asker must not see is left out, and so is what is damaged. SKEIN_OK:
 * summary_free; SKEIN_NOT_FOUND: nothing is stored of it; else as analyst_run, with its words. */
int diff_part_read(struct diff_request *r, const struct diff_part *part, struct summary **out);

/* The newest sample of a policy that has complete targets of the service, ended before before_ns, and
 * is healthy: no firing of a rule for a process of the service lies within it, or a minute around.
 * SKEIN_OK; SKEIN_NOT_FOUND, with the reason in why; or a status. `ids` gets its processes. */
int diff_sample_find(struct diff_request *r, const char *service, uint64_t before_ns,
                     struct capture_id *sample, struct buf *ids, char why[DIFF_WHY_BYTES]);

/* Appends ",ID" or "ID" to a list of diff_part; true where it was not full. */
bool diff_ids_put(struct buf *ids, size_t *count, const uint8_t id[16]);

#endif
