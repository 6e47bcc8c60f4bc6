/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of each ring has memory. The agent makes the pages before the writer comes to
 * them, so that its cgroup pays for them, and not the service's; it takes no more than its own
 * cgroup, the host and ring.total_max_bytes leave it, and no user more of that than his share. Loop
 * thread only.
 *
 *   room left    |<-- new rings, and those that grow -->|<-- none grows -->|<-- rings shrink -->|
 *                                                       0            half of the reserve is gone
 *
 * All rings are looked at ten times a second. One that is new, or whose writer was in a hurry within
 * the last second, is *quick*, and looked at more often: the more of what it has left goes in one
 * look, the sooner the next one comes.
 *
 *   all rings     |                 |                 |                  100 ms
 *   quick ones    |  |  |  |  |  |  |  |  |  |  |  |                      10 ms, 2 in a hurry
 */
#include <stdio.h>

#include "attach_int.h"
#include "clock.h"
#include "proc_info.h"
#include "skein_atomic.h"

#define PACE_MS       2
#define PACE_QUICK_MS 10
#define PACE_ALL_MS   100
#define QUICK_NS      NS_PER_S
#define STEP_BYTES    (UINT64_C(4) << 20)   /* of one ring in one look */
#define LOOK_BYTES    (UINT64_C(8) << 20)   /* of all of them */
#define LOOK_BYTES_MS (UINT64_C(768) << 10) /* and for each ms since the look before: its time */
#define ROOM_NS       NS_PER_S              /* so long what is left is taken for known, */
#define ROOM_BYTES    (UINT64_C(4) << 20)   /* or until rings have taken so much of it */
#define SHRUNK_CHUNKS 4                     /* big ones that a ring keeps */
#define PLENTY        8                     /* while rings use no more than such a part */

static uint64_t bytes_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- what there is ---- */

static const char *proc_of(const struct attach *attach)
{
    return attach->settings.proc != NULL ? attach->settings.proc : "/proc";
}

static const char *cgroups_of(const struct attach *attach)
{
    return attach->settings.cgroups != NULL ? attach->settings.cgroups : CGROUP_FOLDER;
}

void backing_room_look(struct attach *attach)
{
    struct ring_looks *looks = &attach->looks;
    uint64_t now_ns = clock_monotonic_ns();
    if (looks->room_ns != 0 && now_ns - looks->room_ns < ROOM_NS && looks->room_taken < ROOM_BYTES)
        return;
    memory_room_read(cgroups_of(attach), proc_of(attach), &looks->room);
    looks->room_ns = now_ns;
    looks->room_taken = 0;
}

void backing_limit_look(const struct attach *attach, struct process *p)
{
    char proc_pid[300];
    snprintf(proc_pid, sizeof proc_pid, "%s/%u", proc_of(attach), p->pid);
    p->choice.limit_bytes = cgroup_memory_limit(cgroups_of(attach), proc_pid, &p->memory_group);
}

uint64_t backing_kept_bytes(const struct attach *attach)
{
    const struct attach_hooks *hooks = &attach->hooks;
    return hooks->kept_bytes != NULL ? hooks->kept_bytes(hooks->context) : 0;
}

bool backing_kept_release(const struct attach *attach)
{
    const struct attach_hooks *hooks = &attach->hooks;
    return hooks->kept_release != NULL && hooks->kept_release(hooks->context);
}

bool backing_has_ring(const struct process *p)
{
    return p->ring != NULL && p->page != NULL;
}

/* ---- what rings take ---- */

/* It has `bytes` now. */
static void memory_set(struct attach *attach, struct process *p, uint64_t bytes)
{
    struct ring_looks *looks = &attach->looks;
    looks->used += bytes - p->memory_bytes;
    share_tally_add(&looks->users, p->user, bytes - p->memory_bytes);
    p->memory_bytes = bytes;
}

/* The process may have touched more than it was told of, under a library that does not know R-35. */
static void memory_stat(struct attach *attach, uint64_t now_ns)
{
    struct ring_looks *looks = &attach->looks;
    if (now_ns - looks->stat_ns < ROOM_NS)
        return;
    looks->stat_ns = now_ns;
    for (const struct member *m = attach->members; m != NULL; m = m->next) {
        struct process *p = m->process;
        if (!backing_has_ring(p))
            continue;
        uint64_t told = ring_backing_bytes(&p->geometry, &p->backed);
        uint64_t taken = ring_memory_used(p->ring_fd, p->geometry.total);
        memory_set(attach, p, taken > told ? taken : told);
    }
}

