/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at a process; see process_look.h. What cannot be read is not known (NaN) in its row.
 */
#include "process_look.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"
#include "kept_file.h"
#include "proc_load.h"
#include "proc_text.h"

#define NS     UINT64_C(1000000000)
#define CPU_NS (NS / 2) /* CPU time comes in ticks of 10 ms: in less time one of them is too much */

void process_look_init(struct process_look *look, uint32_t pid, uint64_t start_ticks, bool kept)
{
    *look = (struct process_look){
        .pid = pid, .start_ticks = start_ticks, .kept = kept, .stat = -1, .io = -1};
    cgroup_look_init(&look->cgroup);
}

static void look_close(struct process_look *look)
{
    fd_close(&look->stat);
    fd_close(&look->io);
    cgroup_look_close(&look->cgroup);
}

void process_look_fini(struct process_look *look)
{
    look_close(look);
    thread_sums_free(&look->sums);
}

/* A second's growth, times scale. */
static double growth(uint64_t before, uint64_t now, uint64_t dt_ns, double scale)
{
    return now < before || dt_ns == 0 ? NAN : (double)(now - before) * scale * 1e9 / (double)dt_ns;
}

static void cpu_take(struct process_look *look, const struct proc_stat *stat,
                     struct process_row *row)
{
    double tick_percent = 100.0 / (double)sysconf(_SC_CLK_TCK);
    uint64_t dt_ns = look->before.cpu_ns != 0 ? row->at_ns - look->before.cpu_ns : 0;
    if (look->before.cpu_ns != 0 && dt_ns < CPU_NS)
        return;
    row->values[PROCESS_CPU_USER] =
        growth(look->before.user_ticks, stat->user_ticks, dt_ns, tick_percent);
    row->values[PROCESS_CPU_SYSTEM] =
        growth(look->before.system_ticks, stat->system_ticks, dt_ns, tick_percent);
    look->before.user_ticks = stat->user_ticks;
    look->before.system_ticks = stat->system_ticks;
    look->before.cpu_ns = row->at_ns;
}

static bool stat_take(struct process_look *look, const char *folder, uint64_t dt_ns,
                      struct process_row *row)
{
    char text[1024];
    struct proc_stat stat;
    if (look->stat < 0)
        look->stat = kept_open(folder, "stat");
    if (!kept_read(look->stat, text, sizeof text) || proc_parse_stat(text, &stat) != SKEIN_OK ||
        stat.start_ticks != look->start_ticks)
        return false;
    row->state = stat.state;
    cpu_take(look, &stat, row);
    row->values[PROCESS_FAULTS_MINOR] =
        growth(look->before.minor_faults, stat.minor_faults, dt_ns, 1);
    row->values[PROCESS_FAULTS_MAJOR] =
        growth(look->before.major_faults, stat.major_faults, dt_ns, 1);
    row->values[PROCESS_MEMORY] = (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE);
    row->values[PROCESS_THREADS] = (double)stat.threads;
    look->before.minor_faults = stat.minor_faults;
    look->before.major_faults = stat.major_faults;
    return true;
}

static void io_take(struct process_look *look, const char *folder, uint64_t dt_ns,
                    struct process_row *row)
{
    char text[1024];
    uint64_t read, written;
    if (look->io < 0)
        look->io = kept_open(folder, "io");
    bool there = kept_read(look->io, text, sizeof text) && text_value(text, "read_bytes", &read) &&
                 text_value(text, "write_bytes", &written);
    if (there && look->before.has_io) {
        row->values[PROCESS_IO_READ] = growth(look->before.read_bytes, read, dt_ns, 1);
        row->values[PROCESS_IO_WRITE] = growth(look->before.write_bytes, written, dt_ns, 1);
    }
    look->before.has_io = there;
    look->before.read_bytes = there ? read : 0;
    look->before.write_bytes = there ? written : 0;
}

