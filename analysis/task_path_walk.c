/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the path of one task: cuts its time into what its thread was innermost in, and where it
 * waited, goes to the thread that it waited for, as far as something recorded names it. One thread
 * enters; nothing is kept between two tasks.
 *
 *     task      |-- request --------------------------------------|
 *     its thread    work  | mutex_lock, held by 7 |  work | recv  |
 *     thread 7            |  fsync      |  work   |
 *     path      |   work  |  7: fsync   | 7: work|  work | recv  |
 */
#include "task_path_int.h"

#include <stdlib.h>

#include "array.h"

#define NESTED   64      /* regions in each other; what lies deeper is of what is around it */
#define VISITS   2000000 /* spans that are looked at for one task */
#define CHILDREN 16      /* with the task's trace id, in one wait */
#define FAMILY   1024    /* with it at all; of more, these are looked at */

struct walk {
    const struct task_path *p;
    const struct path_span **family; /* spans with the task's trace id, in no order */
    size_t family_count;
    const struct path_task *task;
    const struct path_span *spans;
    struct path_segments *out;
    uint32_t chain[TASK_DEPTH + 1]; /* actors from the task's own on */
    size_t visits;
};

/* Whose time is walked, why, and how deep. */
struct leg {
    uint32_t actor;
    enum path_why why;
    uint64_t other; /* the tid of who waits */
    uint64_t object;
    unsigned depth;
};

static void walk_leg(struct walk *w, const struct leg *leg, uint64_t from_ns, uint64_t to_ns);

static void leg_put(struct walk *w, const struct leg *leg, enum task_what what, const char *name,
                    enum path_why why, uint64_t from_ns, uint64_t to_ns)
{
    const struct path_segment segment = {.what = what,
                                         .why = why != WHY_NOTHING ? why : leg->why,
                                         .actor = leg->actor,
                                         .name = name,
                                         .depth = leg->depth,
                                         .from_ns = from_ns,
                                         .dur_ns = to_ns - from_ns,
                                         .count = 1,
                                         .other = leg->other,
                                         .object = leg->object};
    if (to_ns > from_ns)
        path_segment_put(w->out, &segment);
}

static const char *name_of(const struct walk *w, const struct path_span *span)
{
    return span->type != SKEIN_NONE ? skein_trace_type(w->p->trace, span->type)->name : "";
}

/* The first of a run of an actor's spans that may reach behind from_ns; *end: behind the last. */
static size_t run_from(const struct walk *w, size_t actor, enum path_run run, uint64_t from_ns,
                       size_t *end)
{
    size_t first = w->p->actors[actor].runs[run].first, at;
    *end = first + w->p->actors[actor].runs[run].count;
    array_find(at, first, *end, w->spans[at].reach_ns <= from_ns);
    return at;
}

/* ---- whom it waited for ---- */

static bool is_followed(const struct walk *w, const struct leg *leg, int64_t actor)
{
    if (actor < 0 || leg->depth >= TASK_DEPTH)
        return true;
    for (unsigned i = 0; i <= leg->depth; i++)
        if (w->chain[i] == (uint32_t)actor)
            return true;
    return false;
}

static bool has_records(const struct walk *w, int64_t actor, uint64_t from_ns, uint64_t to_ns)
{
    size_t end, at = run_from(w, (size_t)actor, RUN_REGIONS, from_ns, &end);
    return at < end && w->spans[at].from_ns < to_ns;
}

/* false: it is not known what that thread did then, or it is walked already. */
static bool follow(struct walk *w, const struct leg *leg, int64_t actor, enum path_why why,
                   uint64_t object, uint64_t from_ns, uint64_t to_ns)
{
    if (is_followed(w, leg, actor) || !has_records(w, actor, from_ns, to_ns))
        return false;
    const struct leg next = {.actor = (uint32_t)actor,
                             .why = why,
                             .other = w->p->actors[leg->actor].tid,
                             .object = object,
                             .depth = leg->depth + 1};
    w->chain[next.depth] = next.actor;
    walk_leg(w, &next, from_ns, to_ns);
    return true;
}

