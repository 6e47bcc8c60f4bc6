/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the comparison: pairs rows of both sides, tests each pair, and ranks them. One thread enters.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "diff_int.h"
#include "statistics.h"
#include "wait_kind.h"

#define RATE_LEAST   1.5 /* times as often, else a change of the number is small */
#define TAIL_LEAST   2.0 /* times as many that take long */
#define LONGER_LEAST .1  /* from one half */
#define MEAN_LEAST   .1  /* of the greater mean */

static double not_negative(double v)
{
    return v > 0 ? v : 0;
}

static double seconds_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- pairs ---- */

static struct diff_pair *pair_get(struct diff *d, enum diff_kind kind, const char *service,
                                  const char *name, const char *more)
{
    struct buf key = {0};
    bool fresh;
    buf_put_u8(&key, (uint8_t)kind);
    buf_put(&key, service, strlen(service) + 1);
    buf_put(&key, name, strlen(name) + 1);
    buf_put(&key, more, strlen(more) + 1);
    int64_t at = key.status == SKEIN_OK && array_grow(d->pairs, d->keys.count + 1, &d->pair_cap)
                     ? intern_table_put(&d->keys, key.data, key.len, &fresh)
                     : SKEIN_NO_MEMORY;
    buf_fini(&key);
    if (at < 0)
        return NULL;
    struct diff_pair *pair = &d->pairs[at];
    d->pair_count = d->keys.count;
    if (fresh)
        *pair = (struct diff_pair){.change = {.kind = kind,
                                              .service = service,
                                              .host = "",
                                              .name = name,
                                              .stack = "",
                                              .unit = "",
                                              .group = -1,
                                              .level = -1,
                                              .longer = .5,
                                              .q_count = 1,
                                              .q_lasted = 1},
                                   .p = {-1, -1},
                                   .idle = true};
    return pair;
}

static struct diff_side *side_of(struct diff_pair *pair, unsigned side)
{
    return side == 0 ? &pair->change.before : &pair->change.after;
}

/* The process (a whole service here) of a row; NULL of the others. */
static const struct summary_process *service_of(const struct summary *s,
                                                const struct summary_row *row)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    if (row->of >= count || processes[row->of].row.merged > 0)
        return NULL;
    return &processes[row->of];
}

static enum diff_kind name_kind(const char *name, uint64_t number)
{
    if (number >= SUMMARY_INSTANTS)
        return DIFF_INSTANT;
    return wait_kind_of(name, (uint8_t)number).wait ? DIFF_WAIT : DIFF_REGION;
}

/* Names of two groups are two things. */
static int names_pair(struct diff *d, unsigned side)
{
    const struct summary *s = d->sides[side];
    const struct summary_name *names;
    size_t count = summary_names(s, &names);
    for (size_t i = 0; i < count; i++) {
        char group[24];
        const struct summary_name *n = &names[i];
        const struct summary_process *service = service_of(s, &n->row);
        const char *name = summary_text(s, n->row.text);
        if (service == NULL)
            continue;
        snprintf(group, sizeof group, "%" PRIu64, n->row.number);
        struct diff_pair *pair = pair_get(d, name_kind(name, n->row.number),
                                          summary_text(s, service->row.text), name, group);
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        struct diff_side *to = side_of(pair, side);
        pair->change.group = (int)(n->row.number % SUMMARY_INSTANTS);
        to->count = n->count;
        to->busy = not_negative(seconds_of(n->self_ns) - seconds_of(n->idle_ns) +
                                seconds_of(n->open_ns) - seconds_of(n->open_idle_ns));
        to->p50_ns = histogram_quantile(&n->lasted, .5);
        to->p99_ns = histogram_quantile(&n->lasted, .99);
        to->max_ns = n->lasted.max_ns;
        pair->lasted[side] = n->lasted;
        pair->idle &= n->idle_ns + n->open_idle_ns > (n->total_ns + n->open_ns) / 2;
    }
    return SKEIN_OK;
}

