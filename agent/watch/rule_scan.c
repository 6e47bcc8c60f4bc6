/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at rings for rules, in turns; see rule_scan.h. Owns the looks with their marks, one for
 * each process, and their scans, one for each rule. A look is a cut that changes nothing
 * (cutter.h); it is read once for all scans and thrown away. The worker has the look that is under
 * way and the scans that it began with, the loop thread all the rest. A scan that is stopped
 * meanwhile is freed when the look comes back.
 */
#include "rule_scan.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "agent_clock.h"
#include "cutter.h"
#include "partition_reader.h"

struct rule_scan {
    TAILQ_ENTRY(rule_scan) link;
    struct rule_scan *next; /* that the look under way is for */
    struct rule_look *look;
    struct rule_spec *spec;
    uint64_t from_ns; /* what happened before does not count */
    bool under_way, stopped;
    scan_fn *fn;
    void *context;
    struct scan_hit hits[SCAN_HITS_MAX];
    struct scan_result result;
};
TAILQ_HEAD(scan_list, rule_scan);

struct rule_look {
    TAILQ_ENTRY(rule_look) link;
    struct rule_scanner *scanner; /* NULL: freed while this was under way */
    struct host_page_owner *host;
    struct loop *loop;
    struct process *process; /* a reference */
    struct cut_marks *marks;
    uint64_t from_ns;
    uint64_t round; /* of the last turn */
    struct scan_list scans;
    struct rule_scan *under_way; /* the first; NULL: no look is */
};
TAILQ_HEAD(look_list, rule_look);

struct rule_scanner {
    struct loop *loop;
    struct worker *worker;
    struct host_page_owner *host;
    struct loop_timer *timer;
    struct look_list looks;
    struct rule_look *under_way;
    uint64_t round, looked;
};

static void scan_free(struct rule_scan *scan)
{
    rule_spec_free(&scan->spec);
    free(scan);
}

/* Frees a look without scans, unless it is under way. */
static void look_end(struct rule_look *look)
{
    if (look->under_way != NULL || !TAILQ_EMPTY(&look->scans))
        return;
    if (look->scanner != NULL)
        TAILQ_REMOVE(&look->scanner->looks, look, link);
    cut_marks_free(&look->marks);
    process_unref(&look->process);
    free(look);
}

/* ---- a look, on the worker ---- */

static void hit_add(struct rule_scan *scan, const struct trace_event *event)
{
    struct scan_hit hit;
    if (!scan_event_matches(scan->spec, event, &hit) || hit.at_ns < scan->from_ns)
        return;
    if (scan->result.hit_count < SCAN_HITS_MAX)
        scan->hits[scan->result.hit_count++] = hit;
    else
        scan->result.hits_dropped++;
}

static int events_read(struct rule_look *look, const struct buf *bytes)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[128];
    int status = partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error);
    if (status != SKEIN_OK)
        return status;
    while ((status = partition_reader_next(reader, &event)) == 1) {
        for (struct rule_scan *scan = look->under_way; scan != NULL; scan = scan->next)
            hit_add(scan, &event);
    }
    partition_reader_free(&reader);
    return status;
}

/* Until when records were overwritten before the look came; 0: none was. The process's counters
 * tell again of gaps that an earlier look has told of; those are left out. */
static uint64_t unseen_until(struct rule_look *look, const struct cut_result *cut)
{
    uint64_t until_ns = 0;
    for (size_t i = 0; i < cut->gap_count; i++) {
        if (cut->gaps[i].reason == PARTITION_LOSS_OVERWRITTEN && cut->gaps[i].to_ns > look->from_ns)
            until_ns = look->from_ns = cut->gaps[i].to_ns;
    }
    return until_ns;
}

static void look_make(struct rule_look *look)
{
    const struct cut_request request = {.process = look->process,
                                        .from_ns = look->from_ns,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = look->marks,
                                        .max_bytes = SCAN_BYTES,
                                        .look = true};
    struct cut_result cut;
    uint64_t at_ns = agent_clock_ns();
    for (struct rule_scan *scan = look->under_way; scan != NULL; scan = scan->next)
        scan->result = (struct scan_result){.hits = scan->hits, .at_ns = at_ns};
    int status = partition_cut(look->host, &request, &cut);
    if (status == SKEIN_OK)
        status = events_read(look, &cut.bytes);
    else if (status == SKEIN_NOT_FOUND)
        status = SKEIN_OK;
    uint64_t unseen_ns = unseen_until(look, &cut);
    for (struct rule_scan *scan = look->under_way; scan != NULL; scan = scan->next) {
        scan->result.unseen = unseen_ns > scan->from_ns;
        scan->result.status = status;
        qsort(scan->hits, scan->result.hit_count, sizeof scan->hits[0], scan_hit_compare);
    }
    cut_result_fini(&cut);
}

/* ---- turns, on the loop ---- */

static void turn_next(struct rule_scanner *scanner);

static void look_done(void *context)
{
    struct rule_look *look = context;
    struct rule_scanner *scanner = look->scanner;
    struct rule_scan *scan, *next = look->under_way;
    while ((scan = next) != NULL) {
        next = scan->next;
        scan->under_way = false;
        if (scan->stopped)
            scan_free(scan);
        else
            scan->fn(scan->context, &scan->result); /* may stop any scan */
    }
    look->under_way = NULL;
    look_end(look);
    if (scanner == NULL)
        return;
    scanner->under_way = NULL;
    turn_next(scanner);
}

