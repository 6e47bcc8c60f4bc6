/* SPDX-License-Identifier: Apache-2.0
 *
 * What processes of a trace wrote last to their standard error: rows of JSON, of which the text is
 * made; see cli_crash.h, the only one that includes this. One thread.
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <cjson/cJSON.h>

#include "buf.h"

/* A piece of it: appended to the last row of `rows` that is of last words, and of `process`. What is
 * no UTF-8, and NUL, becomes U+FFFD. SKEIN_OK, SKEIN_NO_MEMORY. */
int words_piece_add(cJSON *rows, const char *process, const char *text, size_t n);

/* The row of last words of a process; -1: there is none. */
int words_row_find(const cJSON *rows, const char *process);

/* For people, behind who and when: its last lines, with how many more there are.
 *
 *   its last words, 2 lines of /var/log/shop.err
 *           | no room for order 7
 */
void words_row_put(struct buf *out, const cJSON *row);

#endif
