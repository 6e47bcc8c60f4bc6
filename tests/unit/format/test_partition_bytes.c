/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's bytes stay what they were: a made trace that has all that batches can have, packed,
 * hashes to what the writer of version 1.3 gave before it was made fast. What LZ4 makes of blocks is
 * LZ4's own, so sections are unpacked first, and figures of stored bytes are left out.
 */
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "checksum.h"
#include "pack_lz4.h"
#include "partition_writer_int.h"
#include "reading.h"

static uint64_t rnd(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 29;
}

/* ---- a trace ---- */

enum { TYPES = 6, THREADS = 5 };

static const struct partition_event_type made_types[TYPES] = {
    {.name = "request",
     .klass = SKEIN_CLASS_RANGE_BEGIN,
     .nargs = 1,
     .args = {{SKEIN_T_U64, "id", ""}}},
    {.name = "step",
     .klass = SKEIN_CLASS_INSTANT,
     .nargs = 3,
     .args = {{SKEIN_T_I64, "n", ""}, {SKEIN_T_BOOL, "hit", ""}, {SKEIN_T_F64, "share", ""}}},
    {.name = "read",
     .klass = SKEIN_CLASS_SPAN,
     .nargs = 6,
     .args = {{SKEIN_T_U64, "a", ""},
              {SKEIN_T_U64, "b", ""},
              {SKEIN_T_PTR, "at", ""},
              {SKEIN_T_U64, "d", ""},
              {SKEIN_T_U64, "e", ""},
              {SKEIN_T_U64, "f", ""}}},
    {.name = "log",
     .klass = SKEIN_CLASS_LOG,
     .nargs = 2,
     .args = {{SKEIN_T_U64, "level", ""}, {SKEIN_T_STR, "text", ""}}},
    {.name = "sent", .klass = SKEIN_CLASS_INSTANT, .nargs = 1, .args = {{SKEIN_T_SEQ, "to", ""}}},
    {.name = "inner", .klass = SKEIN_CLASS_RANGE_BEGIN},
};

struct made {
    struct partition_writer *w;
    uint32_t types[TYPES], threads[THREADS], stack;
    uint64_t state, ticks[THREADS], sequence[THREADS];
    unsigned bits; /* so wide are numbers at most */
};

static uint64_t number(struct made *m)
{
    uint64_t v = rnd(&m->state);
    unsigned shift = (unsigned)(rnd(&m->state) % m->bits);
    return v >> shift & ((UINT64_C(1) << (m->bits % 36)) - 1);
}

static void event_put(struct made *m, unsigned type, uint64_t ticks)
{
    struct partition_value args[6];
    char text[32];
    for (unsigned i = 0; i < 6; i++)
        args[i].u64 = number(m);
    if (type == 1)
        args[0].i64 = (int64_t)number(m) - 1000;
    if (type == 3) {
        snprintf(text, sizeof text, "slow query %u", (unsigned)(rnd(&m->state) % 40));
        args[1] = sample_str(text);
    }
    if (type == 4)
        args[0] = sample_seq(rnd(&m->state) % 3, m->ticks[0]);
    partition_writer_event(m->w, m->types[type], ticks, type == 2 ? number(m) : 0, args);
    if (m->stack != 0 && rnd(&m->state) % 7 == 0)
        partition_writer_event_stack(m->w, m->stack);
}

/* A batch: `ends` of 16 records are ends, `begins` begins, the rest of all other types. */
static void batch_put(struct made *m, unsigned thread, unsigned events, unsigned begins,
                      unsigned ends)
{
    for (unsigned i = 0; i < events; i++) {
        uint64_t kind = rnd(&m->state) % 16;
        m->ticks[thread] += rnd(&m->state) % 300;
        uint64_t ticks = m->ticks[thread] - (rnd(&m->state) % 97 == 0 ? 40 : 0);
        if (kind < ends)
            partition_writer_end(m->w, ticks);
        else if (kind < ends + begins)
            event_put(m, kind % 2 != 0 ? 0 : 5, ticks);
        else
            event_put(m, 1 + (unsigned)(rnd(&m->state) % 4), ticks);
    }
}

static void begin(struct made *m, unsigned thread, unsigned step, bool late)
{
    m->sequence[thread] += step;
    partition_writer_batch(m->w, m->threads[thread], 7, m->sequence[thread], late);
}

/* Merged batches, holes in the sequence, listed ranges, few and many. */
static void batches_put(struct made *m, unsigned batches, unsigned begins, unsigned ends)
{
    for (unsigned i = 0; i < batches; i++) {
        unsigned thread = (unsigned)(rnd(&m->state) % THREADS);
        unsigned step = (unsigned)(rnd(&m->state) % 5);
        begin(m, thread, step > 2 ? 3 : step, i % 11 == 0);
        unsigned lists = step > 2 ? (unsigned)(rnd(&m->state) % 4) : 0;
        for (unsigned k = 0; k < lists; k++)
            partition_writer_open_range(m->w, (int64_t)(k % 2) - 1, m->ticks[thread] - 9 * k);
        batch_put(m, thread, (unsigned)(rnd(&m->state) % (i % 9 == 0 ? 20000 : 900)), begins, ends);
    }
}

