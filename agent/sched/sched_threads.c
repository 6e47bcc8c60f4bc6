/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_threads.h. Texts of /proc are read as if anybody had written them: names of threads are.
 */
#include "sched_threads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "proc_info.h"
#include "proc_text.h"
#include "skein/status.h"

#define STAT_BYTES   1024
#define STATUS_BYTES 8192
#define FIRST_PIDS   UINT64_C(0xEFFFFFFC) /* the kernel's PROC_PID_INIT_INO */

/* Fields of stat. */
#define FIELD_START 22
#define FIELD_CPU   39

int sched_stat_parse(const char *text, uint64_t ahead_ns, struct sched_thread *out)
{
    struct sched_thread thread = {.tid = (uint32_t)strtoul(text, NULL, 10)};
    uint64_t start, cpu;
    const char *fields = text_stat(text, thread.comm, sizeof thread.comm);
    if (fields == NULL || !text_stat_number(fields, FIELD_START, &start) ||
        !text_stat_number(fields, FIELD_CPU, &cpu))
        return SKEIN_CORRUPT;
    thread.state = fields[0];
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t boot_ns = start < UINT64_MAX / tick_ns ? start * tick_ns : 0;
    thread.began_ns = boot_ns > ahead_ns ? boot_ns - ahead_ns : 0;
    thread.cpu = (uint32_t)cpu;
    *out = thread;
    return SKEIN_OK;
}

static uint64_t ahead_of_monotonic_ns(void)
{
    uint64_t monotonic_ns = clock_monotonic_ns(), boot_ns = clock_boottime_ns();
    return boot_ns > monotonic_ns ? boot_ns - monotonic_ns : 0;
}

int sched_threads_list(uint32_t pid, struct sched_thread **list, size_t *count)
{
    char path[128], text[STAT_BYTES];
    size_t cap = 0;
    const struct dirent *entry;
    uint64_t ahead_ns = ahead_of_monotonic_ns();
    int status = SKEIN_OK;
    *list = NULL;
    *count = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return SKEIN_NOT_FOUND;
    while (status == SKEIN_OK && (entry = readdir(folder)) != NULL) {
        struct sched_thread thread;
        snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%.20s/stat", pid, entry->d_name);
        if (entry->d_name[0] == '.' || text_file_read(path, text, sizeof text) <= 0 ||
            sched_stat_parse(text, ahead_ns, &thread) != SKEIN_OK)
            continue; /* it has just ended */
        if (array_grow(*list, *count + 1, &cap))
            (*list)[(*count)++] = thread;
        else
            status = SKEIN_NO_MEMORY;
    }
    closedir(folder);
    return status;
}

/* ---- sums ---- */

int sched_totals_parse(const char *schedstat, const char *status, struct sched_totals *out)
{
    struct sched_totals sums;
    const char *at = schedstat;
    if (!text_number(&at, &sums.run_ns) || !text_number(&at, &sums.runnable_ns) ||
        !text_number(&at, &sums.runs) ||
        !text_value(status, "voluntary_ctxt_switches", &sums.gave_way) ||
        !text_value(status, "nonvoluntary_ctxt_switches", &sums.preempted))
        return SKEIN_CORRUPT;
    *out = sums;
    return SKEIN_OK;
}

int sched_totals_read(uint32_t pid, uint32_t tid, struct sched_totals *out)
{
    char name[64], schedstat[256], status[STATUS_BYTES];
    snprintf(name, sizeof name, "task/%" PRIu32 "/schedstat", tid);
    if (proc_file_read((pid_t)pid, name, schedstat, sizeof schedstat) <= 0)
        return SKEIN_NOT_FOUND;
    snprintf(name, sizeof name, "task/%" PRIu32 "/status", tid);
    if (proc_file_read((pid_t)pid, name, status, sizeof status) <= 0)
        return SKEIN_NOT_FOUND;
    return sched_totals_parse(schedstat, status, out) == SKEIN_OK ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* ---- */

uint32_t sched_process_of(uint32_t tid)
{
    char status[STATUS_BYTES];
    uint64_t pid = 0;
    if (proc_file_read((pid_t)tid, "status", status, sizeof status) > 0)
        (void)text_value(status, "Tgid", &pid);
    return (uint32_t)pid;
}

bool sched_tids_are_ours(void)
{
    struct stat ours;
    return stat("/proc/self/ns/pid", &ours) == 0 && ours.st_ino == FIRST_PIDS;
}
