/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is there whole or not at all: "NAME.part" beside it until it is done, then renamed. What
 * is there and is no regular file (a device, a pipe) is written to itself. One thread.
 */
#ifndef WHOLE_FILE_H
#define WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct whole_file {
    const char *to; /* lasting */
    char *part;     /* NULL: written to itself */
    FILE *file;
};

/* false: it cannot be opened, or it or its ".part" is the file `from` (NULL: none), which is read. Why
 * has been said. */
bool whole_file_begin(struct whole_file *f, const char *to, const char *from);

/* false: `to` or its ".part" is the file `from`, which is read. Why has been said. For who reads several. */
bool whole_file_spares(const char *to, const char *from);

/* Renames it where it is whole, else takes the part away and leaves what was there. An exit status:
 * CLI_OK only where the file is there; a failure of this end has been said. Also after a begin that failed. */
int whole_file_end(struct whole_file *f, bool whole);

#endif
