/* SPDX-License-Identifier: Apache-2.0
 *
 * Deaths of processes: the table, and what the kernel has noted of them; see crash_int.h. The loop's
 * thread never waits: the mutex is held for a few steps at a time, and the worker reads.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cond_until.h"
#include "crash_int.h"
#include "log.h"
#include "proc_info.h"
#include "rule_match.h"

#define RING_BYTES   ((size_t)512 << 10) /* a CPU; at least a dozen deaths */
#define RINGS_BYTES  ((uint64_t)64 << 20)
#define PATIENCE_NS  (5 * NS_PER_S) /* with one reading of all rings */
#define LOOKS_A_CPUS 10u            /* CPUs that came are looked for so seldom */
#define END_WAIT_S   2              /* for a file that is just read */
#define WORDS_PART   4u             /* of the time for a capture */

/* ---- life ---- */

static const char *layout_why(int status)
{
    return status == SKEIN_DENIED
               ? "tracefs may not be read; needs the right to read /sys/kernel/tracing"
               : "the kernel's events on signals are not there; needs tracefs at "
                 "/sys/kernel/tracing";
}

static int host_open(struct crash *crash)
{
    struct perf_host_settings settings = {.memory_max = RINGS_BYTES, .watch_bytes = RING_BYTES};
    int status = signal_layout_read(crash->settings.tracefs, &crash->layout);
    if (status != SKEIN_OK) {
        snprintf(crash->why, sizeof crash->why, "%s", layout_why(status));
        return SKEIN_OK;
    }
    settings.watch_count = signal_layout_watches(&crash->layout, settings.watches);
    status = perf_host_new(&settings, &crash->host);
    if (status != SKEIN_OK)
        return status;
    struct perf_host_state state;
    perf_host_state(crash->host, &state);
    if (state.cpus == 0)
        snprintf(crash->why, sizeof crash->why, "%s", state.why);
    return SKEIN_OK;
}

int crash_new(const struct crash_settings *settings, struct crash **out)
{
    *out = NULL;
    struct crash *crash = calloc(1, sizeof *crash);
    if (crash == NULL)
        return SKEIN_NO_MEMORY;
    crash->settings = *settings;
    TAILQ_INIT(&crash->entries);
    pthread_mutex_init(&crash->mutex, NULL);
    cond_init(&crash->read);
    int status = worker_new(&crash->worker);
    if (status == SKEIN_OK)
        status = worker_new(&crash->words_worker);
    if (status == SKEIN_OK && settings->stacks)
        status = host_open(crash);
    else if (status == SKEIN_OK)
        snprintf(crash->why, sizeof crash->why, "crash.stacks is false");
    if (status != SKEIN_OK) {
        (void)crash_free(&crash);
        return status;
    }
    if (settings->stacks && crash->why[0] != '\0')
        log_warn("crash", "crashes are captured without their stacks", "reason", crash->why, NULL);
    *out = crash;
    return SKEIN_OK;
}

static void entry_free(struct crash_entry *entry)
{
    for (size_t i = 0; i < entry->death.count; i++)
        free(entry->death.signals[i].stack);
    if (entry->has_maps)
        process_maps_free(&entry->maps);
    words_fini(&entry->words.words);
    free(entry);
}

static void entries_free(struct crash_list *list)
{
    struct crash_entry *entry;
    while ((entry = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, entry, link);
        entry_free(entry);
    }
}

/* Whether somebody's file holds up a thread. */
static bool words_hang(struct crash *crash)
{
    uint64_t until_ns = clock_monotonic_ns() + END_WAIT_S * NS_PER_S;
    pthread_mutex_lock(&crash->mutex);
    while (crash->words_jobs > 0 && cond_wait_until(&crash->read, &crash->mutex, until_ns))
        continue;
    bool hang = crash->words_jobs > 0;
    pthread_mutex_unlock(&crash->mutex);
    return hang;
}

