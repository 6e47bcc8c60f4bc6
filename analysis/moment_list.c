/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges what moment.c has gathered: who is idle, what is long, what is unusual. Entered once,
 * at the end, by the thread that gathered.
 */
#include "array.h"
#include "moment_int.h"

#include <stdlib.h>
#include <string.h>

/* What so many of the shortest took less than. */
uint64_t moment_quantile(const uint32_t *levels, uint64_t rank)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < LEVELS; i++) {
        seen += levels[i];
        if (seen >= rank)
            return i + 1 < LEVELS ? UINT64_C(2) << i : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* ---- idle ---- */

/* Whether a thread has done nothing but wait for its turn or for time, and more than once. */
static bool only_waits(const struct moment *f, const struct thread *t)
{
    uint64_t count = 0;
    for (size_t i = 0; i < t->stat_count; i++) {
        if (!f->labels[t->stats[i].label].own_time)
            return false;
        count += t->stats[i].count;
    }
    return count > 1;
}

bool moment_is_idle(const struct moment *f, const struct thread *t, const struct label *label,
                    const struct moment_span *span)
{
    const struct process *p = &f->processes[t->process];
    bool early = span->time_ns <= p->from_ns;
    bool late = span->open || span->time_ns + span->dur_ns >= p->to_ns;
    if (!label->wait || label->for_lock || span->at_work)
        return false;
    if (label->for_anything || (early && (late || label->own_time)))
        return true;
    if (label->own_time && only_waits(f, t))
        return true;
    for (size_t i = 0; label->rhythmic && i < t->stat_count; i++) {
        const struct stat *s = &t->stats[i];
        if (&f->labels[s->label] == label && s->count >= RHYTHM_MIN)
            return span->dur_ns <= 2 * moment_quantile(s->levels, s->count * 9 / 10);
    }
    return false;
}

static struct moment_thread who(const struct moment *f, const struct thread *t)
{
    const struct process *p = &f->processes[t->process];
    return (struct moment_thread){t->tid, p->pid, t->name, p->service, p->host};
}

static int inside_order(const void *a, const void *b)
{
    const struct moment_inside *x = a, *y = b;
    uint64_t one = x->spans[x->count - 1].time_ns, other = y->spans[y->count - 1].time_ns;
    return (one > other) - (one < other);
}

static int idle_order(const void *a, const void *b)
{
    const struct moment_idle *x = a, *y = b;
    return (x->threads < y->threads) - (x->threads > y->threads);
}

static void inside_add(struct moment *f, const struct thread *t)
{
    struct moment_inside inside = {.thread = who(f, t)};
    for (size_t i = 0; i < t->inside_count; i++)
        if (!f->labels[t->inside_label[i]].hidden)
            inside.spans[inside.count++] = t->inside[i];
    if (inside.count > 0)
        f->list.inside[f->list.inside_count++] = inside;
}

static int inside_list(struct moment *f)
{
    struct moment_list *list = &f->list;
    list->inside = calloc(f->thread_count + 1, sizeof *list->inside);
    list->idle = calloc(f->label_count + 1, sizeof *list->idle);
    if (list->inside == NULL || list->idle == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < f->label_count; i++)
        list->idle[i].name = f->labels[i].text;
    for (size_t i = 0; i < f->thread_count; i++) {
        struct thread *t = &f->threads[i];
        size_t last = t->inside_count - 1;
        if (t->inside_count == 0)
            continue;
        t->inside[last].at_work |= t->inside_count > 1;
        const struct label *label = &f->labels[t->inside_label[last]];
        if (!moment_is_idle(f, t, label, &t->inside[last]))
            inside_add(f, t);
        else
            list->idle[t->inside_label[last]].threads += !label->hidden;
    }
    qsort(list->inside, list->inside_count, sizeof *list->inside, inside_order);
    qsort(list->idle, f->label_count, sizeof *list->idle, idle_order);
    while (list->idle_count < f->label_count && list->idle[list->idle_count].threads > 0)
        list->idle_count++;
    return SKEIN_OK;
}

/* ---- the longest waits, and what is unusual: both of each thread's longest of a name ---- */

struct group { /* of one name in one service */
    uint64_t count;
    uint32_t levels[LEVELS];
    struct moment_unusual found;
};

static int wait_order(const void *a, const void *b)
{
    const struct moment_wait *x = a, *y = b;
    return (x->span.dur_ns < y->span.dur_ns) - (x->span.dur_ns > y->span.dur_ns);
}

static int unusual_order(const void *a, const void *b)
{
    const struct moment_unusual *x = a, *y = b;
    return (x->span.dur_ns < y->span.dur_ns) - (x->span.dur_ns > y->span.dur_ns);
}

static void wait_take(struct moment_list *list, size_t most, const struct moment_wait *wait)
{
    size_t at = list->wait_count;
    if (at == most && (most == 0 || wait_order(&list->waits[most - 1], wait) <= 0))
        return;
    at = at == most ? most - 1 : list->wait_count++;
    list->waits[at] = *wait;
    qsort(list->waits, list->wait_count, sizeof *list->waits, wait_order);
}

/* The group's number is that of the service and the label. */
static int group_of(struct moment *f, struct intern_table *keys, struct group **groups, size_t *cap,
                    const struct thread *t, size_t label, struct group **group)
{
    struct buf key = {0};
    bool fresh;
    const char *service = f->processes[t->process].service;
    buf_put_u64(&key, label);
    buf_put(&key, service, strlen(service));
    int64_t at = key.status == SKEIN_OK ? intern_table_put(keys, key.data, key.len, &fresh)
                                        : SKEIN_NO_MEMORY;
    buf_fini(&key);
    if (at < 0 || !array_grow_zero(*groups, (size_t)at + 1, cap))
        return SKEIN_NO_MEMORY;
    *group = &(*groups)[at];
    return SKEIN_OK;
}

/* Whether it took far longer than the others; what these take goes to *usual_ns. */
static bool is_unusual(const struct group *g, const struct moment_span *span, uint64_t *usual_ns)
{
    uint64_t rank = g->count * 99 / 100;
    rank = rank + 1 > g->count ? g->count - 1 : rank; /* never the longest itself */
    *usual_ns = rank > 0 ? moment_quantile(g->levels, rank) : 0;
    return span->dur_ns >= (g->count > COMPARE_MIN ? UNUSUAL_NS : RARE_NS) &&
           span->dur_ns / UNUSUAL >= *usual_ns;
}

static void unusual_take(const struct moment *f, struct group *g, const struct thread *t,
                         const struct stat *stat)
{
    for (size_t k = 0; k < TOP; k++) {
        const struct moment_span *span = &stat->top[k];
        uint64_t usual_ns;
        if (span->name == NULL || moment_is_idle(f, t, &f->labels[stat->label], span) ||
            !is_unusual(g, span, &usual_ns))
            continue;
        struct moment_unusual *found = &g->found;
        if (span->dur_ns > found->span.dur_ns) {
            bool alike = found->span.dur_ns >= span->dur_ns / 2 && found->span.name != NULL;
            *found = (struct moment_unusual){
                .thread = who(f, t), .span = *span, .more = alike ? found->more + 1 : 0};
        } else if (span->dur_ns >= found->span.dur_ns / 2) {
            found->more++;
        }
        found->usual_ns = usual_ns;
        found->usual_count = g->count - found->more - 1;
    }
}

static int groups_fill(struct moment *f, struct intern_table *keys, struct group **groups,
                       size_t *cap)
{
    for (size_t i = 0; i < f->thread_count; i++)
        for (size_t k = 0; k < f->threads[i].stat_count; k++) {
            const struct stat *s = &f->threads[i].stats[k];
            struct group *g;
            if (group_of(f, keys, groups, cap, &f->threads[i], s->label, &g) != SKEIN_OK)
                return SKEIN_NO_MEMORY;
            g->count += s->count;
            for (unsigned level = 0; level < LEVELS; level++)
                g->levels[level] += s->levels[level];
        }
    return SKEIN_OK;
}

/* Each thread's longest of a name, against the waits of all and the others of its name. */
static int spans_judge(struct moment *f, size_t most, struct intern_table *keys,
                       struct group **groups, size_t *cap)
{
    for (size_t i = 0; i < f->thread_count; i++) {
        const struct thread *t = &f->threads[i];
        for (size_t k = 0; k < t->stat_count; k++) {
            const struct stat *s = &t->stats[k];
            const struct label *label = &f->labels[s->label];
            struct group *g;
            if (label->hidden)
                continue;
            if (group_of(f, keys, groups, cap, t, s->label, &g) != SKEIN_OK)
                return SKEIN_NO_MEMORY;
            unusual_take(f, g, t, s);
            for (size_t n = 0; n < TOP && label->wait && s->top[n].name != NULL; n++)
                if (!moment_is_idle(f, t, label, &s->top[n]))
                    wait_take(&f->list, most, &(struct moment_wait){who(f, t), s->top[n]});
        }
    }
    return SKEIN_OK;
}

static int spans_list(struct moment *f, size_t most)
{
    struct intern_table keys = {0};
    struct group *groups = NULL;
    size_t cap = 0;
    f->list.waits = calloc(most + 1, sizeof *f->list.waits);
    int status = f->list.waits != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = groups_fill(f, &keys, &groups, &cap);
    if (status == SKEIN_OK)
        status = spans_judge(f, most, &keys, &groups, &cap);
    f->list.unusual = calloc(keys.count + 1, sizeof *f->list.unusual);
    if (f->list.unusual == NULL)
        status = SKEIN_NO_MEMORY;
    while (status == SKEIN_OK &&
           f->list.wait_count > 0 && /* beside the longest, these are of no interest */
           f->list.waits[f->list.wait_count - 1].span.dur_ns < f->list.waits[0].span.dur_ns / 1000)
        f->list.wait_count--;
    for (size_t i = 0; status == SKEIN_OK && groups != NULL && i < keys.count; i++)
        if (groups[i].found.span.name != NULL)
            f->list.unusual[f->list.unusual_count++] = groups[i].found;
    if (f->list.unusual != NULL)
        qsort(f->list.unusual, f->list.unusual_count, sizeof *f->list.unusual, unusual_order);
    if (f->list.unusual_count > most)
        f->list.unusual_count = most;
    intern_table_fini(&keys);
    free(groups);
    return status;
}

/* The record's end is known now: what had ended by then is not inside of anything any more. */
static void moment_move(struct moment *f)
{
    if (f->end && f->open_to_ns > f->at_ns) {
        f->at_ns = f->open_to_ns;
        for (size_t i = 0; i < f->thread_count; i++) {
            struct thread *t = &f->threads[i];
            size_t kept = 0;
            for (size_t k = 0; k < t->inside_count; k++) {
                const struct moment_span *span = &t->inside[k];
                if (!span->open && f->at_ns - span->time_ns > span->dur_ns)
                    continue;
                t->inside_label[kept] = t->inside_label[k];
                t->inside[kept++] = *span;
            }
            t->inside_count = kept;
        }
    }
    f->list.at_ns = f->at_ns;
}

int moment_end(struct moment *f, size_t most, const struct moment_list **list)
{
    f->list.threads = f->thread_count;
    moment_move(f);
    for (size_t i = 0; i < f->process_count; i++) {
        const struct process *p = &f->processes[i];
        if (p->to_ns == 0)
            continue;
        uint64_t from_ns = p->from_ns != UINT64_MAX ? p->from_ns : p->open_ns;
        if (f->list.to_ns == 0 || from_ns < f->list.from_ns)
            f->list.from_ns = from_ns;
        f->list.to_ns = p->to_ns > f->list.to_ns ? p->to_ns : f->list.to_ns;
    }
    int status = inside_list(f);
    if (status == SKEIN_OK)
        status = spans_list(f, most);
    *list = &f->list;
    return status;
}
