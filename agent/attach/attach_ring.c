/* SPDX-License-Identifier: Apache-2.0
 *
 * How large a newcomer's ring is, by what it wishes, its cgroup, its user's share and what all rings
 * may take; and the ring itself, made or taken over. Its memory is attach_backing.c's. Loop thread
 * only.
 */
#include "attach_int.h"
#include "ring_budget.h"
#include "ring_memory.h"
#include "shares.h"

#define SPARE_SHARE 8 /* of all: for the smallest rings of places that are left */
#define GROUP_SHARE 2 /* of a limit: all rings of its cgroup together */

/* ---- the size of a newcomer's ring ---- */

static uint64_t wish_of(const struct attach_settings *settings, uint64_t wished)
{
    uint64_t max =
        settings->ring_bytes_max < RING_BYTES_MAX ? settings->ring_bytes_max : RING_BYTES_MAX;
    uint64_t bytes = wished != 0 ? wished : settings->ring_bytes;
    bytes = bytes > max ? max : bytes;
    bytes = bytes < RING_BYTES_MIN ? RING_BYTES_MIN : bytes;
    return bytes - bytes % 4096;
}

/* What rings take now, without the one that is to be replaced; group 0: all of them. *own: the
 * user's part of it. */
static struct ring_budget budget_of(const struct attach *attach, const struct member *former,
                                    uint64_t group, uint32_t user, uint64_t *own)
{
    struct ring_budget budget = {0};
    *own = 0;
    for (const struct member *m = attach->members; m != NULL; m = m->next) {
        const struct process *p = m->process;
        if (m == former || !backing_has_ring(p) || (group != 0 && p->memory_group != group))
            continue;
        budget.used += p->memory_bytes;
        budget.reserved += p->geometry.total;
        *own += p->user == user ? p->memory_bytes : 0;
    }
    return budget;
}

static uint64_t bytes_lower(uint64_t bytes, uint64_t most, enum ring_bound why,
                            struct ring_choice *choice)
{
    if (most >= bytes)
        return bytes;
    choice->size = why;
    return most;
}

/* A ring costs its process page tables, a 512th of it, and all of its memory under a library that
 * does not know R-35; so a cgroup has rings by its limit. The smallest ring is always had. */
static uint64_t group_grant(const struct attach *attach, const struct member *former,
                            struct process *p, uint64_t bytes)
{
    backing_limit_look(attach, p);
    if (p->choice.limit_bytes == 0)
        return bytes;
    uint64_t unused;
    struct ring_budget budget = budget_of(attach, former, p->memory_group, 0, &unused);
    budget.total = p->choice.limit_bytes / GROUP_SHARE;
    uint64_t most = ring_budget_grant(&budget, bytes);
    return bytes_lower(bytes, most > RING_BYTES_MIN ? most : RING_BYTES_MIN, RING_BOUND_CGROUP,
                       &p->choice);
}

/* What all rings may take, and what they have, kept ones included: by the configuration, or by what
 * memory there is. */
static struct ring_budget whole_budget(const struct attach *attach, const struct ring_budget *rings,
                                       enum ring_bound *by)
{
    const uint64_t kept = backing_kept_bytes(attach), total = attach->settings.total_ring_bytes_max;
    const uint64_t room = attach->looks.room.bytes, used = rings->used + kept;
    const bool by_room = room < total && used < total - room;
    *by = by_room ? RING_BOUND_MEMORY : RING_BOUND_TOTAL;
    const uint64_t bound = by_room ? used + room : total;
    const uint64_t places = attach->settings.max_processes > attach->member_count
                                ? attach->settings.max_processes - attach->member_count
                                : 0;
    const uint64_t smallest = places * RING_BYTES_MIN, most = bound / SPARE_SHARE;
    return (struct ring_budget){.total = bound,
                                .used = used,
                                .reserved = rings->reserved + kept,
                                .spare = smallest < most ? smallest : most};
}

