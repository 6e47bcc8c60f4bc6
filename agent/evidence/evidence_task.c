/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that asks the sources; see evidence_task.h. A task's mutex orders its end: `done` is
 * called with it, and whoever drops the task takes it.
 */
#include "evidence_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cond_until.h"
#include "log.h"
#include "proc_info.h"
#include "skein_check.h"
#include "symbol_partition.h"

/* A job that takes longer than so many deadlines, and a second, hangs. */
#define HANGS 3

/* Of a process that has crashed there is one chance to say why, nobody waits for it, and its stack is
 * walked through files that were not opened before. On a busy machine that takes seconds. */
#define CRASH_TIMES   4u
#define CRASH_MOST_MS UINT64_C(10000)

/* Numbers of evidence are of a row of their own (F-50): captures list the cuts of others, and their
 * row must have no hole where it lay. */
#define EVIDENCE_SEQUENCE PARTITION_EVIDENCE_FROM

/* With the mutex: what holds in each state of the drawing in evidence_task.h. */
static void task_assert(const struct evidence_task *task)
{
    skein_check(task->state <= TASK_DROPPED);
    skein_check(__atomic_load_n(&task->references, __ATOMIC_RELAXED) > 0);
    if (task->state == TASK_BEGUN)
        skein_check(task->done == NULL);
    if (task->state == TASK_FINISHING || task->state == TASK_DONE)
        skein_check(task->done != NULL);
}

/* With the mutex. Nothing comes after DONE, and nothing else after DROPPED. */
static void task_set(struct evidence_task *task, enum task_state state)
{
    skein_check(task->state != TASK_DONE);
    skein_check(state == TASK_DROPPED || task->state + 1 == state);
    task->state = state;
    task_assert(task);
}

static uint64_t longest_ms(const struct evidence *evidence)
{
    const uint64_t ms = evidence->settings.deadline_ms;
    const uint64_t more_ms = ms * CRASH_TIMES < CRASH_MOST_MS ? ms * CRASH_TIMES : CRASH_MOST_MS;
    return more_ms > ms ? more_ms : ms;
}

/* ---- the thread ---- */

int evidence_new(const struct evidence_settings *settings, struct symbolizer *symbolizer,
                 struct evidence **out)
{
    *out = NULL;
    struct evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence == NULL)
        return SKEIN_NO_MEMORY;
    evidence->settings = *settings;
    evidence->symbolizer = symbolizer;
    pthread_mutex_init(&evidence->mutex, NULL);
    cond_init(&evidence->idle);
    if (worker_new(&evidence->worker) != SKEIN_OK) {
        pthread_cond_destroy(&evidence->idle);
        pthread_mutex_destroy(&evidence->mutex);
        free(evidence);
        return SKEIN_NO_MEMORY;
    }
    *out = evidence;
    return SKEIN_OK;
}

size_t evidence_free(struct evidence **evidence_p)
{
    struct evidence *evidence = *evidence_p;
    if (evidence == NULL)
        return 0;
    *evidence_p = NULL;
    /* The agent ends: also of a crash nobody waits for longer. */
    uint64_t until_ns = clock_monotonic_ns() + (evidence->settings.deadline_ms + 1000) * NS_PER_MS;
    pthread_mutex_lock(&evidence->mutex);
    while (evidence->jobs > 0 && cond_wait_until(&evidence->idle, &evidence->mutex, until_ns))
        continue;
    bool hangs = evidence->jobs > 0;
    pthread_mutex_unlock(&evidence->mutex);
    if (hangs) {
        log_warn("evidence", "a source hangs: its thread is left behind", NULL);
        return 1;
    }
    worker_free(&evidence->worker);
    pthread_cond_destroy(&evidence->idle);
    pthread_mutex_destroy(&evidence->mutex);
    free(evidence);
    return 0;
}

int evidence_add(struct evidence *evidence, const struct evidence_source *source)
{
    if (evidence->source_count == EVIDENCE_KINDS_MAX)
        return SKEIN_FULL;
    evidence->sources[evidence->source_count++] = *source;
    return SKEIN_OK;
}

