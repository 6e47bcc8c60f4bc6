/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on single long waits and regions: lock_convoy, lock_held, slow_disk, and what nothing else
 * explains, long_call. Entered once, at the end.
 */
#include "array.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONVOY_THREADS 3
#define CONVOY_NS      MS(50)
#define CONVOY_SHARE   0.05 /* of the window, all waiters together */
#define HELD_NS        MS(300)
#define LOCKS_TOLD_MAX 64
#define DISK_NS        MS(100)
#define DISK_SHARE     0.05
#define DISK_MEAN_NS   MS(20)
#define DISK_AWAIT_MS  100.0
#define DISK_QUEUE     4.0
#define PROBLEM_NS     MS(500)
#define SERVES_MIN     3 /* waits for whatever comes, before a thread is one that serves */
#define UNDERWAY_NS    MS(500)

static const struct skein_thread *thread_at(const struct trace_report_builder *b, uint32_t thread)
{
    return skein_trace_thread(b->trace, thread);
}

static const char *name_of(const struct trace_report_builder *b, const struct report_span *s)
{
    return skein_trace_type(b->trace, s->type)->name;
}

static uint64_t length_of(const struct report_span *s)
{
    return s->to_ns - s->from_ns;
}

static double share_of(const struct trace_report_builder *b, uint64_t ns)
{
    return (double)ns / (double)report_window_ns(b);
}

static uint64_t overlap(const struct report_span *s, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = s->from_ns > from_ns ? s->from_ns : from_ns;
    uint64_t to = s->to_ns < to_ns ? s->to_ns : to_ns;
    return to > from ? to - from : 0;
}

/* ---- locks ---- */

struct lock_wait {
    const struct report_span *span;
    uint32_t process;
};

struct convoy { /* of one lock */
    size_t waits, peak, threads;
    uint64_t total_ns, longest_ns;
    uint64_t from_ns, to_ns; /* of the waits around the peak */
    int64_t owner;           /* 0: not known */
    const struct report_span *longest;
};

static int waits_order(const void *a, const void *b)
{
    const struct lock_wait *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->span->object != y->span->object)
        return x->span->object < y->span->object ? -1 : 1;
    return x->span->from_ns < y->span->from_ns ? -1 : x->span->from_ns > y->span->from_ns;
}

/* The holder of a lock by the dump, where the waits do not know it. */
static int64_t dumped_holder(const struct trace_report_builder *b, uint32_t process,
                             uint64_t object)
{
    for (size_t i = 0; i < b->waiter_count; i++)
        if (b->waiters[i].process == process && b->waiters[i].object == object)
            return b->waiters[i].holder;
    return 0;
}

/* Who had it for most of the time that was waited in [from, to]. */
static int64_t owner_of(const struct lock_wait *waits, size_t count, uint64_t from_ns,
                        uint64_t to_ns)
{
    int64_t best = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        int64_t owner = waits[i].span->owner;
        if (owner <= 0 || owner == best)
            continue;
        for (size_t k = 0; k < count && k < 512; k++)
            if (waits[k].span->owner == owner)
                sum += overlap(waits[k].span, from_ns, to_ns);
        if (sum <= most)
            continue;
        most = sum;
        best = owner;
    }
    return best;
}

/* How many threads wait while this wait begins. */
static size_t waiters_at(const struct lock_wait *waits, size_t count, size_t at)
{
    size_t n = 0;
    uint64_t when = waits[at].span->from_ns;
    for (size_t i = at + 1; i-- > 0 && at - i < 4096;)
        n += waits[i].span->to_ns > when;
    for (size_t i = at + 1; i < count && waits[i].span->from_ns <= when; i++)
        n++;
    return n;
}

