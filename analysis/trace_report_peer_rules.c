/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that compare: one process or thread with those like it (slow_one), all threads of a process
 * with each other (stopped_together, held_by_one), the begin of the window with its end (queue_growth,
 * cold_cache). Entered once, at the end.
 */
#include "array.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MIN        3  /* beside the slow one are two or more */
#define PEER_COUNT_MIN   10 /* of each, before its median means anything */
#define PEER_TIMES       4
#define PEER_TIMES_FEWER 20
#define PEER_NS          MS(1)
#define PAUSE_NS         MS(50)
#define PAUSE_TIMES      5
#define PAUSE_GRAVE_NS   MS(500)
#define GROWTH_MIN       20 /* values */
#define GROWTH_TIMES     4
#define COLD_AGE_NS      (UINT64_C(60) * 1000000000)
#define COLD_COUNT       30
#define COLD_TIMES       3

/* ---- one among those like it ---- */

struct peer {
    uint32_t process, thread; /* thread: SKEIN_NONE where processes are compared */
    uint64_t group;           /* number of what they have in common */
    size_t label;
    uint64_t count, total_ns;
    uint32_t levels[LEVELS];
    const struct moment_span *longest;
    uint64_t median_ns;
};

struct peers {
    struct intern_table groups, keys;
    struct peer *items;
    size_t cap;
};

/* Work, and waits whose length says how fast something is. */
static bool label_compares(const struct label *label)
{
    return !label->for_anything && !label->own_time && !label->rhythmic && !label->for_lock;
}

static int peer_add(struct trace_report_builder *b, struct peers *peers, const char *common,
                    size_t n, uint32_t process, uint32_t thread, const struct stat *stat)
{
    bool fresh;
    struct buf text = {0};
    buf_put_u64(&text, stat->label);
    buf_put(&text, common, n);
    int64_t group = text.status == SKEIN_OK
                        ? intern_table_put(&peers->groups, text.data, text.len, &fresh)
                        : SKEIN_NO_MEMORY;
    buf_fini(&text);
    const uint64_t key[2] = {(uint64_t)group, thread != SKEIN_NONE ? thread : process};
    int64_t at = group >= 0 && array_grow(peers->items, peers->keys.count + 1, &peers->cap)
                     ? intern_table_put(&peers->keys, key, sizeof key, &fresh)
                     : SKEIN_NO_MEMORY;
    if (at < 0)
        return b->status = SKEIN_NO_MEMORY;
    struct peer *p = &peers->items[at];
    if (fresh)
        *p = (struct peer){.process = process,
                           .thread = thread,
                           .group = (uint64_t)group,
                           .label = stat->label,
                           .longest = &stat->top[0]};
    p->count += stat->count;
    p->total_ns += stat->total_ns;
    p->longest = stat->top[0].dur_ns > p->longest->dur_ns ? &stat->top[0] : p->longest;
    for (unsigned i = 0; i < LEVELS; i++)
        p->levels[i] += stat->levels[i];
    return SKEIN_OK;
}

