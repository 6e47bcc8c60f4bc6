/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk over the partitions of a trace, in the partition reader's own events: the engine of cursors
 * (skein/trace.h), and what tools of this tree take that print events as the reader gives them. One
 * thread.
 */
#ifndef TRACE_MERGE_H
#define TRACE_MERGE_H

#include "partition_reader.h"
#include "skein/trace.h"
#include "trace_file.h"

struct trace_merge;

/* All-zero: all processes at once. */
struct trace_merge_ask {
    const bool *process_wanted; /* by number; NULL: all. The caller's, as long as the walk */
    bool no_evidence, by_process;
    bool in_turn; /* partition after partition, by trace_merge_step; the others are not looked at */
};

/* Where an event is from. */
struct trace_step {
    const struct trace_entry *entry;
    struct partition_reader *reader; /* the walk's; until the next call */
    bool last_of_process;            /* no later partition of this process is in the trace */
};

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int trace_merge_new(struct skein_trace *trace, const struct trace_merge_ask *ask,
                    struct trace_merge **out);
void trace_merge_free(struct trace_merge **merge);

/* The next event, by the time at which records were made, and where it is from; good until the next
 * call. 1; 0 at the end; SKEIN_NO_MEMORY. */
int trace_merge_next(struct trace_merge *merge, const struct trace_event **event,
                     struct trace_step *place);

/* In turn: the next partition that can be read, in the order of skein_trace_partition, what was open
 * at the cut before it handed on. Then the events of that one, with what is in progress at its end.
 * 1; 0 at the end, also at a fault, which is a gap; SKEIN_NO_MEMORY. */
int trace_merge_step(struct trace_merge *merge, struct trace_step *place);
int trace_merge_event(struct trace_merge *merge, struct trace_event *event);

/* Instead of trace_merge_event, for who wants none of this partition: what the next one needs of it is
 * read, and nothing else. SKEIN_OK, also at a fault, which is a gap; SKEIN_NO_MEMORY. */
int trace_merge_pass(struct trace_merge *merge);

/* As skein_cursor_gaps. */
size_t trace_merge_gaps(const struct trace_merge *merge, const struct skein_gap **gaps);

/* A cursor that takes event by event what others take as columns: slower, and the same rows. For tests,
 * which compare the two. */
int trace_cursor_slow_new(struct skein_trace *trace, const struct skein_query *query,
                          struct skein_cursor **out);

/* A cursor that may leave out rows which took less than *least_ns; that may grow on the way. The
 * partition of a row of its last batch, whose query asks for stacks. */
int trace_cursor_least_new(struct skein_trace *trace, const struct skein_query *query,
                           const uint64_t *least_ns, struct skein_cursor **out);
const struct trace_entry *trace_cursor_entry(const struct skein_cursor *cursor, uint32_t row);

/* The first file of the trace; that of a process's first partition. */
const struct trace_file *trace_first_file(const struct skein_trace *trace);
const struct trace_entry *trace_process_entry(const struct skein_trace *trace, uint32_t process);

#endif
