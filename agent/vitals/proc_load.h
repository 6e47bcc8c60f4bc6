/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of /proc and of cgroups about load: pure functions, each from a text to numbers, for rules
 * and for the recorder of vitals. The texts are taken to be hostile: a process chooses its own
 * name, a container what it mounts there. Any thread.
 */
#ifndef PROC_LOAD_H
#define PROC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

/* All return SKEIN_OK, or SKEIN_CORRUPT with the results unchanged. */

/* /proc/PID/stat. Times in clock ticks; state is the main thread's. */
struct proc_stat {
    char name[16]; /* of the program; it may hold anything */
    char state;
    uint64_t minor_faults, major_faults, user_ticks, system_ticks, threads, start_ticks;
    uint64_t resident_pages;
};
int proc_parse_stat(const char *text, struct proc_stat *stat);

/* /proc/stat: clock ticks by mode, of all cores together or of one. */
enum proc_cpu_mode {
    PROC_CPU_USER, /* guests count as users */
    PROC_CPU_NICE,
    PROC_CPU_SYSTEM,
    PROC_CPU_IDLE,
    PROC_CPU_IOWAIT,
    PROC_CPU_IRQ,
    PROC_CPU_SOFTIRQ,
    PROC_CPU_STEAL,
    PROC_CPU_MODES
};
struct proc_cpu {
    uint64_t ticks[PROC_CPU_MODES];
};
/* The next line of a core (*core -1: of all cores together) from *at on, which moves behind it.
 * False: there is none. A line that is malformed is left out. */
bool proc_cpu_next(const char **at, int *core, struct proc_cpu *cpu);
/* Spent on work: all but idle and iowait. */
uint64_t proc_cpu_busy(const struct proc_cpu *cpu);

/* The first line: of all cores. */
int proc_parse_host_cpu(const char *text, uint64_t *busy_ticks);

/* /proc/PID/statm: resident pages. */
int proc_parse_statm(const char *text, uint64_t *resident_pages);

/* /proc/meminfo, in bytes. */
int proc_parse_meminfo(const char *text, uint64_t *total_bytes, uint64_t *available_bytes);
/* One row of it, such as "Dirty". SKEIN_NOT_FOUND: the kernel has none of that name. */
int proc_parse_meminfo_row(const char *text, const char *key, uint64_t *bytes);

/* /proc/pressure/X or a cgroup's X.pressure: microseconds of stall so far, of some or all tasks.
 * SKEIN_NOT_FOUND: the kernel has no such line (a host's cpu has no "full" on some). */
int proc_parse_pressure(const char *text, bool full, uint64_t *total_us);

/* cpu.max, "50000 100000": percent of one core. SKEIN_NOT_FOUND: "max". */
int proc_parse_cpu_max(const char *text, double *percent);

#endif
