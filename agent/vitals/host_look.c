/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to the host's counters; see host_look.h. Files stay open between looks. Of disks and
 * interfaces those count that have ever done anything.
 */
#include "host_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "kept_file.h"
#include "proc_host.h"
#include "proc_load.h"
#include "proc_text.h"
#include "skein/status.h"

#define TEXT_BYTES   (256u << 10) /* /proc/stat of many cores and interrupts */
#define SECTOR_BYTES 512.0

/* What only grows of a file of keys: shown by the second. */
struct rate_row {
    const char *key, *name, *unit;
};

static void rates_put(struct vitals_store *store, const char *text, const struct rate_row *rows)
{
    uint64_t value;
    for (; rows->key != NULL; rows++)
        if (text_value(text, rows->key, &value))
            store_rate(store, rows->name, rows->unit, value, 1);
}

/* ---- one function a file ---- */

static uint64_t cpu_sum(const struct proc_cpu *cpu)
{
    return proc_cpu_busy(cpu) + cpu->ticks[PROC_CPU_IDLE] + cpu->ticks[PROC_CPU_IOWAIT];
}

/* Shares of the time that passed, or of all that was counted where that is more: a look is some
 * moments later than its time, and never is a core busy for more than 100 %. */
static void cpu_put(struct vitals_store *store, const char *text)
{
    static const char *const names[PROC_CPU_MODES] = {
        "host.cpu.user",   "host.cpu.nice", "host.cpu.system",  "host.cpu.idle",
        "host.cpu.iowait", "host.cpu.irq",  "host.cpu.softirq", "host.cpu.steal"};
    struct proc_cpu all = {{0}}, cpu;
    unsigned cores = 0;
    int core;
    char name[STORE_NAME_BYTES];
    double hz = (double)sysconf(_SC_CLK_TCK);
    for (const char *at = text; proc_cpu_next(&at, &core, &cpu);) {
        if (core < 0) {
            all = cpu;
            continue;
        }
        cores++;
        snprintf(name, sizeof name, "host.cpu%d.busy", core);
        store_share(store, name, proc_cpu_busy(&cpu), cpu_sum(&cpu), hz);
    }
    for (size_t i = 0; cores > 0 && i < PROC_CPU_MODES; i++)
        store_share(store, names[i], all.ticks[i], cpu_sum(&all), hz * cores);
}

static void stat_put(struct vitals_store *store, const char *text)
{
    static const struct rate_row rates[] = {
        {"ctxt", "host.switches", "/s"}, {"processes", "host.forks", "/s"}, {NULL, NULL, NULL}};
    uint64_t value;
    cpu_put(store, text);
    rates_put(store, text, rates);
    if (text_value(text, "procs_running", &value))
        store_gauge(store, "host.run_queue", "", (double)value);
    if (text_value(text, "procs_blocked", &value))
        store_gauge(store, "host.blocked", "", (double)value);
}

static void load_put(struct vitals_store *store, const char *text)
{
    double load;
    if (proc_parse_load(text, &load) == SKEIN_OK)
        store_gauge(store, "host.load", "", load);
}

static void pressure_put(struct vitals_store *store, const char *text, const char *some,
                         const char *full)
{
    uint64_t us;
    if (proc_parse_pressure(text, false, &us) == SKEIN_OK)
        store_rate(store, some, "%", us, 1e-4);
    if (full != NULL && proc_parse_pressure(text, true, &us) == SKEIN_OK)
        store_rate(store, full, "%", us, 1e-4);
}

static void pressure_cpu_put(struct vitals_store *store, const char *text)
{
    pressure_put(store, text, "host.pressure.cpu.some", NULL);
}

static void pressure_io_put(struct vitals_store *store, const char *text)
{
    pressure_put(store, text, "host.pressure.io.some", "host.pressure.io.full");
}

static void pressure_memory_put(struct vitals_store *store, const char *text)
{
    pressure_put(store, text, "host.pressure.memory.some", "host.pressure.memory.full");
}

