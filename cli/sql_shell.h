/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements from a person at a terminal, from a pipe, or from the command line, one after the
 * other. One thread, and SIGINT while a person is asked: it ends the statement that runs.
 */
#ifndef SQL_SHELL_H
#define SQL_SHELL_H

#include "sql_source.h"

/* Runs all statements of a text, and words with a dot (.tables). CLI_OK, or another exit
 * status after telling why and where; the first failure ends it. */
int sql_text_run(const struct sql_source *source, enum sql_form form, const char *text);

/* The same from standard input: as lines of a shell where it is a terminal, which go on after a
 * failure. */
int sql_input_run(const struct sql_source *source, enum sql_form form);

#endif
