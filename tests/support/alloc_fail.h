/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the nth allocation of the calling thread fail, so that every cold path is an ordinary test.
 * Link skein_alloc_fail: it puts itself before malloc, calloc, realloc, strdup and strndup of all
 * objects linked statically into the test (shared libraries keep their own).
 *
 *   for (unsigned n = 1;; n++) {
 *       alloc_fail_at(n);
 *       int status = thing_new(&thing);
 *       bool failed = alloc_fail_end();
 *       if (!failed) { ck_assert_int_eq(status, SKEIN_OK); break; }
 *       ck_assert_int_eq(status, SKEIN_NO_MEMORY);
 *   }
 */
#ifndef ALLOC_FAIL_H
#define ALLOC_FAIL_H

#include <stdbool.h>

/* The nth allocation from here fails (1: the next), and all others succeed. */
void alloc_fail_at(unsigned n);

/* From the nth on all fail. */
void alloc_fail_from(unsigned n);

/* Back to normal; whether an allocation was failed since. */
bool alloc_fail_end(void);

#endif
