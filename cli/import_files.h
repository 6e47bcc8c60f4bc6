/* SPDX-License-Identifier: Apache-2.0
 *
 * From a file of another tool to a trace file: opens both, shows how far it is, says what became of
 * it. For the commands `import …`. One thread.
 */
#ifndef IMPORT_FILES_H
#define IMPORT_FILES_H

#include <cjson/cJSON.h>

#include "cli_option.h"
#include "import.h"

struct import_options {
    struct cli_result result;
    const char *service, *host;
    struct cli_number pid;
};

/* s has a struct import_options `import`. */
#define IMPORT_FILES_OPTIONS(s)                                                                    \
    CLI_OPTION(CLI_RESULT, 'o', "output", "FILE|FORM", s, import.result,                           \
               "where to (default: the file's name with .skein); json or table: the form of what " \
               "is printed (./json: a file)"),                                                     \
        CLI_OPTION(CLI_FLAG, 'j', "json", NULL, s, import.result.json, "short for -o json"),       \
        CLI_OPTION(CLI_TEXT, 0, "service", "NAME", s, import.service,                              \
                   "what the process is called, where the file does not say (default: the file's " \
                   "name)"),                                                                       \
        CLI_OPTION(CLI_TEXT, 0, "host", "NAME", s, import.host, "the host that it ran on"),        \
        CLI_OPTION(CLI_NUMBER, 0, "pid", "PID", s, import.pid,                                     \
                   "its process id, where the file does not say")

/* How it is read, and what else is said of it; `context` is the command's. */
struct import_how {
    int (*import)(void *context, const struct skein_trace_source *source,
                  const struct import_to *to, struct import_told *told);
    void (*say)(void *context); /* lines for people */
    void (*say_json)(void *context, cJSON *said);
    void *context;
    bool evidence; /* some of what comes out is */
    bool folder;   /* it is read by `import` itself: there is no source */
};

/* ---- import_source.c ---- */

/* A regular file as a source; one that is packed by gzip or zstd is unpacked first, to a file without a
 * name (in $TMPDIR, else /var/tmp). SKEIN_OK; a status, after saying why. Close it in any case. */
int import_source_open(const char *path, struct skein_trace_source *source);
void import_source_close(struct skein_trace_source *source);
/* When it was last written, the time of day. */
uint64_t import_source_changed_ns(const struct skein_trace_source *source);
/* The length of the path without slashes at the end, and without ".gz" or the like, if the source (NULL: a
 * folder) was packed. */
size_t import_source_length(const struct skein_trace_source *source, const char *path);
/* What could not be unpacked; behind the import. */
void import_source_tell(const struct skein_trace_source *source, struct import_told *told);
/* Of import_to: where it lies, as a number. */
uint64_t import_place(const char *path);

/* ---- import_files.c ---- */

/* An exit status; what failed has been said. */
int import_file(const char *path, const struct import_options *options,
                const struct import_how *how);

#endif