bool evidence_asks(const struct evidence *evidence, const struct evidence_wish *wish)
{
    for (size_t i = 0; i < evidence->source_count; i++)
        if (evidence_wish_has(wish, evidence->sources[i].kind))
            return true;
    return wish->kinds != 0;
}

uint64_t evidence_deadline_ms(const struct evidence_task *task)
{
    return task->deadline_ms;
}

static bool hangs_locked(const struct evidence *evidence)
{
    const uint64_t since_ns = evidence->busy_since_ns;
    return since_ns != 0 && clock_monotonic_ns() - since_ns > evidence->busy_most_ns;
}

/* Nothing is put behind a job that hangs: it would keep its process, and wait in vain. */
static int job_post(struct evidence_task *task, worker_fn *fn)
{
    struct evidence *evidence = task->evidence;
    pthread_mutex_lock(&evidence->mutex);
    bool hangs = hangs_locked(evidence);
    evidence->jobs += !hangs;
    pthread_mutex_unlock(&evidence->mutex);
    if (hangs)
        return SKEIN_BUSY;
    (void)evidence_ref(task);
    int status = worker_post(evidence->worker, &task->order.whose, fn, task);
    if (status == SKEIN_OK)
        return SKEIN_OK;
    pthread_mutex_lock(&evidence->mutex);
    evidence->jobs--;
    pthread_mutex_unlock(&evidence->mutex);
    __atomic_fetch_sub(&task->references, 1, __ATOMIC_RELAXED); /* the caller has another */
    return status;
}

static void job_begin(struct evidence_task *task, uint64_t deadline_ms)
{
    pthread_mutex_lock(&task->evidence->mutex);
    task->evidence->busy_since_ns = clock_monotonic_ns();
    task->evidence->busy_most_ns = (HANGS * deadline_ms + 1000) * NS_PER_MS;
    pthread_mutex_unlock(&task->evidence->mutex);
}

static void job_end(struct evidence_task *task)
{
    struct evidence *evidence = task->evidence;
    evidence_unref(&task);
    pthread_mutex_lock(&evidence->mutex);
    evidence->busy_since_ns = 0;
    if (--evidence->jobs == 0)
        pthread_cond_signal(&evidence->idle);
    pthread_mutex_unlock(&evidence->mutex);
}

/* ---- asking ---- */

static bool is_dropped(struct evidence_task *task)
{
    pthread_mutex_lock(&task->mutex);
    bool dropped = task->state == TASK_DROPPED;
    pthread_mutex_unlock(&task->mutex);
    return dropped;
}

static void source_ask(struct evidence_task *task, size_t i, const struct evidence_ask *ask)
{
    const struct evidence_source *source = &task->evidence->sources[i];
    struct evidence_note *note = &task->notes[i];
    uint64_t began_ns = clock_monotonic_ns();
    if (began_ns >= ask->deadline_ns) {
        evidence_say(note, EVIDENCE_NONE, "not asked: the agent had no time left");
        return;
    }
    uint64_t events = evidence_out_events(task->out);
    uint64_t left_out = evidence_out_left_out(task->out);
    source->collect(source->source, ask, task->out, note);
    note->events += evidence_out_events(task->out) - events;
    note->took_ns += clock_monotonic_ns() - began_ns;
    left_out = evidence_out_left_out(task->out) - left_out;
    if (left_out == 0)
        return;
    char why[EVIDENCE_WHY_BYTES];
    memcpy(why, note->why, sizeof why);
    evidence_say(note, EVIDENCE_PARTIAL, "%" PRIu64 " events had no room%s%.100s", left_out,
                 why[0] != '\0' ? "; " : "", why);
}

/* `when` is AT_BEGIN, AT_END, or FETCHED: at the end, of those that fetch. */
static bool is_asked(const struct evidence_task *task, size_t i, enum evidence_when when)
{
    enum evidence_when its = task->evidence->sources[i].when;
    if (its == EVIDENCE_AT_BEGIN && task->order.threads_barred)
        return false;
    if (its == EVIDENCE_AT_DEATH)
        its = EVIDENCE_AT_END;
    bool both = its == EVIDENCE_AT_BOTH && when != EVIDENCE_FETCHED;
    bool fetches = its == EVIDENCE_FETCHED && when == EVIDENCE_AT_BEGIN;
    return evidence_is_wished(task, i) && (both || fetches || its == when);
}

