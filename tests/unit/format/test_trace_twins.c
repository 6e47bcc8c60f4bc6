/* SPDX-License-Identifier: Apache-2.0
 * Partitions of a trace that bear the same number: what is the same is given once, what differs is not
 * lost, and what is left out is told.
 */
#include "alloc_fail.h"
#include "buf.h"
#include "made_trace.h"
#include "partition_rename.h"
#include "partition_slice.h"
#include "trace_twins.h"

static const struct made_process one = {100, 0};

enum { BLOCKS = 40, RECORDS = 4000 };

/* Instants of one thread, from tick `from` on; `text` is in each. */
static void cut_put(struct buf *out, uint64_t from, unsigned count, const char *text)
{
    struct partition_info info = made_info(&one, 1, 0, RECORDS * BLOCKS);
    struct partition_writer *w = made_writer(&info);
    partition_writer_batch(w, made_thread(w, 100), 1, 1, false);
    uint32_t type = (uint32_t)partition_writer_type(w, &made_instant);
    for (unsigned i = 0; i < count; i++) {
        struct partition_value args[2] = {{.u64 = i}, sample_str(text)};
        partition_writer_event(w, type, from + i, 0, args);
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    memcpy(out, ((const struct buf *)context)->data + offset, n);
    return SKEIN_OK;
}

static void slice_put(struct buf *whole, uint64_t from, uint64_t to, struct buf *out)
{
    const struct partition_source source = {memory_read, whole, whole->len};
    struct partition_slice slice;
    ck_assert_int_eq(partition_slice_plan(&source, made_ns(&one, from), made_ns(&one, to), &slice),
                     SKEIN_OK);
    ck_assert(slice.cut && slice.bytes > 0);
    uint8_t *room = buf_reserve(out, (size_t)slice.bytes);
    ck_assert_int_eq(partition_slice_read(&slice, &source, 0, room, (size_t)slice.bytes), SKEIN_OK);
    out->len += (size_t)slice.bytes;
    partition_slice_fini(&slice);
}

struct seen {
    uint64_t rows;
    uint32_t processes, partitions;
    size_t gaps;
    struct trace_twins twins;
};

static struct seen walked(struct skein_trace *trace)
{
    struct seen seen = {.processes = skein_trace_process_count(trace),
                        .partitions = skein_trace_partition_count(trace),
                        .twins = trace_twins(trace)};
    const struct skein_query query = {.size = sizeof query};
    const struct skein_gap *gaps;
    struct skein_cursor *cursor;
    struct skein_batch batch;
    uint64_t events = 0;
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    while (skein_cursor_next(cursor, &batch) == 1)
        seen.rows += batch.count;
    seen.gaps = skein_cursor_gaps(cursor, &gaps);
    skein_cursor_free(&cursor);
    for (uint32_t i = 0; i < seen.processes; i++)
        events += skein_trace_process(trace, i)->events;
    ck_assert_uint_eq(events, seen.rows);
    return seen;
}

/* As one file, and each as a file of its own, which must come to the same. */
static struct seen seen_of(struct buf *const *parts, unsigned count)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct skein_trace *whole, *single;
    struct buf file = {0};
    ck_assert_int_eq(skein_trace_new(&whole), SKEIN_OK);
    ck_assert_int_eq(skein_trace_new(&single), SKEIN_OK);
    for (unsigned i = 0; i < count; i++) {
        buf_put(&file, parts[i]->data, parts[i]->len);
        ck_assert_int_eq(
            skein_trace_add_memory(single, parts[i]->data, parts[i]->len, "one", error), SKEIN_OK);
    }
    ck_assert_int_eq(skein_trace_add_memory(whole, file.data, file.len, "all", error), SKEIN_OK);
    struct seen a = walked(whole), b = walked(single);
    ck_assert_mem_eq(&a, &b, sizeof a);
    skein_trace_free(&whole);
    skein_trace_free(&single);
    buf_fini(&file);
    return a;
}

#define SEEN(...)                                                                                  \
    seen_of((struct buf *const[]){__VA_ARGS__},                                                    \
            sizeof(struct buf *const[]){__VA_ARGS__} / sizeof(struct buf *))

START_TEST(what_differs_under_one_number_is_of_a_process_of_its_own)
{
    struct buf a = {0}, b = {0}, c = {0};
    cut_put(&a, 10, 3, "a");
    cut_put(&b, 10, 5, "a");
    cut_put(&c, 10, 3, "c"); /* as many, and at the same times */
    struct seen seen = SEEN(&a, &b, &c, &b, &a);
    ck_assert_uint_eq(seen.rows, 11);
    ck_assert_uint_eq(seen.processes, 3);
    ck_assert_uint_eq(seen.partitions, 3);
    ck_assert_uint_eq(seen.gaps, 0);
    ck_assert_uint_eq(seen.twins.others, 2);
    ck_assert_uint_eq(seen.twins.copies, 2);
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&c);
}
END_TEST

START_TEST(ids_of_those_that_bear_one_number_differ)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct buf file = {0};
    struct skein_trace *trace;
    for (unsigned i = 1; i <= 9; i++)
        cut_put(&file, 10, i, "a");
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, file.data, file.len, "all", error), SKEIN_OK);
    ck_assert_uint_eq(skein_trace_process_count(trace), 9);
    for (uint32_t i = 0; i < 9; i++)
        for (uint32_t k = 0; k < i; k++)
            ck_assert_int_ne(
                memcmp(skein_trace_process(trace, i)->id, skein_trace_process(trace, k)->id, 16),
                0);
    skein_trace_free(&trace);
    buf_fini(&file);
}
END_TEST

