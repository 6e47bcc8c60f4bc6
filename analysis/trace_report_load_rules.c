/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on what a process had too little of, and on calls that fail: cpu_neighbour, database_wait,
 * retry_storm, descriptors_exhausted. Entered once, at the end.
 */
#include "linux_names.h"
#include "trace_report_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STARVED                 0.20 /* of the time, ready without a CPU */
#define STARVED_GRAVE           0.50
#define STARVED_GRAVE_BY_VITALS 0.8 /* medians of each second */
#define STARVED_NS              MS(200)
#define WAIT_PERCENT            20.0 /* the same, by vitals */
#define STEAL_PERCENT           20.0
#define STORM_ERRORS            20
#define STORM_SHARE             0.5
#define STORM_GROWTH            2
#define STORM_GRAVE             100

/* ---- CPU ---- */

struct starved { /* the thread that waited most for a CPU */
    const char *name, *service, *host, *instead;
    uint32_t pid, tid;
    uint64_t wait_ns, window_ns, from_ns, to_ns;
    bool by_vitals;
};

static uint32_t process_find(const struct trace_report_builder *b, uint32_t pid, const char *host)
{
    for (uint32_t i = 0; i < skein_trace_process_count(b->trace); i++) {
        const struct skein_process *p = skein_trace_process(b->trace, i);
        if (p->pid == pid && strncmp(p->host, host, SCHED_SUMS_COMM - 1) == 0)
            return i;
    }
    return SKEIN_NONE;
}

static uint32_t thread_find(const struct trace_report_builder *b, uint32_t process, uint32_t tid)
{
    uint32_t found = SKEIN_NONE;
    for (uint32_t i = 0; i < skein_trace_thread_count(b->trace); i++) {
        const struct skein_thread *t = skein_trace_thread(b->trace, i);
        if (t->process == process && t->tid == tid && (found == SKEIN_NONE || !t->evidence))
            found = i;
    }
    return found;
}

/* By the scheduler's records. */
static struct starved starved_of_sched(struct trace_report_builder *b)
{
    const struct sched_thread_sums *threads;
    struct starved worst = {.wait_ns = 0};
    size_t count = sched_sums_threads(b->sched, &threads);
    for (size_t i = 0; i < count; i++) {
        const struct sched_thread_sums *t = &threads[i];
        if (t->totals || t->runnable_ns <= worst.wait_ns || t->to_ns <= t->from_ns)
            continue;
        worst = (struct starved){.name = t->name,
                                 .service = t->service,
                                 .host = t->host,
                                 .instead = t->runnable.other_name,
                                 .pid = t->pid,
                                 .tid = t->tid,
                                 .wait_ns = t->runnable_ns,
                                 .window_ns = t->to_ns - t->from_ns,
                                 .from_ns = t->from_ns,
                                 .to_ns = t->to_ns};
    }
    return worst;
}

/* By what the vitals saw of each thread, second by second: its median. */
static struct starved starved_of_vitals(struct trace_report_builder *b)
{
    const struct vitals_list *list = b->vitals_list;
    struct starved worst = {.wait_ns = 0};
    double most = 0;
    for (size_t i = 0; i < list->row_count; i++) {
        const struct vitals_row *row = &list->rows[i];
        if (strcmp(row->name, "thread.wait") != 0 || row->samples < 2 || row->median <= most)
            continue;
        most = row->median;
        worst = (struct starved){.name = row->of.thread != NULL ? row->of.thread : "",
                                 .service = row->of.service,
                                 .host = row->of.host,
                                 .instead = "",
                                 .pid = row->of.pid,
                                 .tid = row->of.tid,
                                 .window_ns = report_window_ns(b),
                                 .from_ns = b->report.from_ns,
                                 .to_ns = b->report.to_ns,
                                 .by_vitals = true};
        worst.wait_ns = (uint64_t)((most < 100 ? most : 100) / 100 * (double)worst.window_ns);
    }
    return most >= WAIT_PERCENT ? worst : (struct starved){.wait_ns = 0};
}

/* Who used the CPUs most beside the process itself. */
struct neighbour {
    const char *name; /* "": nobody knows */
    uint64_t pid, ns, window_ns;
    uint64_t ended, ended_ns; /* processes that nobody knows the name of any more, and theirs */
};

static void neighbour_take(struct neighbour *n, const char *name, uint64_t pid, uint64_t ns,
                           uint64_t window_ns)
{
    n->window_ns = window_ns;
    if (strcmp(name, "(ended)") == 0) {
        n->ended++;
        n->ended_ns += ns;
    } else if (ns > n->ns && name[0] != '(') { /* "(others)", "(idle)" are nobody */
        n->name = name;
        n->pid = pid;
        n->ns = ns;
    }
}

