/* SPDX-License-Identifier: Apache-2.0
 *
 * What `skein run` must know of a program before it starts it: which tracing it does not allow.
 * Reads the file; hostile content gives a wrong answer at worst. One thread.
 */
#ifndef PROGRAM_KIND_H
#define PROGRAM_KIND_H

#include <stdbool.h>

struct program_kind {
    bool is_static;     /* names no dynamic linker, which is what loads the tracer */
    bool is_go;         /* goroutines make their system calls without the C library */
    bool is_asan;       /* AddressSanitizer's runtime as a library, which insists to be the first */
    bool changes_user;  /* setuid, setgid, file capabilities: the system removes the tracer */
    bool is_other_bits; /* 32-bit: the tracer cannot be loaded */
    bool has_other_libc; /* by its dynamic linker (musl, a glibc of its own): that may refuse the
                            tracer, and then not start the program */
};

/* Looks at the program, or at the interpreter of a script. What cannot be read is of no such kind.
 */
void program_look(const char *path, struct program_kind *kind);

#endif
