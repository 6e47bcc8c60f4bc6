/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns, for each thread of the trace, what it was inside of at the moment, and for each name on it
 * how long that usually takes and the longest two. One thread enters. Never reads a file.
 */
#include "array.h"
#include "findings_int.h"
#include "wait_kind.h"

#include <stdlib.h>
#include <string.h>

int findings_new(uint64_t groups, uint64_t at_ns, bool end, struct findings **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->groups = groups;
    (*out)->at_ns = at_ns;
    (*out)->end = end;
    return SKEIN_OK;
}

void findings_free(struct findings **findings)
{
    struct findings *f = *findings;
    *findings = NULL;
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

static int label_of(struct findings *f, const struct partition_event_type *type, size_t *at)
{
    char key[PARTITION_NAME_MAX + 2] = {(char)type->group};
    bool fresh;
    size_t n = strnlen(type->name, PARTITION_NAME_MAX);
    memcpy(key + 1, type->name, n);
    int64_t found = intern_table_put(&f->label_keys, key, n + 1, &fresh);
    if (found < 0)
        return SKEIN_NO_MEMORY;
    *at = (size_t)found;
    if (*at < f->label_count)
        return SKEIN_OK;
    char *text = strndup(type->name, n);
    if (text == NULL || !array_grow(f->labels, f->label_count + 1, &f->label_cap)) {
        free(text);
        return SKEIN_NO_MEMORY;
    }
    f->labels[f->label_count] = (struct label){
        .text = text, .group = type->group, .hidden = !event_type_shown(type, f->groups)};
    label_judge(&f->labels[f->label_count++]);
    return SKEIN_OK;
}

static int death_add(struct findings *f, const struct process *p, const struct partition_info *info)
{
    struct findings_list *list = &f->list;
    struct finding_death *deaths =
        realloc(list->deaths, (list->death_count + 1) * sizeof *list->deaths);
    if (deaths == NULL)
        return SKEIN_NO_MEMORY;
    list->deaths = deaths;
    deaths[list->death_count++] =
        (struct finding_death){p->pid, p->service, p->host, info->death.signal, info->death.status};
    return SKEIN_OK;
}

static int process_of(struct findings *f, const struct partition_info *info, size_t *at)
{
    bool fresh;
    int64_t found = intern_table_put(&f->process_keys, info->key.process.bytes,
                                     sizeof info->key.process.bytes, &fresh);
    if (found < 0)
        return SKEIN_NO_MEMORY;
    *at = (size_t)found;
    if (*at < f->process_count)
        return SKEIN_OK;
    if (!array_grow(f->processes, f->process_count + 1, &f->process_cap))
        return SKEIN_NO_MEMORY;
    struct process *p = &f->processes[f->process_count++];
    *p = (struct process){.service = strdup(info->service),
                          .host = strdup(info->host),
                          .pid = info->pid,
                          .from_ns = UINT64_MAX,
                          .open_ns = UINT64_MAX};
    return p->service != NULL && p->host != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int thread_of(struct findings *f, size_t process, const struct partition_thread *thread,
                     size_t *at)
{
    uint64_t key[3] = {process, thread->tid, thread->incarnation};
    bool fresh;
    int64_t found = intern_table_put(&f->thread_keys, key, sizeof key, &fresh);
    if (found < 0)
        return SKEIN_NO_MEMORY;
    *at = (size_t)found;
    if (*at < f->thread_count)
        return SKEIN_OK;
    if (!array_grow(f->threads, f->thread_count + 1, &f->thread_cap))
        return SKEIN_NO_MEMORY;
    struct thread *t = &f->threads[f->thread_count++];
    *t = (struct thread){.process = process, .tid = thread->tid, .name = strdup(thread->name)};
    return t->name != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
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

static void stat_take(struct stat *s, const struct finding_span *span)
{
    s->count++;
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
static void waits_mark(struct thread *t, const struct finding_span *work)
{
    for (size_t i = 0; i < t->stat_count; i++)
        for (size_t k = 0; k < TOP; k++) {
            struct finding_span *wait = &t->stats[i].top[k];
            wait->at_work |= wait->time_ns >= work->time_ns &&
                             wait->time_ns + wait->dur_ns <= work->time_ns + work->dur_ns &&
                             (wait->time_ns != work->time_ns || wait->dur_ns != work->dur_ns);
        }
}

/* Keeps the innermost, by when they began. */
static void inside_take(struct thread *t, const struct finding_span *span, size_t label)
{
    size_t at = t->inside_count;
    while (at > 0 && (t->inside[at - 1].time_ns > span->time_ns ||
                      (t->inside[at - 1].time_ns == span->time_ns &&
                       t->inside[at - 1].dur_ns < span->dur_ns)))
        at--;
    if (t->inside_count == FINDINGS_INSIDE_MAX) {
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

static int span_take(struct findings *f, struct thread *t, const struct trace_event *event)
{
    size_t label;
    int status = label_of(f, event->type, &label);
    struct stat *stat = status == SKEIN_OK ? stat_of(t, label) : NULL;
    if (stat == NULL)
        return SKEIN_NO_MEMORY;
    bool open = event->kind == TRACE_OPEN;
    const struct finding_span span = {.name = f->labels[label].text,
                                      .time_ns = event->time_ns,
                                      .dur_ns = event->dur_ns,
                                      .open = open,
                                      .clipped = event->begin_clipped || event->end_clipped,
                                      .at_work = event->depth > 0,
                                      .stack = event->stack};
    if (!f->labels[label].wait && event->type->klass == SKEIN_CLASS_SPAN)
        waits_mark(t, &span);
    stat_take(stat, &span);
    bool begun = span.time_ns <= f->at_ns || (open && f->end); /* the end is not known yet */
    if (begun && (open || f->at_ns - span.time_ns <= span.dur_ns))
        inside_take(t, &span, label);
    return SKEIN_OK;
}

int findings_add(struct findings *f, const struct partition_info *info,
                 const struct trace_event *event, bool last)
{
    size_t process, thread;
    bool region = event->kind == TRACE_REGION;
    if (event->kind == TRACE_LOSS || (event->kind == TRACE_OPEN && !last))
        return SKEIN_OK;
    int status = process_of(f, info, &process);
    if (status != SKEIN_OK)
        return status;
    struct process *p = &f->processes[process];
    if (info->death.known && !p->dead) {
        p->dead = true;
        status = death_add(f, p, info);
    }
    uint64_t until_ns = event->time_ns + (region || event->kind == TRACE_OPEN ? event->dur_ns : 0);
    if (event->kind == TRACE_OPEN) {
        p->open_ns = event->time_ns < p->open_ns ? event->time_ns : p->open_ns;
        f->open_to_ns = until_ns > f->open_to_ns ? until_ns : f->open_to_ns;
    } else {
        p->from_ns = until_ns < p->from_ns ? until_ns : p->from_ns;
    }
    p->to_ns = until_ns > p->to_ns ? until_ns : p->to_ns;
    if (event->thread == NULL || status != SKEIN_OK)
        return status;
    status = thread_of(f, process, event->thread, &thread);
    if (status == SKEIN_OK && event->type != NULL && (region || event->kind == TRACE_OPEN))
        status = span_take(f, &f->threads[thread], event);
    return status;
}