static struct neighbour neighbour_of(struct trace_report_builder *b, const struct starved *s,
                                     uint32_t process)
{
    const struct sched_user *users;
    size_t count = sched_sums_users(b->sched, &users);
    struct neighbour n = {.name = ""};
    for (size_t i = 0; i < count; i++)
        if (users[i].pid != s->pid && strcmp(users[i].host, s->host) == 0)
            neighbour_take(&n, users[i].comm, users[i].pid, users[i].cpu_ns, users[i].window_ns);
    if (n.ns > 0 || process == SKEIN_NONE || process >= b->process_count ||
        b->processes[process].beside == NULL)
        return n;
    struct beside_cpu cpu = beside_cpu(b->processes[process].beside);
    for (size_t i = 0; i < cpu.user_count; i++)
        if (cpu.users[i].pid != s->pid && cpu.users[i].pid != 0)
            neighbour_take(&n, cpu.users[i].name, cpu.users[i].pid, cpu.users[i].cpu_ns,
                           cpu.window_ns);
    return n;
}

/* ": the CPU was taken by `stress-ng`" */
static void taken_put(struct report_finding *f, const struct starved *s, const struct neighbour *n,
                      char *to, size_t bytes)
{
    bool ended = n->ended_ns > n->ns;
    uint64_t ns = ended ? n->ended_ns : n->ns;
    const char *by = n->name[0] != '\0' ? n->name : s->instead;
    report_number_put(f, "neighbour_pid", ended ? 0 : (double)n->pid);
    report_number_put(f, "neighbour_cpus",
                      n->window_ns > 0 ? (double)ns / (double)n->window_ns : 0);
    to[0] = '\0';
    if (ended && n->ended > 1)
        snprintf(to, bytes, ": the CPU was taken by %" PRIu64 " processes that have ended since",
                 n->ended);
    else if (ended)
        snprintf(to, bytes, ": the CPU was taken by a process that has ended since");
    else if (*by != '\0')
        snprintf(to, bytes, ": the CPU was taken by `%.*s`", TRACE_REPORT_TEXT, by);
}

static void starved_tell(struct trace_report_builder *b, const struct starved *s)
{
    char who[REPORT_WHO], taken[TRACE_REPORT_TEXT + 80];
    uint32_t process = process_find(b, s->pid, s->host);
    uint32_t thread = process != SKEIN_NONE ? thread_find(b, process, s->tid) : SKEIN_NONE;
    double share = (double)s->wait_ns / (double)s->window_ns;
    struct neighbour n = neighbour_of(b, s, process);
    /* Where nobody else had much of a CPU, it competes with itself. */
    bool others = *s->instead != '\0' || (n.ns > n.ended_ns ? n.ns : n.ended_ns) > n.window_ns / 5;
    bool grave = share >= (s->by_vitals ? STARVED_GRAVE_BY_VITALS : STARVED_GRAVE);
    struct report_finding *f = report_finding_new(b, "cpu_neighbour",
                                                  !others ? REPORT_NOTE
                                                  : grave ? REPORT_PROBLEM
                                                          : REPORT_WARNING,
                                                  share);
    if (f == NULL || process == SKEIN_NONE) {
        b->finding_count -= f != NULL;
        return;
    }
    report_process_set(b, f, process);
    report_process_who(b, process, who);
    if (thread != SKEIN_NONE) {
        report_thread_set(b, f, thread);
        report_who(b, thread, who);
    }
    f->from_ns = s->from_ns;
    f->to_ns = s->to_ns;
    report_number_put(f, "runnable_ns", (double)s->wait_ns);
    report_number_put(f, "share", share);
    taken_put(f, s, &n, taken, sizeof taken);
    report_say(b, f, "%s was ready to run but not running %.0f %% of the time%s", who, share * 100,
               taken);
}

static void steal_tell(struct trace_report_builder *b)
{
    const struct vitals_list *list = b->vitals_list;
    for (size_t i = 0; i < list->row_count; i++) {
        const struct vitals_row *row = &list->rows[i];
        if (strcmp(row->name, "host.cpu.steal") != 0 || row->samples < 2 ||
            row->median < STEAL_PERCENT)
            continue;
        struct report_finding *f =
            report_finding_new(b, "cpu_neighbour", REPORT_WARNING, row->median / 100);
        if (f == NULL)
            return;
        f->subject.host = row->of.host;
        f->from_ns = b->report.from_ns;
        f->to_ns = b->report.to_ns;
        report_number_put(f, "steal_percent", row->median);
        report_say(b, f, "the hypervisor took %.0f %% of the CPU time of %.*s", row->median,
                   TRACE_REPORT_TEXT, row->of.host);
    }
}

