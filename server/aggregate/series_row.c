/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the series: made of summaries, merged, bounded, written and read. No state; any thread.
 */
#include "series_row.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/skein.h"
#include "utf8_scan.h"
#include "wait_kind.h"

#define NUMBERS_MOST 256u /* that a row's bytes may have */

/* ---- a set ---- */

static void members_fini(struct series_row *row)
{
    free(row->service);
    free(row->name);
    histogram_fini(&row->lasted);
}

void series_set_fini(struct series_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        members_fini(&set->rows[i]);
    free(set->rows);
    *set = (struct series_set){NULL, 0, 0};
}

/* At most SERIES_NAME_BYTES, at a character's end; what is no UTF-8, or no text, is '?'. */
static char *text_clone(const char *text)
{
    size_t n = strlen(text), to = 0;
    char *copy = malloc((n < SERIES_NAME_BYTES ? n : SERIES_NAME_BYTES) + 1);
    for (size_t at = 0; copy != NULL && at < n;) {
        uint32_t point;
        size_t bytes = utf8_scan((const uint8_t *)text + at, n - at, &point);
        bool fine = bytes > 0 && point >= ' ' && point != 0x7f;
        size_t puts = fine ? bytes : 1;
        if (to + puts > SERIES_NAME_BYTES)
            break;
        if (fine)
            memcpy(copy + to, text + at, bytes);
        else
            copy[to] = '?';
        to += puts;
        at += bytes > 0 ? bytes : 1;
    }
    if (copy != NULL)
        copy[to] = '\0';
    return copy;
}

struct series_row *series_set_add(struct series_set *set, uint64_t at_s, const char *service,
                                  const char *name, uint32_t group)
{
    if (!array_grow(set->rows, set->count + 1, &set->cap))
        return NULL;
    struct series_row *row = &set->rows[set->count];
    memset(row, 0, sizeof *row);
    row->at_s = at_s;
    row->group = group;
    row->service = text_clone(service);
    row->name = text_clone(name);
    if (row->service == NULL || row->name == NULL) {
        members_fini(row);
        return NULL;
    }
    set->count++;
    return row;
}

/* ---- merging ---- */

int series_row_compare(const struct series_row *a, const struct series_row *b)
{
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    int order = strcmp(a->service, b->service);
    if (order == 0)
        order = (a->group > b->group) - (a->group < b->group);
    return order != 0 ? order : strcmp(a->name, b->name);
}

int series_row_merge(struct series_row *row, const struct series_row *from)
{
    int status = histogram_merge(&row->lasted, &from->lasted);
    for (size_t i = 0; status == SKEIN_OK && i < SERIES_NUMBERS; i++)
        row->n[i] = series_sum(row->n[i], from->n[i]);
    return status;
}

static int key_order(const void *a, const void *b)
{
    return series_row_compare(a, b);
}

/* The service's own row first, then its others, then the names with most. */
static int weight_order(const void *left, const void *right)
{
    const struct series_row *a = left, *b = right;
    int own = (b->name[0] == '\0') - (a->name[0] == '\0');
    int others = (strcmp(b->name, SERIES_OTHERS) == 0) - (strcmp(a->name, SERIES_OTHERS) == 0);
    if (own != 0 || others != 0)
        return own != 0 ? own : others;
    if (a->n[SERIES_TOTAL_NS] != b->n[SERIES_TOTAL_NS])
        return a->n[SERIES_TOTAL_NS] > b->n[SERIES_TOTAL_NS] ? -1 : 1;
    if (a->n[SERIES_COUNT] != b->n[SERIES_COUNT])
        return a->n[SERIES_COUNT] > b->n[SERIES_COUNT] ? -1 : 1;
    return series_row_compare(a, b);
}

/* Equal neighbours become one. */
static int equals_merge(struct series_set *set)
{
    size_t kept = 0;
    int status = SKEIN_OK;
    for (size_t i = 0; i < set->count; i++) {
        struct series_row *row = &set->rows[i];
        if (kept > 0 && series_row_compare(&set->rows[kept - 1], row) == 0) {
            if (status == SKEIN_OK)
                status = series_row_merge(&set->rows[kept - 1], row);
            members_fini(row);
        } else {
            set->rows[kept++] = *row;
        }
    }
    set->count = kept;
    return status;
}