static void memory_put(struct vitals_store *store, const char *text)
{
    static const char *const rows[][2] = {{"MemTotal", "host.memory.total"},
                                          {"MemFree", "host.memory.free"},
                                          {"MemAvailable", "host.memory.available"},
                                          {"Cached", "host.memory.cached"},
                                          {"Buffers", "host.memory.buffers"},
                                          {"AnonPages", "host.memory.anonymous"},
                                          {"Slab", "host.memory.slab"},
                                          {"Dirty", "host.memory.dirty"},
                                          {"Writeback", "host.memory.writeback"},
                                          {"SwapTotal", "host.swap.total"},
                                          {"SwapFree", "host.swap.free"}};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (proc_parse_meminfo_row(text, rows[i][0], &bytes) == SKEIN_OK)
            store_gauge(store, rows[i][1], "bytes", (double)bytes);
}

static void vmstat_put(struct vitals_store *store, const char *text)
{
    static const struct rate_row rates[] = {
        {"pgfault", "host.faults", "/s"},
        {"pgmajfault", "host.faults.major", "/s"},
        {"pswpin", "host.swap.in", "pages/s"},
        {"pswpout", "host.swap.out", "pages/s"},
        {"pgscan_kswapd", "host.reclaim.scanned.background", "pages/s"},
        {"pgscan_direct", "host.reclaim.scanned.direct", "pages/s"},
        {"pgsteal_kswapd", "host.reclaim.freed.background", "pages/s"},
        {"pgsteal_direct", "host.reclaim.freed.direct", "pages/s"},
        {"allocstall_normal", "host.reclaim.stalls", "/s"},
        {"allocstall_movable", "host.reclaim.stalls.movable", "/s"},
        {"compact_stall", "host.compaction.stalls", "/s"},
        {"oom_kill", "host.oom_kills", "/s"},
        {NULL, NULL, NULL}};
    rates_put(store, text, rates);
}

/* ---- devices ---- */

struct device {
    struct vitals_store *store;
    const char *kind, *name;
};

static const char *device_name(const struct device *device, const char *what, char *name)
{
    snprintf(name, STORE_NAME_BYTES, "host.%s.%s.%s", device->kind, device->name, what);
    return name;
}

static void device_rate(const struct device *device, const char *what, const char *unit,
                        uint64_t raw, double scale)
{
    char name[STORE_NAME_BYTES];
    store_rate(device->store, device_name(device, what, name), unit, raw, scale);
}

static void disk_put(struct vitals_store *store, const struct proc_disk *disk)
{
    const struct device device = {store, "disk", disk->name};
    char name[STORE_NAME_BYTES];
    device_rate(&device, "reads", "/s", disk->reads, 1);
    device_rate(&device, "writes", "/s", disk->writes, 1);
    device_rate(&device, "read", "bytes/s", disk->read_sectors, SECTOR_BYTES);
    device_rate(&device, "written", "bytes/s", disk->write_sectors, SECTOR_BYTES);
    store_ratio(store, device_name(&device, "await", name), "ms", disk->read_ms + disk->write_ms,
                disk->reads + disk->writes);
    store_gauge(store, device_name(&device, "in_flight", name), "", (double)disk->in_flight);
    device_rate(&device, "queue", "", disk->weighted_ms, 1e-3);
    device_rate(&device, "util", "%", disk->busy_ms, 0.1);
}

static void disks_put(struct vitals_store *store, const char *text)
{
    struct proc_disk disk;
    char whole[PROC_DEVICE_BYTES] = "";
    for (const char *at = text; proc_disk_next(&at, &disk);) {
        if (proc_disk_is_part(disk.name, whole))
            continue; /* is told with its disk, whose line comes first */
        memcpy(whole, disk.name, sizeof whole);
        if (disk.reads > 0 || disk.writes > 0 || disk.in_flight > 0)
            disk_put(store, &disk);
    }
}

static void interfaces_put(struct vitals_store *store, const char *text)
{
    struct proc_interface i;
    for (const char *at = text; proc_interface_next(&at, &i);) {
        const struct device device = {store, "net", i.name};
        if (i.rx_packets == 0 && i.tx_packets == 0 && i.rx_drops == 0 && i.tx_drops == 0)
            continue;
        device_rate(&device, "received", "bytes/s", i.rx_bytes, 1);
        device_rate(&device, "received.packets", "/s", i.rx_packets, 1);
        device_rate(&device, "received.errors", "/s", i.rx_errors, 1);
        device_rate(&device, "received.drops", "/s", i.rx_drops, 1);
        device_rate(&device, "sent", "bytes/s", i.tx_bytes, 1);
        device_rate(&device, "sent.packets", "/s", i.tx_packets, 1);
        device_rate(&device, "sent.errors", "/s", i.tx_errors, 1);
        device_rate(&device, "sent.drops", "/s", i.tx_drops, 1);
    }
}