/* What is left for rings that grow in this look. */
struct allowance {
    uint64_t bound, total, room, step; /* bound: of all rings; total: what is left of it */
};

static struct allowance allowance_of(const struct attach *attach, uint64_t now_ns)
{
    const struct ring_looks *looks = &attach->looks;
    uint64_t used = looks->used + backing_kept_bytes(attach), room = looks->room.bytes;
    uint64_t total = attach->settings.total_ring_bytes_max;
    uint64_t passed_ms = (now_ns - looks->at_ns) / NS_PER_MS;
    total = used < total ? total - used : 0;
    return (struct allowance){.bound = looks->used + bytes_least(total, room),
                              .total = total,
                              .room = room,
                              .step = bytes_least(LOOK_BYTES, (passed_ms + 1) * LOOK_BYTES_MS)};
}

static void allowance_take(struct attach *attach, uint64_t bytes, struct allowance *left)
{
    left->total -= bytes_least(bytes, left->total);
    left->room -= bytes_least(bytes, left->room);
    left->step -= bytes_least(bytes, left->step);
    attach->looks.room.bytes -= bytes_least(bytes, attach->looks.room.bytes);
    attach->looks.room_taken += bytes;
}

/* What the user's share leaves his rings. */
static uint64_t share_left(const struct attach *attach, uint32_t user, uint64_t bound)
{
    const struct ring_looks *looks = &attach->looks;
    uint64_t own = share_tally_of(&looks->users, user);
    uint64_t others = looks->used > own ? looks->used - own : 0, most = share_most(bound, others);
    if (!user_shares(user))
        return UINT64_MAX;
    return most > own ? most - own : 0;
}

/* ---- a ring's first memory ---- */

static void backing_tell(struct process *p, const struct ring_backing *backing)
{
    p->backed = *backing;
    ring_backing_store(p->page, backing);
    process_cursors(p, &p->looked);
    p->looked_ns = clock_monotonic_ns();
}

/* Whether rings have left most of what they may take: then a new one has more, for a burst that
 * comes at once. */
static bool is_plenty(const struct attach *attach)
{
    struct allowance left = allowance_of(attach, attach->looks.at_ns);
    return attach->looks.used <= left.bound / PLENTY;
}

int backing_begin(struct attach *attach, struct process *p)
{
    struct allowance left = allowance_of(attach, attach->looks.at_ns);
    const struct ring_backing start = ring_backing_start(&p->geometry, is_plenty(attach));
    int status = ring_backing_make(p->ring_fd, &p->geometry, NULL, &start);
    if (status != SKEIN_OK)
        return status;
    p->memory_bytes = ring_backing_bytes(&p->geometry, &start);
    allowance_take(attach, p->memory_bytes, &left);
    backing_tell(p, &start);
    return SKEIN_OK;
}

bool backing_has_share(const struct attach *attach, uint32_t user, uint64_t bytes)
{
    const uint64_t total = attach->settings.total_ring_bytes_max;
    const uint64_t used = attach->looks.used + backing_kept_bytes(attach);
    return used <= total && bytes <= total - used && bytes <= share_left(attach, user, total);
}

/* What it says to have in use has memory, or else it pays for that itself: no more is made than any
 * new ring has. The looks see to the rest. */
void backing_adopt(struct attach *attach, struct process *p, const uint32_t claimed[2])
{
    const struct ring_header *header = (const struct ring_header *)(const void *)p->ring;
    const struct ring_backing start = ring_backing_start(&p->geometry, false);
    const uint64_t used = ring_memory_used(p->ring_fd, p->geometry.total);
    const struct ring_backing have =
        ring_backing_taken(&p->geometry, claimed, skein_load64(&header->durable_data_end), used);
    p->choice.wished_bytes = p->geometry.total;
    backing_limit_look(attach, p);
    backing_room_look(attach);
    struct allowance left = allowance_of(attach, attach->looks.at_ns);
    const uint64_t share = share_left(attach, p->user, left.bound);
    if (!pidfd_ended(p->pidfd) && /* else nobody writes to it */
        (ring_backing_bytes(&p->geometry, &start) >
             bytes_least(share, bytes_least(left.total, left.room)) ||
         ring_backing_make(p->ring_fd, &p->geometry, NULL, &start) != SKEIN_OK))
        p->choice.held = RING_BOUND_MEMORY; /* it goes on in what it has, and pays for the rest */
    p->memory_bytes = ring_memory_used(p->ring_fd, p->geometry.total);
    allowance_take(attach, p->memory_bytes - bytes_least(used, p->memory_bytes), &left);
    backing_tell(p, &have);
}

