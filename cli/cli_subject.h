/* SPDX-License-Identifier: Apache-2.0
 *
 * FILE|CAPTURE: a trace file as it is, or a capture that is fetched into a folder for as long as it
 * is looked at. One owner, one thread.
 */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "cli_api.h"

struct trace_subject {
    cJSON *capture;   /* NULL: a file */
    const char *file; /* with the trace */
    char folder[64];  /* that it was fetched into; "": none */
    char fetched[96];
};

/* CLI_OK, or another status after telling why. The caller calls subject_close in any case. */
int subject_open(struct cli_collector collector, const char *text, struct trace_subject *s);
void subject_close(struct trace_subject *s);

#endif
