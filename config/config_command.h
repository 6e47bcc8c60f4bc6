/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of a daemon. Options that all daemons have (--config, --set, --print-…, --help,
 * --version) are answered from its page; its own are flags. Main thread; prints.
 */
#ifndef CONFIG_COMMAND_H
#define CONFIG_COMMAND_H

#include <stdbool.h>

#include "config_page.h"

#define CONFIG_FLAGS_MAX 8
struct config_flag {
    const char *name; /* "check-config"; NULL ends the table */
    bool *given;
};

enum { CONFIG_COMMAND_GO_ON = -1 };

/* CONFIG_COMMAND_GO_ON, or the exit status: 0: the page that was asked for is printed; 1: that
 * failed; 2: a wrong command line. The sources point into argv. */
int config_command_read(int argc, char **argv, const struct config_page *page,
                        const struct config_flag *flags, struct config_sources *sources);

#endif
