/* SPDX-License-Identifier: Apache-2.0
 *
 * See retention_turns.h. Touches nothing but the caller's table.
 */
#include "retention_turns.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"

#define RANKS    (SHARE_ROOT + 1)
#define YOUNG_NS (UINT64_C(120) * 1000000000u)

static int turn_add(void *context, const struct catalog_holder *holder)
{
    struct turns *turns = context;
    if (!array_grow(turns->items, turns->count + 1, &turns->cap))
        return 1;
    char *name = strdup(holder->name);
    if (name == NULL)
        return 1;
    turns->items[turns->count++] =
        (struct turn){.rank = holder->rank,
                      .name = name,
                      .weight = turns->by_count ? holder->captures : holder->bytes,
                      .oldest_ns = holder->oldest_ns,
                      .has_young = holder->young > 0 && holder->rank != SHARE_ROOT};
    return 0;
}

int turns_take(struct turns *turns, struct catalog *catalog, const char *service)
{
    uint64_t now_ns = clock_realtime_ns();
    int64_t seen = catalog_holders(catalog, service, now_ns > YOUNG_NS ? now_ns - YOUNG_NS : 0,
                                   turn_add, turns);
    if (seen < 0)
        return (int)seen;
    return (uint64_t)seen == turns->count ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void turns_fini(struct turns *turns)
{
    for (size_t i = 0; i < turns->count; i++)
        free(turns->items[i].name);
    free(turns->items);
    *turns = (struct turns){.by_count = turns->by_count};
}

static const struct turn *turn_same(const struct turns *turns, const struct turn *as)
{
    for (size_t i = 0; i < turns->count; i++)
        if (turns->items[i].rank == as->rank && strcmp(turns->items[i].name, as->name) == 0)
            return &turns->items[i];
    return NULL;
}

int turns_renew(struct turns *turns, struct catalog *catalog, const char *service)
{
    struct turns fresh = {.by_count = turns->by_count};
    int status = turns_take(&fresh, catalog, service);
    if (status != SKEIN_OK) {
        turns_fini(&fresh);
        return status;
    }
    for (size_t i = 0; i < fresh.count; i++) {
        struct turn *turn = &fresh.items[i];
        const struct turn *before = turn_same(turns, turn);
        if (before == NULL)
            continue;
        turn->after = before->after;
        turn->passed_by = before->passed_by;
        turn->weight -= turn->passed_by < turn->weight ? turn->passed_by : turn->weight;
    }
    turns_fini(turns);
    *turns = fresh;
    return SKEIN_OK;
}

/* Of two with the same, the one whose captures begin earlier. */
static bool turn_before(const struct turn *a, const struct turn *b)
{
    return b == NULL || a->weight > b->weight ||
           (a->weight == b->weight && a->oldest_ns < b->oldest_ns);
}

struct turn *turns_next(const struct turns *turns)
{
    struct turn *most[RANKS] = {NULL};
    uint64_t of_rank[RANKS] = {0}, all = 0;
    for (size_t i = 0; i < turns->count; i++) {
        struct turn *turn = &turns->items[i];
        of_rank[turn->rank] += turn->weight;
        all += turn->weight;
        if ((!turn->over || turn->has_young) && turn_before(turn, most[turn->rank]))
            most[turn->rank] = turn;
    }
    if (most[SHARE_ASKED] != NULL && of_rank[SHARE_ASKED] > all / 8)
        return most[SHARE_ASKED];
    if (most[SHARE_RULED] != NULL && of_rank[SHARE_RULED] > all / 2)
        return most[SHARE_RULED];
    if (most[SHARE_ROOT] != NULL)
        return most[SHARE_ROOT];
    return most[SHARE_RULED] != NULL ? most[SHARE_RULED] : most[SHARE_ASKED];
}

void turn_deduct(struct turns *turns, struct turn *turn, uint64_t bytes, bool gone)
{
    uint64_t less = turns->by_count ? 1 : bytes;
    if (gone)
        turns->stale = true;
    else
        turn->passed_by += less;
    turn->weight -= less < turn->weight ? less : turn->weight;
}

const char *turn_of(const struct turn *turn)
{
    static const char *const texts[] = {
        [SHARE_ASKED] = "captures that programs asked for",
        [SHARE_RULED] = "captures of rules and crashes",
        [SHARE_ROOT] = "captures of people, policies and root",
    };
    return texts[turn->rank];
}
