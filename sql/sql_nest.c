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
    if (place->open[depth] == 0)
        place->open[depth] = ++place->places;
    return place->open[depth] & ~GIVEN;
}

/* The place of a region's row, which comes once. */
static uint64_t region_place(struct sql_place *place, size_t depth, bool given)
{
    if ((place->open[depth] & GIVEN) != 0)
        place->open[depth] = 0;
    uint64_t at = open_place(place, depth);
    place->open[depth] |= given ? GIVEN : 0;
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
    if (depth > 0)
        *parent = base + sign * (int64_t)open_place(place, depth - 1);
    if (kind == SKEIN_ROW_BEGIN)
        place->open[depth] = 0;
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
        if (places[of].open[i] == at)
            return true;
    return false;
}

/* ---- own time ---- */

static uint64_t stretch_ns(struct sql_stretch s)
{
    return s.to_ns > s.from_ns ? s.to_ns - s.from_ns : 0;
}

/* The time of a level's stretches from from_ns on; what begins there or later is taken off. */
static uint64_t level_take(struct sql_level *level, uint64_t from_ns)
{
    uint64_t sum = 0;
    while (level->count > 0 && level->list[level->count - 1].from_ns >= from_ns)
        sum += stretch_ns(level->list[--level->count]);
    if (level->count > 0)
        sum += stretch_ns((struct sql_stretch){from_ns, level->list[level->count - 1].to_ns});
    return sum;
}

/* Stretches come by their ends, and are kept apart: of one that reaches into the one before, the rest
 * counts. */
static bool level_put(struct sql_level *level, struct sql_stretch s)
{
    if (level->count > 0 && level->list[level->count - 1].to_ns > s.from_ns)
        s.from_ns = level->list[level->count - 1].to_ns;
    if (s.from_ns >= s.to_ns)
        return true;
    if (level->count == SQL_NEST_APART) {
        const size_t half = SQL_NEST_APART / 2;
        for (size_t i = 0; i < half; i++)
            level->folded_ns += stretch_ns(level->list[i]);
        level->count -= half;
        memmove(level->list, level->list + half, level->count * sizeof *level->list);
    }
    if (!array_grow(level->list, level->count + 1, &level->cap))
        return false;
    level->list[level->count++] = s;
    return true;
}

int sql_nest_self(struct sql_nest *nest, const struct skein_batch *batch, uint32_t row,
                  uint8_t klass, uint64_t *self_ns)
{
    int64_t base;
    struct sql_place *place = place_get(nest, batch, row, &base);
    size_t depth = batch->depth[row], need = depth + 2;
    if (place == NULL)
        return SKEIN_NO_MEMORY;
    if (need > place->level_count) {
        if (!array_grow(place->levels, need, &place->level_cap))
            return SKEIN_NO_MEMORY;
        memset(place->levels + place->level_count, 0,
               (need - place->level_count) * sizeof *place->levels);
        place->level_count = need;
    }
    uint64_t from_ns = batch->time_ns[row], dur_ns = batch->dur_ns[row];
    uint64_t to_ns = dur_ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + dur_ns;
    uint64_t covered = level_take(&place->levels[depth], from_ns);
    if (klass == SKEIN_CLASS_RANGE_BEGIN) {
        struct sql_level *inside = &place->levels[depth + 1];
        covered = inside->folded_ns + level_take(inside, from_ns);
        inside->count = 0;
        inside->folded_ns = 0;
    }
    *self_ns = covered < dur_ns ? dur_ns - covered : 0;
    return level_put(&place->levels[depth], (struct sql_stretch){from_ns, to_ns}) ? SKEIN_OK
                                                                                  : SKEIN_NO_MEMORY;
}
