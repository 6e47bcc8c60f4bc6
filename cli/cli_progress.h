/* SPDX-License-Identifier: Apache-2.0
 *
 * The one line on a terminal that says how far something is: on standard error, written over by the
 * next one, and nothing at all where standard error is no terminal. One thread.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "buf.h"

/* Whether anybody sees it: the way to a line's text can be saved where not. */
bool progress_seen(void);

/* "[#####.....] " of `done` out of `total`; nothing where total is 0, which is unknown. */
void progress_bar_put(struct buf *line, uint64_t done, uint64_t total);

/* Shows the line instead of the one before. */
void progress_show(struct buf *line);

/* Takes the line away, where there is one: before other output, and in the end. */
void progress_clear(void);

#endif
