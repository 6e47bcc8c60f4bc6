/* SPDX-License-Identifier: Apache-2.0
 *
 * The host page and the clock. Owns the memfd, its one writable mapping, and the clock's first
 * snapshot and calibration. After host_page_new only the generation changes, by an atomic add, so
 * any thread may enter. Never hands out a way to write: the memfd is sealed after our own mapping.
 */
#include "host_page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "agent_clock.h"
#include "descriptor.h"
#include "proc_info.h"
#include "ring_memory.h"

#define CALIBRATION_NS 10000000
#define TICK_NS        64

struct host_page_owner {
    int fd;
    struct host_page *page; /* ours to write */
    uint8_t clock, shift;
    struct clock_snapshot first;
};

/* ---- reading the clock ---- */

static uint64_t ns_of(clockid_t id)
{
    struct timespec t = {0, 0};
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static uint64_t tsc_read(void)
{
    return __rdtsc();
}
#else
static uint64_t tsc_read(void)
{
    return 0;
}
#endif

/* The same instant on all clocks, as near as five tries get: the TSC is read on both sides of the
 * others, and the tightest pair wins, since an interrupt in between spoils a try. */
static void snapshot_take(uint8_t clock, uint8_t shift, struct clock_snapshot *out)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        struct clock_snapshot s;
        uint64_t before = clock == RING_CLOCK_TSC ? tsc_read() : ns_of(CLOCK_MONOTONIC);
        s.monotonic_ns = ns_of(CLOCK_MONOTONIC);
        s.boottime_ns = ns_of(CLOCK_BOOTTIME);
        uint64_t after = clock == RING_CLOCK_TSC ? tsc_read() : ns_of(CLOCK_MONOTONIC);
        if (after - before >= best && i > 0)
            continue;
        best = after - before;
        s.realtime_ns = agent_clock_at(s.monotonic_ns);
        s.ticks =
            (clock == RING_CLOCK_TSC ? before + (after - before) / 2 : s.monotonic_ns) >> shift;
        *out = s;
    }
}

/* Whether the kernel itself keeps time by the TSC: then it is synchronous over the cores and does
 * not stop. */
static bool tsc_trusted(void)
{
#if defined(__x86_64__)
    char text[64] = "";
    int status = text_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                                text, sizeof text);
    if (status < 0 || strncmp(text, "tsc", 3) != 0)
        return false;
    uint32_t a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000007u), "c"(0));
    return (d & (1u << 8)) != 0; /* invariant TSC: constant_tsc and nonstop_tsc */
#else
    return false;
#endif
}

/* TSC cycles in a second, against CLOCK_MONOTONIC over 10 ms: a few parts in a million. */
static uint64_t tsc_calibrate(void)
{
    struct clock_snapshot a, b;
    snapshot_take(RING_CLOCK_TSC, 0, &a);
    struct timespec pause = {0, CALIBRATION_NS};
    while (nanosleep(&pause, &pause) != 0) {
    }
    snapshot_take(RING_CLOCK_TSC, 0, &b);
    double seconds = (double)(b.monotonic_ns - a.monotonic_ns) / 1e9;
    return (uint64_t)((double)(b.ticks - a.ticks) / seconds);
}

/* The shift whose tick comes nearest to 64 ns. */
static uint8_t shift_choose(uint64_t per_s)
{
    uint8_t shift = 0;
    double want = (double)per_s * TICK_NS / 1e9;
    while (shift < 16 && (double)(UINT64_C(1) << shift) * 1.5 < want)
        shift++;
    return shift;
}

/* ---- the page ---- */

