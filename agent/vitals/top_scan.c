/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds over all processes; see top_scan.h. A process that has gone between two looks is left out.
 */
#include "top_scan.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "kept_file.h"
#include "proc_load.h"
#include "proc_text.h"
#include "skein/status.h"

#define LOOK_EACH 4 /* processes between two looks at the clock */

struct seen {
    uint64_t start_ticks, cpu_ticks, io_bytes, at_ns;
    uint32_t pid;
    bool has_io;
};
struct seen_list {
    struct seen *items; /* by pid */
    size_t count, cap;
};

struct top_scan {
    DIR *folder; /* NULL: no round is under way */
    struct seen_list before, now;
    struct top_row row;
    uint64_t ended_ns;     /* the round before; 0: none */
    uint64_t newest_ticks; /* when the youngest process that it saw had begun */
};

struct cpu_budget cpu_budget_of(uint64_t ns)
{
    return (struct cpu_budget){ns != 0 ? clock_thread_cpu_ns() + ns : 0};
}

bool cpu_budget_is_over(const struct cpu_budget *budget)
{
    return budget->end_ns != 0 && clock_thread_cpu_ns() >= budget->end_ns;
}

int top_scan_new(struct top_scan **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

void top_scan_free(struct top_scan **scan_p)
{
    struct top_scan *scan = *scan_p;
    *scan_p = NULL;
    if (scan == NULL)
        return;
    if (scan->folder != NULL)
        closedir(scan->folder);
    free(scan->before.items);
    free(scan->now.items);
    free(scan);
}

static void top_put(struct top_row *row, enum top_kind kind, const struct top_entry *entry)
{
    struct top_entry *list = row->entries[kind];
    uint32_t at = row->count[kind];
    if (!(entry->value > 0) || (at == STORE_TOP && entry->value <= list[at - 1].value))
        return;
    at -= at == STORE_TOP;
    for (; at > 0 && list[at - 1].value < entry->value; at--)
        list[at] = list[at - 1];
    list[at] = *entry;
    row->count[kind] += row->count[kind] < STORE_TOP;
}

static const struct seen *seen_find(const struct seen_list *list, uint32_t pid)
{
    size_t at = 0;
    array_find(at, 0, list->count, list->items[at].pid < pid);
    return at < list->count && list->items[at].pid == pid ? &list->items[at] : NULL;
}

/* When and with how much the reckoning of a process begins: with the look before, or with nothing
 * where it has begun after the round before. False: that round has missed it. */
static bool seen_before(const struct top_scan *scan, const struct seen *seen, struct seen *before)
{
    const struct seen *found = seen_find(&scan->before, seen->pid);
    if (found != NULL && found->start_ticks == seen->start_ticks)
        *before = *found;
    else if (scan->ended_ns != 0 && seen->start_ticks >= scan->newest_ticks)
        *before = (struct seen){.at_ns = scan->ended_ns, .has_io = true};
    else
        return false;
    return before->at_ns < seen->at_ns && before->cpu_ticks <= seen->cpu_ticks;
}

static void seen_judge(struct top_scan *scan, const struct seen *seen, const struct proc_stat *stat)
{
    struct top_entry entry = {.pid = seen->pid};
    memcpy(entry.name, stat->name, sizeof entry.name);
    entry.value = (double)stat->resident_pages * (double)sysconf(_SC_PAGESIZE);
    top_put(&scan->row, TOP_MEMORY, &entry);
    struct seen before;
    if (!seen_before(scan, seen, &before))
        return;
    double seconds = (double)(seen->at_ns - before.at_ns) / 1e9;
    entry.value = (double)(seen->cpu_ticks - before.cpu_ticks) * 100.0 /
                  (double)sysconf(_SC_CLK_TCK) / seconds;
    top_put(&scan->row, TOP_CPU, &entry);
    if (!before.has_io || !seen->has_io || before.io_bytes > seen->io_bytes)
        return;
    entry.value = (double)(seen->io_bytes - before.io_bytes) / seconds;
    top_put(&scan->row, TOP_IO, &entry);
}

static void process_scan(struct top_scan *scan, const char *proc, uint32_t pid, uint64_t now_ns)
{
    char name[32], text[1024];
    struct proc_stat stat;
    uint64_t read, written;
    snprintf(name, sizeof name, "%u/stat", pid);
    if (!once_read(proc, name, text, sizeof text) || proc_parse_stat(text, &stat) != SKEIN_OK)
        return;
    struct seen seen = {.pid = pid,
                        .start_ticks = stat.start_ticks,
                        .cpu_ticks = stat.user_ticks + stat.system_ticks,
                        .at_ns = now_ns};
    snprintf(name, sizeof name, "%u/io", pid);
    seen.has_io = once_read(proc, name, text, sizeof text) &&
                  text_value(text, "read_bytes", &read) &&
                  text_value(text, "write_bytes", &written) && read <= UINT64_MAX - written;
    seen.io_bytes = seen.has_io ? read + written : 0;
    scan->row.processes++;
    seen_judge(scan, &seen, &stat);
    if (scan->now.count < TOP_PROCESSES_MAX &&
        array_grow(scan->now.items, scan->now.count + 1, &scan->now.cap))
        scan->now.items[scan->now.count++] = seen;
}

static int seen_compare(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The round is over: what it saw is what the next one compares with. */
static bool round_end(struct top_scan *scan, uint64_t now_ns, struct top_row *top)
{
    closedir(scan->folder);
    scan->folder = NULL;
    struct seen_list old = scan->before;
    scan->before = scan->now;
    scan->now = old;
    scan->now.count = 0;
    if (scan->before.count > 1)
        qsort(scan->before.items, scan->before.count, sizeof *scan->before.items, seen_compare);
    scan->newest_ticks = 0;
    for (size_t i = 0; i < scan->before.count; i++)
        if (scan->before.items[i].start_ticks > scan->newest_ticks)
            scan->newest_ticks = scan->before.items[i].start_ticks;
    bool told = scan->ended_ns != 0 && now_ns > scan->ended_ns;
    if (told) {
        scan->row.at_ns = now_ns;
        scan->row.took_ns = now_ns - scan->ended_ns;
        *top = scan->row;
    }
    scan->ended_ns = now_ns;
    return told;
}

bool top_scan_step(struct top_scan *scan, const char *proc, uint64_t now_ns, uint64_t budget_ns,
                   struct top_row *top)
{
    struct cpu_budget budget = cpu_budget_of(budget_ns);
    if (scan->folder == NULL) {
        scan->folder = opendir(proc);
        scan->row = (struct top_row){.at_ns = 0};
    }
    for (unsigned looks = 0; scan->folder != NULL; looks++) {
        const struct dirent *entry = readdir(scan->folder);
        if (entry == NULL)
            return round_end(scan, now_ns, top);
        uint32_t pid;
        if (text_id(entry->d_name, &pid))
            process_scan(scan, proc, pid, now_ns);
        if (looks % LOOK_EACH == LOOK_EACH - 1 && cpu_budget_is_over(&budget))
            break;
    }
    return false;
}