/* "worker-12" is one of "worker-". Threads of one name without a number do what they like: most
 * have that of their process. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n;
}

static void peers_fill(struct trace_report_builder *b, struct peers *peers)
{
    const struct moment *m = b->moment;
    for (uint32_t i = 0; i < b->actor_count && b->status == SKEIN_OK; i++) {
        if (b->actors[i].moment < 0 || b->actors[i].stands_in)
            continue;
        const struct thread *t = &m->threads[b->actors[i].moment];
        uint32_t process = skein_trace_thread(b->trace, i)->process;
        const char *service = skein_trace_process(b->trace, process)->service;
        char common[TRACE_REPORT_TEXT + 32];
        int n = snprintf(common, sizeof common, "%" PRIu32 " %.*s", process,
                         (int)(stem_length(t->name) < TRACE_REPORT_TEXT ? stem_length(t->name)
                                                                        : TRACE_REPORT_TEXT),
                         t->name);
        bool numbered = t->name[stem_length(t->name)] != '\0';
        for (size_t k = 0; k < t->stat_count && b->status == SKEIN_OK; k++) {
            const struct stat *stat = &t->stats[k];
            if (!label_compares(&m->labels[stat->label]))
                continue;
            if (peer_add(b, peers, service, strlen(service) + 1, process, SKEIN_NONE, stat) ==
                    SKEIN_OK &&
                numbered)
                (void)peer_add(b, peers, common, (size_t)n, process, i, stat);
        }
    }
}

static int peers_order(const void *a, const void *b)
{
    const struct peer *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->median_ns < y->median_ns) - (x->median_ns > y->median_ns);
}

static void slow_tell(struct trace_report_builder *b, const struct peer *slow, size_t count,
                      uint64_t others_ns)
{
    char who[REPORT_WHO], one[32], usual[32];
    double lost = (double)slow->total_ns * (1 - (double)others_ns / (double)slow->median_ns);
    double share = lost / (double)report_window_ns(b);
    struct report_finding *f =
        report_finding_new(b, "slow_one", share >= 0.2 ? REPORT_PROBLEM : REPORT_WARNING, share);
    if (f == NULL)
        return;
    if (slow->thread != SKEIN_NONE)
        report_thread_set(b, f, slow->thread);
    else
        report_process_set(b, f, slow->process);
    report_stack_set(b, f, slow->longest->stack);
    f->region = b->moment->labels[slow->label].text;
    f->from_ns = slow->longest->time_ns;
    f->to_ns = slow->longest->time_ns + slow->longest->dur_ns;
    report_number_put(f, "peers", (double)count);
    report_number_put(f, "median_ns", (double)slow->median_ns);
    report_number_put(f, "others_median_ns", (double)others_ns);
    report_number_put(f, "count", (double)slow->count);
    if (slow->thread != SKEIN_NONE)
        report_who(b, slow->thread, who);
    else
        report_process_who(b, slow->process, who);
    report_say(b, f,
               "%s is slower than its %zu neighbours: `%.*s` took %s there, %s elsewhere "
               "(half of them took less)",
               who, count - 1, TRACE_REPORT_TEXT, f->region, report_time_text(slow->median_ns, one),
               report_time_text(others_ns, usual));
}

/* Its peers are sorted, the slowest first. */
static bool group_judge(struct trace_report_builder *b, const struct peer *peers, size_t count)
{
    size_t told = b->finding_count;
    if (count < PEERS_MIN)
        return false;
    for (size_t i = 0; i < count; i++)
        if (peers[i].count < PEER_COUNT_MIN)
            return false;
    const struct peer *other = &peers[1 + (count - 1) / 2];
    uint64_t others = other->median_ns, next = peers[1].median_ns;
    if (peers[0].count < other->count / PEER_TIMES_FEWER)
        return false; /* it does something else */
    if (peers[0].median_ns >= PEER_NS && peers[0].median_ns / PEER_TIMES >= others &&
        next / 2 <= others)
        slow_tell(b, &peers[0], count, others);
    return b->finding_count > told;
}

static void slow_one_rule(struct trace_report_builder *b)
{
    struct peers peers = {.items = NULL};
    peers_fill(b, &peers);
    size_t count = peers.keys.count, end;
    for (size_t i = 0; i < count; i++)
        peers.items[i].median_ns =
            moment_quantile(peers.items[i].levels, (peers.items[i].count + 1) / 2);
    if (count > 0)
        qsort(peers.items, count, sizeof *peers.items, peers_order);
    for (size_t i = 0; i < count && b->status == SKEIN_OK; i = end) {
        for (end = i + 1; end < count && peers.items[end].group == peers.items[i].group; end++)
            ;
        (void)group_judge(b, peers.items + i, end - i);
    }
    intern_table_fini(&peers.groups);
    intern_table_fini(&peers.keys);
    free(peers.items);
}

/* ---- all stop at once ---- */

/* How the thread was in that silence of its process: it stopped and went on with it, it waited for
 * something, or it was not there. */
enum pause_part { PAUSE_NOT_THERE, PAUSE_WAITS, PAUSE_STOPPED };

static enum pause_part part_of(const struct report_actor *a, const struct report_silence *pause)
{
    uint64_t slack = (pause->to_ns - pause->from_ns) / 5;
    for (size_t i = 0; i < REPORT_SILENCES; i++) {
        const struct report_silence *s = &a->silences[i];
        if (s->from_ns > pause->from_ns || s->to_ns < pause->to_ns)
            continue;
        if (s->waits)
            return PAUSE_WAITS;
        bool together = pause->from_ns - s->from_ns <= slack && s->to_ns - pause->to_ns <= slack;
        return together ? PAUSE_STOPPED : PAUSE_NOT_THERE;
    }
    return PAUSE_NOT_THERE;
}

/* The one wait of the process that lasted as long as the pause, where there is exactly one: of a call
 * that no thread waits in for others, as in a sleep, with what they all need in its hands. */