static void sources_ask(struct evidence_task *task, enum evidence_when when, uint64_t to_ns,
                        uint64_t deadline_ns)
{
    const struct evidence *evidence = task->evidence;
    struct evidence_ask ask = {.process = task->order.process,
                               .from_ns = task->order.from_ns,
                               .to_ns = to_ns,
                               .deadline_ns = deadline_ns,
                               .threads = evidence_wish_has(&task->order.wish, "threads"),
                               .when = when == EVIDENCE_AT_BEGIN ? when : EVIDENCE_AT_END,
                               .task = task,
                               .settings = &evidence->settings,
                               .symbolizer = evidence->symbolizer};
    for (size_t i = 0; i < evidence->source_count; i++) {
        if (!is_asked(task, i, when) || task->denied || is_dropped(task))
            continue;
        ask.state = &task->states[i].of;
        task->states[i].free = evidence->sources[i].state_free;
        source_ask(task, i, &ask);
    }
}

/* ---- whose it is ----
 *
 * A user has a process watched that is his. It may become a program that is not, by exec, before or while
 * the sources look at it: so the program is looked at before and behind them, and all is thrown away
 * if it is not his, or not the same.
 *
 * One that was attached is let go by exec, which closes its connection. A program can keep it open, and
 * pass on its ring and its name so: nothing is had of what it becomes, if that is not his. */

#define PROGRAM_DENIED 0u
#define PROGRAM_ENDED  1u /* its memory is gone, and its user is still known */
#define PROGRAM_GONE   2u
#define PROGRAM_ANY    3u /* the process is the operator's, or runs what was attached */

/* Unless it is known to run what was attached, which may change its user, or has ended. */
static bool has_become_others(const struct process *p)
{
    uint64_t stack = proc_start_stack((pid_t)p->pid);
    return stack != 0 && stack != p->start_stack &&
           proc_is_same((pid_t)p->pid, p->start_clock_ticks) &&
           !proc_is_charged((pid_t)p->pid, p->user);
}

/* Else where its stack begins, which each exec moves. */
static uint64_t program_of(const struct process *p)
{
    if (!p->watched && p->user != 0 && has_become_others(p))
        return PROGRAM_DENIED;
    if (!p->watched || !p->by_hand || p->user == 0)
        return PROGRAM_ANY;
    if (!proc_is_same((pid_t)p->pid, p->start_clock_ticks))
        return PROGRAM_GONE;
    uint64_t stack = proc_start_stack((pid_t)p->pid);
    if (!proc_is_users((pid_t)p->pid, p->user))
        return PROGRAM_DENIED;
    return stack > PROGRAM_ANY ? stack : PROGRAM_ENDED;
}

static void program_begin(struct evidence_task *task)
{
    task->program = program_of(task->order.process);
    task->denied = task->denied || task->program == PROGRAM_DENIED;
}

static void program_end(struct evidence_task *task)
{
    uint64_t now = program_of(task->order.process);
    bool fine = now == task->program || (now == PROGRAM_ENDED && task->program > PROGRAM_ANY);
    task->denied = task->denied || !fine;
}

static void begin_run(void *context)
{
    struct evidence_task *task = context;
    const uint64_t now_ns = clock_monotonic_ns(), ms = task->evidence->settings.deadline_ms;
    job_begin(task, ms);
    program_begin(task);
    /* The end of the capture may be now as well: half of the time is for its sources. */
    sources_ask(task, EVIDENCE_AT_BEGIN, now_ns, now_ns + ms * NS_PER_MS / 2);
    program_end(task);
    job_end(task);
}

/* ---- the partition ---- */

static void notes_set(struct evidence_task *task, enum evidence_state state, const char *why)
{
    for (size_t i = 0; i < task->evidence->source_count; i++) {
        task->notes[i].events = 0;
        evidence_say(&task->notes[i], state, "%s", why);
    }
}