size_t crash_free(struct crash **crash_p)
{
    struct crash *crash = *crash_p;
    if (crash == NULL)
        return 0;
    *crash_p = NULL;
    worker_free(&crash->worker);
    perf_host_free(&crash->host);
    if (words_hang(crash)) {
        log_warn("crash", "a file of a process hangs: the thread that reads it is left behind",
                 NULL);
        return 1;
    }
    worker_free(&crash->words_worker);
    entries_free(&crash->entries);
    pthread_cond_destroy(&crash->read);
    pthread_mutex_destroy(&crash->mutex);
    free(crash);
    return 0;
}

/* ---- the table ---- */

struct crash_entry *crash_entry_find(struct crash *crash, const struct process_uid *uid)
{
    struct crash_entry *entry;
    TAILQ_FOREACH(entry, &crash->entries, link) {
        if (process_uid_equal(&entry->uid, uid))
            return entry;
    }
    return NULL;
}

/* Whether there is work for the worker: maps need the symbolizer, and are for stacks alone. */
static void maps_post(struct crash *crash)
{
    if (crash->why[0] != '\0' || crash->settings.symbolizer == NULL)
        return;
    pthread_mutex_lock(&crash->mutex);
    bool post = !crash->busy && !TAILQ_EMPTY(&crash->entries);
    crash->busy |= post;
    pthread_mutex_unlock(&crash->mutex);
    if (!post || worker_post(crash->worker, NULL, crash_maps_look, crash) == SKEIN_OK)
        return;
    pthread_mutex_lock(&crash->mutex);
    crash->busy = false; /* the next look tries again */
    pthread_mutex_unlock(&crash->mutex);
}

/* With the mutex: of those that nobody uses, of the user with most dead, the one that died first;
 * NULL: there is none. */
static struct crash_entry *dead_oldest(struct crash *crash)
{
    struct crash_entry *entry, *oldest = NULL;
    struct share_tally dead = {0};
    uint64_t most = 0;
    TAILQ_FOREACH(entry, &crash->entries, link)
        share_tally_add(&dead, entry->user, entry->gone);
    TAILQ_FOREACH_REVERSE(entry, &crash->entries, crash_list,
                          link) { /* who died later is in front */
        bool unused = entry->gone && entry->read && entry->words.read && entry->users == 0;
        if (!unused || share_tally_of(&dead, entry->user) <= most)
            continue;
        most = share_tally_of(&dead, entry->user);
        oldest = entry;
    }
    return oldest;
}

/* With the mutex: moves those beyond the bound to `out`. Of many that die at once none is read yet:
 * the next look comes back to them. */
static void dead_prune(struct crash *crash, struct crash_list *out)
{
    struct crash_entry *old;
    while (crash->dead > CRASH_DEAD_MAX && (old = dead_oldest(crash)) != NULL) {
        TAILQ_REMOVE(&crash->entries, old, link);
        TAILQ_INSERT_HEAD(out, old, link);
        crash->dead--;
    }
}

/* With the mutex: keeps one that lives no more, in front. */
static void dead_keep(struct crash *crash, struct crash_entry *entry)
{
    crash->dead++;
    entry->gone = true;
    TAILQ_INSERT_HEAD(&crash->entries, entry, link);
}

/* With the mutex: takes out one of which nothing is to be told; NULL: none. To `out`, unless
 * somebody uses it. */
static void entry_forget(struct crash *crash, struct crash_entry *entry, struct crash_list *out)
{
    if (entry == NULL)
        return;
    TAILQ_REMOVE(&crash->entries, entry, link);
    crash->dead -= entry->gone;
    if (entry->users == 0) {
        TAILQ_INSERT_HEAD(out, entry, link);
        return;
    }
    entry->read = true; /* who waits for it gets it, empty */
    if (!entry->gone)
        entry->words.read = true; /* of the dead, whoever reads them says so */
    pthread_cond_broadcast(&crash->read);
    dead_keep(crash, entry);
}

int crash_attached(struct crash *crash, const struct process *process)
{
    struct crash_list out = TAILQ_HEAD_INITIALIZER(out);
    struct crash_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return SKEIN_NO_MEMORY;
    *entry = (struct crash_entry){.uid = process->uid,
                                  .pid = process->pid,
                                  .user = process->user,
                                  .whose = process_share_key(process, "crash"),
                                  .start_clock_ticks = process->start_clock_ticks,
                                  .start_ns = process->start_ns,
                                  .born_ns = clock_monotonic_ns()};
    crash_words_first(entry);
    pthread_mutex_lock(&crash->mutex);
    entry_forget(crash, crash_entry_find(crash, &process->uid), &out);
    TAILQ_INSERT_HEAD(&crash->entries, entry, link); /* the youngest are looked at first */
    pthread_mutex_unlock(&crash->mutex);
    entries_free(&out);
    maps_post(crash);
    crash_words_post(crash);
    return SKEIN_OK;
}

