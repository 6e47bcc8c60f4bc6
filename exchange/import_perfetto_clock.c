/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks of a Perfetto trace. All times become those of one clock: the boot clock where any snapshot has
 * it. A snapshot says what several clocks showed at the same instant; a time is taken by the last
 * snapshot in front of it. Clocks 64 to 127 are a sequence's own, and may count from packet to packet.
 */
#include <stdlib.h>

#include "array.h"
#include "import_perfetto_int.h"

#define REALTIME       1u
#define SNAPSHOT_MAX   64u /* clocks in one */
#define PAIRS_MAX      1000000u
#define FIRSTS_MAX     1000000u
#define SNAPSHOT_CLOCK 1u
#define SNAPSHOT_MAIN  2u

struct reading {
    uint32_t id;
    uint64_t time, unit_ns;
    bool incremental;
};

static unsigned snapshot_read(struct pb_reader snapshot, struct reading readings[SNAPSHOT_MAX],
                              uint32_t *primary)
{
    unsigned count = 0;
    struct pb_field field, part;
    *primary = 0;
    while (pb_next(&snapshot, &field)) {
        if (field.number == SNAPSHOT_MAIN)
            *primary = (uint32_t)field.value;
        if (field.number != SNAPSHOT_CLOCK || count == SNAPSHOT_MAX)
            continue;
        struct pb_reader clock = pb_message_of(&field);
        struct reading *r = &readings[count++];
        *r = (struct reading){.unit_ns = 1};
        while (pb_next(&clock, &part))
            if (part.number == 1)
                r->id = (uint32_t)part.value;
            else if (part.number == 2)
                r->time = part.value;
            else if (part.number == 3)
                r->incremental = part.value != 0;
            else if (part.number == 4 && part.value > 0)
                r->unit_ns = part.value;
    }
    return count;
}

static const struct reading *reading_of(const struct reading *readings, unsigned count, uint32_t id)
{
    for (unsigned k = 0; k < count; k++)
        if (readings[k].id == id)
            return &readings[k];
    return NULL;
}

static bool is_local(uint32_t id)
{
    return id >= PF_CLOCK_LOCAL && id < PF_CLOCK_LOCAL + PF_CLOCKS_LOCAL;
}

static uint64_t scaled(uint64_t time, uint64_t unit_ns)
{
    return time <= IMPORT_TIME_MAX / unit_ns ? time * unit_ns : IMPORT_TIME_BEYOND;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a < IMPORT_TIME_BEYOND && b < IMPORT_TIME_BEYOND - a ? a + b : IMPORT_TIME_BEYOND;
}

/* When the trace's clock showed what `time` is on one that showed `from` while that showed `to`. */
static uint64_t moved(struct pf_import *i, uint64_t time, uint64_t from, uint64_t to)
{
    if (time >= from)
        return sum(to, time - from);
    if (from - time <= to)
        return to - (from - time);
    import_clamped(i->told); /* the trace's clock had not begun */
    return 0;
}

/* ---- clocks of the whole trace ---- */

static struct pf_clock *clock_find(struct pf_import *i, uint32_t id)
{
    for (size_t k = 0; k < i->clock_count; k++)
        if (i->clocks[k].id == id)
            return &i->clocks[k];
    return NULL;
}

static void pair_note(struct pf_import *i, const struct reading *r, uint64_t trace_ns)
{
    struct pf_clock *clock = clock_find(i, r->id);
    if (clock == NULL && i->clock_count == sizeof i->clocks / sizeof *i->clocks)
        return;
    if (clock == NULL) {
        clock = &i->clocks[i->clock_count++];
        clock->id = r->id;
    }
    if (clock->count >= PAIRS_MAX)
        return;
    if (!array_grow(clock->pairs, clock->count + 1, &clock->cap)) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    clock->pairs[clock->count++] = (struct pf_pair){scaled(r->time, r->unit_ns), trace_ns};
}

/* Of a sequence's own clocks the first snapshot is kept, by a clock that all of the trace knows. */
static void firsts_note(struct pf_import *i, uint32_t sequence, const struct reading *readings,
                        unsigned count)
{
    const struct reading *global = NULL;
    for (unsigned k = 0; k < count && global == NULL; k++)
        global = !is_local(readings[k].id) ? &readings[k] : NULL;
    for (unsigned k = 0; k < count && global != NULL; k++) {
        const struct reading *r = &readings[k];
        uint64_t key = (uint64_t)sequence << 8 | r->id;
        if (!is_local(r->id) || i->first_count >= FIRSTS_MAX ||
            import_map_get(&i->first_at, key) != IMPORT_MAP_NONE)
            continue;
        if (!array_grow(i->firsts, i->first_count + 1, &i->first_cap) ||
            !import_map_set(&i->first_at, key, (uint32_t)i->first_count)) {
            i->status = SKEIN_NO_MEMORY;
            return;
        }
        i->firsts[i->first_count++] =
            (struct pf_first){.id = global->id,
                              .time_ns = scaled(global->time, global->unit_ns),
                              .raw_ns = scaled(r->time, r->unit_ns),
                              .unit_ns = r->unit_ns,
                              .incremental = r->incremental};
    }
}

