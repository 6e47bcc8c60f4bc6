/* SPDX-License-Identifier: Apache-2.0
 *
 * Downloads of a capture's trace into a file: through FILE.part, which a later download of the same
 * trace continues, and renamed when whole. One thread.
 */
#ifndef CLI_DOWNLOAD_H
#define CLI_DOWNLOAD_H

#include "cli_api.h"

struct download {
    const char *capture; /* or the incident */
    bool incident;       /* of all of its captures */
    const char *process; /* of that one alone; or NULL */
    const char *format;  /* "skein", "perfetto", "pprof" or "folded" */
    const char *groups;  /* of these event groups alone, not "skein"; NULL: those it names */
    const char *of;      /* of "folded": "samples" or "waits"; NULL: the collector's choice */
    const char *file;
    const struct cli_number *from, *to; /* the slice of it in between; NULL or not given: all */
    bool skip_damaged;                  /* partitions that are; else the collector refuses */
};

/* Whether the file could be written, for who has first to wait for what is to be written; else says
 * why not. CLI_OK or CLI_FAILED. */
int download_check(const char *file);
/* CLI_OK with the file and *bytes it has, or another status after telling why; FILE.part then
 * stays, so that the same command resumes. */
int download_run(const struct api *api, const struct download *download, uint64_t *bytes);

/* Says what has come, and where it is: a line, or {"capture","file","bytes"}. */
int download_said(const struct download *download, uint64_t bytes, bool json);

#endif