void crash_leave_out(struct crash *crash, bool private, bool words)
{
    __atomic_store_n(&crash->is_private, private, __ATOMIC_RELAXED);
    __atomic_store_n(&crash->no_words, words, __ATOMIC_RELAXED);
}

void crash_look(void *context)
{
    struct crash *crash = context;
    struct crash_list out = TAILQ_HEAD_INITIALIZER(out);
    if (crash->host != NULL && crash->looks++ % LOOKS_A_CPUS == 0)
        perf_host_look(crash->host);
    pthread_mutex_lock(&crash->mutex);
    dead_prune(crash, &out);
    pthread_mutex_unlock(&crash->mutex);
    entries_free(&out);
    maps_post(crash);
    crash_words_post(crash);
}

/* ---- a death, on the worker ---- */

struct death_read {
    struct crash *crash;
    struct crash_entry *entry; /* stays: the reading is a user of it */
    int32_t died_of;           /* by the kernel's word; 0: it does not say */
    bool senders;              /* the second time: the threads that died are known */
    bool killed;               /* it died of SIGKILL, or of nothing that was noted */
};

/* What the kernel's number of a process meant then, if that still runs. */
static void sender_name(const struct perf_sample *sample, char name[32])
{
    uint64_t ticks;
    name[0] = '\0';
    if (proc_start_ticks((pid_t)sample->pid, &ticks) != SKEIN_OK ||
        proc_start_monotonic_ns(ticks) > sample->time_ns)
        return;
    (void)proc_comm((pid_t)sample->pid, name, 32);
}

/* One that is left out is the latest: the others died of the earliest. */
static bool signals_have_room(struct crash_death *death, const struct perf_sample *sample)
{
    if (death->count < CRASH_SIGNALS_MAX)
        return true;
    death->left_out++;
    if (death->signals[death->count - 1].sample.time_ns <= sample->time_ns)
        return false;
    free(death->signals[--death->count].stack);
    return true;
}

/* Sorted by time, the earliest first. */
static void signal_take(struct crash_death *death, const struct perf_sample *sample,
                        const struct signal_record *record)
{
    struct crash_signal one = {.sample = *sample, .record = *record};
    if (!signals_have_room(death, sample))
        return;
    size_t at = death->count;
    one.sample.raw = NULL;
    one.stack = sample->stack_bytes > 0 ? malloc(sample->stack_bytes) : NULL;
    if (one.stack != NULL)
        memcpy(one.stack, sample->stack, sample->stack_bytes);
    else
        one.sample.stack_bytes = 0;
    one.sample.stack = one.stack;
    for (; at > 0 && death->signals[at - 1].sample.time_ns > sample->time_ns; at--)
        death->signals[at] = death->signals[at - 1];
    death->signals[at] = one;
    death->count++;
}

static bool has_died(const struct crash_death *death, uint32_t tid)
{
    for (size_t i = 0; i < death->count; i++)
        if (death->signals[i].record.kind == SIGNAL_ENDS && death->signals[i].sample.tid == tid)
            return true;
    return false;
}

/* Whether the process died of what was sent. A program may have handlers for signals, which it is
 * sent, or sends itself, all day: what was sent and what was delivered are one and the same signal,
 * with the same code. Nobody can have a handler for SIGKILL. */
static bool is_its_end(const struct death_read *read, const struct perf_sample *sample,
                       const struct signal_record *sent)
{
    const struct crash_entry *entry = read->entry;
    const struct crash_death *death = &entry->death;
    if (sent->signal == SIGKILL)
        return read->killed && sent->target == entry->pid;
    for (size_t i = 0; i < death->count; i++) {
        const struct crash_signal *one = &death->signals[i];
        if (one->record.kind == SIGNAL_ENDS && one->record.signal == sent->signal &&
            one->record.code == sent->code && one->sample.time_ns >= sample->time_ns &&
            (sent->target == entry->pid || sent->target == one->sample.tid))
            return true;
    }
    return false;
}

