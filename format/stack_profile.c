/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes events into a profile. Owns struct stack_profile. One thread; the stack of an event costs a
 * look into an array, once its partition has shown it.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ids.h"
#include "stack_profile_int.h"
#include "trace_stack.h"

int stack_profile_new(size_t most_bytes, struct stack_profile **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->most_bytes = most_bytes;
    (*out)->from_ns = (*out)->sampled_from_ns = UINT64_MAX;
    return SKEIN_OK;
}

void stack_profile_free(struct stack_profile **profile)
{
    struct stack_profile *p = *profile;
    *profile = NULL;
    if (p == NULL)
        return;
    intern_table_fini(&p->processes);
    intern_table_fini(&p->strings);
    intern_table_fini(&p->functions);
    intern_table_fini(&p->mappings);
    intern_table_fini(&p->locations);
    intern_table_fini(&p->stacks);
    intern_table_fini(&p->rows);
    free(p->values);
    free(p->known);
    buf_fini(&p->scratch);
    free(p);
}

uint64_t stack_profile_samples(const struct stack_profile *profile)
{
    return profile->sum.samples;
}

uint64_t stack_profile_waits(const struct stack_profile *profile)
{
    return profile->sum.waits;
}

bool stack_profile_of_find(const char *name, enum stack_profile_of *of)
{
    static const char *const names[] = {[STACK_PROFILE_SAMPLES] = "samples",
                                        [STACK_PROFILE_WAITS] = "waits",
                                        [STACK_PROFILE_WALL] = "wall",
                                        [STACK_PROFILE_CONTENTION] = "contention"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *of = (enum stack_profile_of)i;
            return true;
        }
    return false;
}

/* ---- tables: each gives a number from 1, or SKEIN_NO_MEMORY ---- */

static int64_t bytes_number(struct intern_table *table, const void *bytes, size_t n)
{
    bool fresh;
    int64_t at = intern_table_put(table, bytes, n, &fresh);
    return at < 0 ? at : at + 1;
}

/* 0 for "". */
static int64_t profile_text(struct stack_profile *p, const char *text)
{
    return *text == 0 ? 0 : bytes_number(&p->strings, text, strlen(text));
}

static int64_t mapping_build_id(struct stack_profile *p, const struct partition_mapping *mapping)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * PARTITION_BUILD_ID_MAX + 1] = "";
    for (unsigned i = 0; i < mapping->build_id_bytes; i++) {
        text[2 * i] = digits[mapping->build_id[i] >> 4];
        text[2 * i + 1] = digits[mapping->build_id[i] & 15];
    }
    return profile_text(p, text);
}

static int64_t mapping_number(struct stack_profile *p, uint32_t process,
                              const struct partition_mapping *mapping)
{
    if (mapping == NULL)
        return 0;
    int64_t path = profile_text(p, mapping->path), build_id = mapping_build_id(p, mapping);
    if (path < 0 || build_id < 0)
        return SKEIN_NO_MEMORY;
    const struct profile_mapping row = {.start = mapping->start,
                                        .end = mapping->end,
                                        .offset = mapping->offset,
                                        .process = process,
                                        .path = (uint32_t)path,
                                        .build_id = (uint32_t)build_id};
    return bytes_number(&p->mappings, &row, sizeof row);
}

/* The line of a frame, or none where it has no name. */
static int line_put(struct stack_profile *p, const struct trace_frame *frame)
{
    if (*frame->function == 0)
        return SKEIN_OK;
    int64_t name = profile_text(p, frame->function), file = profile_text(p, frame->file);
    if (name < 0 || file < 0)
        return SKEIN_NO_MEMORY;
    const struct profile_function row = {(uint32_t)name, (uint32_t)file};
    int64_t function = bytes_number(&p->functions, &row, sizeof row);
    const struct profile_line line = {(uint32_t)function, frame->line};
    buf_put(&p->scratch, &line, sizeof line);
    return function < 0 ? SKEIN_NO_MEMORY : p->scratch.status;
}

