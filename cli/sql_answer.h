/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector's answer to a statement (docs/api.md), as rows to print:
 *
 *   {"columns":[{"name":"n","type":"integer"}],"rows":[[1],[2]],"more":false,"gaps":[…]}
 *
 * The answer is hostile until it is read. Values are what the engine had: a string of digits in a
 * column of whole numbers is one, hexadecimal digits in one of blobs are bytes, and where a column has
 * values of several types, the number's own digits say whether it is whole. One thread.
 */
#ifndef SQL_ANSWER_H
#define SQL_ANSWER_H

#include "sql_print.h"

struct sql_answer;

/* `text` stays the caller's, and must outlive the answer. SKEIN_OK; SKEIN_INVALID with words: it is no
 * answer; SKEIN_NO_MEMORY. */
int sql_answer_read(const char *text, size_t n, struct sql_answer **out, char error[256]);
void sql_answer_free(struct sql_answer **answer);

/* Its rows, from the first on. `next` fails with SKEIN_CORRUPT at a row that is none. */
void sql_answer_rows(struct sql_answer *answer, struct sql_rows *rows);
size_t sql_answer_row_count(const struct sql_answer *answer);

/* Rows were left out. */
bool sql_answer_has_more(const struct sql_answer *answer);

/* What could not be read; texts are the answer's. *left_out: gaps that are not listed. */
size_t sql_answer_gaps(const struct sql_answer *answer, const struct skein_gap **gaps,
                       uint64_t *left_out);

#endif