static struct convoy convoy_of(const struct trace_report_builder *b, const struct lock_wait *waits,
                               size_t count)
{
    struct convoy c = {.waits = count};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = waiters_at(waits, count, i);
        c.total_ns += length_of(waits[i].span);
        if (length_of(waits[i].span) >= c.longest_ns) {
            c.longest_ns = length_of(waits[i].span);
            c.longest = waits[i].span;
        }
        if (n > c.peak || (n == c.peak && length_of(waits[i].span) > length_of(waits[at].span))) {
            c.peak = n;
            at = i;
        }
    }
    c.from_ns = c.to_ns = waits[at].span->from_ns;
    for (size_t i = 0; i < count; i++) {
        const struct report_span *s = waits[i].span;
        if (s->from_ns > waits[at].span->from_ns || s->to_ns <= waits[at].span->from_ns)
            continue;
        c.from_ns = s->from_ns < c.from_ns ? s->from_ns : c.from_ns;
        c.to_ns = s->to_ns > c.to_ns ? s->to_ns : c.to_ns;
    }
    c.owner = owner_of(waits, count, c.from_ns, c.to_ns);
    if (c.owner == 0)
        c.owner = dumped_holder(b, waits[0].process, waits[0].span->object);
    return c;
}

/* What the holder was in for most of that time, the innermost. */
static const struct report_span *holder_span(const struct trace_report_builder *b, uint32_t process,
                                             int64_t owner, const struct convoy *c, uint64_t object)
{
    const struct report_span *best = NULL;
    uint64_t most = (c->to_ns - c->from_ns) / 4;
    for (size_t i = 0; i < b->span_count; i++) {
        const struct report_span *s = &b->spans[i];
        const struct skein_thread *t = thread_at(b, s->thread);
        uint64_t both = overlap(s, c->from_ns, c->to_ns);
        if (t->process != process || (int64_t)t->tid != owner || both < most || both == 0 ||
            (s->object == object && b->types[s->type].lock))
            continue;
        if (best != NULL && both == most && length_of(s) >= length_of(best))
            continue;
        most = both;
        best = s;
    }
    return best;
}

static void convoy_tell(struct trace_report_builder *b, const struct lock_wait *waits,
                        const struct convoy *c)
{
    char who[REPORT_WHO], time[32], holder[TRACE_REPORT_TEXT + 64] = "";
    bool convoy = c->peak >= CONVOY_THREADS;
    bool grave = c->longest_ns >= PROBLEM_NS || share_of(b, c->total_ns) >= 0.5;
    uint32_t process = waits[0].process;
    uint64_t object = waits[0].span->object;
    const struct report_span *held =
        c->owner > 0 ? holder_span(b, process, c->owner, c, object) : NULL;
    struct report_finding *f =
        report_finding_new(b, convoy ? "lock_convoy" : "lock_held",
                           grave ? REPORT_PROBLEM : REPORT_WARNING, share_of(b, c->total_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, held != NULL ? held->thread : c->longest->thread);
    report_stack_set(b, f, held != NULL && held->stack != 0 ? held->stack : c->longest->stack);
    f->region = held != NULL ? name_of(b, held) : name_of(b, c->longest);
    f->from_ns = c->from_ns;
    f->to_ns = c->to_ns;
    report_number_put(f, "threads", (double)c->peak);
    report_number_put(f, "waits", (double)c->waits);
    report_number_put(f, "waited_ns", (double)c->total_ns);
    report_number_put(f, "longest_ns", (double)c->longest_ns);
    report_number_put(f, "object", (double)object);
    report_number_put(f, "holder_tid", (double)c->owner);
    if (c->owner > 0)
        snprintf(holder, sizeof holder, " held by thread %" PRId64 "%s%.*s%s", c->owner,
                 held != NULL ? " in `" : "", TRACE_REPORT_TEXT,
                 held != NULL ? name_of(b, held) : "", held != NULL ? "`" : "");
    report_say(b, f, "%zu thread%s of %s waited for the lock at 0x%" PRIx64 "%s, up to %s", c->peak,
               c->peak == 1 ? "" : "s", report_process_who(b, process, who), object, holder,
               report_time_text(c->longest_ns, time));
}

void report_lock_rules(struct trace_report_builder *b)
{
    struct lock_wait *waits = calloc(b->span_count + 1, sizeof *waits);
    size_t count = 0, told = 0, end;
    if (waits == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < b->span_count; i++)
        if (b->types[b->spans[i].type].lock)
            waits[count++] =
                (struct lock_wait){&b->spans[i], thread_at(b, b->spans[i].thread)->process};
    qsort(waits, count, sizeof *waits, waits_order);
    for (size_t i = 0; i < count && b->status == SKEIN_OK; i = end) {
        for (end = i + 1; end < count && waits[end].process == waits[i].process &&
                          waits[end].span->object == waits[i].span->object;
             end++)
            ;
        struct convoy c = convoy_of(b, waits + i, end - i);
        bool convoy = c.peak >= CONVOY_THREADS &&
                      (c.longest_ns >= CONVOY_NS || share_of(b, c.total_ns) >= CONVOY_SHARE);
        if (!convoy && c.longest_ns < HELD_NS)
            continue;
        if (told++ < LOCKS_TOLD_MAX)
            convoy_tell(b, waits + i, &c);
        else
            b->report.totals.findings_left_out++;
    }
    free(waits);
}

/* ---- disks ---- */

struct disk_sums { /* of one name in one process */
    uint64_t count, total_ns;
    const struct report_span *longest;
};

/* Only of what certainly is a disk's: syncs, and descriptors that evidence says are files. */
static bool is_of_disk(const struct trace_report_builder *b, const struct report_span *s)
{
    static const char *const paths[] = {"fsync", "open", "stat", "unlink", "rename"};
    const struct skein_event_type *type = skein_trace_type(b->trace, s->type);
    if (type->group != SKEIN_GROUP_IO)
        return false;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(type->name, paths[i]) == 0)
            return true;
    const struct report_process *p = &b->processes[thread_at(b, s->thread)->process];
    const char *what = p->beside != NULL ? beside_descriptor(p->beside, s->object) : NULL;
    return what != NULL && strncmp(what, "file ", 5) == 0;
}

