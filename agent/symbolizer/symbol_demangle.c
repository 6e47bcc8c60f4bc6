/* SPDX-License-Identifier: Apache-2.0
 *
 * The only user of libiberty; see symbol_demangle.h.
 */
#include "symbol_demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "symbol_wire.h"

void symbol_text_put(struct buf *out, const char *text)
{
    static const char more[] = "...";
    size_t n = text != NULL ? strnlen(text, SYMBOL_TEXT_MAX + 1) : 0;
    if (n <= SYMBOL_TEXT_MAX) {
        buf_put_text(out, text != NULL ? text : "", n);
        return;
    }
    /* Never in the middle of a character. */
    n = SYMBOL_TEXT_MAX - (sizeof more - 1);
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    buf_put_uleb(out, n + sizeof more - 1);
    buf_put(out, text, n);
    buf_put(out, more, sizeof more - 1);
}

void symbol_demangle_put(struct buf *out, const char *name)
{
    bool mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == '_');
    char *plain = mangled ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO) : NULL;
    symbol_text_put(out, plain != NULL ? plain : name);
    free(plain);
}
