/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at rings for rules, in turns; see rule_scan.h. Owns the scans and their marks. The loop
 * thread has a scan but while its look is under way in the worker; one that is stopped meanwhile is
 * freed when it comes back. A look is a cut that changes nothing (cutter.h), read and thrown away.
 */
#include "rule_scan.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "clock.h"
#include "cutter.h"
#include "partition_reader.h"

struct rule_scan {
    TAILQ_ENTRY(rule_scan) link;
    struct rule_scanner *scanner;
    struct host_page_owner *host;
    struct loop *loop;
    struct rule_spec *spec;
    struct process *process; /* a reference */
    struct cut_marks *marks;
    uint64_t from_ns;
    bool stopped;
    uint64_t round; /* that it was looked at in */
    scan_fn *fn;
    void *context;
    struct scan_hit hits[SCAN_HITS_MAX];
    struct scan_result result;
};
TAILQ_HEAD(scan_list, rule_scan);

struct rule_scanner {
    struct loop *loop;
    struct worker *worker;
    struct host_page_owner *host;
    struct loop_timer *timer;
    struct scan_list scans;
    struct rule_scan *under_way;
    uint64_t round;
};

static void scan_free(struct rule_scan *scan)
{
    if (scan->marks != NULL)
        cut_marks_free(&scan->marks);
    rule_spec_free(&scan->spec);
    process_unref(&scan->process);
    free(scan);
}

/* ---- a look, on the worker ---- */

static int events_read(struct rule_scan *scan, const struct buf *bytes)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[128];
    int status = partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error);
    if (status != SKEIN_OK)
        return status;
    while ((status = partition_reader_next(reader, &event)) == 1) {
        struct scan_hit hit;
        if (!scan_event_matches(scan->spec, &event, &hit))
            continue;
        if (scan->result.hit_count < SCAN_HITS_MAX)
            scan->hits[scan->result.hit_count++] = hit;
        else
            scan->result.hits_dropped++;
    }
    partition_reader_free(&reader);
    return status;
}

static void scan_look(struct rule_scan *scan)
{
    const struct cut_request request = {.process = scan->process,
                                        .from_ns = scan->from_ns,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = scan->marks,
                                        .max_bytes = SCAN_BYTES,
                                        .look = true};
    struct cut_result cut;
    scan->result = (struct scan_result){.hits = scan->hits, .at_ns = clock_realtime_ns()};
    int status = partition_cut(scan->host, &request, &cut);
    if (status == SKEIN_OK)
        status = events_read(scan, &cut.bytes);
    else if (status == SKEIN_NOT_FOUND)
        status = SKEIN_OK;
    /* Gaps that an earlier look has told of are told again by the process's counters. */
    for (size_t i = 0; i < cut.gap_count; i++) {
        if (cut.gaps[i].reason == PARTITION_LOSS_OVERWRITTEN && cut.gaps[i].to_ns > scan->from_ns) {
            scan->result.unseen = 1;
            scan->from_ns = cut.gaps[i].to_ns;
        }
    }
    qsort(scan->hits, scan->result.hit_count, sizeof scan->hits[0], scan_hit_compare);
    scan->result.status = status;
    cut_result_fini(&cut);
}

/* ---- turns, on the loop ---- */

static void turn_next(struct rule_scanner *scanner);

static void scan_done(void *context)
{
    struct rule_scan *scan = context;
    if (scan->stopped) {
        struct rule_scanner *scanner = scan->scanner;
        scan_free(scan);
        if (scanner != NULL) {
            scanner->under_way = NULL;
            turn_next(scanner);
        }
        return;
    }
    struct rule_scanner *scanner = scan->scanner;
    scanner->under_way = NULL;
    scan->fn(scan->context, &scan->result); /* may stop the scan */
    turn_next(scanner);
}

static void scan_run(void *context)
{
    struct rule_scan *scan = context;
    scan_look(scan);
    while (loop_post(scan->loop, scan_done, scan) != SKEIN_OK)
        continue; /* a few bytes; nobody else could give the scan back */
}

/* The scan that has waited longest is looked at; none is left: the round is over. */
static void turn_next(struct rule_scanner *scanner)
{
    struct rule_scan *scan;
    TAILQ_FOREACH(scan, &scanner->scans, link)
    {
        if (scan->round == scanner->round)
            continue;
        scan->round = scanner->round;
        if (worker_post(scanner->worker, scan_run, scan) != SKEIN_OK)
            continue; /* the next round tries again */
        scanner->under_way = scan;
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
                     struct rule_scanner **out)
{
    struct rule_scanner *scanner = calloc(1, sizeof *scanner);
    *out = NULL;
    if (scanner == NULL)
        return SKEIN_NO_MEMORY;
    *scanner = (struct rule_scanner){.loop = loop, .worker = worker, .host = host};
    TAILQ_INIT(&scanner->scans);
    scanner->timer = loop_timer_add(loop, SCAN_EVERY_MS, 1, round_begin, scanner);
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
        scanner->under_way->scanner = NULL; /* it is stopped, and comes back to nobody */
    loop_timer_cancel(scanner->loop, &scanner->timer);
    free(scanner);
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
    if (status == SKEIN_OK)
        status = cut_marks_new(process, &scan->marks);
    if (status != SKEIN_OK) {
        if (scan != NULL)
            rule_spec_free(&scan->spec);
        free(scan);
        return status;
    }
    scan->scanner = scanner;
    scan->host = scanner->host;
    scan->loop = scanner->loop;
    scan->process = process_ref(process);
    scan->from_ns = clock_realtime_ns();
    scan->fn = fn;
    scan->context = context;
    TAILQ_INSERT_TAIL(&scanner->scans, scan, link);
    *out = scan;
    return SKEIN_OK;
}

void rule_scan_stop(struct rule_scan **scan_p)
{
    struct rule_scan *scan = *scan_p;
    *scan_p = NULL;
    if (scan == NULL)
        return;
    TAILQ_REMOVE(&scan->scanner->scans, scan, link);
    scan->stopped = true;
    if (scan->scanner->under_way != scan)
        scan_free(scan);
}
