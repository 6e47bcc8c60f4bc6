/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what is stored of the processes that a rule matches, and notes when its condition was met:
 * with the agents' own matching (rules/rule_match.h), process by process, in the order of a trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "partition_reader.h"
#include "replay_int.h"
#include "trace_file.h"

#define HITS_MAX     4096 /* that are sorted together: events of threads are a little apart */
#define EVENTS_CHECK 4096 /* events between two looks at the clock */

struct piece {
    struct partition_key key;
    struct store_place place;
    uint64_t from_ns;
};

struct scan {
    struct replay *replay;
    struct piece *pieces;
    size_t count, cap;
    int status;
    /* of the process that is read now */
    struct scan_window window;
    uint64_t last_ns;
    bool dead;
    struct scan_hit *hits;
    size_t hit_count;
};

/* A partition in memory with its reader. */
struct held {
    struct partition_reader *reader;
    uint8_t *bytes;
};

bool replay_scans(const struct rule_spec *spec)
{
    return spec != NULL && (spec->when == RULE_LATENCY || spec->when == RULE_LOG ||
                            spec->when == RULE_COUNTER || spec->when == RULE_CRASH);
}

/* ---- which ---- */

static int take_row(void *context, const struct partition_row *row)
{
    struct scan *s = context;
    if (s->replay->partitions++ >= REPLAY_PARTITIONS_MAX) {
        s->replay->cut_short = "too many partitions";
        return 1;
    }
    if (s->count == s->cap) {
        size_t cap = s->cap * 2 + 64;
        struct piece *more = realloc(s->pieces, cap * sizeof *more);
        if (more == NULL) {
            s->status = SKEIN_NO_MEMORY;
            return 1;
        }
        s->pieces = more;
        s->cap = cap;
    }
    s->pieces[s->count++] = (struct piece){row->record.key, row->place, row->from_ns};
    s->status =
        replay_note_process(s->replay, &row->record.key.process, row->pid, row->service, row->host);
    return s->status != SKEIN_OK;
}

static int compare(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return partition_trace_order(&a->key, a->from_ns, &b->key, b->from_ns);
}

/* ---- what is met ---- */

/* The cooldown as an agent holds it, so that a condition that is met all the time is no list. */
static int meet(struct scan *s, const struct process_uid *process, uint64_t at_ns,
                const char *reason)
{
    struct replay *p = s->replay;
    if (at_ns < p->request->from_ns || at_ns > p->request->to_ns)
        return SKEIN_OK;
    p->met++;
    if (s->last_ns != 0 && at_ns < s->last_ns + p->cooldown_ns) {
        p->held++;
        return SKEIN_OK;
    }
    s->last_ns = at_ns;
    return replay_add(p, at_ns, process, reason);
}

static int take_hits(struct scan *s, const struct process_uid *process)
{
    const struct rule_spec *spec = s->replay->spec;
    int status = SKEIN_OK;
    char reason[256];
    qsort(s->hits, s->hit_count, sizeof *s->hits, scan_hit_compare);
    for (size_t i = 0; status == SKEIN_OK && i < s->hit_count; i++) {
        const struct scan_hit *hit = &s->hits[i];
        if (!scan_window_add(&s->window, hit->at_ns, spec->event.window_ms * 1000000u))
            continue;
        scan_reason(spec, hit, reason, sizeof reason);
        status = meet(s, process, hit->at_ns, reason);
    }
    s->hit_count = 0;
    return status;
}

static int take_death(struct scan *s, const struct process_uid *process,
                      const struct partition_reader *reader)
{
    const struct partition_info *info = partition_reader_info(reader);
    char reason[64];
    if (s->dead || !info->death.known ||
        !rule_death_is_crash(info->death.signal, info->death.status, false))
        return SKEIN_OK;
    s->dead = true;
    if (info->death.signal != 0)
        snprintf(reason, sizeof reason, "the process died by signal %d", info->death.signal);
    else
        snprintf(reason, sizeof reason, "the process ended with status %d", info->death.status);
    return meet(s, process, partition_reader_time_ns(reader, info->window_to_ticks), reason);
}

