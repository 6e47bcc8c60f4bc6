/* SPDX-License-Identifier: Apache-2.0
 *
 * The subcommands of skeind that say who may talk to it: keygen, join-token, agent. They work on
 * data_dir, whether skeind runs or not. Main thread; prints.
 */
#ifndef SKEIND_ADMIN_H
#define SKEIND_ADMIN_H

#include <stdbool.h>

#include "collector.h"

struct admin {
    const char *words[3]; /* "join-token", "create"; NULL where there is none */
    const char *config;
    const char *expires, *uses; /* NULL: default */
    bool rotate, retire, help;
};

bool admin_is_command(int argc, char **argv);
/* False, after a line on standard error, for a wrong command line. */
bool admin_parse(int argc, char **argv, struct admin *out);
void admin_print_help(void);
/* The exit status. */
int admin_run(const struct admin *a, const struct collector_config *config);

/* Tells the audit log in the folder, which a running collector also writes, what this user has
 * done. If the log cannot be opened that is printed, and what was done stays. */
void admin_note(const struct collector_config *config, const char *folder, const char *action,
                const char *object, bool ok);

#endif
