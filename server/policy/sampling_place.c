/* SPDX-License-Identifier: Apache-2.0
 *
 * Even slots for the members of a policy; see sampling_place.h.
 *
 * With n members on s slots each slot shall have n / s, and n % s of them one more. Three passes,
 * each of which only adds: who has a place keeps it; the others take the place of their hash; who
 * finds that full takes the next that has room, first up to n / s, then one more.
 */
#include "sampling_place.h"

#include <stdlib.h>

#include "skein/status.h"

struct places {
    uint32_t slots;
    size_t base, extra; /* extra: slots that may still take one beyond base */
    uint32_t *load, *next;
};

/* Takes a place in the slot if it has one. */
static bool take(struct places *p, uint32_t slot)
{
    if (p->load[slot] > p->base || (p->load[slot] == p->base && p->extra == 0))
        return false;
    p->extra -= p->load[slot] == p->base;
    p->load[slot]++;
    return true;
}

/* The first slot from `slot` on that has fewer than `limit`; one is known to. `next` leads on from
 * slots that are full, and is shortened on the way. */
static uint32_t find_room(struct places *p, uint32_t slot, size_t limit)
{
    while (p->load[slot] >= limit) {
        uint32_t after = p->next[slot];
        if (p->load[after] >= limit)
            p->next[slot] = p->next[after];
        slot = after;
    }
    return slot;
}

static void reset_next(struct places *p)
{
    for (uint32_t i = 0; i < p->slots; i++)
        p->next[i] = (i + 1) % p->slots;
}

/* Puts those that are left, in order, where fewer than `limit` are, as long as there are such. */
static size_t fill(struct places *p, const struct sampling_plan *plan,
                   struct sampling_member *members, size_t count, size_t at, size_t limit)
{
    size_t room = 0;
    for (uint32_t i = 0; i < p->slots; i++)
        room += p->load[i] < limit ? limit - p->load[i] : 0;
    reset_next(p);
    for (; at < count && room > 0; at++) {
        if (members[at].slot != SAMPLING_UNPLACED)
            continue;
        uint32_t slot = find_room(p, sampling_hash_slot(plan, &members[at].process), limit);
        members[at].slot = slot;
        p->load[slot]++;
        room--;
    }
    return at;
}

int sampling_place(const struct sampling_plan *plan, struct sampling_member *members, size_t count)
{
    uint32_t slots = sampling_slots(plan);
    struct places p = {.slots = slots, .base = count / slots, .extra = count % slots};
    p.load = calloc(slots, sizeof *p.load);
    p.next = calloc(slots, sizeof *p.next);
    int status = p.load != NULL && p.next != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++)
        if (members[i].slot >= slots || !take(&p, members[i].slot))
            members[i].slot = SAMPLING_UNPLACED;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++) {
        uint32_t wish = sampling_hash_slot(plan, &members[i].process);
        if (members[i].slot == SAMPLING_UNPLACED && take(&p, wish))
            members[i].slot = wish;
    }
    if (status == SKEIN_OK) {
        size_t at = fill(&p, plan, members, count, 0, p.base);
        (void)fill(&p, plan, members, count, at, p.base + 1);
    }
    free(p.load);
    free(p.next);
    return status;
}