/* One address with all its inlined functions; `frame` is its first, and then its last. */
static int64_t location_number(struct stack_profile *p, uint32_t process,
                               struct trace_frames *frames, struct trace_frame *frame)
{
    int64_t mapping = mapping_number(p, process, frame->mapping);
    const struct profile_location row = {.address = frame->looked_up,
                                         .mapping = mapping < 0 ? 0 : (uint32_t)mapping,
                                         .process = process};
    buf_clear(&p->scratch);
    buf_put(&p->scratch, &row, sizeof row);
    int status = mapping < 0 ? SKEIN_NO_MEMORY : line_put(p, frame);
    while (status == SKEIN_OK && frame->inlined && trace_frames_next(frames, frame))
        status = line_put(p, frame);
    if (status != SKEIN_OK || p->scratch.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    return bytes_number(&p->locations, p->scratch.data, p->scratch.len);
}

static int64_t stack_make(struct stack_profile *p, struct partition_reader *reader, uint32_t id,
                          uint32_t process)
{
    struct trace_frames frames;
    struct trace_frame frame;
    struct buf list = {0};
    int64_t number = SKEIN_OK;
    if (!trace_frames_begin(&frames, reader, id))
        return 0;
    const struct profile_stack row = {frames.stack.end & (uint8_t)~PARTITION_STACK_EXACT};
    buf_put(&list, &row, sizeof row);
    while (number >= 0 && trace_frames_next(&frames, &frame)) {
        number = location_number(p, process, &frames, &frame);
        const uint32_t location = (uint32_t)number;
        buf_put(&list, &location, sizeof location);
    }
    if (number >= 0)
        number = list.status == SKEIN_OK ? bytes_number(&p->stacks, list.data, list.len)
                                         : SKEIN_NO_MEMORY;
    buf_fini(&list);
    return number;
}

static int64_t stack_number(struct stack_profile *p, struct partition_reader *reader, uint32_t id)
{
    size_t count = partition_reader_stack_count(reader) + 1, had = p->known_cap;
    const struct partition_key *key = &partition_reader_info(reader)->key;
    if (!array_grow(p->known, count, &p->known_cap))
        return SKEIN_NO_MEMORY;
    if (!partition_key_equal(&p->key, key))
        had = 0;
    memset(p->known + had, 0, (p->known_cap - had) * sizeof *p->known);
    p->key = *key;
    if (p->known[id] != 0)
        return p->known[id];
    int64_t process = bytes_number(&p->processes, partition_reader_info(reader)->key.process.bytes,
                                   sizeof(struct process_uid));
    int64_t number = process < 0 ? process : stack_make(p, reader, id, (uint32_t)process);
    if (number > 0)
        p->known[id] = (uint32_t)number;
    return number;
}

/* ---- events ---- */

/* Whether a wait was for a lock that somebody held: those that are recorded of unmodified programs, and
 * whatever of the group lock is called a lock. Waits for a condition, a barrier or a semaphore are
 * waits for work as well. */
static bool is_contention(const struct partition_event_type *type)
{
    static const char *const names[] = {"mutex_lock", "rwlock_rdlock", "rwlock_wrlock",
                                        "file_lock"};
    size_t n = strlen(type->name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type->name, names[i]) == 0)
            return true;
    return type->group == SKEIN_GROUP_LOCK && n >= 4 && strcmp(type->name + n - 4, "lock") == 0;
}

/* What an event adds; false: nothing. */
static bool event_values(const struct partition_info *info, const struct trace_event *event,
                         struct profile_values *values)
{
    const struct partition_event_type *type = event->type;
    *values = (struct profile_values){0};
    if (event->stack == 0 || type == NULL)
        return false;
    if (!info->evidence) {
        values->waits = 1;
        values->wait_ns = event->dur_ns;
        if (is_contention(type)) {
            values->contentions = 1;
            values->contention_ns = event->dur_ns;
        }
        return event->kind == TRACE_REGION || event->kind == TRACE_OPEN;
    }
    values->samples = 1;
    for (unsigned i = 0; i < type->nargs; i++)
        if (type->args[i].type == SKEIN_T_U64 && strcmp(type->args[i].name, "weight") == 0)
            values->cpu_ns = event->args[i].u64;
    return event->kind == TRACE_INSTANT && strcmp(type->name, STACK_PROFILE_SAMPLE) == 0;
}