static const struct vitals_row *disk_row(const struct trace_report_builder *b, const char *host,
                                         const char *end)
{
    const struct vitals_row *worst = NULL;
    for (size_t i = 0; i < b->vitals_list->row_count; i++) {
        const struct vitals_row *row = &b->vitals_list->rows[i];
        size_t n = strlen(row->name), m = strlen(end);
        if (row->samples > 0 && strncmp(row->name, "host.disk.", 10) == 0 && n > 10 + m &&
            strcmp(row->name + n - m, end) == 0 &&
            (host == NULL || strcmp(row->of.host, host) == 0) &&
            (worst == NULL || row->most > worst->most))
            worst = row;
    }
    return worst;
}

/* ": disk sda had a queue of 40 and an await of 380 ms" */
static void disk_text(const struct trace_report_builder *b, struct report_finding *f,
                      const char *host, char *to, size_t bytes)
{
    const struct vitals_row *await = disk_row(b, host, ".await");
    const struct vitals_row *queue = disk_row(b, host, ".queue");
    to[0] = '\0';
    if (await == NULL || await->most < DISK_AWAIT_MS / 5)
        return;
    int n = (int)(strlen(await->name) - strlen("host.disk..await"));
    report_number_put(f, "await_ms", await->most);
    if (queue != NULL)
        report_number_put(f, "queue", queue->most);
    snprintf(to, bytes, "; disk %.*s had an await of %.0f ms%s%.0f", n < 40 ? n : 40,
             await->name + strlen("host.disk."), await->most,
             queue != NULL ? " and a queue of " : ", ", queue != NULL ? queue->most : 0);
    if (queue == NULL)
        snprintf(to, bytes, "; disk %.*s had an await of %.0f ms", n < 40 ? n : 40,
                 await->name + strlen("host.disk."), await->most);
}