/* Whether what a stack is of is mostly idle on this side: a stack knows its name alone, so all groups
 * of that name count together. */
static bool stack_is_idle(const struct summary *s, const struct summary_row *stack)
{
    const struct summary_name *names;
    size_t count = summary_names(s, &names);
    uint64_t idle_ns = 0, all_ns = 0;
    for (size_t i = 0; i < count; i++)
        if (names[i].row.of == stack->of && names[i].row.text == stack->text) {
            idle_ns += names[i].idle_ns + names[i].open_idle_ns;
            all_ns += names[i].total_ns + names[i].open_ns;
        }
    return idle_ns > all_ns / 2;
}

static int stacks_pair(struct diff *d, unsigned side)
{
    const struct summary *s = d->sides[side];
    const struct summary_stack *stacks;
    size_t count = summary_stacks(s, &stacks);
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *service = service_of(s, &stacks[i].row);
        if (service == NULL)
            continue;
        const char *stack = summary_text(s, (uint32_t)stacks[i].row.number);
        struct diff_pair *pair = pair_get(d, DIFF_STACK, summary_text(s, service->row.text),
                                          summary_text(s, stacks[i].row.text), stack);
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        pair->change.stack = stack;
        pair->idle &= stack_is_idle(s, &stacks[i].row);
        side_of(pair, side)->count = stacks[i].count;
        side_of(pair, side)->busy = seconds_of(stacks[i].total_ns);
    }
    return SKEIN_OK;
}

static int counters_pair(struct diff *d, unsigned side)
{
    const struct summary *s = d->sides[side];
    const struct summary_counter *counters;
    size_t count = summary_counters(s, &counters);
    for (size_t i = 0; i < count; i++) {
        const struct summary_counter *c = &counters[i];
        const struct summary_process *service = service_of(s, &c->row);
        if (c->row.merged > 0 || (service == NULL && c->row.of != SUMMARY_NONE) || c->count == 0)
            continue;
        const char *host = service == NULL ? summary_text(s, (uint32_t)c->row.number) : "";
        struct diff_pair *pair =
            pair_get(d, DIFF_COUNTER, service != NULL ? summary_text(s, service->row.text) : "",
                     summary_text(s, c->row.text), host);
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        pair->change.host = host;
        pair->change.unit = summary_text(s, c->unit);
        pair->idle = false;
        struct diff_side *to = side_of(pair, side);
        to->count = c->count;
        to->mean = c->sum / (double)c->count;
        to->most = c->most;
        pair->values[side] = (struct statistics_sums){c->sum, c->squares};
    }
    return SKEIN_OK;
}

static int logs_pair(struct diff *d, unsigned side)
{
    const struct summary *s = d->sides[side];
    const struct summary_log *logs;
    size_t count = summary_logs(s, &logs);
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *service = service_of(s, &logs[i].row);
        char level[24];
        if (service == NULL)
            continue;
        snprintf(level, sizeof level, "%" PRIu64, logs[i].row.number);
        struct diff_pair *pair = pair_get(d, DIFF_LOG, summary_text(s, service->row.text),
                                          summary_text(s, logs[i].row.text), level);
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        pair->idle = false;
        pair->change.level = logs[i].row.number < 256 ? (int)logs[i].row.number : 255;
        side_of(pair, side)->count = logs[i].count;
    }
    return SKEIN_OK;
}

static int services_pair(struct diff *d, unsigned side)
{
    const struct summary *s = d->sides[side];
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *p = &processes[i];
        if (p->samples == 0 || p->row.merged > 0)
            continue;
        struct diff_pair *pair = pair_get(d, DIFF_CPU, summary_text(s, p->row.text), "", "");
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        pair->idle = false;
        side_of(pair, side)->count = p->samples;
        side_of(pair, side)->busy = seconds_of(p->sampled_ns);
    }
    return SKEIN_OK;
}