void report_cpu_rules(struct trace_report_builder *b)
{
    struct starved worst = starved_of_sched(b);
    if (worst.wait_ns == 0)
        worst = starved_of_vitals(b);
    if (worst.wait_ns >= STARVED_NS && (double)worst.wait_ns / (double)worst.window_ns >= STARVED)
        starved_tell(b, &worst);
    if (b->status == SKEIN_OK)
        steal_tell(b);
}

/* ---- calls that fail ---- */

static uint64_t sum_of(const uint64_t *numbers, size_t from, size_t to)
{
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += numbers[i];
    return sum;
}

static void storm_judge(struct trace_report_builder *b, uint32_t process, size_t label,
                        const struct report_series *s)
{
    const size_t third = REPORT_BUCKETS / 3;
    uint64_t errors = sum_of(s->errors, 0, REPORT_BUCKETS);
    uint64_t first = sum_of(s->errors, 0, third);
    uint64_t last = sum_of(s->errors, REPORT_BUCKETS - third, REPORT_BUCKETS);
    uint64_t calls = sum_of(s->count, REPORT_BUCKETS - third, REPORT_BUCKETS);
    char who[REPORT_WHO], error[32];
    if (errors < STORM_ERRORS || (double)last < (double)calls * STORM_SHARE)
        return;
    bool grows = last >= STORM_ERRORS / 2 && last >= first * STORM_GROWTH;
    struct report_finding *f = report_finding_new(b, "retry_storm",
                                                  !grows                  ? REPORT_NOTE
                                                  : errors >= STORM_GRAVE ? REPORT_PROBLEM
                                                                          : REPORT_WARNING,
                                                  (double)errors / (double)(errors + 1000));
    if (f == NULL)
        return;
    report_process_set(b, f, process);
    f->region = b->moment->labels[label].text;
    f->from_ns = b->report.from_ns;
    f->to_ns = b->report.to_ns;
    report_number_put(f, "errors", (double)errors);
    report_number_put(f, "first_third", (double)first);
    report_number_put(f, "last_third", (double)last);
    report_number_put(f, "error", (double)s->error);
    const char *name = linux_error_name(-s->error);
    snprintf(error, sizeof error, "error %" PRId64, -s->error);
    report_say(b, f,
               "%s: `%.*s` failed %" PRIu64 " times (%s)%s%" PRIu64 " in the first third of "
               "the time, %" PRIu64 " in the last",
               report_process_who(b, process, who), TRACE_REPORT_TEXT, f->region, errors,
               name != NULL ? name : error, grows ? " and is tried again more and more: " : ": ",
               first, last);
}

static void exhausted_tell(struct trace_report_builder *b, uint32_t process)
{
    const struct report_process *p = &b->processes[process];
    char who[REPORT_WHO];
    struct report_finding *f = report_finding_new(b, "descriptors_exhausted", REPORT_PROBLEM, 1);
    if (f == NULL)
        return;
    report_process_set(b, f, process);
    f->from_ns = f->to_ns = p->exhausted_ns;
    report_number_put(f, "calls", (double)p->exhausted);
    report_say(b, f, "%s has no free descriptor left: %" PRIu64 " calls failed for it",
               report_process_who(b, process, who), p->exhausted);
}

void report_call_rules(struct trace_report_builder *b)
{
    for (uint32_t i = 0; i < b->process_count && b->status == SKEIN_OK; i++) {
        const struct report_process *p = &b->processes[i];
        for (size_t k = 0; k < p->series_cap && b->status == SKEIN_OK; k++)
            if (p->series[k] != NULL)
                storm_judge(b, i, k, p->series[k]);
        if (p->exhausted > 0 && b->status == SKEIN_OK)
            exhausted_tell(b, i);
    }
    for (size_t i = 0; i < b->title_count && b->status == SKEIN_OK; i++) {
        const struct report_title *t = &b->titles[i];
        char who[REPORT_WHO];
        size_t n = strlen(t->text);
        if (n < 8 || strcmp(t->text + n - 8, " waiting") != 0)
            continue;
        struct report_finding *f = report_finding_new(b, "database_wait", REPORT_PROBLEM, 1);
        if (f == NULL)
            return;
        report_process_set(b, f, t->process);
        f->from_ns = f->to_ns = t->at_ns;
        report_say(b, f, "%s says that it waits for a lock of another client: \"%.*s\"",
                   report_process_who(b, t->process, who), TRACE_REPORT_TEXT, t->text);
    }
}
