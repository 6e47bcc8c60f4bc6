/* SPDX-License-Identifier: Apache-2.0
 *
 * What Go's events say, as records (docs/import.md): of goroutines, which are threads here, and on
 * the thread "runtime" what is of none. Goroutines' states, and what the runtime does, are evidence;
 * tasks, regions and logs of the program are the cut.
 */
#include <string.h>

#include "array.h"
#include "import_go_int.h"

#define SAMPLE_WEIGHT_NS 10000000u /* Go samples 100 times a second of CPU time, if not told else */
#define OPENS_MAX        60000u    /* F-4: 65 536 */

/* ---- stacks and threads ---- */

/* The stack's number among the import's, its addresses named. */
static uint32_t stack_number(struct go_import *i, uint64_t id)
{
    char function[GO_STRING_MAX + 1], file[GO_STRING_MAX + 1];
    uint64_t pcs[GO_FRAMES_MAX];
    struct go_generation *g = &i->gen;
    uint32_t at = id != 0 ? import_map_get(&g->stack_ids, id) : IMPORT_MAP_NONE;
    if (at == IMPORT_MAP_NONE)
        return 0;
    struct go_stack *stack = &g->stacks[at];
    for (uint32_t k = 0; stack->number == 0 && k < stack->count; k++) {
        const uint64_t *frame = g->pcs + stack->pcs + k * 4;
        pcs[k] = frame[0];
        const struct partition_line line = {.function = go_text(g, frame[1], function),
                                            .file = go_text(g, frame[2], file),
                                            .line =
                                                frame[3] <= UINT32_MAX ? (uint32_t)frame[3] : 0};
        import_name(i->out, frame[0], &line, 1);
    }
    if (stack->number == 0 && stack->count > 0)
        stack->number = import_stack(i->out, pcs, stack->count, stack->count == GO_FRAMES_MAX);
    return stack->number;
}

/* The name of the outermost function, which a goroutine began with; 0: the stack is cut there. */
static uint32_t stack_function(struct go_import *i, uint64_t id)
{
    char function[GO_STRING_MAX + 1];
    const struct go_generation *g = &i->gen;
    uint32_t at = id != 0 ? import_map_get(&g->stack_ids, id) : IMPORT_MAP_NONE;
    if (at == IMPORT_MAP_NONE || g->stacks[at].count == 0 || g->stacks[at].count == GO_FRAMES_MAX)
        return 0;
    size_t outermost = g->stacks[at].pcs + (size_t)(g->stacks[at].count - 1) * 4;
    return import_keep(i->out, go_text(g, g->pcs[outermost + 1], function));
}

static uint32_t thread_by_id(struct go_import *i, uint64_t id, uint32_t name)
{
    return import_thread(i->out, (uint32_t)id, id,
                         name != 0 ? import_kept(i->out, name) : "goroutine", name != 0);
}

static uint32_t thread_of(struct go_import *i, const struct go_goroutine *g)
{
    return g != NULL ? thread_by_id(i, g->id, g->name)
                     : import_thread(i->out, 0, SKEIN_STAND_IN, "runtime", true);
}

static struct go_goroutine *goroutine_at(struct go_import *i, const struct go_where *where)
{
    return where->g != GO_NONE ? go_goroutine_get(i, where->g) : NULL;
}

static uint64_t text_of_kept(struct go_import *i, uint32_t kept)
{
    const char *text = import_kept(i->out, kept);
    return import_text(i->out, text, strlen(text));
}

static uint64_t text_put(struct go_import *i, const char *text)
{
    return import_text(i->out, text, strlen(text));
}

static uint64_t string_put(struct go_import *i, uint64_t id)
{
    char text[GO_STRING_MAX + 1];
    return text_put(i, go_text(&i->gen, id, text));
}

static uint64_t cut_put(struct go_import *i, bool begin, bool end)
{
    return text_put(i, begin ? end ? "both" : "begin" : end ? "end" : "");
}

/* ---- stretches of time ---- */

static void stretch_begin(struct go_import *i, struct go_stretch *stretch, uint64_t ns,
                          uint64_t stack, const char *text, bool cut)
{
    *stretch = (struct go_stretch){.on = true,
                                   .cut = cut,
                                   .since_ns = ns,
                                   .stack = stack_number(i, stack),
                                   .text = import_keep(i->out, text)};
}