static const struct report_span *pause_holder(const struct trace_report_builder *b,
                                              uint32_t process, const struct report_silence *pause)
{
    uint64_t ns = pause->to_ns - pause->from_ns, slack = ns / 5;
    const struct report_span *found = NULL;
    for (size_t i = 0; i < b->span_count; i++) {
        const struct report_span *s = &b->spans[i];
        const struct label *label = &b->moment->labels[b->types[s->type].label];
        uint64_t before =
            s->from_ns > pause->from_ns ? s->from_ns - pause->from_ns : pause->from_ns - s->from_ns;
        uint64_t behind =
            s->to_ns > pause->to_ns ? s->to_ns - pause->to_ns : pause->to_ns - s->to_ns;
        if (!label->wait || label->for_anything || label->group == SKEIN_GROUP_LOCK ||
            before > slack || behind > slack || report_thread_at(b, s->thread)->process != process)
            continue;
        if (found != NULL && found->thread != s->thread)
            return NULL;
        found = s;
    }
    return found;
}

/* "python3.11" of "/usr/bin/python3.11" */
static bool is_python(const struct skein_process *p)
{
    const char *slash = strrchr(p->exe, '/');
    return strncmp(slash != NULL ? slash + 1 : p->exe, "python", 6) == 0;
}

static void holder_tell(struct trace_report_builder *b, const struct report_span *held,
                        const struct report_silence *pause, size_t others)
{
    uint64_t ns = pause->to_ns - pause->from_ns;
    char who[REPORT_WHO], time[32];
    uint32_t process = report_thread_at(b, held->thread)->process;
    struct report_finding *f =
        report_finding_new(b, "held_by_one", ns >= PAUSE_GRAVE_NS ? REPORT_PROBLEM : REPORT_WARNING,
                           report_share(b, ns));
    if (f == NULL)
        return;
    report_thread_set(b, f, held->thread);
    report_stack_set(b, f, held->stack);
    f->region = report_span_name(b, held);
    f->from_ns = pause->from_ns;
    f->to_ns = pause->to_ns;
    report_number_put(f, "threads", (double)others);
    report_number_put(f, "dur_ns", (double)ns);
    report_say(
        b, f,
        "%s was in `%.*s` for %s, and the other %zu busy thread%s of the process stood still "
        "just as long: it seems to have kept what they need%s",
        report_who(b, held->thread, who), TRACE_REPORT_TEXT, f->region,
        report_time_text(report_span_ns(held), time), others, others == 1 ? "" : "s",
        is_python(skein_trace_process(b->trace, process))
            ? ", as a thread of Python keeps the interpreter's lock (GIL)"
            : "");
}

/* Of that time nothing is there. */
static bool pause_is_gap(const struct trace_report_builder *b, uint32_t process,
                         const struct report_silence *pause)
{
    for (size_t i = 0; i < b->gap_count; i++)
        if (b->gaps[i].process == process && b->gaps[i].from_ns <= pause->to_ns &&
            b->gaps[i].to_ns >= pause->from_ns)
            return true;
    for (size_t i = 0; i < b->loss_count; i++)
        if (b->losses[i].process == process && b->losses[i].from_ns <= pause->to_ns &&
            b->losses[i].to_ns >= pause->from_ns)
            return true;
    return false;
}

static void pause_judge(struct trace_report_builder *b, uint32_t process,
                        const struct report_silence *pause)
{
    size_t stopped = 0, elsewhere = 0, holders = 0;
    uint64_t ns = pause->to_ns - pause->from_ns;
    char who[REPORT_WHO], time[32];
    const struct report_span *held = pause_holder(b, process, pause);
    for (size_t i = 0; i < b->actor_count; i++) {
        const struct report_actor *a = &b->actors[i];
        if (a->moment < 0 || a->stands_in ||
            skein_trace_thread(b->trace, (uint32_t)i)->process != process ||
            a->first_ns > pause->from_ns || a->last_ns < pause->to_ns || a->rows < PEER_COUNT_MIN)
            continue;
        enum pause_part part = part_of(a, pause);
        stopped += part == PAUSE_STOPPED;
        elsewhere += part == PAUSE_NOT_THERE;
        holders += part == PAUSE_STOPPED && held != NULL && held->thread == i;
    }
    if (stopped < 2 || elsewhere > stopped / 4)
        return;
    if (held != NULL) { /* it may have done too little to be one of the busy threads */
        holder_tell(b, held, pause, stopped - holders);
        return;
    }
    struct report_finding *f = report_finding_new(
        b, "stopped_together", ns >= PAUSE_GRAVE_NS ? REPORT_PROBLEM : REPORT_WARNING,
        (double)ns / (double)report_window_ns(b));
    if (f == NULL)
        return;
    report_process_set(b, f, process);
    f->from_ns = pause->from_ns;
    f->to_ns = pause->to_ns;
    report_number_put(f, "threads", (double)stopped);
    report_number_put(f, "dur_ns", (double)ns);
    report_say(b, f,
               "all %zu busy threads of %s stopped at once for %s and went on together, as in "
               "a garbage collection's pause",
               stopped, report_process_who(b, process, who), report_time_text(ns, time));
}

