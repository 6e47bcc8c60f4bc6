/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what the members of each row are: name, place, and how two become one. A new member is a row
 * of its table here, at its end: bytes of before have none, and those of later are passed over. No
 * state; any thread.
 */
#include <string.h>

#include "summary_int.h"

#define FIELDS(table, ...) static const struct summary_field table##_fields[] = {__VA_ARGS__};
#define FIELD(s, kind, member)                                                                     \
    {                                                                                              \
#member, FIELD_##kind, offsetof(struct summary_##s, member)                                \
    }
#define FIELD_AS(s, kind, name, member)                                                            \
    {                                                                                              \
        name, FIELD_##kind, offsetof(struct summary_##s, member)                                   \
    }
#define WAITS(s)                                                                                   \
    FIELD_AS(s, SUM, "wait_net_ns", wait_ns[0]), FIELD_AS(s, SUM, "wait_io_ns", wait_ns[1]),       \
        FIELD_AS(s, SUM, "wait_lock_ns", wait_ns[2]),                                              \
        FIELD_AS(s, SUM, "wait_thread_ns", wait_ns[3]),                                            \
        FIELD_AS(s, SUM, "wait_sleep_ns", wait_ns[4]), FIELD(s, SUM, idle_ns)
#define BLOCKED(s)                                                                                 \
    FIELD_AS(s, SUM, "blocked_s_ns", blocked_ns[0]),                                               \
        FIELD_AS(s, SUM, "blocked_d_ns", blocked_ns[1]),                                           \
        FIELD_AS(s, SUM, "blocked_t_ns", blocked_ns[2]),                                           \
        FIELD_AS(s, SUM, "blocked_other_ns", blocked_ns[3])

FIELDS(process, FIELD(process, TEXT, host), FIELD(process, TEXT, service),
       FIELD(process, TEXT, labels), FIELD(process, TEXT, exe), FIELD(process, LATEST, pid),
       FIELD(process, MAX, dead), FIELD(process, MAX, signal), FIELD(process, MAX, status),
       FIELD(process, SUM, seen_ns), FIELD(process, SUM, events), FIELD(process, SUM, regions),
       FIELD(process, SUM, end_only), FIELD(process, SUM, fixed_up), WAITS(process),
       FIELD(process, SUM, sampled_ns), FIELD(process, SUM, samples),
       FIELD(process, SUM, window_ns), FIELD(process, SUM, busy_ns), FIELD(process, SUM, room_ns),
       FIELD(process, SUM, instants), FIELD(process, SUM, counters), FIELD(process, SUM, logs),
       FIELD(process, SUM, run_ns), FIELD(process, SUM, runnable_ns), BLOCKED(process),
       FIELD(process, SUM, runs), FIELD(process, SUM, preempted))
FIELDS(thread, FIELD(thread, TEXT, name), FIELD(thread, SUM, regions), WAITS(thread),
       FIELD(thread, SUM, sampled_ns), FIELD(thread, SUM, samples), FIELD(thread, SUM, run_ns),
       FIELD(thread, SUM, runnable_ns), BLOCKED(thread), FIELD(thread, SUM, runs),
       FIELD(thread, SUM, preempted), FIELD_AS(thread, PEAK, "longest_runnable", runnable),
       FIELD_AS(thread, PEAK, "longest_blocked", blocked), FIELD(thread, LEAST, clock_from_ns),
       FIELD(thread, MAX, clock_to_ns), FIELD(thread, SUM, load_run_ns),
       FIELD(thread, SUM, load_wait_ns), FIELD(thread, SUM, load_ns), FIELD(thread, SUM, instants),
       FIELD(thread, SUM, counters), FIELD(thread, SUM, logs), FIELD(thread, MAX, since_run_ns),
       FIELD(thread, MAX, since_runnable_ns), FIELD(thread, MAX, since_runs),
       FIELD(thread, MAX, since_gave_way), FIELD(thread, MAX, since_preempted))
FIELDS(name, FIELD(name, SUM, count), FIELD(name, SUM, total_ns), FIELD(name, SUM, self_ns),
       FIELD(name, SUM, idle_ns), FIELD(name, SUM, unsure_ns), FIELD(name, SUM, open),
       FIELD(name, SUM, open_ns), FIELD(name, SUM, clipped), FIELD(name, HISTOGRAM, lasted),
       FIELD(name, SUM, open_idle_ns))