/* The stretch as a span; `values` has all but `cut`, which is the last argument. */
static void stretch_put(struct go_import *i, struct go_stretch *stretch, uint32_t type,
                        uint32_t thread, uint64_t ns, uint64_t values[SKEIN_ARGS_MAX],
                        unsigned count, bool cut)
{
    if (!stretch->on || type == SKEIN_NONE)
        return;
    values[count] = cut_put(i, stretch->cut, cut);
    import_event(i->out, type, thread, ns, ns - stretch->since_ns, values, stretch->stack);
    stretch->on = false;
}

static void state_end(struct go_import *i, struct go_goroutine *g, enum go_status status,
                      uint64_t ns, bool cut)
{
    uint64_t values[SKEIN_ARGS_MAX];
    uint32_t type = SKEIN_NONE;
    if (!g->state.on)
        return;
    if (status == GO_RUNNING || status == GO_SYSCALL) {
        type = i->types[status == GO_RUNNING ? GO_TYPE_RUNNING : GO_TYPE_SYSCALL];
        values[0] = g->m;
        values[1] = g->p;
    } else {
        type = status == GO_RUNNABLE ? i->types[GO_TYPE_RUNNABLE]
                                     : go_wait_type(i, import_kept(i->out, g->state.text));
        values[0] = text_of_kept(i, g->state.text);
        values[1] = g->by;
    }
    stretch_put(i, &g->state, type, thread_of(i, g), ns, values, 2, cut);
}

/* A goroutine is called by its first function, where a stack says that. */
static void name_note(struct go_import *i, struct go_goroutine *g, uint64_t stack)
{
    if (g != NULL && g->name == 0)
        g->name = stack_function(i, stack);
}

void go_state_begin(struct go_import *i, struct go_goroutine *g, enum go_status status,
                    const struct go_where *where, uint64_t stack, const char *reason, bool cut)
{
    static const char unknown[] = "unspecified";
    name_note(i, g, stack);
    state_end(i, g, g->is, where->ns, false);
    g->is = status;
    g->m = where->m;
    g->p = where->p;
    stretch_begin(i, &g->state, where->ns, stack,
                  status == GO_WAITING && reason[0] == '\0' ? unknown : reason, cut);
}

/* ---- regions and tasks ---- */

static void region_put(struct go_import *i, const struct go_goroutine *g,
                       const struct go_region *region, uint64_t ns, bool cut_begin, bool cut_end)
{
    const uint64_t values[] = {region->task, cut_put(i, cut_begin, cut_end),
                               text_of_kept(i, region->name)};
    import_event(i->out, go_named_type(i, import_kept(i->out, region->name), false),
                 thread_of(i, g), ns, ns - region->since_ns, values, region->stack);
}

static void region_begin(struct go_import *i, struct go_goroutine *g, const struct go_cursor *e,
                         uint64_t ns)
{
    char name[GO_STRING_MAX + 1];
    if (g->region_count == GO_REGIONS_MAX) {
        i->told->left_out++;
        import_why(i->told, "a goroutine has more than %u regions open at a time", GO_REGIONS_MAX);
        return;
    }
    if (!array_grow(g->regions, g->region_count + 1, &g->region_cap)) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    g->regions[g->region_count++] =
        (struct go_region){.task = e->args[0],
                           .since_ns = ns,
                           .name = import_keep(i->out, go_text(&i->gen, e->args[1], name)),
                           .stack = stack_number(i, e->args[2])};
}

/* The innermost that is called so; one that had begun before the trace lasts since then at least. */
static void region_end(struct go_import *i, struct go_goroutine *g, const struct go_cursor *e,
                       uint64_t ns)
{
    char text[GO_STRING_MAX + 1];
    uint32_t name = import_keep(i->out, go_text(&i->gen, e->args[1], text));
    for (size_t k = g->region_count; k-- > 0;) {
        const struct go_region region = g->regions[k];
        if (region.task != e->args[0] || region.name != name)
            continue;
        memmove(&g->regions[k], &g->regions[k + 1], (g->region_count - k - 1) * sizeof *g->regions);
        g->region_count--;
        region_put(i, g, &region, ns, false, false);
        return;
    }
    region_put(i, g,
               &(struct go_region){.task = e->args[0],
                                   .since_ns = i->any ? i->first_ns : ns,
                                   .name = name,
                                   .stack = stack_number(i, e->args[2])},
               ns, true, false);
}

