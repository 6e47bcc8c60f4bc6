/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace in another tool's format (docs/exchange.md): rows of a cursor in, bytes out, in the order
 * in which they come. Memory: that of the cursor, of what the trace names, and of one packet for each
 * process. No input or output but through the trace and the sink. One owner, one thread.
 */
#ifndef EXPORT_TRACE_H
#define EXPORT_TRACE_H

#include "buf.h"
#include "skein/trace.h"

enum export_form { EXPORT_CHROME, EXPORT_CTF, EXPORT_FXT, EXPORT_OTLP };

/* Where bytes go: they are appended to the one file (name NULL), or to the file `name` of a folder,
 * which is made when it is first named. SKEIN_OK, or a status below 0, with which the export ends. */
struct export_sink {
    int (*put)(void *context, const char *name, const void *bytes, size_t n);
    void *context;
};

struct export_run;

/* Whether the form is a folder of files. */
bool export_is_folder(enum export_form form);

/* groups: as in struct skein_query. The trace stays the caller's, and outlives the run. SKEIN_OK,
 * SKEIN_INVALID, SKEIN_NO_MEMORY. */
int export_new(struct skein_trace *trace, enum export_form form, uint64_t groups,
               const struct export_sink *sink, struct export_run **out);
void export_free(struct export_run **run);

/* Converts some rows. 1: there are more; 0: all is written; SKEIN_NO_MEMORY, or the sink's status:
 * what is written so far is of no use. */
int export_some(struct export_run *run);

/* How far it is: of *total, in whatever unit. */
void export_progress(const struct export_run *run, uint64_t *done, uint64_t *total);

/* What cannot be read, so far. */
size_t export_gaps(const struct export_run *run, const struct skein_gap **gaps);

/* Appends what the file has, and what of the trace it cannot carry: "12 regions, 3 counts; not in it:
 * …", without a line end. */
void export_told(const struct export_run *run, struct buf *line);

#endif
