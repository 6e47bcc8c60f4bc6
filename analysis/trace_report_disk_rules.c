/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule on waits for a disk: slow_disk; and for how much of a wait its thread was ready and had no
 * CPU, which is no disk's. Entered once, at the end.
 */
#include "array.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_NS       MS(100)
#define DISK_SHARE    0.05
#define DISK_MEAN_NS  MS(20)
#define DISK_AWAIT_MS 100.0
#define DISK_QUEUE    4.0
#define PROBLEM_NS    MS(500)
#define UNDERWAY_NS   MS(500)
#define WAIT_SHARE    0.2 /* of its time ready without a CPU, by vitals: less is nothing */

/* ---- without a CPU ---- */

/* Vitals know a thread by its host and numbers. */
static void thread_key(struct buf *key, uint32_t pid, uint32_t tid, const char *host)
{
    buf_clear(key);
    buf_put_u32(key, pid);
    buf_put_u32(key, tid);
    buf_put(key, host, strlen(host));
}

/* What the vitals saw of each thread that lacked a CPU, by `keys`; the last row of a thread counts.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
static int waits_note(const struct trace_report_builder *b, struct intern_table *keys,
                      const struct vitals_row **waits)
{
    struct buf key = {0};
    int status = SKEIN_OK;
    bool fresh;
    for (size_t k = 0; k < b->vitals_list->row_count && status == SKEIN_OK; k++) {
        const struct vitals_row *row = &b->vitals_list->rows[k];
        if (row->samples == 0 || strcmp(row->name, "thread.wait") != 0)
            continue;
        thread_key(&key, row->of.pid, row->of.tid, row->of.host);
        int64_t at = key.status == SKEIN_OK ? intern_table_put(keys, key.data, key.len, &fresh)
                                            : SKEIN_NO_MEMORY;
        if (at >= 0)
            waits[at] = row;
        status = at < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
    }
    buf_fini(&key);
    return status;
}

static void waits_fill(struct trace_report_builder *b)
{
    struct intern_table keys = {.count = 0};
    struct buf key = {0};
    const struct vitals_row **waits = calloc(b->vitals_list->row_count + 1, sizeof *waits);
    int status = waits != NULL ? waits_note(b, &keys, waits) : SKEIN_NO_MEMORY;
    for (uint32_t i = 0; i < b->actor_count && keys.count > 0 && status == SKEIN_OK; i++) {
        const struct skein_thread *t = report_thread_at(b, i);
        const struct skein_process *p = skein_trace_process(b->trace, t->process);
        thread_key(&key, p->pid, t->tid, p->host);
        status = key.status;
        int64_t at =
            status == SKEIN_OK ? intern_table_find(&keys, key.data, key.len) : SKEIN_NOT_FOUND;
        if (at >= 0)
            b->actors[i].wait = waits[at];
    }
    if (status != SKEIN_OK)
        b->status = SKEIN_NO_MEMORY;
    buf_fini(&key);
    intern_table_fini(&keys);
    free(waits);
}

uint64_t report_starved_ns(const struct trace_report_builder *b, uint32_t thread, uint64_t from_ns,
                           uint64_t to_ns)
{
    const struct skein_thread *t = report_thread_at(b, thread);
    const struct beside_wait *longest;
    struct beside *beside = b->processes[t->process].beside;
    uint64_t ns = beside != NULL ? beside_waits_in(beside, t->tid, from_ns, to_ns, &longest) : 0;
    if (ns > 0 || thread >= b->actor_count || b->actors[thread].wait == NULL)
        return ns;
    const struct vitals_row *wait = b->actors[thread].wait;
    ns = vitals_share_ns(wait, from_ns, to_ns);
    /* Where nobody looked any more it went on as it was. */
    uint64_t looked_ns = b->vitals_list->to_ns > from_ns ? b->vitals_list->to_ns : from_ns;
    if (to_ns > looked_ns)
        ns += (uint64_t)(fmin(wait->median, 100) / 100 * (double)(to_ns - looked_ns));
    return (double)ns < WAIT_SHARE * (double)(to_ns - from_ns) ? 0 : ns;
}

/* ---- disks ---- */

