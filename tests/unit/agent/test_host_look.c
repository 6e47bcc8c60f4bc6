/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at trees of files that the test has written: what is told is what the test reckons from its
 * own numbers. Times are the test's, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_look.h"
#include "process_look.h"
#include "skein/status.h"
#include "support.h"
#include "top_scan.h"

#define S UINT64_C(1000000000)

static char *root; /* of the tree; a test at a time */

static void setup(void)
{
    root = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&root);
}

/* Writes "root/path" with all folders above it. */
static void put(const char *path, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *p = whole + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(whole, 0700);
        *p = '/';
    }
    /* In place: who has the file open reads the new text, as the kernel's are read. */
    FILE *file = fopen(whole, "r+");
    if (file == NULL)
        file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fflush(file);
    ck_assert_int_eq(ftruncate(fileno(file), (off_t)strlen(text)), 0);
    fclose(file);
}

static const char *at(const char *path)
{
    static char whole[2][1024];
    static unsigned turn;
    turn ^= 1;
    snprintf(whole[turn], sizeof whole[turn], "%s/%s", root, path);
    return whole[turn];
}

/* ---- the host ---- */

struct wanted {
    const char *name;
    double value;
    const char *unit;
    unsigned seen;
};
struct check {
    struct wanted *wanted;
    size_t all;
    uint64_t at_ns;
};

static void value_check(void *context, const char *name, const char *unit, uint64_t at_ns,
                        double value)
{
    struct check *check = context;
    if (at_ns != check->at_ns)
        return;
    check->all++;
    for (struct wanted *w = check->wanted; w->name != NULL; w++) {
        if (strcmp(w->name, name) != 0)
            continue;
        must_hold(value > w->value - 1e-6 && value < w->value + 1e-6, "%s is %f, not %f", name,
                  value, w->value);
        must_hold(strcmp(unit, w->unit) == 0, "%s has the unit %s", name, unit);
        w->seen++;
    }
}

static size_t values_check(struct vitals_store *store, uint64_t at_ns, struct wanted *wanted)
{
    struct check check = {wanted, 0, at_ns};
    store_values_each(store, 0, UINT64_MAX, value_check, &check);
    for (; wanted->name != NULL; wanted++)
        must_hold(wanted->seen == 1, "%s was seen %u times", wanted->name, wanted->seen);
    return check.all;
}

