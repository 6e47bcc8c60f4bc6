/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that asks the sources; see evidence_task.h. A task's mutex orders its end: `done` is
 * called with it, and whoever drops the task takes it.
 */
#include "evidence_task.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "skein_check.h"
#include "symbol_partition.h"
#include "worker.h"

#define MS UINT64_C(1000000)

/* Numbers of evidence are of a row of their own (F-50): captures list the cuts of others, and their
 * row must have no hole where it lay. */
#define EVIDENCE_SEQUENCE (UINT64_C(1) << 48)

struct evidence {
    struct evidence_settings settings; /* constant, as all before the first task */
    struct symbolizer *symbolizer;
    struct evidence_source sources[EVIDENCE_KINDS_MAX];
    size_t source_count;
    uint64_t made; /* partitions; the thread's */
    struct worker *worker;
    pthread_mutex_t mutex;
    pthread_cond_t idle;
    size_t jobs; /* posted and not over; under the mutex */
};

enum task_state { TASK_BEGUN, TASK_FINISHING, TASK_DONE, TASK_DROPPED };

struct evidence_task {
    struct evidence *evidence;
    struct evidence_order order; /* constant; with a reference to the process */
    uint32_t references;         /* atomic */
    pthread_mutex_t mutex;
    enum task_state state; /* under the mutex */
    /* constant after evidence_finish */
    evidence_done_fn *done;
    void *context;
    uint64_t to_ns, deadline_ns;
    int64_t clock_offset_ns;
    /* the evidence thread's until it is done, then the owner's */
    struct evidence_out *out;
    struct evidence_note notes[EVIDENCE_KINDS_MAX]; /* by source */
    struct evidence_partition partition;
};

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
    pthread_cond_init(&evidence->idle, NULL);
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
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(evidence->settings.deadline_ms / 1000 + 1);
    int waited = 0;
    pthread_mutex_lock(&evidence->mutex);
    while (evidence->jobs > 0 && waited == 0)
        waited = pthread_cond_timedwait(&evidence->idle, &evidence->mutex, &until);
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

bool evidence_asks(const struct evidence *evidence, bool threads)
{
    for (size_t i = 0; i < evidence->source_count; i++)
        if (threads || evidence->sources[i].when == EVIDENCE_AT_END)
            return true;
    return false;
}

uint64_t evidence_deadline_ms(const struct evidence *evidence)
{
    return evidence->settings.deadline_ms;
}

static int job_post(struct evidence_task *task, worker_fn *fn)
{
    struct evidence *evidence = task->evidence;
    pthread_mutex_lock(&evidence->mutex);
    evidence->jobs++;
    pthread_mutex_unlock(&evidence->mutex);
    (void)evidence_ref(task);
    int status = worker_post(evidence->worker, fn, task);
    if (status == SKEIN_OK)
        return SKEIN_OK;
    pthread_mutex_lock(&evidence->mutex);
    evidence->jobs--;
    pthread_mutex_unlock(&evidence->mutex);
    __atomic_fetch_sub(&task->references, 1, __ATOMIC_RELAXED); /* the caller has another */
    return status;
}

