/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that may be hostile, as people are shown them: on terminals, in messages, on pages. What would
 * steer a terminal, end a line, hide itself or turn its neighbours around stands there as digits; all
 * the rest stands as it is. Pure.
 */
#ifndef TEXT_SHOWN_H
#define TEXT_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define TEXT_SHOWN_BYTES 16

/* One character as it is shown. All zero before the first of a text. */
struct text_shown {
    char bytes[TEXT_SHOWN_BYTES]; /* UTF-8 with a NUL: itself, `\x1b`, or `\u{202e}` */
    uint32_t point;               /* of one that stands as it is; 0 of all others */
    unsigned columns;             /* that it fills in a font of one width, about */
    unsigned marks;               /* on the letter before, with this one */
};

/* The character at s (n > 0 bytes left). Returns how many of these bytes it is. Bytes that are no UTF-8
 * are shown one by one, as `\xff`, and so is a third mark on one letter, which would reach into other
 * lines. */
size_t text_shown_next(struct text_shown *shown, const char *s, size_t n);

/* Whether a character cannot be shown as it is: it steers, turns, hides, or is none. */
bool text_unseen(uint32_t point);

/* Appends a character as JSON has it in digits: `\u202e`, or a pair of them. */
void text_json_digits(struct buf *b, uint32_t point);

/* Appends n bytes of a text, or all of it, as it is shown. b->status tells of missing memory. */
void text_shown_put(struct buf *b, const char *text, size_t n);
void shown_put(struct buf *b, const char *text);

/* The same, between two texts of one's own: `shown_put_between(b, " (", name, ")")`. */
void shown_put_between(struct buf *b, const char *before, const char *text, const char *after);

#endif