static void host_tree_first(void)
{
    put("stat", "cpu  100 10 50 1000 20 1 2 3 0 0\ncpu0 60 5 25 500 10 1 1 2 0 0\n"
                "cpu1 40 5 25 500 10 0 1 1 0 0\nintr 5 0 0\nctxt 1000\nprocesses 70\n"
                "procs_running 3\nprocs_blocked 1\n");
    put("loadavg", "2.50 1.00 1.00 3/100 77\n");
    put("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
    put("pressure/io", "some avg10=0 total=5000\nfull avg10=0 total=4000\n");
    put("pressure/memory", "some avg10=0 total=0\nfull avg10=0 total=0\n");
    put("meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nDirty: 7 kB\n");
    put("vmstat", "pgfault 1000\npgmajfault 10\npswpin 0\npgscan_direct 5\noom_kill 2\n");
    put("diskstats", "   8 0 sda 10 0 80 5 20 0 160 15 3 100 200\n"
                     "   8 1 sda1 10 0 80 5 20 0 160 15 3 100 200\n"
                     "   8 16 idle 0 0 0 0 0 0 0 0 0 0 0\n");
    put("net/dev", "Inter-| x\n face |y\n eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"
                   " none: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    put("net/snmp", "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 12 1000 7\n");
    put("net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 1 2\n");
}

static void host_tree_second(void)
{
    put("stat", "cpu  150 10 60 1100 60 1 2 3 0 0\ncpu0 100 5 25 530 40 1 1 2 0 0\n"
                "cpu1 50 5 35 570 20 0 1 1 0 0\nintr 5 0 0\nctxt 1500\nprocesses 72\n"
                "procs_running 9\nprocs_blocked 0\n");
    put("loadavg", "3.25 1.00 1.00 3/100 77\n");
    put("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n");
    put("pressure/io", "some avg10=0 total=2005000\nfull avg10=0 total=204000\n");
    put("meminfo", "MemTotal: 1000 kB\nMemFree: 90 kB\nMemAvailable: 300 kB\nDirty: 8 kB\n");
    put("vmstat", "pgfault 1400\npgmajfault 20\npswpin 6\npgscan_direct 5\noom_kill 3\n");
    put("diskstats", "   8 0 sda 20 0 280 55 50 0 560 195 40 1100 80200\n"
                     "   8 1 sda1 10 0 80 5 20 0 160 15 3 100 200\n"
                     "   8 16 idle 0 0 0 0 0 0 0 0 0 0 0\n");
    put("net/dev", "Inter-| x\n face |y\n eth0: 1100 3 4 2 0 0 0 0 200 2 0 6 0 0 0 0\n"
                   " none: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    put("net/snmp", "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 13 1100 27\n");
    put("net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 11 2\n");
}

START_TEST(a_host_is_told_as_its_files_say)
{
    struct vitals_store *store;
    struct host_look *look;
    double hz = (double)sysconf(_SC_CLK_TCK);
    struct wanted first[] = {{"host.run_queue", 3, "", 0},
                             {"host.load", 2.5, "", 0},
                             {"host.memory.dirty", 7 * 1024, "bytes", 0},
                             {"host.disk.sda.in_flight", 3, "", 0},
                             {NULL, 0, NULL, 0}};
    struct wanted second[] = {{"host.cpu.user", 50 / hz / 2 / 2 * 100, "%", 0},
                              {"host.cpu.system", 10 / hz / 2 / 2 * 100, "%", 0},
                              {"host.cpu.iowait", 40 / hz / 2 / 2 * 100, "%", 0},
                              {"host.cpu.steal", 0, "%", 0},
                              {"host.cpu0.busy", 40 / hz / 2 * 100, "%", 0},
                              {"host.cpu1.busy", 20 / hz / 2 * 100, "%", 0},
                              {"host.switches", 250, "/s", 0},
                              {"host.forks", 1, "/s", 0},
                              {"host.run_queue", 9, "", 0},
                              {"host.blocked", 0, "", 0},
                              {"host.load", 3.25, "", 0},
                              {"host.pressure.cpu.some", 25, "%", 0},
                              {"host.pressure.io.some", 100, "%", 0},
                              {"host.pressure.io.full", 10, "%", 0},
                              {"host.pressure.memory.full", 0, "%", 0},
                              {"host.memory.available", 300 * 1024, "bytes", 0},
                              {"host.faults", 200, "/s", 0},
                              {"host.faults.major", 5, "/s", 0},
                              {"host.swap.in", 3, "pages/s", 0},
                              {"host.reclaim.scanned.direct", 0, "pages/s", 0},
                              {"host.oom_kills", 0.5, "/s", 0},
                              {"host.disk.sda.reads", 5, "/s", 0},
                              {"host.disk.sda.writes", 15, "/s", 0},
                              {"host.disk.sda.read", 200 * 512 / 2.0, "bytes/s", 0},
                              {"host.disk.sda.written", 400 * 512 / 2.0, "bytes/s", 0},
                              {"host.disk.sda.await", 230.0 / 40, "ms", 0},
                              {"host.disk.sda.in_flight", 40, "", 0},
                              {"host.disk.sda.queue", 40, "", 0},
                              {"host.disk.sda.util", 50, "%", 0},
                              {"host.net.eth0.received", 500, "bytes/s", 0},
                              {"host.net.eth0.received.packets", 1, "/s", 0},
                              {"host.net.eth0.received.errors", 2, "/s", 0},
                              {"host.net.eth0.received.drops", 1, "/s", 0},
                              {"host.net.eth0.sent.drops", 3, "/s", 0},
                              {"host.tcp.established", 13, "", 0},
                              {"host.tcp.retransmits", 10, "/s", 0},
                              {"host.tcp.listen_overflows", 5, "/s", 0},
                              {"host.tcp.listen_drops", 0, "/s", 0},
                              {NULL, 0, NULL, 0}};
    host_tree_first();
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    ck_assert_int_eq(host_look_new(root, &look), SKEIN_OK);
    host_look_take(look, store, 10 * S);
    values_check(store, 10 * S, first);
    host_tree_second();
    host_look_take(look, store, 12 * S);
    size_t all = values_check(store, 12 * S, second);
    /* Of user, nice, idle and so on; nothing of a partition, of what never did anything. */
    ck_assert_uint_ge(all, sizeof second / sizeof *second - 1);
    ck_assert_uint_lt(all, 70);
    host_look_free(&look);
    vitals_store_free(&store);
}
END_TEST

/* The kernel's ticks are of the file's reading, which is a little behind the look's time. */
START_TEST(no_core_is_busy_for_more_than_all_of_the_time)
{
    struct vitals_store *store;
    struct host_look *look;
    struct wanted wanted[] = {{"host.cpu0.busy", 100, "%", 0},
                              {"host.cpu1.busy", 25, "%", 0},
                              {"host.cpu.user", 62.5, "%", 0},
                              {"host.cpu.idle", 37.5, "%", 0},
                              {NULL, 0, NULL, 0}};
    host_tree_first();
    put("stat", "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 50 0 0 50 0 0 0 0 0 0\n"
                "cpu1 50 0 0 50 0 0 0 0 0 0\n");
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    ck_assert_int_eq(host_look_new(root, &look), SKEIN_OK);
    host_look_take(look, store, 10 * S);
    put("stat", "cpu  115 0 0 109 0 0 0 0 0 0\ncpu0 62 0 0 50 0 0 0 0 0 0\n"
                "cpu1 53 0 0 59 0 0 0 0 0 0\n");
    host_look_take(look, store, 10 * S + S / 10);
    values_check(store, 10 * S + S / 10, wanted);
    host_look_free(&look);
    vitals_store_free(&store);
}
END_TEST

START_TEST(files_that_are_odd_or_missing_tell_nothing)
{
    static const char *const names[] = {
        "stat",   "loadavg",   "pressure/cpu", "pressure/io", "pressure/memory", "meminfo",
        "vmstat", "diskstats", "net/dev",      "net/snmp",    "net/netstat"};
    static const char *const texts[] = {"",
                                        "\n\n\n",
                                        "cpu",
                                        "cpu \ncpu99999999999999999999 1 2 3 4 5 6 7 8\n",
                                        "18446744073709551616 99999999999999999999999\n",
                                        "Tcp:\nTcp:\nTcpExt:",
                                        ": 1 2 3 4 5 6 7 8 9 10 11 12\n",
                                        "some total=x\nfull total=\n"};
    struct vitals_store *store;
    struct host_look *look;
    struct wanted none[] = {{NULL, 0, NULL, 0}};
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            put(names[i], texts[t]);
        ck_assert_int_eq(host_look_new(root, &look), SKEIN_OK);
        host_look_take(look, store, (t + 1) * S);
        ck_assert_uint_eq(values_check(store, (t + 1) * S, none), 0);
        host_look_free(&look);
    }
    ck_assert_int_eq(host_look_new("/nowhere", &look), SKEIN_OK);
    host_look_take(look, store, 100 * S);
    ck_assert_uint_eq(values_check(store, 100 * S, none), 0);
    host_look_free(&look);
    vitals_store_free(&store);
}
END_TEST

START_TEST(a_text_that_is_too_long_is_cut_behind_a_whole_line)
{
    struct vitals_store *store;
    struct host_look *look;
    struct wanted wanted[] = {{"host.run_queue", 4, "", 0}, {NULL, 0, NULL, 0}};
    size_t size = 256u << 10;
    char *text = malloc(size + 100);
    ck_assert_ptr_nonnull(text);
    int n = snprintf(text, size, "procs_running 4\nintr");
    for (size_t i = (size_t)n; i < size + 99; i++)
        text[i] = i % 2 == 0 ? ' ' : '7';
    /* The room ends inside of this number. */
    memcpy(text + size - 20, "\nprocs_blocked 123456789\n", 25);
    text[size + 99] = '\0';
    put("stat", text);
    ck_assert_int_eq(vitals_store_new(&store), SKEIN_OK);
    ck_assert_int_eq(host_look_new(root, &look), SKEIN_OK);
    host_look_take(look, store, S);
    ck_assert_uint_eq(values_check(store, S, wanted), 1);
    host_look_free(&look);
    vitals_store_free(&store);
    free(text);
}
END_TEST

/* ---- a process ---- */

static void process_put(unsigned pid, const char *name, char state, unsigned user, unsigned threads,
                        unsigned start)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "%u/stat", pid);
    snprintf(text, sizeof text,
             "%u (%s) %c 1 42 42 0 -1 4194560 10 0 3 0 %u 33 0 0 20 0 %u 0 %u 1000000 250 1\n", pid,
             name, state, user, threads, start);
    put(path, text);
}