static void look_run(void *context)
{
    struct rule_look *look = context;
    look_make(look);
    while (loop_post(look->loop, look_done, look) != SKEIN_OK)
        continue; /* a few bytes; nobody else could give the look back */
}

static void under_way_set(struct rule_look *look)
{
    struct rule_scan *scan;
    look->under_way = NULL;
    TAILQ_FOREACH_REVERSE(scan, &look->scans, scan_list, link) {
        scan->under_way = true;
        scan->next = look->under_way;
        look->under_way = scan;
    }
}

static void under_way_clear(struct rule_look *look)
{
    for (struct rule_scan *scan = look->under_way; scan != NULL; scan = scan->next)
        scan->under_way = false;
    look->under_way = NULL;
}

/* Looks at the process that has waited longest. None is left: the round is over. */
static void turn_next(struct rule_scanner *scanner)
{
    struct rule_look *look;
    TAILQ_FOREACH(look, &scanner->looks, link) {
        if (look->round == scanner->round)
            continue;
        look->round = scanner->round;
        under_way_set(look);
        if (worker_post(scanner->worker, NULL, look_run, look) != SKEIN_OK) {
            under_way_clear(look);
            continue; /* the next round tries again */
        }
        scanner->under_way = look;
        scanner->looked++;
        return;
    }
}

static void round_begin(void *context)
{
    struct rule_scanner *scanner = context;
    if (scanner->under_way != NULL)
        return; /* the one before goes on */
    scanner->round++;
    turn_next(scanner);
}

/* ---- life ---- */

int rule_scanner_new(struct loop *loop, struct worker *worker, struct host_page_owner *host,
                     uint64_t every_ms, struct rule_scanner **out)
{
    struct rule_scanner *scanner = calloc(1, sizeof *scanner);
    *out = NULL;
    if (scanner == NULL)
        return SKEIN_NO_MEMORY;
    *scanner = (struct rule_scanner){.loop = loop, .worker = worker, .host = host};
    TAILQ_INIT(&scanner->looks);
    scanner->timer = loop_timer_add(loop, every_ms, 1, round_begin, scanner);
    if (scanner->timer == NULL) {
        free(scanner);
        return SKEIN_NO_MEMORY;
    }
    *out = scanner;
    return SKEIN_OK;
}

void rule_scanner_free(struct rule_scanner **scanner_p)
{
    struct rule_scanner *scanner = *scanner_p;
    *scanner_p = NULL;
    if (scanner == NULL)
        return;
    if (scanner->under_way != NULL)
        scanner->under_way->scanner = NULL; /* its scans are stopped, and it comes back to nobody */
    loop_timer_cancel(scanner->loop, &scanner->timer);
    free(scanner);
}

uint64_t rule_scanner_looked(const struct rule_scanner *scanner)
{
    return scanner->looked;
}

/* The process's look, a new one where there is none. NULL: no memory. */
static struct rule_look *look_of(struct rule_scanner *scanner, struct process *process)
{
    struct rule_look *look;
    TAILQ_FOREACH(look, &scanner->looks, link) {
        if (look->process == process)
            return look;
    }
    look = calloc(1, sizeof *look);
    if (look == NULL || cut_marks_new(process, &look->marks) != SKEIN_OK) {
        free(look);
        return NULL;
    }
    look->scanner = scanner;
    look->host = scanner->host;
    look->loop = scanner->loop;
    look->process = process_ref(process);
    look->from_ns = agent_clock_ns();
    TAILQ_INIT(&look->scans);
    TAILQ_INSERT_TAIL(&scanner->looks, look, link);
    return look;
}

int rule_scan_start(struct rule_scanner *scanner, const char *rule, struct process *process,
                    scan_fn *fn, void *context, struct rule_scan **out)
{
    char error[256];
    *out = NULL;
    struct rule_scan *scan = calloc(1, sizeof *scan);
    cJSON *json = cJSON_Parse(rule);
    int status = scan == NULL || json == NULL
                     ? SKEIN_NO_MEMORY
                     : rule_spec_new(json, &scan->spec, error, sizeof error);
    cJSON_Delete(json);
    if (status == SKEIN_OK && (scan->look = look_of(scanner, process)) == NULL)
        status = SKEIN_NO_MEMORY;
    if (status != SKEIN_OK) {
        if (scan != NULL)
            scan_free(scan);
        return status;
    }
    scan->from_ns = agent_clock_ns();
    scan->fn = fn;
    scan->context = context;
    TAILQ_INSERT_TAIL(&scan->look->scans, scan, link);
    *out = scan;
    return SKEIN_OK;
}

void rule_scan_stop(struct rule_scan **scan_p)
{
    struct rule_scan *scan = *scan_p;
    *scan_p = NULL;
    if (scan == NULL)
        return;
    struct rule_look *look = scan->look;
    TAILQ_REMOVE(&look->scans, scan, link);
    scan->stopped = true;
    if (!scan->under_way)
        scan_free(scan);
    look_end(look);
}
