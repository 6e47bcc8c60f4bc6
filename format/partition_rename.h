/* SPDX-License-Identifier: Apache-2.0
 *
 * A partition with other names of its addresses, and nothing else changed. Pure functions over
 * hostile bytes; any thread.
 */
#ifndef PARTITION_RENAME_H
#define PARTITION_RENAME_H

#include "buf.h"
#include "partition_writer.h"

/* Appends the whole partition at bytes with the symbols of `names` (all that partition_writer_symbol
 * gave it, and nothing else of it; it can then only be freed) in place of its own. Sections are
 * copied as they are stored; head, SYMBOLS, FOOTER and tail are made. SKEIN_OK; SKEIN_CORRUPT;
 * SKEIN_VERSION: of a newer minor version, whose footer may hold what we do not know;
 * SKEIN_TOO_LARGE; SKEIN_NO_MEMORY. On failure *out is as before. */
int partition_rename(const uint8_t *bytes, size_t n, struct partition_writer *names,
                     struct buf *out);

#endif