/* The user's part of the budget, of which he has `own`. */
static struct ring_budget share_budget(const struct ring_budget *whole, uint64_t own)
{
    const uint64_t others = whole->used - own;
    struct ring_budget budget = *whole;
    budget.total = others + share_most(whole->total, others);
    return budget;
}

/* Whether the user may have one more ring, were all rings of gone processes given up. */
static bool share_has_room(const struct attach *attach, const struct ring_budget *rings,
                           uint64_t own)
{
    uint64_t most = share_most(attach->settings.total_ring_bytes_max, rings->used - own);
    return own <= most && most - own >= RING_BYTES_MIN;
}

/* The size of a new ring; 0: no room. Rings of gone processes make room first, but not for a user
 * whose share is used up. */
static uint64_t ring_bytes_take(struct attach *attach, const struct member *former,
                                struct process *p, uint64_t wished)
{
    uint64_t own, granted, bytes;
    p->choice = (struct ring_choice){.wished_bytes = wish_of(&attach->settings, wished)};
    bytes = group_grant(attach, former, p, p->choice.wished_bytes);
    const struct ring_budget rings = budget_of(attach, former, 0, p->user, &own);
    const bool shares = own != 0 && user_shares(p->user);
    if (shares && !share_has_room(attach, &rings, own))
        return bytes_lower(bytes, 0, RING_BOUND_USER, &p->choice);
    backing_room_look(attach);
    do {
        enum ring_bound by;
        struct ring_budget budget = whole_budget(attach, &rings, &by);
        granted = bytes_lower(bytes, ring_budget_grant(&budget, bytes), by, &p->choice);
        if (granted == 0 || !shares)
            continue;
        budget = share_budget(&budget, own);
        granted =
            bytes_lower(granted, ring_budget_grant(&budget, granted), RING_BOUND_USER, &p->choice);
    } while (granted == 0 && backing_kept_release(attach));
    return granted;
}

/* ---- the ring ---- */

/* Streaming needs somebody who saves chunks as they fill. Who wishes it gets the default instead,
 * and the WELCOME says so. */
static uint8_t mode_grant(const struct attach_settings *settings, uint8_t wished)
{
    return wished == SKEIN_MODE_CIRCULAR || wished == SKEIN_MODE_ONESHOT ? wished : settings->mode;
}

struct ring_identity ring_identity_of(const struct attach *attach, const struct process *p)
{
    return (struct ring_identity){.pid = p->pid,
                                  .clock = host_page_clock(attach->host),
                                  .shift = host_page_shift(attach->host),
                                  .start_ticks = p->attached_clock.ticks,
                                  .service = p->service};
}

int ring_adopt(const struct attach *attach, struct hello_packet *packet, struct process *p,
               uint32_t claimed[2])
{
    const struct ring_identity identity = ring_identity_of(attach, p);
    if (packet->ring_fd < 0)
        return SKEIN_NOT_FOUND;
    uint64_t brought = ring_memory_used(packet->ring_fd, attach->settings.ring_bytes_max);
    if (!backing_has_share(attach, p->user, brought))
        return SKEIN_FULL;
    int status = ring_memory_adopt(packet->ring_fd, attach->settings.ring_bytes_max, &identity,
                                   &p->geometry, &p->ring, claimed);
    if (status != SKEIN_OK)
        return status;
    p->ring_fd = packet->ring_fd;
    packet->ring_fd = -1;
    return SKEIN_OK;
}

int ring_make(struct attach *attach, const struct hello_packet *packet, const struct member *former,
              struct process *p)
{
    const struct ring_identity identity = ring_identity_of(attach, p);
    uint64_t bytes = ring_bytes_take(attach, former, p, packet->hello.ring_bytes);
    if (bytes == 0)
        return SKEIN_FULL;
    struct ring_geometry geometry;
    int status =
        ring_geometry_init(&geometry, mode_grant(&attach->settings, packet->hello.mode), bytes);
    if (status != SKEIN_OK)
        return status;
    status = ring_memory_new(&geometry, &identity, &p->ring_fd, &p->ring);
    if (status == SKEIN_OK)
        p->geometry = geometry;
    return status;
}
