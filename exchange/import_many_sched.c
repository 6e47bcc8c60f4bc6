/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the scheduler, by time, into what threads did (docs/evidence-sched.md). Spans may end
 * before the record that says so, and go through the window like other events. Threads are numbers
 * here, of which 0 is idle; what is shown are their tids.
 */
#include <stdio.h>
#include <stdlib.h>

#include "import_many_int.h"
#include "sched_runs.h"
#include "sched_types.h"

#define RAW_MAX 500000u /* records that wait for earlier ones */

uint32_t import_many_task(struct import_many *m, uint64_t process, uint64_t thread)
{
    uint32_t at = many_thread_at(m, process, thread);
    return at != SKEIN_NONE ? at + 1 : 0;
}

static uint32_t tid_of(const struct import_many *m, uint32_t task)
{
    return task > 0 && task <= m->thread_keys.count ? m->threads[task - 1].tid : 0;
}

static void value_take(struct import_value *to, const struct partition_arg *arg,
                       const struct partition_value *value)
{
    *to = (struct import_value){.name = arg->name, .unit = arg->unit, .type = arg->type};
    if (arg->type == SKEIN_T_STR) {
        to->text = value->str.text;
        to->n = value->str.len;
    } else {
        to->bits = value->u64;
    }
}

static void on_span(void *context, const struct sched_span *span)
{
    struct import_many *m = context;
    struct sched_span shown = *span;
    struct partition_value values[SKEIN_ARGS_MAX];
    struct import_value given[SKEIN_ARGS_MAX];
    if (span->tid == 0 || span->tid > m->thread_keys.count)
        return;
    const struct many_thread *thread = &m->threads[span->tid - 1];
    shown.instead = tid_of(m, span->instead);
    shown.waker.tid = tid_of(m, span->waker.tid);
    const struct partition_event_type *type = &sched_types[sched_span_values(&shown, values)];
    for (unsigned i = 0; i < type->nargs; i++)
        value_take(&given[i], &type->args[i], &values[i]);
    const struct import_entry entry = {.what = IMPORT_SPAN,
                                       .process = m->processes[thread->process].key,
                                       .thread = thread->key,
                                       .time_ns = span->end_ns,
                                       .dur_ns = span->end_ns - span->begin_ns,
                                       .name = type->name,
                                       .category = "thread",
                                       .evidence = true,
                                       .values = given,
                                       .count = type->nargs};
    if (thread->name == 0 && span->comm[0] != '\0')
        import_many_thread(m, entry.process, entry.thread, thread->tid, thread->incarnation,
                           span->comm);
    (void)import_many_add(m, &entry);
}

static void event_take(struct import_many *m, struct sched_event *event)
{
    const struct sched_timeline_ask ask = {.known_ns = event->time_ns,
                                           .from_ns = event->time_ns,
                                           .to_ns = IMPORT_TIME_MAX,
                                           .all = true,
                                           .span = on_span,
                                           .context = m};
    if (m->timeline == NULL)
        many_fail(m, sched_timeline_new(&ask, &m->timeline));
    m->told->fixed_up += event->time_ns < m->sched_last_ns;
    if (event->time_ns < m->sched_last_ns)
        event->time_ns = m->sched_last_ns;
    m->sched_last_ns = event->time_ns;
    if (m->status == SKEIN_OK)
        many_fail(m, sched_timeline_event(m->timeline, event));
    free(event);
}

void many_sched_run(struct import_many *m, size_t left)
{
    while (m->raw.count > left && m->status == SKEIN_OK)
        event_take(m, many_window_take(&m->raw));
}

int import_many_sched(struct import_many *m, const struct sched_event *event)
{
    if (event->cpu >= SCHED_CPUS_MAX || event->target_cpu >= SCHED_CPUS_MAX) {
        m->told->left_out++;
        import_why(m->told, "the scheduler's events name CPUs from %u on", SCHED_CPUS_MAX);
        return m->status;
    }
    struct sched_event *kept = m->status == SKEIN_OK ? malloc(sizeof *kept) : NULL;
    if (m->status != SKEIN_OK)
        return m->status;
    if (kept != NULL)
        *kept = *event;
    if (kept != NULL && kept->time_ns > IMPORT_TIME_MAX) {
        import_clamped(m->told);
        kept->time_ns = IMPORT_TIME_MAX;
    }
    if (kept == NULL || !many_window_put(&m->raw, kept->time_ns, kept)) {
        free(kept);
        many_fail(m, SKEIN_NO_MEMORY);
    }
    many_sched_run(m, RAW_MAX);
    return m->status;
}

int import_many_exec(struct import_many *m, uint32_t cpu, uint64_t time_ns, uint32_t before,
                     uint32_t after, const char *comm)
{
    enum { DEAD = 0x10 };                                       /* the kernel's state X */
    struct sched_event event = {.kind = SCHED_EVENT_WAKING_NEW, /* it waited for no CPU */
                                .time_ns = time_ns,
                                .cpu = cpu,
                                .target_cpu = cpu,
                                .current = before,
                                .tid = after};
    snprintf(event.comm, sizeof event.comm, "%s", comm);
    (void)import_many_sched(m, &event);
    event = (struct sched_event){.kind = SCHED_EVENT_SWITCH,
                                 .time_ns = time_ns,
                                 .cpu = cpu,
                                 .tid = before,
                                 .next = after,
                                 .state = DEAD};
    snprintf(event.next_comm, sizeof event.next_comm, "%s", comm);
    return import_many_sched(m, &event);
}

void many_sched_end(struct import_many *m)
{
    many_sched_run(m, 0);
    if (m->timeline != NULL && m->status == SKEIN_OK)
        sched_timeline_end(m->timeline, m->sched_last_ns);
}
