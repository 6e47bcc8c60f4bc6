/* SPDX-License-Identifier: Apache-2.0
 *
 * One ELF file: its symbols, and the functions, inlined ones too, and lines of its DWARF, there or in
 * a debug file. skein-symbolizer only, which may die of it: what is read is hostile. One owner.
 */
#ifndef SYMBOL_DW_NAMES_H
#define SYMBOL_DW_NAMES_H

#include "buf.h"

struct symbol_module;

/* Takes both descriptors, also on failure; debug_fd: -1, none. SKEIN_OK; SKEIN_INVALID: no program
 * and no library; SKEIN_CORRUPT; SKEIN_NO_MEMORY. */
int symbol_module_open(int fd, int debug_fd, struct symbol_module **out);
void symbol_module_free(struct symbol_module **module);
int symbol_module_fd(const struct symbol_module *module); /* of the file; stays the module's */

/* Puts the lines of what lies at this offset of the file, as NAMES answers them. */
void symbol_module_put(struct symbol_module *module, uint64_t offset, struct buf *out);

/* Where a segment that holds this offset is linked to. False: none does. */
bool symbol_module_address(const struct symbol_module *module, uint64_t offset, uint64_t *address);

#endif
