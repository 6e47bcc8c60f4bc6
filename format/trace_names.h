/* SPDX-License-Identifier: Apache-2.0
 *
 * What the partitions of a trace name, numbered through the trace. Part of trace_int.h, and included
 * by it alone.
 */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include "intern_table.h"
#include "partition.h"
#include "skein/trace.h"

struct trace_names {
    struct intern_table texts; /* by bytes; text_at[number] has it with a NUL behind it */
    char **text_at;
    size_t text_cap;
    struct intern_table type_keys, thread_keys;
    struct skein_event_type **types, *spare_type;
    struct skein_thread **threads, *spare_thread;
    size_t type_cap, thread_cap;
    struct buf key;
};

void names_fini(struct trace_names *names);
/* The number of what is named; SKEIN_NO_MEMORY. A thread's name is the one given last; without
 * a name it keeps that. Of tid 0, which is no thread, the name says what it is. */
int64_t names_type(struct trace_names *names, const struct partition_event_type *type);
int64_t names_thread(struct trace_names *names, uint32_t process, bool evidence,
                     const struct partition_thread *thread);

#endif