FIELDS(call, FIELD(call, SUM, count), FIELD(call, SUM, total_ns), FIELD(call, SUM, self_ns),
       FIELD(call, SUM, idle_ns), FIELD(call, SUM, open), FIELD(call, SUM, open_ns),
       FIELD(call, MAX, most_ns), FIELD(call, SUM, open_idle_ns))
FIELDS(stack, FIELD(stack, SUM, count), FIELD(stack, SUM, total_ns))
FIELDS(lock, FIELD(lock, SUM, count), FIELD(lock, SUM, total_ns), FIELD(lock, MAX, most_ns),
       FIELD(lock, SUM, open), FIELD(lock, HOLDERS, holders))
FIELDS(counter, FIELD(counter, TEXT, unit), FIELD(counter, REAL_LEAST, least),
       FIELD(counter, REAL_MOST, most), FIELD(counter, REAL_LATEST, last),
       FIELD(counter, REAL_SUM, sum), FIELD(counter, REAL_SUM, squares), FIELD(counter, SUM, count))
FIELDS(log, FIELD(log, SUM, count), FIELD(log, TEXT, example))
FIELDS(loss, FIELD(loss, SUM, count), FIELD(loss, SUM, records), FIELD(loss, SUM, dur_ns),
       FIELD(loss, SUM, unknown))
FIELDS(neighbour, FIELD(neighbour, LATEST, pid), FIELD(neighbour, MAX, cpu_ns),
       FIELD(neighbour, MAX, window_ns))
FIELDS(gap, FIELD(gap, SUM, count), FIELD(gap, SUM, bytes))

