/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule's health check as one of a process: what is run or asked, and whether that is allowed
 * here.
 */
#ifndef RULE_PROGRAM_H
#define RULE_PROGRAM_H

#include "checks.h"
#include "config.h"
#include "rule_spec.h"

/* What the agent's config says of programs. */
struct rule_program_bounds {
    const struct config_strs *allow; /* checks.exec_allow */
    const char *user;                /* checks.user */
};

/* The check of process `pid`, of any kind but heartbeat. An exec whose command is not allowed gets no
 * program, and so is not run, with that reason. NULL when out of memory. */
struct check_spec *rule_spec_check(const struct rule_spec *spec, uint32_t pid,
                                   const struct rule_program_bounds *bounds);

/* Whether the command, as the rule has it, is one of the entries: the same file, by name through
 * $PATH or by path, and word for word the same arguments. Words of an entry stand apart by blanks,
 * and may be quoted. A star is one or more letters, digits and ._:- of a word, and no beginning of an
 * option. Returns the file to run, to free; NULL if not allowed. */
char *rule_program_allowed(char *const *argv, const struct config_strs *allow);

/* The entry that allows this command alone, to free. NULL: none does, or no memory. */
char *rule_program_line(char *const *argv);

#endif
