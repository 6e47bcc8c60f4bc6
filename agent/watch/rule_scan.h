/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of rules on the events of a process: latency of a region, log lines, counters. Every
 * second the worker looks at what the ring got since the look before, once for all conditions and
 * SCAN_BYTES at most. A look has marks of its own, so captures miss and repeat nothing because of
 * it. The loop thread owns the scans; what was found is handed to it.
 */
#ifndef RULE_SCAN_H
#define RULE_SCAN_H

#include "host_page.h"
#include "loop.h"
#include "process.h"
#include "rule_match.h"
#include "worker.h"

#define SCAN_EVERY_MS 1000 /* the agent's */
#define SCAN_BYTES    (UINT64_C(4) << 20)

/* One look's outcome for one condition, on the loop thread. */
#define SCAN_HITS_MAX 256
struct scan_result {
    const struct scan_hit *hits; /* oldest first; beyond SCAN_HITS_MAX only counted */
    size_t hit_count;
    uint64_t hits_dropped;
    uint64_t unseen; /* looks at a ring that had overwritten or not kept records before they came */
    uint64_t at_ns;  /* realtime, of the look */
    int status;      /* SKEIN_OK, or why nothing was seen */
};
typedef void scan_fn(void *context, const struct scan_result *result);

/* Takes turns: one look at a time in the worker's queue, so that a cut waits for one at most. A
 * round begins every every_ms, or when the one before is over if that took longer. */
struct rule_scanner;
/* loop, worker and host must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. Loop thread. */
int rule_scanner_new(struct loop *loop, struct worker *worker, struct host_page_owner *host,
                     uint64_t every_ms, struct rule_scanner **out);
void rule_scanner_free(struct rule_scanner **scanner);            /* after its scans were stopped */
uint64_t rule_scanner_looked(const struct rule_scanner *scanner); /* looks that were begun */

struct rule_scan;
/* Begins with what comes from now on. The worker looks with a rule of the scan's own, made from
 * the rule's JSON text: the caller's may go while it does. SKEIN_OK, SKEIN_NO_MEMORY. */
int rule_scan_start(struct rule_scanner *scanner, const char *rule, struct process *process,
                    scan_fn *fn, void *context, struct rule_scan **out);
/* Nothing is handed over after this. Loop thread. */
void rule_scan_stop(struct rule_scan **scan);

#endif