static void job_end(struct evidence_task *task)
{
    struct evidence *evidence = task->evidence;
    evidence_unref(&task);
    pthread_mutex_lock(&evidence->mutex);
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

static bool is_asked(const struct evidence_task *task, enum evidence_when wish,
                     enum evidence_when when)
{
    if (wish == EVIDENCE_AT_BEGIN)
        return when == wish && task->order.threads && !task->order.threads_barred;
    return wish == EVIDENCE_AT_BOTH || wish == when;
}

static void sources_ask(struct evidence_task *task, enum evidence_when when, uint64_t to_ns,
                        uint64_t deadline_ns)
{
    const struct evidence *evidence = task->evidence;
    const struct evidence_ask ask = {.process = task->order.process,
                                     .from_ns = task->order.from_ns,
                                     .to_ns = to_ns,
                                     .deadline_ns = deadline_ns,
                                     .threads = task->order.threads,
                                     .when = when,
                                     .settings = &evidence->settings,
                                     .symbolizer = evidence->symbolizer};
    for (size_t i = 0; i < evidence->source_count; i++)
        if (is_asked(task, evidence->sources[i].when, when) && !is_dropped(task))
            source_ask(task, i, &ask);
}

static void begin_run(void *context)
{
    struct evidence_task *task = context;
    uint64_t now_ns = clock_monotonic_ns();
    sources_ask(task, EVIDENCE_AT_BEGIN, now_ns,
                now_ns + task->evidence->settings.deadline_ms * MS);
    job_end(task);
}

/* ---- the partition ---- */

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

static void finish_run(void *context)
{
    struct evidence_task *task = context;
    /* A quarter of the time is for names and packing. */
    uint64_t quarter_ns = task->evidence->settings.deadline_ms * MS / 4;
    sources_ask(task, EVIDENCE_AT_END, task->to_ns, task->deadline_ns - quarter_ns);
    int status = is_dropped(task) ? SKEIN_NOT_FOUND : partition_make(task);
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND) {
        buf_fini(&task->partition.bytes);
        for (size_t i = 0; i < task->evidence->source_count; i++) {
            task->notes[i].events = 0;
            evidence_say(&task->notes[i], EVIDENCE_NONE, "it could not be packed: %s",
                         skein_status_text(status));
        }
    }
    pthread_mutex_lock(&task->mutex);
    if (task->state == TASK_FINISHING)
        task->state = task->done(task->context) ? TASK_DONE : TASK_DROPPED;
    pthread_mutex_unlock(&task->mutex);
    job_end(task);
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
    for (size_t i = 0; order->threads_barred && i < evidence->source_count; i++)
        if (evidence->sources[i].when == EVIDENCE_AT_BEGIN)
            evidence_say(&task->notes[i], EVIDENCE_REFUSED,
                         "evidence.no_threads is set in the agent's config");
    bool asked = false;
    for (size_t i = 0; i < evidence->source_count; i++)
        asked = asked || is_asked(task, evidence->sources[i].when, EVIDENCE_AT_BEGIN);
    if (asked && job_post(task, begin_run) != SKEIN_OK) {
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
    skein_check(task->state == TASK_BEGUN);
    task->state = TASK_FINISHING;
    task->done = done;
    task->context = context;
    task->to_ns = to_ns;
    task->deadline_ns = clock_monotonic_ns() + task->evidence->settings.deadline_ms * MS;
    task->clock_offset_ns = clock_offset_ns;
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
        task->state = TASK_DROPPED;
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
    process_unref(&task->order.process);
    evidence_out_free(&task->out);
    buf_fini(&task->partition.bytes);
    pthread_mutex_destroy(&task->mutex);
    free(task);
}

/* ---- what became of it ---- */

static const char *state_text(enum evidence_state state)
{
    static const char *const texts[] = {"none", "taken", "partial", "refused"};
    return texts[state];
}

/* Nobody asked for a dump: then it is not named. */
static bool is_named(const struct evidence_task *task, size_t i)
{
    return task->evidence->sources[i].when != EVIDENCE_AT_BEGIN || task->order.threads;
}

size_t evidence_notes(const struct evidence_task *task,
                      struct report_evidence out[EVIDENCE_KINDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < task->evidence->source_count; i++) {
        const struct evidence_note *note = &task->notes[i];
        if (is_named(task, i))
            out[count++] =
                (struct report_evidence){task->evidence->sources[i].kind, state_text(note->state),
                                         note->why, note->events, note->took_ns / 1000};
    }
    return count;
}

size_t evidence_notes_none(const struct evidence_task *task, const char *why,
                           struct report_evidence out[EVIDENCE_KINDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < task->evidence->source_count; i++)
        if (is_named(task, i))
            out[count++] = (struct report_evidence){task->evidence->sources[i].kind,
                                                    state_text(EVIDENCE_NONE), why, 0, 0};
    return count;
}

const struct evidence_partition *evidence_result(const struct evidence_task *task)
{
    return &task->partition;
}