static void disk_tell(struct trace_report_builder *b, const struct disk_sums *sums)
{
    char who[REPORT_WHO], longest[32], all[32], disk[128], file[TRACE_REPORT_TEXT + 8] = "";
    const struct report_span *s = sums->longest;
    uint32_t process = thread_at(b, s->thread)->process;
    bool grave = length_of(s) >= PROBLEM_NS || share_of(b, sums->total_ns) >= 0.2;
    struct report_finding *f = report_finding_new(
        b, "slow_disk", grave ? REPORT_PROBLEM : REPORT_WARNING, share_of(b, sums->total_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, s->thread);
    report_stack_set(b, f, s->stack);
    f->region = name_of(b, s);
    f->from_ns = s->from_ns;
    f->to_ns = s->to_ns;
    report_number_put(f, "count", (double)sums->count);
    report_number_put(f, "total_ns", (double)sums->total_ns);
    report_number_put(f, "longest_ns", (double)length_of(s));
    disk_text(b, f, f->subject.host, disk, sizeof disk);
    const struct report_process *p = &b->processes[process];
    const char *what = p->beside != NULL ? beside_descriptor(p->beside, s->object) : NULL;
    if (what != NULL && strncmp(what, "file ", 5) == 0)
        snprintf(file, sizeof file, " (%.*s)", TRACE_REPORT_TEXT, what + 5);
    report_say(b, f, "%s waited for its disk: %" PRIu64 " times `%.*s`%s, %s in all, up to %s%s",
               report_who(b, s->thread, who), sums->count, 40, f->region, file,
               report_time_text(sums->total_ns, all), report_time_text(length_of(s), longest),
               disk);
}

static bool disk_speaks(const struct trace_report_builder *b, const struct disk_sums *sums)
{
    return length_of(sums->longest) >= DISK_NS || (share_of(b, sums->total_ns) >= DISK_SHARE &&
                                                   sums->total_ns / sums->count >= DISK_MEAN_NS);
}

/* Waits of one name in one process are told once. */
static void disk_spans_tell(struct trace_report_builder *b)
{
    struct intern_table keys = {.count = 0};
    struct disk_sums *sums = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < b->span_count && b->status == SKEIN_OK; i++) {
        const struct report_span *s = &b->spans[i];
        bool fresh = false;
        if (!is_of_disk(b, s))
            continue;
        const uint64_t key[2] = {thread_at(b, s->thread)->process,
                                 (uint64_t)b->types[s->type].label};
        int64_t at = array_grow(sums, keys.count + 1, &cap)
                         ? intern_table_put(&keys, key, sizeof key, &fresh)
                         : SKEIN_NO_MEMORY;
        if (at < 0) {
            b->status = SKEIN_NO_MEMORY;
            break;
        }
        if (fresh)
            sums[at] = (struct disk_sums){.longest = s};
        sums[at].count++;
        sums[at].total_ns += length_of(s);
        if (length_of(s) > length_of(sums[at].longest))
            sums[at].longest = s;
    }
    for (size_t i = 0; i < keys.count && b->status == SKEIN_OK; i++)
        if (disk_speaks(b, &sums[i]))
            disk_tell(b, &sums[i]);
    intern_table_fini(&keys);
    free(sums);
}

/* What is open around that moment on that thread, the longest; NULL: nothing for long enough. */
static const struct report_span *open_at(const struct trace_report_builder *b,
                                         const struct report_state *state)
{
    const struct report_span *best = NULL;
    for (size_t i = 0; i < b->span_count; i++) {
        const struct report_span *s = &b->spans[i];
        if (!s->open || length_of(s) < UNDERWAY_NS || s->from_ns > state->at_ns ||
            thread_at(b, s->thread)->process != state->process ||
            thread_at(b, s->thread)->tid != state->tid || is_of_disk(b, s))
            continue;
        if (best == NULL || length_of(s) > length_of(best))
            best = s;
    }
    return best;
}

/* A call of a disk's in which the dump found a thread, inside of something that has not ended. */
static void dumped_disk_judge(struct trace_report_builder *b, const struct report_state *state)
{
    const struct report_process *p = &b->processes[state->process];
    char who[REPORT_WHO], time[32];
    uint64_t fd;
    int n = (int)strcspn(state->call, "(");
    bool sync = strstr(state->call, "sync") != NULL;
    if (p->beside == NULL || !beside_call_descriptor(state->call, &fd))
        return;
    const char *what = beside_descriptor(p->beside, fd);
    bool file = what != NULL && strncmp(what, "file ", 5) == 0;
    const struct report_span *span = sync || file ? open_at(b, state) : NULL;
    if (span == NULL)
        return;
    struct report_finding *f =
        report_finding_new(b, "slow_disk", REPORT_PROBLEM, share_of(b, length_of(span)));
    if (f == NULL)
        return;
    report_thread_set(b, f, span->thread);
    report_stack_set(b, f, state->stack);
    f->region = name_of(b, span);
    f->from_ns = span->from_ns;
    f->to_ns = span->to_ns;
    report_number_put(f, "longest_ns", (double)length_of(span));
    report_say(b, f,
               "%s waited for its disk: it was in `%.*s` (%.*s) when it was looked at, and in "
               "`%.*s` for at least %s",
               report_who(b, span->thread, who), n, state->call, TRACE_REPORT_TEXT,
               file ? what + 5 : "a file that nobody knows", TRACE_REPORT_TEXT, f->region,
               report_time_text(length_of(span), time));
}

