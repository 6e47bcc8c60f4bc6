/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuts of one process that captures share. Captures whose windows overlap list the same
 * partitions, so nothing is cut, sent and stored twice.
 *
 * A process has one chain. Each cut of the chain goes on where the one before ended, so each record
 * is in one of its partitions. A capture joins the chain if the chain reaches back to the begin of
 * the capture's window:
 *
 *      time   ------- 10 ------- 20 ------- 30 ------- 40 ------->
 *      chain          |== 1 ==|= 2 =|==== 3 ====|                   three cuts so far
 *      A [10,30]      |-------------------|                         lists 1, 2, 3
 *      B [18,40]            |----------------------|                lists 2 and 3, cuts 4
 *      C [ 5,35]   |-------------------------|                      reaches back further
 *
 * C cuts its window privately, in a chain that nobody joins: what both cover is stored twice. So
 * does a capture that would list what is lost or forgotten. The process's chain goes on without a
 * hole. Once no capture uses that, a private one that still cuts takes its place.
 *
 * A cut takes all event groups, also for a sample of a policy that names some: readers choose.
 *
 * The process owns its chain; the thread that cuts enters it.
 */
#ifndef CUT_CHAIN_H
#define CUT_CHAIN_H

#include <sys/queue.h>

#include "cutter.h"

/* A capture is given this many earlier cuts at most. */
#define CUT_CHAIN_ENTRIES_MAX 192

/* One cut, as its members hear of it. Pointers are good for the call. */
struct cut_entry {
    bool kept;          /* there is a partition of it in the spool */
    const char *reason; /* static text; why there is none although records were cut, or NULL */
    struct partition_key key;
    uint64_t from_ns, to_ns, events, bytes;
    uint64_t lost[8]; /* by enum partition_loss_reason */
    struct cut_gap *gaps;
    size_t gap_count;
    /* Times, rising, and how many of its records are earlier (cut_chain_edges). */
    uint64_t edges_ns[PARTITION_EDGES_MAX], before[PARTITION_EDGES_MAX];
    size_t edge_count;
};

/* How many records of the entry lie in [from_ns, to_ns]; *bound: so many at most. */
uint64_t cut_entry_within(const struct cut_entry *entry, uint64_t from_ns, uint64_t to_ns,
                          bool *bound);

struct cut_chain;
struct cut_member {
    TAILQ_ENTRY(cut_member) link;
    struct cut_chain *chain;
    /* set before cut_chain_join */
    uint64_t from_ns, to_ns; /* its window */
    bool unshared;           /* it joins no chain: it is given nothing that was cut earlier */
    bool stated; /* the chain's: it was told the ranges that threads were in when it joined */
    /* Whether the partition of an earlier cut has been lost since; NULL: none ever is. */
    bool (*is_lost)(struct cut_member *member, const struct partition_key *key);
    void (*take)(struct cut_member *member, const struct cut_entry *entry);
};

/* The member joins the process's chain, or begins its own, and is given the earlier cuts of its
 * window. SKEIN_OK, SKEIN_NO_MEMORY. cut_chain_leave may be called in any case, also after the
 * thread that cuts has ended, but before the process is let go. */
int cut_chain_join(struct cut_member *member, struct process *process);
void cut_chain_leave(struct cut_member *member);
/* Calls fn for the others that use its chain. */
void cut_chain_others(struct cut_member *member, void (*fn)(struct cut_member *));

/* Whether cuts up to to_ns have yet to be made. */
bool cut_chain_wants(const struct cut_member *member, uint64_t to_ns);
/* Cuts once, from where the chain ends up to request->to_ns. Sets the request's process, marks and
 * from_ns; the rest is the caller's. As partition_cut; after OK and NOT_FOUND the caller calls
 * cut_chain_add. */
int cut_chain_cut(struct cut_member *member, struct host_page_owner *host,
                  struct cut_request *request, struct cut_result *result);

/* Writes the times at which a cut of this member's chain counts its records: where the windows of the
 * chain's members begin and end, and some between them for those that join later. Rising,
 * PARTITION_EDGES_MAX at most. Returns how many. */
size_t cut_chain_edges(const struct cut_member *member, uint64_t to_ns,
                       uint64_t edges_ns[PARTITION_EDGES_MAX]);

/* Tells all members of a cut. Remembers it for those that join later, and takes entry->gaps
 * (malloc). */
void cut_chain_add(struct cut_member *member, struct cut_entry *entry);

#endif
