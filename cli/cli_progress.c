/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the last line of the terminal while something runs. One thread.
 */
#include "cli_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli_out.h"

#define BAR_WIDTH 30

static bool shown; /* a line stands there */

bool progress_seen(void)
{
    return isatty(STDERR_FILENO) == 1;
}

void progress_bar_put(struct buf *line, uint64_t done, uint64_t total)
{
    if (total == 0)
        return;
    double share = done < total ? (double)done / (double)total : 1;
    unsigned full = (unsigned)(share * BAR_WIDTH);
    buf_put_u8(line, '[');
    for (unsigned i = 0; i < BAR_WIDTH; i++)
        buf_put_u8(line, i < full ? '#' : '.');
    buf_printf(line, "] ");
}

void progress_show(struct buf *line)
{
    if (!progress_seen())
        return;
    fprintf(stderr, "\r\033[K%s", text_of(line));
    fflush(stderr);
    shown = true;
}

void progress_clear(void)
{
    if (shown)
        fprintf(stderr, "\r\033[K");
    shown = false;
}
