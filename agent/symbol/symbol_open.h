/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are named by others: opened if they are regular, and told apart by build id. No state;
 * any thread.
 */
#ifndef SYMBOL_OPEN_H
#define SYMBOL_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For reading, if it is a regular file: a device or a pipe is not touched. -1 with errno. */
int symbol_regular_open(const char *path);

/* Whether the ELF file has this build id. */
bool symbol_build_id_is(int fd, const uint8_t *id, size_t bytes);

#endif