static void pauses_rule(struct trace_report_builder *b)
{
    for (uint32_t i = 0; i < b->process_count && b->status == SKEIN_OK; i++) {
        const struct report_process *p = &b->processes[i];
        uint64_t rank = p->silence_count - p->silence_count / 100;
        rank = rank + 1 > p->silence_count && p->silence_count > 0 ? p->silence_count - 1 : rank;
        uint64_t usual = p->silence_count > 0 ? moment_quantile(p->silence_levels, rank) : 0;
        size_t had = b->finding_count;
        for (size_t k = 0; k < REPORT_SILENCES && b->finding_count == had; k++) {
            uint64_t ns = p->silences[k].to_ns - p->silences[k].from_ns;
            if (ns >= PAUSE_NS && ns / PAUSE_TIMES >= usual && b->status == SKEIN_OK &&
                !pause_is_gap(b, i, &p->silences[k]))
                pause_judge(b, i, &p->silences[k]);
        }
    }
}

void report_peer_rules(struct trace_report_builder *b)
{
    slow_one_rule(b);
    if (b->status == SKEIN_OK)
        pauses_rule(b);
}

/* ---- from the begin to the end ---- */

static double mean_of(const double *sums, const uint64_t *counts, size_t from, size_t to)
{
    double sum = 0;
    uint64_t count = 0;
    for (size_t i = from; i < to; i++) {
        sum += sums[i];
        count += counts[i];
    }
    return count > 0 ? sum / (double)count : 0;
}

static bool is_called_queue(const char *name)
{
    static const char *const words[] = {"queue",     "backlog", "pending", "inflight",
                                        "in_flight", "waiting", "depth"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return false;
}

/* Quarters that rise one after the other: a peak somewhere is no growth. */
static bool counter_grows(const struct report_counter *c, double quarters[4])
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t count = 0;
        for (size_t k = i * REPORT_BUCKETS / 4; k < (i + 1) * REPORT_BUCKETS / 4; k++)
            count += c->counts[k];
        quarters[i] =
            mean_of(c->sum, c->counts, i * REPORT_BUCKETS / 4, (i + 1) * REPORT_BUCKETS / 4);
        if (count == 0 || (i > 0 && quarters[i] <= quarters[i - 1]))
            return false;
    }
    return quarters[3] >= GROWTH_TIMES * quarters[0] && quarters[3] - quarters[0] >= GROWTH_TIMES;
}

static void growth_judge(struct trace_report_builder *b, const struct report_counter *c)
{
    const char *name = skein_trace_type(b->trace, c->type)->name;
    double quarters[4];
    char who[REPORT_WHO];
    bool queue = is_called_queue(name);
    bool moves = c->falls >= c->count / 10 && c->falls > 0;
    if (c->count < GROWTH_MIN || (!queue && !moves) || !counter_grows(c, quarters))
        return;
    double room = c->most > 0 ? quarters[3] / c->most : 0;
    struct report_finding *f =
        report_finding_new(b, "queue_growth", queue ? REPORT_WARNING : REPORT_NOTE, room);
    if (f == NULL)
        return;
    report_process_set(b, f, c->process);
    if (c->thread != SKEIN_NONE)
        report_thread_set(b, f, c->thread);
    f->region = name;
    f->from_ns = c->from_ns;
    f->to_ns = c->to_ns;
    report_number_put(f, "first_quarter", quarters[0]);
    report_number_put(f, "last_quarter", quarters[3]);
    report_number_put(f, "last", c->last);
    report_say(b, f,
               "`%.*s` of %s grew all the time: from %.4g on average to %.4g, and was %.4g at "
               "the end",
               TRACE_REPORT_TEXT, name, report_process_who(b, c->process, who), quarters[0],
               quarters[3], c->last);
}