void report_disk_rules(struct trace_report_builder *b)
{
    size_t had = b->finding_count;
    disk_spans_tell(b);
    for (size_t i = 0; i < b->state_count && b->status == SKEIN_OK; i++)
        dumped_disk_judge(b, &b->states[i]);
    const struct vitals_row *await = disk_row(b, NULL, ".await");
    const struct vitals_row *queue = disk_row(b, NULL, ".queue");
    if (b->status != SKEIN_OK || b->finding_count > had || await == NULL || queue == NULL ||
        await->most < DISK_AWAIT_MS || queue->most < DISK_QUEUE)
        return;
    char disk[128];
    struct report_finding *f = report_finding_new(b, "slow_disk", REPORT_NOTE, 0.5);
    if (f == NULL)
        return;
    f->subject.host = await->of.host;
    f->from_ns = f->to_ns = await->farthest_ns;
    disk_text(b, f, await->of.host, disk, sizeof disk);
    report_say(b, f, "on %.*s%s; no recorded call waited for it", TRACE_REPORT_TEXT, await->of.host,
               disk[0] == ';' ? disk + 1 : disk);
}

/* ---- what nothing else explains ---- */

struct long_call {
    size_t thread; /* the moment's */
    struct moment_span span;
    bool wait;
    uint64_t usual_ns, usual_count;
};

/* The name of a thread in the moment's lists is that thread's alone. */
static size_t moment_thread_of(const struct moment *m, const char *name)
{
    size_t i = 0;
    while (i < m->thread_count && m->threads[i].name != name)
        i++;
    return i;
}

/* Somebody waits for what this thread does: it takes what comes, again and again. */
static bool thread_serves(const struct moment *m, const struct thread *t)
{
    uint64_t taken = 0;
    for (size_t i = 0; i < t->stat_count; i++) {
        const struct label *label = &m->labels[t->stats[i].label];
        bool comes = label->for_anything || strcmp(label->text, "recv") == 0;
        if (strcmp(label->text, "loop") == 0 && label->group == SKEIN_GROUP_APP)
            return true;
        taken += comes && strcmp(label->text, "wait_child") != 0 ? t->stats[i].count : 0;
    }
    return taken >= SERVES_MIN;
}

static bool is_wait(const struct moment *m, const char *name)
{
    for (size_t i = 0; i < m->label_count; i++)
        if (m->labels[i].text == name)
            return m->labels[i].wait;
    return false;
}

/* What fills most of another one's time is told in its place. */
static bool is_filled(const struct long_call *calls, size_t count, size_t at)
{
    const struct moment_span *outer = &calls[at].span;
    for (size_t i = 0; i < count; i++) {
        const struct moment_span *s = &calls[i].span;
        if (i != at && calls[i].thread == calls[at].thread && s->time_ns >= outer->time_ns &&
            s->dur_ns >= outer->dur_ns / 5 * 4 &&
            (s->dur_ns < outer->dur_ns || s->time_ns > outer->time_ns))
            return true;
    }
    return false;
}

/* Another rule has told of this time already. */
static bool is_explained(const struct trace_report_builder *b, const struct long_call *call)
{
    uint32_t thread = report_thread_of(b, call->thread);
    uint32_t process = thread != SKEIN_NONE ? thread_at(b, thread)->process : SKEIN_NONE;
    struct report_span span = {.from_ns = call->span.time_ns,
                               .to_ns = call->span.time_ns + call->span.dur_ns};
    for (size_t i = 0; i < b->finding_count; i++) {
        const struct report_finding *f = &b->findings[i];
        if (f->severity > REPORT_NOTE && f->subject.process == process &&
            strcmp(f->rule, "long_call") != 0 &&
            f->to_ns - f->from_ns <= call->span.dur_ns * 4 && /* else it is of all the time */
            overlap(&span, f->from_ns, f->to_ns) >= call->span.dur_ns / 2)
            return true;
    }
    return false;
}

