/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps that JIT compilers write for perf: "start size name", hexadecimal, a line for each function.
 * skein-symbolizer only. One owner.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include "buf.h"

struct symbol_jit;

/* Reads it from the descriptor, which stays the caller's. SKEIN_OK; SKEIN_TOO_LARGE,
 * SKEIN_NO_MEMORY, SKEIN_IO. Lines that are none are passed over. */
int symbol_jit_open(int fd, struct symbol_jit **out);
void symbol_jit_free(struct symbol_jit **jit);

/* Puts the lines of an address, as NAMES answers them. The last that was compiled there counts. */
void symbol_jit_put(const struct symbol_jit *jit, uint64_t address, struct buf *out);

#endif
