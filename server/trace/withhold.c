/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence without what its reader may not know; see withhold.h. Events come from the reader in the
 * order of time, and the writer wants those of one thread behind each other: so they wait here. Their
 * texts are the reader's own, which lasts longer.
 *
 * A few KiB can unpack to events without end, and this runs where one client's work is all clients':
 * so memory and events are bounded, far above what an agent writes (evidence.max_bytes).
 */
#include "withhold.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "partition_reader.h"
#include "partition_writer.h"
#include "skein_check.h"

#define READER_BYTES (UINT64_C(64) << 20)
#define KEPT_BYTES   ((size_t)48 << 20) /* of events that wait */
#define EVENTS_MAX   (1u << 20)         /* that are read, and perhaps left out */

#define WITHHELD "(withheld)"
#define WORDS    "a file whose words are withheld here, as not everybody may read it"

/* ---- what names others ---- */

/* Types of events of a process's own threads that name others: the argument with the other's number,
 * and those texts that name nobody. All that lies on the thread `host` is of others, known or not. */
static const struct {
    const char *type, *number, *safe[4];
} others[] = {{"sched.runnable", "instead_tid", {"why", "cut"}},
              {"sched.blocked", "waker_tid", {"state", "context", "cut"}},
              {"crash.sent", "by", {"cause"}}};
#define OTHERS (sizeof others / sizeof *others)

static bool is_named(const struct partition_event_type *type, const char *name)
{
    return strcmp(type->name, name) == 0;
}

/* The row of the type; OTHERS: none. */
static size_t others_row(const struct partition_event_type *type)
{
    size_t row = 0;
    while (row < OTHERS && !is_named(type, others[row].type))
        row++;
    return row;
}

static bool is_safe(size_t row, const char *argument)
{
    for (size_t i = 0; row < OTHERS && i < 4 && others[row].safe[i] != NULL; i++)
        if (strcmp(others[row].safe[i], argument) == 0)
            return true;
    return false;
}

bool withhold_concerns(const struct withhold *what, const struct partition_footer *footer)
{
    if (!footer->evidence || what->names)
        return footer->evidence && what->names;
    for (size_t i = 0; i < footer->type_count && what->words != WITHHOLD_NO_WORDS; i++)
        if (strncmp(footer->types[i].name, "crash.", 6) == 0)
            return true;
    return false;
}

/* ---- the events ---- */

struct kept_event {
    uint64_t ticks, dur_ticks; /* ticks: its end */
    uint32_t thread, type, stack;
    size_t values; /* of its first argument */
};

struct packing {
    const struct withhold *what;
    struct partition_reader *reader;
    struct partition_writer *writer;
    const struct partition_event_type *types;
    const struct partition_thread *threads;
    size_t type_count, thread_count;
    bool words_shown; /* of the pieces that come now */
    struct kept_event *events;
    size_t event_count, event_cap;
    struct partition_value *values;
    size_t value_count, value_cap;
    size_t read, kept_bytes;
};

