/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of rings: how large a newcomer's is, and how much of each has memory. The
 * agent makes the pages before the writer comes to them, so that its cgroup pays for them, and not
 * the service's; it takes no more than its own cgroup, the host and ring.total_max_bytes leave it.
 * Loop thread only.
 *
 *   room left    |<-- new rings, and those that grow -->|<-- none grows -->|<-- rings shrink -->|
 *                                                       0            half of the reserve is gone
 */
#include <stdio.h>

#include "attach_int.h"
#include "cgroup_place.h"
#include "clock.h"
#include "proc_info.h"
#include "ring_budget.h"
#include "ring_memory.h"
#include "shares.h"
#include "skein_atomic.h"

#define GROUP_SHARE   2 /* of a limit: all rings of its cgroup together */
#define LOOK_MS       10
#define LOOK_MS_MAX   100                 /* while no ring needs more */
#define STEP_BYTES    (UINT64_C(4) << 20) /* of one ring in one look */
#define LOOK_BYTES    (UINT64_C(8) << 20) /* of all of them: a few ms of the loop's time */
#define ROOM_NS       NS_PER_S            /* so long what is left is taken for known */
#define SHRUNK_CHUNKS 4                   /* big ones that a ring keeps */

/* ---- what there is ---- */

static const char *proc_of(const struct attach *attach)
{
    return attach->settings.proc != NULL ? attach->settings.proc : "/proc";
}

static const char *cgroups_of(const struct attach *attach)
{
    return attach->settings.cgroups != NULL ? attach->settings.cgroups : CGROUP_FOLDER;
}

static void room_look(struct attach *attach)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (attach->room_ns != 0 && now_ns - attach->room_ns < ROOM_NS)
        return;
    memory_room_read(cgroups_of(attach), proc_of(attach), &attach->room);
    attach->room_ns = now_ns;
}

static void room_take(struct attach *attach, uint64_t bytes)
{
    attach->room.bytes -= bytes < attach->room.bytes ? bytes : attach->room.bytes;
}

static uint64_t kept_bytes(const struct attach *attach)
{
    const struct attach_hooks *hooks = &attach->hooks;
    return hooks->kept_bytes != NULL ? hooks->kept_bytes(hooks->context) : 0;
}

static bool kept_release(const struct attach *attach)
{
    const struct attach_hooks *hooks = &attach->hooks;
    return hooks->kept_release != NULL && hooks->kept_release(hooks->context);
}

static bool has_ring(const struct process *p)
{
    return !p->watched && p->ring != NULL && p->page != NULL;
}

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
        if (m == former || !has_ring(p) || (group != 0 && p->memory_group != group))
            continue;
        uint64_t used = ring_memory_used(p->ring_fd, p->geometry.total);
        budget.used += used;
        budget.reserved += p->geometry.total;
        *own += p->user == user ? used : 0;
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

static void limit_look(const struct attach *attach, struct process *p)
{
    char proc_pid[300];
    snprintf(proc_pid, sizeof proc_pid, "%s/%u", proc_of(attach), p->pid);
    p->choice.limit_bytes = cgroup_memory_limit(cgroups_of(attach), proc_pid, &p->memory_group);
}

/* A ring costs its process page tables, a 512th of it, and all of its memory under a library that
 * does not know R-35; so a cgroup has rings by its limit. The smallest ring is always had. */
static uint64_t group_grant(const struct attach *attach, const struct member *former,
                            struct process *p, uint64_t bytes)
{
    limit_look(attach, p);
    if (p->choice.limit_bytes == 0)
        return bytes;
    uint64_t unused;
    struct ring_budget budget = budget_of(attach, former, p->memory_group, 0, &unused);
    budget.total = p->choice.limit_bytes / GROUP_SHARE;
    uint64_t most = ring_budget_grant(&budget, bytes);
    return bytes_lower(bytes, most > RING_BYTES_MIN ? most : RING_BYTES_MIN, RING_BOUND_CGROUP,
                       &p->choice);
}

