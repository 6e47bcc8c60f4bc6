/* SPDX-License-Identifier: Apache-2.0
 * What holds for the files that are shipped with each daemon; for the two test_shipped_*.c. */
#ifndef SHIPPED_H
#define SHIPPED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "support.h"

/* The schema in the tree is what the table prints: after a parameter has changed, take what this
 * prints. */
static inline void expect_schema(const struct config_param *params, const char *title,
                                 const char *file)
{
    char *printed = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&printed, &n);
    ck_assert_int_eq(config_print_schema(params, title, out), SKEIN_OK);
    fclose(out);
    char *shipped = file_read(file, NULL);
    ck_assert_ptr_nonnull(shipped);
    bool same = strcmp(shipped, printed) == 0;
    if (!same)
        fputs(printed, stderr); /* too long for a message of libcheck's */
    ck_assert_msg(same, "%s is not what its table prints", file);
    free(shipped);
    free(printed);
}

/* Two parameters with one variable of the environment could not both be set. */
static inline void expect_own_variables(const struct config_param *params, const char *daemon)
{
    char one[CONFIG_VARIABLE_BYTES], other[CONFIG_VARIABLE_BYTES];
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++)
        for (const struct config_param *q = p + 1; q->type != CONFIG_TYPE_NONE; q++) {
            config_variable(daemon, p, one);
            config_variable(daemon, q, other);
            ck_assert_str_ne(one, other);
        }
}

#endif
