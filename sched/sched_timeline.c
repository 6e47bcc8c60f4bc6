/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of threads; see sched_timeline.h for the drawing. Two things are not as plain as it:
 *
 * - A thread may be woken on its way to sleep, while it is still on its CPU: the record of the
 *   waking then comes before that of its leaving. It is kept (pending) until the thread comes back:
 *   without another waking it was never blocked.
 * - Idle CPUs run tid 0, all the same one: it has no state here, only CPU time.
 */
#include "sched_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "sched_runs.h"
#include "sched_tasks.h"
#include "skein/status.h"

#define CLONE_THREAD_FLAG UINT64_C(0x10000)
#define BORN_SLACK_NS     UINT64_C(20000000) /* /proc tells when a thread began in clock ticks */
#define STATE_PREEMPTED   UINT64_C(0x100) /* taken off its CPU, whatever else it was about to do */

struct sched_timeline {
    struct sched_timeline_ask ask;
    uint64_t known_ns; /* nothing is missing since then */
    uint64_t last_ns;  /* of the latest event */
    struct sched_tasks tasks;
    struct sched_cpus cpus;
    struct sched_use *uses;
    uint64_t unseen; /* switches */
};

int sched_timeline_new(const struct sched_timeline_ask *ask, struct sched_timeline **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->ask = *ask;
    (*out)->known_ns = ask->known_ns;
    return SKEIN_OK;
}

void sched_timeline_free(struct sched_timeline **timeline)
{
    if (*timeline == NULL)
        return;
    sched_tasks_fini(&(*timeline)->tasks);
    sched_cpus_fini(&(*timeline)->cpus);
    free((*timeline)->uses);
    free(*timeline);
    *timeline = NULL;
}

static void comm_set(char to[SCHED_COMM_BYTES], const char *comm)
{
    if (comm[0] == '\0')
        return;
    size_t n = strnlen(comm, SCHED_COMM_BYTES - 1);
    memset(to, 0, SCHED_COMM_BYTES);
    memcpy(to, comm, n);
}

int sched_timeline_watch(struct sched_timeline *t, uint32_t tid, uint64_t from_ns, char state,
                         uint32_t cpu, const char *comm)
{
    struct task *task = sched_task_get(&t->tasks, tid);
    if (task == NULL)
        return SKEIN_NO_MEMORY;
    task->watched = task->watched_by_name = true;
    task->watched_from_ns = from_ns;
    task->now = state;
    task->now_cpu = cpu;
    comm_set(task->comm, comm);
    return SKEIN_OK;
}

/* ---- spans ---- */

static void span_give(struct sched_timeline *t, const struct task *task, struct sched_span *span)
{
    if (!task->watched && !t->ask.all)
        return;
    if (span->begin_ns < task->watched_from_ns)
        span->begin_ns = task->watched_from_ns;
    if (span->begin_ns >= span->end_ns || span->end_ns <= t->ask.from_ns ||
        span->begin_ns >= t->ask.to_ns)
        return;
    span->tid = task->tid;
    memcpy(span->comm, task->comm, sizeof span->comm);
    t->ask.span(t->ask.context, span);
}

static void instead_set(struct sched_timeline *t, const struct task *task, struct sched_span *span)
{
    const struct sched_cpu *cpu = sched_cpu_find(&t->cpus, span->cpu);
    if (cpu == NULL || (!task->watched && !t->ask.all))
        return;
    /* Of the part that span_give tells. */
    uint64_t from_ns =
        span->begin_ns > task->watched_from_ns ? span->begin_ns : task->watched_from_ns;
    struct sched_most most = sched_cpu_most(cpu, from_ns, span->end_ns, task->tid);
    if (most.tid == 0)
        return;
    span->instead = most.tid;
    span->instead_ns = most.ns;
    const struct task *other = sched_task_get(&t->tasks, most.tid); /* known: it ran */
    if (other != NULL)
        memcpy(span->instead_comm, other->comm, sizeof span->instead_comm);
}

static uint8_t cut_of(const struct task *task, uint8_t cut)
{
    return (uint8_t)(cut | (task->since_cut ? SCHED_CUT_BEGIN : 0) |
                     (task->since_unseen ? SCHED_CUT_UNSEEN : 0));
}