/* ---- growing ---- */

static struct ring_use use_read(struct process *p, uint64_t now_ns)
{
    const struct ring_header *header = (const struct ring_header *)(const void *)p->ring;
    const uint64_t small = skein_load64(&header->small_cursor),
                   big = skein_load64(&header->big_cursor);
    const struct ring_use use = {.small = small,
                                 .big = big,
                                 .table = skein_load64(&header->durable_data_end),
                                 .small_new = small - p->looked.small,
                                 .big_new = big - p->looked.big,
                                 .since_ms = (now_ns - p->looked_ns) / NS_PER_MS};
    p->looked.small = small;
    p->looked.big = big;
    p->looked_ns = now_ns;
    return use;
}

static bool backing_is(const struct ring_backing *a, const struct ring_backing *b)
{
    return a->small == b->small && a->big == b->big && a->table == b->table;
}

static void quick_set(struct member *m, uint64_t now_ns)
{
    if (m->quick_until_ns == 0)
        TAILQ_INSERT_TAIL(&m->attach->looks.quick, m, quick);
    m->quick_until_ns = now_ns + QUICK_NS;
}

static void quick_end(struct member *m)
{
    if (m->quick_until_ns != 0)
        TAILQ_REMOVE(&m->attach->looks.quick, m, quick);
    m->quick_until_ns = 0;
}

/* Gives the ring what it will need next. Returns whether its writer is in a hurry, and may have
 * more. */
static bool backing_grow(struct member *m, uint64_t now_ns, struct allowance *left)
{
    struct attach *attach = m->attach;
    struct process *p = m->process;
    const struct ring_backing have = p->backed;
    const struct ring_use use = use_read(p, now_ns);
    const bool hurries = ring_backing_hurries(&p->geometry, &have, &use);
    const uint64_t share = share_left(attach, p->user, left->bound);
    const uint64_t most = bytes_least(bytes_least(left->total, left->room), share);
    const struct ring_backing want = ring_backing_wish(
        &p->geometry, &have, &use, bytes_least(bytes_least(left->step, STEP_BYTES), most));
    if (hurries)
        quick_set(m, now_ns);
    if (backing_is(&have, &want)) {
        p->choice.held = p->choice.held == RING_BOUND_MEMORY && attach->looks.room.is_short
                             ? RING_BOUND_MEMORY
                             : RING_BOUND_NONE;
        return false;
    }
    uint64_t bytes =
        ring_backing_bytes(&p->geometry, &want) - ring_backing_bytes(&p->geometry, &have);
    if (bytes > most || ring_backing_make(p->ring_fd, &p->geometry, &have, &want) != SKEIN_OK) {
        p->choice.held = bytes > left->total  ? RING_BOUND_TOTAL
                         : bytes > left->room ? RING_BOUND_MEMORY
                         : bytes > share      ? RING_BOUND_USER
                                              : RING_BOUND_MEMORY;
        return false;
    }
    allowance_take(attach, bytes, left);
    memory_set(attach, p, p->memory_bytes + bytes);
    ring_backing_release(p->ring, &p->geometry, have.big, want.big);
    p->choice.held = RING_BOUND_NONE;
    p->backed = want;
    ring_backing_store(p->page, &want);
    return hurries;
}

/* ---- giving back ---- */

/* The ring that is to give: the largest of the user who has most. NULL: none can. */
static struct process *largest_find(const struct attach *attach)
{
    struct process *largest = NULL;
    uint64_t most = 0;
    for (const struct member *m = attach->members; m != NULL; m = m->next) {
        struct process *p = m->process;
        uint64_t sum = share_tally_of(&attach->looks.users, p->user);
        if (!backing_has_ring(p) || p->backed.big <= SHRUNK_CHUNKS || sum < most ||
            (sum == most && largest != NULL && p->backed.big <= largest->backed.big))
            continue;
        largest = p;
        most = sum;
    }
    return largest;
}

