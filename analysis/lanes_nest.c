/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of a thread that wait until their depths are known: what encloses a region comes after it.
 * Owns what waits; entered by lanes_batch.c.
 */
#include "lanes_int.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_SHARE 8    /* of the memory */
#define KEPT_BACK     4096 /* the last ones of a thread, whose enclosing one is perhaps on its way */
#define STEPS_BACK    64   /* to its place; where more are needed, all are sorted */

_Static_assert(LANES_DEEP == REGION_DEEP, "what is too deep for a lane is too deep to be nested");

/* ---- out of the waiting room ---- */

static int region_place(struct lanes *lanes, const struct lane_own *own,
                        const struct region_row *region)
{
    const struct lane *of = &own->lane;
    const struct lane_key key = {of->process, of->thread, region->depth, LANE_REGION, false};
    struct lane_row row = {.type = region->type};
    if (region->depth >= LANES_DEEP) {
        lanes->totals.left_out++;
        return SKEIN_OK;
    }
    return lanes_row_put(lanes, &key, region->begin_ns, region->end_ns - region->begin_ns, &row);
}

static void waiting_shrink(struct lanes *lanes, struct lane_own *own, size_t gone)
{
    size_t had = own->waiting_cap;
    own->waiting_count -= gone;
    if (own->waiting_count == 0) {
        free(own->waiting);
        own->waiting = NULL;
        own->waiting_cap = 0;
    } else {
        memmove(own->waiting, own->waiting + gone, own->waiting_count * sizeof *own->waiting);
        struct region_row *less = realloc(own->waiting, own->waiting_count * sizeof *less);
        if (less != NULL) {
            own->waiting = less;
            own->waiting_cap = own->waiting_count;
        }
    }
    lanes_release(lanes, (had - own->waiting_cap) * sizeof *own->waiting);
    lanes->waiting_bytes -= (had - own->waiting_cap) * sizeof *own->waiting;
}

static void waiting_order(struct lane_own *own)
{
    if (own->waiting_mixed)
        region_sort(own->waiting, own->waiting_count);
    own->waiting_mixed = false;
}

/* The first `count`, which are in order. On failure the rest of them is not there. */
static int waiting_place(struct lanes *lanes, struct lane_own *own, size_t count)
{
    int status = SKEIN_OK;
    region_nest(own->waiting, count);
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        status = region_place(lanes, own, &own->waiting[i]);
    waiting_shrink(lanes, own, count);
    return status;
}

/* How many can go: the last ones stay, and what one of them reaches into; all, where that is all. */
static size_t waiting_early(const struct lane_own *own)
{
    const struct region_row *rows = own->waiting;
    size_t count = own->waiting_count, kept = count / 2 < KEPT_BACK ? count / 2 : KEPT_BACK;
    size_t early = count - kept;
    uint64_t begin_ns = UINT64_MAX;
    for (size_t i = early; i < count; i++)
        begin_ns = rows[i].begin_ns < begin_ns ? rows[i].begin_ns : begin_ns;
    while (early > 0 && begin_ns < rows[early - 1].end_ns) {
        early--;
        begin_ns = rows[early].begin_ns < begin_ns ? rows[early].begin_ns : begin_ns;
    }
    return early > 0 ? early : count;
}

/* Places as many of each thread's waiting regions as `many` says, of them in order. */
static int waiting_all_place(struct lanes *lanes, size_t (*many)(const struct lane_own *))
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < lanes->count && status == SKEIN_OK; i++) {
        struct lane_own *own = lanes->lanes[i];
        if (own->waiting_count == 0)
            continue;
        waiting_order(own);
        status = waiting_place(lanes, own, many(own));
    }
    return status;
}

static size_t waiting_whole(const struct lane_own *own)
{
    return own->waiting_count;
}

int lanes_regions_place(struct lanes *lanes)
{
    return waiting_all_place(lanes, waiting_whole);
}

/* ---- into it ---- */

/* Room for one more. SKEIN_FULL: none, and no other waits. */
static int waiting_room(struct lanes *lanes, struct lane_own *own)
{
    size_t most = lanes->options.most_bytes, had = own->waiting_cap, more = had > 0 ? had : 8;
    if (own->waiting_count < had)
        return SKEIN_OK;
    if (most > 0 && lanes->waiting_bytes + more * sizeof *own->waiting > most / WAITING_SHARE) {
        int status = waiting_all_place(lanes, waiting_early);
        had = own->waiting_cap;
        more = had > 0 ? had : 8;
        if (status != SKEIN_OK || own->waiting_count < had)
            return status;
    }
    if (!lanes_reserve(lanes, more * sizeof *own->waiting)) {
        int status = lanes_regions_place(lanes);
        return status == SKEIN_OK ? SKEIN_FULL : status;
    }
    struct region_row *rows = realloc(own->waiting, (had + more) * sizeof *rows);
    if (rows == NULL) {
        lanes_release(lanes, more * sizeof *rows);
        return SKEIN_NO_MEMORY;
    }
    lanes->waiting_bytes += more * sizeof *rows;
    own->waiting = rows;
    own->waiting_cap = had + more;
    return SKEIN_OK;
}

/* Most come in order; regions that are in progress come at the end, the outer first. */
static void waiting_put(struct lane_own *own, const struct region_row *region)
{
    struct region_row *rows = own->waiting;
    size_t at = own->waiting_count++, least = at > STEPS_BACK ? at - STEPS_BACK : 0;
    for (; at > least && !region_follows(&rows[at - 1], region); at--)
        rows[at] = rows[at - 1];
    rows[at] = *region;
    own->waiting_mixed |= at > 0 && !region_follows(&rows[at - 1], region);
}

int lanes_region_put(struct lanes *lanes, const struct lane_key *key,
                     const struct region_row *region)
{
    const struct lanes_options *o = &lanes->options;
    const struct lane_key of = {key->process, key->thread, 0, LANE_WAITING, false};
    struct lane_own *own;
    if (region->begin_ns > o->to_ns || region->end_ns < o->from_ns) {
        lanes->totals.outside++;
        return SKEIN_OK;
    }
    int status = lanes_lane_of(lanes, &of, 0, &own);
    if (status == SKEIN_FULL) {
        lanes->totals.left_out++;
        return SKEIN_OK;
    }
    if (status == SKEIN_OK)
        status = waiting_room(lanes, own);
    if (status == SKEIN_FULL)
        return region_place(lanes, own, region);
    if (status == SKEIN_OK)
        waiting_put(own, region);
    return status;
}