/* Of these three, the task's state has begun at task->since_ns. */
static void run_end(struct sched_timeline *t, const struct task *task, uint64_t at_ns, uint8_t cut)
{
    struct sched_span span = {.kind = SCHED_SPAN_RUN,
                              .cut = cut_of(task, cut),
                              .cpu = task->cpu,
                              .begin_ns = task->since_ns,
                              .end_ns = at_ns};
    span_give(t, task, &span);
}

static void runnable_end(struct sched_timeline *t, size_t number, uint32_t cpu, uint64_t at_ns,
                         uint8_t cut)
{
    const struct task *task = &t->tasks.tasks[number];
    struct sched_span span = {.kind = SCHED_SPAN_RUNNABLE,
                              .cut = cut_of(task, cut),
                              .why = task->why,
                              .cpu = cpu,
                              .begin_ns = task->since_ns,
                              .end_ns = at_ns};
    instead_set(t, task, &span);
    span_give(t, &t->tasks.tasks[number], &span);
}

static void blocked_end(struct sched_timeline *t, const struct task *task, uint64_t at_ns,
                        uint8_t cut, const struct sched_waker *waker)
{
    struct sched_span span = {.kind = SCHED_SPAN_BLOCKED,
                              .cut = cut_of(task, cut),
                              .state = task->block,
                              .begin_ns = task->since_ns,
                              .end_ns = at_ns};
    if (waker != NULL)
        span.waker = *waker;
    span_give(t, task, &span);
}

/* ---- states ---- */

static void state_begin(struct task *task, enum task_state state, uint64_t at_ns, uint32_t cpu)
{
    task->state = (uint8_t)state;
    task->since_ns = at_ns;
    task->since_cut = task->since_unseen = false;
    task->cpu = cpu;
}

/* What it was doing while it was TASK_UNKNOWN, as its next record says. */
static void state_assume(const struct sched_timeline *t, struct task *task, enum task_state state,
                         uint32_t cpu)
{
    state_begin(task, state, task->since_ns > t->known_ns ? task->since_ns : t->known_ns, cpu);
    task->since_cut = true;
    task->why = SCHED_WHY_UNKNOWN;
    task->block = '?';
}

static void woken_to_runnable(struct task *task, uint64_t at_ns, uint32_t cpu, enum sched_why why)
{
    state_begin(task, TASK_RUNNABLE, at_ns, cpu);
    task->why = (uint8_t)why;
    task->has_pending = false;
}

/* A waking that came while nothing was known of the thread: it was blocked until then. */
static void pending_settle(struct sched_timeline *t, struct task *task)
{
    state_assume(t, task, TASK_BLOCKED, 0);
    blocked_end(t, task, task->pending_ns, 0, &task->pending);
    woken_to_runnable(task, task->pending_ns, task->pending_cpu, SCHED_WHY_WOKEN);
}

/* It was woken on its way to sleep, and never slept. */
static void task_unblock(struct task *task)
{
    task->state = TASK_RUNNABLE;
    task->why = SCHED_WHY_WOKEN;
    task->cpu = task->pending_cpu;
}

static void task_comes(struct sched_timeline *t, size_t number, uint32_t cpu, uint64_t at_ns)
{
    struct task *task = &t->tasks.tasks[number];
    if (task->state == TASK_UNKNOWN && task->has_pending)
        pending_settle(t, task);
    if (task->state == TASK_UNKNOWN)
        state_assume(t, task, TASK_RUNNABLE, cpu);
    if (task->state == TASK_BLOCKED && task->has_pending)
        task_unblock(task);
    if (task->state == TASK_RUNNABLE)
        runnable_end(t, number, cpu, at_ns, 0);
    else if (task->state == TASK_BLOCKED)
        blocked_end(t, task, at_ns, 0, NULL);
    else if (task->state == TASK_RUNNING)
        run_end(t, task, at_ns, SCHED_CUT_UNSEEN);
    task = &t->tasks.tasks[number]; /* it may have moved */
    t->unseen += task->state == TASK_RUNNING;
    state_begin(task, TASK_RUNNING, at_ns, cpu);
    task->has_pending = false;
}

static char block_letter(uint64_t state)
{
    static const char letters[] = "SDTtXZPI";
    for (unsigned i = 0; i < sizeof letters - 1; i++)
        if ((state >> i & 1) != 0)
            return letters[i];
    return '?';
}

