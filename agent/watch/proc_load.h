/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of /proc and of cgroups about load: pure functions, each from a text to numbers. The texts
 * are taken to be hostile: a process chooses its own name, a container what it mounts there. Any
 * thread.
 */
#ifndef PROC_LOAD_H
#define PROC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

/* All return SKEIN_OK, or SKEIN_CORRUPT with the results unchanged. */

/* /proc/PID/stat: clock ticks of CPU time (user and system), and when it started, in ticks. */
int proc_parse_stat(const char *text, uint64_t *cpu_ticks, uint64_t *start_ticks);

/* /proc/stat: clock ticks that all cores together spent on work. */
int proc_parse_host_cpu(const char *text, uint64_t *busy_ticks);

/* /proc/PID/statm: resident pages. */
int proc_parse_statm(const char *text, uint64_t *resident_pages);

/* /proc/meminfo, in bytes. */
int proc_parse_meminfo(const char *text, uint64_t *total_bytes, uint64_t *available_bytes);

/* /proc/pressure/X or a cgroup's X.pressure: microseconds of stall so far, of some or all tasks.
 * SKEIN_NOT_FOUND: the kernel has no such line (a host's cpu has no "full" on some). */
int proc_parse_pressure(const char *text, bool full, uint64_t *total_us);

/* /proc/PID/cgroup: the path in the unified hierarchy, "/system.slice/redis.service".
 * SKEIN_NOT_FOUND: it is in none. A path that climbs ("..") is corrupt. */
int proc_parse_cgroup(const char *text, char *path, size_t path_bytes);

#endif
