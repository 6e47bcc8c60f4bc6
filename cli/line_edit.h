/* SPDX-License-Identifier: Apache-2.0
 *
 * A line from a person at a terminal: with history, which is kept in a file of their own, and
 * completion of words. One thread. Ctrl-C clears the line; it is no signal meanwhile.
 */
#ifndef LINE_EDIT_H
#define LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

struct line_edit;

/* The nth word that may be completed; NULL: there are no more. */
typedef const char *line_word(void *context, size_t n);

/* history: its file, read now and written by line_edit_free; NULL: none is kept. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int line_edit_new(const char *program, const char *history, line_word *word, void *context,
                  struct line_edit **out);
/* Writes the history, for the user alone to read. */
void line_edit_free(struct line_edit **edit);

/* The next line, without its end; NULL at the end of input. *cancelled: Ctrl-C was pressed, and the
 * line is empty. Lasts until the next call. */
const char *line_edit_get(struct line_edit *edit, const char *prompt, bool *cancelled);

#endif