static int take_events(struct scan *s, const struct process_uid *process,
                       struct partition_reader *reader)
{
    struct trace_event event;
    unsigned events = 0;
    int status;
    while ((status = partition_reader_next(reader, &event)) == 1) {
        if (++events % EVENTS_CHECK == 0 && replay_is_late(s->replay))
            break;
        s->hit_count += scan_event_matches(s->replay->spec, &event, &s->hits[s->hit_count]);
        if (s->hit_count == HITS_MAX && (status = take_hits(s, process)) != SKEIN_OK)
            return status;
    }
    int taken = take_hits(s, process);
    return status < 0 ? status : taken;
}

/* ---- reading ---- */

static void held_fini(struct held *held)
{
    if (held->reader != NULL)
        partition_reader_free(&held->reader);
    free(held->bytes);
    *held = (struct held){NULL, NULL};
}

static int load(struct scan *s, struct piece *piece, struct held *out)
{
    char error[256];
    if (piece->place.bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    size_t n = (size_t)piece->place.bytes;
    out->bytes = malloc(n);
    if (out->bytes == NULL)
        return SKEIN_NO_MEMORY;
    int status = index_read(s->replay->index, &piece->key, &piece->place, 0, out->bytes, n);
    if (status == SKEIN_OK)
        status = partition_reader_new(out->bytes, n, &out->reader, error, sizeof error);
    return status;
}

static int begin_process(struct scan *s)
{
    scan_window_fini(&s->window);
    s->last_ns = 0;
    s->dead = false;
    uint64_t count = s->replay->spec->event.count;
    return scan_window_init(&s->window, count > 0 ? count : 1);
}

/* One that cannot be read, or was deleted meanwhile, is left out, and that is said. */
static int read_piece(struct scan *s, size_t i, struct held *before, struct held *now)
{
    struct replay *p = s->replay;
    struct piece *piece = &s->pieces[i];
    bool same = i > 0 && process_uid_equal(&piece->key.process, &s->pieces[i - 1].key.process);
    int status = same ? SKEIN_OK : begin_process(s);
    held_fini(before);
    *before = *now;
    *now = (struct held){NULL, NULL};
    if (status == SKEIN_OK)
        status = load(s, piece, now);
    if (status == SKEIN_OK && same && before->reader != NULL)
        partition_reader_continue(now->reader, before->reader);
    p->bytes_read += piece->place.bytes;
    if (status == SKEIN_OK)
        status = p->spec->when == RULE_CRASH ? take_death(s, &piece->key.process, now->reader)
                                             : take_events(s, &piece->key.process, now->reader);
    if (status == SKEIN_NO_MEMORY)
        return status;
    p->partitions_read += status == SKEIN_OK;
    if (status != SKEIN_OK)
        p->cut_short = "some partitions cannot be read";
    return SKEIN_OK;
}

static int read_all(struct scan *s)
{
    struct replay *p = s->replay;
    struct held before = {NULL, NULL}, now = {NULL, NULL};
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < s->count && !replay_is_late(p); i++) {
        if (p->bytes_read + s->pieces[i].place.bytes > REPLAY_BYTES_MAX) {
            p->cut_short = "too many bytes";
            break;
        }
        status = read_piece(s, i, &before, &now);
    }
    held_fini(&before);
    held_fini(&now);
    return status;
}

int replay_scan(struct replay *p)
{
    struct scan s = {.replay = p, .hits = calloc(HITS_MAX, sizeof *s.hits)};
    struct partition_query query = {.selector = p->request->selector,
                                    .from_ns = p->request->from_ns,
                                    .to_ns = p->request->to_ns};
    int64_t rows = s.hits != NULL ? index_query(p->index, &query, take_row, &s) : SKEIN_NO_MEMORY;
    int status = rows < 0 ? (int)rows : s.status;
    if (status == SKEIN_OK && s.count > 0) {
        qsort(s.pieces, s.count, sizeof *s.pieces, compare);
        status = read_all(&s);
    }
    scan_window_fini(&s.window);
    free(s.hits);
    free(s.pieces);
    return status;
}
