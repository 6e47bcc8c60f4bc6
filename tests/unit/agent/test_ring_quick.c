/* SPDX-License-Identifier: Apache-2.0
 *
 * The tight loop over plain records beside the decoder that takes one record at a time: the same
 * bytes, whole and damaged, must give the same partition, byte by byte. What whole bytes hold is
 * also read back and held against the records that they were made of.
 */
#include <check.h>
#include <string.h>

#include "partition_reader.h"
#include "quick_rows.h"
#include "support.h"

enum { RECORDS = 3000, TRACES = 40, DAMAGES = 60 };

static uint64_t state;

static uint64_t rnd(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 24;
}

/* Of any length in LEB128. */
static uint64_t number(void)
{
    uint64_t v = rnd() << 24 ^ rnd();
    return rnd() % 3 != 0 ? v % 300 : v >> rnd() % 64;
}

/* ---- bytes of a chunk ---- */

struct wanted { /* of an instant with six numbers */
    uint64_t ticks, args[6];
};
static struct wanted wanted[RECORDS];
static size_t wanted_count;

static void args_put(struct buf *b, const struct partition_event_type *type)
{
    for (unsigned i = 0; i < type->nargs; i++) {
        if (type->args[i].type == SKEIN_T_STR) { /* inline, of three bytes */
            buf_put_uleb(b, 3 << 1 | 1);
            buf_put(b, "abc", 3);
            continue;
        }
        uint64_t v = number();
        if (type->args[i].type == SKEIN_T_F64)
            buf_put_u64(b, v);
        else
            buf_put_uleb(b, v);
        if (type == &quick_types[2])
            wanted[wanted_count].args[i] = v;
    }
}

static void chunk_make(struct buf *b, uint64_t base)
{
    uint64_t ticks = base;
    wanted_count = 0;
    for (unsigned i = 0; i < RECORDS; i++) {
        unsigned kind = (unsigned)(rnd() % 16);
        uint64_t delta = rnd() % 5 == 0 ? rnd() % 3000000 : rnd() % 200;
        ticks += delta;
        if (kind < 3) {
            buf_put_uleb(b, RING_RECORD_END);
            buf_put_uleb(b, delta);
            continue;
        }
        unsigned type = kind < 14 ? kind % 3 : kind < 15 ? 3 + (unsigned)(rnd() % 3) : 5;
        buf_put_uleb(b, RING_EVENT_FIRST + type);
        buf_put_uleb(b, delta);
        if (quick_types[type].klass == SKEIN_CLASS_SPAN)
            buf_put_uleb(b, number());
        args_put(b, &quick_types[type]);
        if (type == 2)
            wanted[wanted_count++].ticks = ticks;
    }
}

/* ---- tests ---- */

static void same_expect(const struct buf *chunk)
{
    struct quick_decoded quick = quick_decode(chunk->data, chunk->len, true);
    struct quick_decoded slow = quick_decode(chunk->data, chunk->len, false);
    ck_assert_int_eq(quick.end, slow.end);
    ck_assert_uint_eq(quick.rows.taken, slow.rows.taken);
    ck_assert_uint_eq(quick.rows.events, slow.rows.events);
    ck_assert_uint_eq(quick.rows.first_ticks, slow.rows.first_ticks);
    ck_assert_uint_eq(quick.rows.last_ticks, slow.rows.last_ticks);
    ck_assert_uint_eq(quick.rows.unnamed, slow.rows.unnamed);
    ck_assert(quick_same(&quick, &slow));
    buf_fini(&quick.bytes);
    buf_fini(&slow.bytes);
}

START_TEST(records_are_those_that_the_chunk_was_made_of)
{
    for (state = 1; state <= TRACES; state++) {
        struct buf chunk = {0};
        char error[256];
        struct partition_reader *r;
        struct trace_event event;
        uint64_t keep = state;
        chunk_make(&chunk, 1000);
        struct quick_decoded d = quick_decode(chunk.data, chunk.len, true);
        ck_assert_int_eq(d.end, RING_DECODE_END);
        ck_assert_uint_eq(d.rows.events, RECORDS);
        ck_assert_int_eq(partition_reader_new(d.bytes.data, d.bytes.len, &r, error, sizeof error),
                         SKEIN_OK);
        size_t at = 0;
        while (partition_reader_next(r, &event) == 1) {
            if (event.type == NULL || strcmp(event.type->name, "plain") != 0)
                continue;
            ck_assert_uint_lt(at, wanted_count);
            ck_assert_uint_eq(event.ticks, wanted[at].ticks);
            for (unsigned i = 0; i < 6; i++)
                ck_assert_uint_eq(event.args[i].u64, wanted[at].args[i]);
            at++;
        }
        ck_assert_uint_eq(at, wanted_count);
        partition_reader_free(&r);
        same_expect(&chunk);
        buf_fini(&d.bytes);
        buf_fini(&chunk);
        state = keep;
    }
}
END_TEST

START_TEST(damaged_bytes_end_where_the_slow_decoder_ends)
{
    for (unsigned trace = 1; trace <= TRACES / 4; trace++) {
        struct buf chunk = {0};
        state = trace * 77;
        chunk_make(&chunk, 1000);
        for (unsigned i = 0; i < DAMAGES; i++) {
            struct buf damaged = {0};
            buf_put(&damaged, chunk.data, chunk.len - rnd() % 400);
            for (uint64_t k = rnd() % 4; k > 0; k--)
                damaged.data[rnd() % damaged.len] = (uint8_t)(rnd() % 3 == 0 ? 0xff : rnd());
            same_expect(&damaged);
            buf_fini(&damaged);
        }
        buf_fini(&chunk);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_quick", records_are_those_that_the_chunk_was_made_of,
                              damaged_bytes_end_where_the_slow_decoder_ends, NULL));
}
