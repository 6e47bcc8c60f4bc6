/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what is stored of the processes that a rule matches, and notes when its condition was met.
 * Uses the agents' own matching (rules/rule_match.h), process by process, in the order of a trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "partition_reader.h"
#include "replay_int.h"
#include "trace_file.h"

#define HITS_MAX     65536 /* events compared at once: 15 MB */
#define EVENTS_CHECK 4096  /* events between two looks at the clock */

/* An event that matches, and what identifies its record. */
struct found {
    struct scan_hit hit;
    uint64_t ticks, incarnation;
    uint32_t tid;
    size_t piece; /* the one in which it was found */
};

struct scan {
    struct replay *replay;
    struct stored_list list;
    struct stored_pair pair;
    /* the process that is read now; NULL: none yet */
    const struct process_uid *process;
    struct scan_window window;
    uint64_t last_ns;
    bool dead;
    uint8_t clock; /* whose ticks can be compared */
    struct found *found;
    size_t found_count;
    bool judged; /* some events were, up to these ticks */
    uint64_t judged_ticks;
};

bool replay_scans(const struct rule_spec *spec)
{
    return spec != NULL && (spec->when == RULE_LATENCY || spec->when == RULE_LOG ||
                            spec->when == RULE_COUNTER || spec->when == RULE_CRASH);
}

/* ---- what is met ---- */

/* It would fire, but for what an agent holds back. */
static int scan_hold(struct scan *s, uint64_t at_ns)
{
    struct replay *p = s->replay;
    bool within = at_ns >= p->request->from_ns && at_ns <= p->request->to_ns;
    p->met += within;
    p->held += within;
    return SKEIN_OK;
}

/* Applies the cooldown as an agent does; so a condition that is always met gives no long list. */
static int scan_meet(struct scan *s, uint64_t at_ns, const char *reason)
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
    return replay_add(p, at_ns, s->process, reason);
}

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int record_order(const struct found *a, const struct found *b)
{
    int order = number_order(a->ticks, b->ticks);
    order = order != 0 ? order : number_order(a->tid, b->tid);
    return order != 0 ? order : number_order(a->incarnation, b->incarnation);
}

static int found_order(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    int order = record_order(a, b);
    return order != 0 ? order : number_order(a->piece, b->piece);
}

/* Judges the earliest events: at least `least` of them, and all with the time of the last one. A
 * record that captures have in common lies in several partitions; it counts once, as the first of
 * them has it. Two events with the same ticks in one partition are two. */
static int found_judge(struct scan *s, size_t least)
{
    const struct rule_spec *spec = s->replay->spec;
    int status = SKEIN_OK;
    char reason[256];
    size_t i = 0, first = 0;
    qsort(s->found, s->found_count, sizeof *s->found, found_order);
    for (; status == SKEIN_OK && i < s->found_count; i++) {
        const struct found *f = &s->found[i];
        if (i >= least && f->ticks != s->judged_ticks)
            break;
        s->judged = true;
        s->judged_ticks = f->ticks;
        if (record_order(f, &s->found[first]) != 0)
            first = i;
        else if (f->piece != s->found[first].piece)
            continue;
        if (!scan_window_add(&s->window, f->hit.at_ns, spec->event.window_ms * 1000000u))
            continue;
        scan_reason(spec, &f->hit, reason, sizeof reason);
        status = scan_meet(s, f->hit.at_ns, reason);
    }
    s->found_count -= i;
    memmove(s->found, s->found + i, s->found_count * sizeof *s->found);
    return status;
}

/* Takes the event if it matches. If there are too many to compare, judges the earlier half; an
 * event found later that is older than these has been judged with them, or is left out. */
static int event_take(struct scan *s, size_t piece, const struct trace_event *event)
{
    struct found *f = &s->found[s->found_count];
    if ((s->judged && event->ticks <= s->judged_ticks) ||
        !scan_event_matches(s->replay->spec, event, &f->hit))
        return SKEIN_OK;
    f->ticks = event->ticks;
    f->tid = event->thread != NULL ? event->thread->tid : 0;
    f->incarnation = event->thread != NULL ? event->thread->incarnation : 0;
    f->piece = piece;
    return ++s->found_count < HITS_MAX ? SKEIN_OK : found_judge(s, HITS_MAX / 2);
}

