/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as people read it, made of its JSON (docs/diff.md), whoever has worked it out. One
 * thread.
 */
#ifndef DIFF_PRINT_H
#define DIFF_PRINT_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* sides: what the two are called; top: changes that are listed. CLI_OK or CLI_FAILED. */
int diff_print(const cJSON *diff, const char *const sides[2], uint64_t top);

#endif
