/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an event can follow what went before, and who is where behind it. That is said by the
 * numbers that goroutines (G) and processors (P) count their changes with, and by who runs on which
 * thread (M); clocks of threads may be off.
 */
#include <stdlib.h>

#include "array.h"
#include "import_go_int.h"

/* ---- goroutines, processors, threads ---- */

struct go_goroutine *go_goroutine_get(const struct go_import *i, uint64_t id)
{
    uint32_t at = import_map_get(&i->g_places, id);
    return at == IMPORT_MAP_NONE ? NULL : i->goroutines[at];
}

static struct go_goroutine *goroutine_make(struct go_import *i, uint64_t id, enum go_status status)
{
    struct go_goroutine *made = calloc(1, sizeof *made);
    if (made == NULL || !array_grow(i->goroutines, i->goroutine_count + 1, &i->goroutine_cap) ||
        !import_map_set(&i->g_places, id, (uint32_t)i->goroutine_count)) {
        free(made);
        i->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    *made = (struct go_goroutine){.id = id,
                                  .status = status,
                                  .m = GO_NONE,
                                  .p = GO_NONE,
                                  .seq = {.generation = i->gen.number}};
    i->goroutines[i->goroutine_count++] = made;
    i->go->goroutines++;
    return made;
}

static void goroutine_free(struct go_goroutine *g)
{
    free(g->regions);
    free(g);
}

/* The last one takes its place. */
void go_goroutine_drop(struct go_import *i, struct go_goroutine *g)
{
    uint32_t at = import_map_get(&i->g_places, g->id);
    struct go_goroutine *last = i->goroutines[--i->goroutine_count];
    i->goroutines[at] = last;
    (void)import_map_set(&i->g_places, last->id, at); /* it is there: no memory is taken */
    import_map_remove(&i->g_places, g->id);
    goroutine_free(g);
}

struct go_processor *go_processor_get(const struct go_import *i, uint64_t id)
{
    uint32_t at = import_map_get(&i->p_places, id);
    return at == IMPORT_MAP_NONE ? NULL : &i->ps[at];
}

struct go_thread *go_thread_get(const struct go_import *i, uint64_t id)
{
    uint32_t at = import_map_get(&i->m_places, id);
    return at == IMPORT_MAP_NONE ? NULL : &i->ms[at];
}

bool go_thread_make(struct go_import *i, uint64_t id, uint64_t g)
{
    if (!array_grow(i->ms, i->m_count + 1, &i->m_cap) ||
        !import_map_set(&i->m_places, id, (uint32_t)i->m_count)) {
        i->status = SKEIN_NO_MEMORY;
        return false;
    }
    i->ms[i->m_count++] = (struct go_thread){.id = id, .g = g, .p = GO_NONE};
    return true;
}

void go_states_forget(struct go_import *i)
{
    for (size_t k = 0; k < i->goroutine_count; k++)
        goroutine_free(i->goroutines[k]);
    i->gc = (struct go_stretch){.on = false};
    i->goroutine_count = i->p_count = i->m_count = i->task_count = 0;
    i->gc_known = i->gc_on = false;
    import_map_clear(&i->g_places);
    import_map_clear(&i->m_places);
    import_map_clear(&i->p_places);
    import_map_clear(&i->task_places);
}

static bool seq_follows(const struct go_import *i, const struct go_seq *seq, uint64_t number)
{
    return seq->generation == i->gen.number && seq->number + 1 == number;
}

static void seq_set(const struct go_import *i, struct go_seq *seq, uint64_t number)
{
    *seq = (struct go_seq){.generation = i->gen.number, .number = number};
}

/* ---- what an event needs, and changes ----
 *
 * `at` is where the thread was; `to` where it is afterwards. */

static bool has_all(const struct go_step *s)
{
    return s->at.m != GO_NONE && s->at.p != GO_NONE && s->at.g != GO_NONE;
}

/* The goroutine that the thread runs, if it is in this status. */
static struct go_goroutine *current(const struct go_step *s, enum go_status status)
{
    struct go_goroutine *g = s->at.g != GO_NONE ? go_goroutine_get(s->i, s->at.g) : NULL;
    return g != NULL && g->status == status ? g : NULL;
}

static void goes(struct go_step *s, struct go_goroutine *g, enum go_status status, uint64_t stack,
                 const char *reason)
{
    g->status = status;
    go_state_begin(s->i, g, status, &s->at, stack, reason, false);
}

static int proc_status(struct go_step *s)
{
    uint64_t id = s->e->args[0], status = s->e->args[1];
    struct go_processor *p = go_processor_get(s->i, id);
    if (status == GO_PROC_BAD || status > GO_PROC_ABANDONED)
        return GO_BROKEN;
    if (p == NULL) {
        if (!array_grow(s->i->ps, s->i->p_count + 1, &s->i->p_cap) ||
            !import_map_set(&s->i->p_places, id, (uint32_t)s->i->p_count)) {
            s->i->status = SKEIN_NO_MEMORY;
            return GO_BROKEN;
        }
        p = &s->i->ps[s->i->p_count++];
        *p = (struct go_processor){.id = id, .status = (enum go_proc)status};
    } else if (p->status != (enum go_proc)status &&
               !(status == GO_PROC_ABANDONED && p->status == GO_PROC_SYSCALL)) {
        return GO_BROKEN;
    }
    seq_set(s->i, &p->seq, 0);
    if (status == GO_PROC_RUNNING || status == GO_PROC_SYSCALL)
        s->to.p = id;
    return GO_WENT;
}

static int proc_start(struct go_step *s)
{
    struct go_processor *p = go_processor_get(s->i, s->e->args[0]);
    if (p == NULL || p->status != GO_PROC_IDLE || !seq_follows(s->i, &p->seq, s->e->args[1]) ||
        s->at.p != GO_NONE)
        return GO_LATER;
    if (s->at.m == GO_NONE)
        return GO_BROKEN;
    p->status = GO_PROC_RUNNING;
    seq_set(s->i, &p->seq, s->e->args[1]);
    s->to.p = p->id;
    return GO_WENT;
}

static int proc_stop(struct go_step *s)
{
    struct go_processor *p = s->at.p != GO_NONE ? go_processor_get(s->i, s->at.p) : NULL;
    if (p == NULL || (p->status != GO_PROC_RUNNING && p->status != GO_PROC_SYSCALL))
        return GO_BROKEN;
    p->status = GO_PROC_IDLE;
    s->to.p = GO_NONE;
    return GO_WENT;
}

static int proc_steal(struct go_step *s)
{
    struct go_processor *p = go_processor_get(s->i, s->e->args[0]);
    if (p == NULL || (p->status != GO_PROC_SYSCALL && p->status != GO_PROC_ABANDONED) ||
        !seq_follows(s->i, &p->seq, s->e->args[1]))
        return GO_LATER;
    if (s->at.m == GO_NONE)
        return GO_BROKEN;
    bool abandoned = p->status == GO_PROC_ABANDONED;
    struct go_thread *from = go_thread_get(s->i, s->e->args[2]);
    if (!abandoned && (from == NULL || from->p != p->id))
        return GO_BROKEN;
    p->status = GO_PROC_IDLE;
    seq_set(s->i, &p->seq, s->e->args[1]);
    if (abandoned)
        return GO_WENT; /* whose it was is not known any more */
    from->p = GO_NONE;
    if (from->id == s->at.m)
        s->to.p = GO_NONE;
    return GO_WENT;
}

/* A goroutine in a system call is on a thread, which need not be the one that says so. */
static int syscall_bind(struct go_step *s, uint64_t id, uint64_t m)
{
    if (m == GO_NONE)
        return GO_BROKEN;
    if (m == s->at.m) {
        if (s->i->gen.number != s->i->first_generation && s->at.g != id)
            return GO_BROKEN;
        s->to.g = id;
        return GO_WENT;
    }
    const struct go_thread *other = go_thread_get(s->i, m);
    if (other != NULL)
        return other->g == id ? GO_WENT : GO_BROKEN;
    return go_thread_make(s->i, m, id) ? GO_WENT : GO_BROKEN;
}

static int goroutine_status(struct go_step *s)
{
    const uint64_t *args = s->e->args;
    uint64_t stack = s->e->kind == GO_STATUS_STACK ? args[3] : 0;
    struct go_goroutine *g = go_goroutine_get(s->i, args[0]);
    enum go_status status = (enum go_status)args[2];
    if (args[2] == GO_BAD || args[2] > GO_WAITING)
        return GO_BROKEN;
    if (g != NULL ? g->status != status : s->i->gen.number != s->i->first_generation)
        return GO_BROKEN;
    bool known = g != NULL;
    if (!known && (g = goroutine_make(s->i, args[0], status)) == NULL)
        return GO_BROKEN;
    seq_set(s->i, &g->seq, 0);
    if (status == GO_RUNNING)
        s->to.g = g->id;
    else if (status == GO_SYSCALL && syscall_bind(s, g->id, args[1]) != GO_WENT)
        return GO_BROKEN;
    struct go_where where = s->at;
    where.m = status == GO_SYSCALL ? args[1] : where.m;
    if (!known)
        go_state_begin(s->i, g, status, &where, stack, "", true);
    return GO_WENT;
}

static int go_create(struct go_step *s)
{
    const struct go_goroutine *creator =
        s->at.g != GO_NONE ? go_goroutine_get(s->i, s->at.g) : NULL;
    if (s->at.m == GO_NONE || s->at.p == GO_NONE ||
        (creator != NULL && creator->status != GO_RUNNING) ||
        go_goroutine_get(s->i, s->e->args[0]) != NULL)
        return GO_BROKEN;
    enum go_status status = s->e->kind == GO_CREATE_BLOCKED ? GO_WAITING : GO_RUNNABLE;
    struct go_goroutine *g = goroutine_make(s->i, s->e->args[0], status);
    if (g == NULL)
        return GO_BROKEN;
    g->by = creator != NULL ? creator->id : 0;
    go_state_begin(s->i, g, status, &s->at, s->e->args[1], status == GO_RUNNABLE ? "created" : "",
                   false);
    return GO_WENT;
}

static int go_start(struct go_step *s)
{
    struct go_goroutine *g = go_goroutine_get(s->i, s->e->args[0]);
    if (g == NULL || g->status != GO_RUNNABLE || !seq_follows(s->i, &g->seq, s->e->args[1]))
        return GO_LATER;
    if (s->at.m == GO_NONE || s->at.p == GO_NONE || s->at.g != GO_NONE)
        return GO_BROKEN;
    seq_set(s->i, &g->seq, s->e->args[1]);
    goes(s, g, GO_RUNNING, 0, "");
    s->to.g = g->id;
    return GO_WENT;
}

/* It stops running: for good, to let others run, or to wait. */
static int go_stop(struct go_step *s)
{
    char reason[GO_STRING_MAX + 1];
    struct go_goroutine *g = has_all(s) ? current(s, GO_RUNNING) : NULL;
    if (g == NULL)
        return GO_BROKEN;
    s->to.g = GO_NONE;
    if (s->e->kind == GO_DESTROY) {
        go_goroutine_end(s->i, g, s->at.ns);
        return GO_WENT;
    }
    g->by = 0;
    goes(s, g, s->e->kind == GO_STOP ? GO_RUNNABLE : GO_WAITING, s->e->args[1],
         go_text(&s->i->gen, s->e->args[0], reason));
    return GO_WENT;
}

static int goroutine_unblock(struct go_step *s)
{
    struct go_goroutine *g = go_goroutine_get(s->i, s->e->args[0]);
    if (g == NULL || g->status != GO_WAITING || !seq_follows(s->i, &g->seq, s->e->args[1]))
        return GO_LATER;
    seq_set(s->i, &g->seq, s->e->args[1]);
    g->by = s->at.g != GO_NONE ? s->at.g : 0;
    goes(s, g, GO_RUNNABLE, 0, "unblocked");
    return GO_WENT;
}

/* One goroutine hands its processor to another: that one is unblocked, this one waits or ends, and
 * that one runs; three moments. */
static int goroutine_switch(struct go_step *s)
{
    struct go_goroutine *g = has_all(s) ? current(s, GO_RUNNING) : NULL;
    struct go_goroutine *next = go_goroutine_get(s->i, s->e->args[0]);
    if (g == NULL)
        return GO_BROKEN;
    if (next == NULL || next->status != GO_WAITING || !seq_follows(s->i, &next->seq, s->e->args[1]))
        return GO_LATER;
    seq_set(s->i, &next->seq, s->e->args[1]);
    next->by = g->id;
    goes(s, next, GO_RUNNABLE, 0, "unblocked");
    s->at.ns++;
    if (s->e->kind == GO_SWITCH) {
        g->by = 0;
        goes(s, g, GO_WAITING, 0, "");
    } else {
        go_goroutine_end(s->i, g, s->at.ns);
    }
    s->at.ns++;
    goes(s, next, GO_RUNNING, 0, "");
    s->to.g = next->id;
    return GO_WENT;
}

static int syscall_begin(struct go_step *s)
{
    struct go_goroutine *g = has_all(s) ? current(s, GO_RUNNING) : NULL;
    struct go_processor *p = g != NULL ? go_processor_get(s->i, s->at.p) : NULL;
    if (p == NULL || !seq_follows(s->i, &p->seq, s->e->args[0]))
        return GO_BROKEN;
    p->status = GO_PROC_SYSCALL;
    seq_set(s->i, &p->seq, s->e->args[0]);
    goes(s, g, GO_SYSCALL, s->e->args[1], "");
    return GO_WENT;
}

static int syscall_end(struct go_step *s)
{
    struct go_goroutine *g = has_all(s) ? current(s, GO_SYSCALL) : NULL;
    struct go_processor *p = g != NULL ? go_processor_get(s->i, s->at.p) : NULL;
    if (p == NULL || p->status != GO_PROC_SYSCALL)
        return GO_BROKEN;
    p->status = GO_PROC_RUNNING;
    goes(s, g, GO_RUNNING, 0, "");
    return GO_WENT;
}

/* It had lost its processor meanwhile: not before that is told. */
static int syscall_end_blocked(struct go_step *s)
{
    if (s->at.p != GO_NONE) {
        const struct go_processor *p = go_processor_get(s->i, s->at.p);
        if (p == NULL)
            return GO_BROKEN;
        if (p->status == GO_PROC_SYSCALL)
            return GO_LATER;
    }
    struct go_goroutine *g = s->at.m != GO_NONE ? current(s, GO_SYSCALL) : NULL;
    if (g == NULL)
        return GO_BROKEN;
    g->by = 0;
    goes(s, g, GO_RUNNABLE, 0, "syscall");
    s->to.g = GO_NONE;
    return GO_WENT;
}

/* A thread of C calls Go, and returns. */
static int syscall_create(struct go_step *s)
{
    if (s->at.m == GO_NONE || s->at.g != GO_NONE || go_goroutine_get(s->i, s->e->args[0]) != NULL)
        return GO_BROKEN;
    struct go_goroutine *g = goroutine_make(s->i, s->e->args[0], GO_SYSCALL);
    if (g == NULL)
        return GO_BROKEN;
    go_state_begin(s->i, g, GO_SYSCALL, &s->at, 0, "", false);
    s->to.g = g->id;
    return GO_WENT;
}

static int destroy_syscall(struct go_step *s)
{
    struct go_goroutine *g = s->at.m != GO_NONE ? current(s, GO_SYSCALL) : NULL;
    if (g == NULL)
        return GO_BROKEN;
    if (s->at.p != GO_NONE) {
        struct go_processor *p = go_processor_get(s->i, s->at.p);
        if (p == NULL || p->status != GO_PROC_SYSCALL)
            return GO_BROKEN;
        p->status = GO_PROC_ABANDONED;
        s->to.p = GO_NONE;
        s->at.ns++; /* it is taken away first */
    }
    go_goroutine_end(s->i, g, s->at.ns);
    s->to.g = GO_NONE;
    return GO_WENT;
}

/* Marking has numbers of its own, as it ends elsewhere than it began. */
static int gc_change(struct go_step *s)
{
    struct go_import *i = s->i;
    bool begin = s->e->kind != GO_GC_END, active = s->e->kind == GO_GC_ACTIVE;
    bool first = active ? i->gen.number == i->first_generation : begin && !i->gc_known;
    if (first && active && i->gc_known)
        return GO_BROKEN;
    if (!first && (!i->gc_known || s->e->args[0] != i->gc_seq + 1))
        return i->gc_known ? GO_LATER : GO_BROKEN;
    if (!first && i->gc_on != (active || !begin))
        return GO_BROKEN;
    i->gc_known = true;
    i->gc_on = begin;
    i->gc_seq = s->e->args[0];
    return GO_WENT;
}

int go_advance(struct go_step *s)
{
    switch (s->e->kind) {
    case GO_PROC_STATUS:
        return proc_status(s);
    case GO_PROC_START:
        return proc_start(s);
    case GO_PROC_STOP:
        return proc_stop(s);
    case GO_PROC_STEAL:
        return proc_steal(s);
    case GO_STATUS:
    case GO_STATUS_STACK:
        return goroutine_status(s);
    case GO_CREATE:
    case GO_CREATE_BLOCKED:
        return go_create(s);
    case GO_START:
        return go_start(s);
    case GO_DESTROY:
    case GO_STOP:
    case GO_BLOCK:
        return go_stop(s);
    case GO_UNBLOCK:
        return goroutine_unblock(s);
    case GO_SWITCH:
    case GO_SWITCH_DESTROY:
        return goroutine_switch(s);
    case GO_SYSCALL_BEGIN:
        return syscall_begin(s);
    case GO_SYSCALL_END:
        return syscall_end(s);
    case GO_SYSCALL_END_BLOCKED:
        return syscall_end_blocked(s);
    case GO_CREATE_SYSCALL:
        return syscall_create(s);
    case GO_DESTROY_SYSCALL:
        return destroy_syscall(s);
    case GO_GC_ACTIVE:
    case GO_GC_BEGIN:
    case GO_GC_END:
        return gc_change(s);
    case GO_SWEEP_ACTIVE:
    case GO_ASSIST_ACTIVE:
        return GO_WENT;
    case GO_SWEEP_BEGIN:
    case GO_SWEEP_END:
    case GO_HEAP_ALLOC:
    case GO_HEAP_GOAL:
        return s->at.m != GO_NONE && s->at.p != GO_NONE ? GO_WENT : GO_BROKEN;
    default:
        return s->e->kind >= GO_EXPERIMENT_FROM || has_all(s) ? GO_WENT : GO_BROKEN;
    }
}
