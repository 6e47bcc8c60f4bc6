/* SPDX-License-Identifier: Apache-2.0
 *
 * Who answers the statements of `skein sql`: an engine over trace files (sql_local.c), or a collector
 * over a capture of its own (sql_remote.c). One thread; `interrupt` alone may be called by a signal's
 * handler.
 */
#ifndef SQL_SOURCE_H
#define SQL_SOURCE_H

#include "cli_api.h"
#include "sql_print.h"

struct sql_source {
    void *context;
    /* Takes the first statement of a text, which must stay until `end`; *used: bytes of the text. 1;
     * 0: there are but blanks and comments; below 0: it is none. */
    int (*take)(void *context, const char *text, size_t *used);
    /* Runs it and prints its rows. CLI_OK, or another exit status. */
    int (*run)(void *context, enum sql_form form);
    /* After a failure of the two: a sentence, and the byte of the statement that it is about, or -1.
     * NULL: the failure has been told. Until `end`. */
    const char *(*error)(void *context, int *at);
    /* Forgets the statement, and tells what its answer leaves out. CLI_OK, or the exit status that
     * this stands for. */
    int (*end)(void *context);
    /* Ends the statement that was taken, soon. */
    void (*interrupt)(void *context);
    void (*close)(void *context);
};

/* Files as one trace. CLI_OK, or CLI_FAILED after telling why. */
int sql_local_open(char *const *files, int count, struct sql_source *source);

/* A capture, by its id or the beginning of it. CLI_OK, or another status after telling why. */
int sql_remote_open(struct cli_collector collector, const char *capture, struct sql_source *source);

/* Tells of gaps which a statement met, on standard error: the first few alone. CLI_FAILED: some are
 * damage. left_out: that are not in the array. */
int sql_gaps_tell(const struct skein_gap *gaps, size_t count, uint64_t left_out);

#endif