static void cgroup_take(struct process_look *look, const struct look_roots *roots,
                        const char *folder, uint64_t dt_ns, struct process_row *row)
{
    struct cgroup_state now, before = look->before.cgroup;
    if (look->looks % LOOK_CGROUP_EVERY == 0 || !look->kept)
        cgroup_look_open(&look->cgroup, roots->cgroups, folder);
    cgroup_look_read(&look->cgroup, &now);
    row->values[PROCESS_CGROUP_CPU_LIMIT] = look->cgroup.cpu_limit;
    row->values[PROCESS_CGROUP_MEMORY_LIMIT] = look->cgroup.memory_limit;
    /* The process may have been moved, or its limit set, since: what another cgroup had is none of
     * its growth. */
    if (now.has_throttling && before.has_throttling && now.cpu_id == before.cpu_id) {
        row->values[PROCESS_CGROUP_THROTTLED] =
            growth(before.throttled_ns, now.throttled_ns, dt_ns, 1e-6);
        row->values[PROCESS_CGROUP_THROTTLES] = growth(before.throttles, now.throttles, dt_ns, 1);
    }
    if (now.has_memory)
        row->values[PROCESS_CGROUP_MEMORY] = (double)now.memory_bytes;
    if (now.has_events && before.has_events && now.memory_id == before.memory_id)
        row->values[PROCESS_CGROUP_MEMORY_LIMITED] = growth(before.limited, now.limited, dt_ns, 1);
    if (now.has_events && !look->cgroup.memory_v1)
        row->values[PROCESS_CGROUP_OOM_KILLS] = (double)now.oom_kills;
    if (now.has_frozen)
        row->values[PROCESS_CGROUP_FROZEN] = now.frozen ? 1 : 0;
    look->before.cgroup = now;
}

static void sums_take(struct process_look *look, const char *folder, uint64_t now_ns,
                      struct process_row *row)
{
    struct thread_rates rates;
    double threads = row->values[PROCESS_THREADS];
    row->too_many_threads = threads > LOOK_THREADS_MAX;
    if (row->too_many_threads || threads < 1 || now_ns < look->sums_due_ns)
        return;
    /* Half a second earlier than due: looks are not exactly a second apart. */
    uint64_t pause = (uint64_t)(threads - 1) / LOOK_THREADS_EACH;
    look->sums_due_ns = pause == 0 ? 0 : now_ns + pause * NS + NS / 2;
    if (!thread_sums_take(&look->sums, folder, now_ns, &rates, &row->too_many_threads))
        return;
    row->values[PROCESS_RUN_DELAY] = rates.delay_ms;
    row->values[PROCESS_SWITCHES_VOLUNTARY] = rates.voluntary;
    row->values[PROCESS_SWITCHES_INVOLUNTARY] = rates.involuntary;
}

int process_look(struct process_look *look, const struct look_roots *roots, uint64_t now_ns,
                 struct process_row *row)
{
    char folder[512], descriptors[560];
    struct stat info;
    uint64_t dt_ns = look->before.at_ns != 0 ? now_ns - look->before.at_ns : 0;
    *row =
        (struct process_row){.at_ns = now_ns, .start_ticks = look->start_ticks, .pid = look->pid};
    for (size_t i = 0; i < PROCESS_COUNTERS; i++)
        row->values[i] = NAN;
    int n = snprintf(folder, sizeof folder, "%s/%u", roots->proc, look->pid);
    if (n < 0 || (size_t)n >= sizeof folder || !stat_take(look, folder, dt_ns, row)) {
        look_close(look);
        return SKEIN_NOT_FOUND;
    }
    io_take(look, folder, dt_ns, row);
    cgroup_take(look, roots, folder, dt_ns, row);
    sums_take(look, folder, now_ns, row);
    snprintf(descriptors, sizeof descriptors, "%s/fd", folder);
    if (roots->counts_descriptors && stat(descriptors, &info) == 0)
        row->values[PROCESS_DESCRIPTORS] = (double)info.st_size;
    look->before.at_ns = now_ns;
    look->looks++;
    if (!look->kept)
        look_close(look);
    return SKEIN_OK;
}