/* What all rings may take, and what they have: by the configuration, or by what memory there is. */
static struct ring_budget whole_budget(struct attach *attach, const struct member *former,
                                       uint32_t user, uint64_t *own, enum ring_bound *by)
{
    uint64_t kept = kept_bytes(attach), total = attach->settings.total_ring_bytes_max;
    struct ring_budget budget = budget_of(attach, former, 0, user, own);
    room_look(attach);
    budget.used += kept;
    budget.reserved += kept;
    bool by_room = attach->room.bytes < total && budget.used < total - attach->room.bytes;
    budget.total = by_room ? budget.used + attach->room.bytes : total;
    *by = by_room ? RING_BOUND_MEMORY : RING_BOUND_TOTAL;
    return budget;
}

/* The size of a new ring; 0: no room. Rings of gone processes make room first, but not for a user
 * whose share is used up. */
static uint64_t ring_bytes_take(struct attach *attach, const struct member *former,
                                struct process *p, uint64_t wished)
{
    uint64_t own, granted, bytes;
    enum ring_bound by;
    struct ring_budget budget;
    p->choice = (struct ring_choice){.wished_bytes = wish_of(&attach->settings, wished)};
    bytes = group_grant(attach, former, p, p->choice.wished_bytes);
    do {
        budget = whole_budget(attach, former, p->user, &own, &by);
        granted = ring_budget_grant(&budget, bytes);
    } while (granted == 0 && kept_release(attach));
    granted = bytes_lower(bytes, granted, by, &p->choice);
    if (granted == 0 || own == 0 || !user_shares(p->user))
        return granted;
    const uint64_t others = budget.used - own;
    budget.total = others + share_most(budget.total, others);
    return bytes_lower(granted, ring_budget_grant(&budget, granted), RING_BOUND_TOTAL, &p->choice);
}

/* ---- its ring ---- */

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

/* ---- its memory ---- */

static void backing_tell(struct process *p, const struct ring_backing *backing)
{
    p->backed = *backing;
    ring_backing_store(p->page, backing);
    process_cursors(p, &p->looked);
}

int backing_begin(struct attach *attach, struct process *p)
{
    const struct ring_backing start = ring_backing_start(&p->geometry);
    int status = ring_backing_make(p->ring_fd, &p->geometry, NULL, &start);
    if (status != SKEIN_OK)
        return status;
    room_take(attach, ring_backing_bytes(&p->geometry, &start));
    backing_tell(p, &start);
    return SKEIN_OK;
}

void backing_adopt(struct attach *attach, struct process *p, const uint32_t claimed[2])
{
    const struct ring_header *header = (const struct ring_header *)(const void *)p->ring;
    const struct ring_backing whole = ring_backing_whole(&p->geometry);
    struct ring_backing have = ring_backing_start(&p->geometry);
    uint64_t table = skein_load64(&header->durable_data_end);
    have.small = claimed[0] > have.small ? claimed[0] : have.small;
    have.big = claimed[1] > have.big ? claimed[1] : have.big;
    have.table = table > have.table / 2 ? whole.table : have.table;
    p->choice.wished_bytes = p->geometry.total;
    limit_look(attach, p);
    room_look(attach);
    uint64_t used = ring_memory_used(p->ring_fd, p->geometry.total);
    uint64_t bytes = ring_backing_bytes(&p->geometry, &have);
    bytes -= bytes < used ? bytes : used;
    if (pidfd_ended(p->pidfd)) /* nobody writes to it */
        bytes = 0;
    else if (bytes > attach->room.bytes ||
             ring_backing_make(p->ring_fd, &p->geometry, NULL, &have) != SKEIN_OK)
        p->choice.held = RING_BOUND_MEMORY; /* it goes on in what it has, and pays for the rest */
    room_take(attach, bytes);
    backing_tell(p, &have);
}

static bool backing_is(const struct ring_backing *a, const struct ring_backing *b)
{
    return a->small == b->small && a->big == b->big && a->table == b->table;
}

/* What is left for rings that grow in this look. */
struct allowance {
    uint64_t total, room, step;
};

static struct allowance allowance_of(const struct attach *attach)
{
    uint64_t used = kept_bytes(attach), total = attach->settings.total_ring_bytes_max;
    for (const struct member *m = attach->members; m != NULL; m = m->next)
        if (has_ring(m->process))
            used += ring_backing_bytes(&m->process->geometry, &m->process->backed);
    return (struct allowance){used < total ? total - used : 0, attach->room.bytes, LOOK_BYTES};
}