/* Threads are in the summary as it was given. */
static int threads_pair(struct diff *d, unsigned side, const struct summary *whole, bool one)
{
    const struct summary_thread *threads;
    const struct summary_process *processes;
    size_t count = summary_threads(whole, &threads), known = summary_processes(whole, &processes);
    for (size_t i = 0; i < count; i++) {
        const struct summary_thread *t = &threads[i];
        if (t->run_ns + t->runnable_ns == 0 || t->row.of >= known)
            continue;
        const char *name = one ? "" : summary_text(whole, processes[t->row.of].service);
        const struct summary_process *service = diff_service_find(d->sides[side], name);
        if (service == NULL)
            continue;
        struct diff_pair *pair =
            pair_get(d, DIFF_SCHED, summary_text(d->sides[side], service->row.text), "", "");
        if (pair == NULL)
            return SKEIN_NO_MEMORY;
        pair->idle = false;
        pair->told[side] = true;
        side_of(pair, side)->count += t->preempted;
        side_of(pair, side)->busy += seconds_of(t->runnable_ns);
    }
    return SKEIN_OK;
}

/* ---- tests ---- */

/* How many took longer than 99 % of both sides together. */
static uint64_t beyond(const struct histogram *h, unsigned level)
{
    uint64_t count = 0;
    for (unsigned i = level + 1; i < HISTOGRAM_LEVELS; i++)
        count += histogram_count(h, i);
    return count;
}

static unsigned both_p99(const struct histogram *a, const struct histogram *b)
{
    uint64_t all = a->count + b->count, seen = 0;
    for (unsigned level = 0; level < HISTOGRAM_LEVELS; level++) {
        seen += histogram_count(a, level) + histogram_count(b, level);
        if ((double)seen >= .99 * (double)all)
            return level;
    }
    return HISTOGRAM_LEVELS;
}

/* The whole distribution, and its far end: the less likely of both, twice. */
static double lasted_test(struct diff_pair *pair)
{
    const struct histogram *a = &pair->lasted[0], *b = &pair->lasted[1];
    if (a->count < DURATIONS_MIN || b->count < DURATIONS_MIN)
        return -1;
    unsigned level = both_p99(a, b);
    uint64_t far[2] = {beyond(a, level), beyond(b, level)};
    double n[2] = {(double)a->count, (double)b->count};
    pair->tail[0] = (double)far[0] / n[0];
    pair->tail[1] = (double)far[1] / n[1];
    double whole = durations_test(a, b, &pair->change.longer);
    double end = counts_test(far[0], n[0], far[1], n[1]);
    return fmin(1, 2 * fmin(whole, end));
}

static void pair_test(struct diff_pair *pair)
{
    const struct diff_change *c = &pair->change;
    const struct diff_side *a = &c->before, *b = &c->after;
    if (c->kind == DIFF_COUNTER) {
        const struct statistics_values one = {a->count, pair->values[0].sum,
                                              pair->values[0].squares};
        const struct statistics_values other = {b->count, pair->values[1].sum,
                                                pair->values[1].squares};
        bool enough = a->count >= VALUES_MIN && b->count >= VALUES_MIN;
        pair->p[1] = enough ? means_test(&one, &other) : -1;
    } else if (c->kind != DIFF_SCHED && !pair->idle) {
        pair->p[0] = counts_test(a->count, a->seen_s, b->count, b->seen_s);
        pair->p[1] = lasted_test(pair);
    }
}

static bool number_is_small(const struct diff_change *c)
{
    double a = ((double)c->before.count + .5) / c->before.seen_s;
    double b = ((double)c->after.count + .5) / c->after.seen_s;
    return a / b < RATE_LEAST && b / a < RATE_LEAST;
}