/* Renames to the others what of a service's rows, from `from` up to `to`, is beyond `names`. */
static int least_rename(struct series_set *set, size_t from, size_t to, size_t names)
{
    size_t kept = 0;
    qsort(set->rows + from, to - from, sizeof *set->rows, weight_order);
    for (size_t i = from; i < to; i++) {
        struct series_row *row = &set->rows[i];
        if (row->name[0] == '\0' || strcmp(row->name, SERIES_OTHERS) == 0 || kept++ < names)
            continue;
        char *others = strdup(SERIES_OTHERS);
        if (others == NULL)
            return SKEIN_NO_MEMORY;
        free(row->name);
        row->name = others;
        row->group = 0;
        row->n[SERIES_MERGED] = series_sum(row->n[SERIES_MERGED], 1);
    }
    return SKEIN_OK;
}

static int names_bound(struct series_set *set, size_t names)
{
    size_t from = 0;
    int status = SKEIN_OK;
    bool renamed = false;
    for (size_t i = 1; i <= set->count && status == SKEIN_OK; i++) {
        if (i < set->count && set->rows[i].at_s == set->rows[from].at_s &&
            strcmp(set->rows[i].service, set->rows[from].service) == 0)
            continue;
        if (i - from > names) {
            status = least_rename(set, from, i, names);
            renamed = true;
        }
        from = i;
    }
    if (!renamed || status != SKEIN_OK)
        return status;
    qsort(set->rows, set->count, sizeof *set->rows, key_order);
    return equals_merge(set);
}

int series_set_settle(struct series_set *set, size_t names)
{
    if (set->count == 0)
        return SKEIN_OK;
    qsort(set->rows, set->count, sizeof *set->rows, key_order);
    int status = equals_merge(set);
    return status == SKEIN_OK && names > 0 ? names_bound(set, names) : status;
}

/* ---- from a summary ---- */

struct taking {
    struct series_set *set;
    const struct summary *summary;
    const struct summary_process *processes;
    size_t process_count;
    size_t *rows; /* of each process: its service's row */
    uint32_t step_s;
    uint64_t from_ns, to_ns;
};

/* Whose record is not of this time, or who has none, says nothing of when it was. */
static uint64_t bucket_of(const struct taking *t, uint64_t last_ns)
{
    uint64_t ns = last_ns >= t->from_ns && last_ns <= t->to_ns ? last_ns : t->from_ns;
    uint64_t s = ns / 1000000000u;
    return s - s % t->step_s;
}

static int process_take(struct taking *t, size_t i)
{
    const struct summary_process *p = &t->processes[i];
    struct series_row *row = series_set_add(t->set, bucket_of(t, p->row.last_ns),
                                            summary_text(t->summary, p->service), "", 0);
    if (row == NULL)
        return SKEIN_NO_MEMORY;
    t->rows[i] = t->set->count - 1;
    row->n[SERIES_SEEN_NS] = p->seen_ns;
    row->n[SERIES_PROCESSES] = p->row.merged > 0 ? p->row.merged : 1;
    row->n[SERIES_EVENTS] = p->events;
    row->n[SERIES_REGIONS] = p->regions;
    for (size_t w = 0; w < SUMMARY_REASONS; w++)
        row->n[SERIES_WAIT_NET_NS + w] = p->wait_ns[w];
    row->n[SERIES_SAMPLED_NS] = p->sampled_ns;
    row->n[SERIES_SAMPLES] = p->samples;
    row->n[SERIES_WINDOW_NS] = p->window_ns;
    row->n[SERIES_ROOM_NS] = p->room_ns;
    return SKEIN_OK;
}

/* Waits count where they ended, as all regions do: one that is open would count again in each sample,
 * and longer each time. One for whatever comes is idle. */
static void waits_take(struct series_row *of, const struct summary_name *name, const char *text)
{
    uint64_t group = name->row.number;
    if (group < 1 || group > SUMMARY_REASONS || !wait_kind_of(text, (uint8_t)group).wait)
        return;
    uint64_t *wait_ns = &of->n[SERIES_WAIT_NET_NS + group - 1];
    uint64_t other_ns = series_sum(name->open_ns, name->idle_ns);
    *wait_ns -= other_ns < *wait_ns ? other_ns : *wait_ns;
    of->n[SERIES_IDLE_NS] = series_sum(of->n[SERIES_IDLE_NS], name->idle_ns);
}

