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

/* The check of process `pid`, of any kind but heartbeat. An exec whose program `allow` does not
 * name gets no program, and so fails with that reason. NULL when out of memory. */
struct check_spec *rule_spec_check(const struct rule_spec *spec, uint32_t pid,
                                   const struct config_strs *allow);

/* Whether `program` is one of the entries: the same file, by name through $PATH or by path. Returns
 * the file to run, to free; NULL if not allowed. */
char *rule_program_allowed(const char *program, const struct config_strs *allow);

#endif