static void made_start(struct made *m, uint64_t seed, unsigned bits)
{
    *m = (struct made){.w = writer(), .state = seed, .bits = bits};
    for (unsigned i = 0; i < TYPES; i++)
        m->types[i] = (uint32_t)partition_writer_type(m->w, &made_types[i]);
    for (unsigned i = 0; i < THREADS; i++) {
        m->threads[i] = add_thread(m->w, 10 + i);
        m->ticks[i] = 5000 + i;
    }
    uint64_t frames[2] = {0x401000, 0x402000};
    struct partition_stack stack = {.pcs = frames, .count = 2};
    m->stack = seed % 2 != 0 ? (uint32_t)partition_writer_stack(m->w, &stack) : 0;
}

static void made_fill(struct made *m)
{
    batches_put(m, 60, 3, 3);
    batches_put(m, 25, 6, 2); /* deeper and deeper */
}

static void made_fill_rest(struct made *m)
{
    batches_put(m, 25, 1, 7);
    begin(m, 0, 1, false); /* beyond the ranges of a thread that are followed */
    batch_put(m, 0, 12000, 15, 1);
    batch_put(m, 0, 9000, 0, 16);
    batches_put(m, 40, 4, 4);
}

/* ---- its hash ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    uint64_t both[2] = {hash, checksum64(bytes, n)};
    return checksum64(both, sizeof both);
}

static uint64_t u64_at(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = n; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

/* All sections but INFO's and the FOOTER's own, unpacked, with the block table's true figures. */
static uint64_t partition_hash(const struct buf *bytes)
{
    static uint8_t raw[PARTITION_BLOCK_RAW_MAX];
    struct partition_footer footer;
    size_t need;
    uint64_t hash = 0;
    ck_assert_int_eq(partition_footer_get(bytes->data, bytes->len, &footer, &need), SKEIN_OK);
    for (size_t at = 32; at < bytes->len - 32;) {
        const uint8_t *head = bytes->data + at;
        uint64_t kind = u64_at(head, 2), raw_bytes = u64_at(head + 4, 4);
        uint64_t length = u64_at(head + 8, 8);
        if (head[2] == 0) {
            hash = kind == 10 ? hash : mix(hash, head + 24, length);
        } else {
            ck_assert_int_eq(lz4_unpack(head + 24, length, raw, raw_bytes), SKEIN_OK);
            hash = mix(hash, raw, raw_bytes);
        }
        at += 24 + length;
    }
    for (size_t i = 0; i < footer.block_count; i++) {
        struct partition_block *b = &footer.blocks[i];
        uint64_t figures[] = {b->raw_bytes, b->threads,     b->events,     b->from_ticks,
                              b->to_ticks,  b->since_ticks, b->until_ticks};
        hash = mix(hash, figures, sizeof figures);
    }
    for (size_t i = 0; i < footer.type_count; i++)
        hash = mix(hash, &footer.types[i].events, sizeof footer.types[i].events);
    for (size_t i = 0; i < footer.open_range_count; i++)
        hash = mix(hash, &footer.open_ranges[i].since_ticks, sizeof(uint64_t));
    uint64_t figures[] = {footer.events, footer.from_ns, footer.to_ns, footer.fixed_up,
                          footer.open_range_count};
    hash = mix(hash, figures, sizeof figures);
    partition_footer_free(&footer);
    return hash;
}

static const struct {
    uint64_t seed;
    unsigned bits;
    uint64_t hash;
} traces[] = {
    {1, 7, UINT64_C(0x38441a08b32f6291)},  {2, 14, UINT64_C(0x7d6c3c0ca2291a35)},
    {3, 20, UINT64_C(0xbba99d204857a47d)}, {4, 28, UINT64_C(0x574b20262ea66aff)},
    {5, 34, UINT64_C(0xff3c9d1c12f74862)}, {6, 3, UINT64_C(0xcfb1cc809ad63f3c)},
};

/* How the writer is helped. */
enum help { ALONE, HELPED, HELPED_LATE, NOBODY_COMES };

static void *help_main(void *writer)
{
    partition_writer_help(writer);
    return NULL;
}

static void lend_note(void *context, bool lent)
{
    int *depth = context;
    *depth += lent ? 1 : -1;
    ck_assert(*depth == 0 || *depth == 1);
}

