/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what the agent's events (docs/evidence.md) add to a summary: samples of the CPU, scheduling,
 * neighbours, holders of locks by thread dumps, counters. Arguments are found by their names, so that
 * events of later versions are read, too. One thread enters. All other evidence is passed over.
 */
#include <string.h>

#include "sched_types.h"
#include "summary_feed.h"

enum feed_told {
    TOLD_SAMPLE = 1,
    TOLD_WINDOW,
    TOLD_OTHERS,
    TOLD_CPU,
    TOLD_LOAD,
    TOLD_DUMPED,
    TOLD_RUN,
    TOLD_RUNNABLE,
    TOLD_BLOCKED,
    TOLD_NEIGHBOUR,
    TOLD_SUMS
};

static const struct told {
    const char *name;
    enum feed_told told;
    const char *args[FEED_ARGS];
} tolds[] = {
    {"cpu.sample", TOLD_SAMPLE, {"weight"}},
    {"cpu.window", TOLD_WINDOW, {"process", "busy", "room"}},
    {"cpu.others", TOLD_OTHERS, {"name", "pid", "weight"}},
    {"thread.cpu", TOLD_CPU, {"run"}},
    {"thread.load", TOLD_LOAD, {"run", "wait", "over"}},
    {"thread.wait", TOLD_DUMPED, {"for", "object", "holder"}},
    {SCHED_NAME_RUN, TOLD_RUN, {NULL}},
    {SCHED_NAME_RUNNABLE, TOLD_RUNNABLE, {"why", "instead_tid", "instead"}},
    {SCHED_NAME_BLOCKED, TOLD_BLOCKED, {"state", "waker_tid", "waker"}},
    {SCHED_NAME_SUMS, TOLD_SUMS, {"run_ns", "runnable_ns", "runs", "gave_way", "preempted"}},
    {SCHED_NAME_NEIGHBOUR, TOLD_NEIGHBOUR, {"comm", "pid", "cpu_ns", "window_ns"}},
};

static int8_t arg_find(const struct skein_event_type *of, const char *name)
{
    for (uint8_t i = 0; i < of->arg_count; i++)
        if (strcmp(of->args[i].name, name) == 0)
            return (int8_t)i;
    return -1;
}

/* Of the type that is read; anything else is none. */
static uint8_t wanted_type(enum feed_told told, const char *name)
{
    static const char *const texts[] = {"why", "instead", "state", "waker", "comm", "name", "for"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i]) == 0)
            return SKEIN_T_STR;
    if (strcmp(name, "object") == 0)
        return SKEIN_T_PTR;
    return told == TOLD_LOAD && strcmp(name, "over") != 0 ? SKEIN_T_F64 : SKEIN_T_U64;
}

void feed_told_find(struct feed_type *type, const struct skein_event_type *of)
{
    for (size_t i = 0; i < sizeof tolds / sizeof *tolds; i++) {
        const struct told *told = &tolds[i];
        if (strcmp(of->name, told->name) != 0)
            continue;
        type->told = (int)told->told;
        for (size_t k = 0; k < FEED_ARGS && told->args[k] != NULL; k++) {
            int8_t at = arg_find(of, told->args[k]);
            if (at >= 0 && of->args[at].type == wanted_type(told->told, told->args[k]))
                type->args[k] = at;
        }
        return;
    }
    type->lock = type->kind.for_lock && of->arg_count > 0 && of->args[0].type == SKEIN_T_PTR;
    type->args[0] = type->lock ? arg_find(of, "owner") : -1;
    if (type->args[0] >= 0 && of->args[type->args[0]].type != SKEIN_T_I64)
        type->args[0] = -1;
}

/* ---- arguments: 0 and "" where there is none ---- */

static uint64_t number_of(const struct feed_event *event, unsigned i)
{
    int8_t at = event->type->args[i];
    return at >= 0 ? event->args[at].u64 : 0;
}

static double real_of(const struct feed_event *event, unsigned i)
{
    int8_t at = event->type->args[i];
    return at >= 0 && event->args[at].f64 >= 0 ? event->args[at].f64 : 0;
}

static const char *text_of_arg(const struct feed_event *event, unsigned i)
{
    int8_t at = event->type->args[i];
    return at >= 0 && event->args[at].text != NULL ? event->args[at].text : "";
}

/* ---- counters ---- */

static bool of_host(const struct summary_feed *f, const struct feed_event *event)
{
    const struct skein_thread *thread =
        skein_trace_thread(f->trace, event->batch->thread[event->row]);
    return thread->evidence && thread->tid == 0 && strcmp(thread->name, "host") == 0;
}