/* Who had the lock, by a thread dump that was taken while it was waited for. */
static uint64_t dumped_holder(const struct walk *w, uint32_t actor, const struct path_span *wait)
{
    size_t first = w->p->actors[actor].runs[RUN_DUMPS].first, at;
    size_t end = first + w->p->actors[actor].runs[RUN_DUMPS].count;
    array_find(at, first, end, w->spans[at].from_ns < wait->from_ns);
    return at < end && w->spans[at].from_ns < wait->to_ns ? w->spans[at].other : 0;
}

static bool lock_follow(struct walk *w, const struct leg *leg, const struct path_span *wait,
                        uint64_t from_ns, uint64_t to_ns)
{
    uint32_t process = w->p->actors[leg->actor].process;
    uint64_t holder = wait->other != 0 ? wait->other : dumped_holder(w, leg->actor, wait);
    if (holder == 0 || holder > UINT32_MAX)
        return false;
    if (follow(w, leg, path_actor_find(w->p, process, (uint32_t)holder), WHY_HOLDS, wait->object,
               from_ns, to_ns))
        return true;
    struct leg held = *leg;
    held.other = holder;
    held.object = wait->object;
    leg_put(w, &held, TASK_WAIT, name_of(w, wait), WHY_HELD, from_ns, to_ns);
    return true;
}

/* The span with the task's trace id that ended last before `to_ns`, of a thread that is not walked. It
 * began no earlier than the task: a child never does. */
static const struct path_span *child_find(struct walk *w, const struct leg *leg, uint64_t from_ns,
                                          uint64_t to_ns)
{
    const struct path_span *best = NULL;
    uint64_t best_ns = from_ns;
    for (size_t i = 0; i < w->family_count && w->visits <= VISITS; i++, w->visits++) {
        const struct path_span *s = w->family[i];
        uint64_t until = s->to_ns < to_ns ? s->to_ns : to_ns;
        if (s->from_ns < w->task->from_ns || s->from_ns >= to_ns || until <= best_ns ||
            is_followed(w, leg, s->actor))
            continue;
        best = s;
        best_ns = until;
    }
    return best;
}

/* Backwards from the end of the wait: what ended last held it up last. */
static bool children_follow(struct walk *w, const struct leg *leg, const struct path_span *wait,
                            uint64_t from_ns, uint64_t to_ns)
{
    struct {
        const struct path_span *span;
        uint64_t from_ns, to_ns;
    } found[CHILDREN];
    size_t count = 0;
    uint64_t at_ns = to_ns;
    if ((w->task->id[0] | w->task->id[1]) == 0)
        return false;
    while (count < CHILDREN && at_ns > from_ns) {
        const struct path_span *s = child_find(w, leg, from_ns, at_ns);
        if (s == NULL)
            break;
        found[count].span = s;
        found[count].to_ns = s->to_ns < at_ns ? s->to_ns : at_ns;
        found[count].from_ns = s->from_ns > from_ns ? s->from_ns : from_ns;
        at_ns = found[count++].from_ns;
    }
    if (count == 0)
        return false;
    for (at_ns = from_ns; count > 0; count--) {
        leg_put(w, leg, TASK_WAIT, name_of(w, wait), WHY_NOTHING, at_ns, found[count - 1].from_ns);
        at_ns = found[count - 1].to_ns;
        if (!follow(w, leg, found[count - 1].span->actor, WHY_CHILD, 0, found[count - 1].from_ns,
                    at_ns))
            leg_put(w, leg, TASK_WAIT, name_of(w, wait), WHY_TOO_MUCH, found[count - 1].from_ns,
                    at_ns);
    }
    leg_put(w, leg, TASK_WAIT, name_of(w, wait), WHY_NOTHING, at_ns, to_ns);
    return true;
}

/* A thread of the same host that the trace knows, whatever process it is of. */
static int64_t actor_of_host(const struct walk *w, uint32_t like, uint64_t tid)
{
    if (tid == 0 || tid >= PATH_ALL)
        return -1;
    return path_actor_of_host(w->p, w->p->actors[like].process, (uint32_t)tid);
}

/* ---- one stretch of time ---- */

/* What the thread was innermost in; of the task's own thread that is the task where there is no more. */
static const char *inner_name(const struct walk *w, const struct leg *leg,
                              const struct path_span *in)
{
    if (in != NULL)
        return name_of(w, in);
    return leg->depth == 0 ? skein_trace_type(w->p->trace, w->task->type)->name : "";
}