static void raised_drop(struct crash_death *death)
{
    size_t kept = 0;
    for (size_t i = 0; i < death->count; i++)
        if (death->signals[i].record.kind == SIGNAL_ENDS)
            death->signals[kept++] = death->signals[i];
        else
            free(death->signals[i].stack);
    death->count = kept;
}

/* The last one is it. What the program has sent itself may have gone to another of its threads, which
 * died of it: the one that knew why is told of, too. */
static void sent_take(const struct death_read *read, const struct perf_sample *sample,
                      const struct signal_record *record)
{
    struct crash_entry *entry = read->entry;
    struct crash_death *death = &entry->death;
    struct crash_sender *sender = &death->sender;
    if (!is_its_end(read, sample, record) || (sender->pid != 0 && sender->at_ns >= sample->time_ns))
        return;
    *sender = (struct crash_sender){.pid = sample->pid,
                                    .tid = sample->tid,
                                    .signal = record->signal,
                                    .code = record->code,
                                    .at_ns = sample->time_ns};
    sender_name(sample, sender->name);
    raised_drop(death);
    if (sample->pid == entry->pid && sample->has_regs && !has_died(death, sample->tid))
        signal_take(death, sample, record);
}

/* perf_sample_fn. Numbers of threads in the kernel's events are the host's: where this agent sees
 * others, nothing can be said of who was meant. */
static bool record_take(void *context, const struct perf_sample *sample)
{
    const struct death_read *read = context;
    struct crash_entry *entry = read->entry;
    struct signal_record record;
    if (!signal_record_get(&read->crash->layout, sample->raw, sample->raw_bytes, &record))
        return true;
    bool same = record.current == sample->tid;
    if (!read->senders && record.kind == SIGNAL_ENDS && sample->pid == entry->pid)
        signal_take(&entry->death, sample, &record);
    else if (read->senders && record.kind == SIGNAL_SENT && same)
        sent_take(read, sample, &record);
    else if (read->killed && record.kind == SIGNAL_MEMORY && same && record.target == entry->pid)
        entry->death.memory_ns = sample->time_ns;
    return true;
}

static void records_take(void *context, const uint8_t *records, size_t n)
{
    struct perf_walk walk;
    perf_raw_records_walk(records, n, record_take, context, &walk);
}

static void death_read_run(void *context)
{
    struct death_read *read = context;
    struct crash *crash = read->crash;
    uint64_t now_ns = clock_monotonic_ns();
    /* Its number was another's before. */
    const struct perf_wish wish = {.from_ns =
                                       proc_start_monotonic_ns(read->entry->start_clock_ticks),
                                   .to_ns = now_ns,
                                   .deadline_ns = now_ns + PATIENCE_NS,
                                   .everyone = true,
                                   .own = records_take,
                                   .context = read};
    struct crash_death *death = &read->entry->death;
    perf_host_collect(crash->host, &wish, &death->reach);
    read->senders = true;
    read->killed = read->died_of != 0 ? read->died_of == SIGKILL : death->count == 0;
    perf_host_collect(crash->host, &wish, &death->reach);
    pthread_mutex_lock(&crash->mutex);
    read->entry->users--;
    read->entry->read = true;
    pthread_cond_broadcast(&crash->read);
    pthread_mutex_unlock(&crash->mutex);
    free(read);
}

/* Whether the kernel may have noted something: not of one that ended itself, or was asked to. */
static bool is_of_a_signal(const struct process *process)
{
    return !process->death.known || (process->death.signal != 0 &&
                                     rule_death_of(process->death.signal, 0) == RULE_DEATH_SIGNAL);
}

/* Whether a process has ended as it should not have. */
static bool is_bad(const struct process *process)
{
    return !process->left && process_state(process) == PROCESS_CRASHED;
}