static void value_is(const struct process_row *row, enum process_counter counter, double value)
{
    must_hold(row->values[counter] > value - 1e-6 && row->values[counter] < value + 1e-6,
              "counter %d is %f, not %f", (int)counter, row->values[counter], value);
}

static void cgroup2_put(const char *stat, const char *events, const char *frozen)
{
    put("cg/cgroup.procs", "");
    put("cg/a/cpu.max", "50000 100000\n");
    put("cg/a/cpu.stat", stat);
    put("cg/a/b/cpu.max", "max 100000\n");
    put("cg/a/b/cpu.stat", "usage_usec 5\nnr_throttled 0\nthrottled_usec 0\n");
    put("cg/a/b/memory.max", "1048576\n");
    put("cg/a/b/memory.current", "524288\n");
    put("cg/a/b/memory.events", events);
    put("cg/a/b/cgroup.events", frozen);
}

START_TEST(the_cgroup_that_limits_counts)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    process_put(42, "x", 'S', 700, 2, 99);
    put("42/cgroup", "0::/a/b\n");
    put("42/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 1000\n");
    cgroup2_put("usage_usec 9\nnr_throttled 5\nthrottled_usec 1000\n", "max 3\noom_kill 0\n",
                "populated 1\nfrozen 0\n");
    process_look_init(&look, 42, 99, true);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    ck_assert(row.values[PROCESS_CPU_USER] != row.values[PROCESS_CPU_USER]); /* not known yet */
    value_is(&row, PROCESS_THREADS, 2);
    value_is(&row, PROCESS_CGROUP_CPU_LIMIT, 50);
    value_is(&row, PROCESS_CGROUP_MEMORY_LIMIT, 1048576);
    value_is(&row, PROCESS_CGROUP_MEMORY, 524288);
    value_is(&row, PROCESS_CGROUP_FROZEN, 0);
    process_put(42, "x", 'T', 900, 2, 99);
    put("42/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 5000\n");
    cgroup2_put("usage_usec 9\nnr_throttled 9\nthrottled_usec 801000\n", "max 7\noom_kill 1\n",
                "populated 1\nfrozen 1\n");
    ck_assert_int_eq(process_look(&look, &roots, 12 * S, &row), SKEIN_OK);
    ck_assert_int_eq(row.state, 'T');
    value_is(&row, PROCESS_CPU_USER, 200 / (double)sysconf(_SC_CLK_TCK) / 2 * 100);
    value_is(&row, PROCESS_CPU_SYSTEM, 0);
    value_is(&row, PROCESS_IO_WRITE, 2000);
    value_is(&row, PROCESS_IO_READ, 0);
    value_is(&row, PROCESS_CGROUP_THROTTLED, 400);
    value_is(&row, PROCESS_CGROUP_THROTTLES, 2);
    value_is(&row, PROCESS_CGROUP_MEMORY_LIMITED, 2);
    value_is(&row, PROCESS_CGROUP_OOM_KILLS, 1);
    value_is(&row, PROCESS_CGROUP_FROZEN, 1);
    process_look_fini(&look);
}
END_TEST