struct disk_sums { /* of one name in one process: what the thread had no CPU for is not in it */
    uint64_t count, total_ns, longest_ns, starved_ns;
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
    const struct report_process *p = &b->processes[report_thread_at(b, s->thread)->process];
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

/* ", besides 1.2 s without a CPU" */
static void starved_text(struct report_finding *f, uint64_t starved_ns, char *to, size_t bytes)
{
    char time[32];
    to[0] = '\0';
    if (starved_ns == 0)
        return;
    report_number_put(f, "starved_ns", (double)starved_ns);
    snprintf(to, bytes, ", besides %s without a CPU", report_time_text(starved_ns, time));
}

static void disk_tell(struct trace_report_builder *b, const struct disk_sums *sums)
{
    char who[REPORT_WHO], longest[32], all[32], disk[128], file[TRACE_REPORT_TEXT + 8] = "";
    char starved[80];
    const struct report_span *s = sums->longest;
    uint32_t process = report_thread_at(b, s->thread)->process;
    bool grave = sums->longest_ns >= PROBLEM_NS || report_share(b, sums->total_ns) >= 0.2;
    struct report_finding *f = report_finding_new(
        b, "slow_disk", grave ? REPORT_PROBLEM : REPORT_WARNING, report_share(b, sums->total_ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, s->thread);
    report_stack_set(b, f, s->stack);
    f->region = report_span_name(b, s);
    f->from_ns = s->from_ns;
    f->to_ns = s->to_ns;
    report_number_put(f, "count", (double)sums->count);
    report_number_put(f, "total_ns", (double)sums->total_ns);
    report_number_put(f, "longest_ns", (double)sums->longest_ns);
    starved_text(f, sums->starved_ns, starved, sizeof starved);
    disk_text(b, f, f->subject.host, disk, sizeof disk);
    const struct report_process *p = &b->processes[process];
    const char *what = p->beside != NULL ? beside_descriptor(p->beside, s->object) : NULL;
    if (what != NULL && strncmp(what, "file ", 5) == 0)
        snprintf(file, sizeof file, " (%.*s)", TRACE_REPORT_TEXT, what + 5);
    report_say(b, f, "%s waited for its disk: %" PRIu64 " time%s `%.*s`%s, %s in all, up to %s%s%s",
               report_who(b, s->thread, who), sums->count, sums->count == 1 ? "" : "s", 40,
               f->region, file, report_time_text(sums->total_ns, all),
               report_time_text(sums->longest_ns, longest), starved, disk);
}

static bool disk_speaks(const struct trace_report_builder *b, const struct disk_sums *sums)
{
    return sums->longest_ns >= DISK_NS || (report_share(b, sums->total_ns) >= DISK_SHARE &&
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
        const uint64_t key[2] = {report_thread_at(b, s->thread)->process,
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
        uint64_t starved_ns = report_starved_ns(b, s->thread, s->from_ns, s->to_ns);
        uint64_t ns = report_span_ns(s) - starved_ns;
        sums[at].count++;
        sums[at].total_ns += ns;
        sums[at].starved_ns += starved_ns;
        if (ns <= sums[at].longest_ns)
            continue;
        sums[at].longest_ns = ns;
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
        if (!s->open || report_span_ns(s) < UNDERWAY_NS || s->from_ns > state->at_ns ||
            report_thread_at(b, s->thread)->process != state->process ||
            report_thread_at(b, s->thread)->tid != state->tid || is_of_disk(b, s))
            continue;
        if (best == NULL || report_span_ns(s) > report_span_ns(best))
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
    if (span == NULL ||
        report_starved_ns(b, span->thread, span->from_ns, span->to_ns) > report_span_ns(span) / 2)
        return;
    struct report_finding *f =
        report_finding_new(b, "slow_disk", REPORT_PROBLEM, report_share(b, report_span_ns(span)));
    if (f == NULL)
        return;
    report_thread_set(b, f, span->thread);
    report_stack_set(b, f, state->stack);
    f->region = report_span_name(b, span);
    f->from_ns = span->from_ns;
    f->to_ns = span->to_ns;
    report_number_put(f, "longest_ns", (double)report_span_ns(span));
    report_say(b, f,
               "%s waited for its disk: it was in `%.*s` (%.*s) when it was looked at, and in "
               "`%.*s` for at least %s",
               report_who(b, span->thread, who), n, state->call, TRACE_REPORT_TEXT,
               file ? what + 5 : "a file that nobody knows", TRACE_REPORT_TEXT, f->region,
               report_time_text(report_span_ns(span), time));
}

void report_disk_rules(struct trace_report_builder *b)
{
    size_t had = b->finding_count;
    waits_fill(b);
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
