/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that helps a cut to pack: when it is started, that it ends in every order, and that the
 * bytes are the same with it.
 */
#include <check.h>

#include "cut_helper.h"
#include "support.h"

enum { EVENTS = 400000 };

static struct partition_writer *writer_new(void)
{
    const struct partition_info info = {
        .pid = 1,
        .end = {UINT64_C(1) << 40, UINT64_C(64) << 40, UINT64_C(64) << 40, UINT64_C(64) << 40}};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    return w;
}

static void events_put(struct partition_writer *w, unsigned events)
{
    const struct partition_event_type type = {
        .name = "step", .klass = SKEIN_CLASS_INSTANT, .nargs = 1, .args = {{SKEIN_T_U64, "n", ""}}};
    uint64_t state = 7;
    uint32_t id = (uint32_t)partition_writer_type(w, &type);
    partition_writer_batch(
        w, (uint32_t)partition_writer_thread(w, &(struct partition_thread){1, "main", 1}), 1, 1,
        false);
    for (unsigned i = 0; i < events; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        struct partition_value value = {.u64 = state >> 44};
        partition_writer_event(w, id, 1000 + i * 10, 0, &value);
    }
}

static bool has_processors(void)
{
    cpu_set_t cpus;
    ck_assert_int_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    return CPU_COUNT(&cpus) > 1;
}

static struct buf packed(uint64_t bytes)
{
    struct partition_writer *w = writer_new();
    struct cut_helper helper;
    struct buf out = {0};
    cut_helper_start(&helper, w, bytes);
    events_put(w, EVENTS);
    ck_assert_int_eq(partition_writer_finish(w, &out, NULL), SKEIN_OK);
    cut_helper_end(&helper);
    cut_helper_end(&helper); /* once more does nothing */
    partition_writer_free(&w);
    return out;
}

START_TEST(the_bytes_are_the_same_with_it)
{
    struct buf alone = packed(0);
    for (int i = 0; i < 20; i++) {
        struct buf helped = packed(16 << 20);
        ck_assert_uint_eq(helped.len, alone.len);
        ck_assert_mem_eq(helped.data, alone.data, alone.len);
        buf_fini(&helped);
    }
    buf_fini(&alone);
}
END_TEST

/* At any moment: before it has begun, while it packs, while it waits. Its end is a join, so a thread
 * that stays makes the test hang, and one that goes on with a freed writer is a sanitizer's find. */
START_TEST(it_ends_where_the_cut_is_given_up)
{
    for (unsigned i = 0; i < 40; i++) {
        struct partition_writer *w = writer_new();
        struct cut_helper helper;
        cut_helper_start(&helper, w, 16 << 20);
        ck_assert(helper.runs == has_processors());
        events_put(w, i % 4 == 0 ? 0 : EVENTS / 8 * (i % 4));
        cut_helper_end(&helper);
        ck_assert(!helper.runs);
        partition_writer_free(&w);
    }
}
END_TEST

START_TEST(it_is_there_for_large_cuts_and_where_a_processor_is_to_spare)
{
    struct partition_writer *w = writer_new();
    struct cut_helper helper;
    cut_helper_start(&helper, w, CUT_HELPED_BYTES - 1);
    ck_assert(!helper.runs);
    cut_helper_end(&helper);
    cut_helper_start(&helper, w, CUT_HELPED_BYTES);
    ck_assert(helper.runs == has_processors());
    cut_helper_end(&helper);
    partition_writer_free(&w);
    cpu_set_t all, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    w = writer_new();
    cut_helper_start(&helper, w, CUT_HELPED_BYTES);
    ck_assert(!helper.runs);
    cut_helper_end(&helper);
    partition_writer_free(&w);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cut_helper", the_bytes_are_the_same_with_it,
                              it_ends_where_the_cut_is_given_up,
                              it_is_there_for_large_cuts_and_where_a_processor_is_to_spare, NULL));
}