START_TEST(a_cgroup_of_version_1_is_read_as_well)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    process_put(42, "x", 'D', 700, 1, 99);
    put("42/cgroup", "5:freezer:/f\n4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n");
    put("cg/cpu/c/cpu.cfs_quota_us", "20000\n");
    put("cg/cpu/c/cpu.cfs_period_us", "100000\n");
    put("cg/cpu/c/cpu.stat", "nr_periods 3\nnr_throttled 1\nthrottled_time 1000000\n");
    put("cg/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    put("cg/memory/m/memory.usage_in_bytes", "777\n");
    put("cg/memory/m/memory.failcnt", "1\n");
    put("cg/freezer/f/freezer.state", "FROZEN\n");
    process_look_init(&look, 42, 99, false);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    put("cg/cpu/c/cpu.stat", "nr_periods 3\nnr_throttled 3\nthrottled_time 51000000\n");
    put("cg/memory/m/memory.failcnt", "5\n");
    ck_assert_int_eq(process_look(&look, &roots, 11 * S, &row), SKEIN_OK);
    value_is(&row, PROCESS_CGROUP_CPU_LIMIT, 20);
    value_is(&row, PROCESS_CGROUP_THROTTLED, 50);
    value_is(&row, PROCESS_CGROUP_THROTTLES, 2);
    value_is(&row, PROCESS_CGROUP_MEMORY, 777);
    value_is(&row, PROCESS_CGROUP_MEMORY_LIMITED, 4);
    value_is(&row, PROCESS_CGROUP_FROZEN, 1);
    ck_assert(row.values[PROCESS_CGROUP_MEMORY_LIMIT] != row.values[PROCESS_CGROUP_MEMORY_LIMIT]);
    process_look_fini(&look);
}
END_TEST