static bool value_find(const struct feed_event *event, const struct skein_event_type *of,
                       double *value)
{
    if (of->arg_count == 0)
        return false;
    const struct skein_arg *arg = &event->args[0];
    switch (of->args[0].type) {
    case SKEIN_T_U64:
    case SKEIN_T_BOOL:
        *value = (double)arg->u64;
        return true;
    case SKEIN_T_I64:
        *value = (double)arg->i64;
        return true;
    case SKEIN_T_F64:
        *value = arg->f64;
        return arg->f64 - arg->f64 == 0; /* finite */
    default:
        return false;
    }
}

static int counter_add(struct summary_feed *f, const struct feed_event *event,
                       const struct skein_event_type *of, double value)
{
    bool host = event->thread == SUMMARY_NONE && of_host(f, event), fresh;
    uint32_t unit;
    if (feed_text_put(f, &unit, of->args[0].unit != NULL ? of->args[0].unit : "") != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_counter *c = (struct summary_counter *)summary_row_get(
        f->s, SUMMARY_COUNTER, host ? SUMMARY_NONE : event->process, event->type->text,
        host ? feed_process(f, event->process)->host : 0, &fresh);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    if (host && !fresh && event->end_ns == c->row.last_ns)
        return SKEIN_OK; /* the same look, beside another process */
    row_touch(&c->row, event->end_ns);
    c->unit = unit;
    c->least = fresh || value < c->least ? value : c->least;
    c->most = fresh || value > c->most ? value : c->most;
    c->last = value;
    real_add(&c->sum, value);
    real_add(&c->squares, value * value);
    c->count++;
    return SKEIN_OK;
}

int feed_counter_take(struct summary_feed *f, const struct feed_event *event)
{
    const struct skein_event_type *of = skein_trace_type(f->trace, event->batch->type[event->row]);
    double value;
    return value_find(event, of, &value) ? counter_add(f, event, of, value) : SKEIN_OK;
}

/* ---- samples ---- */

static int sample_take(struct summary_feed *f, const struct feed_event *event)
{
    uint64_t ns = number_of(event, 0);
    struct summary_process *process = feed_process(f, event->process);
    sum_add(&process->sampled_ns, ns);
    process->samples++;
    if (event->thread != SUMMARY_NONE) {
        sum_add(&feed_thread(f, event->thread)->sampled_ns, ns);
        feed_thread(f, event->thread)->samples++;
    }
    return event->batch->stack[event->row] != 0 ? feed_stack_add(f, event, ns) : SKEIN_OK;
}

static int window_take(struct summary_feed *f, const struct feed_event *event)
{
    struct summary_process *process = feed_process(f, event->process);
    sum_add(&process->window_ns, number_of(event, 0));
    sum_add(&process->busy_ns, number_of(event, 1));
    sum_add(&process->room_ns, number_of(event, 2));
    return SKEIN_OK;
}

/* Who used the CPUs; the same is told beside each process of a host. */
static int neighbour_take(struct summary_feed *f, const struct feed_event *event)
{
    uint32_t name;
    bool fresh;
    uint64_t cpu_ns = number_of(event, 2), window_ns = number_of(event, 3);
    uint64_t pid = number_of(event, 1) & UINT32_MAX;
    if (feed_text_put(f, &name, text_of_arg(event, 0)) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_neighbour *n = (struct summary_neighbour *)summary_row_get(
        f->s, SUMMARY_NEIGHBOUR, SUMMARY_NONE, name,
        pid << 32 | feed_process(f, event->process)->host, &fresh);
    if (n == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&n->row, event->end_ns);
    n->pid = pid;
    n->cpu_ns = cpu_ns > n->cpu_ns ? cpu_ns : n->cpu_ns;
    n->window_ns = window_ns > n->window_ns ? window_ns : n->window_ns;
    return SKEIN_OK;
}

/* ---- threads ---- */

static int peak_take(struct summary_feed *f, const struct feed_event *event,
                     struct summary_peak *peak)
{
    if (event->dur_ns <= peak->dur_ns)
        return SKEIN_OK;
    *peak = (struct summary_peak){.time_ns = event->begin_ns,
                                  .dur_ns = event->dur_ns,
                                  .other = (uint32_t)number_of(event, 1)};
    return feed_text_put(f, &peak->name, text_of_arg(event, 2));
}

static int sched_take(struct summary_feed *f, const struct feed_event *event,
                      struct summary_thread *thread)
{
    static const char states[] = "SDT";
    const char *what = text_of_arg(event, 0), *state;
    struct summary_process *process = feed_process(f, event->process);
    bool preempted;
    size_t at;
    row_touch(&thread->row, event->end_ns);
    switch ((enum feed_told)event->type->told) {
    case TOLD_RUN:
        sum_add(&thread->run_ns, event->dur_ns);
        sum_add(&process->run_ns, event->dur_ns);
        thread->runs++;
        process->runs++;
        return SKEIN_OK;
    case TOLD_RUNNABLE:
        preempted = strcmp(what, "preempted") == 0;
        sum_add(&thread->runnable_ns, event->dur_ns);
        sum_add(&process->runnable_ns, event->dur_ns);
        thread->preempted += preempted;
        process->preempted += preempted;
        return peak_take(f, event, &thread->runnable);
    default:
        state = what[0] != '\0' ? strchr(states, what[0] == 't' ? 'T' : what[0]) : NULL;
        at = state != NULL ? (size_t)(state - states) : 3;
        sum_add(&thread->blocked_ns[at], event->dur_ns);
        sum_add(&process->blocked_ns[at], event->dur_ns);
        return peak_take(f, event, &thread->blocked);
    }
}

/* Since the thread began: the most is the latest. */
static void sums_take(struct summary_thread *thread, const struct feed_event *event)
{
    uint64_t *const to[FEED_ARGS] = {&thread->since_run_ns, &thread->since_runnable_ns,
                                     &thread->since_runs, &thread->since_gave_way,
                                     &thread->since_preempted};
    row_touch(&thread->row, event->end_ns);
    for (unsigned i = 0; i < FEED_ARGS; i++)
        *to[i] = number_of(event, i) > *to[i] ? number_of(event, i) : *to[i];
}

static void clock_take(struct summary_thread *thread, const struct feed_event *event)
{
    uint64_t run_ns = number_of(event, 0);
    if (thread->clock_from_ns == 0 || (run_ns > 0 && run_ns < thread->clock_from_ns))
        thread->clock_from_ns = run_ns;
    thread->clock_to_ns = run_ns > thread->clock_to_ns ? run_ns : thread->clock_to_ns;
}

static void load_take(struct summary_thread *thread, const struct feed_event *event)
{
    uint64_t over_ns = number_of(event, 2);
    double run = real_of(event, 0), wait = real_of(event, 1);
    sum_add(&thread->load_ns, over_ns);
    if (run <= 1000 && over_ns < UINT64_C(1) << 50)
        sum_add(&thread->load_run_ns, (uint64_t)(run * (double)over_ns / 100));
    if (wait <= 1000 && over_ns < UINT64_C(1) << 50)
        sum_add(&thread->load_wait_ns, (uint64_t)(wait * (double)over_ns / 100));
}

/* A thread waited for a lock at the moment of a dump. */
static int dumped_take(struct summary_feed *f, const struct feed_event *event)
{
    uint32_t text;
    bool fresh;
    if (strcmp(text_of_arg(event, 0), "mutex") != 0)
        return SKEIN_OK;
    if (feed_text_put(f, &text, "mutex_lock") != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_lock *lock = (struct summary_lock *)summary_row_get(
        f->s, SUMMARY_LOCK, event->process, text, number_of(event, 1), &fresh);
    if (lock == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&lock->row, event->end_ns);
    if (number_of(event, 2) != 0)
        holder_add(lock, &(struct summary_holder){number_of(event, 2), 0, 0, 1});
    return SKEIN_OK;
}

int feed_told_take(struct summary_feed *f, const struct feed_event *event)
{
    enum feed_told told = (enum feed_told)event->type->told;
    uint8_t kind = event->batch->kind[event->row];
    struct summary_thread *thread =
        event->thread != SUMMARY_NONE ? feed_thread(f, event->thread) : NULL;
    if (told == TOLD_SAMPLE)
        return sample_take(f, event);
    if (told == TOLD_WINDOW)
        return window_take(f, event);
    if (told == TOLD_OTHERS || told == TOLD_NEIGHBOUR)
        return neighbour_take(f, event);
    if (told == TOLD_DUMPED)
        return dumped_take(f, event);
    if (thread == NULL)
        return kind == SKEIN_ROW_COUNTER ? feed_counter_take(f, event) : SKEIN_OK;
    if ((told == TOLD_RUN || told == TOLD_RUNNABLE || told == TOLD_BLOCKED) &&
        kind == SKEIN_ROW_REGION)
        return sched_take(f, event, thread);
    if (told == TOLD_SUMS && kind == SKEIN_ROW_INSTANT)
        sums_take(thread, event);
    else if (told == TOLD_CPU)
        clock_take(thread, event);
    else if (told == TOLD_LOAD)
        load_take(thread, event);
    else if (kind == SKEIN_ROW_COUNTER)
        return feed_counter_take(f, event);
    return SKEIN_OK;
}
