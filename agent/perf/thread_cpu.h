/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU times of a process's threads as /proc tells them: what there is where samples are refused.
 * Any thread; keeps nothing.
 */
#ifndef THREAD_CPU_H
#define THREAD_CPU_H

#include "evidence.h"

struct thread_cpu {
    uint64_t run_ns, wait_ns; /* on a CPU; runnable, but not running. Since the thread began */
    uint64_t turns;           /* on a CPU */
    uint64_t user_ns, system_ns;
    char name[64];
};

/* Texts of /proc/PID/task/TID/stat and schedstat, of a kernel with so many ticks a second; the
 * texts are hostile, as a thread chooses its name. A kernel without schedstat ("") has run_ns from
 * the ticks, wait_ns and turns 0. SKEIN_OK, SKEIN_CORRUPT. */
int thread_cpu_parse(const char *stat, const char *schedstat, uint64_t ticks_per_s,
                     struct thread_cpu *out);

#define THREAD_CPU_MAX 4096 /* threads of a process that are told of */

/* An event "thread.cpu" for each thread, now. Returns how many; *left_out: those beyond
 * THREAD_CPU_MAX or the deadline. SKEIN_NOT_FOUND: the process is gone, or is hidden from us. */
int thread_cpu_write(const struct evidence_ask *ask, struct evidence_out *out, uint64_t *left_out);

#endif
