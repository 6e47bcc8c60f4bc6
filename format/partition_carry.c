/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the ranges that are open at the end of one partition over to the next one of its process.
 * Entered through partition_reader_continue, between two partitions; one thread. However many
 * ranges are open, each type and each text that they name is looked up and copied once. So a
 * partition of hostile bytes costs no more than its own size again. Without memory, the next call
 * of the reader fails: a range is never lost on the way.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "intern_table.h"
#include "partition_reader_int.h"

struct carrier {
    struct partition_reader *to;
    const struct partition_event_type **types; /* of `to`, sorted; made when first needed */
    struct intern_table seen;                  /* pointers of types; pointer and length of texts */
    const void **made;                         /* by number in `seen`: what stands for it in `to` */
    size_t made_cap;
};

/* A text by where it lies: all uses of one string share it. */
struct text_place {
    uint64_t at, len;
};

static void *no_memory(struct carrier *c)
{
    reader_no_memory(c->to, "carried ranges");
    return NULL;
}

/* Where the copy for this key is kept; NULL stands there until it is made. NULL: no memory. */
static const void **made_for(struct carrier *c, const void *key, size_t n)
{
    bool fresh;
    int64_t number = intern_table_put(&c->seen, key, n, &fresh);
    if (number < 0)
        return no_memory(c);
    if (!array_grow_zero(c->made, (size_t)number + 1, &c->made_cap))
        return no_memory(c);
    return &c->made[number];
}

/* ---- types ---- */

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* 0 where both are the same type as far as a range can tell. */
static int type_order(const struct partition_event_type *a, const struct partition_event_type *b)
{
    int order = number_order(a->klass, b->klass);
    order = order != 0 ? order : number_order(a->nargs, b->nargs);
    order = order != 0 ? order : number_order(a->line, b->line);
    order = order != 0 ? order : strcmp(a->name, b->name);
    order = order != 0 ? order : strcmp(a->file, b->file);
    for (unsigned i = 0; order == 0 && i < a->nargs; i++) {
        order = number_order(a->args[i].type, b->args[i].type);
        order = order != 0 ? order : strcmp(a->args[i].name, b->args[i].name);
    }
    return order;
}

/* Equal types keep the order of the partition; the first of them is taken. */
static int listed_order(const void *left, const void *right)
{
    const struct partition_event_type *const *a = left, *const *b = right;
    int order = type_order(*a, *b);
    return order != 0 ? order : number_order((uintptr_t)*a, (uintptr_t)*b);
}

static bool types_sort(struct carrier *c)
{
    size_t n = c->to->type_count;
    if (c->types != NULL)
        return true;
    c->types = calloc(n + 1, sizeof *c->types);
    for (size_t i = 0; c->types != NULL && i < n; i++)
        c->types[i] = &c->to->types[i];
    if (c->types != NULL)
        qsort(c->types, n, sizeof *c->types, listed_order);
    else
        no_memory(c);
    return c->types != NULL;
}

static const struct partition_event_type *type_find(struct carrier *c,
                                                    const struct partition_event_type *type)
{
    size_t at, n = types_sort(c) ? c->to->type_count : 0;
    array_find(at, 0, n, type_order(c->types[at], type) < 0);
    return at < n && type_order(c->types[at], type) == 0 ? c->types[at] : NULL;
}