static void task_leaves(struct sched_timeline *t, struct task *task, uint32_t cpu, uint64_t at_ns,
                        uint64_t state)
{
    if (task->state == TASK_UNKNOWN)
        state_assume(t, task, TASK_RUNNING, cpu);
    run_end(t, task, at_ns, 0);
    char letter = block_letter(state);
    if (state == 0 || (state & STATE_PREEMPTED) != 0) {
        woken_to_runnable(task, at_ns, cpu, SCHED_WHY_PREEMPTED);
    } else if (letter == 'X' || letter == 'Z') {
        state_begin(task, TASK_GONE, at_ns, cpu);
        task->has_pending = task->watched = task->watched_by_name = false;
    } else {
        state_begin(task, TASK_BLOCKED, at_ns, cpu);
        task->block = letter;
    }
}

/* ---- records ---- */

static void use_add(const struct sched_timeline *t, struct task *task, const struct sched_run *run)
{
    uint64_t from = run->from_ns > t->ask.from_ns ? run->from_ns : t->ask.from_ns;
    uint64_t to = run->to_ns < t->ask.to_ns ? run->to_ns : t->ask.to_ns;
    if (to <= from)
        return;
    task->use.ns += to - from;
    task->use.runs++;
    task->use.watched |= task->watched;
}

static void cpu_ran(struct sched_timeline *t, struct sched_cpu *cpu, uint32_t tid, uint64_t from_ns,
                    uint64_t to_ns)
{
    const struct sched_run run = {.tid = tid, .from_ns = from_ns, .to_ns = to_ns};
    struct task *task = sched_task_get(&t->tasks, tid);
    if (task != NULL)
        use_add(t, task, &run);
    sched_cpu_ran(cpu, tid, from_ns, to_ns);
}

/* Who leaves a CPU on which, by the records, somebody else is: the kernel has not recorded all. An
 * idle CPU was given up as early as can be; of another thread, nothing is known from now on. Returns
 * since when the one that leaves has run at most. */
static uint64_t unseen_settle(struct sched_timeline *t, const struct sched_cpu *cpu,
                              const struct sched_event *e)
{
    struct task *on = sched_task_get(&t->tasks, cpu->tid); /* known: it came */
    uint64_t from_ns = e->time_ns;
    t->unseen++;
    if (on != NULL && cpu->known && cpu->tid != e->tid && on->state == TASK_RUNNING &&
        on->cpu == e->cpu) {
        run_end(t, on, e->time_ns, SCHED_CUT_UNSEEN);
        state_begin(on, TASK_UNKNOWN, e->time_ns, e->cpu);
    }
    struct task *task = sched_task_get(&t->tasks, e->tid);
    if (task == NULL || e->tid == 0)
        return from_ns;
    if (task->state == TASK_BLOCKED && task->has_pending)
        task_unblock(task);
    if (task->state == TASK_RUNNABLE && cpu->known && cpu->tid == 0)
        from_ns = cpu->since_ns > task->since_ns ? cpu->since_ns : task->since_ns;
    if (task->state == TASK_RUNNABLE)
        runnable_end(t, (size_t)(task - t->tasks.tasks), e->cpu, from_ns, SCHED_CUT_UNSEEN);
    else if (task->state == TASK_BLOCKED)
        blocked_end(t, task, from_ns, SCHED_CUT_UNSEEN, NULL);
    else if (task->state == TASK_RUNNING) /* elsewhere, until who knows when */
        run_end(t, task, from_ns, SCHED_CUT_UNSEEN);
    task = sched_task_get(&t->tasks, e->tid);
    if (task != NULL) {
        state_begin(task, TASK_RUNNING, from_ns, e->cpu);
        task->since_unseen = true;
    }
    return from_ns;
}