#define KIND(singular, plural, text, number, of, type, weight, weight2, weight3)                   \
    {                                                                                              \
#plural, text, number, sizeof(struct summary_##singular), OF_##of, NUMBER_##type,          \
            {offsetof(struct summary_##singular, weight),                                          \
             offsetof(struct summary_##singular, weight2),                                         \
             offsetof(struct summary_##singular, weight3) },                                       \
             singular##_fields, sizeof singular##_fields / sizeof *singular##_fields               \
    }

const struct summary_kind summary_kinds[SUMMARY_TABLES] = {
    KIND(process, processes, "process", NULL, NOTHING, PLAIN, events, sampled_ns, seen_ns),
    KIND(thread, threads, NULL, "tid", PROCESS, PLAIN, regions, sampled_ns, run_ns),
    KIND(name, names, "name", "group", PROCESS, PLAIN, total_ns, count, open_ns),
    KIND(call, calls, "name", "group", THREAD, PLAIN, total_ns, count, open_ns),
    KIND(stack, stacks, "name", "stack", PROCESS, TEXT, total_ns, count, count),
    KIND(lock, locks, "name", "address", PROCESS, PLAIN, total_ns, count, open),
    KIND(counter, counters, "name", "host", PROCESS, HOST, count, count, count),
    KIND(log, logs, "shape", "level", PROCESS, PLAIN, count, count, count),
    KIND(loss, losses, NULL, "reason", PROCESS, PLAIN, records, count, dur_ns),
    KIND(neighbour, neighbours, "name", "host", NOTHING, TEXT, cpu_ns, window_ns, pid),
    KIND(gap, gaps, "what", "reason", PROCESS, PLAIN, count, bytes, bytes),
};

/* ---- merging members ---- */

static int holder_compare(const struct summary_holder *a, const struct summary_holder *b)
{
    if (a->wait_ns != b->wait_ns)
        return a->wait_ns > b->wait_ns ? -1 : 1;
    if (a->waits + a->dumped != b->waits + b->dumped)
        return a->waits + a->dumped > b->waits + b->dumped ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static void holder_sum(struct summary_holder *to, const struct summary_holder *from)
{
    sum_add(&to->waits, from->waits);
    sum_add(&to->wait_ns, from->wait_ns);
    sum_add(&to->dumped, from->dumped);
}

void holder_add(struct summary_lock *lock, const struct summary_holder *holder)
{
    struct summary_holder *at = lock->holders, *end = at + SUMMARY_HOLDERS;
    while (at < end && at->tid != 0 && at->tid != holder->tid)
        at++;
    if (at < end && at->tid == holder->tid) {
        holder_sum(at, holder);
    } else if (at < end) {
        *at = *holder;
    } else {
        struct summary_holder less = *holder;
        at = end - 1;
        if (holder_compare(holder, at) < 0) {
            less = *at;
            *at = *holder;
        }
        holder_sum(&lock->rest, &less);
        sum_add(&lock->rest.tid, 1);
    }
    for (; at > lock->holders && holder_compare(at, at - 1) < 0; at--) {
        struct summary_holder swap = *at;
        *at = at[-1];
        at[-1] = swap;
    }
}

static void holders_merge(struct summary_lock *lock, const struct summary_lock *other)
{
    for (size_t i = 0; i < SUMMARY_HOLDERS && other->holders[i].tid != 0; i++)
        holder_add(lock, &other->holders[i]);
    holder_sum(&lock->rest, &other->rest);
    sum_add(&lock->rest.tid, other->rest.tid);
}

static int peak_merge(struct summary *s, struct summary_peak *peak, const struct summary *from,
                      const struct summary_peak *other)
{
    if (other->dur_ns < peak->dur_ns || other->dur_ns == 0 ||
        (other->dur_ns == peak->dur_ns && other->time_ns >= peak->time_ns))
        return SKEIN_OK;
    const char *name = summary_text(from, other->name);
    int64_t text = text_intern(s, name, strlen(name));
    if (text < 0)
        return SKEIN_NO_MEMORY;
    *peak = *other;
    peak->name = (uint32_t)text;
    return SKEIN_OK;
}

static int text_merge(struct summary *s, uint32_t *text, bool later, bool same,
                      const struct summary *from, uint32_t other)
{
    const char *name = summary_text(from, other);
    if (!later && !(same && strcmp(name, summary_text(s, *text)) > 0))
        return SKEIN_OK;
    int64_t number = text_intern(s, name, strlen(name));
    if (number < 0)
        return SKEIN_NO_MEMORY;
    *text = (uint32_t)number;
    return SKEIN_OK;
}

static void number_merge(enum field_kind kind, uint64_t *to, uint64_t n, bool later, bool same)
{
    if (kind == FIELD_SUM)
        sum_add(to, n);
    else if (kind == FIELD_MAX)
        *to = n > *to ? n : *to;
    else if (kind == FIELD_LEAST)
        *to = *to == 0 || (n != 0 && n < *to) ? n : *to;
    else if (later || (same && n > *to))
        *to = n;
}

static void real_merge(enum field_kind kind, double *to, double n, bool fresh, bool later,
                       bool same)
{
    if (kind == FIELD_REAL_SUM)
        real_add(to, n);
    else if (fresh || (kind == FIELD_REAL_LEAST && n < *to) ||
             (kind == FIELD_REAL_MOST && n > *to) ||
             (kind == FIELD_REAL_LATEST && (later || (same && n > *to))))
        *to = n;
}

static int field_merge(struct summary *s, const struct summary_field *field,
                       struct summary_row *row, bool fresh, const struct summary *from,
                       const struct summary_row *other)
{
    void *to = (uint8_t *)row + field->offset;
    const void *with = (const uint8_t *)other + field->offset;
    bool later = fresh || other->last_ns > row->last_ns, same = other->last_ns == row->last_ns;
    switch (field->kind) {
    case FIELD_SUM:
    case FIELD_MAX:
    case FIELD_LEAST:
    case FIELD_LATEST:
        number_merge(field->kind, to, *(const uint64_t *)with, later, same);
        return SKEIN_OK;
    case FIELD_TEXT:
        return text_merge(s, to, later, same, from, *(const uint32_t *)with);
    case FIELD_PEAK:
        return peak_merge(s, to, from, with);
    case FIELD_HISTOGRAM:
        return histogram_merge(to, with);
    case FIELD_HOLDERS:
        holders_merge((struct summary_lock *)row, (const struct summary_lock *)other);
        return SKEIN_OK;
    default:
        real_merge(field->kind, to, *(const double *)with, fresh, later, same);
        return SKEIN_OK;
    }
}

int row_merge(struct summary *s, enum summary_table table, struct summary_row *row, bool fresh,
              const struct summary *from, const struct summary_row *other)
{
    const struct summary_kind *kind = &summary_kinds[table];
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < kind->field_count; i++)
        status = field_merge(s, &kind->fields[i], row, fresh, from, other);
    if (fresh || (other->first_ns != 0 && other->first_ns < row->first_ns) || row->first_ns == 0)
        row->first_ns = other->first_ns;
    if (fresh || other->last_ns > row->last_ns)
        row->last_ns = other->last_ns;
    return status;
}

void row_fini(enum summary_table table, struct summary_row *row)
{
    if (table == SUMMARY_NAME)
        histogram_fini(&((struct summary_name *)row)->lasted);
}
