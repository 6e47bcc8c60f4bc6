/* SPDX-License-Identifier: Apache-2.0
 * Texts of /proc and of cgroups: every parser sees every text. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "proc_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1), path[64] = "";
    uint64_t a = 0, b = 0;
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    struct proc_stat stat;
    (void)proc_parse_stat(text, &stat);
    (void)proc_parse_host_cpu(text, &a);
    (void)proc_parse_statm(text, &a);
    if (proc_parse_meminfo(text, &a, &b) == SKEIN_OK && (a == 0 || b > a))
        abort();
    (void)proc_parse_pressure(text, false, &a);
    (void)proc_parse_pressure(text, true, &a);
    if (proc_parse_cgroup(text, NULL, path, sizeof path) == SKEIN_OK &&
        (path[0] != '/' || strstr(path, "/../") != NULL))
        abort();
    free(text);
    return 0;
}