START_TEST(other_names_of_addresses_make_no_other_partition)
{
    struct buf plain = {0}, named = {0};
    const struct partition_info info = sample_info();
    struct partition_writer *names;
    ck_assert_int_eq(sample_stacks_partition(&plain), SKEIN_OK);
    ck_assert_int_eq(partition_writer_new(&info, &names), SKEIN_OK);
    const struct partition_line line = {.function = "renamed", .file = "", .line = 1};
    ck_assert_int_ge(
        partition_writer_symbol(
            names, &(struct partition_symbol){.address = 4711, .lines = &line, .line_count = 1}),
        0);
    ck_assert_int_eq(partition_rename(plain.data, plain.len, names, &named), SKEIN_OK);
    partition_writer_free(&names);
    ck_assert(plain.len != named.len);
    struct buf *const files[] = {&plain, &named};
    struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(skein_trace_add_memory(trace, files[i]->data, files[i]->len, "one", error),
                         SKEIN_OK);
    ck_assert_uint_eq(skein_trace_partition_count(trace), 1);
    ck_assert_uint_eq(trace_twins(trace).copies, 1);
    ck_assert_uint_eq(trace_twins(trace).others, 0);
    skein_trace_free(&trace);
    buf_fini(&plain);
    buf_fini(&named);
}
END_TEST

START_TEST(the_whole_is_given_and_of_two_slices_one_is_told)
{
    struct buf whole = {0}, early = {0}, late = {0}, other = {0};
    cut_put(&whole, 10, RECORDS * BLOCKS, "a text");
    cut_put(&other, 11, RECORDS * BLOCKS, "a text");
    slice_put(&whole, 10, 20, &early);
    slice_put(&whole, RECORDS * BLOCKS, RECORDS * BLOCKS + 9, &late);
    ck_assert_uint_eq(SEEN(&whole, &early, &late).rows, RECORDS * BLOCKS);
    struct seen seen = SEEN(&early, &late, &whole);
    ck_assert_uint_eq(seen.rows, RECORDS * BLOCKS);
    ck_assert_uint_eq(seen.processes, 1);
    ck_assert_uint_eq(seen.gaps, 0); /* all is there after all */
    seen = SEEN(&early, &late, &late);
    ck_assert_uint_eq(seen.partitions, 1);
    ck_assert_uint_eq(seen.gaps, 2);
    ck_assert_uint_eq(SEEN(&early, &early).gaps, 0);
    seen = SEEN(&other, &whole, &early); /* a slice of the second one */
    ck_assert_uint_eq(seen.processes, 2);
    ck_assert_uint_eq(seen.rows, 2 * RECORDS * BLOCKS);
    buf_fini(&whole);
    buf_fini(&early);
    buf_fini(&late);
    buf_fini(&other);
}
END_TEST

START_TEST(a_broken_one_gives_way_to_a_sound_one)
{
    struct buf sound = {0}, broken = {0};
    cut_put(&sound, 10, 100, "a text");
    buf_put(&broken, sound.data, sound.len);
    broken.data[broken.len / 2] ^= 1;
    struct seen seen = SEEN(&broken, &sound, &sound);
    ck_assert_uint_eq(seen.rows, 100);
    ck_assert_uint_eq(seen.partitions, 1);
    seen = SEEN(&sound, &broken);
    ck_assert_uint_eq(seen.rows, 100);
    ck_assert_uint_eq(seen.gaps, 1);
    buf_fini(&sound);
    buf_fini(&broken);
}
END_TEST

START_TEST(each_allocation_that_fails_changes_nothing)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct buf a = {0}, b = {0};
    cut_put(&a, 10, 3, "a");
    cut_put(&b, 10, 5, "b");
    buf_put(&b, a.data, a.len);
    bool failed = true;
    unsigned n = 1;
    for (; failed; n++) {
        struct skein_trace *trace;
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(skein_trace_add_memory(trace, a.data, a.len, "a", error), SKEIN_OK);
        alloc_fail_at(n);
        int status = skein_trace_add_memory(trace, b.data, b.len, "b", error);
        failed = alloc_fail_end();
        must_hold(status == (failed ? SKEIN_NO_MEMORY : SKEIN_OK), "%u: %d", n, status);
        if (failed)
            status = skein_trace_add_memory(trace, b.data, b.len, "b", error);
        ck_assert_int_eq(status, SKEIN_OK);
        ck_assert_uint_eq(walked(trace).rows, 8);
        skein_trace_free(&trace);
    }
    ck_assert_uint_gt(n, 10);
    buf_fini(&a);
    buf_fini(&b);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "trace_twins", what_differs_under_one_number_is_of_a_process_of_its_own,
        ids_of_those_that_bear_one_number_differ, other_names_of_addresses_make_no_other_partition,
        the_whole_is_given_and_of_two_slices_one_is_told, a_broken_one_gives_way_to_a_sound_one,
        each_allocation_that_fails_changes_nothing, NULL));
}