START_TEST(what_another_cgroup_had_is_no_growth)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    process_put(42, "x", 'S', 700, 1, 99);
    put("42/cgroup", "0::/a/b\n");
    cgroup2_put("nr_throttled 5\nthrottled_usec 1000\n", "max 3\noom_kill 0\n", "frozen 0\n");
    put("cg/other/cpu.max", "1000 100000\n");
    put("cg/other/cpu.stat", "nr_throttled 500\nthrottled_usec 9000000\n");
    process_look_init(&look, 42, 99, false); /* finds its cgroup anew each time */
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    put("42/cgroup", "0::/other\n");
    ck_assert_int_eq(process_look(&look, &roots, 11 * S, &row), SKEIN_OK);
    value_is(&row, PROCESS_CGROUP_CPU_LIMIT, 1);
    ck_assert(row.values[PROCESS_CGROUP_THROTTLED] != row.values[PROCESS_CGROUP_THROTTLED]);
    process_look_fini(&look);
}
END_TEST

/* A capture's own look may come right behind the recorder's: a tick of 10 ms would be 500 %. */
START_TEST(cpu_time_is_not_told_of_moments)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    double hz = (double)sysconf(_SC_CLK_TCK);
    process_put(42, "x", 'R', 700, 1, 99);
    process_look_init(&look, 42, 99, true);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    process_put(42, "x", 'R', 701, 1, 99);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S + S / 500, &row), SKEIN_OK);
    ck_assert(!STORE_IS_KNOWN(row.values[PROCESS_CPU_USER]));
    ck_assert(!STORE_IS_KNOWN(row.values[PROCESS_CPU_SYSTEM]));
    value_is(&row, PROCESS_THREADS, 1);
    process_put(42, "x", 'R', 750, 1, 99);
    ck_assert_int_eq(process_look(&look, &roots, 11 * S, &row), SKEIN_OK);
    value_is(&row, PROCESS_CPU_USER, 50 / hz * 100);
    process_look_fini(&look);
}
END_TEST