static bool length_is_small(const struct diff_pair *pair)
{
    const struct diff_change *c = &pair->change;
    double a = fabs(c->before.mean), b = fabs(c->after.mean);
    if (c->kind == DIFF_COUNTER)
        return fabs(c->after.mean - c->before.mean) < MEAN_LEAST * fmax(a, b);
    double floor = 1 / (double)(c->before.count + c->after.count + 1);
    double tail = (pair->tail[1] + floor) / (pair->tail[0] + floor);
    return fabs(c->longer - .5) < LONGER_LEAST && tail < TAIL_LEAST && 1 / tail < TAIL_LEAST;
}

/* Seconds of each second for what takes time, a tenth of the relative change for all else. */
static double size_of(const struct diff_change *c)
{
    bool mean = c->kind == DIFF_COUNTER;
    double a = mean ? c->before.mean : c->before.rate, b = mean ? c->after.mean : c->after.rate;
    if (c->kind != DIFF_COUNTER && c->kind != DIFF_INSTANT && c->kind != DIFF_LOG)
        return fabs(c->after.busy - c->before.busy);
    return fabs(a) + fabs(b) > 0 ? .1 * fabs(b - a) / (fabs(a) + fabs(b)) : 0;
}

static int pairs_test(struct diff *d)
{
    size_t count = d->pair_count, tests = 0;
    double *p = calloc(2 * count + 1, sizeof *p);
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        pair_test(&d->pairs[i]);
        for (unsigned k = 0; k < 2; k++)
            if (d->pairs[i].p[k] >= 0)
                p[tests++] = d->pairs[i].p[k];
    }
    int status = discoveries_adjust(p, tests);
    d->list.tests = tests;
    for (size_t i = 0, at = 0; i < count && status == SKEIN_OK; i++) {
        struct diff_change *c = &d->pairs[i].change;
        if (d->pairs[i].p[0] >= 0)
            c->q_count = p[at++];
        if (d->pairs[i].p[1] >= 0)
            c->q_lasted = p[at++];
        d->pairs[i].number_changed = c->q_count <= DIFF_Q && !number_is_small(c);
        d->pairs[i].length_changed = c->q_lasted <= DIFF_Q && !length_is_small(&d->pairs[i]);
        c->sure = d->pairs[i].number_changed || d->pairs[i].length_changed;
        c->size = size_of(c);
    }
    free(p);
    return status;
}

/* ---- the list ---- */

static double rank_of(const struct diff_change *c)
{
    return c->sure ? c->size : c->size / 2;
}

static int changes_compare(const void *a, const void *b)
{
    const struct diff_change *x = a, *y = b;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) > rank_of(y) ? -1 : 1;
    int order = (int)x->kind - (int)y->kind;
    order = order != 0 ? order : strcmp(x->service, y->service);
    order = order != 0 ? order : strcmp(x->host, y->host);
    order = order != 0 ? order : strcmp(x->name, y->name);
    order = order != 0 ? order : strcmp(x->stack, y->stack);
    order = order != 0 ? order : x->group - y->group;
    return order != 0 ? order : x->level - y->level;
}

/* Whether the agent told of it on that side at all: of the CPU by samples, and of scheduling, nothing is
 * not the same as none. */
static bool is_told(const struct diff_pair *pair, const struct summary_process *service,
                    unsigned side)
{
    const struct diff_change *c = &pair->change;
    if (c->kind == DIFF_SCHED)
        return pair->told[side];
    if (c->kind == DIFF_CPU || (c->kind == DIFF_STACK && strcmp(c->name, "cpu.sample") == 0))
        return service != NULL && service->samples > 0;
    return true;
}

