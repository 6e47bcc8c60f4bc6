/* SPDX-License-Identifier: Apache-2.0
 *
 * skein diff --slowest: what the slowest one in a hundred of a region have more often than the rest. One
 * thread.
 */
#ifndef DIFF_SLOWEST_H
#define DIFF_SLOWEST_H

#include "cli_part.h"

/* Reads the file twice. CLI_OK, or another status after telling why. */
int diff_slowest(const char *file, const char *name, const struct part_options *part, bool json,
                 uint64_t top);

#endif
