/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns, for each thread of the trace, what it was inside of at the moment, and for each name on it
 * how long that usually takes and the longest two. One thread enters. Never reads a file.
 */
#include "array.h"
#include "moment_int.h"
#include "skein/trace.h"
#include "wait_kind.h"

#include <stdlib.h>
#include <string.h>

int moment_new(uint64_t groups, uint64_t at_ns, bool end, struct moment **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->groups = groups;
    (*out)->at_ns = at_ns;
    (*out)->end = end;
    return SKEIN_OK;
}

void moment_free(struct moment **moment)
{
    struct moment *f = *moment;
    *moment = NULL;
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->label_count; i++)
        free(f->labels[i].text);
    for (size_t i = 0; i < f->thread_count; i++) {
        free(f->threads[i].name);
        free(f->threads[i].stats);
    }
    for (size_t i = 0; i < f->process_count; i++) {
        free(f->processes[i].service);
        free(f->processes[i].host);
    }
    intern_table_fini(&f->label_keys);
    intern_table_fini(&f->thread_keys);
    intern_table_fini(&f->process_keys);
    free(f->labels);
    free(f->threads);
    free(f->processes);
    free(f->list.inside);
    free(f->list.idle);
    free(f->list.waits);
    free(f->list.unusual);
    free(f->list.deaths);
    free(f);
}

/* ---- who and what ---- */

static void label_judge(struct label *label)
{
    const struct wait_kind kind = wait_kind_of(label->text, label->group);
    label->wait = kind.wait;
    label->for_anything = kind.for_anything;
    label->for_lock = kind.for_lock;
    label->own_time = kind.own_time;
    label->rhythmic = kind.rhythmic;
}

int64_t moment_label_put(struct moment *f, const char *name, uint8_t group, bool shown)
{
    char key[PARTITION_NAME_MAX + 2] = {(char)group};
    bool fresh;
    size_t n = strnlen(name, PARTITION_NAME_MAX);
    memcpy(key + 1, name, n);
    int64_t at = intern_table_put(&f->label_keys, key, n + 1, &fresh);
    if (at < 0 || (size_t)at < f->label_count)
        return at;
    char *text = strndup(name, n);
    if (text == NULL || !array_grow(f->labels, f->label_count + 1, &f->label_cap)) {
        free(text);
        return SKEIN_NO_MEMORY;
    }
    f->labels[f->label_count] = (struct label){.text = text, .group = group, .hidden = !shown};
    label_judge(&f->labels[f->label_count++]);
    return at;
}

int moment_death_put(struct moment *f, size_t process, int32_t signal, int32_t status)
{
    struct process *p = &f->processes[process];
    struct moment_list *list = &f->list;
    struct moment_death *deaths =
        realloc(list->deaths, (list->death_count + 1) * sizeof *list->deaths);
    if (deaths == NULL)
        return SKEIN_NO_MEMORY;
    p->dead = true;
    list->deaths = deaths;
    deaths[list->death_count++] =
        (struct moment_death){p->pid, p->service, p->host, signal, status};
    return SKEIN_OK;
}

int64_t moment_process_put(struct moment *f, const uint8_t id[16], uint32_t pid,
                           const char *service, const char *host)
{
    bool fresh;
    int64_t at = intern_table_put(&f->process_keys, id, 16, &fresh);
    if (at < 0 || (size_t)at < f->process_count)
        return at;
    if (!array_grow(f->processes, f->process_count + 1, &f->process_cap))
        return SKEIN_NO_MEMORY;
    struct process *p = &f->processes[f->process_count++];
    *p = (struct process){.service = strdup(service),
                          .host = strdup(host),
                          .pid = pid,
                          .from_ns = UINT64_MAX,
                          .open_ns = UINT64_MAX};
    return p->service != NULL && p->host != NULL ? at : SKEIN_NO_MEMORY;
}

int64_t moment_thread_put(struct moment *f, size_t process, uint32_t tid, uint64_t incarnation,
                          const char *name)
{
    uint64_t key[3] = {process, tid, incarnation};
    bool fresh;
    int64_t at = intern_table_put(&f->thread_keys, key, sizeof key, &fresh);
    if (at < 0 || (size_t)at < f->thread_count)
        return at;
    if (!array_grow(f->threads, f->thread_count + 1, &f->thread_cap))
        return SKEIN_NO_MEMORY;
    struct thread *t = &f->threads[f->thread_count++];
    *t = (struct thread){.process = process,
                         .tid = tid,
                         .stands_in = (incarnation & SKEIN_STAND_IN) != 0,
                         .name = strdup(name)};
    return t->name != NULL ? at : SKEIN_NO_MEMORY;
}

static struct stat *stat_of(struct thread *t, size_t label)
{
    for (size_t i = 0; i < t->stat_count; i++)
        if (t->stats[i].label == label)
            return &t->stats[i];
    struct stat *stats = realloc(t->stats, (t->stat_count + 1) * sizeof *stats);
    if (stats == NULL)
        return NULL;
    t->stats = stats;
    stats[t->stat_count] = (struct stat){.label = label};
    return &stats[t->stat_count++];
}

/* ---- events ---- */

static unsigned level_of(uint64_t ns)
{
    unsigned level = 0;
    while (ns > 1) {
        ns >>= 1;
        level++;
    }
    return level;
}

