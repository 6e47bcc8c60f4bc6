/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's own words as one table. --help and the man page are made from it and from the table of
 * parameters. Pure over the tables; writes to the stream it is given.
 */
#ifndef CONFIG_PAGE_H
#define CONFIG_PAGE_H

#include "config.h"

struct config_option {
    const char *words, *help; /* "-c, --config FILE"; words NULL ends the table */
};

struct config_page {
    const char *name;     /* "skeind" */
    const char *summary;  /* one line without a full stop, begins in lower case */
    const char *synopsis; /* behind the name; a line for each form */
    const char *about;    /* prose, lines that end with a newline */
    const struct config_option *options;
    const char *examples; /* lines */
    const char *more;     /* prose: signals, exit status */
    const char *see;      /* pages of others: "skein(1)" */
    const struct config_param *params;
};

void config_page_help(const struct config_page *page, FILE *out);

/* In the man(7) macros that groff and mandoc both know. */
void config_page_man(const struct config_page *page, FILE *out);

#endif
