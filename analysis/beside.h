/* SPDX-License-Identifier: Apache-2.0
 *
 * What evidence says beside a record (docs/evidence.md): what a descriptor is, which waits for a
 * CPU a thread had and who ran meanwhile, and who used the CPUs. Takes the events of one partition
 * of evidence one by one; keeps texts of its own. No I/O. One owner, one thread.
 */
#ifndef BESIDE_H
#define BESIDE_H

#include "partition_reader.h"

/* Waits for a CPU that are shorter explain nothing. */
#define BESIDE_WAIT_MIN_NS UINT64_C(1000000)

struct beside;

/* A thread was ready, and had no CPU. */
struct beside_wait {
    uint32_t tid;
    uint64_t time_ns, dur_ns;
    uint64_t cpu; /* that it got, or was put to */
    bool cut;     /* it was longer than is known */
    uint32_t instead_tid;
    const char *instead; /* who had that CPU longest meanwhile; "": nobody knows */
    uint64_t instead_ns;
};

/* A process that used CPUs. */
struct beside_user {
    const char *name;
    uint64_t pid; /* 0: several */
    uint64_t cpu_ns;
};

/* The time in which they did, and what the process itself had of it; window_ns 0: not known. Without
 * samples the users are those that vitals saw last before, and `sampled` is false: then what the
 * process had is not known here. */
struct beside_cpu {
    uint64_t window_ns, process_ns, idle_ns, cpus;
    bool sampled;
    const struct beside_user *users; /* most first, then several in one */
    size_t user_count;
};

/* Connections of a kind: those that clients have made to an address on which the process listens, or
 * all others with one address. */
struct beside_peer {
    const char *kind;    /* "tcp established" */
    const char *address; /* its own, or the peer's; "": not told */
    bool clients;
    uint64_t count, unread, unsent; /* connections; bytes in their queues */
};

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int beside_new(struct beside **out);
void beside_free(struct beside **beside);

/* Forgets everything: another partition begins. */
void beside_clear(struct beside *beside);

/* An event of the partition, in any order; those of other kinds are passed over. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int beside_add(struct beside *beside, const struct trace_event *event);

/* "file /srv/a.db", "tcp established 10.0.0.7:80 to 10.0.0.9:5432": when the capture ended. NULL:
 * nobody knows. What is given, here and below, lasts until the next call that changes anything. */
const char *beside_descriptor(struct beside *beside, uint64_t fd);

/* What it was connected with when the capture ended: clients last. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int beside_peers(struct beside *beside, const struct beside_peer **peers, size_t *count);

/* The descriptor that a call such as "fsync(0x9)" of a thread dump is about. false: it is about
 * none, or not about one alone. */
bool beside_call_descriptor(const char *call, uint64_t *fd);

/* The wait for a CPU that the thread was in at that time; NULL: none is known. */
const struct beside_wait *beside_wait_at(const struct beside *beside, uint32_t tid, uint64_t at_ns);

/* For how much of that time the thread waited for a CPU; *longest: the wait that was longest in it. */
uint64_t beside_waits_in(struct beside *beside, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
                         const struct beside_wait **longest);

struct beside_cpu beside_cpu(const struct beside *beside);

#endif
