/* SPDX-License-Identifier: Apache-2.0
 *
 * The look at a program that is about to be started; see preload_look.c. Included by the preload
 * library's files only. Any thread; signal-safe, also in a vfork child; keeps errno.
 */
#ifndef PRELOAD_LOOK_H
#define PRELOAD_LOOK_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

#include "program_kind.h"
#include "program_text.h"

#define LOOK_SHELL "/bin/sh"

/* What is about to be started. */
struct start {
    struct program_call call;
    bool searched;                             /* along PATH, and a text is run by the shell */
    const posix_spawn_file_actions_t *actions; /* may enter a folder before; or NULL */
};

/* False: the program could not load the tracer, wherever that is (`tracer`); `kind` says nothing then. */
bool start_look(const struct start *start, const char *tracer, struct program_kind *kind);

/* Whether what is started, and the lines that it is to get, are where they can be read: a bad pointer
 * must give EFAULT, as it does without us. */
bool start_is_readable(const struct start *start, char *const *lines);

/* In a fork child; and where the process takes record locks. */
void look_forked(void);
void look_locks_taken(void);

#endif
