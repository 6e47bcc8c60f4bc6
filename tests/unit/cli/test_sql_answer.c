/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector's answer to a statement as rows: values are what they were. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_answer.h"
#include "support.h"

static struct sql_answer *answer;
static struct sql_rows rows;

static void tear_down(void)
{
    sql_answer_free(&answer);
}

static int take(const char *text)
{
    char error[256];
    sql_answer_free(&answer);
    int status = sql_answer_read(text, strlen(text), &answer, error);
    if (status == SKEIN_OK)
        sql_answer_rows(answer, &rows);
    else
        ck_assert_str_ne(error, "");
    return status;
}

/* The next row as fields of CSV with the values' types before them. */
static const char *row(void)
{
    static char text[512];
    struct buf out = {0};
    struct sql_value value;
    ck_assert_int_eq(rows.next(rows.context), 1);
    for (size_t i = 0; i < rows.columns; i++) {
        rows.value(rows.context, i, &value);
        buf_printf(&out, "%s%d ", i > 0 ? "|" : "", (int)value.type);
        sql_value_csv(&out, &value);
    }
    buf_put_u8(&out, 0);
    ck_assert_int_eq(out.status, SKEIN_OK);
    ck_assert_uint_lt(out.len, sizeof text);
    memcpy(text, out.data, out.len);
    buf_fini(&out);
    return text;
}

#define COLUMN(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\"}"

START_TEST(values_have_their_types_again)
{
    ck_assert_int_eq(
        take("{\"columns\":[" COLUMN("i", "integer") "," COLUMN("r", "real") "," COLUMN("t", "text") "," COLUMN(
            "b",
            "blob") "," COLUMN("a",
                               "any") "],\"rows\":["
                                      "[1,2.0,\"12\",\"00ff\",3],"
                                      "[\"9223372036854775807\",-0.5,\"a \\\" 7.5 b\",\"\",3.0],"
                                      "[\"-9223372036854775808\",1e300,\"\",null,\"x\"],"
                                      "[null,null,null,\"ab\",-4e0]],\"more\":true,\"gaps\":[]}"),
        SKEIN_OK);
    ck_assert_uint_eq(rows.columns, 5);
    ck_assert_str_eq(rows.name(rows.context, 4), "a");
    ck_assert_str_eq(row(), "1 1|2 2.0|3 12|4 00ff|1 3");
    ck_assert_str_eq(row(), "1 9223372036854775807|2 -0.5|3 \"a \"\" 7.5 b\"|4 |2 3.0");
    ck_assert_str_eq(row(), "1 -9223372036854775808|2 1e+300|3 \"\"|0 |3 x");
    ck_assert_str_eq(row(), "0 |0 |0 |4 ab|2 -4.0");
    ck_assert_int_eq(rows.next(rows.context), 0);
    ck_assert_uint_eq(sql_answer_row_count(answer), 4);
    ck_assert(sql_answer_has_more(answer));
}
END_TEST

START_TEST(members_may_stand_in_any_order)
{
    ck_assert_int_eq(take("{\"more\":false,\"x\":{\"rows\":[9.5,\"rows\"]},\"y\":\"rows\",\"n\":7,"
                          "\"rows\" : [[1.0],[1]],\"columns\":[" COLUMN("rows", "any") "]}"),
                     SKEIN_OK);
    ck_assert_str_eq(row(), "2 1.0");
    ck_assert_str_eq(row(), "1 1");
    ck_assert(!sql_answer_has_more(answer));
}
END_TEST

START_TEST(gaps_are_taken_over)
{
    const struct skein_gap *gaps;
    uint64_t left_out;
    ck_assert_int_eq(
        take("{\"columns\":[" COLUMN(
            "n", "null") "],\"rows\":[],\"gaps\":["
                         "{\"reason\":\"missing\",\"text\":\"a cut\"},"
                         "{\"reason\":\"broken\",\"text\":\"F-3\"},{\"reason\":\"torn\"}],"
                         "\"gaps_left_out\":12}"),
        SKEIN_OK);
    ck_assert_int_eq(rows.next(rows.context), 0);
    ck_assert_uint_eq(sql_answer_gaps(answer, &gaps, &left_out), 3);
    ck_assert_uint_eq(left_out, 12);
    ck_assert_int_eq(gaps[0].reason, SKEIN_GAP_MISSING);
    ck_assert_str_eq(gaps[0].what, "a cut");
    ck_assert_int_eq(gaps[1].reason, SKEIN_GAP_BROKEN);
    ck_assert_str_eq(gaps[1].what, "F-3");
    ck_assert_int_eq(gaps[2].reason, SKEIN_GAP_TORN);
}
END_TEST

START_TEST(what_is_no_answer_is_refused)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "[]",
                                        "{}",
                                        "{\"columns\":[],\"rows\":[]}",
                                        "{\"columns\":[1],\"rows\":[]}",
                                        "{\"columns\":[{\"type\":\"any\"}],\"rows\":[]}",
                                        "{\"columns\":[" COLUMN("n", "any") "],\"rows\":{}}"};
    static const char *const rows_wrong[] = {"1", "[]", "[1,2]", "[[1]]", "[true]", "{\"a\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(take(wrong[i]), SKEIN_INVALID);
    for (size_t i = 0; i < sizeof rows_wrong / sizeof *rows_wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"columns\":[" COLUMN("n", "any") "],\"rows\":[%s]}",
                 rows_wrong[i]);
        ck_assert_int_eq(take(text), SKEIN_OK);
        ck_assert_int_eq(rows.next(rows.context), SKEIN_CORRUPT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql_answer");
    TCase *tests = tcase_create("sql_answer");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, values_have_their_types_again);
    tcase_add_test(tests, members_may_stand_in_any_order);
    tcase_add_test(tests, gaps_are_taken_over);
    tcase_add_test(tests, what_is_no_answer_is_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
