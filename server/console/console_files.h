/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the console's files, which the build makes of a folder (console_embed.cmake): their
 * bytes lie in the program. Constant; any thread.
 */
#ifndef CONSOLE_FILES_H
#define CONSOLE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct console_file {
    const char *path, *type; /* "/assets/main-x1y2z3w4.js"; NULL: the end of the table */
    const char *hash;        /* of the bytes, in hexadecimal */
    const uint8_t *bytes;
    size_t n;
    const uint8_t *gzip; /* NULL: it would hardly be shorter */
    size_t gzip_n;
    bool immutable; /* its name changes with its bytes */
};
extern const struct console_file console_files[];

#endif
