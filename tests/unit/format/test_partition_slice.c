/* SPDX-License-Identifier: Apache-2.0
 * Time slices of a partition: what they hold, that they are sound partitions, and what is read for
 * them. */
#include "partition_slice.h"
#include "reading.h"

#define BATCHES      16u
#define BATCH_EVENTS 2000u
#define BATCH_TICKS  (UINT64_C(10) * BATCH_EVENTS)

struct memory {
    const struct buf *bytes;
    uint64_t read;
};

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    struct memory *memory = context;
    ck_assert(offset <= memory->bytes->len && n <= memory->bytes->len - offset);
    memcpy(out, memory->bytes->data + offset, n);
    memory->read += n;
    return SKEIN_OK;
}

static uint64_t noise(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ (*state >> 29);
}

/* Several blocks and a loss early on; or a thread in one range from its first record to its last.
 */
static void make_blocks(struct buf *out, bool ranged)
{
    struct partition_event_type wide = {.name = "wide",
                                        .text = "",
                                        .file = "",
                                        .klass = SKEIN_CLASS_INSTANT,
                                        .nargs = 4,
                                        .args = {{SKEIN_T_U64, "a", ""},
                                                 {SKEIN_T_U64, "b", ""},
                                                 {SKEIN_T_U64, "c", ""},
                                                 {SKEIN_T_U64, "d", ""}}};
    struct partition_writer *w = writer();
    uint32_t t = add_thread(w, 1);
    uint32_t type = (uint32_t)partition_writer_type(w, &wide);
    uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
    struct partition_value args[SKEIN_ARGS_MAX] = {sample_u64(0)};
    uint64_t state = 1;
    args[0] = sample_str("select");
    partition_writer_batch(w, t, 7, 1, false);
    if (ranged)
        partition_writer_event(w, query, 1, 0, args);
    for (uint32_t i = 0; i < BATCHES; i++) {
        partition_writer_batch(w, t, 7, 1 + i, false);
        for (uint32_t k = 0; k < BATCH_EVENTS; k++) {
            for (unsigned a = 0; a < 4; a++)
                args[a] = sample_u64(noise(&state));
            partition_writer_event(w, type, i * BATCH_TICKS + 10 * (k + 1), 0, args);
        }
    }
    if (ranged)
        partition_writer_end(w, BATCHES * BATCH_TICKS + 1);
    partition_writer_loss(w, &(struct partition_loss){t, PARTITION_LOSS_RING_FULL, 5, 100, 200});
    partition_writer_loss(
        w, &(struct partition_loss){UINT32_MAX, PARTITION_LOSS_SIGNAL, 3, 250000, 250100});
    partition_writer_open(w, &(struct partition_open){t, query, 5000, 4});
    buf_clear(out);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static void make_long(struct buf *out)
{
    make_blocks(out, false);
}

/* The slice as bytes, in pieces of `step`; false where nothing lies in the window. */
static bool slice_make(const struct buf *whole, uint64_t from_ns, uint64_t to_ns, size_t step,
                       struct buf *out)
{
    struct memory memory = {whole, 0};
    struct partition_source source = {memory_read, &memory, whole->len};
    struct partition_slice slice;
    ck_assert_int_eq(partition_slice_plan(&source, from_ns, to_ns, &slice), SKEIN_OK);
    buf_clear(out);
    for (uint64_t at = 0; at < slice.bytes;) {
        size_t n = slice.bytes - at < step ? (size_t)(slice.bytes - at) : step;
        ck_assert_ptr_nonnull(buf_reserve(out, n));
        ck_assert_int_eq(partition_slice_read(&slice, &source, at, out->data + out->len, n),
                         SKEIN_OK);
        out->len += n;
        at += n;
    }
    partition_slice_fini(&slice);
    return out->len > 0;
}

static void expect_sound(const struct buf *bytes)
{
    char error[256] = "";
    int status = partition_check(bytes->data, bytes->len, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, error);
}

static struct partition_footer footer_of(const struct buf *bytes)
{
    struct partition_footer footer;
    size_t need;
    ck_assert_int_eq(partition_footer_get(bytes->data, bytes->len, &footer, &need), SKEIN_OK);
    return footer;
}

/* Instants of the partition within the ticks. */
static uint64_t instants(const struct buf *bytes, uint64_t from, uint64_t to)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    uint64_t count = 0;
    int status;
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    while ((status = partition_reader_next(reader, &event)) == 1)
        count += event.kind == TRACE_INSTANT && event.ticks >= from && event.ticks <= to;
    ck_assert_int_eq(status, 0);
    partition_reader_free(&reader);
    return count;
}