static void long_tell(struct trace_report_builder *b, const struct long_call *call)
{
    const struct moment *m = b->moment;
    const struct thread *t = &m->threads[call->thread];
    char who[REPORT_WHO], time[32], usual[32], usually[80] = "";
    uint32_t thread = report_thread_of(b, call->thread);
    bool serves = thread_serves(m, t);
    enum report_severity severity = !serves                           ? REPORT_NOTE
                                    : call->span.dur_ns >= PROBLEM_NS ? REPORT_PROBLEM
                                                                      : REPORT_WARNING;
    if (thread == SKEIN_NONE)
        return;
    struct report_finding *f =
        report_finding_new(b, "long_call", severity, share_of(b, call->span.dur_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, thread);
    report_stack_set(b, f, call->span.stack);
    f->region = call->span.name;
    f->from_ns = call->span.time_ns;
    f->to_ns = call->span.time_ns + call->span.dur_ns;
    report_number_put(f, "dur_ns", (double)call->span.dur_ns);
    report_number_put(f, "usual_ns", (double)call->usual_ns);
    report_number_put(f, "usual_count", (double)call->usual_count);
    if (call->usual_count > 0)
        snprintf(usually, sizeof usually, "; %s%" PRIu64 " others took less than %s",
                 call->usual_count > 1 ? "nearly all " : "", call->usual_count,
                 report_time_text(call->usual_ns, usual));
    report_say(b, f, "%s was %s`%.*s` for %s%s%s", report_who(b, thread, who),
               call->wait ? "in " : "busy in ", TRACE_REPORT_TEXT, call->span.name,
               call->span.open ? "at least " : "", report_time_text(call->span.dur_ns, time),
               usually);
}

/* A worker that has waited for work since long: of one that serves nobody, that is nothing. */
static bool waits_for_its_turn(const struct trace_report_builder *b, size_t thread,
                               const struct moment_span *span)
{
    const struct moment *m = b->moment;
    for (size_t i = 0; i < m->label_count && thread < m->thread_count; i++)
        if (m->labels[i].text == span->name)
            return m->labels[i].own_time && !span->at_work &&
                   !thread_serves(m, &m->threads[thread]);
    return false;
}

void report_long_rules(struct trace_report_builder *b)
{
    const struct moment_list *list = b->report.moment;
    struct long_call *calls = calloc(list->unusual_count + list->inside_count + 1, sizeof *calls);
    size_t count = 0;
    if (calls == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < list->unusual_count; i++) {
        const struct moment_unusual *u = &list->unusual[i];
        if (u->span.dur_ns >= MS(100))
            calls[count++] =
                (struct long_call){moment_thread_of(b->moment, u->thread.name), u->span,
                                   is_wait(b->moment, u->span.name), u->usual_ns, u->usual_count};
    }
    for (size_t i = 0; i < list->inside_count; i++) {
        const struct moment_span *span = &list->inside[i].spans[list->inside[i].count - 1];
        size_t thread = moment_thread_of(b->moment, list->inside[i].thread.name);
        bool known =
            !span->open || span->dur_ns < UNDERWAY_NS || waits_for_its_turn(b, thread, span);
        for (size_t k = 0; k < count && !known; k++)
            known = calls[k].thread == thread && calls[k].span.time_ns == span->time_ns &&
                    calls[k].span.name == span->name;
        if (!known)
            calls[count++] =
                (struct long_call){thread, *span, is_wait(b->moment, span->name), 0, 0};
    }
    for (size_t i = 0; i < count && b->status == SKEIN_OK; i++)
        if (calls[i].thread < b->moment->thread_count && !is_filled(calls, count, i) &&
            !is_explained(b, &calls[i]))
            long_tell(b, &calls[i]);
    free(calls);
}
