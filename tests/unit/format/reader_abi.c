/* SPDX-License-Identifier: Apache-2.0
 * Prints sizes and offsets of what skein/trace.h declares, and the values of its constants, for
 * reader_abi.sh. */
#include <stddef.h>
#include <stdio.h>

#include "skein/trace.h"

#define SIZE(s)     printf("struct %s %zu\n", #s, sizeof(struct s))
#define AT(s, m)    printf("  %s %zu\n", #m, offsetof(struct s, m))
#define VALUE(name) printf("%s %llu\n", #name, (unsigned long long)(name))

static void structs_of_traces(void)
{
    SIZE(skein_trace_source);
    AT(skein_trace_source, read);
    AT(skein_trace_source, context);
    AT(skein_trace_source, bytes);
    AT(skein_trace_source, name);
    SIZE(skein_process);
    AT(skein_process, id);
    AT(skein_process, pid);
    AT(skein_process, host);
    AT(skein_process, service);
    AT(skein_process, labels);
    AT(skein_process, exe);
    AT(skein_process, from_ns);
    AT(skein_process, to_ns);
    AT(skein_process, start_ns);
    AT(skein_process, death.known);
    AT(skein_process, death.signal);
    AT(skein_process, death.status);
    AT(skein_process, events);
    AT(skein_process, partitions);
    SIZE(skein_partition);
    AT(skein_partition, process);
    AT(skein_partition, epoch);
    AT(skein_partition, sequence);
    AT(skein_partition, from_ns);
    AT(skein_partition, to_ns);
    AT(skein_partition, window_from_ns);
    AT(skein_partition, window_to_ns);
    AT(skein_partition, offset);
    AT(skein_partition, bytes);
    AT(skein_partition, file);
    AT(skein_partition, events);
    AT(skein_partition, lost);
    AT(skein_partition, fixed_up);
    AT(skein_partition, threads);
    AT(skein_partition, evidence);
    AT(skein_partition, slice);
    AT(skein_partition, follows);
    AT(skein_partition, monotonic_ns);
    AT(skein_partition, collector_ns);
}

static void structs_of_names(void)
{
    SIZE(skein_arg_type);
    AT(skein_arg_type, type);
    AT(skein_arg_type, name);
    AT(skein_arg_type, unit);
    SIZE(skein_event_type);
    AT(skein_event_type, name);
    AT(skein_event_type, text);
    AT(skein_event_type, file);
    AT(skein_event_type, line);
    AT(skein_event_type, klass);
    AT(skein_event_type, group);
    AT(skein_event_type, arg_count);
    AT(skein_event_type, args);
    SIZE(skein_thread);
    AT(skein_thread, process);
    AT(skein_thread, tid);
    AT(skein_thread, incarnation);
    AT(skein_thread, evidence);
    AT(skein_thread, name);
    SIZE(skein_frame);
    AT(skein_frame, address);
    AT(skein_frame, looked_up);
    AT(skein_frame, offset);
    AT(skein_frame, function);
    AT(skein_frame, file);
    AT(skein_frame, module);
    AT(skein_frame, line);
    AT(skein_frame, inlined);
    SIZE(skein_gap);
    AT(skein_gap, reason);
    AT(skein_gap, process);
    AT(skein_gap, partition);
    AT(skein_gap, from_ns);
    AT(skein_gap, to_ns);
    AT(skein_gap, bytes);
    AT(skein_gap, what);
}

static void structs_of_rows(void)
{
    SIZE(skein_arg);
    AT(skein_arg, u64);
    AT(skein_arg, text);
    AT(skein_arg, len);
    AT(skein_arg, cut);
    AT(skein_arg, number);
    SIZE(skein_row_more);
    AT(skein_row_more, loss_reason);
    AT(skein_row_more, lost);
    AT(skein_row_more, detail);
    AT(skein_row_more, has_detail);
    SIZE(skein_batch);
    AT(skein_batch, count);
    AT(skein_batch, kind);
    AT(skein_batch, flags);
    AT(skein_batch, process);
    AT(skein_batch, thread);
    AT(skein_batch, time_ns);
    AT(skein_batch, dur_ns);
    AT(skein_batch, type);
    AT(skein_batch, depth);
    AT(skein_batch, stack);
    AT(skein_batch, args);
    AT(skein_batch, more);
    AT(skein_batch, mores);
    SIZE(skein_query);
    AT(skein_query, size);
    AT(skein_query, columns);
    AT(skein_query, kinds);
    AT(skein_query, from_ns);
    AT(skein_query, to_ns);
    AT(skein_query, groups);
    AT(skein_query, no_evidence);
    AT(skein_query, by_process);
    AT(skein_query, process);
    AT(skein_query, thread);
    AT(skein_query, type);
    AT(skein_query, context);
}

static void values(void)
{
    VALUE(SKEIN_TRACE_ERROR_BYTES);
    VALUE(SKEIN_BATCH_ROWS);
    VALUE(SKEIN_NONE);
    VALUE(SKEIN_ARGS_MAX);
    VALUE(SKEIN_ROW_BEGIN);
    VALUE(SKEIN_ROW_REGION);
    VALUE(SKEIN_ROW_INSTANT);
    VALUE(SKEIN_ROW_COUNTER);
    VALUE(SKEIN_ROW_LOG);
    VALUE(SKEIN_ROW_OPEN);
    VALUE(SKEIN_ROW_LOSS);
    VALUE(SKEIN_ROW_END_ONLY);
    VALUE(SKEIN_ROW_FIXED_UP);
    VALUE(SKEIN_ROW_BEGIN_CLIPPED);
    VALUE(SKEIN_ROW_END_CLIPPED);
    VALUE(SKEIN_ROW_EVIDENCE);
    VALUE(SKEIN_COLUMN_TIME);
    VALUE(SKEIN_COLUMN_TYPE);
    VALUE(SKEIN_COLUMN_DEPTH);
    VALUE(SKEIN_COLUMN_STACK);
    VALUE(SKEIN_COLUMN_ARGS);
    VALUE(SKEIN_COLUMN_ALL);
    VALUE(SKEIN_GAP_BROKEN);
    VALUE(SKEIN_GAP_MISSING);
    VALUE(SKEIN_GAP_TORN);
}

int main(void)
{
    structs_of_traces();
    structs_of_names();
    structs_of_rows();
    values();
    return 0;
}
