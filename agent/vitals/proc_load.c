/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers out of texts of the kernel; see proc_load.h. Pure, bounded by the text's end.
 */
#include "proc_load.h"

#include <string.h>

#include "proc_text.h"

int proc_parse_stat(const char *text, struct proc_stat *stat)
{
    struct proc_stat s = {.state = 0};
    uint64_t skipped;
    const char *fields = text_stat(text, s.name, sizeof s.name);
    if (fields == NULL)
        return SKEIN_CORRUPT;
    s.state = fields[0];
    const char *at = text_words_skip(fields, 7); /* 3 to 9 */
    if (at == NULL || !text_number(&at, &s.minor_faults) || !text_number(&at, &skipped) ||
        !text_number(&at, &s.major_faults) || !text_number(&at, &skipped) ||
        !text_number(&at, &s.user_ticks) || !text_number(&at, &s.system_ticks) ||
        s.user_ticks > UINT64_MAX - s.system_ticks)
        return SKEIN_CORRUPT;
    at = text_words_skip(at, 4); /* 16 to 19 */
    if (at == NULL || !text_number(&at, &s.threads) || !text_number(&at, &skipped) ||
        !text_number(&at, &s.start_ticks) || !text_number(&at, &skipped) ||
        !text_number(&at, &s.resident_pages))
        return SKEIN_CORRUPT;
    *stat = s;
    return SKEIN_OK;
}

bool proc_cpu_next(const char **at, int *core, struct proc_cpu *cpu)
{
    for (const char *line = *at; line != NULL;) {
        const char *next = text_line_next(line);
        uint64_t number = 0, sum = 0;
        struct proc_cpu found;
        bool whole = strncmp(line, "cpu", 3) == 0;
        const char *p = line + (whole ? 3 : 0);
        bool numbered = whole && *p != ' ' && text_number(&p, &number);
        whole = whole && *p == ' ' && number <= INT32_MAX &&
                text_numbers(&p, found.ticks, PROC_CPU_MODES);
        for (size_t i = 0; whole && i < PROC_CPU_MODES; i++) {
            whole = found.ticks[i] <= UINT64_MAX - sum;
            sum += whole ? found.ticks[i] : 0;
        }
        line = next;
        if (!whole)
            continue;
        *at = next != NULL ? next : "";
        *core = numbered ? (int)number : -1;
        *cpu = found;
        return true;
    }
    *at = "";
    return false;
}

uint64_t proc_cpu_busy(const struct proc_cpu *cpu)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < PROC_CPU_MODES; i++)
        busy += i == PROC_CPU_IDLE || i == PROC_CPU_IOWAIT ? 0 : cpu->ticks[i];
    return busy;
}

int proc_parse_host_cpu(const char *text, uint64_t *busy_ticks)
{
    struct proc_cpu cpu;
    int core;
    if (!proc_cpu_next(&text, &core, &cpu) || core != -1)
        return SKEIN_CORRUPT;
    *busy_ticks = proc_cpu_busy(&cpu);
    return SKEIN_OK;
}

int proc_parse_statm(const char *text, uint64_t *resident_pages)
{
    const char *at = text;
    uint64_t size;
    return text_number(&at, &size) && text_number(&at, resident_pages) ? SKEIN_OK : SKEIN_CORRUPT;
}

int proc_parse_meminfo_row(const char *text, const char *key, uint64_t *bytes)
{
    uint64_t kb;
    if (!text_value(text, key, &kb))
        return SKEIN_NOT_FOUND;
    if (kb > UINT64_MAX / 1024)
        return SKEIN_CORRUPT;
    *bytes = kb * 1024;
    return SKEIN_OK;
}

int proc_parse_meminfo(const char *text, uint64_t *total_bytes, uint64_t *available_bytes)
{
    uint64_t total, available;
    if (proc_parse_meminfo_row(text, "MemTotal", &total) != SKEIN_OK ||
        proc_parse_meminfo_row(text, "MemAvailable", &available) != SKEIN_OK || total == 0 ||
        available > total)
        return SKEIN_CORRUPT;
    *total_bytes = total;
    *available_bytes = available;
    return SKEIN_OK;
}

int proc_parse_pressure(const char *text, bool full, uint64_t *total_us)
{
    const char *at = text_line_find(text, full ? "full " : "some ");
    if (at == NULL)
        return SKEIN_NOT_FOUND;
    const char *end = strchr(at, '\n');
    const char *total = strstr(at, " total=");
    if (total == NULL || (end != NULL && total > end))
        return SKEIN_CORRUPT;
    total += strlen(" total=");
    return text_number(&total, total_us) ? SKEIN_OK : SKEIN_CORRUPT;
}

int proc_parse_cpu_max(const char *text, double *percent)
{
    uint64_t quota, period;
    if (strncmp(text, "max", 3) == 0)
        return SKEIN_NOT_FOUND;
    if (!text_number(&text, &quota) || !text_number(&text, &period) || period == 0)
        return SKEIN_CORRUPT;
    *percent = (double)quota * 100.0 / (double)period;
    return SKEIN_OK;
}