static void woken_put(struct walk *w, const struct leg *leg, enum task_what what, const char *name,
                      const struct path_span *blocked, uint64_t from_ns, uint64_t to_ns)
{
    const struct path_segment segment = {.what = what,
                                         .why = WHY_WOKEN,
                                         .actor = leg->actor,
                                         .name = name,
                                         .depth = leg->depth,
                                         .from_ns = from_ns,
                                         .dur_ns = to_ns - from_ns,
                                         .count = 1,
                                         .other = blocked->other,
                                         .text = blocked->text,
                                         .state = blocked->state};
    path_segment_put(w->out, &segment);
}

/* In a recorded wait, or blocked in none; `blocked` may be NULL, and so may `in`. */
static void waited(struct walk *w, const struct leg *leg, const struct path_span *in,
                   const struct path_span *blocked, uint64_t from_ns, uint64_t to_ns)
{
    bool wait = in != NULL && in->wait;
    const char *name = inner_name(w, leg, in);
    if (wait && in->lock && lock_follow(w, leg, in, from_ns, to_ns))
        return;
    if (wait && children_follow(w, leg, in, from_ns, to_ns))
        return;
    if (blocked != NULL && blocked->by_task &&
        follow(w, leg, actor_of_host(w, leg->actor, blocked->other), WHY_WOKE, 0, from_ns, to_ns))
        return;
    if (blocked != NULL)
        woken_put(w, leg, wait ? TASK_WAIT : TASK_BLOCKED, name, blocked, from_ns, to_ns);
    else
        leg_put(w, leg, TASK_WAIT, name, WHY_NOTHING, from_ns, to_ns);
}

/* The thread was innermost in `in`, and the scheduler said no more of it. */
static void plain(struct walk *w, const struct leg *leg, const struct path_span *in,
                  uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns <= from_ns)
        return;
    if (in != NULL && leg->depth == 0 && in->from_ns < w->task->from_ns)
        leg_put(w, leg, TASK_UNKNOWN, name_of(w, in), WHY_ELSEWHERE, from_ns, to_ns);
    else if (in != NULL && in->wait)
        waited(w, leg, in, NULL, from_ns, to_ns);
    else if (in != NULL)
        leg_put(w, leg, TASK_WORK, name_of(w, in), WHY_NOTHING, from_ns, to_ns);
    else if (leg->depth == 0)
        leg_put(w, leg, TASK_WORK, inner_name(w, leg, NULL), WHY_NOTHING, from_ns, to_ns);
    else
        leg_put(w, leg, TASK_UNKNOWN, "", WHY_NO_RECORD, from_ns, to_ns);
}

static void overlaid(struct walk *w, const struct leg *leg, const struct path_span *in,
                     const struct path_span *over, uint64_t from_ns, uint64_t to_ns)
{
    if (over->kind == PATH_LOST) {
        leg_put(w, leg, TASK_UNKNOWN, "", WHY_LOST, from_ns, to_ns);
    } else if (over->kind == PATH_READY) {
        struct path_segment segment = {.what = TASK_READY,
                                       .why = WHY_INSTEAD,
                                       .actor = leg->actor,
                                       .name = inner_name(w, leg, in),
                                       .depth = leg->depth,
                                       .from_ns = from_ns,
                                       .dur_ns = to_ns - from_ns,
                                       .count = 1,
                                       .other = over->other,
                                       .text = over->text};
        path_segment_put(w->out, &segment);
    } else {
        waited(w, leg, in, over, from_ns, to_ns);
    }
}

/* The first that says more of that time than the region does. Those of a thread follow each other: of
 * ones that a hostile trace lays over each other, some do not count. */
static const struct path_span *over_find(const struct walk *w, size_t actor, uint64_t from_ns,
                                         uint64_t to_ns)
{
    size_t end, at = run_from(w, actor, RUN_BESIDE, from_ns, &end);
    return at < end && w->spans[at].from_ns < to_ns && w->spans[at].to_ns > from_ns ? &w->spans[at]
                                                                                    : NULL;
}