void pf_snapshot_note(struct pf_import *i, uint32_t sequence, struct pb_reader snapshot)
{
    uint32_t primary;
    struct reading readings[SNAPSHOT_MAX];
    unsigned count = snapshot_read(snapshot, readings, &primary);
    firsts_note(i, sequence, readings, count);
    const struct reading *boot = reading_of(readings, count, PF_BOOTTIME);
    const struct reading *main = boot;
    if (i->trace_clock != 0)
        main = reading_of(readings, count, i->trace_clock);
    else if (boot == NULL)
        main = reading_of(readings, count, primary);
    if (main == NULL || is_local(main->id))
        return;
    i->trace_clock = main->id;
    uint64_t trace_ns = scaled(main->time, main->unit_ns);
    for (unsigned k = 0; k < count; k++)
        if (!is_local(readings[k].id) && &readings[k] != main)
            pair_note(i, &readings[k], trace_ns);
    const struct reading *real = reading_of(readings, count, REALTIME);
    if (real != NULL && !i->has_realtime && real->time <= IMPORT_TIME_MAX) {
        i->has_realtime = true;
        i->ahead_ns = (int64_t)(real->time - trace_ns);
    } else if (real != NULL && !i->has_realtime) {
        import_why(i->told,
                   "a snapshot says a time of day that no trace can hold; it is not taken");
    }
}

static int pairs_compare(const void *a, const void *b)
{
    const struct pf_pair *x = a, *y = b;
    return x->clock_ns < y->clock_ns ? -1 : x->clock_ns > y->clock_ns;
}

void pf_clocks_sort(struct pf_import *i)
{
    for (size_t k = 0; k < i->clock_count; k++)
        if (i->clocks[k].count > 0)
            qsort(i->clocks[k].pairs, i->clocks[k].count, sizeof *i->clocks[k].pairs,
                  pairs_compare);
    if (i->trace_clock == 0)
        i->trace_clock = PF_BOOTTIME;
}

/* By the last pair in front; a time before the first one by that. */
static bool global_time(struct pf_import *i, uint32_t id, uint64_t time, uint64_t *ns)
{
    const struct pf_clock *clock = clock_find(i, id);
    size_t at;
    if (id == i->trace_clock) {
        *ns = time;
        return true;
    }
    if (clock == NULL || clock->count == 0)
        return false;
    array_find(at, 0, clock->count, clock->pairs[at].clock_ns <= time);
    const struct pf_pair *pair = &clock->pairs[at > 0 ? at - 1 : 0];
    *ns = moved(i, time, pair->clock_ns, pair->trace_ns);
    return true;
}

/* ---- clocks of a sequence ---- */

void pf_snapshot_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader snapshot)
{
    uint32_t primary;
    uint64_t trace_ns = 0;
    struct reading readings[SNAPSHOT_MAX];
    unsigned count = snapshot_read(snapshot, readings, &primary);
    bool known = false;
    for (unsigned k = 0; k < count && !known; k++)
        known = !is_local(readings[k].id) &&
                global_time(i, readings[k].id, scaled(readings[k].time, readings[k].unit_ns),
                            &trace_ns);
    for (unsigned k = 0; k < count && known; k++) {
        if (!is_local(readings[k].id))
            continue;
        if (s->clocks == NULL)
            s->clocks = calloc(PF_CLOCKS_LOCAL, sizeof *s->clocks);
        if (s->clocks == NULL) {
            i->status = SKEIN_NO_MEMORY;
            return;
        }
        uint64_t raw_ns = scaled(readings[k].time, readings[k].unit_ns);
        s->clocks[readings[k].id - PF_CLOCK_LOCAL] =
            (struct pf_local_clock){.known = true,
                                    .incremental = readings[k].incremental,
                                    .unit_ns = readings[k].unit_ns,
                                    .raw_ns = raw_ns,
                                    .base_raw_ns = raw_ns,
                                    .base_ns = trace_ns};
    }
}

/* A packet in front of the first snapshot of its clock. One that counts from packet to packet says nothing
 * there: how many went before is not known. */
static bool first_time(struct pf_import *i, const struct pf_sequence *s, uint32_t clock,
                       uint64_t time, uint64_t *ns)
{
    uint64_t trace_ns;
    uint32_t at = import_map_get(&i->first_at, (uint64_t)s->id << 8 | clock);
    const struct pf_first *first = at != IMPORT_MAP_NONE ? &i->firsts[at] : NULL;
    if (first == NULL || first->incremental ||
        !global_time(i, first->id, first->time_ns, &trace_ns))
        return false;
    uint64_t raw_ns = scaled(time, first->unit_ns);
    *ns = moved(i, raw_ns, first->raw_ns, trace_ns);
    return true;
}

bool pf_time(struct pf_import *i, struct pf_sequence *s, uint32_t clock, uint64_t time,
             uint64_t *ns)
{
    if (clock == 0)
        clock = s->default_clock != 0 ? s->default_clock : PF_BOOTTIME;
    if (clock == PF_BOOTTIME && i->trace_clock != PF_BOOTTIME && clock_find(i, clock) == NULL)
        clock = i->trace_clock; /* no snapshot has the boot clock: there is one alone */
    if (!is_local(clock))
        return global_time(i, clock, time, ns);
    struct pf_local_clock *local = s->clocks != NULL ? &s->clocks[clock - PF_CLOCK_LOCAL] : NULL;
    if (local == NULL || !local->known)
        return first_time(i, s, clock, time, ns);
    uint64_t raw_ns = scaled(time, local->unit_ns);
    if (local->incremental)
        raw_ns = sum(local->raw_ns, raw_ns);
    local->raw_ns = raw_ns;
    *ns = moved(i, raw_ns, local->base_raw_ns, local->base_ns);
    return true;
}