/* ---- protocols ---- */

struct column_row {
    const char *line, *column, *name;
};

static void columns_put(struct vitals_store *store, const char *text, const struct column_row *rows)
{
    uint64_t value;
    for (; rows->line != NULL; rows++)
        if (text_column(text, rows->line, rows->column, &value))
            store_rate(store, rows->name, "/s", value, 1);
}

static void snmp_put(struct vitals_store *store, const char *text)
{
    static const struct column_row rows[] = {{"Tcp:", "ActiveOpens", "host.tcp.connects"},
                                             {"Tcp:", "PassiveOpens", "host.tcp.accepts"},
                                             {"Tcp:", "AttemptFails", "host.tcp.failed_connects"},
                                             {"Tcp:", "EstabResets", "host.tcp.resets"},
                                             {"Tcp:", "OutSegs", "host.tcp.sent"},
                                             {"Tcp:", "RetransSegs", "host.tcp.retransmits"},
                                             {"Tcp:", "InErrs", "host.tcp.errors"},
                                             {"Udp:", "RcvbufErrors", "host.udp.receive_overflows"},
                                             {"Udp:", "SndbufErrors", "host.udp.send_overflows"},
                                             {NULL, NULL, NULL}};
    uint64_t value;
    columns_put(store, text, rows);
    if (text_column(text, "Tcp:", "CurrEstab", &value))
        store_gauge(store, "host.tcp.established", "", (double)value);
}

static void netstat_put(struct vitals_store *store, const char *text)
{
    static const struct column_row rows[] = {
        {"TcpExt:", "ListenOverflows", "host.tcp.listen_overflows"},
        {"TcpExt:", "ListenDrops", "host.tcp.listen_drops"},
        {"TcpExt:", "TCPTimeouts", "host.tcp.timeouts"},
        {"TcpExt:", "TCPBacklogDrop", "host.tcp.backlog_drops"},
        {"TcpExt:", "TCPAbortOnMemory", "host.tcp.memory_aborts"},
        {"TcpExt:", "PruneCalled", "host.tcp.prunes"},
        {NULL, NULL, NULL}};
    columns_put(store, text, rows);
}

/* ---- all files ---- */

typedef void file_put_fn(struct vitals_store *store, const char *text);
static const struct host_file {
    const char *name;
    file_put_fn *put;
} files[] = {{"stat", stat_put},
             {"loadavg", load_put},
             {"pressure/cpu", pressure_cpu_put},
             {"pressure/io", pressure_io_put},
             {"pressure/memory", pressure_memory_put},
             {"meminfo", memory_put},
             {"vmstat", vmstat_put},
             {"diskstats", disks_put},
             {"net/dev", interfaces_put},
             {"net/snmp", snmp_put},
             {"net/netstat", netstat_put}};
#define FILES (sizeof files / sizeof *files)

struct host_look {
    const char *proc;
    int fds[FILES];
    char text[TEXT_BYTES];
};

int host_look_new(const char *proc, struct host_look **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->proc = proc;
    for (size_t i = 0; i < FILES; i++)
        (*out)->fds[i] = kept_open(proc, files[i].name);
    return SKEIN_OK;
}

void host_look_free(struct host_look **look)
{
    if (*look == NULL)
        return;
    for (size_t i = 0; i < FILES; i++)
        fd_close(&(*look)->fds[i]);
    free(*look);
    *look = NULL;
}

void host_look_take(struct host_look *look, struct vitals_store *store, uint64_t now_ns)
{
    store_begin(store, now_ns);
    for (size_t i = 0; i < FILES; i++)
        if (kept_read(look->fds[i], look->text, sizeof look->text))
            files[i].put(store, look->text);
    store_commit(store);
}