/* Only what both sides have seen can have changed; a host's counters need values on both. */
static bool pair_is_whole(struct diff *d, struct diff_pair *pair)
{
    struct diff_change *c = &pair->change;
    const struct summary_process *services[2] = {diff_service_find(d->sides[0], c->service),
                                                 diff_service_find(d->sides[1], c->service)};
    if (c->kind == DIFF_COUNTER)
        return c->before.count > 0 && c->after.count > 0;
    for (unsigned side = 0; side < 2; side++) {
        struct diff_side *to = side_of(pair, side);
        to->seen_s = services[side] != NULL ? seconds_of(services[side]->seen_ns) : 0;
        if (!(to->seen_s > 0) || !is_told(pair, services[side], side))
            return false;
        to->rate = (double)to->count / to->seen_s;
        to->busy /= to->seen_s;
    }
    return true;
}

static int list_make(struct diff *d)
{
    struct diff_list *list = &d->list;
    list->compared = d->pair_count;
    for (size_t i = 0; i < d->pair_count; i++) {
        struct diff_change *c = &d->pairs[i].change;
        if (!c->sure && (c->kind == DIFF_COUNTER || c->size < DIFF_LARGE || d->pairs[i].idle))
            continue;
        c->words = diff_words(&d->pairs[i]);
        if (c->words == NULL || !array_grow(list->changes, list->count + 1, &d->change_cap)) {
            free(c->words);
            return SKEIN_NO_MEMORY;
        }
        list->changes[list->count++] = *c;
    }
    if (list->count > 0)
        qsort(list->changes, list->count, sizeof *list->changes, changes_compare);
    return SKEIN_OK;
}

static int diff_make(struct diff *d, const struct summary *const whole[2], bool one)
{
    int status = SKEIN_OK;
    for (unsigned side = 0; side < 2 && status == SKEIN_OK; side++) {
        status = one ? summary_as_one(whole[side], &d->sides[side])
                     : summary_by_service(whole[side], &d->sides[side]);
        const struct summary_process *processes;
        d->list.processes[side] = summary_processes(whole[side], &processes);
        summary_bounds(whole[side], &d->list.from_ns[side], &d->list.to_ns[side]);
    }
    int (*const pair[])(struct diff *, unsigned) = {names_pair, stacks_pair, counters_pair,
                                                    logs_pair, services_pair};
    for (unsigned side = 0; side < 2 && status == SKEIN_OK; side++) {
        for (size_t i = 0; i < sizeof pair / sizeof *pair && status == SKEIN_OK; i++)
            status = pair[i](d, side);
        if (status == SKEIN_OK)
            status = threads_pair(d, side, whole[side], one);
    }
    size_t kept = 0;
    for (size_t i = 0; status == SKEIN_OK && i < d->pair_count; i++)
        if (pair_is_whole(d, &d->pairs[i]))
            d->pairs[kept++] = d->pairs[i];
    if (status == SKEIN_OK)
        d->pair_count = kept;
    if (status == SKEIN_OK)
        status = pairs_test(d);
    if (status == SKEIN_OK)
        status = diff_twins_mark(d);
    if (status == SKEIN_OK)
        status = list_make(d);
    for (unsigned side = 0; side < 2 && status == SKEIN_OK; side++)
        status = diff_notes_add(d, side);
    if (status == SKEIN_OK)
        status = diff_outcome_find(d);
    return status;
}

int diff_new(const struct summary *before, const struct summary *after, bool one, struct diff **out,
             const struct diff_list **list)
{
    const struct summary *const whole[2] = {before, after};
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    int status = diff_make(*out, whole, one);
    if (status != SKEIN_OK)
        diff_free(out);
    else
        *list = &(*out)->list;
    return status;
}

void diff_free(struct diff **diff)
{
    struct diff *d = *diff;
    *diff = NULL;
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->list.count; i++)
        free(d->list.changes[i].words);
    for (size_t i = 0; i < d->list.note_count; i++)
        free(d->list.notes[i]);
    free(d->list.outcome_words);
    free(d->list.changes);
    free(d->list.notes);
    free(d->pairs);
    intern_table_fini(&d->keys);
    summary_free(&d->sides[0]);
    summary_free(&d->sides[1]);
    free(d);
}
