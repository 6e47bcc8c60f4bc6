/* SPDX-License-Identifier: Apache-2.0 */
#include "proc_load.h"

#include <string.h>

#include "cgroup_place.h"
#include "support.h"

START_TEST(a_process_name_that_looks_like_fields_deceives_nobody)
{
    struct proc_stat stat;
    const char *text = "42 (a) R 1 2 3) S 1 42 42 0 -1 4194560 10 0 0 0 700 33 0 0 20 0 4 0 987654 "
                       "1000000 250 18446744073709551615\n";
    ck_assert_int_eq(proc_parse_stat(text, &stat), SKEIN_OK);
    ck_assert_str_eq(stat.name, "a) R 1 2 3");
    ck_assert_int_eq(stat.state, 'S');
    ck_assert_uint_eq(stat.minor_faults, 10);
    ck_assert_uint_eq(stat.major_faults, 0);
    ck_assert_uint_eq(stat.user_ticks, 700);
    ck_assert_uint_eq(stat.system_ticks, 33);
    ck_assert_uint_eq(stat.threads, 4);
    ck_assert_uint_eq(stat.start_ticks, 987654);
    ck_assert_uint_eq(stat.resident_pages, 250);
}
END_TEST

START_TEST(every_shorter_stat_is_refused_or_the_same)
{
    char text[] = "42 (x) S 1 42 42 0 -1 4194560 10 0 0 0 700 33 0 0 20 0 4 0 987654 1000000 250";
    for (size_t n = sizeof text - 1; n-- > 0;) {
        struct proc_stat stat = {.user_ticks = 1, .start_ticks = 2};
        text[n] = '\0';
        if (proc_parse_stat(text, &stat) == SKEIN_OK)
            ck_assert_uint_eq(stat.start_ticks, 987654); /* digits of the last number are missing */
        else
            ck_assert(stat.user_ticks == 1 && stat.start_ticks == 2);
    }
}
END_TEST

START_TEST(a_host_is_busy_with_all_but_idle_and_waiting)
{
    uint64_t busy = 0;
    ck_assert_int_eq(
        proc_parse_host_cpu("cpu  10 1 5 1000 50 2 3 4 7 0\ncpu0 1 1 1 1 1 1 1 1\n", &busy),
        SKEIN_OK);
    ck_assert_uint_eq(busy, 25);
    ck_assert_int_eq(proc_parse_host_cpu("cpu0 1 1 1 1 1 1 1 1\n", &busy), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_host_cpu("cpu  1 2 3\n4 5 6 7 8\n", &busy), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_host_cpu("cpu  18446744073709551615 1 0 0 0 0 0 0 0 0\n", &busy),
                     SKEIN_CORRUPT);
    ck_assert_uint_eq(busy, 25);
}
END_TEST

START_TEST(memory_is_read_in_bytes)
{
    uint64_t total = 0, available = 0, pages = 0;
    const char *text = "MemTotal:        2048 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\n";
    ck_assert_int_eq(proc_parse_meminfo(text, &total, &available), SKEIN_OK);
    ck_assert_uint_eq(total, 2048 * 1024);
    ck_assert_uint_eq(available, 512 * 1024);
    ck_assert_int_eq(proc_parse_meminfo("MemTotal: 1 kB\nMemAvailable: 2 kB\n", &total, &available),
                     SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_statm("1000 250 3 4 5 6 7\n", &pages), SKEIN_OK);
    ck_assert_uint_eq(pages, 250);
    ck_assert_int_eq(proc_parse_statm("1000\n", &pages), SKEIN_CORRUPT);
}
END_TEST

START_TEST(pressure_is_read_from_its_own_line)
{
    uint64_t us = 0;
    const char *text = "some avg10=1.00 avg60=0.10 avg300=0.00 total=4567\n"
                       "full avg10=0.00 avg60=0.00 avg300=0.00 total=89\n";
    ck_assert_int_eq(proc_parse_pressure(text, false, &us), SKEIN_OK);
    ck_assert_uint_eq(us, 4567);
    ck_assert_int_eq(proc_parse_pressure(text, true, &us), SKEIN_OK);
    ck_assert_uint_eq(us, 89);
    ck_assert_int_eq(proc_parse_pressure("some avg10=1.00\nfull avg10=0 total=1\n", false, &us),
                     SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_pressure("some avg10=0.00 total=1\n", true, &us), SKEIN_NOT_FOUND);
}
END_TEST

