/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ring of a process says of itself, beside its records: how far its writers have come, what
 * it has, lacks and takes. Hints of a hostile writer. Any thread that holds a reference, where
 * nothing else is said; one that is watched has no ring, and all is zero. Part of process.h.
 */
#ifndef PROCESS_RING_H
#define PROCESS_RING_H

#include <stdbool.h>
#include <stdint.h>

struct process;

/* How far its writers have come. */
struct process_cursors {
    uint64_t small, big;             /* chunks claimed since the ring was made */
    uint32_t small_count, big_count; /* chunks that have memory, by what the process was told */
};
void process_cursors(const struct process *p, struct process_cursors *out);
/* For listings. */
struct process_usage {
    uint64_t lost, wrapped, used_bytes;
    uint64_t written_bytes; /* chunks claimed since the ring was made */
    uint64_t oldest_ticks;  /* how far back its chunks reach; 0: it holds none */
};
void process_usage(const struct process *p, struct process_usage *out);

/* Whether writers have claimed half of the ring's small chunks, or of its big ones, since then.
 * After as much again, what was there then is gone. */
bool process_is_half_over(const struct process *p, const struct process_cursors *since);

/* The status that it has said to end with, in its ring. False: none. */
bool process_exit_said(const struct process *p, int32_t *status);

/* Memory of its ring, which the agent pays for. Loop thread. */
uint64_t process_memory(const struct process *p);

/* Stacks that the process says it has left out: R-32. */
uint64_t process_stacks_missed(const struct process *p);

#endif
