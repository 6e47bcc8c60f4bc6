/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what task paths gather: in the first pass the slowest regions of each name, in the second what
 * was recorded in their time. One thread enters. Judges nothing.
 */
#include "task_path_int.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sched_types.h"
#include "wait_kind.h"

#define FLOOR_NS UINT64_C(1000) /* the first below which regions are dropped */

int task_path_new(struct task_path **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void task_path_free(struct task_path **path)
{
    struct task_path *p = *path;
    *path = NULL;
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->name_keys.count; i++)
        free(p->names[i].slowest);
    for (size_t i = 0; i < p->list.name_count; i++) {
        for (size_t k = 0; k < p->out_names[i].task_count; k++)
            free((void *)(uintptr_t)p->out_names[i].tasks[k].segments);
        free((void *)(uintptr_t)p->out_names[i].tasks);
    }
    for (size_t i = 0; i < p->word_count; i++)
        free(p->words[i]);
    intern_table_fini(&p->name_keys);
    intern_table_fini(&p->actor_keys);
    intern_table_fini(&p->hosts);
    intern_table_fini(&p->host_keys);
    free(p->host_actors);
    intern_table_fini(&p->texts);
    free(p->words);
    free(p->out_names);
    free(p->types);
    free(p->names);
    free(p->actors);
    free(p->spans);
    free(p);
}

/* ---- types ---- */

static int8_t arg_find(const struct skein_event_type *of, const char *name, uint8_t type)
{
    for (int8_t i = 0; i < of->arg_count && i < SKEIN_ARGS_MAX; i++)
        if (of->args[i].type == type && strcmp(of->args[i].name, name) == 0)
            return i;
    return -1;
}

static void evidence_find(struct path_type *t, const struct skein_event_type *of)
{
    if (strcmp(of->name, SCHED_NAME_RUNNABLE) == 0) {
        t->sched = true;
        t->kind = PATH_READY;
        t->other = arg_find(of, "instead_tid", SKEIN_T_U64);
        t->text = arg_find(of, "instead", SKEIN_T_STR);
    } else if (strcmp(of->name, SCHED_NAME_BLOCKED) == 0) {
        t->sched = true;
        t->kind = PATH_BLOCKED;
        t->other = arg_find(of, "waker_tid", SKEIN_T_U64);
        t->text = arg_find(of, "waker", SKEIN_T_STR);
        t->more = arg_find(of, "context", SKEIN_T_STR);
        t->owner = arg_find(of, "state", SKEIN_T_STR);
    } else if (strcmp(of->name, "thread.wait") == 0) {
        t->dump = true;
        t->kind = PATH_DUMPED;
        t->other = arg_find(of, "holder", SKEIN_T_U64);
    }
}

static const struct path_type *type_get(struct task_path *p, uint32_t number)
{
    if (!array_grow_zero(p->types, (size_t)number + 1, &p->type_cap))
        return NULL;
    struct path_type *t = &p->types[number];
    if (t->known)
        return t;
    const struct skein_event_type *of = skein_trace_type(p->trace, number);
    struct wait_kind kind = wait_kind_of(of->name, of->group);
    *t = (struct path_type){.known = true, .wait = kind.wait, .task = !kind.wait};
    t->other = t->text = t->more = -1;
    t->trace_id = arg_find(of, "trace_id", SKEIN_T_STR);
    t->owner = arg_find(of, "owner", SKEIN_T_I64);
    t->lock = kind.for_lock && of->arg_count > 0 && strcmp(of->name, "file_lock") != 0 &&
              (of->args[0].type == SKEIN_T_PTR || of->args[0].type == SKEIN_T_I64 ||
               of->args[0].type == SKEIN_T_U64);
    evidence_find(t, of);
    return t;
}

/* 32 hex digits, as docs/format.md F-35 has them; anything else is none. */
static void id_read(const struct path_type *t, const struct skein_arg *args, uint64_t id[2])
{
    const struct skein_arg *arg = t->trace_id >= 0 ? &args[t->trace_id] : NULL;
    id[0] = id[1] = 0;
    if (arg == NULL || arg->text == NULL || arg->len != 32 || arg->cut)
        return;
    uint64_t read[2] = {0, 0};
    for (unsigned i = 0; i < 32; i++) {
        char c = arg->text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return;
        read[i / 16] = read[i / 16] << 4 | digit;
    }
    id[0] = read[0];
    id[1] = read[1];
}

static uint64_t end_of(const struct skein_batch *batch, uint32_t row)
{
    uint64_t from_ns = batch->time_ns[row], dur_ns = batch->dur_ns[row];
    return dur_ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + dur_ns;
}

