/* SPDX-License-Identifier: Apache-2.0
 *
 * The build id that a linker has left in an ELF file. Reads the file's head and notes alone, within
 * bounds: whoever wrote it may be hostile. No state; any thread.
 */
#ifndef BUILD_ID_H
#define BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>

#define BUILD_ID_MAX 32 /* bytes; most have 20 */

/* SKEIN_OK; SKEIN_NOT_FOUND: it has none, or one of another length; SKEIN_INVALID: it is no
 * 64-bit ELF file of this machine's byte order; SKEIN_IO. */
int build_id_read(int fd, uint8_t id[BUILD_ID_MAX], uint8_t *bytes);

#endif