START_TEST(slice_is_a_sound_partition_with_every_record_of_the_window)
{
    struct buf whole = {0}, slice = {0};
    make_long(&whole);
    struct partition_footer all = footer_of(&whole);
    ck_assert_uint_gt(all.block_count, 3);
    uint64_t last = BATCHES * BATCH_TICKS;
    for (uint64_t from = 10; from < last; from += last / 7)
        for (uint64_t to = from; to < last; to += last / 5) {
            ck_assert(slice_make(&whole, SAMPLE_NS(from), SAMPLE_NS(to), 100000, &slice));
            expect_sound(&slice);
            struct partition_footer f = footer_of(&slice);
            uint64_t events = 0;
            for (size_t i = 0; i < all.block_count; i++)
                if (all.blocks[i].since_ticks <= to && all.blocks[i].until_ticks >= from)
                    events += all.blocks[i].events;
            ck_assert_uint_eq(f.events, events);
            ck_assert_uint_eq(instants(&slice, from, to), instants(&whole, from, to));
            ck_assert(f.slice);
            ck_assert_uint_eq(f.left_out_events, all.events - events);
            ck_assert(slice.len < whole.len || all.block_count == f.block_count);
            partition_footer_free(&f);
        }
    partition_footer_free(&all);
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

START_TEST(any_byte_range_of_a_slice_is_the_same_bytes)
{
    struct buf whole = {0}, slice = {0}, again = {0};
    make_long(&whole);
    ck_assert(slice_make(&whole, SAMPLE_NS(100000), SAMPLE_NS(200000), SIZE_MAX, &slice));
    static const size_t steps[] = {7, 4096, 100001};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(slice_make(&whole, SAMPLE_NS(100000), SAMPLE_NS(200000), steps[i], &again));
        ck_assert_uint_eq(again.len, slice.len);
        ck_assert_mem_eq(again.data, slice.data, slice.len);
    }
    buf_fini(&whole);
    buf_fini(&slice);
    buf_fini(&again);
}
END_TEST

