/* SPDX-License-Identifier: Apache-2.0 */
#include "proc_host.h"

#include <stdlib.h>
#include <string.h>

#include "fd_list.h"
#include "proc_text.h"
#include "support.h"

START_TEST(a_disk_is_a_line_of_its_own)
{
    const char *at =
        "   7       0 loop0 1 2 3\n"
        "   8       0 sda 10 1 80 5 20 2 160 7 3 11 19 0 0 0 0 4 5\n"
        "   8       1 a-name-of-more-than-31-characters-is-no-disk 1 2 3 4 5 6 7 8 9 1 1\n"
        "   8      16 sdb 18446744073709551616 1 2 3 4 5 6 7 8 9 10\n"
        "   9       0 m\x01\xff 1 2 3 4 5 6 7 8 9 10 11\n"
        "   9       1 last 1 2 3 4 5 6 7 8 9 10";
    struct proc_disk disk = {.name = ""};
    ck_assert(proc_disk_next(&at, &disk));
    ck_assert_str_eq(disk.name, "sda");
    ck_assert_uint_eq(disk.reads, 10);
    ck_assert_uint_eq(disk.read_sectors, 80);
    ck_assert_uint_eq(disk.read_ms, 5);
    ck_assert_uint_eq(disk.writes, 20);
    ck_assert_uint_eq(disk.write_sectors, 160);
    ck_assert_uint_eq(disk.write_ms, 7);
    ck_assert_uint_eq(disk.in_flight, 3);
    ck_assert_uint_eq(disk.busy_ms, 11);
    ck_assert_uint_eq(disk.weighted_ms, 19);
    ck_assert(proc_disk_next(&at, &disk));
    ck_assert_str_eq(disk.name, "m__");
    ck_assert(!proc_disk_next(&at, &disk));
    ck_assert(!proc_disk_next(&at, &disk));
}
END_TEST

START_TEST(a_partition_belongs_to_its_disk)
{
    ck_assert(proc_disk_is_part("sda1", "sda"));
    ck_assert(proc_disk_is_part("nvme0n1p12", "nvme0n1"));
    ck_assert(!proc_disk_is_part("sda", "sda"));
    ck_assert(!proc_disk_is_part("sdaa", "sda"));
    ck_assert(!proc_disk_is_part("md127", "md1"));
    ck_assert(!proc_disk_is_part("dm-10", "dm-1"));
    ck_assert(!proc_disk_is_part("nvme0n1p", "nvme0n1"));
    ck_assert(!proc_disk_is_part("sda1", ""));
}
END_TEST

START_TEST(an_interface_is_a_line_of_its_own)
{
    const char *at = "Inter-|   Receive\n face |bytes packets\n"
                     "    lo: 100 2 3 4 0 0 0 0 200 5 6 7 0 0 0 0\n"
                     "  eth0:1 2 3\n"
                     "  eth1:11 12 13 14 15 16 17 18 19 20 21 22";
    struct proc_interface i = {.name = ""};
    ck_assert(proc_interface_next(&at, &i));
    ck_assert_str_eq(i.name, "lo");
    ck_assert_uint_eq(i.rx_bytes, 100);
    ck_assert_uint_eq(i.rx_packets, 2);
    ck_assert_uint_eq(i.rx_errors, 3);
    ck_assert_uint_eq(i.rx_drops, 4);
    ck_assert_uint_eq(i.tx_bytes, 200);
    ck_assert_uint_eq(i.tx_drops, 7);
    ck_assert(proc_interface_next(&at, &i));
    ck_assert_str_eq(i.name, "eth1");
    ck_assert_uint_eq(i.tx_packets, 20);
    ck_assert(!proc_interface_next(&at, &i));
}
END_TEST

START_TEST(loads_and_delays_are_numbers)
{
    double load = 9;
    uint64_t run = 9, delay = 9;
    ck_assert_int_eq(proc_parse_load("12.05 0.47 1.32 1/122 6670\n", &load), SKEIN_OK);
    ck_assert(load > 12.0499 && load < 12.0501);
    ck_assert_int_eq(proc_parse_load("12", &load), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_load("1. 5", &load), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_load(".5", &load), SKEIN_CORRUPT);
    ck_assert_int_eq(proc_parse_schedstat("84066 48823 2\n", &run, &delay), SKEIN_OK);
    ck_assert_uint_eq(run, 84066);
    ck_assert_uint_eq(delay, 48823);
    ck_assert_int_eq(proc_parse_schedstat("84067\n48823", &run, &delay), SKEIN_CORRUPT);
    ck_assert_uint_eq(run, 84066);
    ck_assert_uint_eq(delay, 48823);
}
END_TEST

