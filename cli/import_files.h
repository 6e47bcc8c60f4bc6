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

#define IMPORT_FILES_OPTIONS(s)                                                                    \
    CLI_OUTPUT_FILE(s, "where to (default: the file's name with .skein)"),                         \
        CLI_OPTION(CLI_TEXT, 0, "service", "NAME", s, service,                                     \
                   "what the process is called (default: the file's name)"),                       \
        CLI_OPTION(CLI_TEXT, 0, "host", "NAME", s, host, "the host that it ran on"),               \
        CLI_OPTION(CLI_NUMBER, 0, "pid", "PID", s, pid, "its process id")

/* How it is read, and what else is said of it; `context` is the command's. */
struct import_how {
    int (*import)(void *context, const struct skein_trace_source *source,
                  const struct import_to *to, struct import_told *told);
    void (*say)(void *context); /* lines for people */
    void (*say_json)(void *context, cJSON *said);
    void *context;
};

/* An exit status; what failed has been said. */
int import_file(const char *path, const struct import_options *options,
                const struct import_how *how);

#endif