static int partition_make(struct evidence_task *task)
{
    struct process *p = task->order.process;
    struct partition_info info = {.key = {.process = p->uid, .epoch = task->order.epoch},
                                  .pid = p->pid,
                                  .process_start_ns = p->start_ns,
                                  .mode = p->geometry.mode,
                                  .clock_offset_ns = task->clock_offset_ns,
                                  .host = task->order.host,
                                  .service = p->service,
                                  .labels = p->labels,
                                  .exe = p->exe};
    if (process_state(p) != PROCESS_LIVE) {
        info.death.signal = p->death.signal;
        info.death.status = p->death.status;
        info.death.known = p->death.known;
    }
    if (evidence_out_events(task->out) == 0)
        return SKEIN_NOT_FOUND;
    info.key.sequence = EVIDENCE_SEQUENCE + task->evidence->made++;
    struct evidence_partition *partition = &task->partition;
    struct partition_writer *writer;
    struct partition_footer footer;
    int status = evidence_out_pour(task->out, &info, task->order.from_ns, task->to_ns, &writer);
    if (status != SKEIN_OK)
        return status;
    if (task->evidence->symbolizer != NULL) /* what has no name by then stays raw */
        (void)symbol_partition_name(task->evidence->symbolizer, (pid_t)p->pid, p->start_clock_ticks,
                                    task->deadline_ns, writer);
    status = partition_writer_finish(writer, &partition->bytes, &footer);
    partition_writer_free(&writer);
    if (status != SKEIN_OK)
        return status;
    partition->key = info.key;
    partition->events = footer.events;
    partition->from_ns = footer.from_ns;
    partition->to_ns = footer.to_ns;
    partition_footer_free(&footer);
    return SKEIN_OK;
}

static void partition_drop(struct evidence_task *task)
{
    buf_fini(&task->partition.bytes);
    task->partition = (struct evidence_partition){.events = 0};
}

/* With what was fetched; nothing holds the task any more. */
static void task_end(struct evidence_task *task)
{
    skein_check(task->holds == 0 && !task->parked);
    uint64_t eighth_ns = task->deadline_ms * NS_PER_MS / 8;
    sources_ask(task, EVIDENCE_FETCHED, task->to_ns, task->deadline_ns - eighth_ns);
    int status = is_dropped(task) || task->denied ? SKEIN_NOT_FOUND : partition_make(task);
    program_end(task);
    if (task->denied || (status != SKEIN_OK && status != SKEIN_NOT_FOUND))
        partition_drop(task);
    if (task->denied)
        notes_set(task, EVIDENCE_REFUSED,
                  "its program changes its user, or it has become another one meanwhile: root may "
                  "have it captured");
    else if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
        notes_set(task, EVIDENCE_NONE, "it could not be packed");
    pthread_mutex_lock(&task->mutex);
    if (task->state == TASK_FINISHING)
        task_set(task, task->done(task->context) ? TASK_DONE : TASK_DROPPED);
    pthread_mutex_unlock(&task->mutex);
}

static void finish_run(void *context)
{
    struct evidence_task *task = context;
    job_begin(task, task->deadline_ms);
    /* A quarter of the time is for names and packing. */
    uint64_t quarter_ns = task->deadline_ms * NS_PER_MS / 4;
    program_begin(task);
    sources_ask(task, EVIDENCE_AT_END, task->to_ns, task->deadline_ns - quarter_ns);
    task->parked = task->holds > 0;
    if (!task->parked)
        task_end(task);
    job_end(task);
}

/* ---- what sources fetch ---- */

void evidence_hold(const struct evidence_ask *ask)
{
    ask->task->holds++;
    (void)evidence_ref(ask->task);
}

static void release_run(void *context)
{
    struct evidence_task *task = context;
    job_begin(task, task->evidence->settings.deadline_ms);
    task->holds--;
    if (task->parked && task->holds == 0) {
        task->parked = false;
        task_end(task);
    }
    job_end(task);
}