START_TEST(partition_inside_the_window_is_its_own_slice_and_one_outside_is_nothing)
{
    struct buf whole = {0}, slice = {0};
    make_long(&whole);
    ck_assert(slice_make(&whole, 0, UINT64_MAX, SIZE_MAX, &slice));
    ck_assert_uint_eq(slice.len, whole.len);
    ck_assert_mem_eq(slice.data, whole.data, whole.len);
    ck_assert(!slice_make(&whole, 0, SAMPLE_NS(0), SIZE_MAX, &slice));
    ck_assert(!slice_make(&whole, SAMPLE_NS(900001), UINT64_MAX, SIZE_MAX, &slice));
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

START_TEST(only_ends_and_needed_blocks_are_read)
{
    struct buf whole = {0};
    make_long(&whole);
    struct memory memory = {&whole, 0};
    struct partition_source source = {memory_read, &memory, whole.len};
    struct partition_slice slice;
    ck_assert_int_eq(partition_slice_plan(&source, SAMPLE_NS(100000), SAMPLE_NS(100001), &slice),
                     SKEIN_OK);
    ck_assert_uint_lt(memory.read, 20000);
    ck_assert_uint_lt(slice.bytes, whole.len / 2);
    partition_slice_fini(&slice);
    buf_fini(&whole);
}
END_TEST

START_TEST(losses_outside_the_window_are_left_out_and_operations_in_progress_stay)
{
    struct buf whole = {0}, slice = {0};
    make_long(&whole);
    ck_assert(slice_make(&whole, SAMPLE_NS(240000), SAMPLE_NS(260000), SIZE_MAX, &slice));
    struct partition_footer f = footer_of(&slice);
    ck_assert_uint_eq(f.loss_count, 1);
    ck_assert_uint_eq(f.lost, 3);
    partition_footer_free(&f);
    /* behind the last record, inside the window that the cut set out to hold */
    ck_assert(slice_make(&whole, SAMPLE_NS(400000), SAMPLE_NS(500000), SIZE_MAX, &slice));
    expect_sound(&slice);
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    ck_assert_int_eq(partition_reader_new(slice.data, slice.len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_int_eq(partition_reader_next(reader, &event), 1);
    ck_assert_int_eq(event.kind, TRACE_OPEN);
    ck_assert(event.has_detail);
    ck_assert_int_eq(partition_reader_next(reader, &event), 0);
    partition_reader_free(&reader);
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

/* The last event of the kind, operations aside. */
static struct trace_event last_of(struct partition_reader *reader, uint8_t kind, unsigned *count)
{
    struct trace_event event, last = {0};
    *count = 0;
    while (partition_reader_next(reader, &event) == 1)
        if (event.kind == kind && !event.has_detail) {
            last = event;
            ++*count;
        }
    return last;
}

START_TEST(range_around_the_window_comes_with_its_begin_and_its_end_and_without_what_is_between)
{
    struct buf whole = {0}, slice = {0};
    struct partition_reader *reader;
    char error[256];
    unsigned count;
    make_blocks(&whole, true);
    ck_assert(slice_make(&whole, SAMPLE_NS(150000), SAMPLE_NS(150100), SIZE_MAX, &slice));
    expect_sound(&slice);
    struct partition_footer f = footer_of(&slice), all = footer_of(&whole);
    ck_assert_uint_eq(f.block_count, 3);
    ck_assert_uint_gt(all.block_count, 4);
    ck_assert_int_eq(partition_reader_new(slice.data, slice.len, &reader, error, sizeof error), 0);
    struct trace_event region = last_of(reader, TRACE_REGION, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert(!region.begin_clipped && !region.end_clipped);
    ck_assert_uint_eq(region.time_ns, SAMPLE_NS(1));
    ck_assert_uint_eq(region.dur_ns, UINT64_C(64) * BATCHES * BATCH_TICKS);
    ck_assert_mem_eq(region.args[0].str.text, "select", 6);
    partition_footer_free(&f);
    partition_footer_free(&all);
    partition_reader_free(&reader);
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

/* ---- what is open in the window ---- */

#define RANDOM_THREADS 3u
#define RANDOM_RECORDS 16000u /* of a thread */

struct random_thread {
    uint32_t id, depth;
    uint64_t ticks, sequence;
};

/* Some records of a thread: ranges, spans, silence, and enough besides to fill blocks. */
static void random_records(struct partition_writer *w, struct random_thread *t, uint32_t records,
                           const uint32_t types[3], uint64_t *state, uint64_t *number)
{
    struct partition_value args[SKEIN_ARGS_MAX] = {sample_u64(0)};
    partition_writer_batch(w, t->id, 7, t->sequence++, false);
    for (uint32_t i = 0; i < records; i++) {
        uint64_t what = noise(state) % 1000;
        t->ticks += what == 0 ? 40000 : noise(state) % 20;
        args[0] = sample_u64(++*number);
        for (unsigned a = 1; a < 4; a++)
            args[a] = sample_u64(noise(state));
        if (what < 6 && t->depth < 6) {
            partition_writer_event(w, types[1], t->ticks, 0, args);
            t->depth++;
        } else if (what < 12 && t->depth > 0) {
            partition_writer_end(w, t->ticks);
            t->depth--;
        } else if (what < 20) {
            uint64_t longest = noise(state) % 8 == 0 ? 60000 : 60;
            partition_writer_event(w, types[2], t->ticks, noise(state) % longest, args);
        } else {
            partition_writer_event(w, types[0], t->ticks, 0, args);
        }
    }
}

/* Threads that begin inside ranges and end inside others, one after the other or in turn. */
static void make_random(uint64_t seed, struct buf *out)
{
    static const struct partition_arg number = {SKEIN_T_U64, "number", ""};
    struct partition_event_type wide = {.name = "wide",
                                        .text = "",
                                        .file = "",
                                        .klass = SKEIN_CLASS_INSTANT,
                                        .nargs = 4,
                                        .args = {number, number, number, number}};
    struct partition_event_type range = wide, span = wide;
    range.name = "range", range.klass = SKEIN_CLASS_RANGE_BEGIN, range.nargs = 1;
    span.name = "span", span.klass = SKEIN_CLASS_SPAN, span.nargs = 1;
    struct partition_writer *w = writer();
    const uint32_t types[3] = {(uint32_t)partition_writer_type(w, &wide),
                               (uint32_t)partition_writer_type(w, &range),
                               (uint32_t)partition_writer_type(w, &span)};
    struct random_thread threads[RANDOM_THREADS];
    uint64_t state = seed, count = 0;
    uint32_t some = seed % 2 == 0 ? RANDOM_RECORDS : 500;
    for (uint32_t i = 0; i < RANDOM_THREADS; i++) {
        threads[i] = (struct random_thread){add_thread(w, i), i, 1000 + noise(&state) % 50000, 1};
        partition_writer_batch(w, threads[i].id, 7, threads[i].sequence, false);
        for (uint32_t d = 0; d < i; d++)
            partition_writer_open_range(w, types[1], 100 * d + i);
    }
    for (uint32_t done = 0; done < RANDOM_RECORDS; done += some)
        for (uint32_t i = 0; i < RANDOM_THREADS; i++)
            random_records(w, &threads[i], some, types, &state, &count);
    buf_clear(out);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

/* What lasts for a time: ranges and spans, those without end among them. */
enum { LASTING_FROM, LASTING_DUR, LASTING_NUMBER, LASTING_WHAT, LASTING_FIELDS };
struct lasting {
    uint64_t is[LASTING_FIELDS];
};

static int lasting_compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct lasting));
}

/* Those that touch the window, sorted; the caller frees. */
static struct lasting *lasting_of(const struct buf *bytes, uint64_t from_ns, uint64_t to_ns,
                                  size_t *count)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    struct lasting *all = calloc(RANDOM_RECORDS * RANDOM_THREADS, sizeof *all);
    *count = 0;
    ck_assert_ptr_nonnull(all);
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1) {
        bool lasts = event.kind == TRACE_REGION || event.kind == TRACE_OPEN;
        if (!lasts || event.time_ns > to_ns || event.time_ns + event.dur_ns < from_ns)
            continue;
        struct lasting *l = &all[(*count)++];
        l->is[LASTING_FROM] = event.time_ns;
        l->is[LASTING_DUR] = event.dur_ns;
        l->is[LASTING_NUMBER] = event.args[0].u64;
        l->is[LASTING_WHAT] = (uint64_t)event.thread->tid << 10 | (uint64_t)event.kind << 2 |
                              (uint64_t)event.begin_clipped << 1 | event.end_clipped;
    }
    partition_reader_free(&reader);
    qsort(all, *count, sizeof *all, lasting_compare);
    return all;
}

static void expect_same_lasting(const struct buf *whole, const struct buf *slice, uint64_t from_ns,
                                uint64_t to_ns)
{
    size_t want, got;
    struct lasting *a = lasting_of(whole, from_ns, to_ns, &want);
    struct lasting *b = lasting_of(slice, from_ns, to_ns, &got);
    ck_assert_uint_eq(got, want);
    for (size_t i = 0; i < want; i++)
        for (unsigned k = 0; k < LASTING_FIELDS; k++)
            ck_assert_msg(a[i].is[k] == b[i].is[k], "%llu: field %u: %llu, in the slice %llu",
                          (unsigned long long)a[i].is[LASTING_NUMBER], k,
                          (unsigned long long)a[i].is[k], (unsigned long long)b[i].is[k]);
    free(a);
    free(b);
}

START_TEST(slice_says_of_all_that_lasts_into_its_window_what_the_whole_says)
{
    struct buf whole = {0}, slice = {0};
    uint64_t state = 77;
    unsigned smaller = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        make_random(seed, &whole);
        expect_sound(&whole);
        for (unsigned i = 0; i < 12; i++) {
            uint64_t from = noise(&state) % 1000000, to = from + noise(&state) % 3000;
            if (!slice_make(&whole, SAMPLE_NS(from), SAMPLE_NS(to), 100000, &slice))
                continue;
            expect_sound(&slice);
            expect_same_lasting(&whole, &slice, SAMPLE_NS(from), SAMPLE_NS(to));
            smaller += slice.len < whole.len / 2;
        }
    }
    ck_assert_uint_gt(smaller, 3);
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

START_TEST(slice_of_a_slice_says_what_both_left_out)
{
    struct buf whole = {0}, once = {0}, twice = {0}, direct = {0};
    make_long(&whole);
    ck_assert(slice_make(&whole, SAMPLE_NS(50000), SAMPLE_NS(250000), SIZE_MAX, &once));
    ck_assert(slice_make(&once, SAMPLE_NS(150000), SAMPLE_NS(160000), SIZE_MAX, &twice));
    ck_assert(slice_make(&whole, SAMPLE_NS(150000), SAMPLE_NS(160000), SIZE_MAX, &direct));
    expect_sound(&twice);
    ck_assert_uint_eq(twice.len, direct.len);
    ck_assert_mem_eq(twice.data, direct.data, direct.len);
    buf_fini(&whole);
    buf_fini(&once);
    buf_fini(&twice);
    buf_fini(&direct);
}
END_TEST

START_TEST(changed_bytes_are_refused_or_give_bytes_that_a_reader_can_judge)
{
    struct buf whole = {0}, slice = {0};
    ck_assert_int_eq(sample_partition(&whole), SKEIN_OK);
    for (size_t i = 0; i < whole.len; i++) {
        struct memory memory = {&whole, 0};
        struct partition_source source = {memory_read, &memory, whole.len};
        struct partition_slice plan;
        whole.data[i] ^= 0x11;
        int status = partition_slice_plan(&source, SAMPLE_NS(2000), SAMPLE_NS(2100), &plan);
        ck_assert(status == SKEIN_OK || status == SKEIN_CORRUPT || status == SKEIN_VERSION);
        partition_slice_fini(&plan);
        whole.data[i] ^= 0x11;
    }
    buf_fini(&whole);
    buf_fini(&slice);
}
END_TEST

/* Each event has the stack of its number, here and in the slice, whose tables are the whole's. */
START_TEST(a_slice_keeps_each_records_stack)
{
    static const struct partition_event_type tick = {
        .name = "tick", .klass = SKEIN_CLASS_INSTANT, .nargs = 1, .args = {{SKEIN_T_U64, "n", ""}}};
    enum { EVENTS = 200000, STACKS = 50 };
    struct partition_writer *w = writer();
    struct buf whole = {0}, cut = {0};
    uint32_t type = (uint32_t)partition_writer_type(w, &tick);
    uint64_t state = 1, seen = 0;
    for (uint64_t i = 0; i < STACKS; i++)
        ck_assert_int_eq(partition_writer_stack(w, &(struct partition_stack){&i, 1, 0}),
                         (int64_t)i + 1);
    const struct partition_line line = {"f", "", 0};
    partition_writer_symbol(w, &(struct partition_symbol){6, &line, 1});
    partition_writer_batch(w, add_thread(w, 1), 7, 1, false);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct partition_value args[1] = {
            sample_u64((noise(&state) >> 8) / STACKS * STACKS + i % STACKS)};
        partition_writer_event(w, type, 10 + i, 0, args);
        partition_writer_event_stack(w, i % STACKS);
    }
    ck_assert_int_eq(partition_writer_finish(w, &whole, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert(slice_make(&whole, SAMPLE_NS(100000), SAMPLE_NS(100100), 4096, &cut));
    ck_assert_uint_lt(cut.len, whole.len / 2);
    expect_sound(&cut);
    char error[256];
    struct partition_reader *reader;
    struct trace_event event;
    struct partition_symbol symbol;
    ck_assert_int_eq(partition_reader_new(cut.data, cut.len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_uint_eq(partition_reader_stack_count(reader), STACKS);
    ck_assert(partition_reader_symbol(reader, 6, &symbol));
    while (partition_reader_next(reader, &event) == 1) {
        must_hold(event.stack == (event.args[0].u64 % STACKS), "%u", event.stack);
        seen++;
    }
    ck_assert_uint_gt(seen, 100);
    ck_assert_uint_lt(seen, EVENTS);
    partition_reader_free(&reader);
    buf_fini(&whole);
    buf_fini(&cut);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "partition_slice", slice_is_a_sound_partition_with_every_record_of_the_window,
        any_byte_range_of_a_slice_is_the_same_bytes,
        partition_inside_the_window_is_its_own_slice_and_one_outside_is_nothing,
        only_ends_and_needed_blocks_are_read,
        losses_outside_the_window_are_left_out_and_operations_in_progress_stay,
        range_around_the_window_comes_with_its_begin_and_its_end_and_without_what_is_between,
        slice_says_of_all_that_lasts_into_its_window_what_the_whole_says,
        slice_of_a_slice_says_what_both_left_out,
        changed_bytes_are_refused_or_give_bytes_that_a_reader_can_judge,
        a_slice_keeps_each_records_stack, NULL));
}