void crash_gone(struct crash *crash, const struct process *process)
{
    struct crash_list out = TAILQ_HEAD_INITIALIZER(out);
    struct death_read *read = calloc(1, sizeof *read);
    bool wanted =
        read != NULL && crash->why[0] == '\0' && !process->left && is_of_a_signal(process);
    pthread_mutex_lock(&crash->mutex);
    struct crash_entry *entry = crash_entry_find(crash, &process->uid);
    if (entry != NULL && !entry->gone && (wanted || is_bad(process))) {
        TAILQ_REMOVE(&crash->entries, entry, link);
        dead_keep(crash, entry);
        dead_prune(crash, &out);
        entry->gone_ns = clock_monotonic_ns();
        if (wanted)
            *read = (struct death_read){.crash = crash, .entry = entry};
        if (wanted && process->death.known)
            read->died_of = process->death.signal;
        entry->users += wanted;
        if (wanted &&
            worker_post_first(crash->worker, &entry->whose, death_read_run, read) == SKEIN_OK) {
            read = NULL;
        } else {
            entry->users -= wanted;
            entry->read = true; /* nothing is known of it */
        }
        entry->words.wanted = is_bad(process);
        crash_words_gone(crash, entry);
    } else {
        entry_forget(crash, entry, &out);
    }
    pthread_mutex_unlock(&crash->mutex);
    free(read);
    entries_free(&out);
}

/* ---- the source ---- */

/* With the mutex: until *done, or until then. */
static void done_wait(struct crash *crash, const bool *done, uint64_t until_ns)
{
    while (!*done && cond_wait_until(&crash->read, &crash->mutex, until_ns))
        continue;
}

/* Waits for the workers' readings, and keeps the entry; NULL: there is none. Half of the time is for
 * that: the workers may be busy, and others are asked behind this source. */
static struct crash_entry *entry_take(struct crash *crash, const struct evidence_ask *ask,
                                      bool *has_death, bool *has_words)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ns = ask->deadline_ns > now_ns ? ask->deadline_ns - now_ns : 0;
    *has_death = *has_words = false;
    pthread_mutex_lock(&crash->mutex);
    struct crash_entry *entry = crash_entry_find(crash, &ask->process->uid);
    if (entry != NULL) {
        entry->users++;
        if (entry->words.wanted)
            done_wait(crash, &entry->words.read, now_ns + left_ns / WORDS_PART);
        done_wait(crash, &entry->read, now_ns + left_ns / 2);
        *has_death = entry->read;
        *has_words = entry->words.read;
    }
    pthread_mutex_unlock(&crash->mutex);
    return entry;
}

static void entry_give(struct crash *crash, struct crash_entry *entry)
{
    pthread_mutex_lock(&crash->mutex);
    entry->users--;
    pthread_mutex_unlock(&crash->mutex);
}

/* What the kernel told of it. */
static void death_collect(struct crash *crash, const struct evidence_ask *ask,
                          const struct crash_entry *entry, struct evidence_out *out,
                          struct evidence_note *note)
{
    const struct process *process = ask->process;
    if (process->death.known && process->death.signal == 0)
        evidence_say(note, EVIDENCE_NONE, "it ended by itself, with status %d",
                     process->death.status);
    else if (!is_of_a_signal(process))
        evidence_say(note, EVIDENCE_NONE, "it was asked to end, by signal %d",
                     process->death.signal);
    else if (crash->why[0] != '\0')
        evidence_say(note, crash->settings.stacks ? EVIDENCE_REFUSED : EVIDENCE_NONE, "%s",
                     crash->why);
    else if (entry == NULL)
        evidence_say(note, EVIDENCE_NONE, "the kernel's notes were not read in time");
    else
        crash_write(crash, ask, entry->has_maps ? &entry->maps : NULL, &entry->death, out, note);
}

void crash_collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                   struct evidence_note *note)
{
    struct crash *crash = source;
    bool has_death, has_words;
    if (ask->process->left) {
        evidence_say(note, EVIDENCE_NONE, "it runs on");
        return;
    }
    struct crash_entry *entry = entry_take(crash, ask, &has_death, &has_words);
    death_collect(crash, ask, has_death ? entry : NULL, out, note);
    if (is_bad(ask->process))
        crash_words_write(crash, ask, has_words ? entry : NULL, out, note);
    if (entry != NULL)
        entry_give(crash, entry);
}
