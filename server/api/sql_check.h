/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether bytes are an answer of SQL as analyst_job.h has it. They come from a process that a hostile trace
 * may have taken over, and go on to whoever asked. Pure, takes no memory; any thread.
 */
#ifndef SQL_CHECK_H
#define SQL_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

/* JSON in UTF-8, without blanks, of exactly this shape and a line end:
 *   {"columns":[{"name":"n","type":"integer"},…],"rows":[[1,"a",null],…],"more":false,
 *    "gaps":[{"reason":"broken",…},…],"gaps_left_out":1}
 * with at least one column, `rows_most` rows at most (0: any number), as many values in each as there are
 * columns, and texts or numbers in gaps; gaps_left_out may be absent. SKEIN_OK, *gaps: where the list of
 * gaps begins, behind its bracket; SKEIN_CORRUPT, *gaps unchanged. */
int sql_answer_check(const uint8_t *bytes, size_t n, uint64_t rows_most, size_t *gaps);

#endif