static int argument_find(const struct partition_event_type *type, const char *name, uint8_t kind)
{
    for (unsigned i = 0; i < type->nargs; i++)
        if (type->args[i].type == kind && strcmp(type->args[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Whether the number is the process's own, or its thread's, or nobody's (idle, all others). */
static bool is_own(const struct packing *p, uint64_t number)
{
    if (number == 0 || number == partition_reader_info(p->reader)->pid)
        return true;
    for (size_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].tid == number)
            return true;
    return false;
}

static void names_withhold(const struct packing *p, const struct trace_event *event,
                           struct partition_value *values)
{
    const struct partition_event_type *type = event->type;
    size_t row = others_row(type);
    const struct partition_thread *on = event->thread;
    bool of_host = on != NULL && on->tid == 0 && strcmp(on->name, "host") == 0;
    if (row == OTHERS && !of_host)
        return;
    int number = argument_find(type, row < OTHERS ? others[row].number : "pid", SKEIN_T_U64);
    if (number >= 0 && is_own(p, values[number].u64))
        return;
    for (unsigned i = 0; i < type->nargs; i++)
        if (type->args[i].type == SKEIN_T_STR && !is_safe(row, type->args[i].name))
            values[i] = partition_text(WITHHELD);
}

/* Whether the reader of it may know what such a file held. */
static bool may_be_shown(enum withhold_words words, const struct partition_value *readers)
{
    static const char world[] = "everybody", process[] = "process";
    if (words == WITHHOLD_NO_WORDS)
        return true;
    if (readers == NULL) /* of an agent that did not look */
        return false;
    return (readers->str.len == sizeof world - 1 &&
            memcmp(readers->str.text, world, sizeof world - 1) == 0) ||
           (words == WITHHOLD_WORDS_OTHERS && readers->str.len == sizeof process - 1 &&
            memcmp(readers->str.text, process, sizeof process - 1) == 0);
}

/* False: the event is left out. */
static bool words_withhold(struct packing *p, const struct partition_event_type *type,
                           struct partition_value *values)
{
    if (is_named(type, "crash.words"))
        return p->words_shown;
    if (!is_named(type, "crash.stderr"))
        return true;
    int readers = argument_find(type, "readers", SKEIN_T_STR);
    int missing = argument_find(type, "missing", SKEIN_T_STR);
    p->words_shown = may_be_shown(p->what->words, readers >= 0 ? &values[readers] : NULL);
    if (!p->words_shown && missing >= 0 && values[missing].str.len == 0)
        values[missing] = partition_text(WORDS);
    return true;
}

/* A span's length as the writer takes it. */
static uint64_t dur_ticks(const struct packing *p, const struct trace_event *event)
{
    const struct partition_info *info = partition_reader_info(p->reader);
    uint64_t ticks = info->end.ticks - info->begin.ticks;
    uint64_t ns = info->end.realtime_ns - info->begin.realtime_ns;
    if (event->kind != TRACE_REGION || ns == 0)
        return 0;
    unsigned __int128 dur = (unsigned __int128)event->dur_ns * ticks / ns;
    return dur < event->ticks ? (uint64_t)dur : event->ticks;
}

static int event_keep(struct packing *p, const struct trace_event *event,
                      const struct partition_value *values)
{
    const struct partition_event_type *type = event->type;
    size_t bytes = sizeof *p->events + sizeof p->events + type->nargs * sizeof *values;
    if (bytes > KEPT_BYTES - p->kept_bytes)
        return SKEIN_TOO_LARGE;
    p->kept_bytes += bytes;
    if (!array_grow(p->events, p->event_count + 1, &p->event_cap) ||
        !array_grow(p->values, p->value_count + type->nargs, &p->value_cap))
        return SKEIN_NO_MEMORY;
    p->events[p->event_count++] =
        (struct kept_event){.ticks = event->ticks,
                            .dur_ticks = dur_ticks(p, event),
                            .thread = (uint32_t)(event->thread - p->threads),
                            .type = (uint32_t)(type - p->types),
                            .stack = event->stack,
                            .values = p->value_count};
    for (unsigned i = 0; i < type->nargs; i++)
        p->values[p->value_count++] = values[i];
    return SKEIN_OK;
}

static int event_take(struct packing *p, const struct trace_event *event)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    bool is_event = event->kind == TRACE_REGION || event->kind == TRACE_INSTANT ||
                    event->kind == TRACE_COUNTER || event->kind == TRACE_LOG;
    if (event->kind == TRACE_LOSS) {
        partition_writer_loss(p->writer, event->loss);
        return SKEIN_OK;
    }
    if (!is_event || event->type == NULL || event->thread == NULL)
        return SKEIN_OK; /* evidence has none (F-50) */
    skein_check((size_t)(event->type - p->types) < p->type_count);
    skein_check((size_t)(event->thread - p->threads) < p->thread_count);
    memcpy(values, event->args, sizeof values);
    if (!words_withhold(p, event->type, values))
        return SKEIN_OK;
    if (p->what->names)
        names_withhold(p, event, values);
    return event_keep(p, event, values);
}

static int events_read(struct packing *p)
{
    struct trace_event event;
    int next, status = SKEIN_OK;
    while (status == SKEIN_OK && (next = partition_reader_next(p->reader, &event)) != 0) {
        status = next < 0 ? next : event_take(p, &event);
        if (status == SKEIN_OK && ++p->read > EVENTS_MAX)
            status = SKEIN_TOO_LARGE;
    }
    return status;
}

static int events_compare(const void *a, const void *b)
{
    const struct kept_event *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int order_compare(const void *a, const void *b)
{
    const struct kept_event *x = *(const struct kept_event *const *)a,
                            *y = *(const struct kept_event *const *)b;
    return events_compare(x, y);
}

/* ---- the partition ---- */

/* Tables keep their order: what was at a place before is at the same one now. */
static int tables_copy(struct packing *p)
{
    for (size_t i = 0; i < p->type_count; i++) {
        int64_t id = p->types[i].klass == SKEIN_CLASS_STACK
                         ? (int64_t)i
                         : partition_writer_type(p->writer, &p->types[i]);
        if (id < 0)
            return (int)id;
    }
    for (size_t i = 0; i < p->thread_count; i++) {
        int64_t id = partition_writer_thread(p->writer, &p->threads[i]);
        if (id < 0)
            return (int)id;
    }
    return SKEIN_OK;
}

static int stacks_copy(struct packing *p)
{
    struct partition_stack stack;
    int64_t status = SKEIN_OK;
    for (uint32_t id = 1; id <= partition_reader_stack_count(p->reader) && status >= 0; id++)
        if (partition_reader_stack(p->reader, id, &stack))
            status = partition_writer_stack(p->writer, &stack);
    for (size_t i = 0; i < partition_reader_mapping_count(p->reader) && status >= 0; i++)
        status = partition_writer_mapping(p->writer, partition_reader_mapping_at(p->reader, i));
    return status < 0 ? (int)status : SKEIN_OK;
}

/* Of each stack's addresses. */
static int symbols_copy(struct packing *p)
{
    struct partition_stack stack;
    struct partition_symbol symbol;
    int status = SKEIN_OK;
    for (uint32_t id = 1; id <= partition_reader_stack_count(p->reader); id++) {
        if (!partition_reader_stack(p->reader, id, &stack))
            continue;
        for (uint32_t i = 0; i < stack.count && status == SKEIN_OK; i++)
            if (partition_reader_symbol(p->reader, partition_stack_address(&stack, i), &symbol))
                status = partition_writer_symbol(p->writer, &symbol);
    }
    return status == SKEIN_OK ? partition_reader_status(p->reader) : status;
}

static void event_pour(struct packing *p, const struct kept_event *event)
{
    const struct partition_value *values = p->values + event->values;
    const struct partition_event_type *type = &p->types[event->type];
    partition_writer_event(p->writer, (uint32_t)partition_writer_type(p->writer, type),
                           event->ticks, event->dur_ticks, values);
    if (event->stack != 0)
        partition_writer_event_stack(p->writer, event->stack);
}

static int events_pour(struct packing *p)
{
    uint32_t thread = UINT32_MAX;
    struct kept_event **order = calloc(p->event_count + 1, sizeof *order);
    if (order == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < p->event_count; i++)
        order[i] = &p->events[i];
    qsort(order, p->event_count, sizeof(struct kept_event *), order_compare);
    for (size_t i = 0; i < p->event_count; i++) {
        if (order[i]->thread != thread)
            partition_writer_batch(
                p->writer,
                (uint32_t)partition_writer_thread(p->writer, &p->threads[order[i]->thread]),
                partition_reader_info(p->reader)->generation, 0, false);
        thread = order[i]->thread;
        event_pour(p, order[i]);
    }
    free(order);
    return SKEIN_OK;
}

static int packing_run(struct packing *p, struct buf *out)
{
    p->type_count = partition_reader_types(p->reader, &p->types);
    p->thread_count = partition_reader_threads(p->reader, &p->threads);
    int status = partition_writer_new(partition_reader_info(p->reader), &p->writer);
    if (status == SKEIN_OK)
        status = tables_copy(p);
    if (status == SKEIN_OK)
        status = stacks_copy(p);
    if (status == SKEIN_OK)
        status = events_read(p);
    if (status == SKEIN_OK)
        status = symbols_copy(p);
    if (status == SKEIN_OK)
        status = events_pour(p);
    return status == SKEIN_OK ? partition_writer_finish(p->writer, out, NULL) : status;
}

int withhold_pack(const struct withhold *what, const uint8_t *bytes, size_t n, struct buf *out)
{
    struct partition_fault fault;
    struct packing p = {.what = what};
    size_t before = out->len;
    int status = partition_reader_make_within(bytes, n, READER_BYTES, &p.reader, &fault);
    if (status == SKEIN_OK)
        status = packing_run(&p, out);
    if (status == SKEIN_INVALID)
        status = SKEIN_CORRUPT;
    if (status != SKEIN_OK)
        out->len = before;
    partition_writer_free(&p.writer);
    partition_reader_free(&p.reader);
    free(p.events);
    free(p.values);
    return status;
}
