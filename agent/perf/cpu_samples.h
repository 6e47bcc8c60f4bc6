/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU samples, in the past, too: the evidence of kind "samples". Each CPU of the host notes a few
 * times a second who runs on it and with which stack, into memory of the kernel that overwrites
 * itself and that nobody reads. A capture reads it, keeps what is of its process and its window, and
 * counts who ran in its place. Where the kernel refuses that, CPU times of threads are what is left.
 *
 *   rings   ......... who ran, for the last 10 s and more ..........|
 *   window           |---- pre ---- at ---- post ----|  last cut
 *                                                       read here
 *
 * Made, looked after and freed on the loop's thread; collects on the evidence thread.
 */
#ifndef CPU_SAMPLES_H
#define CPU_SAMPLES_H

#include "evidence.h"

#define CPU_SAMPLES_WHY 160

struct cpu_samples_settings {
    uint64_t hz;         /* 0: nothing is sampled, now or later */
    uint64_t reach_ms;   /* that a ring reaches back at least, if its CPU is always busy */
    uint64_t memory_max; /* bytes of the kernel's memory, for all rings: a bound on that reach */
};

struct cpu_samples;

/* Begins to sample. SKEIN_OK, also where the kernel refuses, which the log is told; or
 * SKEIN_NO_MEMORY. */
int cpu_samples_new(const struct cpu_samples_settings *settings, struct cpu_samples **out);
void cpu_samples_free(struct cpu_samples **samples); /* after the evidence thread */

/* Another rate, from the next look on; what is sampled by then is gone. The loop's thread. */
void cpu_samples_set_hz(struct cpu_samples *samples, uint64_t hz);

#define CPU_SAMPLES_LOOK_MS 10000
void cpu_samples_look(void *samples); /* loop_fn: rings for CPUs that came, every _LOOK_MS */

struct cpu_samples_state {
    uint64_t hz, cpus;        /* 0: none is wanted; that are sampled */
    uint64_t bytes, reach_ms; /* of the kernel's memory; back, while all CPUs are busy */
    /* why some or all CPUs are not, or not so often, and what would allow it; "" */
    char refused[CPU_SAMPLES_WHY];
};
void cpu_samples_state(struct cpu_samples *samples, struct cpu_samples_state *out); /* any thread */

/* The source: kind "samples", AT_BOTH. At the begin of a capture it notes CPU times of threads, where
 * samples are refused; else it does nothing then. */
evidence_collect_fn cpu_samples_collect;

#endif