START_TEST(a_later_process_of_the_same_number_is_another)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    process_put(42, "x", 'S', 700, 1, 99);
    process_look_init(&look, 42, 99, true);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    process_put(42, "x", 'S', 700, 1, 100);
    ck_assert_int_eq(process_look(&look, &roots, 11 * S, &row), SKEIN_NOT_FOUND);
    process_look_fini(&look);
    process_look_init(&look, 43, 99, true);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_NOT_FOUND);
    process_look_fini(&look);
}
END_TEST

static void thread_put(unsigned tid, unsigned delay_ms, unsigned voluntary, unsigned involuntary)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "42/task/%u/schedstat", tid);
    snprintf(text, sizeof text, "1 %u000000 3\n", delay_ms);
    put(path, text);
    snprintf(path, sizeof path, "42/task/%u/status", tid);
    snprintf(text, sizeof text,
             "Name:\tx\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n", voluntary,
             involuntary);
    put(path, text);
}

START_TEST(threads_are_summed_up_though_some_end)
{
    const struct look_roots roots = {.proc = root, .cgroups = at("cg")};
    struct process_look look;
    struct process_row row;
    process_put(42, "x", 'S', 700, 3, 99);
    thread_put(42, 100, 10, 1);
    thread_put(43, 9000, 900, 90);
    thread_put(100, 5, 5, 5);
    process_look_init(&look, 42, 99, true);
    ck_assert_int_eq(process_look(&look, &roots, 10 * S, &row), SKEIN_OK);
    ck_assert(row.values[PROCESS_RUN_DELAY] != row.values[PROCESS_RUN_DELAY]);
    thread_put(42, 300, 20, 3);
    thread_put(101, 50, 4, 2);                            /* new */
    ck_assert_int_eq(unlink(at("42/task/43/status")), 0); /* has ended */
    ck_assert_int_eq(process_look(&look, &roots, 12 * S, &row), SKEIN_OK);
    value_is(&row, PROCESS_RUN_DELAY, (200 + 50) / 2.0);
    value_is(&row, PROCESS_SWITCHES_VOLUNTARY, (10 + 4) / 2.0);
    value_is(&row, PROCESS_SWITCHES_INVOLUNTARY, (2 + 2) / 2.0);
    process_put(42, "x", 'S', 700, LOOK_THREADS_MAX + 1, 99);
    ck_assert_int_eq(process_look(&look, &roots, 13 * S, &row), SKEIN_OK);
    ck_assert(row.too_many_threads);
    ck_assert(row.values[PROCESS_RUN_DELAY] != row.values[PROCESS_RUN_DELAY]);
    process_look_fini(&look);
}
END_TEST

/* ---- who is on top ---- */

