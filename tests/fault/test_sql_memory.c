/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation of opening a trace for SQL and of a statement fails once: that is told, or the
 * statement has all its rows. One thread.
 */
#include "alloc_fail.h"
#include "sql_asked.h"

START_TEST(a_lack_of_memory_is_told)
{
    static const char *const statements[] = {
        "select id, args, stack_id, parent_id, process from event where thread = 'main'",
        "select sum(self_dur) from slice", "select * from stats", "select * from frame",
        "select count(*) from slice s join args a on a.event_id = s.id"};
    shop_trace(&bytes); /* regions lie over two cuts */
    wood_trace(&bytes, 5, 3);
    trace_open();
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        uint64_t whole = 0, rows = 0;
        int64_t first;
        ck_assert_int_eq(asked(statements[i], &whole, &first), SKEIN_OK);
        for (unsigned n = 1;; n++) {
            int opened = SKEIN_OK, status = SKEIN_OK;
            sql_close(&engine);
            alloc_fail_at(n);
            opened = sql_open(trace, &limits, &engine);
            if (opened == SKEIN_OK)
                status = asked(statements[i], &rows, &first);
            bool failed = alloc_fail_end();
            if (!failed) {
                ck_assert_int_eq(opened, SKEIN_OK);
                ck_assert_int_eq(status, SKEIN_OK);
                ck_assert_uint_eq(rows, whole);
                break;
            }
            must_hold(opened == SKEIN_NO_MEMORY || status == SKEIN_NO_MEMORY ||
                          (status == SKEIN_OK && rows == whole),
                      "%s, %u: %d %d %s", statements[i], n, opened, status,
                      engine != NULL ? sql_error(engine) : "not opened");
        }
    }
    trace_close();
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql_memory");
    TCase *tcase = tcase_create("sql_memory");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, a_lack_of_memory_is_told);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