/* Where the job cannot be posted, the task stays held until its capture gives it up. */
void evidence_release(struct evidence_task *task)
{
    int status = job_post(task, release_run);
    if (status != SKEIN_OK)
        log_warn("evidence", "what was fetched is lost", "reason", skein_status_text(status), NULL);
    evidence_unref(&task);
}

/* ---- tasks ---- */

int evidence_begin(struct evidence *evidence, const struct evidence_order *order,
                   struct evidence_task **out)
{
    *out = NULL;
    struct evidence_task *task = calloc(1, sizeof *task);
    if (task == NULL || evidence_out_new(evidence->settings.out_bytes_max, &task->out) != 0) {
        free(task);
        return SKEIN_NO_MEMORY;
    }
    task->evidence = evidence;
    task->order = *order;
    task->order.process = process_ref(order->process);
    task->references = 1;
    pthread_mutex_init(&task->mutex, NULL);
    for (size_t i = 0; i < evidence->source_count; i++)
        if (evidence->sources[i].concerns == NULL || evidence->sources[i].concerns(order->process))
            task->concerned |= UINT32_C(1) << i;
    for (size_t i = 0; order->threads_barred && i < evidence->source_count; i++)
        if (evidence->sources[i].when == EVIDENCE_AT_BEGIN)
            evidence_say(&task->notes[i], EVIDENCE_REFUSED,
                         EVIDENCE_OFF "evidence.no_threads is set");
    bool asked = false;
    for (size_t i = 0; i < evidence->source_count; i++)
        asked = asked || is_asked(task, i, EVIDENCE_AT_BEGIN);
    int status = asked ? job_post(task, begin_run) : SKEIN_OK;
    for (size_t i = 0; status == SKEIN_BUSY && i < evidence->source_count; i++)
        if (is_asked(task, i, EVIDENCE_AT_BEGIN))
            evidence_say(&task->notes[i], EVIDENCE_NONE, EVIDENCE_HANGS);
    if (status == SKEIN_NO_MEMORY) {
        evidence_unref(&task);
        return SKEIN_NO_MEMORY;
    }
    *out = task;
    return SKEIN_OK;
}

int evidence_finish(struct evidence_task *task, uint64_t to_ns, int64_t clock_offset_ns,
                    evidence_done_fn *done, void *context)
{
    pthread_mutex_lock(&task->mutex);
    task_assert(task);
    task->done = done;
    task->context = context;
    task->to_ns = to_ns;
    const enum process_state state = process_state(task->order.process);
    task->dead = state != PROCESS_LIVE;
    task->deadline_ms = state == PROCESS_CRASHED ? longest_ms(task->evidence)
                                                 : task->evidence->settings.deadline_ms;
    task->deadline_ns = clock_monotonic_ns() + task->deadline_ms * NS_PER_MS;
    task->clock_offset_ns = clock_offset_ns;
    task_set(task, TASK_FINISHING);
    pthread_mutex_unlock(&task->mutex);
    int status = job_post(task, finish_run);
    if (status != SKEIN_OK)
        (void)evidence_drop(task);
    return status;
}

bool evidence_drop(struct evidence_task *task)
{
    pthread_mutex_lock(&task->mutex);
    bool dropped = task->state != TASK_DONE;
    if (dropped)
        task_set(task, TASK_DROPPED);
    pthread_mutex_unlock(&task->mutex);
    return dropped;
}

struct evidence_task *evidence_ref(struct evidence_task *task)
{
    __atomic_fetch_add(&task->references, 1, __ATOMIC_RELAXED);
    return task;
}

void evidence_unref(struct evidence_task **task_p)
{
    struct evidence_task *task = *task_p;
    *task_p = NULL;
    if (task == NULL || __atomic_fetch_sub(&task->references, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    for (size_t i = 0; i < EVIDENCE_KINDS_MAX; i++) /* `evidence` may be gone */
        if (task->states[i].of != NULL)
            task->states[i].free(task->states[i].of);
    process_unref(&task->order.process);
    evidence_out_free(&task->out);
    buf_fini(&task->partition.bytes);
    pthread_mutex_destroy(&task->mutex);
    free(task);
}