static int death_take(struct scan *s, const struct partition_reader *reader)
{
    const struct partition_info *info = partition_reader_info(reader);
    char reason[64];
    enum rule_death death = rule_death_of(info->death.signal, info->death.status);
    if (s->dead || !info->death.known || death == RULE_DEATH_ORDERLY ||
        (death == RULE_DEATH_EXIT && !s->replay->spec->exits))
        return SKEIN_OK;
    s->dead = true;
    if (info->death.signal != 0)
        snprintf(reason, sizeof reason, "the process died by signal %d", info->death.signal);
    else
        snprintf(reason, sizeof reason, "the process ended with status %d", info->death.status);
    uint64_t at_ns = partition_reader_time_ns(reader, info->window_to_ticks);
    if (death == RULE_DEATH_EXIT && !rule_exit_counts(false, info->process_start_ns, at_ns))
        return scan_hold(s, at_ns); /* whether it was started as the service is not stored */
    return scan_meet(s, at_ns, reason);
}

/* Judges all that is left, before events that cannot be compared with it. */
static int rest_judge(struct scan *s)
{
    int status = found_judge(s, s->found_count);
    s->judged = false;
    return status;
}

static int events_take(struct scan *s, size_t piece, struct partition_reader *reader)
{
    uint8_t clock = partition_reader_info(reader)->clock;
    struct trace_event event;
    unsigned events = 0;
    if (partition_reader_info(reader)->evidence) /* agents watch what rings hold */
        return SKEIN_OK;
    int status = clock != s->clock ? rest_judge(s) : SKEIN_OK;
    s->clock = clock;
    while (status == SKEIN_OK && (status = partition_reader_next(reader, &event)) == 1) {
        if (++events % EVENTS_CHECK == 0 && replay_is_late(s->replay))
            return SKEIN_OK;
        status = event_take(s, piece, &event);
    }
    return status;
}

/* ---- reading ---- */

static int scan_load(struct scan *s, struct stored_piece *piece)
{
    struct index *index = s->replay->index;
    uint8_t *bytes;
    int status = stored_pair_room(&s->pair, piece->place.bytes, &bytes);
    if (status == SKEIN_OK)
        status = index_verify(index, &piece->key, &piece->place);
    if (status == SKEIN_OK)
        status =
            index_read(index, &piece->key, &piece->place, 0, bytes, (size_t)piece->place.bytes);
    return status == SKEIN_OK ? stored_pair_open(&s->pair, &piece->key, piece->place.bytes)
                              : status;
}

/* Ends the process before, and begins this one. */
static int process_begin(struct scan *s, const struct process_uid *process)
{
    int status = rest_judge(s);
    if (status != SKEIN_OK)
        return status;
    s->process = process;
    scan_window_fini(&s->window);
    s->last_ns = 0;
    s->dead = false;
    uint64_t count = s->replay->spec->event.count;
    return scan_window_init(&s->window, count > 0 ? count : 1);
}

/* Leaves out a partition that cannot be read, or was deleted meanwhile, and notes it. */
static int piece_read(struct scan *s, size_t i)
{
    struct replay *p = s->replay;
    struct stored_piece *piece = &s->list.pieces[i];
    bool same = s->process != NULL && process_uid_equal(&piece->key.process, s->process);
    int status = same ? SKEIN_OK : process_begin(s, &piece->key.process);
    if (status == SKEIN_OK)
        status = scan_load(s, piece);
    p->bytes_read += piece->place.bytes;
    if (status == SKEIN_OK)
        status = p->spec->when == RULE_CRASH ? death_take(s, s->pair.reader)
                                             : events_take(s, i, s->pair.reader);
    if (status == SKEIN_NO_MEMORY)
        return status;
    p->partitions_read += status == SKEIN_OK;
    if (status != SKEIN_OK)
        p->cut_short = "some partitions cannot be read";
    return SKEIN_OK;
}

static int events_read(struct scan *s)
{
    struct replay *p = s->replay;
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < s->list.count && !replay_is_late(p); i++) {
        if (p->bytes_read + s->list.pieces[i].place.bytes > REPLAY_BYTES_MAX) {
            p->cut_short = "too many bytes";
            break;
        }
        status = piece_read(s, i);
    }
    return status == SKEIN_OK ? rest_judge(s) : status;
}

int replay_scan(struct replay *p)
{
    struct scan s = {.replay = p,
                     .list = {.most = REPLAY_PARTITIONS_MAX, .processes = &p->processes},
                     .found = calloc(HITS_MAX, sizeof *s.found)};
    struct partition_query query = {.selector = p->request->selector,
                                    .from_ns = p->request->from_ns,
                                    .to_ns = p->request->to_ns};
    int status = s.found != NULL ? stored_list_query(&s.list, p->index, &query) : SKEIN_NO_MEMORY;
    p->partitions = s.list.count;
    if (s.list.more)
        p->cut_short = "too many partitions";
    if (status == SKEIN_OK)
        status = events_read(&s);
    scan_window_fini(&s.window);
    free(s.found);
    stored_list_fini(&s.list);
    stored_pair_fini(&s.pair);
    return status;
}