START_TEST(the_ten_that_use_most_are_found)
{
    struct top_scan *scan;
    struct top_row top;
    char path[64], text[96];
    ck_assert_int_eq(top_scan_new(&scan), SKEIN_OK);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= 15; i++) {
            snprintf(text, sizeof text, "p%u", i);
            process_put(i, text, 'S', round * i * 10, 1, 99);
            snprintf(path, sizeof path, "%u/io", i);
            snprintf(text, sizeof text, "read_bytes: %u\nwrite_bytes: %u\n",
                     i <= 2 ? round * 1000 * i : 0, i <= 2 ? round * 500 : 0);
            put(path, text);
        }
        ck_assert(top_scan_step(scan, root, (10 + 2 * round) * S, 0, &top) == (round == 1));
    }
    ck_assert_uint_eq(top.processes, 15);
    ck_assert_uint_eq(top.took_ns, 2 * S);
    ck_assert_uint_eq(top.count[TOP_CPU], STORE_TOP);
    for (unsigned i = 0; i < STORE_TOP; i++) {
        ck_assert_uint_eq(top.entries[TOP_CPU][i].pid, 15 - i);
        double ticks = (15 - i) * 10.0;
        ck_assert(top.entries[TOP_CPU][i].value == ticks * 100 / (double)sysconf(_SC_CLK_TCK) / 2);
    }
    ck_assert_str_eq(top.entries[TOP_CPU][0].name, "p15");
    ck_assert_uint_eq(top.count[TOP_IO], 2);
    ck_assert_uint_eq(top.entries[TOP_IO][0].pid, 2);
    ck_assert(top.entries[TOP_IO][0].value == 1250);
    ck_assert_uint_eq(top.count[TOP_MEMORY], STORE_TOP);
    ck_assert(!top_scan_step(scan, "/nowhere", 20 * S, 0, &top));
    top_scan_free(&scan);
}
END_TEST

START_TEST(a_process_that_has_just_begun_counts_from_then)
{
    struct top_scan *scan;
    struct top_row top;
    ck_assert_int_eq(top_scan_new(&scan), SKEIN_OK);
    process_put(10, "old", 'S', 50, 1, 99);
    ck_assert(!top_scan_step(scan, root, 10 * S, 0, &top));
    process_put(20, "missed", 'S', 5000, 1, 98); /* was there, and not seen */
    process_put(30, "young", 'S', 60, 1, 150);
    ck_assert(top_scan_step(scan, root, 12 * S, 0, &top));
    ck_assert_uint_eq(top.count[TOP_CPU], 1);
    ck_assert_str_eq(top.entries[TOP_CPU][0].name, "young");
    /* The line of a process that process_put writes has 33 ticks of the system. */
    ck_assert(top.entries[TOP_CPU][0].value == 93 * 100 / (double)sysconf(_SC_CLK_TCK) / 2);
    top_scan_free(&scan);
}
END_TEST

START_TEST(a_round_goes_on_where_its_budget_ended)
{
    struct top_scan *scan;
    struct top_row top;
    unsigned steps = 0;
    ck_assert_int_eq(top_scan_new(&scan), SKEIN_OK);
    for (unsigned i = 1; i <= 20; i++)
        process_put(i, "p", 'S', 5, 1, 99);
    while (steps++ < 100 && !top_scan_step(scan, root, steps * S, 1, &top))
        ;
    /* One nanosecond suffices for a few processes at a time, twice. */
    ck_assert_uint_ge(steps, 4);
    ck_assert_uint_lt(steps, 100);
    ck_assert_uint_eq(top.processes, 20);
    top_scan_free(&scan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_look");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, a_host_is_told_as_its_files_say);
    tcase_add_test(all, no_core_is_busy_for_more_than_all_of_the_time);
    tcase_add_test(all, files_that_are_odd_or_missing_tell_nothing);
    tcase_add_test(all, a_text_that_is_too_long_is_cut_behind_a_whole_line);
    tcase_add_test(all, the_cgroup_that_limits_counts);
    tcase_add_test(all, a_cgroup_of_version_1_is_read_as_well);
    tcase_add_test(all, what_another_cgroup_had_is_no_growth);
    tcase_add_test(all, cpu_time_is_not_told_of_moments);
    tcase_add_test(all, a_later_process_of_the_same_number_is_another);
    tcase_add_test(all, threads_are_summed_up_though_some_end);
    tcase_add_test(all, the_ten_that_use_most_are_found);
    tcase_add_test(all, a_process_that_has_just_begun_counts_from_then);
    tcase_add_test(all, a_round_goes_on_where_its_budget_ended);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
