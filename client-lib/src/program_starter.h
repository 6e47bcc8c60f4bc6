/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that are found along PATH, and programs that become others: what a start that the tracer cannot
 * enter leads to. For `skein run` and for the preload library; what program_kind.h says of calls and threads
 * holds here.
 */
#ifndef PROGRAM_STARTER_H
#define PROGRAM_STARTER_H

#include <stdbool.h>

#include "program_kind.h"

#define STARTER_ARGUMENTS 8 /* of the first so many, each may name a program */

/* Looks at the program as execvp() finds it: along `path` (PATH; NULL: there is none), but for a name with a
 * slash. Where it is not found, *kind stays as it is. */
void program_look_along(const struct program_call *call, const char *path,
                        struct program_kind *kind);

/* Whether a statically linked program becomes what its first arguments name (tini, gosu, su-exec), and gives
 * it the environment as it is: some of them name programs, and the tracer can enter each. */
bool program_hands_on(const struct program_call *starter, const char *path);

#endif