/* ---- first pass ---- */

/* *out NULL: of more names than can be counted. */
static int name_get(struct task_path *p, const char *service, const char *name,
                    struct path_name **out)
{
    struct buf key = {0};
    bool fresh = false;
    *out = NULL;
    buf_put(&key, service, strlen(service) + 1);
    buf_put(&key, name, strlen(name));
    int64_t at = key.status != SKEIN_OK ? SKEIN_NO_MEMORY
                                        : intern_table_find(&p->name_keys, key.data, key.len);
    if (at == SKEIN_NOT_FOUND && p->name_keys.count < TASK_NAMES_MAX)
        at = array_grow(p->names, p->name_keys.count + 1, &p->name_cap)
                 ? intern_table_put(&p->name_keys, key.data, key.len, &fresh)
                 : SKEIN_NO_MEMORY;
    buf_fini(&key);
    p->list.regions_left_out += at == SKEIN_NOT_FOUND;
    if (at < 0)
        return at == SKEIN_NOT_FOUND ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (fresh)
        p->names[at] = (struct path_name){.service = service, .name = name};
    *out = &p->names[at];
    return SKEIN_OK;
}

static bool lies_in(const struct path_task *in, const struct path_task *out)
{
    return in->process == out->process && in->tid == out->tid && in->from_ns >= out->from_ns &&
           in->from_ns - out->from_ns <= out->dur_ns &&
           in->dur_ns <= out->dur_ns - (in->from_ns - out->from_ns);
}

/* Of one that calls itself, the outermost counts. */
static int slowest_put(struct path_name *name, const struct path_task *task)
{
    size_t kept = 0;
    if (name->slowest_count == TASK_SLOWEST &&
        task->dur_ns <= name->slowest[name->slowest_count - 1].dur_ns)
        return SKEIN_OK;
    if (name->slowest == NULL)
        name->slowest = calloc(TASK_SLOWEST + 1, sizeof *name->slowest);
    if (name->slowest == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < name->slowest_count; i++)
        if (!lies_in(&name->slowest[i], task))
            name->slowest[kept++] = name->slowest[i];
    size_t at = kept;
    while (at > 0 && name->slowest[at - 1].dur_ns < task->dur_ns)
        at--;
    memmove(&name->slowest[at + 1], &name->slowest[at], (kept - at) * sizeof *name->slowest);
    name->slowest[at] = *task;
    name->slowest_count = kept + 1 < TASK_SLOWEST ? kept + 1 : TASK_SLOWEST;
    return SKEIN_OK;
}

static int task_take(struct task_path *p, const struct skein_batch *batch, uint32_t row)
{
    uint8_t kind = batch->kind[row];
    if ((kind != SKEIN_ROW_REGION && kind != SKEIN_ROW_OPEN) ||
        (batch->flags[row] & SKEIN_ROW_EVIDENCE) != 0 || batch->thread[row] == SKEIN_NONE ||
        batch->type[row] == SKEIN_NONE)
        return SKEIN_OK;
    const struct path_type *t = type_get(p, batch->type[row]);
    if (t == NULL)
        return SKEIN_NO_MEMORY;
    if (!t->task || batch->dur_ns[row] == 0)
        return SKEIN_OK;
    const struct skein_thread *thread = skein_trace_thread(p->trace, batch->thread[row]);
    struct path_name *name;
    int status = name_get(p, skein_trace_process(p->trace, thread->process)->service,
                          skein_trace_type(p->trace, batch->type[row])->name, &name);
    if (name == NULL)
        return status;
    struct path_task task = {.process = thread->process,
                             .tid = thread->tid,
                             .thread = batch->thread[row],
                             .type = batch->type[row],
                             .open = kind == SKEIN_ROW_OPEN,
                             .clipped = (batch->flags[row] & SKEIN_ROW_BEGIN_CLIPPED) != 0,
                             .from_ns = batch->time_ns[row],
                             .dur_ns = end_of(batch, row) - batch->time_ns[row]};
    if (!task.open) {
        id_read(t, skein_batch_args(batch, row), task.id);
        name->count++;
        name->total_ns +=
            task.dur_ns < UINT64_MAX - name->total_ns ? task.dur_ns : UINT64_MAX - name->total_ns;
    }
    return slowest_put(name, &task);
}

int task_path_add(struct task_path *p, const struct skein_trace *trace,
                  const struct skein_batch *batch)
{
    int status = SKEIN_OK;
    p->trace = trace;
    for (uint32_t row = 0; row < batch->count && status == SKEIN_OK; row++)
        status = task_take(p, batch, row);
    return status;
}

