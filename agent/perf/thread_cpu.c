/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU times of threads; see thread_cpu.h.
 */
#include "thread_cpu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "proc_info.h"
#include "proc_text.h"

#define S UINT64_C(1000000000)

int thread_cpu_parse(const char *stat, const char *schedstat, uint64_t ticks_per_s,
                     struct thread_cpu *out)
{
    struct thread_cpu cpu = {.run_ns = 0};
    uint64_t user, kernel;
    const char *fields = text_stat(stat, cpu.name, sizeof cpu.name), *at = schedstat;
    if (fields == NULL || !text_stat_number(fields, 14, &user) ||
        !text_stat_number(fields, 15, &kernel) || ticks_per_s == 0)
        return SKEIN_CORRUPT;
    for (char *c = cpu.name; *c != '\0'; c++)
        *c = isprint((unsigned char)*c) ? *c : '?';
    const uint64_t tick_ns = S / ticks_per_s;
    if (tick_ns > 0 && (user > UINT64_MAX / tick_ns / 2 || kernel > UINT64_MAX / tick_ns / 2))
        return SKEIN_CORRUPT;
    cpu.user_ns = user * tick_ns;
    cpu.system_ns = kernel * tick_ns;
    cpu.run_ns = cpu.user_ns + cpu.system_ns;
    if (*schedstat != '\0' && (!text_number(&at, &cpu.run_ns) || !text_number(&at, &cpu.wait_ns) ||
                               !text_number(&at, &cpu.turns)))
        return SKEIN_CORRUPT;
    *out = cpu;
    return SKEIN_OK;
}

static bool thread_read(uint32_t pid, const char *tid, uint64_t ticks_per_s, struct thread_cpu *cpu)
{
    char name[48], stat[1024], schedstat[128];
    snprintf(name, sizeof name, "task/%.16s/stat", tid);
    if (proc_file_read((pid_t)pid, name, stat, sizeof stat) <= 0)
        return false;
    snprintf(name, sizeof name, "task/%.16s/schedstat", tid);
    (void)proc_file_read((pid_t)pid, name, schedstat, sizeof schedstat); /* "": there is none */
    return thread_cpu_parse(stat, schedstat, ticks_per_s, cpu) == SKEIN_OK;
}

static const struct partition_event_type type_cpu = EVIDENCE_TYPE(
    "thread.cpu", SKEIN_CLASS_COUNTER, SKEIN_GROUP_THREAD, EVIDENCE_ARG(U64, "run", "ns"),
    EVIDENCE_ARG(U64, "wait", "ns"), EVIDENCE_ARG(U64, "turns", ""),
    EVIDENCE_ARG(U64, "user", "ns"), EVIDENCE_ARG(U64, "system", "ns"));

int thread_cpu_write(const struct evidence_ask *ask, struct evidence_out *out, uint64_t *left_out)
{
    char path[48];
    struct thread_cpu cpu;
    int count = 0;
    long ticks = sysconf(_SC_CLK_TCK);
    *left_out = 0;
    if (!proc_is_same((pid_t)ask->process->pid, ask->process->start_clock_ticks))
        return SKEIN_NOT_FOUND;
    snprintf(path, sizeof path, "/proc/%u/task", ask->process->pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return SKEIN_NOT_FOUND;
    int64_t type = evidence_type(out, &type_cpu);
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        uint32_t tid;
        if (!text_id(entry->d_name, &tid))
            continue;
        if (count >= THREAD_CPU_MAX || clock_monotonic_ns() >= ask->deadline_ns) {
            ++*left_out;
            continue;
        }
        if (!thread_read(ask->process->pid, entry->d_name, ticks > 0 ? (uint64_t)ticks : 100, &cpu))
            continue; /* it has ended meanwhile */
        struct partition_value args[] = {{.u64 = cpu.run_ns},
                                         {.u64 = cpu.wait_ns},
                                         {.u64 = cpu.turns},
                                         {.u64 = cpu.user_ns},
                                         {.u64 = cpu.system_ns}};
        count += evidence_event(out, evidence_thread(out, tid, cpu.name), type,
                                clock_monotonic_ns(), 0, args);
    }
    closedir(folder);
    return count;
}
