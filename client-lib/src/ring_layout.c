/* SPDX-License-Identifier: Apache-2.0
 *
 * The one layout that belongs to a ring's mode and size, computed alike by the process that writes
 * it and by the agent that reads it. Pure arithmetic: any thread, signal-safe, never looks at a
 * ring.
 */
#include "ring_layout.h"

#include "skein/skein.h"

#define DURABLE_BYTES_MAX (UINT64_C(1) << 20)
#define DURABLE_SHARE     16 /* of the whole ring, as in Fuchsia's engine */
#define SLOTS_SHARE       8  /* of the durable area */
#define SLOTS_MIN         4
#define DURABLE_BYTES_MIN 8192
#define LOSS_SHARE        16 /* of the durable area, for each kind */
#define LOSS_BUCKETS_MIN  128
#define LOSS_SPAN_SHIFT   30 /* ticks that all buckets span: about a minute */
#define SMALL_SHARE       8  /* of a rolling area */
#define SMALL_MIN         2

static uint64_t round_down(uint64_t value, uint64_t unit)
{
    return value - value % unit;
}

/* how one rolling area of `bytes` is cut into chunks. */
static void area_split(uint64_t bytes, uint32_t *small, uint32_t *big)
{
    uint64_t wanted = bytes / SMALL_SHARE / RING_SMALL_CHUNK;
    if (wanted < SMALL_MIN)
        wanted = SMALL_MIN;
    uint64_t small_bytes = wanted * RING_SMALL_CHUNK;
    uint64_t bigs = bytes > small_bytes ? (bytes - small_bytes) / RING_BIG_CHUNK : 0;
    *big = (uint32_t)bigs;
    *small = (uint32_t)((bytes - bigs * RING_BIG_CHUNK) / RING_SMALL_CHUNK);
}

/* the buckets of losses, behind the slots. */
static void losses_place(struct ring_geometry *g, uint64_t durable)
{
    g->loss_buckets = LOSS_BUCKETS_MIN;
    g->loss_shift = LOSS_SPAN_SHIFT;
    while (2 * g->loss_buckets * sizeof(struct ring_bucket) <= durable / LOSS_SHARE)
        g->loss_buckets *= 2;
    for (uint32_t buckets = g->loss_buckets; buckets > 1; buckets /= 2)
        g->loss_shift--;
    g->loss_off[0] = g->slots_off + g->slots * sizeof(struct ring_slot);
    g->loss_off[1] = g->loss_off[0] + g->loss_buckets * sizeof(struct ring_bucket);
}

int ring_geometry_init(struct ring_geometry *geometry, uint8_t mode, uint64_t total)
{
    if (mode != SKEIN_MODE_ONESHOT && mode != SKEIN_MODE_CIRCULAR && mode != SKEIN_MODE_STREAMING)
        return SKEIN_INVALID;
    if (total < RING_BYTES_MIN || total > RING_BYTES_MAX || total % 4096 != 0)
        return SKEIN_INVALID;

    /* A multiple of 128 keeps every part below on its own cache lines. */
    uint64_t durable = total / DURABLE_SHARE;
    if (durable > DURABLE_BYTES_MAX)
        durable = DURABLE_BYTES_MAX;
    if (durable < DURABLE_BYTES_MIN)
        durable = DURABLE_BYTES_MIN;
    durable = round_down(durable, 128);
    uint64_t slots = durable / SLOTS_SHARE / sizeof(struct ring_slot);
    if (slots < SLOTS_MIN)
        slots = SLOTS_MIN;

    struct ring_geometry g = {.mode = mode, .total = total, .slots = (uint32_t)slots};
    g.process_off = RING_HEADER_BYTES;
    g.slots_off = g.process_off + RING_PROCESS_RECORD_BYTES;
    losses_place(&g, durable);
    g.table_off[0] = g.loss_off[1] + g.loss_buckets * sizeof(struct ring_bucket);
    uint64_t durable_end = RING_HEADER_BYTES + durable;
    g.table_bytes = round_down((durable_end - g.table_off[0]) / 2, 64);
    g.table_off[1] = g.table_off[0] + g.table_bytes;
    g.area_off[0] = durable_end;
    if (mode == SKEIN_MODE_ONESHOT) {
        g.areas = 1;
        g.rolling = total - RING_HEADER_BYTES;
        area_split(g.rolling - durable, &g.small_per_area, &g.big_per_area);
    } else {
        g.areas = 2;
        g.durable = durable;
        g.rolling = (total - durable_end) / 2;
        g.area_off[1] = g.area_off[0] + g.rolling;
        area_split(g.rolling, &g.small_per_area, &g.big_per_area);
    }
    *geometry = g;
    return SKEIN_OK;
}

uint32_t ring_small_count(const struct ring_geometry *geometry)
{
    return geometry->areas * geometry->small_per_area;
}

uint32_t ring_big_count(const struct ring_geometry *geometry)
{
    return geometry->areas * geometry->big_per_area;
}

uint64_t ring_small_offset(const struct ring_geometry *geometry, uint32_t i)
{
    return geometry->area_off[i / geometry->small_per_area] +
           (uint64_t)(i % geometry->small_per_area) * RING_SMALL_CHUNK;
}

uint64_t ring_big_offset(const struct ring_geometry *geometry, uint32_t i)
{
    return geometry->area_off[i / geometry->big_per_area] +
           (uint64_t)geometry->small_per_area * RING_SMALL_CHUNK +
           (uint64_t)(i % geometry->big_per_area) * RING_BIG_CHUNK;
}
