/* SPDX-License-Identifier: Apache-2.0
 *
 * What tells imports apart, and the processes in them. An id is made of all bytes that are read, of the
 * place where they lie, of what the import was asked, and of the process's number in the file: the same
 * file of the same place has the same ids again, and no other has them. No state.
 */
#ifndef IMPORT_ID_H
#define IMPORT_ID_H

#include "ids.h"
#include "import.h"

/* Reads all sources, from begin to end. SKEIN_OK, SKEIN_NO_MEMORY, or what a source returns. */
int import_seed(const struct import_to *to, const struct skein_trace_source *sources, size_t count,
                uint64_t *seed);

/* Of the process that has this number in its file, all 64 bits of it. */
struct process_uid import_process_uid(uint64_t seed, uint64_t number, uint32_t pid);

#endif
