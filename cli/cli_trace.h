/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk of format/trace_merge.h over a trace file, for commands: what cannot be read is told of and
 * left out. One thread; the memory of two partitions, but for a merged walk.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <cjson/cJSON.h>

#include "partition_reader.h"
#include "trace_file.h"
#include "trace_merge.h"

struct trace_walk;

/* Opens a trace file; NULL after telling why it cannot be read. */
struct trace_file *trace_open(const char *path);

/* Members "copies" and "others" of a row: partitions of the file that are there twice, and those that bear
 * the number of another one (trace_twins.h). And lines that say so. */
void trace_twins_add(const char *path, cJSON *row);
void trace_twins_say(const cJSON *row);

/* From the first record to the last, as skein_trace_bounds: both 0 where there is none. */
struct trace_bounds {
    uint64_t from_ns, to_ns;
};

/* A time as people give it for a trace. SKEIN_OK or SKEIN_INVALID. */
#define TRACE_TIME_WANTED                                                                          \
    "a time such as 2026-11-21T09:40:00Z, -5s before the end of the trace, or +2s after its start"
int trace_time_parse(const char *text, const struct trace_bounds *bounds, uint64_t *ns);

/* --groups: "net,io", or all. NULL leaves *groups as it is. CLI_OK, or CLI_USAGE after telling what
 * is wrong. */
#define TRACE_GROUPS(s, otherwise)                                                                 \
    CLI_OPTION(CLI_TEXT, 0, "groups", "LIST", s, groups,                                           \
               "events of these groups, such as net,io: app, net, io, lock, thread, sleep, log, "  \
               "16 to 63 (a service's own), or all (default: " otherwise ")")
int trace_groups_parse(const char *text, uint64_t *groups);

/* CLI_OK, or CLI_FAILED after telling why. */
int trace_walk_new(const char *path, struct trace_walk **out);
void trace_walk_free(struct trace_walk **walk);

const struct trace_file *trace_walk_file(const struct trace_walk *walk);
struct skein_trace *trace_walk_trace(const struct trace_walk *walk);

/* True with the next partition; false at the end. */
bool trace_walk_next(struct trace_walk *walk, struct trace_step *step);

/* The next event of the step's partition; false at its end, also at a fault, which is told. */
bool trace_walk_event(struct trace_walk *walk, struct trace_event *event);

/* Instead of its events: what the next partition needs of it is read, and nothing else. */
void trace_walk_pass(struct trace_walk *walk);

/* ---- merged: all processes at once, by the time at which records were made ----
 *
 * Instead of the two above. Takes the memory of two partitions of each process, and of the evidence
 * whose time it is. */

/* Begins; processes that are not wanted are left out. CLI_OK, or CLI_FAILED after telling why. */
typedef bool trace_wanted(const void *context, const struct partition_footer *footer);
int trace_walk_merge(struct trace_walk *walk, trace_wanted *wanted, const void *context);

/* The next event and where it is from; NULL at the end. Good until the next call. */
const struct trace_event *trace_walk_merged(struct trace_walk *walk, struct trace_step *step);

/* Whether everything so far could be read. */
bool trace_walk_sound(const struct trace_walk *walk);

#endif