START_TEST(a_cgroup_path_may_not_climb)
{
    char path[32] = "kept";
    ck_assert_int_eq(
        proc_parse_cgroup("1:cpu:/old\n0::/a..b/redis..service\n", NULL, path, sizeof path),
        SKEIN_OK);
    ck_assert_str_eq(path, "/a..b/redis..service");
    ck_assert_int_eq(proc_parse_cgroup("0::/../../etc\n", NULL, path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("0::/a/..", NULL, path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("0::relative\n", NULL, path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(
        proc_parse_cgroup("0::/0123456789012345678901234567890\n", NULL, path, sizeof path),
        SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("1:cpu:/old\n", NULL, path, sizeof path), SKEIN_NOT_FOUND);
    ck_assert_str_eq(path, "/a..b/redis..service");
}
END_TEST

START_TEST(a_controller_of_version_1_has_a_path_of_its_own)
{
    char path[32];
    const char *text = "9:name=systemd:/init\n4:cpu,cpuacct:/db\n2:cpuset:/\n0::/unified\n";
    ck_assert_int_eq(proc_parse_cgroup(text, "cpu", path, sizeof path), SKEIN_OK);
    ck_assert_str_eq(path, "/db");
    ck_assert_int_eq(proc_parse_cgroup(text, "cpuset", path, sizeof path), SKEIN_OK);
    ck_assert_str_eq(path, "/");
    ck_assert_int_eq(proc_parse_cgroup(text, NULL, path, sizeof path), SKEIN_OK);
    ck_assert_str_eq(path, "/unified");
    ck_assert_int_eq(proc_parse_cgroup(text, "memory", path, sizeof path), SKEIN_NOT_FOUND);
    ck_assert_int_eq(proc_parse_cgroup(text, "db", path, sizeof path), SKEIN_NOT_FOUND);
    ck_assert_int_eq(proc_parse_cgroup("4:cpu", "cpu", path, sizeof path), SKEIN_NOT_FOUND);
    ck_assert_int_eq(proc_parse_cgroup("4:cpu:", "cpu", path, sizeof path), SKEIN_CORRUPT);
}
END_TEST

START_TEST(a_limit_of_cpu_is_in_percent_of_a_core)
{
    double percent = 1;
    ck_assert_int_eq(proc_parse_cpu_max("150000 100000\n", &percent), SKEIN_OK);
    ck_assert(percent == 150);
    ck_assert_int_eq(proc_parse_cpu_max("max 100000\n", &percent), SKEIN_NOT_FOUND);
    ck_assert_int_eq(proc_parse_cpu_max("1000 0\n", &percent), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cpu_max("1000\n", &percent), SKEIN_CORRUPT);
    ck_assert(percent == 150);
}
END_TEST

START_TEST(cores_are_told_one_by_one)
{
    const char *at = "cpu  10 1 5 1000 50 2 3 4 7 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2\n"
                     "cpu17 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
    struct proc_cpu cpu;
    int core = 5;
    ck_assert(proc_cpu_next(&at, &core, &cpu));
    ck_assert_int_eq(core, -1);
    ck_assert_uint_eq(cpu.ticks[PROC_CPU_STEAL], 4);
    ck_assert(proc_cpu_next(&at, &core, &cpu));
    ck_assert_int_eq(core, 0);
    ck_assert_uint_eq(cpu.ticks[PROC_CPU_IOWAIT], 5);
    ck_assert(proc_cpu_next(&at, &core, &cpu));
    ck_assert_int_eq(core, 17); /* the line of 1 is not whole */
    ck_assert(!proc_cpu_next(&at, &core, &cpu));
    ck_assert_int_eq(core, 17);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "proc_load", a_process_name_that_looks_like_fields_deceives_nobody,
        every_shorter_stat_is_refused_or_the_same, a_host_is_busy_with_all_but_idle_and_waiting,
        memory_is_read_in_bytes, pressure_is_read_from_its_own_line, a_cgroup_path_may_not_climb,
        a_controller_of_version_1_has_a_path_of_its_own, a_limit_of_cpu_is_in_percent_of_a_core,
        cores_are_told_one_by_one, NULL));
}
