/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU times of threads; see thread_cpu.h.
 */
#include "thread_cpu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "proc_info.h"

#define S UINT64_C(1000000000)

/* A decimal number that fits, after blanks. */
static bool decimal_get(const char **at, uint64_t *value)
{
    const char *p = *at;
    *value = 0;
    while (*p == ' ')
        p++;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    *at = p;
    return true;
}

static bool name_get(const char *stat, const char *end, char *name, size_t bytes)
{
    const char *begin = strchr(stat, '(');
    if (begin == NULL || begin >= end)
        return false;
    size_t n = (size_t)(end - begin - 1);
    if (n >= bytes)
        n = bytes - 1;
    for (size_t i = 0; i < n; i++)
        name[i] = isprint((unsigned char)begin[1 + i]) ? begin[1 + i] : '?';
    name[n] = '\0';
    return true;
}

/* Fields 14 and 15, counted from the state, which is the third. */
static bool ticks_get(const char *at, uint64_t *user, uint64_t *kernel)
{
    for (int field = 3; field < 14; field++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " \n");
        if (n == 0)
            return false;
        at += n;
    }
    return decimal_get(&at, user) && decimal_get(&at, kernel);
}

int thread_cpu_parse(const char *stat, const char *schedstat, uint64_t ticks_per_s,
                     struct thread_cpu *out)
{
    struct thread_cpu cpu = {.run_ns = 0};
    uint64_t user, kernel;
    const char *end = strrchr(stat, ')'), *at = schedstat;
    if (end == NULL || !name_get(stat, end, cpu.name, sizeof cpu.name) ||
        !ticks_get(end + 1, &user, &kernel) || ticks_per_s == 0)
        return SKEIN_CORRUPT;
    const uint64_t tick_ns = S / ticks_per_s;
    if (tick_ns > 0 && (user > UINT64_MAX / tick_ns / 2 || kernel > UINT64_MAX / tick_ns / 2))
        return SKEIN_CORRUPT;
    cpu.user_ns = user * tick_ns;
    cpu.system_ns = kernel * tick_ns;
    cpu.run_ns = cpu.user_ns + cpu.system_ns;
    if (*schedstat != '\0' && (!decimal_get(&at, &cpu.run_ns) || !decimal_get(&at, &cpu.wait_ns) ||
                               !decimal_get(&at, &cpu.turns)))
        return SKEIN_CORRUPT;
    *out = cpu;
    return SKEIN_OK;
}

static bool thread_read(uint32_t pid, const char *tid, uint64_t ticks_per_s, struct thread_cpu *cpu)
{
    char path[96], stat[1024], schedstat[128];
    snprintf(path, sizeof path, "/proc/%u/task/%.16s/stat", pid, tid);
    if (text_file_read(path, stat, sizeof stat) <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%u/task/%.16s/schedstat", pid, tid);
    if (text_file_read(path, schedstat, sizeof schedstat) < 0)
        schedstat[0] = '\0';
    return thread_cpu_parse(stat, schedstat, ticks_per_s, cpu) == SKEIN_OK;
}

/* Whether its pid is not another's by now. */
static bool process_is_there(const struct process *process)
{
    uint64_t ticks;
    return proc_start_ticks((pid_t)process->pid, &ticks) == SKEIN_OK &&
           ticks == process->start_clock_ticks;
}

static int64_t thread_cpu_type(struct evidence_out *out)
{
    return evidence_type(out,
                         &(struct partition_event_type){.name = "thread.cpu",
                                                        .klass = SKEIN_CLASS_COUNTER,
                                                        .group = SKEIN_GROUP_THREAD,
                                                        .nargs = 5,
                                                        .args = {{SKEIN_T_U64, "run", "ns"},
                                                                 {SKEIN_T_U64, "wait", "ns"},
                                                                 {SKEIN_T_U64, "turns", NULL},
                                                                 {SKEIN_T_U64, "user", "ns"},
                                                                 {SKEIN_T_U64, "system", "ns"}}});
}

int thread_cpu_write(const struct evidence_ask *ask, struct evidence_out *out, uint64_t *left_out)
{
    char path[48];
    struct thread_cpu cpu;
    int count = 0;
    long ticks = sysconf(_SC_CLK_TCK);
    *left_out = 0;
    if (!process_is_there(ask->process))
        return SKEIN_NOT_FOUND;
    snprintf(path, sizeof path, "/proc/%u/task", ask->process->pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return SKEIN_NOT_FOUND;
    int64_t type = thread_cpu_type(out);
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]))
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
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        count += evidence_event(out, evidence_thread(out, tid, cpu.name), type,
                                clock_monotonic_ns(), 0, args);
    }
    closedir(folder);
    return count;
}
