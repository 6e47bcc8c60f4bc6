/* SPDX-License-Identifier: Apache-2.0
 *
 * What the catalog knows of events that are missing. Rows only; threads and rules as in catalog.h.
 *
 *     account                     loss
 *     capture, process            capture, process, reason, from, to, events
 *     host, service, rule …         c1  p1  ring_full      –   –   5   a count
 *     stored, implausible, open     c1  p1  overwritten  9:40 9:41 0   a gap: nobody counted
 *                                   –   p1  ring_full      –   –  12   what p1's ring says of all
 *
 * An account is a target's and goes with it; or it is kept, for 30 days: what was evicted with its
 * capture, and what a ring says that it lost since it was made. Of a ring's word a sum takes what
 * the process's captures do not tell.
 */
#ifndef CATALOG_LOSS_H
#define CATALOG_LOSS_H

#include "catalog.h"
#include "ledger.h"
#include "selector.h"

#define CATALOG_LOSS_KEPT_NS (UINT64_C(30) * 24 * 3600 * 1000000000u)

/* Whose it is. */
struct catalog_account {
    struct process_uid process;
    uint64_t agent;
    uint32_t pid;
    const char *host, *service, *labels, *exe;
};

/* A target's, in the place of the one before. */
int catalog_put_ledger(struct catalog *c, const struct capture_id *capture,
                       const struct catalog_account *account, const struct ledger *ledger);
/* What the process's ring says that it lost since it was made. What was
 * kept longer than CATALOG_LOSS_KEPT_NS goes. */
int catalog_put_ring_lost(struct catalog *c, const struct catalog_account *account, uint64_t events,
                          uint64_t now_ns);
/* Before a capture is deleted to make room: keeps its accounts, as evicted. */
int catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns);
/* Forgets the oldest that are kept, at most so many. How many rows went, or a status. */
int64_t catalog_trim_losses(struct catalog *c, uint64_t accounts);

/* The accounts of a capture's targets, reason by reason; `reason` is NULL where nothing is missing.
 */
struct catalog_lost {
    struct process_uid process;
    uint64_t implausible, events;
    const char *reason;
};
typedef void catalog_lost_fn(void *context, const struct catalog_lost *lost);
int64_t catalog_losses_of(struct catalog *c, const struct capture_id *capture, catalog_lost_fn *fn,
                          void *context);

/* ---- sums ---- */

enum catalog_loss_by {
    CATALOG_LOSS_ALL, /* one group */
    CATALOG_LOSS_BY_PROCESS,
    CATALOG_LOSS_BY_SERVICE,
    CATALOG_LOSS_BY_HOST,
    CATALOG_LOSS_BY_RULE,
    CATALOG_LOSS_BY_CAPTURE, /* what rings lost outside of captures is in none */
    CATALOG_LOSS_BYS
};
struct catalog_loss_query {
    enum catalog_loss_by by;
    const struct selector *selector; /* NULL: of all processes */
    uint64_t from_ns, to_ns;         /* of captures whose windows overlap; 0 and UINT64_MAX: of all,
                                      * and what is kept */
    /* Of one process (BY_PROCESS alone) or one capture (not BY_PROCESS); NULL: of all. */
    const struct process_uid *process;
    const struct capture_id *capture;
    /* A page, BY_PROCESS or BY_CAPTURE: the first so many ids behind `after`. 0: all. */
    const char *after; /* "": from the first one */
    size_t limit;
};
struct catalog_loss_group {
    const char *name;               /* of the service, host or rule, or an id; "" for none */
    uint64_t processes;             /* with accounts in it */
    struct catalog_account account; /* BY_PROCESS: the process; else empty */
};
/* Called where a group begins, by name. What it returns is the caller's, and the group's losses are
 * added to it until the next call or the end. */
typedef struct ledger *catalog_loss_fn(void *context, const struct catalog_loss_group *group);
/* On a connection of its own, but for one capture's: nobody waits for it. SKEIN_OK or a status.
 * `next` (may be NULL): the id that the next page is behind, "" where there is none. */
int catalog_loss(struct catalog *c, const struct catalog_loss_query *query, catalog_loss_fn *fn,
                 void *context, char next[ID_TEXT_BYTES]);

#endif
