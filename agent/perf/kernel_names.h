/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions of the running kernel, out of /proc/kallsyms. The kernel takes 50 ms to write
 * its 120,000 lines and more, so the functions are remembered, and the file is read again only for
 * an address that what is remembered may be wrong of:
 *
 *   the kernel's own code     stays where it is
 *   a module's                as long as /proc/modules lists the same ones at the same places
 *   between two owners' last and first function, of BPF, of probes: never sure
 *
 * Pure but for kernel_names_find. One owner.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define KERNEL_REACH_MAX     (UINT64_C(1) << 20) /* a function is not longer: nothing is behind it */
#define KERNEL_LINE_MAX      768                 /* the kernel's names are up to 511 bytes long */
#define KERNEL_FUNCTIONS_MAX (1u << 20)          /* of more, none is known */

struct kernel_function {
    uint64_t start;
    uint32_t text, owner; /* in the table's texts; the owner as "[module]", the kernel itself "" */
};

/* What a reading of the file has found. All-zero is an empty one. */
struct kernel_table {
    struct kernel_function *functions; /* by address once the reading has ended */
    size_t count, cap;
    struct buf texts;           /* each ends with NUL */
    uint32_t owner;             /* of the last line */
    char line[KERNEL_LINE_MAX]; /* what has come of the last line */
    size_t line_bytes;
    uint64_t lines, hidden; /* hidden: with the address 0, as the kernel shows those it hides */
};
void kernel_table_feed(struct kernel_table *table, const char *bytes, size_t n);
/* SKEIN_OK; SKEIN_REFUSED: the kernel hides its addresses from us (kernel.kptr_restrict);
 * SKEIN_NO_MEMORY. */
int kernel_table_end(struct kernel_table *table);
void kernel_table_fini(struct kernel_table *table);
/* The function that holds the address, as far as the table knows; NULL: none. `modules_same`: they
 * are as they were when it was read. *sure: no later table says otherwise. */
const struct kernel_function *kernel_table_find(const struct kernel_table *table, uint64_t address,
                                                bool modules_same, bool *sure);

struct kernel_names;
/* From these files, which outlive it; NULL: the kernel's own. SKEIN_OK, SKEIN_NO_MEMORY. */
int kernel_names_new(const char *symbols, const char *modules, struct kernel_names **out);
void kernel_names_free(struct kernel_names **names);

struct kernel_name {
    uint64_t address; /* asked */
    const char *text; /* until the next call; NULL: none is known */
};
/* Says how many are known. SKEIN_IO: the file cannot be read; SKEIN_REFUSED, SKEIN_NO_MEMORY: as
 * above; then there are no names. */
int64_t kernel_names_find(struct kernel_names *known, struct kernel_name *names, size_t count);
uint64_t kernel_names_reads(const struct kernel_names *known); /* of the file, so far */

#endif
