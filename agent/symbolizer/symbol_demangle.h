/* SPDX-License-Identifier: Apache-2.0
 *
 * Names as their authors wrote them: C++ and Rust (v0 and legacy). skein-symbolizer only, which may
 * die of a hostile name. No state.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "buf.h"

/* Puts `name`, demangled where it is mangled, as a text of at most SYMBOL_TEXT_MAX bytes; what is
 * longer ends in "...". */
void symbol_demangle_put(struct buf *out, const char *name);

/* The same for what is not mangled; NULL: "". */
void symbol_text_put(struct buf *out, const char *text);

#endif
