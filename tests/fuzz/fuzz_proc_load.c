/* SPDX-License-Identifier: Apache-2.0
 * Texts of /proc and of cgroups: every parser sees every text. */
#include <stdlib.h>
#include <string.h>

#include "cgroup_place.h"
#include "fd_list.h"
#include "fuzz_target.h"
#include "proc_host.h"
#include "proc_load.h"
#include "proc_text.h"

static void name_check(const char *name, size_t bytes)
{
    if (memchr(name, '\0', bytes) == NULL || name[0] == '\0' || strpbrk(name, " \n\t\x7f") != NULL)
        abort();
}

static void lines_take(const char *text)
{
    struct proc_disk disk;
    struct proc_interface interface;
    struct proc_cpu cpu;
    int core;
    for (const char *at = text; proc_disk_next(&at, &disk);) {
        name_check(disk.name, sizeof disk.name);
        (void)proc_disk_is_part(disk.name, text);
    }
    for (const char *at = text; proc_interface_next(&at, &interface);)
        name_check(interface.name, sizeof interface.name);
    for (const char *at = text; proc_cpu_next(&at, &core, &cpu);)
        (void)proc_cpu_busy(&cpu);
}

static void process_take(const char *text)
{
    struct proc_stat stat;
    struct fd_row row;
    uint64_t a = 0, b = 0;
    double load;
    if (proc_parse_stat(text, &stat) == SKEIN_OK &&
        (memchr(stat.name, '\0', sizeof stat.name) == NULL || stat.state <= ' ' ||
         stat.user_ticks > UINT64_MAX - stat.system_ticks))
        abort();
    (void)proc_parse_statm(text, &a);
    (void)proc_parse_schedstat(text, &a, &b);
    (void)proc_parse_load(text, &load);
    (void)proc_parse_cpu_max(text, &load);
    (void)text_value(text, "oom_kill", &a);
    (void)text_column(text, "Tcp:", "RetransSegs", &a);
    (void)text_last_number(text, "NSpid:", &a);
    if (fd_link_parse(text, &row)) {
        if (memchr(row.kind, '\0', sizeof row.kind) == NULL)
            abort();
        free(row.path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1), path[64] = "";
    uint64_t a = 0, b = 0;
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    process_take(text);
    lines_take(text);
    (void)proc_parse_host_cpu(text, &a);
    if (proc_parse_meminfo(text, &a, &b) == SKEIN_OK && (a == 0 || b > a))
        abort();
    (void)proc_parse_pressure(text, false, &a);
    (void)proc_parse_pressure(text, true, &a);
    for (unsigned i = 0; i < 2; i++)
        if (proc_parse_cgroup(text, i == 0 ? NULL : "cpu", path, sizeof path) == SKEIN_OK &&
            (path[0] != '/' || strstr(path, "/../") != NULL))
            abort();
    free(text);
    return 0;
}