static const struct partition_event_type *type_copy(struct partition_reader *to,
                                                    const struct partition_event_type *type)
{
    struct partition_event_type *copy = reader_alloc(to, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *type;
    copy->name = reader_text(to, type->name, strlen(type->name));
    copy->text = reader_text(to, type->text, strlen(type->text));
    copy->file = reader_text(to, type->file, strlen(type->file));
    bool whole = copy->name != NULL && copy->text != NULL && copy->file != NULL;
    for (unsigned k = 0; k < type->nargs; k++) {
        copy->args[k].name = reader_text(to, type->args[k].name, strlen(type->args[k].name));
        copy->args[k].unit = reader_text(to, type->args[k].unit, strlen(type->args[k].unit));
        whole = whole && copy->args[k].name != NULL && copy->args[k].unit != NULL;
    }
    return whole ? copy : NULL;
}

/* The same type in the next partition, or a copy made there; NULL: the type is unknown, or no
 * memory. */
static const struct partition_event_type *type_carry(struct carrier *c,
                                                     const struct partition_event_type *type)
{
    const void **made = type == NULL ? NULL : made_for(c, &type, sizeof type);
    if (made != NULL && *made == NULL)
        *made = type_find(c, type);
    if (made != NULL && *made == NULL)
        *made = type_copy(c->to, type);
    if (made != NULL && *made == NULL)
        no_memory(c);
    return made == NULL ? NULL : *made;
}

/* ---- ranges ---- */

/* NULL: no memory. */
static const char *text_carry(struct carrier *c, const char *text, uint32_t len)
{
    const struct text_place place = {(uintptr_t)text, len};
    const void **made = made_for(c, &place, sizeof place);
    if (made != NULL && *made == NULL)
        *made = reader_text(c->to, text, len);
    if (made != NULL && *made == NULL)
        no_memory(c);
    return made == NULL ? NULL : *made;
}

static void frame_carry(struct carrier *c, struct lane *lane, const struct reader_frame *from)
{
    struct reader_frame frame = *from;
    frame.block = NO_BLOCK;
    frame.stack = 0; /* its id means nothing there */
    frame.type = type_carry(c, from->type);
    for (unsigned i = 0; frame.type != NULL && i < frame.type->nargs; i++) {
        if (frame.type->args[i].type != SKEIN_T_STR)
            continue;
        const char *text = text_carry(c, from->args[i].str.text, from->args[i].str.len);
        frame.args[i].str.text = text == NULL ? "" : text;
        frame.args[i].str.len = text == NULL ? 0 : from->args[i].str.len;
        frame.args[i].str.cut = from->args[i].str.cut || text == NULL;
    }
    frame_push(c->to, lane, &frame);
}

/* A thread of the partition before, and its lane there. A partition that names a thread twice gets
 * its ranges once. */
struct known_thread {
    struct partition_thread thread;
    size_t lane;
};
#define LANE_TAKEN SIZE_MAX

static int thread_compare(const struct partition_thread *a, const struct partition_thread *b)
{
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->incarnation != b->incarnation)
        return a->incarnation < b->incarnation ? -1 : 1;
    return 0;
}

static int thread_order(const void *a, const void *b)
{
    const struct known_thread *x = a, *y = b;
    int order = thread_compare(&x->thread, &y->thread);
    return order != 0 ? order : strcmp(x->thread.name, y->thread.name);
}

/* The same thread as it was called before; of several, one that nobody has taken. NULL: none. */
static struct known_thread *thread_renamed(struct known_thread *known, size_t count,
                                           const struct partition_thread *thread)
{
    size_t at;
    array_find(at, 0, count, thread_compare(&known[at].thread, thread) < 0);
    while (at < count && known[at].lane == LANE_TAKEN)
        at++;
    return at < count && thread_compare(&known[at].thread, thread) == 0 ? &known[at] : NULL;
}

static void lane_carry(struct carrier *c, struct lane *lane, const struct lane *from)
{
    for (size_t d = 0; d < from->depth; d++)
        frame_carry(c, lane, &from->stack[d]);
    lane->has_sequence = from->has_sequence;
    lane->last_sequence = from->last_sequence;
}

void partition_reader_continue(struct partition_reader *to, const struct partition_reader *from)
{
    struct carrier c = {.to = to};
    struct known_thread *known = calloc(from->thread_count + 1, sizeof *known);
    bool cut = from->info.evidence || to->info.evidence || /* F-50 */
               from->footer.left_out_behind > 0 ||         /* F-41 */
               from->skips ||                              /* partition_window.c */
               (to->block_count > 0 && to->footer.blocks[0].left_out > 0);
    if (known == NULL)
        no_memory(&c);
    if (to->prepared || cut || known == NULL) {
        free(known);
        return;
    }
    for (size_t i = 0; i < from->thread_count; i++)
        known[i] = (struct known_thread){from->threads[i], i};
    qsort(known, from->thread_count, sizeof *known, thread_order);
    for (size_t i = 0; i < to->thread_count; i++) {
        struct known_thread wanted = {to->threads[i], 0};
        struct known_thread *same =
            bsearch(&wanted, known, from->thread_count, sizeof *known, thread_order);
        if (same == NULL)
            same = thread_renamed(known, from->thread_count, &to->threads[i]);
        if (same == NULL || same->lane == LANE_TAKEN)
            continue;
        lane_carry(&c, &to->lanes[i], &from->lanes[same->lane]);
        same->lane = LANE_TAKEN;
    }
    intern_table_fini(&c.seen);
    free(c.types);
    free(c.made);
    free(known);
}
