/* SPDX-License-Identifier: Apache-2.0
 *
 * FILE|CAPTURE of a command: a trace file, or one that is fetched into a folder for the while. One
 * thread.
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

/* CLI_OK; else why not has been told. In both cases trace_subject_fini is to be called. `text`
 * stays the caller's. */
int trace_subject_find(struct trace_subject *s, struct cli_collector collector, const char *text);
void trace_subject_fini(struct trace_subject *s);

#endif
