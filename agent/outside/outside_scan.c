/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds over /proc; see outside_scan.h.
 */
#include "outside_scan.h"

#include <dirent.h>
#include <stdlib.h>

#include "array.h"
#include "clock.h"
#include "proc_text.h"
#include "skein/status.h"

#define CLOCK_EACH 16 /* entries between two readings of the clock, where no process is looked at */

/* The number of a process's folder in /proc is another one where its pid is another process's. One
 * that the kernel has made anew meanwhile is only looked at once more. */
struct seen {
    uint64_t folder;
    uint32_t pid;
    bool is_new;
};
struct seen_list {
    struct seen *items; /* by pid, as /proc lists them; else sorted at the round's end */
    size_t count, cap;
};

struct outside_scan {
    const char *proc;
    outside_look_fn *look;
    void *context;
    DIR *folder; /* NULL: no round is under way */
    struct seen_list before, now;
    uint64_t round;
    bool anew, all; /* the next round looks at all; this one does */
};

int outside_scan_new(const char *proc, outside_look_fn *look, void *context,
                     struct outside_scan **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->proc = proc;
    (*out)->look = look;
    (*out)->context = context;
    return SKEIN_OK;
}

void outside_scan_free(struct outside_scan **scan_p)
{
    struct outside_scan *scan = *scan_p;
    *scan_p = NULL;
    if (scan == NULL)
        return;
    if (scan->folder != NULL)
        closedir(scan->folder);
    free(scan->before.items);
    free(scan->now.items);
    free(scan);
}

void outside_scan_anew(struct outside_scan *scan)
{
    scan->anew = true;
}

static const struct seen *seen_before(const struct outside_scan *scan, uint32_t pid)
{
    const struct seen_list *list = &scan->before;
    size_t at = 0;
    array_find(at, 0, list->count, list->items[at].pid < pid);
    return at < list->count && list->items[at].pid == pid ? &list->items[at] : NULL;
}

/* Whether the process was looked at. */
static bool entry_take(struct outside_scan *scan, uint32_t pid, uint64_t folder)
{
    struct seen_list *now = &scan->now;
    const struct seen *before = seen_before(scan, pid);
    bool is_new = before == NULL || before->folder != folder;
    bool full =
        now->count >= OUTSIDE_SEEN_MAX || !array_grow(now->items, now->count + 1, &now->cap);
    if (!full)
        now->items[now->count++] = (struct seen){folder, pid, is_new};
    bool has_turn = (scan->round + pid) % OUTSIDE_LOOK_EACH == 0;
    bool is_due = before != NULL && (has_turn || (!is_new && (before->is_new || scan->all)));
    bool looks = full ? has_turn : is_due;
    if (looks)
        scan->look(scan->context, pid);
    return looks;
}

static int seen_compare(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void list_sort(struct seen_list *list)
{
    size_t at = 1;
    while (at < list->count && list->items[at - 1].pid < list->items[at].pid)
        at++;
    if (at < list->count)
        qsort(list->items, list->count, sizeof *list->items, seen_compare);
}

static void round_end(struct outside_scan *scan)
{
    list_sort(&scan->now);
    closedir(scan->folder);
    scan->folder = NULL;
    struct seen_list old = scan->before;
    scan->before = scan->now;
    scan->now = old;
    scan->now.count = 0;
    scan->round++;
}

bool outside_scan_step(struct outside_scan *scan, uint64_t budget_ns)
{
    uint64_t end_ns = clock_thread_cpu_ns() + budget_ns;
    if (scan->folder == NULL) {
        scan->folder = opendir(scan->proc);
        scan->all = scan->anew;
        scan->anew = false;
    }
    if (scan->folder == NULL)
        return true; /* no descriptor is free: in the next step */
    for (unsigned entries = 1;; entries++) {
        const struct dirent *entry = readdir(scan->folder);
        uint32_t pid;
        if (entry == NULL) {
            round_end(scan);
            return true;
        }
        /* A look may cost as much as all of the budget: of a process with many descriptors. */
        bool looked = text_id(entry->d_name, &pid) && entry_take(scan, pid, (uint64_t)entry->d_ino);
        if ((looked || entries % CLOCK_EACH == 0) && clock_thread_cpu_ns() >= end_ns)
            return false;
    }
}
