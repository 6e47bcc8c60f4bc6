/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions in rules: POSIX extended ones that take little memory to compile and no
 * exponential time to match. Collector and agents hold them against the same bounds. Pure.
 */
#ifndef RULE_PATTERN_H
#define RULE_PATTERN_H

#include <regex.h>
#include <stddef.h>

#define RULE_PATTERN_MAX 256 /* bytes */

/* SKEIN_OK: *out is the caller's, to regfree; SKEIN_INVALID with words of what is wrong. `text` has
 * at most RULE_PATTERN_MAX bytes. */
int rule_pattern_compile(const char *text, regex_t *out, char *words, size_t words_bytes);

#endif
