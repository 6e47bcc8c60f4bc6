/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of a traced process at one moment: a row of its counters. Declarations only.
 */
#ifndef PROCESS_ROW_H
#define PROCESS_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* name, as events are called, unit. Rates are since the row before. Of the cgroup: the nearest one,
 * the process's own or above it, that has a limit of that kind, else its own. */
#define PROCESS_COUNTER_LIST(X)                                                                    \
    X(CPU_USER, "proc.cpu.user", "%")                                                              \
    X(CPU_SYSTEM, "proc.cpu.system", "%")                                                          \
    X(MEMORY, "proc.memory", "bytes")                                                              \
    X(THREADS, "proc.threads", "")                                                                 \
    X(DESCRIPTORS, "proc.descriptors", "")                                                         \
    X(FAULTS_MINOR, "proc.faults.minor", "/s")                                                     \
    X(FAULTS_MAJOR, "proc.faults.major", "/s")                                                     \
    X(IO_READ, "proc.io.read", "bytes/s")                                                          \
    X(IO_WRITE, "proc.io.write", "bytes/s")                                                        \
    X(RUN_DELAY, "proc.run_delay", "ms/s")                                                         \
    X(SWITCHES_VOLUNTARY, "proc.switches.voluntary", "/s")                                         \
    X(SWITCHES_INVOLUNTARY, "proc.switches.involuntary", "/s")                                     \
    X(CGROUP_CPU_LIMIT, "proc.cgroup.cpu.limit", "%")                                              \
    X(CGROUP_THROTTLED, "proc.cgroup.throttled", "ms/s")                                           \
    X(CGROUP_THROTTLES, "proc.cgroup.throttles", "/s")                                             \
    X(CGROUP_MEMORY, "proc.cgroup.memory", "bytes")                                                \
    X(CGROUP_MEMORY_LIMIT, "proc.cgroup.memory.limit", "bytes")                                    \
    X(CGROUP_MEMORY_LIMITED, "proc.cgroup.memory.limited", "/s")                                   \
    X(CGROUP_OOM_KILLS, "proc.cgroup.oom_kills", "")                                               \
    X(CGROUP_FROZEN, "proc.cgroup.frozen", "")

enum process_counter {
#define X(name, text, unit) PROCESS_##name,
    PROCESS_COUNTER_LIST(X)
#undef X
        PROCESS_COUNTERS
};

struct process_row {
    uint64_t at_ns, start_ticks;
    uint32_t pid;
    char state;                      /* of the main thread, as in /proc/PID/stat */
    bool too_many_threads;           /* for sums over them */
    double values[PROCESS_COUNTERS]; /* NaN: not known */
};

#endif
