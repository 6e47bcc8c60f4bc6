/* SPDX-License-Identifier: Apache-2.0
 *
 * What processes wrote last; see crash_int.h. Which file it is must be known while the process
 * lives, and its end is read as soon as it is dead, before another goes on in it. The files are
 * touched on a thread of their own: where a file system does not answer, it hangs alone, and last
 * words are all that captures lack.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crash_int.h"
#include "proc_info.h"

#define BEAT_NS  (5000 * NS_PER_MS)
#define TURN_NS  (50 * NS_PER_MS) /* of a second, for all */
#define JOBS_MAX CRASH_DEAD_MAX

static bool are_off(const struct crash *crash)
{
    return __atomic_load_n(&crash->is_private, __ATOMIC_RELAXED) ||
           __atomic_load_n(&crash->no_words, __ATOMIC_RELAXED);
}

/* ---- the living ---- */

struct words_look {
    struct process_uid uid;
    pid_t pid;
    uint64_t ticks, start_ns;
    struct words_place place;
    struct words_mark mark;
};

void crash_words_first(struct crash_entry *entry)
{
    pid_t pid = (pid_t)entry->pid;
    (void)words_place_read(pid, &entry->words.place);
    if (!proc_is_same(pid, entry->start_clock_ticks))
        entry->words.place = (struct words_place){.file = ""};
}

static bool look_choose(struct crash *crash, uint64_t now_ns, struct words_look *look)
{
    struct crash_entry *entry;
    pthread_mutex_lock(&crash->mutex);
    TAILQ_FOREACH(entry, &crash->entries, link) {
        if (entry->gone || entry->words.next_ns > now_ns)
            continue;
        uint64_t age_ns = now_ns - entry->born_ns; /* a young process may still open its log */
        entry->words.next_ns = now_ns + (age_ns < BEAT_NS ? age_ns : BEAT_NS) + NS_PER_MS;
        *look = (struct words_look){.uid = entry->uid,
                                    .pid = (pid_t)entry->pid,
                                    .ticks = entry->start_clock_ticks,
                                    .start_ns = entry->start_ns,
                                    .mark = entry->words.mark};
        break;
    }
    pthread_mutex_unlock(&crash->mutex);
    return entry != NULL;
}

static void look_make(struct crash *crash, struct words_look *look)
{
    if (words_place_read(look->pid, &look->place) == SKEIN_NOT_FOUND)
        return;
    words_place_stat(look->pid, look->start_ns, &look->place, &look->mark);
    if (!proc_is_same(look->pid, look->ticks))
        return;
    pthread_mutex_lock(&crash->mutex);
    struct crash_entry *entry = crash_entry_find(crash, &look->uid);
    if (entry != NULL && !entry->words.read) {
        entry->words.place = look->place;
        entry->words.mark = look->mark;
    }
    pthread_mutex_unlock(&crash->mutex);
}

static void job_end(struct crash *crash)
{
    crash->words_jobs--;
    pthread_cond_broadcast(&crash->read);
}

/* worker_fn */
static void words_look_all(void *context)
{
    struct crash *crash = context;
    struct words_look look;
    uint64_t began_ns = clock_monotonic_ns(), now_ns = began_ns;
    while (now_ns - began_ns < TURN_NS && look_choose(crash, now_ns, &look)) {
        look_make(crash, &look);
        now_ns = clock_monotonic_ns();
    }
    pthread_mutex_lock(&crash->mutex);
    crash->words_busy = false;
    job_end(crash);
    pthread_mutex_unlock(&crash->mutex);
}

void crash_words_post(struct crash *crash)
{
    if (are_off(crash))
        return;
    pthread_mutex_lock(&crash->mutex);
    bool post = !crash->words_busy && !TAILQ_EMPTY(&crash->entries);
    if (post && worker_post(crash->words_worker, NULL, words_look_all, crash) == SKEIN_OK) {
        crash->words_busy = true;
        crash->words_jobs++;
    }
    pthread_mutex_unlock(&crash->mutex);
}

/* ---- the dead ---- */

struct words_job {
    struct crash *crash;
    struct crash_entry *entry; /* stays: this is a user of it */
};

/* worker_fn. Place and mark do not change any more: the looks are on this thread. */
static void words_read_run(void *context)
{
    struct words_job *job = context;
    struct crash *crash = job->crash;
    struct crash_words *words = &job->entry->words;
    struct words read;
    words_read(&words->place, &words->mark, job->entry->start_ns, &read);
    pthread_mutex_lock(&crash->mutex);
    words->words = read;
    words->read = true;
    share_tally_add(&crash->words_reads, job->entry->user, UINT64_MAX); /* one less */
    job->entry->users--;
    job_end(crash);
    pthread_mutex_unlock(&crash->mutex);
    free(job);
}

