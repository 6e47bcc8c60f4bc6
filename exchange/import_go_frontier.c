/* SPDX-License-Identifier: Apache-2.0
 *
 * Which event of a generation comes next: of those that can follow what went before (go_advance), the
 * earliest. One cursor a thread, in a heap by time.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "array.h"
#include "import_go_int.h"

/* ---- cursors ---- */

/* The cursor's next event: 1; 0: its thread has no more; -1: it does not decode. */
static int cursor_next(const struct go_import *i, struct go_cursor *c)
{
    const struct go_generation *g = &i->gen;
    while (c->at == c->end) {
        if (c->batch == g->batch_count || g->batches[c->batch].m != c->m)
            return 0;
        const struct go_batch *batch = &g->batches[c->batch++];
        c->at = g->bytes.data + batch->at;
        c->end = c->at + batch->n;
        c->time = batch->time;
    }
    struct cursor bytes;
    cursor_init(&bytes, c->at, (size_t)(c->end - c->at));
    c->kind = cursor_u8(&bytes);
    int args = go_kind_args(c->kind);
    if (args < 0)
        return -1;
    uint64_t dt = cursor_uleb(&bytes);
    if (dt > UINT64_MAX - c->time)
        return -1;
    c->time += dt;
    for (int k = 0; k < args; k++)
        c->args[k] = cursor_uleb(&bytes);
    c->at = bytes.pos;
    return bytes.status == SKEIN_OK ? 1 : -1;
}

static void heap_down(struct go_import *i, size_t at)
{
    for (;;) {
        size_t least = at, child = at * 2 + 1;
        for (size_t k = child; k < child + 2 && k < i->cursor_count; k++)
            if (i->cursors[k].time < i->cursors[least].time)
                least = k;
        if (least == at)
            return;
        struct go_cursor moved = i->cursors[at];
        i->cursors[at] = i->cursors[least];
        i->cursors[least] = moved;
        at = least;
    }
}

static int cursors_compare(const void *a, const void *b)
{
    const struct go_cursor *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static int cursors_open(struct go_import *i)
{
    const struct go_generation *g = &i->gen;
    i->cursor_count = 0;
    for (size_t k = 0; k < g->batch_count; k++) {
        if (k > 0 && g->batches[k].m == g->batches[k - 1].m)
            continue;
        struct go_cursor c = {.m = g->batches[k].m, .batch = k};
        int more = cursor_next(i, &c);
        if (more < 0)
            return SKEIN_CORRUPT;
        if (more == 0)
            continue;
        if (i->cursor_count == GO_THREADS_MAX) {
            import_why(i->told, "generation %" PRIu64 " has more than %u threads", g->number,
                       GO_THREADS_MAX);
            return SKEIN_CORRUPT;
        }
        if (!array_grow(i->cursors, i->cursor_count + 1, &i->cursor_cap))
            return SKEIN_NO_MEMORY;
        i->cursors[i->cursor_count++] = c;
    }
    if (i->cursor_count > 0) /* a sorted array is a heap */
        qsort(i->cursors, i->cursor_count, sizeof *i->cursors, cursors_compare);
    return SKEIN_OK;
}

/* ---- one event ---- */

/* The time at which it is told: behind all that went. */
static uint64_t time_next(const struct go_import *i, uint64_t time)
{
    uint64_t ns = go_ns(&i->gen, time);
    return i->any && ns <= i->last_ns ? i->last_ns + 1 : ns;
}

static void time_went(struct go_import *i, uint64_t time, uint64_t ns)
{
    uint64_t had = go_ns(&i->gen, time);
    i->told->fixed_up += had < i->latest_ns;
    i->latest_ns = had > i->latest_ns ? had : i->latest_ns;
    i->last_ns = ns;
    i->first_ns = i->any ? i->first_ns : ns;
    i->any = true;
}

static int event_try(struct go_import *i, struct go_cursor *e)
{
    struct go_step s = {.i = i, .e = e, .at = {.m = e->m, .p = GO_NONE, .g = GO_NONE}};
    if (e->m != GO_NONE) {
        const struct go_thread *m = go_thread_get(i, e->m);
        if (m == NULL && !go_thread_make(i, e->m, GO_NONE))
            return GO_BROKEN;
        m = go_thread_get(i, e->m);
        s.at.p = m->p;
        s.at.g = m->g;
    }
    s.at.ns = time_next(i, e->time);
    s.to = s.at;
    int went = go_advance(&s);
    if (went != GO_WENT)
        return went;
    go_event_emit(i, e, &s.at);
    time_went(i, e->time, s.at.ns);
    i->go->kinds[e->kind]++;
    struct go_thread *m = e->m != GO_NONE ? go_thread_get(i, e->m) : NULL;
    if (m != NULL) {
        m->p = s.to.p;
        m->g = s.to.g;
    }
    return GO_WENT;
}

/* The earliest event that can go. */
static int frontier_advance(struct go_import *i)
{
    size_t at = 0;
    int went = event_try(i, &i->cursors[0]);
    if (went == GO_LATER)
        qsort(i->cursors, i->cursor_count, sizeof *i->cursors, cursors_compare);
    while (went == GO_LATER && ++at < i->cursor_count)
        went = event_try(i, &i->cursors[at]);
    if (went != GO_WENT)
        return GO_BROKEN;
    int more = cursor_next(i, &i->cursors[at]);
    if (more < 0)
        return GO_BROKEN;
    if (more == 0)
        i->cursors[at] = i->cursors[--i->cursor_count];
    if (at < i->cursor_count)
        heap_down(i, at);
    return GO_WENT;
}

static void sample_take(struct go_import *i, const struct go_sample *sample)
{
    uint64_t ns = time_next(i, sample->time);
    go_sample_emit(i, sample, ns);
    time_went(i, sample->time, ns);
    i->go->kinds[GO_CPU_SAMPLE]++;
}

/* What does not go is counted: all that is left of the generation. */
static void rest_leave(struct go_import *i)
{
    uint64_t left = 0;
    for (size_t k = 0; k < i->cursor_count; k++)
        do
            left++;
        while (cursor_next(i, &i->cursors[k]) > 0);
    i->told->left_out += left;
    import_why(i->told,
               "generation %" PRIu64 " is broken: %" PRIu64
               " of its events cannot follow what went "
               "before, and are left out",
               i->gen.number, left);
    import_loss(i->out, PARTITION_LOSS_CORRUPT, left, i->last_ns, i->last_ns);
}

/* A sample goes in front of the earliest event, wherever that is then put. */
static bool sample_is_next(const struct go_import *i, size_t sample)
{
    return sample < i->gen.sample_count &&
           (i->cursor_count == 0 || i->gen.samples[sample].time < i->cursors[0].time);
}

int go_generation_order(struct go_import *i)
{
    size_t sample = 0;
    int status = cursors_open(i);
    if (i->any && status == SKEIN_OK && go_ns(&i->gen, i->gen.first) <= i->last_ns)
        i->last_ns++; /* the generation itself is a moment */
    while (status == SKEIN_OK && (i->cursor_count > 0 || sample < i->gen.sample_count)) {
        if (sample_is_next(i, sample))
            sample_take(i, &i->gen.samples[sample++]);
        else if (frontier_advance(i) != GO_WENT)
            status = SKEIN_CORRUPT;
        if (i->status != SKEIN_OK)
            return i->status;
        if (import_out_full(i->out) && status == SKEIN_OK)
            status = import_out_flush(i->out);
    }
    if (status == SKEIN_CORRUPT)
        rest_leave(i);
    return status;
}
