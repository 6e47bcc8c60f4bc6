/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace that a command is about, given as a file or as a capture, which is fetched into a
 * folder that goes away. One thread.
 */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include <cjson/cJSON.h>

#include "cli_option.h"

struct subject {
    cJSON *capture;   /* NULL: a file */
    const char *file; /* with the trace */
    char folder[64];  /* that it was fetched into; "": none */
    char fetched[96];
};

/* `text` is a file that is there, or the id of a capture or its beginning. CLI_OK, or else after
 * telling why. subject_fini is due either way. */
int subject_open(struct subject *subject, struct cli_collector collector, const char *text);
void subject_fini(struct subject *subject);

#endif