static void task_begin(struct go_import *i, struct go_goroutine *g, const struct go_cursor *e,
                       uint64_t ns)
{
    char name[GO_STRING_MAX + 1];
    bool known = import_map_get(&i->task_places, e->args[0]) != IMPORT_MAP_NONE;
    if (known || i->task_count == GO_TASKS_MAX) {
        i->told->left_out++;
        import_why(i->told, "more than %u tasks are open at a time, or one begins twice",
                   GO_TASKS_MAX);
        return;
    }
    if (!array_grow(i->tasks, i->task_count + 1, &i->task_cap) ||
        !import_map_set(&i->task_places, e->args[0], (uint32_t)i->task_count)) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    i->tasks[i->task_count++] =
        (struct go_task){.id = e->args[0],
                         .parent = e->args[1],
                         .g = g->id,
                         .since_ns = ns,
                         .name = import_keep(i->out, go_text(&i->gen, e->args[2], name)),
                         .stack = stack_number(i, e->args[3]),
                         .goroutine = g->name};
}

/* A span on the goroutine that began it, wherever it ends. */
static void task_end(struct go_import *i, const struct go_goroutine *g, const struct go_cursor *e,
                     uint64_t ns)
{
    struct go_task task = {.id = e->args[0],
                           .g = g->id,
                           .since_ns = i->any ? i->first_ns : ns,
                           .stack = stack_number(i, e->args[1]),
                           .goroutine = g->name};
    uint32_t at = import_map_get(&i->task_places, task.id);
    bool known = at != IMPORT_MAP_NONE;
    if (known) {
        task = i->tasks[at];
        i->tasks[at] = i->tasks[--i->task_count];
        (void)import_map_set(&i->task_places, i->tasks[at].id, at);
        import_map_remove(&i->task_places, task.id);
    }
    const uint64_t values[] = {task.id, cut_put(i, !known, false), task.parent, g->id,
                               text_of_kept(i, task.name)};
    import_event(i->out, go_named_type(i, import_kept(i->out, task.name), true),
                 thread_by_id(i, task.g, task.goroutine), ns, ns - task.since_ns, values,
                 task.stack);
}

static void annotation_emit(struct go_import *i, struct go_goroutine *g, const struct go_cursor *e,
                            uint64_t ns)
{
    if (g == NULL)
        return;
    if (e->kind == GO_REGION_BEGIN)
        region_begin(i, g, e, ns);
    else if (e->kind == GO_REGION_END)
        region_end(i, g, e, ns);
    else if (e->kind == GO_TASK_BEGIN)
        task_begin(i, g, e, ns);
    else if (e->kind == GO_TASK_END)
        task_end(i, g, e, ns);
}

static void log_emit(struct go_import *i, const struct go_goroutine *g, const struct go_cursor *e,
                     uint64_t ns)
{
    const uint64_t values[] = {0, string_put(i, e->args[2]), string_put(i, e->args[1]), e->args[0]};
    import_event(i->out, i->types[GO_TYPE_LOG], thread_of(i, g), ns, 0, values,
                 stack_number(i, e->args[3]));
}

/* ---- what the runtime does ---- */

static void sweep_emit(struct go_import *i, const struct go_goroutine *g, const struct go_cursor *e,
                       const struct go_where *where)
{
    uint64_t values[SKEIN_ARGS_MAX] = {e->args[0], e->args[1], where->p};
    uint64_t id = e->kind == GO_SWEEP_ACTIVE ? e->args[0] : where->p;
    struct go_processor *p = go_processor_get(i, id);
    if (p == NULL)
        return;
    if (e->kind == GO_SWEEP_END)
        stretch_put(i, &p->sweep, i->types[GO_TYPE_SWEEP], thread_of(i, g), where->ns, values, 3,
                    false);
    else if (!p->sweep.on)
        stretch_begin(i, &p->sweep, where->ns, e->kind == GO_SWEEP_BEGIN ? e->args[0] : 0, "",
                      e->kind == GO_SWEEP_ACTIVE);
}