static void stat_take(struct stat *s, const struct moment_span *span)
{
    s->count++;
    s->total_ns += span->dur_ns;
    unsigned level = level_of(span->dur_ns);
    s->levels[level] += s->levels[level] < UINT32_MAX;
    size_t at = TOP;
    while (at > 0 && span->dur_ns > s->top[at - 1].dur_ns)
        at--;
    if (at == TOP)
        return;
    memmove(&s->top[at + 1], &s->top[at], (TOP - 1 - at) * sizeof s->top[0]);
    s->top[at] = *span;
}

/* A span that is work came: the waits that it holds, which came before it, were at work. */
static void waits_mark(struct thread *t, const struct moment_span *work)
{
    for (size_t i = 0; i < t->stat_count; i++)
        for (size_t k = 0; k < TOP; k++) {
            struct moment_span *wait = &t->stats[i].top[k];
            wait->at_work |= wait->time_ns >= work->time_ns &&
                             wait->time_ns + wait->dur_ns <= work->time_ns + work->dur_ns &&
                             (wait->time_ns != work->time_ns || wait->dur_ns != work->dur_ns);
        }
}

/* Keeps the innermost, by when they began. */
static void inside_take(struct thread *t, const struct moment_span *span, size_t label)
{
    size_t at = t->inside_count;
    while (at > 0 && (t->inside[at - 1].time_ns > span->time_ns ||
                      (t->inside[at - 1].time_ns == span->time_ns &&
                       t->inside[at - 1].dur_ns < span->dur_ns)))
        at--;
    if (t->inside_count == MOMENT_INSIDE_MAX) {
        if (at == 0)
            return;
        memmove(&t->inside[0], &t->inside[1], --at * sizeof t->inside[0]);
        memmove(&t->inside_label[0], &t->inside_label[1], at * sizeof t->inside_label[0]);
    } else {
        size_t behind = t->inside_count++ - at;
        memmove(&t->inside[at + 1], &t->inside[at], behind * sizeof t->inside[0]);
        memmove(&t->inside_label[at + 1], &t->inside_label[at], behind * sizeof t->inside_label[0]);
    }
    t->inside[at] = *span;
    t->inside_label[at] = label;
}

bool moment_would_keep(const struct moment *f, size_t thread, size_t label, uint64_t dur_ns)
{
    const struct thread *t = &f->threads[thread];
    for (size_t i = 0; i < t->stat_count; i++)
        if (t->stats[i].label == label)
            return dur_ns > t->stats[i].top[TOP - 1].dur_ns;
    return true;
}

int moment_span_put(struct moment *f, size_t thread, size_t label, const struct moment_span *given,
                    bool work)
{
    struct thread *t = &f->threads[thread];
    struct stat *stat = stat_of(t, label);
    if (stat == NULL)
        return SKEIN_NO_MEMORY;
    struct moment_span span = *given;
    span.name = f->labels[label].text;
    if (!f->labels[label].wait && work)
        waits_mark(t, &span);
    stat_take(stat, &span);
    bool begun = span.time_ns <= f->at_ns || (span.open && f->end); /* the end is not known yet */
    if (begun && (span.open || f->at_ns - span.time_ns <= span.dur_ns))
        inside_take(t, &span, label);
    return SKEIN_OK;
}

void moment_time_put(struct moment *f, size_t process, uint64_t from_ns, uint64_t until_ns,
                     bool open)
{
    struct process *p = &f->processes[process];
    if (open) {
        p->open_ns = from_ns < p->open_ns ? from_ns : p->open_ns;
        f->open_to_ns = until_ns > f->open_to_ns ? until_ns : f->open_to_ns;
    } else {
        p->from_ns = until_ns < p->from_ns ? until_ns : p->from_ns;
    }
    p->to_ns = until_ns > p->to_ns ? until_ns : p->to_ns;
}

static int event_put(struct moment *f, int64_t process, const struct trace_event *event)
{
    int64_t thread = moment_thread_put(f, (size_t)process, event->thread->tid,
                                       event->thread->incarnation, event->thread->name);
    bool open = event->kind == TRACE_OPEN;
    if (thread < 0 || event->type == NULL || (event->kind != TRACE_REGION && !open))
        return thread < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
    int64_t label = moment_label_put(f, event->type->name, event->type->group,
                                     event_type_shown(event->type, f->groups));
    if (label < 0)
        return SKEIN_NO_MEMORY;
    const struct moment_span span = {.time_ns = event->time_ns,
                                     .dur_ns = event->dur_ns,
                                     .open = open,
                                     .clipped = event->begin_clipped || event->end_clipped,
                                     .at_work = event->depth > 0,
                                     .stack = event->stack};
    return moment_span_put(f, (size_t)thread, (size_t)label, &span,
                           event->type->klass == SKEIN_CLASS_SPAN);
}

int moment_add(struct moment *f, const struct partition_info *info, const struct trace_event *event,
               bool last)
{
    bool open = event->kind == TRACE_OPEN;
    if (event->kind == TRACE_LOSS || (open && !last))
        return SKEIN_OK;
    int64_t process =
        moment_process_put(f, info->key.process.bytes, info->pid, info->service, info->host);
    if (process < 0)
        return SKEIN_NO_MEMORY;
    int status = SKEIN_OK;
    if (info->death.known && !f->processes[process].dead)
        status = moment_death_put(f, (size_t)process, info->death.signal, info->death.status);
    uint64_t lasted_ns = event->kind == TRACE_REGION || open ? event->dur_ns : 0;
    moment_time_put(f, (size_t)process, event->time_ns, event->time_ns + lasted_ns, open);
    if (event->thread != NULL && status == SKEIN_OK)
        status = event_put(f, process, event);
    return status;
}
