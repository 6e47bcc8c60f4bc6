/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks copied stacks of one process: libdwfl with the process's files at their addresses, and no
 * memory but the copy. skein-symbolizer only. One owner.
 */
#ifndef SYMBOL_DW_UNWIND_H
#define SYMBOL_DW_UNWIND_H

#include "symbol_wire.h"

struct symbol_process;

int symbol_process_new(struct symbol_process **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void symbol_process_free(struct symbol_process **process);

/* The file (fd stays the caller's) is in memory with this bias. A file is added once. SKEIN_OK;
 * SKEIN_CORRUPT: its frames are walked by frame pointers. */
int symbol_process_add(struct symbol_process *process, int fd, uint64_t bias);
/* After the last. SKEIN_OK; SKEIN_CORRUPT: no file of it can be used. */
int symbol_process_ready(struct symbol_process *process);

/* Puts what UNWIND answers. */
void symbol_process_walk(struct symbol_process *process, const struct symbol_unwind *unwind,
                         struct buf *out);

#endif