static void gc_emit(struct go_import *i, const struct go_cursor *e, uint64_t ns)
{
    uint64_t values[SKEIN_ARGS_MAX];
    if (e->kind == GO_GC_END)
        stretch_put(i, &i->gc, i->types[GO_TYPE_GC], thread_of(i, NULL), ns, values, 0, false);
    else if (!i->gc.on)
        stretch_begin(i, &i->gc, ns, e->kind == GO_GC_BEGIN ? e->args[1] : 0, "",
                      e->kind == GO_GC_ACTIVE);
}

static void runtime_emit(struct go_import *i, struct go_goroutine *g, const struct go_cursor *e,
                         const struct go_where *where)
{
    char kind[GO_STRING_MAX + 1];
    uint64_t values[SKEIN_ARGS_MAX];
    if (e->kind == GO_ASSIST_ACTIVE)
        g = go_goroutine_get(i, e->args[0]);
    if (g == NULL)
        return;
    switch (e->kind) {
    case GO_STW_BEGIN:
        stretch_begin(i, &g->stw, where->ns, e->args[1], go_text(&i->gen, e->args[0], kind), false);
        break;
    case GO_STW_END:
        values[0] = text_of_kept(i, g->stw.text);
        stretch_put(i, &g->stw, i->types[GO_TYPE_STW], thread_of(i, g), where->ns, values, 1,
                    false);
        break;
    case GO_ASSIST_END:
        stretch_put(i, &g->assist, i->types[GO_TYPE_ASSIST], thread_of(i, g), where->ns, values, 0,
                    false);
        break;
    default:
        if (!g->assist.on)
            stretch_begin(i, &g->assist, where->ns, e->kind == GO_ASSIST_BEGIN ? e->args[0] : 0, "",
                          e->kind == GO_ASSIST_ACTIVE);
    }
}

static void counter_emit(struct go_import *i, enum go_type type, uint64_t value,
                         const struct go_where *where)
{
    import_event(i->out, i->types[type], thread_of(i, NULL), where->ns, 0, &value, 0);
}

/* ---- one event ---- */

static void moment_emit(struct go_import *i, const struct go_goroutine *g,
                        const struct go_cursor *e, const struct go_where *where)
{
    uint64_t values[2] = {e->args[0], 0};
    uint64_t stack = e->kind == GO_SWITCH || e->kind == GO_SWITCH_DESTROY ? 0 : e->args[2];
    enum go_type type = GO_TYPE_UNBLOCK;
    if (e->kind == GO_CREATE || e->kind == GO_CREATE_BLOCKED) {
        struct go_goroutine *made = go_goroutine_get(i, e->args[0]);
        name_note(i, made, e->args[1]);
        values[1] = text_of_kept(i, made != NULL ? made->name : 0);
        type = GO_TYPE_CREATE;
    } else if (e->kind == GO_LABEL) {
        values[0] = string_put(i, e->args[0]);
        type = GO_TYPE_LABEL;
        stack = 0;
    }
    uint32_t thread = g == NULL && where->g != GO_NONE ? thread_by_id(i, where->g, 0)
                                                       : thread_of(i, g); /* it may have ended */
    import_event(i->out, i->types[type], thread, where->ns, 0, values, stack_number(i, stack));
}

void go_event_emit(struct go_import *i, const struct go_cursor *e, const struct go_where *where)
{
    struct go_goroutine *g = goroutine_at(i, where);
    switch (e->kind) {
    case GO_CREATE:
    case GO_CREATE_BLOCKED:
    case GO_UNBLOCK:
    case GO_SWITCH:
    case GO_SWITCH_DESTROY:
    case GO_LABEL:
        moment_emit(i, g, e, where);
        break;
    case GO_REGION_BEGIN:
    case GO_REGION_END:
    case GO_TASK_BEGIN:
    case GO_TASK_END:
        annotation_emit(i, g, e, where->ns);
        break;
    case GO_LOG:
        log_emit(i, g, e, where->ns);
        break;
    case GO_STW_BEGIN:
    case GO_STW_END:
    case GO_ASSIST_ACTIVE:
    case GO_ASSIST_BEGIN:
    case GO_ASSIST_END:
        runtime_emit(i, g, e, where);
        break;
    case GO_GC_ACTIVE:
    case GO_GC_BEGIN:
    case GO_GC_END:
        gc_emit(i, e, where->ns);
        break;
    case GO_SWEEP_ACTIVE:
    case GO_SWEEP_BEGIN:
    case GO_SWEEP_END:
        sweep_emit(i, g, e, where);
        break;
    case GO_HEAP_ALLOC:
        counter_emit(i, GO_TYPE_HEAP_ALLOC, e->args[0], where);
        break;
    case GO_HEAP_GOAL:
        counter_emit(i, GO_TYPE_HEAP_GOAL, e->args[0], where);
        break;
    case GO_PROCS_CHANGE:
        counter_emit(i, GO_TYPE_PROCS, e->args[0], where);
        break;
    default:
        i->told->not_read += e->kind >= GO_EXPERIMENT_FROM;
    }
}

