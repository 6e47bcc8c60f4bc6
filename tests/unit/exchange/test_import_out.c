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

int main(void)
{
    return suite_run(suite_of("import_out",
                              beyond_the_limit_known_stacks_are_found_and_new_ones_are_counted,
                              a_seed_is_of_every_byte_and_of_the_place,
                              processes_whose_numbers_are_alike_have_ids_of_their_own, NULL));
}
