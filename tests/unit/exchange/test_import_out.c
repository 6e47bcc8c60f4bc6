/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an import's limits are: what is known stays known, what is new is counted.
 */
#include "import_out.h"

#include <stdlib.h>

#include "import_id.h"
#include "imported.h"
#include "skein/status.h"

START_TEST(beyond_the_limit_known_stacks_are_found_and_new_ones_are_counted)
{
    struct buf trace = {0};
    struct import_told told = {.partitions = 0};
    struct import_out *out = NULL;
    const struct import_to to = {
        .put = imported_put, .context = &trace, .host = "", .service = "test"};
    const struct import_process process = {.seed = 1, .number = 1, .host = "", .service = "test"};
    ck_assert_int_eq(import_out_new(&to, &process, &told, &out), SKEIN_OK);
    uint64_t pcs[2] = {0, 7};
    for (uint32_t i = 1; i <= IMPORT_STACKS_MAX; i++) {
        pcs[0] = i;
        ck_assert_uint_eq(import_stack(out, pcs, 2, false), i);
    }
    ck_assert_uint_eq(told.left_out, 0);
    ck_assert_str_eq(told.why, "");
    pcs[0] = 5;
    ck_assert_uint_eq(import_stack(out, pcs, 2, false), 5);
    ck_assert_uint_eq(told.left_out, 0);
    ck_assert_uint_eq(import_stack(out, pcs, 2, true), 0);
    ck_assert_uint_eq(import_stack(out, pcs, 1, false), 0);
    ck_assert_uint_eq(import_stack(out, pcs, 0, false), 0); /* none is nothing that is left out */
    ck_assert_uint_eq(told.left_out, 2);
    ck_assert_ptr_nonnull(strstr(told.why, "more than 200000 stacks"));
    ck_assert_int_eq(import_out_flush(out), SKEIN_OK);
    import_out_free(&out);
    buf_fini(&trace);
}
END_TEST

static uint64_t seed_of(const uint8_t *bytes, size_t n, uint64_t place, const char *service)
{
    struct bytes_source from = {bytes, n};
    const struct skein_trace_source source = {
        .read = bytes_source_read, .context = &from, .bytes = n, .name = "by hand"};
    const struct import_to to = {.host = "", .service = service, .place = place};
    uint64_t seed = 0;
    ck_assert_int_eq(import_seed(&to, &source, 1, &seed), SKEIN_OK);
    return seed;
}

/* Larger than a piece, and changed in its last byte. */
START_TEST(a_seed_is_of_every_byte_and_of_the_place)
{
    enum { BYTES = (1 << 20) + 100 };
    uint8_t *bytes = calloc(1, BYTES);
    uint64_t seed = seed_of(bytes, BYTES, 1, "a");
    ck_assert_uint_eq(seed, seed_of(bytes, BYTES, 1, "a"));
    ck_assert_uint_ne(seed, seed_of(bytes, BYTES, 2, "a"));
    ck_assert_uint_ne(seed, seed_of(bytes, BYTES, 1, "b"));
    ck_assert_uint_ne(seed, seed_of(bytes, BYTES - 1, 1, "a"));
    for (size_t at = 0; at < BYTES; at += BYTES / 7) {
        bytes[at] ^= 1;
        ck_assert_uint_ne(seed, seed_of(bytes, BYTES, 1, "a"));
        bytes[at] ^= 1;
    }
    free(bytes);
}
END_TEST

/* Koids have 64 bits, and pid 0 is a process beside that of what is of none. */
START_TEST(processes_whose_numbers_are_alike_have_ids_of_their_own)
{
    static const uint64_t numbers[] = {
        0,         1, UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 40,
        UINT64_MAX};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    struct process_uid ids[NUMBERS * 2];
    for (size_t k = 0; k < NUMBERS * 2; k++)
        ids[k] = import_process_uid(7 + k / NUMBERS, numbers[k % NUMBERS], 0);
    for (size_t k = 0; k < NUMBERS * 2; k++)
        for (size_t j = 0; j < k; j++)
            ck_assert(!process_uid_equal(&ids[k], &ids[j]));
}
END_TEST

struct marks {
    unsigned events, marked;
    uint64_t ns[8];
    bool raised[8];
};

static void mark_note(void *context, struct partition_reader *reader,
                      const struct trace_event *event)
{
    struct marks *m = context;
    (void)reader;
    ck_assert_uint_lt(m->events, 8);
    m->ns[m->events] = event->ticks;
    m->raised[m->events++] = event->fixed_up;
    m->marked += event->fixed_up;
}

/* A time that another thread has passed is kept; one behind its own thread's is raised, and marked. */
START_TEST(an_event_that_was_raised_is_marked)
{
    struct buf trace = {0};
    struct import_told told = {.partitions = 0};
    struct import_out *out = NULL;
    struct marks marks = {.events = 0};
    const struct import_to to = {
        .put = imported_put, .context = &trace, .host = "", .service = "test"};
    const struct import_process process = {.seed = 1, .number = 1, .host = "", .service = "test"};
    const struct partition_event_type type = {
        .name = "e", .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT};
    ck_assert_int_eq(import_out_new(&to, &process, &told, &out), SKEIN_OK);
    uint32_t e = import_type(out, &type, false), a = import_thread(out, 1, 0, "a", true),
             b = import_thread(out, 2, 0, "b", true);
    import_event(out, e, a, 1000, 0, NULL, 0);
    import_event(out, e, b, 900, 0, NULL, 0);
    import_event(out, e, a, 700, 0, NULL, 0);
    import_event(out, e, a, 1100, 0, NULL, 0);
    ck_assert_int_eq(import_out_flush(out), SKEIN_OK);
    imported_walk(&trace, mark_note, &marks);
    ck_assert_uint_eq(told.fixed_up, 1);
    ck_assert_uint_eq(marks.events, 4);
    ck_assert_uint_eq(marks.marked, 1);
    const uint64_t wanted[] = {900, 1000, 1000, 1100};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(marks.ns[i], wanted[i]);
        ck_assert_int_eq(marks.raised[i], i == 2);
    }
    import_event(out, e, import_thread(out, 1, 0, "a", true), IMPORT_TIME_MAX + 1, 0, NULL, 0);
    ck_assert_uint_eq(told.clamped, 1);
    ck_assert_ptr_nonnull(strstr(told.why, "146 years"));
    import_out_free(&out);
    buf_fini(&trace);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("import_out", beyond_the_limit_known_stacks_are_found_and_new_ones_are_counted,
                 a_seed_is_of_every_byte_and_of_the_place, an_event_that_was_raised_is_marked,
                 processes_whose_numbers_are_alike_have_ids_of_their_own, NULL));
}
