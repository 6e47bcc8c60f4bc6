/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of processes as the collector gets it, in pages that fit a control message (P-5): all
 * that are attached, and of the roster those that it has not been told of. Loop thread.
 */
#ifndef PROCESS_REPORT_H
#define PROCESS_REPORT_H

#include "roster.h"
#include "uplink.h"

/* To be called when a process is attached: what its ring holds by then counts for no rate. */
void process_report_begin(struct process *process, const struct clock_snapshot *now);

/* Queues the pages of list `version`; they replace those of an older list. `now` dates what is in
 * the rings. Each process notes what its line said, for the rate in the next one. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int process_report_send(struct uplink *uplink, uint64_t agent, uint64_t version,
                        struct process *first, struct roster *roster,
                        const struct clock_snapshot *now);

#endif
