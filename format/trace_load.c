/* SPDX-License-Identifier: Apache-2.0
 *
 * One partition of a trace in memory, with the numbers that the trace gives to what it names. One
 * owner, one thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace_int.h"

void loaded_free(struct trace_loaded **loaded)
{
    struct trace_loaded *l = *loaded;
    *loaded = NULL;
    if (l == NULL)
        return;
    partition_reader_free(&l->reader);
    buf_fini(&l->bytes);
    free(l->type_shown);
    free(l->thread_shown);
    free(l->type_numbers);
    free(l->thread_numbers);
    free(l);
}

static int types_number(struct skein_trace *trace, struct trace_loaded *loaded)
{
    loaded->type_count = partition_reader_types(loaded->reader, &loaded->types);
    loaded->type_numbers = calloc(loaded->type_count + 1, sizeof *loaded->type_numbers);
    if (loaded->type_numbers == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < loaded->type_count; i++) {
        if (loaded->types[i].klass == SKEIN_CLASS_STACK) /* F-45: no row is of it */
            continue;
        int64_t number = names_type(&trace->names, &loaded->types[i]);
        if (number < 0)
            return SKEIN_NO_MEMORY;
        loaded->type_numbers[i] = (uint32_t)number;
    }
    return SKEIN_OK;
}

static int threads_number(struct skein_trace *trace, struct trace_loaded *loaded)
{
    size_t count = partition_reader_threads(loaded->reader, &loaded->threads);
    loaded->thread_numbers = calloc(count + 1, sizeof *loaded->thread_numbers);
    if (loaded->thread_numbers == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        int64_t number = names_thread(&trace->names, loaded->part->facts.process,
                                      loaded->part->facts.evidence, &loaded->threads[i]);
        if (number < 0)
            return SKEIN_NO_MEMORY;
        loaded->thread_numbers[i] = (uint32_t)number;
    }
    return SKEIN_OK;
}

static int numbers_make(struct skein_trace *trace, struct trace_loaded *loaded)
{
    const struct partition_info *info = partition_reader_info(loaded->reader);
    struct skein_process *process = trace->processes[loaded->part->facts.process];
    size_t stacks = partition_reader_stack_count(loaded->reader);
    int status = types_number(trace, loaded);
    if (status == SKEIN_OK)
        status = threads_number(trace, loaded);
    if (status != SKEIN_OK)
        return status;
    if (stacks >= UINT32_MAX - trace->stacks)
        trace->stacks = 0;
    loaded->stack_base = trace->stacks;
    trace->stacks += (uint32_t)stacks;
    process->start_ns = info->process_start_ns;
    struct skein_partition *facts = &loaded->part->facts;
    facts->monotonic_ns[0] = info->begin.monotonic_ns;
    facts->monotonic_ns[1] = info->end.monotonic_ns;
    facts->collector_ns[0] = info->begin.realtime_ns + (uint64_t)info->clock_offset_ns;
    facts->collector_ns[1] = info->end.realtime_ns + (uint64_t)info->clock_offset_ns;
    if (info->death.known) {
        process->death.known = true;
        process->death.signal = info->death.signal;
        process->death.status = info->death.status;
    }
    return SKEIN_OK;
}

int loaded_new(struct skein_trace *trace, struct trace_part *part, struct trace_loaded **out,
               char error[SKEIN_TRACE_ERROR_BYTES])
{
    struct trace_loaded *loaded = calloc(1, sizeof *loaded);
    *out = NULL;
    error[0] = 0;
    if (loaded == NULL)
        return SKEIN_NO_MEMORY;
    loaded->part = part;
    int status = trace_file_read(part->file, part->at, &loaded->bytes);
    if (status == SKEIN_OK)
        status = partition_reader_new(loaded->bytes.data, loaded->bytes.len, &loaded->reader, error,
                                      SKEIN_TRACE_ERROR_BYTES);
    if (status == SKEIN_OK)
        status = numbers_make(trace, loaded);
    if (status == SKEIN_OK) {
        partition_reader_move(loaded->reader, part->moved_ns);
        *out = loaded;
        return SKEIN_OK;
    }
    loaded_free(&loaded);
    if (error[0] == 0)
        snprintf(error, SKEIN_TRACE_ERROR_BYTES, "%s", skein_status_text(status));
    return status;
}

int64_t loaded_type(struct skein_trace *trace, struct trace_loaded *loaded,
                    const struct partition_event_type *type)
{
    uintptr_t at = (uintptr_t)type, first = (uintptr_t)loaded->types;
    if (at >= first && at - first < loaded->type_count * sizeof *type)
        return loaded->type_numbers[(at - first) / sizeof *type];
    if (type == loaded->other)
        return loaded->other_number;
    int64_t number = names_type(&trace->names, type);
    if (number >= 0) {
        loaded->other = type;
        loaded->other_number = (uint32_t)number;
    }
    return number;
}