static struct ring_backing wish_read(struct process *p, uint64_t step)
{
    const struct ring_header *header = (const struct ring_header *)(const void *)p->ring;
    struct process_cursors now;
    process_cursors(p, &now);
    const struct ring_use use = {.small = now.small,
                                 .big = now.big,
                                 .table = skein_load64(&header->durable_data_end),
                                 .small_new = now.small - p->looked.small,
                                 .big_new = now.big - p->looked.big};
    p->looked = now;
    return ring_backing_wish(&p->geometry, &p->backed, &use, step < STEP_BYTES ? step : STEP_BYTES);
}

/* Gives the ring what it will need next. Returns whether it needs more than it had. */
static bool backing_grow(struct attach *attach, struct process *p, struct allowance *left)
{
    uint64_t most = left->total < left->room ? left->total : left->room;
    const struct ring_backing have = p->backed,
                              want = wish_read(p, most < left->step ? most : left->step);
    if (backing_is(&have, &want)) {
        p->choice.held = p->choice.held == RING_BOUND_MEMORY && attach->room.is_short
                             ? RING_BOUND_MEMORY
                             : RING_BOUND_NONE;
        return false;
    }
    uint64_t bytes =
        ring_backing_bytes(&p->geometry, &want) - ring_backing_bytes(&p->geometry, &have);
    if (bytes > left->total || bytes > left->room ||
        ring_backing_make(p->ring_fd, &p->geometry, &have, &want) != SKEIN_OK) {
        p->choice.held = bytes > left->total ? RING_BOUND_TOTAL : RING_BOUND_MEMORY;
        return false;
    }
    left->total -= bytes;
    left->room -= bytes;
    left->step -= bytes < left->step ? bytes : left->step;
    room_take(attach, bytes);
    ring_backing_release(p->ring, &p->geometry, have.big, want.big);
    p->choice.held = RING_BOUND_NONE;
    p->backed = want;
    ring_backing_store(p->page, &want);
    return true;
}

/* Memory is short: halves the ring that has most, once rings of gone processes are given up. */
static void backing_shrink(struct attach *attach)
{
    struct process *largest = NULL;
    attach->room_ns = 0; /* to be read anew before the next one */
    if (kept_release(attach))
        return;
    for (const struct member *m = attach->members; m != NULL; m = m->next)
        if (has_ring(m->process) && m->process->backed.big > SHRUNK_CHUNKS &&
            (largest == NULL || m->process->backed.big > largest->backed.big))
            largest = m->process;
    if (largest == NULL)
        return;
    struct ring_backing fewer = largest->backed;
    uint32_t before = fewer.big;
    fewer.big = before / 2 > SHRUNK_CHUNKS ? before / 2 : SHRUNK_CHUNKS;
    largest->choice.held = RING_BOUND_MEMORY;
    largest->backed = fewer;
    ring_backing_store(largest->page, &fewer);
    (void)ring_backing_return(largest->ring_fd, largest->ring, &largest->geometry, fewer.big,
                              before);
}

static void backing_look(void *context);

static void look_plan(struct attach *attach, uint64_t after_ms)
{
    loop_timer_cancel(attach->loop, &attach->look);
    attach->look_ms = after_ms;
    attach->look = loop_timer_add(attach->loop, after_ms, 0, backing_look, attach);
}

static void backing_look(void *context)
{
    struct attach *attach = context;
    bool any = false, grown = false;
    attach->look = NULL; /* one-shot */
    room_look(attach);
    if (attach->room.is_short)
        backing_shrink(attach);
    struct allowance left = allowance_of(attach);
    for (const struct member *m = attach->members; m != NULL; m = m->next) {
        if (!has_ring(m->process))
            continue;
        any = true;
        grown |= backing_grow(attach, m->process, &left);
    }
    uint64_t longer = 2 * attach->look_ms;
    if (any)
        look_plan(attach, grown ? LOOK_MS : longer < LOOK_MS_MAX ? longer : LOOK_MS_MAX);
}

void backing_watch(struct attach *attach)
{
    look_plan(attach, LOOK_MS);
}

void backing_end(struct attach *attach)
{
    loop_timer_cancel(attach->loop, &attach->look);
}