static void span_add(uint64_t *from_ns, uint64_t *to_ns, uint64_t begin_ns, uint64_t end_ns)
{
    *from_ns = begin_ns < *from_ns ? begin_ns : *from_ns;
    *to_ns = end_ns > *to_ns ? end_ns : *to_ns;
}

/* The time in which CPUs were sampled, where the event tells it. */
static void window_take(struct stack_profile *p, const struct partition_info *info,
                        const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    uint64_t room_ns = 0, cpus = 0;
    if (!info->evidence || event->kind != TRACE_INSTANT || type == NULL ||
        strcmp(type->name, STACK_PROFILE_WINDOW) != 0)
        return;
    for (unsigned i = 0; i < type->nargs; i++) {
        if (type->args[i].type == SKEIN_T_U64 && strcmp(type->args[i].name, "room") == 0)
            room_ns = event->args[i].u64;
        if (type->args[i].type == SKEIN_T_U64 && strcmp(type->args[i].name, "cpus") == 0)
            cpus = event->args[i].u64;
    }
    if (cpus > 0 && room_ns / cpus <= event->time_ns)
        span_add(&p->sampled_from_ns, &p->sampled_to_ns, event->time_ns - room_ns / cpus,
                 event->time_ns);
}

static void values_add(struct profile_values *to, const struct profile_values *more)
{
    to->samples += more->samples;
    to->cpu_ns += more->cpu_ns;
    to->waits += more->waits;
    to->wait_ns += more->wait_ns;
    to->contentions += more->contentions;
    to->contention_ns += more->contention_ns;
}

static int row_add(struct stack_profile *p, const struct profile_row *row,
                   const struct profile_values *values)
{
    bool fresh;
    if (!array_grow(p->values, p->rows.count + 1, &p->value_cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(&p->rows, row, sizeof *row, &fresh);
    if (at < 0)
        return SKEIN_NO_MEMORY;
    if (fresh)
        p->values[at] = (struct profile_values){0};
    values_add(&p->values[at], values);
    values_add(&p->sum, values);
    return SKEIN_OK;
}

static size_t table_bytes(const struct intern_table *table)
{
    return table->bytes.cap + table->cap * sizeof *table->entries +
           table->slot_count * sizeof *table->slots;
}

static size_t profile_bytes(const struct stack_profile *p)
{
    return table_bytes(&p->processes) + table_bytes(&p->strings) + table_bytes(&p->functions) +
           table_bytes(&p->mappings) + table_bytes(&p->locations) + table_bytes(&p->stacks) +
           table_bytes(&p->rows) + p->value_cap * sizeof *p->values +
           p->known_cap * sizeof *p->known;
}

int stack_profile_add(struct stack_profile *p, struct partition_reader *reader,
                      const struct trace_event *event)
{
    struct profile_values values;
    const struct partition_info *info = partition_reader_info(reader);
    if (!event_values(info, event, &values)) {
        window_take(p, info, event);
        return SKEIN_OK;
    }
    int64_t stack = stack_number(p, reader, event->stack);
    int64_t service = profile_text(p, info->service);
    int64_t thread = profile_text(p, event->thread == NULL ? "" : event->thread->name);
    int64_t name = profile_text(p, event->type->name);
    if (stack < 0 || service < 0 || thread < 0 || name < 0)
        return SKEIN_NO_MEMORY;
    const struct profile_row row = {.stack = (uint32_t)stack,
                                    .service = (uint32_t)service,
                                    .pid = info->pid,
                                    .thread = (uint32_t)thread,
                                    .tid = event->thread == NULL ? 0 : event->thread->tid,
                                    .event = (uint32_t)name};
    span_add(&p->from_ns, &p->to_ns, event->time_ns, event->time_ns + event->dur_ns);
    int status = row_add(p, &row, &values);
    return status == SKEIN_OK && profile_is_over(p, profile_bytes(p)) ? SKEIN_TOO_LARGE : status;
}
