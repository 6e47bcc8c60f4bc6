/* SPDX-License-Identifier: Apache-2.0
 *
 * What the catalog knows of events that are missing. Rows only; threads and rules as in catalog.h.
 *
 *     account                     loss
 *     capture, process            capture, process, reason, from, to, events
 *     host, service, rule …         c1  p1  ring_full      –   –   5   a count
 *     stored, implausible, open     c1  p1  overwritten  9:40 9:41 0   a gap: nobody counted
 *                                   –   p1  ring_full      –   –  12   p1's ring, since it was made
 *
 * An account belongs to a target and is deleted with it. Two kinds are kept for 30 days: those of a
 * capture that was evicted, and what a process's ring says it lost since it was made. A sum counts
 * of the ring's number only what exceeds the losses in that process's captures.
 */
#ifndef CATALOG_LOSS_H
#define CATALOG_LOSS_H

#include "catalog.h"
#include "ledger.h"
#include "selector.h"

#define CATALOG_LOSS_KEPT_NS (UINT64_C(30) * 24 * 3600 * 1000000000u)

/* Who a process is. */
struct catalog_account {
    struct process_uid process;
    uint64_t agent;
    uint32_t pid;
    const char *host, *service, *labels, *exe;
};

/* A target's account; replaces the one before. */
void catalog_put_ledger(struct catalog *c, const struct capture_id *capture,
                        const struct catalog_account *account, const struct ledger *ledger);
/* What the process's ring says it lost since it was made. Drops what was kept longer than
 * CATALOG_LOSS_KEPT_NS. */
void catalog_put_ring_lost(struct catalog *c, const struct catalog_account *account,
                           uint64_t events, uint64_t now_ns);
/* Keeps the accounts of a capture, as evicted; call it before the capture is deleted to make
 * room. */
void catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns);
/* Drops the oldest kept accounts, at most so many, at once. Returns how many rows went, or a
 * status. */
int64_t catalog_trim_losses(struct catalog *c, uint64_t accounts);

/* The accounts of a capture's targets, by reason; `reason` is NULL where nothing is missing. */
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
    CATALOG_LOSS_BY_CAPTURE, /* leaves out what rings lost outside of captures */
    CATALOG_LOSS_BYS
};
struct catalog_loss_query {
    enum catalog_loss_by by;
    const struct selector *selector; /* NULL: all processes */
    uint64_t from_ns, to_ns;         /* captures whose windows overlap this; 0 and UINT64_MAX: all,
                                      * and the kept accounts */
    /* Only one process (BY_PROCESS alone), or only one capture (not BY_PROCESS); NULL: all. */
    const struct process_uid *process;
    const struct capture_id *capture;
    /* A page, BY_PROCESS or BY_CAPTURE: the first so many ids behind `after`. 0: all. */
    const char *after; /* "": from the first one */
    size_t limit;
};
struct catalog_loss_group {
    const char *name;               /* of the service, host or rule, or an id; "": none */
    uint64_t processes;             /* that have accounts in the group */
    struct catalog_account account; /* BY_PROCESS: the process; else empty */
};
/* Called where a group begins; groups come by name. The group's losses are added to the ledger that
 * it returns, which stays the caller's, until the next call or the end. */
typedef struct ledger *catalog_loss_fn(void *context, const struct catalog_loss_group *group);
/* Uses a connection of its own, so that nobody waits for it; not for one capture's. SKEIN_OK or a
 * status. `next` (may be NULL): `after` for the next page; "": this was the last one. */
int catalog_loss(struct catalog *c, const struct catalog_loss_query *query, catalog_loss_fn *fn,
                 void *context, char next[ID_TEXT_BYTES]);

#endif