/* Memory is short: halves one ring, once rings of gone processes are given up. */
static void backing_shrink(struct attach *attach)
{
    attach->looks.room_ns = 0; /* to be read anew before the next one */
    if (backing_kept_release(attach))
        return;
    struct process *p = largest_find(attach);
    if (p == NULL)
        return;
    struct ring_backing less = p->backed;
    uint32_t before = less.big;
    less.big = before / 2 > SHRUNK_CHUNKS ? before / 2 : SHRUNK_CHUNKS;
    p->choice.held = RING_BOUND_MEMORY;
    p->backed = less;
    ring_backing_store(p->page, &less);
    uint64_t given = ring_backing_return(p->ring_fd, p->ring, &p->geometry, less.big, before);
    memory_set(attach, p, p->memory_bytes - bytes_least(given, p->memory_bytes));
}

/* ---- looks ---- */

static void backing_look(void *context);

static void look_plan(struct attach *attach, uint64_t after_ms)
{
    struct ring_looks *looks = &attach->looks;
    loop_timer_cancel(attach->loop, &looks->timer);
    looks->pace_ms = after_ms;
    looks->timer = loop_timer_add(attach->loop, after_ms, 0, backing_look, attach);
}

/* Returns whether one was in a hurry. */
static bool all_look(struct attach *attach, uint64_t now_ns, bool *any)
{
    bool hurried = false;
    memory_stat(attach, now_ns);
    struct allowance left = allowance_of(attach, now_ns);
    attach->looks.all_ns = now_ns;
    for (struct member *m = attach->members; m != NULL; m = m->next) {
        if (!backing_has_ring(m->process))
            continue;
        *any = true;
        hurried |= backing_grow(m, now_ns, &left);
    }
    return hurried;
}

/* Those behind come first the next time, so that the first ones do not take every look's step. */
static bool quick_look(struct attach *attach, uint64_t now_ns)
{
    struct ring_looks *looks = &attach->looks;
    struct allowance left = allowance_of(attach, now_ns);
    struct member *last = TAILQ_LAST(&looks->quick, quick_list), *m = NULL;
    bool hurried = false;
    while (m != last && left.step > 0 && (m = TAILQ_FIRST(&looks->quick)) != NULL) {
        hurried |= backing_grow(m, now_ns, &left);
        TAILQ_REMOVE(&looks->quick, m, quick);
        TAILQ_INSERT_TAIL(&looks->quick, m, quick);
        if (m->quick_until_ns <= now_ns)
            quick_end(m);
    }
    return hurried;
}

static void backing_look(void *context)
{
    struct attach *attach = context;
    struct ring_looks *looks = &attach->looks;
    const uint64_t now_ns = clock_monotonic_ns(), all_ns = PACE_ALL_MS * NS_PER_MS;
    bool all = now_ns - looks->all_ns >= all_ns, any = !all;
    looks->timer = NULL; /* one-shot */
    backing_room_look(attach);
    if (looks->room.is_short)
        backing_shrink(attach);
    bool hurried = all ? all_look(attach, now_ns, &any) : quick_look(attach, now_ns);
    looks->at_ns = now_ns;
    if (!any)
        return;
    uint64_t rest_ms = (looks->all_ns + all_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    uint64_t pace_ms = hurried ? PACE_MS : bytes_least(2 * looks->pace_ms, PACE_QUICK_MS);
    look_plan(attach, TAILQ_EMPTY(&looks->quick) ? rest_ms : bytes_least(pace_ms, rest_ms));
}

void backing_init(struct attach *attach)
{
    TAILQ_INIT(&attach->looks.quick);
}

void backing_watch(struct member *m)
{
    const struct ring_looks *looks = &m->attach->looks;
    struct process *p = m->process;
    uint64_t bytes = p->memory_bytes;
    p->memory_bytes = 0;
    memory_set(m->attach, p, bytes); /* it counts from now on */
    quick_set(m, clock_monotonic_ns());
    if (looks->timer == NULL || looks->pace_ms > PACE_MS) /* else those that come put it off */
        look_plan(m->attach, PACE_MS);
}

void backing_leave(struct member *m)
{
    quick_end(m);
    if (backing_has_ring(m->process))
        memory_set(m->attach, m->process, 0);
}

void backing_end(struct attach *attach)
{
    loop_timer_cancel(attach->loop, &attach->looks.timer);
}
