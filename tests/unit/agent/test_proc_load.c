/* SPDX-License-Identifier: Apache-2.0 */
#include "proc_load.h"

#include <string.h>

#include "support.h"

START_TEST(a_process_name_that_looks_like_fields_deceives_nobody)
{
    uint64_t cpu = 0, start = 0;
    const char *text = "42 (a) R 1 2 3) S 1 42 42 0 -1 4194560 10 0 0 0 700 33 0 0 20 0 4 0 987654 "
                       "1000000 250 18446744073709551615\n";
    ck_assert_int_eq(proc_parse_stat(text, &cpu, &start), SKEIN_OK);
    ck_assert_uint_eq(cpu, 733);
    ck_assert_uint_eq(start, 987654);
}
END_TEST

START_TEST(every_shorter_stat_is_refused_or_the_same)
{
    char text[] = "42 (x) S 1 42 42 0 -1 4194560 10 0 0 0 700 33 0 0 20 0 4 0 987654";
    for (size_t n = sizeof text - 1; n-- > 0;) {
        uint64_t cpu = 1, start = 2;
        text[n] = '\0';
        if (proc_parse_stat(text, &cpu, &start) == SKEIN_OK)
            ck_assert_uint_eq(cpu, 733); /* only digits of the last number are missing */
        else
            ck_assert(cpu == 1 && start == 2);
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
    ck_assert_int_eq(proc_parse_cgroup("1:cpu:/old\n0::/a..b/redis..service\n", path, sizeof path),
                     SKEIN_OK);
    ck_assert_str_eq(path, "/a..b/redis..service");
    ck_assert_int_eq(proc_parse_cgroup("0::/../../etc\n", path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("0::/a/..", path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("0::relative\n", path, sizeof path), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("0::/0123456789012345678901234567890\n", path, sizeof path),
                     SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_cgroup("1:cpu:/old\n", path, sizeof path), SKEIN_NOT_FOUND);
    ck_assert_str_eq(path, "/a..b/redis..service");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("proc_load", a_process_name_that_looks_like_fields_deceives_nobody,
                              every_shorter_stat_is_refused_or_the_same,
                              a_host_is_busy_with_all_but_idle_and_waiting, memory_is_read_in_bytes,
                              pressure_is_read_from_its_own_line, a_cgroup_path_may_not_climb,
                              NULL));
}