static int switch_take(struct sched_timeline *t, const struct sched_event *e)
{
    struct sched_cpu *cpu = sched_cpu_get(&t->cpus, e->cpu);
    struct task *task = sched_task_get(&t->tasks, e->tid);
    if (cpu == NULL || task == NULL)
        return SKEIN_NO_MEMORY;
    comm_set(task->comm, e->comm);
    uint64_t from_ns = cpu->known ? cpu->since_ns : t->known_ns;
    bool elsewhere = e->tid != 0 && task->state != TASK_RUNNING && task->state != TASK_UNKNOWN;
    if (elsewhere || (cpu->known && cpu->tid != e->tid)) {
        uint64_t since_ns = from_ns;
        from_ns = unseen_settle(t, cpu, e);
        if (cpu->known)
            cpu_ran(t, cpu, cpu->tid, since_ns, from_ns);
    }
    cpu_ran(t, cpu, e->tid, from_ns, e->time_ns);
    cpu->known = true;
    cpu->tid = e->next;
    cpu->since_ns = e->time_ns;
    task = sched_task_get(&t->tasks, e->tid);
    if (task != NULL && e->tid != 0)
        task_leaves(t, task, e->cpu, e->time_ns, e->state);
    task = sched_task_get(&t->tasks, e->next);
    if (task == NULL)
        return SKEIN_NO_MEMORY;
    comm_set(task->comm, e->next_comm);
    if (e->next != 0)
        task_comes(t, (size_t)(task - t->tasks.tasks), e->cpu, e->time_ns);
    return SKEIN_OK;
}

static int waker_of(struct sched_timeline *t, const struct sched_event *e, struct sched_waker *out)
{
    const struct task *waker = sched_task_get(&t->tasks, e->current);
    if (waker == NULL)
        return SKEIN_NO_MEMORY;
    *out = (struct sched_waker){
        .known = true, .tid = e->current, .cpu = e->cpu, .context = e->context};
    memcpy(out->comm, waker->comm, sizeof out->comm);
    return SKEIN_OK;
}

static int waking_take(struct sched_timeline *t, const struct sched_event *e)
{
    struct sched_waker waker;
    int status = waker_of(t, e, &waker);
    struct task *task = sched_task_get(&t->tasks, e->tid);
    if (status != SKEIN_OK || task == NULL)
        return SKEIN_NO_MEMORY;
    comm_set(task->comm, e->comm);
    if (e->kind == SCHED_EVENT_WAKING_NEW) {
        if (task->state == TASK_GONE || task->state == TASK_UNKNOWN)
            woken_to_runnable(task, e->time_ns, e->target_cpu, SCHED_WHY_NEW);
        return SKEIN_OK;
    }
    if (task->state == TASK_BLOCKED) {
        blocked_end(t, task, e->time_ns, 0, &waker);
        woken_to_runnable(task, e->time_ns, e->target_cpu, SCHED_WHY_WOKEN);
    } else if (task->state == TASK_RUNNING || (task->state == TASK_UNKNOWN && !task->has_pending)) {
        task->has_pending = true;
        task->pending_ns = e->time_ns;
        task->pending_cpu = e->target_cpu;
        task->pending = waker;
    }
    return SKEIN_OK;
}

/* Whoever had the tid before is gone. */
static int new_take(struct sched_timeline *t, const struct sched_event *e)
{
    const struct task *maker = sched_task_get(&t->tasks, e->current);
    if (maker == NULL)
        return SKEIN_NO_MEMORY;
    bool ours = maker->watched && (e->clone_flags & CLONE_THREAD_FLAG) != 0;
    struct task *task = sched_task_get(&t->tasks, e->tid);
    if (task == NULL)
        return SKEIN_NO_MEMORY;
    comm_set(task->comm, e->comm);
    state_begin(task, TASK_GONE, e->time_ns, e->cpu);
    task->has_pending = false;
    if (task->watched_by_name && e->time_ns + BORN_SLACK_NS >= task->watched_from_ns)
        return SKEIN_OK;
    if (task->watched_by_name && !ours) /* its own beginning is still to come */
        return SKEIN_OK;
    task->watched = ours;
    task->watched_from_ns = ours ? e->time_ns : 0;
    return SKEIN_OK;
}

static int event_take(struct sched_timeline *t, const struct sched_event *e)
{
    switch (e->kind) {
    case SCHED_EVENT_SWITCH:
        return switch_take(t, e);
    case SCHED_EVENT_WAKING:
    case SCHED_EVENT_WAKING_NEW:
        return waking_take(t, e);
    case SCHED_EVENT_NEW:
        return new_take(t, e);
    default:
        return SKEIN_OK;
    }
}