int host_page_new(uint64_t first_generation, struct host_page_owner **out)
{
    struct host_page_owner *owner = calloc(1, sizeof *owner);
    if (owner == NULL)
        return SKEIN_NO_MEMORY;
    owner->fd = -1;
    uint64_t per_s = 1000000000;
    owner->clock = tsc_trusted() ? RING_CLOCK_TSC : RING_CLOCK_MONOTONIC;
    if (owner->clock == RING_CLOCK_TSC)
        per_s = tsc_calibrate();
    owner->shift = shift_choose(per_s);
    struct host_page page = {.magic = HOST_PAGE_MAGIC,
                             .version = RING_VERSION,
                             .clock = owner->clock,
                             .shift = owner->shift,
                             .ticks_per_s = per_s >> owner->shift,
                             .generation = first_generation};
    void *mapping = NULL;
    int status = shared_page_new("skein-host", &page, sizeof page, &owner->fd, &mapping);
    if (status != SKEIN_OK) {
        host_page_free(&owner);
        return status;
    }
    owner->page = mapping;
    snapshot_take(owner->clock, owner->shift, &owner->first);
    *out = owner;
    return SKEIN_OK;
}

void host_page_free(struct host_page_owner **pointer)
{
    struct host_page_owner *owner = *pointer;
    if (owner == NULL)
        return;
    *pointer = NULL;
    if (owner->page != NULL)
        munmap(owner->page, SHARED_PAGE_BYTES);
    fd_close(&owner->fd);
    free(owner);
}

int host_page_fd(const struct host_page_owner *owner)
{
    return owner->fd;
}

uint64_t host_page_switch(struct host_page_owner *owner)
{
    /* Release: pairs with nothing that a producer must see, but orders this cut's later reads of
     * what was tagged before. Two cuts at once each end a generation of their own. */
    return __atomic_fetch_add(&owner->page->generation, 1, __ATOMIC_ACQ_REL);
}

uint64_t host_page_generation(const struct host_page_owner *owner)
{
    return __atomic_load_n(&owner->page->generation, __ATOMIC_RELAXED);
}

uint8_t host_page_clock(const struct host_page_owner *owner)
{
    return owner->clock;
}

uint8_t host_page_shift(const struct host_page_owner *owner)
{
    return owner->shift;
}

void host_page_snapshot(const struct host_page_owner *owner, struct clock_snapshot *out)
{
    snapshot_take(owner->clock, owner->shift, out);
}

void host_page_first(const struct host_page_owner *owner, struct clock_snapshot *out)
{
    *out = owner->first;
}

/* The longest base there is gives the truest slope. A clock that went back since (a restored
 * virtual machine) leaves only its nominal rate. */
void host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                    struct clock_snapshot *end)
{
    host_page_first(owner, begin);
    host_page_snapshot(owner, end);
    if (begin->ticks >= end->ticks || begin->monotonic_ns >= end->monotonic_ns) {
        *begin = *end;
        begin->ticks -= end->ticks > 0;
        begin->monotonic_ns -= 64;
    }
}

/* ---- ticks and realtime ---- */

/* y at x of the line through (x0, y0) with this slope; the least or the highest number where it is
 * none, or nearly. */
static uint64_t line_at(uint64_t x, uint64_t x0, uint64_t y0, double slope)
{
    double distance = (x < x0 ? (double)(x0 - x) : (double)(x - x0)) * slope;
    if (x < x0)
        return distance >= (double)y0 ? 0 : y0 - (uint64_t)distance;
    double room = (double)(UINT64_MAX - y0) / 2;
    return distance >= room ? UINT64_MAX : y0 + (uint64_t)distance;
}

/* The slope comes from MONOTONIC, which is slewed but never stepped, and the place from the later
 * snapshot's REALTIME: a clock that was set in between shifts nothing that is recent. */
uint64_t clock_snapshot_ticks(const struct clock_snapshot *a, const struct clock_snapshot *b,
                              uint64_t realtime_ns)
{
    double mono = (double)b->monotonic_ns - (double)a->monotonic_ns;
    double slope = mono > 0 ? ((double)b->ticks - (double)a->ticks) / mono : 0;
    return line_at(realtime_ns, b->realtime_ns, b->ticks, slope);
}

uint64_t clock_snapshot_realtime(const struct clock_snapshot *a, const struct clock_snapshot *b,
                                 uint64_t ticks)
{
    double span = (double)b->ticks - (double)a->ticks;
    double slope = span > 0 ? ((double)b->monotonic_ns - (double)a->monotonic_ns) / span : 0;
    return line_at(ticks, b->ticks, b->realtime_ns, slope);
}
