/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector's answer to a statement, of any bytes: it is refused, or its rows can be taken.
 */
#include <stdlib.h>

#include "fuzz_target.h"
#include "sql_answer.h"

static void row_look(const struct sql_rows *rows, struct buf *out)
{
    struct sql_value value;
    for (size_t i = 0; i < rows->columns; i++) {
        rows->value(rows->context, i, &value);
        buf_clear(out);
        sql_value_json(out, &value);
        sql_value_csv(out, &value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sql_answer *answer;
    struct sql_rows rows;
    struct buf out = {0};
    char error[256];
    const struct skein_gap *gaps;
    uint64_t left_out;
    size_t taken = 0;
    int next;
    if (sql_answer_read((const char *)bytes, n, &answer, error) != SKEIN_OK)
        return 0;
    sql_answer_rows(answer, &rows);
    while ((next = rows.next(rows.context)) > 0) {
        row_look(&rows, &out);
        taken++;
    }
    if (next == 0 && taken != sql_answer_row_count(answer))
        abort();
    size_t count = sql_answer_gaps(answer, &gaps, &left_out);
    for (size_t i = 0; i < count; i++)
        buf_printf(&out, "%s", gaps[i].what);
    sql_answer_free(&answer);
    buf_fini(&out);
    return 0;
}
