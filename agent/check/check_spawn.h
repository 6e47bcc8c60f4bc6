/* SPDX-License-Identifier: Apache-2.0
 *
 * Begins the program of an exec check with no more power than it needs. For check_exec.c alone. Any
 * thread.
 */
#ifndef CHECK_SPAWN_H
#define CHECK_SPAWN_H

#include "checks.h"

/* Begins spec->program with /dev/null as standard input, `output` as the other two, and no further
 * descriptor; in a process group of its own, as spec->user where this is root, with no further
 * group, no capability, no way to new rights, and bounds of memory, processor time, files and cores.
 * 0 with *pid; or an errno, and what failed. */
int check_program_begin(const struct check_spec *spec, char *const *environment, int output,
                        pid_t *pid, const char **what);

#endif
