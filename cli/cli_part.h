/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of trace files is meant: --from, --to, --process, --thread, as a query of the reader
 * (skein/trace.h). What cannot be read is told at the end. One thread.
 */
#ifndef CLI_PART_H
#define CLI_PART_H

#include "cli_id.h"
#include "cli_option.h"
#include "skein/trace.h"

struct summary;

struct part_options {
    const char *from, *to, *process, *thread;
};

/* Rows of a command's table, of its member `part`. */
#define PART_TIMES(s)                                                                              \
    CLI_OPTION(CLI_TEXT, 0, "from", "TIME", s, part.from,                                          \
               "from then on: 2026-11-21T09:40:00Z, -5s (before the end), +2s (after the start)"), \
        CLI_OPTION(CLI_TEXT, 0, "to", "TIME", s, part.to, "until then")
#define PART_WHO(s)                                                                                \
    CLI_OPTION(CLI_TEXT, 'p', "process", "ID|PID", s, part.process, "of that process alone"),      \
        CLI_OPTION(CLI_TEXT, 't', "thread", "NAME|TID", s, part.thread,                            \
                   "of that thread alone; the name may have * and ?")

/* Opens files as one trace; NULL after telling why. */
struct skein_trace *part_files_open(char *const *files, int count);

/* What the options mean for a trace; what a query calls is kept for as long as that is used. */
struct part {
    const struct part_options *options;
    uint64_t from_ns, to_ns;    /* to_ns 0: no end */
    long pid, tid;              /* -1: none */
    char process[CLI_ID_BYTES]; /* whole id; "": none */
};

/* CLI_OK, or another status after telling what is wrong; `command` for that. */
int part_find(const char *command, struct skein_trace *trace, const struct part_options *options,
              struct part *part);

/* Whether it is of the part, by who it is; times are the caller's. id: 16 bytes. */
bool part_has_process(const struct part *part, const uint8_t *id, uint32_t pid);
bool part_has_thread(const struct part *part, const char *name, uint32_t tid);

/* The same, as a query. */
int part_query(const char *command, struct skein_trace *trace, const struct part_options *options,
               struct part *part, struct skein_query *query);

/* CLI_USAGE after telling, where a time ends before it begins; to_ns 0: no end. */
int part_window_check(const char *command, uint64_t from_ns, uint64_t to_ns);

/* A gap of what was read, on standard error behind `before`. CLI_FAILED: it is damage, and the command
 * ends with that once all the rest is printed; CLI_OK: a cut that is not there, as in a capture of the
 * past, which is a warning. */
int part_gap_tell(const char *before, const struct skein_gap *gap);

/* Damage alone, of all that a summary was read from: cuts that are not there stand in the summary. */
int part_damage_tell(const char *before, const struct summary *summary);

/* One process as --process names it: into options->process's place. The same statuses. */
int part_process(const char *command, struct skein_trace *trace, const char *process,
                 struct part *part);

#endif
