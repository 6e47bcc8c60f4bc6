/* SPDX-License-Identifier: Apache-2.0
 *
 * Where time went, by stack: what ran (samples of the CPU, which evidence holds) and what waited
 * (regions with a stack). Takes events, and gives a pprof profile or folded stacks. Its memory is
 * that of the different stacks, threads and names, and can be bounded. One owner, one thread.
 */
#ifndef STACK_PROFILE_H
#define STACK_PROFILE_H

#include "buf.h"
#include "partition_reader.h"

#define STACK_PROFILE_SAMPLE "cpu.sample" /* the events; their argument `weight`, in ns */

/* For how long CPUs were sampled, up to its time: `room`, in ns of so many `cpus` together. */
#define STACK_PROFILE_WINDOW "cpu.window"

struct stack_profile;

/* most_bytes: of its tables, and again of each form in which it is given; 0: no bound. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int stack_profile_new(size_t most_bytes, struct stack_profile **out);
void stack_profile_free(struct stack_profile **profile);

/* An event of the partition that `reader` reads; a reader's come together, before the next one's.
 * One that is still open counts with its time so far: leave it out where a later partition tells of
 * it again. SKEIN_OK; SKEIN_NO_MEMORY; SKEIN_TOO_LARGE: beyond most_bytes. */
int stack_profile_add(struct stack_profile *profile, struct partition_reader *reader,
                      const struct trace_event *event);

/* What a profile counts, by stack. */
enum stack_profile_of {
    STACK_PROFILE_SAMPLES = 0,   /* of CPUs: how many */
    STACK_PROFILE_WAITS = 1,     /* regions with a stack: time */
    STACK_PROFILE_WALL = 2,      /* both added: time on a CPU by samples, and of waits */
    STACK_PROFILE_CONTENTION = 3 /* waits for a lock that somebody held: time */
};

#define STACK_PROFILE_OF_NAMES "samples, waits, wall or contention"
/* Which one is called so; false: none. */
bool stack_profile_of_find(const char *name, enum stack_profile_of *of);

/* How many there are so far: samples; regions that waited. */
uint64_t stack_profile_samples(const struct stack_profile *profile);
uint64_t stack_profile_waits(const struct stack_profile *profile);

/* Appends a profile.proto, gzipped. Values: samples (count), cpu (ns), waits (count), wait (ns),
 * contentions (count), contention (ns), wall (ns): enum stack_profile_of; labels: service, pid, thread, tid, event. Where there are samples, its time is that in which CPUs
 * were sampled: a wait may have begun long before. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TOO_LARGE. */
int stack_profile_pprof(const struct stack_profile *profile, struct buf *out);

/* Appends a line for each stack: "service[pid];thread;outermost;...;innermost N". N: samples, or of
 * anything else the microseconds. What ends the walk too early stands as "[...]" in front of the outermost.
 * SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TOO_LARGE. */
int stack_profile_folded(const struct stack_profile *profile, enum stack_profile_of of,
                         struct buf *out);

#endif
