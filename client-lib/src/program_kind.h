/* SPDX-License-Identifier: Apache-2.0
 *
 * What must be known of a program before it is started: which tracing it does not allow. Reads the
 * file; hostile content gives a wrong answer at worst. For `skein run` and for the preload library,
 * which asks in a child that shares its parent's memory (vfork): system calls without libc, a few
 * KiB of stack, no memory beside it, no descriptor kept, errno as it was. Any thread; signal-safe.
 */
#ifndef PROGRAM_KIND_H
#define PROGRAM_KIND_H

#include <stdbool.h>

struct program_kind {
    bool is_static;    /* names no dynamic linker, which is what loads the tracer */
    bool is_go;        /* goroutines make their system calls without the C library */
    bool is_asan;      /* AddressSanitizer's runtime as a library, which insists to be the first */
    bool changes_user; /* setuid, setgid, file capabilities: the system removes the tracer */
    bool is_other_machine; /* 32-bit, or another processor's: the tracer cannot be loaded */
    bool has_other_libc;   /* by its dynamic linker (musl, a glibc of its own): that may refuse the
                              tracer, and then not start the program */
    bool is_unreadable; /* it, or its dynamic linker, may only be executed: what it is, who knows */
    bool is_no_program; /* neither a program nor a script with "#!" */
};

/* Whose dynamic linker runs the program that its first arguments name is judged by that one. */
struct program_call {
    int folder;             /* AT_FDCWD, or what a relative path begins at */
    const char *path;       /* ""; `folder` is the program itself */
    char *const *arguments; /* or NULL */
    bool asks_user;         /* whether it changes its user is to be known, too */
};

/* Looks at the program, or at the interpreter of a script. */
void program_look(const struct program_call *call, struct program_kind *kind);

/* Whether LD_PRELOAD may name the tracer to such a program, AddressSanitizer aside. One that loads
 * nothing would hand the entry on, to programs that nobody looks at before they start; one that cannot be
 * read may be of any kind. */
static inline bool program_takes_preload(const struct program_kind *kind)
{
    return !kind->is_static && !kind->is_other_machine && !kind->has_other_libc &&
           !kind->is_unreadable;
}

/* Whether a library is AddressSanitizer's, by how its name begins; zeros follow a shorter one. */
bool program_library_is_asan(const char name[16]);

/* Whether what `path` names is a library of this machine, and can be read by the calling thread: also
 * without the capabilities that it may have at this moment and loses by exec, hence by its real user.
 * (Where that is not the effective one, no program loads what its environment names.) A thread that
 * has no descriptor left cannot read it, as the program that it starts could not. */
bool program_library_is_here(const char *path);

#endif
