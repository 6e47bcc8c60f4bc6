/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers out of texts of the kernel; see proc_load.h. Pure, bounded by the text's end.
 */
#include "proc_load.h"

#include <string.h>

/* A decimal number that fits, after blanks; the position moves behind it. */
static bool number_get(const char **at, uint64_t *value)
{
    const char *p = *at;
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p < '0' || *p > '9')
        return false;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *at = p;
    *value = v;
    return true;
}

static bool number_add(const char **at, uint64_t *sum)
{
    uint64_t v;
    if (!number_get(at, &v) || v > UINT64_MAX - *sum)
        return false;
    *sum += v;
    return true;
}

/* Behind `count` words and the blanks before them; NULL where the line ends first. */
static const char *words_skip(const char *p, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        while (*p == ' ')
            p++;
        if (*p == '\0' || *p == '\n')
            return NULL;
        while (*p != ' ' && *p != '\0' && *p != '\n')
            p++;
    }
    return p;
}

/* The text behind the beginning of a line, or NULL. */
static const char *line_find(const char *text, const char *beginning)
{
    size_t n = strlen(beginning);
    while (text != NULL) {
        if (strncmp(text, beginning, n) == 0)
            return text + n;
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return NULL;
}

int proc_parse_stat(const char *text, uint64_t *cpu_ticks, uint64_t *start_ticks)
{
    uint64_t cpu = 0, start;
    const char *at = strrchr(text, ')');             /* the name before it may hold anything */
    at = at == NULL ? NULL : words_skip(at + 1, 11); /* fields 3 to 13 */
    if (at == NULL || !number_add(&at, &cpu) || !number_add(&at, &cpu))
        return SKEIN_CORRUPT;
    at = words_skip(at, 6); /* 16 to 21 */
    if (at == NULL || !number_get(&at, &start))
        return SKEIN_CORRUPT;
    *cpu_ticks = cpu;
    *start_ticks = start;
    return SKEIN_OK;
}

int proc_parse_host_cpu(const char *text, uint64_t *busy_ticks)
{
    uint64_t busy = 0, idle = 0;
    const char *at = line_find(text, "cpu ");
    /* user nice system, then idle and iowait, then irq softirq steal; guests count as users */
    for (unsigned i = 0; i < 8; i++) {
        if (at == NULL || !number_add(&at, i == 3 || i == 4 ? &idle : &busy))
            return SKEIN_CORRUPT;
    }
    *busy_ticks = busy;
    return SKEIN_OK;
}

int proc_parse_statm(const char *text, uint64_t *resident_pages)
{
    const char *at = text;
    uint64_t size;
    return number_get(&at, &size) && number_get(&at, resident_pages) ? SKEIN_OK : SKEIN_CORRUPT;
}

static bool kilobytes_get(const char *text, const char *key, uint64_t *bytes)
{
    uint64_t kb;
    const char *at = line_find(text, key);
    if (at == NULL || !number_get(&at, &kb) || kb > UINT64_MAX / 1024)
        return false;
    *bytes = kb * 1024;
    return true;
}

int proc_parse_meminfo(const char *text, uint64_t *total_bytes, uint64_t *available_bytes)
{
    uint64_t total, available;
    if (!kilobytes_get(text, "MemTotal:", &total) ||
        !kilobytes_get(text, "MemAvailable:", &available) || total == 0 || available > total)
        return SKEIN_CORRUPT;
    *total_bytes = total;
    *available_bytes = available;
    return SKEIN_OK;
}

int proc_parse_pressure(const char *text, bool full, uint64_t *total_us)
{
    const char *at = line_find(text, full ? "full " : "some ");
    if (at == NULL)
        return SKEIN_NOT_FOUND;
    const char *end = strchr(at, '\n');
    const char *total = strstr(at, " total=");
    if (total == NULL || (end != NULL && total > end))
        return SKEIN_CORRUPT;
    total += strlen(" total=");
    return number_get(&total, total_us) ? SKEIN_OK : SKEIN_CORRUPT;
}

int proc_parse_cgroup(const char *text, char *path, size_t path_bytes)
{
    const char *at = line_find(text, "0::");
    if (at == NULL)
        return SKEIN_NOT_FOUND;
    size_t n = strcspn(at, "\n");
    if (n == 0 || at[0] != '/' || n >= path_bytes)
        return SKEIN_CORRUPT;
    for (size_t i = 0; i + 2 < n; i++) {
        if (memcmp(at + i, "/..", 3) == 0 && (i + 3 == n || at[i + 3] == '/'))
            return SKEIN_CORRUPT;
    }
    memcpy(path, at, n);
    path[n] = '\0';
    return SKEIN_OK;
}
