/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers out of texts of the kernel about the host; see proc_host.h. Bounded by the text's end.
 */
#include "proc_host.h"

#include <string.h>

#include "proc_text.h"

/* A word of n bytes, and no more, as a name. What is no plain ASCII becomes "_": it ends up in
 * names of counters. */
static bool name_take(const char *word, size_t n, char name[PROC_DEVICE_BYTES])
{
    if (n == 0 || n >= PROC_DEVICE_BYTES)
        return false;
    for (size_t i = 0; i < n; i++)
        name[i] = word[i] > ' ' && word[i] <= '~' ? word[i] : '_';
    name[n] = '\0';
    return true;
}

bool proc_disk_next(const char **at, struct proc_disk *disk)
{
    for (const char *line = *at; line != NULL && *line != '\0';) {
        const char *next = text_line_next(line), *p = line;
        uint64_t numbers[2], v[11];
        struct proc_disk found;
        bool whole = text_numbers(&p, numbers, 2);
        if (whole) {
            p += strspn(p, " ");
            size_t n = strcspn(p, " \n");
            whole = name_take(p, n, found.name);
            p += n;
        }
        whole = whole && text_numbers(&p, v, 11);
        line = next;
        if (!whole)
            continue;
        found.reads = v[0]; /* 1 and 5 are merges */
        found.read_sectors = v[2];
        found.read_ms = v[3];
        found.writes = v[4];
        found.write_sectors = v[6];
        found.write_ms = v[7];
        found.in_flight = v[8];
        found.busy_ms = v[9];
        found.weighted_ms = v[10];
        *disk = found;
        *at = next != NULL ? next : "";
        return true;
    }
    *at = "";
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool proc_disk_is_part(const char *name, const char *of)
{
    size_t n = strlen(of);
    if (n == 0 || strncmp(name, of, n) != 0)
        return false;
    const char *rest = name + n;
    if (is_digit(of[n - 1])) {
        if (*rest != 'p')
            return false;
        rest++;
    }
    return *rest != '\0' && strspn(rest, "0123456789") == strlen(rest);
}

bool proc_interface_next(const char **at, struct proc_interface *interface)
{
    for (const char *line = *at; line != NULL && *line != '\0';) {
        const char *next = text_line_next(line), *p = line + strspn(line, " ");
        uint64_t v[12];
        struct proc_interface found;
        size_t n = strcspn(p, ":\n");
        bool whole = p[n] == ':' && name_take(p, n, found.name);
        p += n + (whole ? 1 : 0);
        whole = whole && text_numbers(&p, v, 12);
        line = next;
        if (!whole)
            continue;
        found.rx_bytes = v[0];
        found.rx_packets = v[1];
        found.rx_errors = v[2];
        found.rx_drops = v[3]; /* then fifo, frame, compressed, multicast */
        found.tx_bytes = v[8];
        found.tx_packets = v[9];
        found.tx_errors = v[10];
        found.tx_drops = v[11];
        *interface = found;
        *at = next != NULL ? next : "";
        return true;
    }
    *at = "";
    return false;
}

int proc_parse_load(const char *text, double *load)
{
    uint64_t whole, part;
    const char *at = text;
    if (!text_number(&at, &whole) || *at != '.')
        return SKEIN_CORRUPT;
    const char *begin = ++at;
    if (!is_digit(*at) || !text_number(&at, &part))
        return SKEIN_CORRUPT;
    double value = (double)part;
    for (; begin < at; begin++)
        value /= 10;
    *load = (double)whole + value;
    return SKEIN_OK;
}

int proc_parse_schedstat(const char *text, uint64_t *run_ns, uint64_t *delay_ns)
{
    uint64_t v[2]; /* time on a CPU, time in a queue */
    if (!text_numbers(&text, v, 2))
        return SKEIN_CORRUPT;
    *run_ns = v[0];
    *delay_ns = v[1];
    return SKEIN_OK;
}
