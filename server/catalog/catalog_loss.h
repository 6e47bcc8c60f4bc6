/* SPDX-License-Identifier: Apache-2.0
 *
 * What the catalog knows of events that are missing: the ledgers that come with captures' targets,
 * and for each process what no capture of it tells any more, or ever did. Rows only; threads and
 * rules as in catalog.h.
 */
#ifndef CATALOG_LOSS_H
#define CATALOG_LOSS_H

#include "catalog.h"

#define CATALOG_LOSS_KEPT_NS (UINT64_C(30) * 24 * 3600 * 1000000000u)

/* One account of a process. */
struct catalog_ledger {
    struct process_uid process;
    uint64_t agent;
    uint32_t pid;
    const char *host, *service, *labels, *exe;
    const char *ledger; /* JSON of a struct ledger, or "" */
    bool evicted;       /* what it calls stored has been deleted to make room */
    uint64_t ring_lost; /* what the process's ring says; 0 in a target's account */
};
typedef int catalog_ledger_fn(void *context, const struct catalog_ledger *row);

struct catalog_ledger_query {
    const struct process_uid *process; /* NULL: all */
    const struct process_uid *after;   /* NULL, or only processes behind it */
    uint64_t from_ns, to_ns; /* of captures whose windows overlap; 0 and UINT64_MAX: of everything,
                              * captures or not */
};
/* By process, in steps on a connection of its own: nobody waits for it, and there is no one state
 * of the whole. Rows given, or a status. */
int64_t catalog_ledgers(struct catalog *c, const struct catalog_ledger_query *query,
                        catalog_ledger_fn *fn, void *context);

/* Forgets the oldest accounts of what is gone, at most so many; how many, or a status. */
int64_t catalog_trim_losses(struct catalog *c, uint64_t rows);

/* Notes what a process's ring says that it lost since it was made; `ledger` is not looked at. What
 * was noted longer ago than CATALOG_LOSS_KEPT_NS goes. */
int catalog_put_ring_lost(struct catalog *c, const struct catalog_ledger *row, uint64_t now_ns);
/* Before a capture is deleted to make room: keeps its targets' accounts, as evicted. */
int catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns);

#endif