/* Thirds of the time in which the process had records. */
struct thirds {
    uint64_t count[3], total_ns[3];
};

static struct thirds thirds_of(const struct trace_report_builder *b, const struct report_process *p,
                               const struct report_series *s)
{
    struct thirds thirds = {{0}, {0}};
    size_t first = report_bucket(b, p->first_ns), last = report_bucket(b, p->last_ns) + 1;
    for (size_t i = first; i < last; i++) {
        size_t third = (i - first) * 3 / (last - first);
        thirds.count[third] += s->count[i];
        thirds.total_ns[third] += s->total_ns[i];
    }
    return thirds;
}

/* Whether it read more in the beginning than at the end. */
static bool reads_fall(const struct trace_report_builder *b, const struct report_process *p,
                       uint64_t reads[2])
{
    reads[0] = reads[1] = 0;
    for (size_t i = 0; i < p->series_cap; i++) {
        const struct label *label = p->series[i] != NULL ? &b->moment->labels[i] : NULL;
        if (label == NULL || label->group != SKEIN_GROUP_IO || strcmp(label->text, "read") != 0)
            continue;
        struct thirds thirds = thirds_of(b, p, p->series[i]);
        reads[0] += thirds.count[0];
        reads[1] += thirds.count[2];
    }
    return reads[0] >= 10 && reads[0] >= 2 * reads[1];
}

static void cold_judge(struct trace_report_builder *b, uint32_t process, size_t label)
{
    const struct report_process *p = &b->processes[process];
    struct thirds t = thirds_of(b, p, p->series[label]);
    char who[REPORT_WHO], first[32], last[32], age[32];
    uint64_t reads[2], start_ns = skein_trace_process(b->trace, process)->start_ns;
    if (t.count[0] < COLD_COUNT / 3 || t.count[1] < COLD_COUNT / 3 || t.count[2] < COLD_COUNT / 3)
        return;
    uint64_t mean[3];
    for (size_t i = 0; i < 3; i++)
        mean[i] = t.total_ns[i] / t.count[i];
    if (mean[0] < MS(1) || mean[0] / COLD_TIMES < mean[2] || mean[0] <= mean[1] ||
        mean[1] < mean[2])
        return;
    bool more_io = reads_fall(b, p, reads);
    struct report_finding *f =
        report_finding_new(b, "cold_cache", more_io ? REPORT_WARNING : REPORT_NOTE,
                           (double)t.total_ns[0] / (double)report_window_ns(b));
    if (f == NULL)
        return;
    report_process_set(b, f, process);
    f->region = b->moment->labels[label].text;
    f->from_ns = p->first_ns;
    f->to_ns = p->last_ns;
    report_number_put(f, "first_mean_ns", (double)mean[0]);
    report_number_put(f, "last_mean_ns", (double)mean[2]);
    report_number_put(f, "first_reads", (double)reads[0]);
    report_number_put(f, "last_reads", (double)reads[1]);
    report_say(b, f,
               "%s had started %s before, cold: `%.*s` took %s on average at first and %s at "
               "the end, with %" PRIu64 " reads at first and %" PRIu64 " at the end",
               report_process_who(b, process, who),
               report_time_text(p->first_ns > start_ns ? p->first_ns - start_ns : 0, age),
               TRACE_REPORT_TEXT, f->region, report_time_text(mean[0], first),
               report_time_text(mean[2], last), reads[0], reads[1]);
}

static bool is_young(const struct trace_report_builder *b, uint32_t process)
{
    uint64_t start_ns = skein_trace_process(b->trace, process)->start_ns;
    uint64_t first_ns = b->processes[process].first_ns;
    return start_ns != 0 && first_ns != 0 &&
           (first_ns < start_ns || first_ns - start_ns <= COLD_AGE_NS);
}

void report_trend_rules(struct trace_report_builder *b)
{
    size_t counters =
        b->counter_keys.count < REPORT_COUNTERS_MAX ? b->counter_keys.count : REPORT_COUNTERS_MAX;
    for (size_t i = 0; i < counters && b->status == SKEIN_OK; i++)
        growth_judge(b, &b->counters[i]);
    for (uint32_t i = 0; i < b->process_count; i++) {
        const struct report_process *p = &b->processes[i];
        if (p->moment < 0 || !is_young(b, i))
            continue;
        for (size_t k = 0; k < p->series_cap && b->status == SKEIN_OK; k++)
            if (p->series[k] != NULL && !b->moment->labels[k].wait)
                cold_judge(b, i, k);
    }
}
