/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_nest.h. Depths come from the trace and are bounded by the reader (F-23 and behind); memory
 * follows them.
 */
#include "sql_nest.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

static void place_fini(struct sql_place *place)
{
    for (size_t i = 0; i < place->level_count; i++)
        free(place->levels[i].list);
    free(place->levels);
    free(place->open);
}

void sql_nest_fini(struct sql_nest *nest)
{
    for (size_t i = 0; i < nest->thread_cap; i++)
        place_fini(&nest->threads[i]);
    for (size_t i = 0; i < nest->process_cap; i++)
        place_fini(&nest->processes[i]);
    free(nest->threads);
    free(nest->processes);
    *nest = (struct sql_nest){0};
}

static struct sql_place *place_get(struct sql_nest *nest, const struct skein_batch *batch,
                                   uint32_t row, int64_t *base)
{
    uint32_t thread = batch->thread[row], process = batch->process[row];
    if (thread != SKEIN_NONE) {
        *base = (int64_t)thread * SQL_ID_STEP;
        return array_grow_zero(nest->threads, (size_t)thread + 1, &nest->thread_cap)
                   ? &nest->threads[thread]
                   : NULL;
    }
    *base = -(int64_t)process * SQL_ID_STEP;
    return array_grow_zero(nest->processes, (size_t)process + 1, &nest->process_cap)
               ? &nest->processes[process]
               : NULL;
}

/* ---- ids ---- */

/* Room for `depth` open regions; those that are new are not known. */
static bool open_reach(struct sql_place *place, size_t depth)
{
    if (depth > place->depth) {
        if (!array_grow(place->open, depth, &place->open_cap))
            return false;
        memset(place->open + place->depth, 0, (depth - place->depth) * sizeof *place->open);
        place->depth = depth;
    }
    return true;
}

#define GIVEN                                                                                      \
    (UINT64_C(1) << 63) /* its row has come: of one that is in progress, others lie in it */

static uint64_t open_place(struct sql_place *place, size_t depth)
{
    if (place->open[depth].place == 0)
        place->open[depth].place = ++place->places;
    return place->open[depth].place & ~GIVEN;
}

/* How many of the open ranges are around what began then: a span is recorded when it ends, and ranges
 * that began after it go on. */
static size_t depth_of(const struct sql_place *place, size_t depth, uint64_t from_ns)
{
    while (depth > 0 && depth <= place->depth && place->open[depth - 1].from_ns > from_ns)
        depth--;
    return depth;
}

/* The place of a region's row, which comes once. */
static uint64_t region_place(struct sql_place *place, size_t depth, bool given)
{
    if ((place->open[depth].place & GIVEN) != 0)
        place->open[depth].place = 0;
    uint64_t at = open_place(place, depth);
    place->open[depth].place |= given ? GIVEN : 0;
    return at;
}

int sql_nest_add(struct sql_nest *nest, const struct skein_batch *batch, uint32_t row,
                 uint8_t klass, int64_t *id, int64_t *parent)
{
    int64_t base;
    struct sql_place *place = place_get(nest, batch, row, &base);
    if (place == NULL)
        return SKEIN_NO_MEMORY;
    size_t depth = batch->depth[row];
    uint8_t kind = batch->kind[row];
    int64_t sign = batch->thread[row] != SKEIN_NONE ? 1 : -1;
    bool timed = kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN;
    bool range = kind == SKEIN_ROW_BEGIN || (timed && klass == SKEIN_CLASS_RANGE_BEGIN);
    *parent = 0;
    if (kind == SKEIN_ROW_LOSS || kind == SKEIN_ROW_END_ONLY) {
        *id = base + sign * (int64_t)++place->places;
        return SKEIN_OK;
    }
    if (!open_reach(place, depth + (range ? 1 : 0)))
        return SKEIN_NO_MEMORY;
    size_t around = range ? depth : depth_of(place, depth, batch->time_ns[row]);
    if (around > 0)
        *parent = base + sign * (int64_t)open_place(place, around - 1);
    if (kind == SKEIN_ROW_BEGIN)
        place->open[depth] = (struct sql_range){.from_ns = batch->time_ns[row]};
    *id = base + sign * (int64_t)(range ? region_place(place, depth, kind == SKEIN_ROW_OPEN)
                                        : ++place->places);
    /* What was deeper has lost its end; of open ones, all rows come at the end of what is known. */
    if (kind == SKEIN_ROW_BEGIN)
        place->depth = depth + 1;
    else if (kind != SKEIN_ROW_OPEN)
        place->depth = depth;
    return SKEIN_OK;
}