static uint64_t made_hash(size_t trace, enum help help)
{
    struct made m;
    struct buf bytes = {0};
    pthread_t thread;
    int lent = 0;
    const struct partition_lend lend = {lend_note, &lent};
    made_start(&m, traces[trace].seed, traces[trace].bits);
    if (help != ALONE)
        ck_assert_int_eq(partition_writer_share(m.w, trace % 2 != 0 ? &lend : NULL), SKEIN_OK);
    if (help == HELPED)
        ck_assert_int_eq(pthread_create(&thread, NULL, help_main, m.w), 0);
    made_fill(&m);
    if (help == HELPED_LATE)
        ck_assert_int_eq(pthread_create(&thread, NULL, help_main, m.w), 0);
    made_fill_rest(&m);
    ck_assert_int_eq(partition_writer_finish(m.w, &bytes, NULL), SKEIN_OK);
    ck_assert_int_eq(lent, 0);
    if (help == HELPED || help == HELPED_LATE)
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    partition_writer_free(&m.w);
    uint64_t hash = partition_hash(&bytes);
    buf_fini(&bytes);
    return hash;
}

START_TEST(the_bytes_are_those_of_the_first_writer)
{
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        ck_assert_uint_eq(made_hash(i, ALONE), traces[i].hash);
}
END_TEST

START_TEST(a_second_thread_changes_no_byte)
{
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        ck_assert_uint_eq(made_hash(i, HELPED), traces[i].hash);
        ck_assert_uint_eq(made_hash(i, HELPED_LATE), traces[i].hash);
    }
}
END_TEST

START_TEST(a_helper_that_never_comes_is_not_missed)
{
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        ck_assert_uint_eq(made_hash(i, NOBODY_COMES), traces[i].hash);
}
END_TEST

START_TEST(a_helper_is_sent_away_before_the_end)
{
    struct made m;
    pthread_t thread;
    made_start(&m, 1, 7);
    partition_writer_unshare(m.w); /* of one that is not shared: nothing */
    ck_assert_int_eq(partition_writer_share(m.w, NULL), SKEIN_OK);
    ck_assert_int_eq(partition_writer_share(m.w, NULL), SKEIN_INVALID);
    ck_assert_int_eq(pthread_create(&thread, NULL, help_main, m.w), 0);
    batches_put(&m, 60, 3, 3);
    partition_writer_unshare(m.w);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    partition_writer_free(&m.w);
}
END_TEST

/* A thread that has the pipe's mutex until it is lent the writer's turn. */
struct holder {
    pthread_mutex_t *mutex;
    sem_t has, lent;
    int lends;
};

static void *hold_main(void *context)
{
    struct holder *holder = context;
    pthread_mutex_lock(holder->mutex);
    sem_post(&holder->has);
    while (sem_wait(&holder->lent) != 0)
        ;
    pthread_mutex_unlock(holder->mutex);
    return NULL;
}

static void lend_to_holder(void *context, bool lent)
{
    struct holder *holder = context;
    holder->lends += lent ? 1 : -1;
    if (lent)
        sem_post(&holder->lent);
}

/* Without the loan the two would wait for each other, and the test for its end. */
START_TEST(who_has_the_mutex_is_lent_the_turn_of_who_waits_for_it)
{
    struct made m;
    pthread_t thread;
    struct holder holder = {.lends = 0};
    const struct partition_lend lend = {lend_to_holder, &holder};
    made_start(&m, 1, 7);
    holder.mutex = &m.w->pack.pipe.mutex;
    ck_assert_int_eq(sem_init(&holder.has, 0, 0), 0);
    ck_assert_int_eq(sem_init(&holder.lent, 0, 0), 0);
    ck_assert_int_eq(partition_writer_share(m.w, &lend), SKEIN_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_main, &holder), 0);
    while (sem_wait(&holder.has) != 0)
        ;
    partition_writer_unshare(m.w);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(holder.lends, 0);
    partition_writer_free(&m.w);
}
END_TEST

START_TEST(misuse_of_a_shared_writer_is_reported_at_the_end)
{
    struct made m;
    struct buf bytes = {0};
    made_start(&m, 1, 7);
    ck_assert_int_eq(partition_writer_share(m.w, NULL), SKEIN_OK);
    batches_put(&m, 30, 3, 3);
    partition_writer_batch(m.w, 999, 7, 1, false);
    ck_assert_int_eq(partition_writer_finish(m.w, &bytes, NULL), SKEIN_INVALID);
    ck_assert_uint_eq(bytes.len, 0);
    partition_writer_free(&m.w);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "partition_bytes", the_bytes_are_those_of_the_first_writer, a_second_thread_changes_no_byte,
        a_helper_that_never_comes_is_not_missed, a_helper_is_sent_away_before_the_end,
        who_has_the_mutex_is_lent_the_turn_of_who_waits_for_it,
        misuse_of_a_shared_writer_is_reported_at_the_end, NULL));
}
