/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout holds its invariants for every mode and many sizes, and refuses what is none.
 */
#include <string.h>

#include "ring_layout.h"
#include "skein/skein.h"
#include "support.h"

static void check_sizes(const struct ring_geometry *g)
{
    if (g->mode == SKEIN_MODE_ONESHOT)
        ck_assert_uint_eq(g->total, RING_HEADER_BYTES + g->rolling);
    else
        ck_assert_uint_eq(g->total, RING_HEADER_BYTES + g->durable + 2 * g->rolling);
    ck_assert_uint_eq(g->durable % 8 + g->rolling % 8, 0);
    ck_assert_uint_eq(g->areas, g->mode == SKEIN_MODE_ONESHOT ? 1 : 2);
    ck_assert_uint_ge(g->slots, 4);
    ck_assert_uint_eq(g->process_off, RING_HEADER_BYTES);
    ck_assert_uint_eq(g->slots_off, g->process_off + RING_PROCESS_RECORD_BYTES);
    ck_assert_uint_eq(g->loss_off[0], g->slots_off + g->slots * sizeof(struct ring_slot));
    ck_assert_uint_eq(g->loss_off[1], g->loss_off[0] + 16 * g->loss_buckets);
    ck_assert_uint_eq(g->table_off[0], g->loss_off[1] + 16 * g->loss_buckets);
    ck_assert_uint_eq(g->loss_buckets & (g->loss_buckets - 1), 0);
    ck_assert_uint_eq((uint64_t)g->loss_buckets << g->loss_shift, UINT64_C(1) << 30);
    ck_assert_uint_lt(g->loss_shift, RING_LOSS_TICK_BITS);
    ck_assert_uint_eq(g->table_off[1], g->table_off[0] + g->table_bytes);
    ck_assert_uint_le(g->table_off[1] + g->table_bytes, g->area_off[0]);
    ck_assert_uint_gt(g->table_bytes, 1024);
}

/* Chunks follow each other without overlap and end inside the ring. */
static void check_chunks(const struct ring_geometry *g)
{
    ck_assert_uint_ge(g->small_per_area, 2);
    for (uint32_t area = 0; area < g->areas; area++) {
        uint64_t at = g->area_off[area];
        for (uint32_t i = 0; i < g->small_per_area; i++, at += RING_SMALL_CHUNK)
            ck_assert_uint_eq(ring_small_offset(g, area * g->small_per_area + i), at);
        for (uint32_t i = 0; i < g->big_per_area; i++, at += RING_BIG_CHUNK)
            ck_assert_uint_eq(ring_big_offset(g, area * g->big_per_area + i), at);
        uint64_t end = area + 1 < g->areas ? g->area_off[1] : g->total;
        ck_assert_uint_le(at, end);
        ck_assert_uint_lt(end - at, RING_SMALL_CHUNK);
        ck_assert_uint_eq(g->area_off[area] % 64, 0);
    }
    ck_assert_uint_eq(ring_small_count(g), g->areas * g->small_per_area);
    ck_assert_uint_eq(ring_big_count(g), g->areas * g->big_per_area);
}

START_TEST(layout_holds_its_invariants_in_every_size)
{
    for (int mode = SKEIN_MODE_ONESHOT; mode <= SKEIN_MODE_STREAMING; mode++) {
        for (uint64_t total = RING_BYTES_MIN; total <= RING_BYTES_MAX;
             total += total / 7 / 4096 * 4096) {
            struct ring_geometry g;
            ck_assert_int_eq(ring_geometry_init(&g, (uint8_t)mode, total), SKEIN_OK);
            check_sizes(&g);
            if (total < 64 << 20)
                check_chunks(&g);
            total += 4096;
        }
    }
}
END_TEST

START_TEST(layout_refuses_what_is_no_size_or_mode)
{
    struct ring_geometry g, before;
    memset(&g, 0x5a, sizeof g);
    before = g;
    ck_assert_int_eq(ring_geometry_init(&g, 0, RING_BYTES_MIN), SKEIN_INVALID);
    ck_assert_int_eq(ring_geometry_init(&g, 4, RING_BYTES_MIN), SKEIN_INVALID);
    ck_assert_int_eq(ring_geometry_init(&g, 2, RING_BYTES_MIN - 4096), SKEIN_INVALID);
    ck_assert_int_eq(ring_geometry_init(&g, 2, RING_BYTES_MAX + 4096), SKEIN_INVALID);
    ck_assert_int_eq(ring_geometry_init(&g, 2, RING_BYTES_MIN + 8), SKEIN_INVALID);
    ck_assert_mem_eq(&g, &before, sizeof g);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_layout", layout_holds_its_invariants_in_every_size,
                              layout_refuses_what_is_no_size_or_mode, NULL));
}