static int name_take(const struct taking *t, const struct summary_name *name)
{
    if (name->row.of >= t->process_count)
        return SKEIN_OK; /* of no process */
    struct series_row *of = &t->set->rows[t->rows[name->row.of]];
    const char *text = summary_text(t->summary, name->row.text);
    waits_take(of, name, text);
    if (text[0] == '\0' || name->row.merged > 0)
        text = SERIES_OTHERS;
    bool others = strcmp(text, SERIES_OTHERS) == 0;
    uint32_t group =
        others || name->row.number > 2 * SUMMARY_INSTANTS ? 0 : (uint32_t)name->row.number;
    char *service = of->service; /* lives on, wherever the rows are moved */
    struct series_row *row = series_set_add(t->set, of->at_s, service, text, group);
    if (row == NULL)
        return SKEIN_NO_MEMORY;
    row->n[SERIES_COUNT] = name->count;
    row->n[SERIES_TOTAL_NS] = name->total_ns;
    row->n[SERIES_SELF_NS] = name->self_ns;
    row->n[SERIES_OPEN] = name->open;
    row->n[SERIES_CLIPPED] = name->clipped;
    row->n[SERIES_MERGED] = name->row.merged;
    int status = histogram_merge(&row->lasted, &name->lasted);
    memset(row->lasted.examples, 0, sizeof row->lasted.examples);
    return status;
}

static void log_take(const struct taking *t, const struct summary_log *log)
{
    if (log->row.of >= t->process_count || log->row.number != SKEIN_ERROR)
        return;
    struct series_row *row = &t->set->rows[t->rows[log->row.of]];
    row->n[SERIES_ERRORS] = series_sum(row->n[SERIES_ERRORS], log->count);
}

int series_set_take(struct series_set *set, const struct summary *summary, uint32_t step_s,
                    uint64_t from_ns, uint64_t to_ns)
{
    const struct summary_name *names;
    const struct summary_log *logs;
    struct taking t = {
        .set = set, .summary = summary, .step_s = step_s, .from_ns = from_ns, .to_ns = to_ns};
    t.process_count = summary_processes(summary, &t.processes);
    t.rows = calloc(t.process_count + 1, sizeof *t.rows);
    int status = t.rows != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; status == SKEIN_OK && i < t.process_count; i++)
        status = process_take(&t, i);
    size_t name_count = summary_names(summary, &names);
    for (size_t i = 0; status == SKEIN_OK && i < name_count; i++)
        status = name_take(&t, &names[i]);
    size_t log_count = summary_logs(summary, &logs);
    for (size_t i = 0; status == SKEIN_OK && i < log_count; i++)
        log_take(&t, &logs[i]);
    free(t.rows);
    return status;
}

/* ---- bytes ---- */

void series_row_put(const struct series_row *row, struct buf *out)
{
    size_t count = SERIES_NUMBERS;
    while (count > 0 && row->n[count - 1] == 0)
        count--;
    buf_put_uleb(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_uleb(out, row->n[i]);
    histogram_bytes_put(&row->lasted, out);
}

int series_row_get(const void *bytes, size_t n, struct series_row *row)
{
    struct cursor c;
    uint64_t numbers[SERIES_NUMBERS] = {0};
    struct histogram lasted = {0};
    cursor_init(&c, bytes, n);
    uint64_t count = cursor_uleb(&c);
    if (count > NUMBERS_MOST)
        cursor_fail(&c, SKEIN_CORRUPT);
    for (uint64_t i = 0; c.status == SKEIN_OK && i < count; i++) {
        uint64_t v = cursor_uleb(&c);
        if (i < SERIES_NUMBERS)
            numbers[i] = v;
    }
    int status = c.status == SKEIN_OK ? histogram_bytes_get(&c, &lasted) : c.status;
    if (status == SKEIN_OK && cursor_left(&c) > 0)
        status = SKEIN_CORRUPT;
    if (status != SKEIN_OK) {
        histogram_fini(&lasted);
        return status;
    }
    histogram_fini(&row->lasted);
    memcpy(row->n, numbers, sizeof numbers);
    row->lasted = lasted;
    return SKEIN_OK;
}