static void leaf(struct walk *w, const struct leg *leg, const struct path_span *in,
                 uint64_t from_ns, uint64_t to_ns)
{
    int64_t all = path_actor_find(w->p, w->p->actors[leg->actor].process, PATH_ALL);
    while (from_ns < to_ns) {
        const struct path_span *over = over_find(w, leg->actor, from_ns, to_ns);
        const struct path_span *lost = all >= 0 ? over_find(w, (size_t)all, from_ns, to_ns) : NULL;
        uint64_t until_ns = to_ns;
        if (w->visits++ > VISITS) {
            leg_put(w, leg, TASK_UNKNOWN, "", WHY_TOO_MUCH, from_ns, to_ns);
            return;
        }
        if (lost != NULL && lost->from_ns <= from_ns) /* nothing else counts meanwhile */
            over = lost;
        else if (lost != NULL) /* it is looked at in the next round */
            until_ns = lost->from_ns;
        if (over == NULL || over->from_ns >= until_ns) {
            plain(w, leg, in, from_ns, until_ns);
            from_ns = until_ns;
            continue;
        }
        uint64_t begin = over->from_ns > from_ns ? over->from_ns : from_ns;
        uint64_t end = over->to_ns < until_ns ? over->to_ns : until_ns;
        plain(w, leg, in, from_ns, begin);
        overlaid(w, leg, in, over, begin, end);
        from_ns = end;
    }
}

/* ---- one thread ---- */

/* What is around the task, or is itself, is nothing in it. */
static bool is_around(const struct walk *w, const struct leg *leg, const struct path_span *s)
{
    const struct path_task *t = w->task;
    return leg->depth == 0 && s->from_ns <= t->from_ns && s->to_ns >= t->from_ns + t->dur_ns;
}

static void walk_leg(struct walk *w, const struct leg *leg, uint64_t from_ns, uint64_t to_ns)
{
    const struct path_span *around[NESTED];
    size_t depth = 0, end, i = run_from(w, leg->actor, RUN_REGIONS, from_ns, &end);
    uint64_t at_ns = from_ns;
    for (; i < end && w->spans[i].from_ns < to_ns && w->visits <= VISITS; i++, w->visits++) {
        const struct path_span *s = &w->spans[i];
        if (s->to_ns <= from_ns || is_around(w, leg, s))
            continue;
        uint64_t begin = s->from_ns > at_ns ? s->from_ns : at_ns;
        for (; depth > 0 && around[depth - 1]->to_ns <= begin; depth--) {
            uint64_t until = around[depth - 1]->to_ns;
            if (until > at_ns) {
                leaf(w, leg, around[depth - 1], at_ns, until);
                at_ns = until;
            }
        }
        leaf(w, leg, depth > 0 ? around[depth - 1] : NULL, at_ns, begin);
        at_ns = begin;
        if (depth < NESTED)
            around[depth++] = s;
    }
    for (; depth > 0 && at_ns < to_ns; depth--) {
        uint64_t until = around[depth - 1]->to_ns < to_ns ? around[depth - 1]->to_ns : to_ns;
        if (until <= at_ns)
            continue;
        leaf(w, leg, around[depth - 1], at_ns, until);
        at_ns = until;
    }
    leaf(w, leg, NULL, at_ns, to_ns);
}

/* What has the task's trace id, but itself. */
static void family_find(struct walk *w)
{
    for (size_t i = 0; i < w->p->span_count && w->family_count < FAMILY; i++) {
        const struct path_span *s = &w->spans[i];
        if (s->kind == PATH_REGION && s->id[0] == w->task->id[0] && s->id[1] == w->task->id[1])
            w->family[w->family_count++] = s;
    }
}

void path_walk(const struct task_path *p, const struct path_task *task, struct path_segments *out)
{
    struct walk w = {.p = p, .task = task, .spans = p->spans, .out = out};
    int64_t actor = path_actor_find(p, task->process, task->tid);
    if (actor < 0)
        return;
    w.family = calloc(FAMILY, sizeof *w.family);
    if (w.family == NULL) {
        out->status = SKEIN_NO_MEMORY;
        return;
    }
    if ((task->id[0] | task->id[1]) != 0)
        family_find(&w);
    const struct leg leg = {.actor = (uint32_t)actor, .why = WHY_NOTHING};
    w.chain[0] = leg.actor;
    walk_leg(&w, &leg, task->from_ns, task->from_ns + task->dur_ns);
    free(w.family);
}