START_TEST(a_key_is_a_whole_word)
{
    uint64_t value = 9;
    const char *text = "pgfault_x 1\npgfault 2\nDirty:   3 kB\nDirtyer: 4\nempty\nword a\n";
    ck_assert(text_value(text, "pgfault", &value));
    ck_assert_uint_eq(value, 2);
    ck_assert(text_value(text, "Dirty", &value));
    ck_assert_uint_eq(value, 3);
    ck_assert(!text_value(text, "fault", &value));
    ck_assert(!text_value(text, "empty", &value));
    ck_assert(!text_value(text, "word", &value));
    ck_assert_uint_eq(value, 3);
}
END_TEST

START_TEST(a_last_number_is_of_the_line)
{
    uint64_t value = 9;
    const char *text = "Pid:\t7\nNSpid:\t4711\t12\t1\nNSpgid:\t5\nNone:\n3\nCut:\t8 2";
    ck_assert(text_last_number(text, "NSpid:", &value));
    ck_assert_uint_eq(value, 1);
    ck_assert(text_last_number(text, "Pid:", &value));
    ck_assert_uint_eq(value, 7);
    ck_assert(text_last_number(text, "Cut:", &value));
    ck_assert_uint_eq(value, 2);
    ck_assert(!text_last_number(text, "None:", &value));
    ck_assert(!text_last_number(text, "spid:", &value));
    ck_assert_uint_eq(value, 2);
}
END_TEST

START_TEST(a_column_has_its_name_a_line_above)
{
    uint64_t value = 9;
    const char *text = "Ip: A B\nIp: 1 2\nTcp: A Retrans C\nTcp: -1 22 3\nUdp: X\n";
    ck_assert(text_column(text, "Tcp:", "Retrans", &value));
    ck_assert_uint_eq(value, 22);
    ck_assert(text_column(text, "Ip:", "B", &value));
    ck_assert_uint_eq(value, 2);
    ck_assert(!text_column(text, "Tcp:", "A", &value)); /* -1 */
    ck_assert(!text_column(text, "Tcp:", "D", &value));
    ck_assert(!text_column(text, "Udp:", "X", &value));
    ck_assert(!text_column("Tcp: A B\nTcp: 1", "Tcp:", "B", &value));
    ck_assert_uint_eq(value, 2);
}
END_TEST

START_TEST(a_descriptor_is_what_its_link_says)
{
    static const struct {
        const char *link, *kind, *path;
        uint64_t inode;
    } cases[] = {{"/var/log/a b (deleted)", "file", "/var/log/a b (deleted)", 0},
                 {"socket:[4242]", "socket", NULL, 4242},
                 {"pipe:[7]", "pipe", NULL, 7},
                 {"net:[4026531840]", "namespace", NULL, 4026531840},
                 {"anon_inode:[eventpoll]", "eventpoll", NULL, 0},
                 {"anon_inode:inotify", "inotify", NULL, 0},
                 {"anon_inode:[]", "", NULL, 0},
                 {"anon_inode:[a-name-of-more-than-31-characters-here]",
                  "a-name-of-more-than-31-characte", NULL, 0},
                 {"/memfd:skein (deleted)", "memfd", "skein (deleted)", 0},
                 {"/socket:[7]", "file", "/socket:[7]", 0},
                 {"socket:[x]", "file", "socket:[x]", 0},
                 {"", "file", "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fd_row row;
        ck_assert(fd_link_parse(cases[i].link, &row));
        ck_assert_str_eq(row.kind, cases[i].kind);
        ck_assert_uint_eq(row.inode, cases[i].inode);
        ck_assert((row.path == NULL) == (cases[i].path == NULL));
        if (row.path != NULL)
            ck_assert_str_eq(row.path, cases[i].path);
        free(row.path);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("proc_host", a_disk_is_a_line_of_its_own,
                              a_partition_belongs_to_its_disk, an_interface_is_a_line_of_its_own,
                              loads_and_delays_are_numbers, a_key_is_a_whole_word,
                              a_last_number_is_of_the_line, a_column_has_its_name_a_line_above,
                              a_descriptor_is_what_its_link_says, NULL));
}