bool sql_nest_is_ahead(const struct sql_nest *nest, int64_t id)
{
    uint64_t whole = id < 0 ? 0 - (uint64_t)id : (uint64_t)id;
    uint64_t of = whole / (uint64_t)SQL_ID_STEP, at = whole % (uint64_t)SQL_ID_STEP;
    const struct sql_place *places = id < 0 ? nest->processes : nest->threads;
    size_t count = id < 0 ? nest->process_cap : nest->thread_cap;
    if (of >= count || places[of].places < at)
        return true;
    for (size_t i = places[of].depth; i-- > 0;)
        if (places[of].open[i].place == at)
            return true;
    return false;
}

/* ---- own time ---- */

static uint64_t stretch_ns(struct sql_stretch s)
{
    return s.to_ns > s.from_ns ? s.to_ns - s.from_ns : 0;
}

/* How long the level's stretches behind the first `from` ones last, two that overlap counted once. */
static uint64_t level_sum(const struct sql_level *level, size_t from)
{
    uint64_t sum = 0, next_ns = UINT64_MAX;
    for (size_t i = level->count; i-- > from;) {
        struct sql_stretch s = level->list[i];
        s.to_ns = s.to_ns < next_ns ? s.to_ns : next_ns;
        next_ns = s.from_ns;
        sum += stretch_ns(s);
    }
    return sum;
}

/* The time of a level's stretches that began no earlier than from_ns, which are taken off. */
static uint64_t level_take(struct sql_level *level, uint64_t from_ns)
{
    size_t first;
    array_find(first, 0, level->count, level->list[first].from_ns < from_ns);
    uint64_t sum = level_sum(level, first);
    level->count = first;
    return sum;
}

/* Stretches come by their ends, after those in them were taken off. */
static bool level_put(struct sql_level *level, struct sql_stretch s)
{
    if (s.from_ns >= s.to_ns)
        return true;
    if (level->count == SQL_NEST_APART) {
        const size_t half = SQL_NEST_APART / 2;
        uint64_t all = level_sum(level, 0);
        memmove(level->list, level->list + half, half * sizeof *level->list);
        level->count = half;
        level->folded_ns += all - level_sum(level, 0);
    }
    if (!array_grow(level->list, level->count + 1, &level->cap))
        return false;
    level->list[level->count++] = s;
    return true;
}

static bool levels_reach(struct sql_place *place, size_t need)
{
    if (need <= place->level_count)
        return true;
    if (!array_grow(place->levels, need, &place->level_cap))
        return false;
    memset(place->levels + place->level_count, 0,
           (need - place->level_count) * sizeof *place->levels);
    place->level_count = need;
    return true;
}

/* What has ended in a range that ends. What began before it crosses it, and stands beside it from now
 * on. SKEIN_OK, SKEIN_NO_MEMORY. */
static int range_take(struct sql_level *beside, struct sql_level *inside, uint64_t from_ns,
                      uint64_t *covered)
{
    *covered = inside->folded_ns + level_take(inside, from_ns);
    for (size_t i = 0; i < inside->count; i++) {
        level_take(beside, inside->list[i].from_ns);
        if (!level_put(beside, inside->list[i]))
            return SKEIN_NO_MEMORY;
    }
    inside->count = 0;
    inside->folded_ns = 0;
    return SKEIN_OK;
}

int sql_nest_self(struct sql_nest *nest, const struct skein_batch *batch, uint32_t row,
                  uint8_t klass, uint64_t *self_ns)
{
    int64_t base;
    struct sql_place *place = place_get(nest, batch, row, &base);
    size_t depth = batch->depth[row], around = depth;
    uint64_t from_ns = batch->time_ns[row], dur_ns = batch->dur_ns[row], covered = 0;
    uint64_t to_ns = dur_ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + dur_ns;
    if (place == NULL || !levels_reach(place, depth + 2))
        return SKEIN_NO_MEMORY;
    if (klass == SKEIN_CLASS_RANGE_BEGIN) {
        int status =
            range_take(&place->levels[depth], &place->levels[depth + 1], from_ns, &covered);
        if (status != SKEIN_OK)
            return status;
        level_take(&place->levels[depth], from_ns);
    } else {
        around = depth_of(place, depth, from_ns);
        covered = level_take(&place->levels[around], from_ns);
    }
    *self_ns = covered < dur_ns ? dur_ns - covered : 0;
    return level_put(&place->levels[around], (struct sql_stretch){from_ns, to_ns})
               ? SKEIN_OK
               : SKEIN_NO_MEMORY;
}
