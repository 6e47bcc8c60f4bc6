/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuts of one process that captures share: one set of marks, so that every record is in one
 * partition at most, and what was cut lately. A capture whose window overlaps what a chain has cut
 * joins it: it is given the earlier cuts of its window, cuts what lies before and after them, and
 * hears of every cut that others make meanwhile. One that overlaps none, or has other event groups,
 * begins a chain. Owned by the process; entered by the thread that cuts.
 */
#ifndef CUT_CHAIN_H
#define CUT_CHAIN_H

#include <sys/queue.h>

#include "cutter.h"

/* A capture is given this many earlier cuts at most. */
#define CUT_CHAIN_ENTRIES_MAX 192

/* One cut, as its members hear of it. Pointers are good for the call. */
struct cut_entry {
    bool before;        /* of what lies before the window of the chain */
    bool kept;          /* there is a partition of it in the spool */
    const char *reason; /* static text; why there is none although records were cut, or NULL */
    struct partition_key key;
    uint64_t from_ns, to_ns, events, bytes;
    uint64_t lost[8]; /* by enum partition_loss_reason */
    struct cut_gap *gaps;
    size_t gap_count;
};

struct cut_chain;
struct cut_member {
    TAILQ_ENTRY(cut_member) link;
    struct cut_chain *chain;
    /* set before cut_chain_join */
    uint64_t from_ns, to_ns; /* its window */
    uint64_t groups;
    bool unshared; /* joins none: it is given nothing that was cut earlier */
    bool stated;   /* it knows the ranges that threads were in when it joined; the chain's */
    /* Whether the partition of an earlier cut has been lost since; NULL: none ever is. */
    bool (*is_lost)(struct cut_member *member, const struct partition_key *key);
    void (*take)(struct cut_member *member, const struct cut_entry *entry);
};

/* Makes *member one of a chain of the process, and gives it what was cut of its window already.
 * SKEIN_OK, SKEIN_NO_MEMORY. cut_chain_leave may be called in any case, also after the thread that
 * cuts has ended, but before the process is let go. */
int cut_chain_join(struct cut_member *member, struct process *process);
void cut_chain_leave(struct cut_member *member);
/* Calls fn for the others that use its chain. */
void cut_chain_others(struct cut_member *member, void (*fn)(struct cut_member *));

/* Whether cuts up to to_ns have yet to be made, and whether the member's window begins before the
 * chain's. */
bool cut_chain_wants_after(const struct cut_member *member, uint64_t to_ns);
bool cut_chain_wants_before(const struct cut_member *member);
/* Cuts once for a member, where it wants that: up to request->to_ns, or what lies between the begin
 * of its window and the chain's: of another member's row first, where one is under way. Sets the
 * request's process, groups, marks, until and from_ns; the rest is the caller's. As partition_cut;
 * after OK and NOT_FOUND the caller calls cut_chain_add. */
int cut_chain_cut_after(struct cut_member *member, struct host_page_owner *host,
                        struct cut_request *request, struct cut_result *result);
int cut_chain_cut_before(struct cut_member *member, struct host_page_owner *host,
                         struct cut_request *request, struct cut_result *result);

/* Tells all members of a cut, so that none has a hole between two that it was told of; one from
 * before the window of the chain is for those alone whose windows begin there, too. Remembers it
 * for those that join later, and takes entry->gaps (malloc). */
void cut_chain_add(struct cut_member *member, struct cut_entry *entry);

#endif