int sched_timeline_event(struct sched_timeline *t, const struct sched_event *e)
{
    if (e->cpu >= SCHED_CPUS_MAX) {
        t->unseen++;
        return SKEIN_OK;
    }
    if (e->time_ns < t->known_ns) /* in a gap */
        return SKEIN_OK;
    /* The kernel's quick clock may go back a little when it is corrected: two runs on a CPU would
     * overlap. */
    struct sched_event event = *e;
    event.time_ns = e->time_ns > t->last_ns ? e->time_ns : t->last_ns;
    t->last_ns = event.time_ns;
    int status = event_take(t, &event);
    return t->tasks.no_memory ? SKEIN_NO_MEMORY : status;
}

/* ---- ends ---- */

/* A thread without a record since the timeline knows all: what /proc says of it held all along. One
 * that could run had its CPU if nobody else did. */
static void unseen_assume(struct sched_timeline *t, struct task *task, uint64_t at_ns)
{
    if (!task->watched || task->now == 0)
        return;
    if (task->now != 'R') {
        state_assume(t, task, TASK_BLOCKED, 0);
        task->block = task->now;
        return;
    }
    const struct sched_cpu *cpu = sched_cpu_find(&t->cpus, task->now_cpu);
    bool taken = cpu != NULL && cpu->known;
    state_assume(t, task, taken ? TASK_RUNNABLE : TASK_RUNNING, task->now_cpu);
    if (!taken)
        use_add(t, task, &(struct sched_run){.from_ns = t->known_ns, .to_ns = at_ns});
}

static void task_cut(struct sched_timeline *t, size_t number, uint64_t at_ns)
{
    struct task *task = &t->tasks.tasks[number];
    if (task->state == TASK_UNKNOWN && task->has_pending)
        pending_settle(t, task);
    if (task->state == TASK_RUNNING)
        run_end(t, task, at_ns, SCHED_CUT_END);
    else if (task->state == TASK_RUNNABLE)
        runnable_end(t, number, task->cpu, at_ns, SCHED_CUT_END);
    else if (task->state == TASK_BLOCKED)
        blocked_end(t, task, at_ns, SCHED_CUT_END, NULL);
    task = &t->tasks.tasks[number];
    state_begin(task, TASK_UNKNOWN, at_ns, 0);
    task->has_pending = false;
}

static void all_cut(struct sched_timeline *t, uint64_t at_ns)
{
    for (size_t i = 0; i < t->tasks.count; i++)
        task_cut(t, i, at_ns);
    for (size_t i = 0; i < t->cpus.count; i++) {
        struct sched_cpu *cpu = t->cpus.cpus[i];
        if (cpu == NULL)
            continue;
        const struct sched_run run = {.tid = cpu->tid, .from_ns = cpu->since_ns, .to_ns = at_ns};
        struct task *task = cpu->known ? sched_task_get(&t->tasks, cpu->tid) : NULL;
        if (task != NULL)
            use_add(t, task, &run);
        sched_cpu_forget(cpu);
    }
}

void sched_timeline_gap(struct sched_timeline *t, uint64_t from_ns, uint64_t to_ns)
{
    all_cut(t, from_ns);
    if (to_ns > t->known_ns)
        t->known_ns = to_ns;
}

void sched_timeline_end(struct sched_timeline *t, uint64_t at_ns)
{
    for (size_t i = 0; i < t->tasks.count; i++)
        if (t->tasks.tasks[i].state == TASK_UNKNOWN && !t->tasks.tasks[i].has_pending)
            unseen_assume(t, &t->tasks.tasks[i], at_ns);
    all_cut(t, at_ns);
}

size_t sched_timeline_uses(struct sched_timeline *t, const struct sched_use **uses)
{
    size_t count = 0;
    free(t->uses);
    t->uses = t->tasks.no_memory ? NULL : calloc(t->tasks.count + 1, sizeof *t->uses);
    for (size_t i = 0; t->uses != NULL && i < t->tasks.count; i++) {
        struct task *task = &t->tasks.tasks[i];
        if (task->use.ns == 0)
            continue;
        memcpy(task->use.comm, task->comm, sizeof task->use.comm);
        t->uses[count++] = task->use;
    }
    *uses = t->uses;
    return count;
}

uint64_t sched_timeline_unseen(const struct sched_timeline *t)
{
    return t->unseen;
}
