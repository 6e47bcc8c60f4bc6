/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions of the running kernel, out of /proc/kallsyms: 120,000 lines and more, read
 * once through, of which only those are kept that an asked address needs. Pure but for _read. One
 * owner.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define KERNEL_NAME_BYTES 128
#define KERNEL_REACH_MAX  (UINT64_C(1) << 20) /* a function is not longer: nothing is behind it */
#define KERNEL_LINE_MAX   768                 /* the kernel's names are up to 511 bytes long */

struct kernel_name {
    uint64_t address; /* asked */
    uint64_t start;   /* of the function that holds it; 0: none is known */
    char text[KERNEL_NAME_BYTES];
};

/* A reading of the file under way. */
struct kernel_reading {
    struct kernel_name *names;
    size_t count;
    char line[KERNEL_LINE_MAX]; /* what has come of the last line */
    size_t line_bytes;
    uint64_t lines, hidden; /* hidden: with the address 0, as the kernel shows those it hides */
};

/* names: by address, lowest first, each once; their start and text are set here and by _end. */
void kernel_names_begin(struct kernel_reading *reading, struct kernel_name *names, size_t count);
void kernel_names_feed(struct kernel_reading *reading, const char *bytes, size_t n);
/* Returns how many are known by name. */
size_t kernel_names_end(struct kernel_reading *reading);

/* All of it, from a file: how many are known. SKEIN_IO: it cannot be read. SKEIN_REFUSED: the kernel
 * hides its addresses from us (kernel.kptr_restrict). */
int64_t kernel_names_read(const char *path, struct kernel_name *names, size_t count);

#endif