/* Whether the user's dead that wait to be read leave others room. */
static bool has_place(const struct crash *crash, uint32_t user)
{
    uint64_t own = share_tally_of(&crash->words_reads, user);
    uint64_t others = crash->words_jobs > own ? crash->words_jobs - own : 0;
    return own == 0 ? crash->words_jobs < JOBS_MAX : own < share_most(JOBS_MAX, others);
}

void crash_words_gone(struct crash *crash, struct crash_entry *entry)
{
    bool wanted = entry->words.wanted && !are_off(crash) && has_place(crash, entry->user);
    struct words_job *job = wanted ? malloc(sizeof *job) : NULL;
    if (job != NULL) {
        *job = (struct words_job){crash, entry};
        if (worker_post_first(crash->words_worker, &entry->whose, words_read_run, job) ==
            SKEIN_OK) {
            entry->users++;
            crash->words_jobs++;
            share_tally_add(&crash->words_reads, entry->user, 1);
            return;
        }
        free(job);
    }
    entry->words.words.why = "not read, as too many ended at once";
    entry->words.words.why_more = "";
    entry->words.read = true;
}

/* ---- what is told ---- */

static const struct partition_event_type type_place =
    EVIDENCE_TYPE("crash.stderr", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
                  EVIDENCE_ARG(STR, "file", ""), EVIDENCE_ARG(U64, "bytes", "bytes"),
                  EVIDENCE_ARG(U64, "before", "bytes"), EVIDENCE_ARG(STR, "since", ""),
                  EVIDENCE_ARG(STR, "missing", ""), EVIDENCE_ARG(STR, "readers", ""));
static const struct partition_event_type type_piece = EVIDENCE_TYPE(
    "crash.words", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, EVIDENCE_ARG(STR, "text", ""));

static void words_say(struct evidence_note *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void words_say(struct evidence_note *note, const char *format, ...)
{
    size_t used = strlen(note->why);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(note->why + used, sizeof note->why - used, format, values);
    va_end(values);
}

/* All at one moment, which is when the process was seen to be gone; they keep their order. */
static void words_put(const struct crash_words *said, uint64_t at_ns, struct evidence_out *out)
{
    const struct words *words = &said->words;
    int64_t thread = evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS);
    int64_t type = evidence_type(out, &type_place);
    char missing[160] = "";
    if (words->bytes == NULL)
        snprintf(missing, sizeof missing, "%s%s", words->why, words->why_more);
    const struct partition_value args[] = {
        partition_text(said->place.file),
        {.u64 = words->count},
        {.u64 = words->before},
        partition_text(words->bytes == NULL ? ""
                       : words->since_start ? "start"
                                            : "unknown"),
        partition_text(missing),
        partition_text(words->bytes != NULL ? words->readers : "")};
    if (!evidence_event(out, thread, type, at_ns, 0, args))
        return; /* counted there, and there is no room for its words either */
    type = evidence_type(out, &type_piece);
    for (size_t at = 0, n; at < words->count; at += n) {
        n = words_piece(words->bytes + at, words->count - at);
        const struct partition_value piece = {.str = {words->bytes + at, (uint32_t)n, false}};
        (void)evidence_event(out, thread, type, at_ns, 0, &piece);
    }
}

void crash_words_write(const struct crash *crash, const struct evidence_ask *ask,
                       const struct crash_entry *entry, struct evidence_out *out,
                       struct evidence_note *note)
{
    const char *and = note->why[0] != '\0' ? "; " : "";
    if (__atomic_load_n(&crash->is_private, __ATOMIC_RELAXED)) {
        words_say(note, "%sno last words: left out by evidence.privacy", and);
        return;
    }
    if (__atomic_load_n(&crash->no_words, __ATOMIC_RELAXED)) {
        words_say(note, "%sno last words: crash.words is false", and);
        return;
    }
    if (entry == NULL) {
        words_say(note, "%sno last words: not read in time", and);
        return;
    }
    const struct words *words = &entry->words.words;
    words_put(&entry->words, entry->gone_ns < ask->to_ns ? entry->gone_ns : ask->to_ns, out);
    if (words->bytes == NULL) {
        words_say(note, "%sno last words: standard error was %s%s", and, words->why,
                  words->why_more);
        return;
    }
    words_say(note, "%slast words: %zu bytes", and, words->count);
    note->state = note->state == EVIDENCE_NONE      ? EVIDENCE_TAKEN
                  : note->state == EVIDENCE_REFUSED ? EVIDENCE_PARTIAL
                                                    : note->state;
}
