/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the dumps and their texts. One thread enters. Never reads a file.
 */
#include "thread_list.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_stack.h"

#define THREADS_MAX 8192 /* of a dump; agents look at half as many */

struct dump_memory {
    size_t thread_cap, group_cap, circle_cap;
    struct partition_key key;
    struct beside *beside;
    bool dumped; /* it has threads, or says that there are none */
};

struct thread_list {
    struct thread_dump_view *dumps;
    struct dump_memory *memory; /* beside each */
    size_t count, cap, memory_cap;
    char **texts;
    size_t text_count, text_cap;
    int status;
};

int thread_list_new(struct thread_list **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

static void dump_free(struct thread_dump_view *dump)
{
    for (size_t i = 0; i < dump->group_count; i++)
        free(dump->groups[i].frames);
    for (size_t i = 0; i < dump->circle_count; i++)
        free(dump->circles[i].tids);
    free(dump->threads);
    free(dump->groups);
    free(dump->circles);
}

void thread_list_free(struct thread_list **list_p)
{
    struct thread_list *list = *list_p;
    if (list == NULL)
        return;
    *list_p = NULL;
    for (size_t i = 0; i < list->count; i++) {
        dump_free(&list->dumps[i]);
        beside_free(&list->memory[i].beside);
    }
    for (size_t i = 0; i < list->text_count; i++)
        free(list->texts[i]);
    free(list->dumps);
    free(list->memory);
    free(list->texts);
    free(list);
}

/* ---- taking ---- */

/* A copy that lives as long as the list; "" where there is no memory. */
static const char *text_keep(struct thread_list *list, const char *text, size_t n)
{
    char *copy = n == 0 ? NULL : strndup(text, n);
    if (n == 0)
        return "";
    if (copy == NULL || !array_grow(list->texts, list->text_count + 1, &list->text_cap)) {
        free(copy);
        list->status = SKEIN_NO_MEMORY;
        return "";
    }
    list->texts[list->text_count++] = copy;
    return copy;
}

static const char *value_text(struct thread_list *list, const struct trace_event *event, unsigned i)
{
    if (i >= event->type->nargs || event->type->args[i].type != SKEIN_T_STR)
        return "";
    return text_keep(list, event->args[i].str.text, event->args[i].str.len);
}

static uint64_t value_number(const struct trace_event *event, unsigned i)
{
    return i < event->type->nargs && event->type->args[i].type != SKEIN_T_STR ? event->args[i].u64
                                                                              : 0;
}

/* The dump of the reader's partition; made, where it is the first event of it. */
static struct thread_dump_view *dump_of(struct thread_list *list, const struct partition_info *info)
{
    for (size_t i = list->count; i > 0; i--)
        if (partition_key_equal(&list->memory[i - 1].key, &info->key))
            return &list->dumps[i - 1];
    if (!array_grow(list->dumps, list->count + 1, &list->cap) ||
        !array_grow(list->memory, list->count + 1, &list->memory_cap)) {
        list->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    list->memory[list->count] = (struct dump_memory){.key = info->key};
    if (beside_new(&list->memory[list->count].beside) != SKEIN_OK) {
        list->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    struct thread_dump_view *dump = &list->dumps[list->count];
    *dump =
        (struct thread_dump_view){.process = info->key.process,
                                  .pid = info->pid,
                                  .title = "",
                                  .service = text_keep(list, info->service, strlen(info->service)),
                                  .host = text_keep(list, info->host, strlen(info->host))};
    list->count++;
    return dump;
}

static void state_take(struct thread_list *list, struct thread_dump_view *dump,
                       const struct trace_event *event)
{
    size_t *cap = &list->memory[dump - list->dumps].thread_cap;
    if (dump->thread_count == THREADS_MAX) {
        dump->left_out++;
        return;
    }
    if (!array_grow(dump->threads, dump->thread_count + 1, cap)) {
        list->status = SKEIN_NO_MEMORY;
        return;
    }
    dump->threads[dump->thread_count++] = (struct thread_item){
        .tid = event->thread->tid,
        .name = text_keep(list, event->thread->name, strlen(event->thread->name)),
        .state = value_text(list, event, 0),
        .wchan = value_text(list, event, 1),
        .call = value_text(list, event, 2),
        .at_ns = event->time_ns,
        .cpu_ns = value_number(event, 3),
        .voluntary = value_number(event, 4),
        .involuntary = value_number(event, 5),
        .waits_for = "",
        .descriptor = "",
        .stack = event->stack};
}

/* Comes right behind the thread's state. */
static void wait_take(struct thread_list *list, struct thread_dump_view *dump,
                      const struct trace_event *event)
{
    size_t count = dump->thread_count;
    struct thread_item *thread = count > 0 ? &dump->threads[count - 1] : NULL;
    if (thread == NULL || thread->tid != event->thread->tid)
        return;
    thread->waits_for = value_text(list, event, 0);
    thread->object = value_number(event, 1);
    thread->holder = (uint32_t)value_number(event, 2);
}

/* ---- frames ---- */

static bool frame_add(struct thread_group *group, size_t *cap, const struct thread_frame *frame)
{
    if (!array_grow(group->frames, group->frame_count + 1, cap))
        return false;
    group->frames[group->frame_count++] = *frame;
    return true;
}

static void address_add(struct thread_list *list, struct partition_reader *reader,
                        struct thread_group *group, size_t *cap, uint64_t pc, uint64_t address)
{
    const struct partition_mapping *mapping = partition_reader_mapping(reader, address);
    struct partition_symbol symbol = {.line_count = 0};
    struct thread_frame frame = {.pc = pc, .function = "", .file = "", .module = ""};
    if (mapping != NULL)
        frame.module = text_keep(list, mapping->path, strlen(mapping->path));
    frame.tracer = trace_module_is_tracer(frame.module);
    if (!partition_reader_symbol(reader, address, &symbol) || symbol.line_count == 0) {
        if (!frame_add(group, cap, &frame))
            list->status = SKEIN_NO_MEMORY;
        return;
    }
    for (uint32_t i = 0; i < symbol.line_count; i++) {
        const struct partition_line *line = &symbol.lines[i];
        frame.function = text_keep(list, line->function, strlen(line->function));
        frame.file = text_keep(list, line->file, strlen(line->file));
        frame.line = line->line;
        frame.inlined = i + 1 < symbol.line_count;
        if (!frame_add(group, cap, &frame))
            list->status = SKEIN_NO_MEMORY;
    }
}

/* The reader is gone when the list ends: so frames are looked up as a stack is first seen. */
static void group_take(struct thread_list *list, struct partition_reader *reader,
                       struct thread_dump_view *dump, uint32_t id)
{
    struct partition_stack stack;
    for (size_t i = 0; i < dump->group_count; i++)
        if (dump->groups[i].first == id) /* the stack's number, until thread_list_end */
            return;
    size_t *cap = &list->memory[dump - list->dumps].group_cap;
    if (!array_grow(dump->groups, dump->group_count + 1, cap)) {
        list->status = SKEIN_NO_MEMORY;
        return;
    }
    struct thread_group *group = &dump->groups[dump->group_count++];
    *group = (struct thread_group){.first = id};
    if (id == 0 || !partition_reader_stack(reader, id, &stack))
        return;
    size_t frame_cap = 0;
    group->end = (uint8_t)(stack.end & ~(unsigned)PARTITION_STACK_EXACT);
    for (uint32_t i = 0; i < stack.count; i++)
        address_add(list, reader, group, &frame_cap, stack.pcs[i],
                    partition_stack_address(&stack, i));
}

static void dump_event_take(struct thread_list *list, struct partition_reader *reader,
                            struct thread_dump_view *dump, const struct trace_event *event)
{
    bool *dumped = &list->memory[dump - list->dumps].dumped;
    if (strcmp(event->type->name, "thread.state") == 0) {
        size_t before = dump->thread_count;
        state_take(list, dump, event);
        if (dump->thread_count > before)
            group_take(list, reader, dump, event->stack);
        *dumped = true;
    } else if (strcmp(event->type->name, "thread.wait") == 0) {
        wait_take(list, dump, event);
    } else if (strcmp(event->type->name, "thread.dump") == 0) {
        dump->at_ns = event->time_ns;
        dump->stopped = value_number(event, 2);
        dump->stop_ns = value_number(event, 3);
        dump->left_out += value_number(event, 4);
        dump->title = value_text(list, event, 5);
        *dumped = true;
    }
}

int thread_list_add(struct thread_list *list, struct partition_reader *reader,
                    const struct trace_event *event)
{
    if (event->type == NULL || event->thread == NULL || !partition_reader_info(reader)->evidence)
        return list->status;
    struct thread_dump_view *dump = dump_of(list, partition_reader_info(reader));
    if (dump == NULL)
        return list->status;
    dump_event_take(list, reader, dump, event);
    if (list->status == SKEIN_OK)
        list->status = beside_add(list->memory[dump - list->dumps].beside, event);
    return list->status;
}

/* ---- groups ---- */

/* What explains most comes first. */
enum thread_rank {
    RANK_WAITS,   /* for a lock */
    RANK_HOLDS,   /* what such a one waits for */
    RANK_RUNNING, /* or ready to */
    RANK_ODD,     /* uninterruptible, stopped, traced, zombie */
    RANK_SLEEPS,
    RANK_TRACER
};

/* To wait for a thread's end is what many a main thread does all day. */
static bool is_for_lock(const struct thread_item *thread)
{
    return thread->waits_for[0] != '\0' && strcmp(thread->waits_for, "thread") != 0;
}

static bool is_held_by(const struct thread_dump_view *dump, uint32_t tid)
{
    for (size_t i = 0; i < dump->thread_count; i++)
        if (dump->threads[i].holder == tid && is_for_lock(&dump->threads[i]))
            return true;
    return false;
}

static enum thread_rank thread_rank(const struct thread_dump_view *dump,
                                    const struct thread_item *thread)
{
    if (thread->tracer)
        return RANK_TRACER;
    if (is_for_lock(thread))
        return RANK_WAITS;
    if (is_held_by(dump, thread->tid))
        return RANK_HOLDS;
    if (strcmp(thread->state, "running") == 0)
        return RANK_RUNNING;
    return strcmp(thread->state, "sleeping") != 0 ? RANK_ODD : RANK_SLEEPS;
}

struct group_order {
    enum thread_rank rank; /* of its first thread */
    struct thread_group group;
    size_t threads;
};

static int order_compare(const void *a, const void *b)
{
    const struct group_order *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->threads != y->threads)
        return x->threads > y->threads ? -1 : 1;
    return x->group.first < y->group.first ? -1 : x->group.first > y->group.first;
}

static void orders_fill(const struct thread_dump_view *dump, struct group_order *orders)
{
    for (size_t g = 0; g < dump->group_count; g++) {
        orders[g] = (struct group_order){.rank = RANK_TRACER, .group = dump->groups[g]};
        for (size_t i = 0; i < dump->thread_count; i++) {
            const struct thread_item *thread = &dump->threads[i];
            if (thread->stack != dump->groups[g].first)
                continue;
            orders[g].threads++;
            enum thread_rank rank = thread_rank(dump, thread);
            orders[g].rank = rank < orders[g].rank ? rank : orders[g].rank;
        }
    }
}

/* Threads of a group one behind the other, each group from its `first` on. */
static int groups_sort(struct thread_dump_view *dump)
{
    struct group_order *orders = calloc(dump->group_count + 1, sizeof *orders);
    struct thread_item *sorted = calloc(dump->thread_count + 1, sizeof *sorted);
    size_t count = 0;
    if (orders == NULL || sorted == NULL) {
        free(orders);
        free(sorted);
        return SKEIN_NO_MEMORY;
    }
    orders_fill(dump, orders);
    qsort(orders, dump->group_count, sizeof *orders, order_compare);
    for (size_t g = 0; g < dump->group_count; g++) {
        size_t stack = orders[g].group.first;
        dump->groups[g] = orders[g].group;
        dump->groups[g].first = count;
        for (size_t i = 0; i < dump->thread_count; i++)
            if (dump->threads[i].stack == stack)
                sorted[count++] = dump->threads[i];
        dump->groups[g].count = count - dump->groups[g].first;
        dump->groups[g].tracer = orders[g].rank == RANK_TRACER;
    }
    free(orders);
    free(dump->threads);
    dump->threads = sorted;
    return SKEIN_OK;
}

/* ---- deadlocks ---- */

/* Who waits for whom, by tid. */
struct wait_edge {
    uint32_t tid, holder;
};

static int edge_compare(const void *a, const void *b)
{
    const struct wait_edge *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->holder < y->holder ? -1 : x->holder > y->holder;
}

/* 0: it waits for none, or is none. */
static uint32_t holder_of(const struct wait_edge *edges, size_t count, uint32_t tid)
{
    size_t at;
    array_find(at, 0, count, edges[at].tid < tid);
    return at < count && edges[at].tid == tid ? edges[at].holder : 0;
}

/* The circle that `from` is in. */
static int circle_add(struct thread_list *list, struct thread_dump_view *dump,
                      const struct wait_edge *edges, uint32_t from)
{
    size_t *cap = &list->memory[dump - list->dumps].circle_cap, count = 0, n = dump->thread_count;
    uint32_t tid = from;
    do {
        tid = holder_of(edges, n, tid);
        count++;
    } while (tid != from);
    uint32_t *tids = calloc(count, sizeof *tids);
    if (tids == NULL || !array_grow(dump->circles, dump->circle_count + 1, cap)) {
        free(tids);
        return SKEIN_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++, tid = holder_of(edges, n, tid))
        tids[i] = tid;
    dump->circles[dump->circle_count++] = (struct thread_circle){tids, count};
    return SKEIN_OK;
}

/* Each thread waits for one at most, so from each the way is one. A circle is found from its thread
 * of the lowest number. */
static int circles_find(struct thread_list *list, struct thread_dump_view *dump)
{
    size_t n = dump->thread_count;
    struct wait_edge *edges = calloc(n + 1, sizeof *edges);
    if (edges == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        edges[i] = (struct wait_edge){dump->threads[i].tid, dump->threads[i].holder};
    qsort(edges, n, sizeof *edges, edge_compare);
    int status = SKEIN_OK;
    for (size_t i = 0; i < n && status == SKEIN_OK; i++) {
        uint32_t from = edges[i].tid, at = holder_of(edges, n, from);
        bool again = i > 0 && edges[i - 1].tid == from;
        for (size_t steps = 0; at > from && steps < n; steps++)
            at = holder_of(edges, n, at);
        if (!again && from != 0 && at == from)
            status = circle_add(list, dump, edges, from);
    }
    free(edges);
    return status;
}

/* ---- what other evidence knows of them ---- */

/* The visitor sleeps in Skein's library, which nothing else of the program calls from outside. */
static bool thread_is_tracer(const struct thread_dump_view *dump, const struct thread_item *thread)
{
    if (strcmp(thread->name, "skein") != 0)
        return false;
    for (size_t g = 0; g < dump->group_count; g++) {
        const struct thread_group *group = &dump->groups[g];
        bool tracer = group->first == thread->stack && group->frame_count > 0;
        for (size_t i = 0; tracer && i < group->frame_count; i++)
            tracer = group->frames[i].tracer;
        if (tracer)
            return true;
    }
    return false;
}

/* Functions in which threads wait for locks of their runtime; those know their holder, and the
 * kernel does not. */
static const char *runtime_lock(const struct thread_group *group)
{
    static const struct {
        const char *function, *lock;
    } locks[] = {{"ObjectMonitor::enter(", "Java monitor"},
                 {"PyThread_acquire_lock_timed", "Python lock"}};
    for (size_t i = 0; i < group->frame_count; i++)
        for (size_t k = 0; k < sizeof locks / sizeof *locks; k++)
            if (strncmp(group->frames[i].function, locks[k].function, strlen(locks[k].function)) ==
                0)
                return locks[k].lock;
    return "";
}

static void runtime_locks_find(struct thread_dump_view *dump)
{
    for (size_t g = 0; g < dump->group_count; g++) {
        const char *lock = runtime_lock(&dump->groups[g]);
        for (size_t i = 0; i < dump->thread_count && lock[0] != '\0'; i++) {
            struct thread_item *thread = &dump->threads[i];
            if (thread->stack == dump->groups[g].first && thread->waits_for[0] == '\0')
                thread->waits_for = lock;
        }
    }
}

static int beside_join(struct thread_dump_view *dump, struct beside *beside)
{
    dump->cpu = beside_cpu(beside);
    runtime_locks_find(dump);
    for (size_t i = 0; i < dump->thread_count; i++) {
        struct thread_item *thread = &dump->threads[i];
        uint64_t fd;
        const char *descriptor =
            beside_call_descriptor(thread->call, &fd) ? beside_descriptor(beside, fd) : NULL;
        thread->descriptor = descriptor != NULL ? descriptor : "";
        if (strcmp(thread->state, "running") == 0)
            thread->wait = beside_wait_at(beside, thread->tid, thread->at_ns);
        thread->tracer = thread_is_tracer(dump, thread);
        dump->tracers += thread->tracer;
    }
    return beside_peers(beside, &dump->peers, &dump->peer_count);
}

/* Partitions without a dump are none. */
static void dumps_keep(struct thread_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct thread_dump_view dump = list->dumps[i];
        struct dump_memory memory = list->memory[i];
        if (!memory.dumped) {
            dump_free(&dump);
            beside_free(&memory.beside);
            continue;
        }
        list->dumps[kept] = dump;
        list->memory[kept++] = memory;
    }
    list->count = kept;
}

int thread_list_end(struct thread_list *list, const struct thread_dump_view **dumps, size_t *count)
{
    dumps_keep(list);
    for (size_t i = 0; i < list->count && list->status == SKEIN_OK; i++) {
        list->status = beside_join(&list->dumps[i], list->memory[i].beside);
        if (list->status == SKEIN_OK)
            list->status = groups_sort(&list->dumps[i]);
        if (list->status == SKEIN_OK)
            list->status = circles_find(list, &list->dumps[i]);
    }
    *dumps = list->dumps;
    *count = list->count;
    return list->status;
}
