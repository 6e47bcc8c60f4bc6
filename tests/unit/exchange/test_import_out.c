/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an import's limits are: what is known stays known, what is new is counted.
 */
#include "import_out.h"

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

int main(void)
{
    return suite_run(suite_of(
        "import_out", beyond_the_limit_known_stacks_are_found_and_new_ones_are_counted, NULL));
}