/* Of two that are as heavy, the first by its words. */
static int names_order(const void *a, const void *b)
{
    const struct path_name *x = a, *y = b;
    uint64_t one = x->total_ns, other = y->total_ns;
    if (one == 0 && x->slowest_count > 0) /* none of it has ended */
        one = x->slowest[0].dur_ns;
    if (other == 0 && y->slowest_count > 0)
        other = y->slowest[0].dur_ns;
    if (one != other)
        return one < other ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->service, y->service);
}

/* ---- second pass ---- */

int64_t path_actor_find(const struct task_path *p, uint32_t process, uint32_t tid)
{
    const uint32_t key[2] = {process, tid};
    int64_t at = intern_table_find(&p->actor_keys, key, sizeof key);
    return at >= 0 ? at : -1;
}

int64_t path_actor_of_host(const struct task_path *p, uint32_t like, uint32_t tid)
{
    const char *host = skein_trace_process(p->trace, like)->host;
    int64_t number = intern_table_find(&p->hosts, host, strlen(host));
    const uint32_t key[2] = {(uint32_t)number, tid};
    int64_t at = number >= 0 ? intern_table_find(&p->host_keys, key, sizeof key) : -1;
    return at >= 0 ? (int64_t)p->host_actors[at] : -1;
}

/* Whoever has this tid on a host is the first of them. */
static int host_actor_note(struct task_path *p, uint32_t process, uint32_t tid, int64_t actor)
{
    const char *host = skein_trace_process(p->trace, process)->host;
    bool fresh = false;
    int64_t number = intern_table_put(&p->hosts, host, strlen(host), &fresh);
    const uint32_t key[2] = {(uint32_t)number, tid};
    if (number < 0 || !array_grow(p->host_actors, p->host_keys.count + 1, &p->host_actor_cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(&p->host_keys, key, sizeof key, &fresh);
    if (at >= 0 && fresh)
        p->host_actors[at] = (uint32_t)actor;
    return at < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
}

static int64_t actor_put(struct task_path *p, uint32_t process, uint32_t tid, const char *name,
                         bool evidence)
{
    const uint32_t key[2] = {process, tid};
    bool fresh;
    if (!array_grow(p->actors, p->actor_keys.count + 1, &p->actor_cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(&p->actor_keys, key, sizeof key, &fresh);
    if (at < 0)
        return SKEIN_NO_MEMORY;
    if (fresh)
        p->actors[at] = (struct path_actor){.process = process, .tid = tid, .name = name};
    else if (!evidence)
        p->actors[at].name = name;
    if (fresh && host_actor_note(p, process, tid, at) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    return at;
}

/* The times of all tasks, merged, by their begin. */
struct path_window {
    uint64_t from_ns, to_ns;
};

static int windows_order(const void *a, const void *b)
{
    const struct path_window *x = a, *y = b;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static size_t windows_make(const struct task_path *p, size_t names, struct path_window *windows)
{
    size_t count = 0, made = 0;
    for (size_t i = 0; i < names; i++)
        for (size_t k = 0; k < p->names[i].slowest_count; k++) {
            const struct path_task *t = &p->names[i].slowest[k];
            windows[count++] = (struct path_window){t->from_ns, t->from_ns + t->dur_ns};
        }
    qsort(windows, count, sizeof *windows, windows_order);
    for (size_t i = 0; i < count; i++) {
        if (made > 0 && windows[i].from_ns <= windows[made - 1].to_ns) {
            if (windows[i].to_ns > windows[made - 1].to_ns)
                windows[made - 1].to_ns = windows[i].to_ns;
        } else {
            windows[made++] = windows[i];
        }
    }
    return made;
}

static bool windows_touch(const struct path_window *windows, size_t count, uint64_t from_ns,
                          uint64_t to_ns)
{
    size_t at;
    array_find(at, 0, count, windows[at].to_ns <= from_ns);
    return at < count && windows[at].from_ns < to_ns;
}

/* The shorter half gives way. */
static void spans_thin(struct task_path *p)
{
    while (p->span_count > TASK_SPANS_MAX / 2) {
        size_t kept = 0;
        p->floor_ns = p->floor_ns < FLOOR_NS ? FLOOR_NS : p->floor_ns * 2;
        for (size_t i = 0; i < p->span_count; i++)
            if (p->spans[i].kind == PATH_DUMPED ||
                p->spans[i].to_ns - p->spans[i].from_ns >= p->floor_ns)
                p->spans[kept++] = p->spans[i];
        p->spans_left_out += p->span_count - kept;
        p->span_count = kept;
        if (p->floor_ns > UINT64_MAX / 4)
            break;
    }
}

static int span_put(struct task_path *p, const struct path_span *span)
{
    if (span->kind != PATH_DUMPED && span->to_ns - span->from_ns < p->floor_ns) {
        p->spans_left_out++;
        return SKEIN_OK;
    }
    if (p->span_count >= TASK_SPANS_MAX)
        spans_thin(p);
    if (p->span_count >= TASK_SPANS_MAX) { /* all that is there is as long as can be */
        p->spans_left_out++;
        return SKEIN_OK;
    }
    if (!array_grow(p->spans, p->span_count + 1, &p->span_cap))
        return SKEIN_NO_MEMORY;
    p->spans[p->span_count++] = *span;
    return SKEIN_OK;
}

static int text_put(struct task_path *p, const struct skein_arg *arg, uint32_t *to)
{
    bool fresh;
    char kept[64] = "";
    if (arg->text == NULL || arg->len == 0)
        return SKEIN_OK;
    size_t n = arg->len < sizeof kept - 1 ? arg->len : sizeof kept - 1;
    memcpy(kept, arg->text, n);
    int64_t at = intern_table_put(&p->texts, kept, n + 1, &fresh);
    *to = at >= 0 ? (uint32_t)at + 1 : 0;
    return at >= 0 ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int evidence_fill(struct task_path *p, struct path_span *span, const struct path_type *t,
                         const struct skein_arg *args)
{
    span->kind = t->kind;
    span->other = t->other >= 0 ? args[t->other].u64 : 0;
    if (t->kind != PATH_BLOCKED)
        return t->text >= 0 ? text_put(p, &args[t->text], &span->text) : SKEIN_OK;
    if (t->owner >= 0 && args[t->owner].text != NULL && args[t->owner].len > 0)
        span->state = args[t->owner].text[0];
    span->by_task =
        t->more >= 0 && args[t->more].text != NULL && strcmp(args[t->more].text, "task") == 0;
    return t->text >= 0 ? text_put(p, &args[t->text], &span->text) : SKEIN_OK;
}

static void region_fill(struct path_span *span, const struct path_type *t,
                        const struct skein_batch *batch, uint32_t row)
{
    const struct skein_arg *args = skein_batch_args(batch, row);
    bool open = batch->kind[row] == SKEIN_ROW_OPEN;
    span->kind = PATH_REGION;
    span->wait = t->wait;
    span->lock = t->lock;
    if (open) { /* its arguments are not known yet */
        uint32_t more = batch->more[row];
        if (t->lock && more != SKEIN_NONE && batch->mores[more].has_detail)
            span->object = (uint64_t)batch->mores[more].detail;
        return;
    }
    if (t->lock)
        span->object = args[0].u64;
    if (t->lock && t->owner >= 0 && args[t->owner].i64 > 0)
        span->other = (uint64_t)args[t->owner].i64;
    id_read(t, args, span->id);
}

/* Nothing is known of any thread of the process then. */
static int lost_put(struct task_path *p, uint32_t process, struct path_span *span)
{
    int64_t actor = process != SKEIN_NONE ? actor_put(p, process, PATH_ALL, "", true) : 0;
    span->kind = PATH_LOST;
    span->actor = (uint32_t)actor;
    if (process == SKEIN_NONE)
        return SKEIN_OK;
    return actor >= 0 ? span_put(p, span) : SKEIN_NO_MEMORY;
}

static int row_keep(struct task_path *p, const struct skein_batch *batch, uint32_t row)
{
    uint8_t kind = batch->kind[row];
    bool evidence = (batch->flags[row] & SKEIN_ROW_EVIDENCE) != 0;
    struct path_span span = {
        .type = batch->type[row], .from_ns = batch->time_ns[row], .to_ns = end_of(batch, row)};
    const struct path_type *t = NULL;
    if (batch->thread[row] == SKEIN_NONE && kind == SKEIN_ROW_LOSS)
        return lost_put(p, batch->process[row], &span);
    if (batch->thread[row] == SKEIN_NONE)
        return SKEIN_OK;
    if (span.type != SKEIN_NONE && (t = type_get(p, span.type)) == NULL)
        return SKEIN_NO_MEMORY;
    if (kind == SKEIN_ROW_LOSS)
        span.kind = PATH_LOST;
    else if (t == NULL ||
             (evidence && !(kind == SKEIN_ROW_REGION && t->sched) &&
              !(kind == SKEIN_ROW_INSTANT && t->dump)) ||
             (!evidence && kind != SKEIN_ROW_REGION && kind != SKEIN_ROW_OPEN))
        return SKEIN_OK;
    const struct skein_thread *thread = skein_trace_thread(p->trace, batch->thread[row]);
    int64_t actor = actor_put(p, thread->process, thread->tid, thread->name, evidence);
    if (actor < 0)
        return SKEIN_NO_MEMORY;
    span.actor = (uint32_t)actor;
    int status = SKEIN_OK;
    if (evidence && t != NULL)
        status = evidence_fill(p, &span, t, skein_batch_args(batch, row));
    else if (kind != SKEIN_ROW_LOSS)
        region_fill(&span, t, batch, row);
    return status == SKEIN_OK ? span_put(p, &span) : status;
}

/* Outer before inner, and of evidence what began first. */
static int spans_order(const void *a, const void *b)
{
    const struct path_span *x = a, *y = b;
    if (x->actor != y->actor)
        return x->actor < y->actor ? -1 : 1;
    if (path_run_of(x) != path_run_of(y))
        return path_run_of(x) < path_run_of(y) ? -1 : 1;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    return x->to_ns > y->to_ns ? -1 : x->to_ns < y->to_ns;
}

static void spans_sort(struct task_path *p)
{
    if (p->span_count > 0)
        qsort(p->spans, p->span_count, sizeof *p->spans, spans_order);
    for (size_t i = 0; i < p->span_count; i++) {
        struct path_span *s = &p->spans[i];
        struct path_actor *a = &p->actors[s->actor];
        enum path_run run = path_run_of(s);
        bool first = a->runs[run].count++ == 0;
        a->runs[run].first = first ? i : a->runs[run].first;
        s->reach_ns = first || s->to_ns > s[-1].reach_ns ? s->to_ns : s[-1].reach_ns;
    }
}

static int gaps_keep(struct task_path *p, const struct skein_cursor *cursor)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(cursor, &gaps);
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        bool evidence = gaps[i].partition != SKEIN_NONE &&
                        skein_trace_partition(p->trace, gaps[i].partition)->evidence;
        struct path_span span = {
            .type = SKEIN_NONE, .from_ns = gaps[i].from_ns, .to_ns = gaps[i].to_ns};
        if (!evidence && span.to_ns > span.from_ns)
            status = lost_put(p, gaps[i].process, &span);
    }
    return status;
}

static int windows_read(struct task_path *p, struct skein_trace *trace,
                        const struct path_window *windows, size_t count)
{
    struct skein_query query = {
        .size = sizeof query, .from_ns = windows[0].from_ns, .to_ns = windows[count - 1].to_ns};
    struct skein_cursor *cursor = NULL;
    struct skein_batch batch;
    int more = 0, status = skein_cursor_new(trace, &query, &cursor);
    while (status == SKEIN_OK && (more = skein_cursor_next(cursor, &batch)) > 0)
        for (uint32_t row = 0; row < batch.count && status == SKEIN_OK; row++)
            if (windows_touch(windows, count, batch.time_ns[row],
                              batch.dur_ns[row] == 0 ? batch.time_ns[row] + 1
                                                     : end_of(&batch, row)))
                status = row_keep(p, &batch, row);
    if (status == SKEIN_OK && more == 0)
        status = gaps_keep(p, cursor);
    skein_cursor_free(&cursor);
    return status == SKEIN_OK && more < 0 ? more : status;
}

int task_path_end(struct task_path *p, struct skein_trace *trace, const struct task_list **list)
{
    size_t names = p->name_keys.count, kept = names < TASK_NAMES ? names : TASK_NAMES;
    struct path_window *windows = calloc(kept * TASK_SLOWEST + 1, sizeof *windows);
    int status = windows != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    *list = &p->list;
    p->trace = trace;
    if (names > 0)
        qsort(p->names, names, sizeof *p->names, names_order);
    p->list.names_left_out += names - kept;
    size_t count = windows != NULL ? windows_make(p, kept, windows) : 0;
    for (size_t i = 0; i < kept && status == SKEIN_OK; i++)
        for (size_t k = 0; k < p->names[i].slowest_count && status == SKEIN_OK; k++) {
            const struct path_task *t = &p->names[i].slowest[k];
            if (actor_put(p, t->process, t->tid, skein_trace_thread(trace, t->thread)->name,
                          false) < 0)
                status = SKEIN_NO_MEMORY;
        }
    if (count > 0 && status == SKEIN_OK)
        status = windows_read(p, trace, windows, count);
    free(windows);
    if (status != SKEIN_OK)
        return status;
    spans_sort(p);
    p->list.spans_left_out = p->spans_left_out;
    p->list.shorter_ns = p->floor_ns;
    return path_tell(p);
}