void go_sample_emit(struct go_import *i, const struct go_sample *sample, uint64_t ns)
{
    const uint64_t values[] = {SAMPLE_WEIGHT_NS, sample->m, sample->p};
    const struct go_goroutine *g = sample->g != 0 ? go_goroutine_get(i, sample->g) : NULL;
    uint32_t thread = g == NULL && sample->g != 0 ? thread_by_id(i, sample->g, 0) : thread_of(i, g);
    import_event(i->out, i->types[GO_TYPE_SAMPLE], thread, ns, 0, values,
                 stack_number(i, sample->stack));
}

/* ---- ends ---- */

static void stretches_end(struct go_import *i, struct go_goroutine *g, uint64_t ns, bool cut)
{
    uint64_t values[SKEIN_ARGS_MAX];
    state_end(i, g, g->is, ns, cut);
    stretch_put(i, &g->assist, i->types[GO_TYPE_ASSIST], thread_of(i, g), ns, values, 0, true);
    values[0] = text_of_kept(i, g->stw.text);
    stretch_put(i, &g->stw, i->types[GO_TYPE_STW], thread_of(i, g), ns, values, 1, true);
}

void go_goroutine_end(struct go_import *i, struct go_goroutine *g, uint64_t ns)
{
    stretches_end(i, g, ns, false);
    while (g->region_count > 0)
        region_put(i, g, &g->regions[--g->region_count], ns, false, true);
    go_goroutine_drop(i, g);
}

static void opens_put(struct go_import *i)
{
    uint64_t opens = 0, left = 0;
    for (size_t k = 0; k < i->goroutine_count; k++) {
        const struct go_goroutine *g = i->goroutines[k];
        for (size_t r = 0; r < g->region_count; r++, opens++)
            if (opens < OPENS_MAX)
                import_open(i->out,
                            go_named_type(i, import_kept(i->out, g->regions[r].name), false),
                            thread_of(i, g), g->regions[r].since_ns, (int64_t)g->regions[r].task);
    }
    for (size_t k = 0; k < i->task_count; k++, opens++) {
        const struct go_task *task = &i->tasks[k];
        if (opens < OPENS_MAX)
            import_open(i->out, go_named_type(i, import_kept(i->out, task->name), true),
                        thread_by_id(i, task->g, task->goroutine), task->since_ns,
                        (int64_t)task->id);
    }
    left = opens > OPENS_MAX ? opens - OPENS_MAX : 0;
    i->told->left_out += left;
    if (left > 0)
        import_why(i->told, "more than %u regions and tasks are open at the end", OPENS_MAX);
}

int go_all_end(struct go_import *i)
{
    uint64_t values[SKEIN_ARGS_MAX] = {0};
    int status = SKEIN_OK;
    for (size_t k = 0; k < i->goroutine_count && status == SKEIN_OK; k++) {
        stretches_end(i, i->goroutines[k], i->last_ns, true);
        if (import_out_full(i->out))
            status = import_out_flush(i->out);
    }
    for (size_t k = 0; k < i->p_count; k++) {
        values[2] = i->ps[k].id;
        stretch_put(i, &i->ps[k].sweep, i->types[GO_TYPE_SWEEP], thread_of(i, NULL), i->last_ns,
                    values, 3, true);
    }
    stretch_put(i, &i->gc, i->types[GO_TYPE_GC], thread_of(i, NULL), i->last_ns, values, 0, true);
    opens_put(i);
    return status;
}
