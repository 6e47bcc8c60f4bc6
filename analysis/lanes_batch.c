/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rows of a trace belong to which lane. Owns nothing; entered by whoever owns the lanes, through
 * lanes_add, lanes_add_gaps and lanes_settle.
 */
#include "array.h"
#include "lanes_int.h"
#include "sched_types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TYPES_MOST  (1u << 24)
#define STATE_LOST  255 /* a type's state: records of the scheduler are lost */
#define STATE_RAN   254 /* it is a sample of the CPU */
#define SLOTS_FIRST 64

/* ---- lanes by what they are of ---- */

static size_t hash_of(const struct lane_key *key)
{
    uint64_t h = ((uint64_t)key->process << 32 | key->thread) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= ((uint64_t)key->kind << 32 | key->number) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= h >> 29;
    h *= UINT64_C(0x165667b19e3779f9);
    return (size_t)(h ^ h >> 32);
}

static bool is_of(const struct lane *lane, const struct lane_key *key)
{
    return lane->thread == key->thread && lane->number == key->number && lane->kind == key->kind &&
           lane->process == key->process;
}

/* The slot of a key, or an empty one where it may stand. There is one. */
static uint32_t *slot_of(const struct lanes *lanes, const struct lane_key *key)
{
    size_t at = hash_of(key) & (lanes->slot_cap - 1);
    while (lanes->slots[at] != 0 && !is_of(&lanes->lanes[lanes->slots[at] - 1]->lane, key))
        at = (at + 1) & (lanes->slot_cap - 1);
    return &lanes->slots[at];
}

/* At least half of the slots stay empty. */
static int slots_room(struct lanes *lanes)
{
    size_t cap = lanes->slot_cap > 0 ? 2 * lanes->slot_cap : SLOTS_FIRST;
    uint32_t *old = lanes->slots;
    if (2 * (lanes->firsts + 1) <= lanes->slot_cap)
        return SKEIN_OK;
    if (!lanes_reserve(lanes, (cap - lanes->slot_cap) * sizeof *old))
        return SKEIN_FULL;
    lanes->slots = calloc(cap, sizeof *old);
    if (lanes->slots == NULL) {
        lanes->slots = old;
        lanes_release(lanes, (cap - lanes->slot_cap) * sizeof *old);
        return SKEIN_NO_MEMORY;
    }
    lanes->slot_cap = cap;
    for (size_t i = 0; i < lanes->count; i++) {
        const struct lane *lane = &lanes->lanes[i]->lane;
        const struct lane_key key = {lane->process, lane->thread, lane->number, lane->kind, false};
        if (lane->layer == 0)
            *slot_of(lanes, &key) = (uint32_t)i + 1;
    }
    free(old);
    return SKEIN_OK;
}

static int lane_new(struct lanes *lanes, const struct lane_key *key, uint32_t layer,
                    struct lane_own **out)
{
    const size_t bytes = sizeof **out + 2 * sizeof(void *);
    *out = NULL;
    if (lanes->count >= UINT32_MAX - 1 || !lanes_reserve(lanes, bytes))
        return SKEIN_FULL;
    struct lane_own *own = calloc(1, sizeof *own);
    if (own == NULL || !array_grow(lanes->lanes, lanes->count + 1, &lanes->cap)) {
        free(own);
        lanes_release(lanes, bytes);
        return SKEIN_NO_MEMORY;
    }
    own->lane = (struct lane){.process = key->process,
                              .thread = key->thread,
                              .kind = key->kind,
                              .number = key->number,
                              .layer = layer,
                              .evidence = key->evidence,
                              .has_rows = true};
    own->base.shift = lanes->shift;
    lanes->lanes[lanes->count++] = *out = own;
    return SKEIN_OK;
}

int lanes_lane_of(struct lanes *lanes, const struct lane_key *key, uint64_t begin,
                  struct lane_own **out)
{
    int status = slots_room(lanes);
    if (status != SKEIN_OK)
        return status;
    uint32_t *slot = slot_of(lanes, key);
    if (*slot == 0) {
        status = lane_new(lanes, key, 0, out);
        if (status == SKEIN_OK) {
            *slot = (uint32_t)lanes->count;
            lanes->firsts++;
        }
        return status;
    }
    struct lane_own *own = lanes->lanes[*slot - 1];
    while (begin < own->end_ns && own->lane.layer + 1 < LANES_LAYERS) {
        if (own->next_layer == NULL) {
            status = lane_new(lanes, key, own->lane.layer + 1, &own->next_layer);
            if (status != SKEIN_OK)
                return status;
        }
        own = own->next_layer;
    }
    *out = own;
    return SKEIN_OK;
}

int lanes_row_put(struct lanes *lanes, const struct lane_key *key, uint64_t time, uint64_t length,
                  struct lane_row *row)
{
    const struct lanes_options *o = &lanes->options;
    uint64_t end = length > UINT64_MAX - time ? UINT64_MAX : time + length;
    struct lane_own *own;
    if (time > o->to_ns || end < o->from_ns) {
        lanes->totals.outside++;
        return SKEIN_OK;
    }
    uint64_t from = time > o->from_ns ? time - o->from_ns : 0;
    uint64_t to = end - o->from_ns < lanes->span_ns ? end - o->from_ns : lanes->span_ns;
    int status = lanes_lane_of(lanes, key, from, &own);
    if (status == SKEIN_FULL) {
        lanes->totals.left_out++;
        return SKEIN_OK;
    }
    return status == SKEIN_OK ? lane_row_add(lanes, own, from, to, row) : status;
}

/* ---- what a row is ---- */

static int state_of(const char *name)
{
    static const struct {
        const char *name;
        uint8_t state;
    } states[] = {{SCHED_NAME_RUN, LANE_RUNNING},
                  {SCHED_NAME_RUNNABLE, LANE_RUNNABLE},
                  {SCHED_NAME_BLOCKED, LANE_BLOCKED},
                  {SCHED_NAME_LOST, STATE_LOST},
                  {LANES_SAMPLE, STATE_RAN}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, name) == 0)
            return states[i].state;
    return 0;
}

/* What is known of a type; *type is empty where nothing is. */
static int type_get(struct lanes *lanes, uint32_t number, struct lanes_type *type)
{
    *type = (struct lanes_type){0};
    if (number >= TYPES_MOST || lanes->options.type == NULL)
        return SKEIN_OK;
    if (!array_grow_zero(lanes->types, (size_t)number + 1, &lanes->type_cap))
        return SKEIN_NO_MEMORY;
    struct lanes_type *known = &lanes->types[number];
    if (known->asked == 0) {
        const struct skein_event_type *t = lanes->options.type(lanes->options.context, number);
        known->asked = 1;
        known->state = t != NULL ? (uint8_t)state_of(t->name) : 0;
        known->value = t != NULL && t->arg_count > 0 ? t->args[0].type : 0;
    }
    *type = *known;
    return SKEIN_OK;
}

static double value_of(const struct skein_arg *arg, uint8_t type)
{
    switch (type) {
    case SKEIN_T_U64:
    case SKEIN_T_BOOL:
        return (double)arg->u64;
    case SKEIN_T_I64:
        return (double)arg->i64;
    case SKEIN_T_F64:
        return arg->f64;
    default:
        return (double)NAN;
    }
}

static int counter_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                       struct lane_key *key)
{
    struct lanes_type type;
    int status = type_get(lanes, key->number, &type);
    double value = batch->args != NULL && status == SKEIN_OK
                       ? value_of(skein_batch_args(batch, i), type.value)
                       : (double)NAN;
    key->kind = LANE_COUNTER;
    if (!isfinite(value)) {
        lanes->totals.no_number += status == SKEIN_OK;
        return status;
    }
    return lanes_row_put(lanes, key, batch->time_ns[i], 0, &(struct lane_row){.value = value});
}

/* What the agent tells of a stretch of time: scheduling; all else is no picture. */
static int evidence_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                        struct lane_key *key)
{
    struct lane_row row = {.type = batch->type[i]};
    struct lanes_type type;
    int status = type_get(lanes, batch->type[i], &type);
    if (status != SKEIN_OK)
        return status;
    if (type.state == 0 || type.state == STATE_RAN) {
        lanes->totals.evidence++;
        return SKEIN_OK;
    }
    key->kind = type.state == STATE_LOST ? LANE_LOSS : LANE_STATE;
    key->number = type.state == STATE_LOST ? 0 : type.state;
    row.type = type.state == STATE_LOST ? LANES_SCHED_LOST : type.state;
    return lanes_row_put(lanes, key, batch->time_ns[i], batch->dur_ns[i], &row);
}

/* Of instants that the agent tells, samples of the CPU. */
static int sample_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                      struct lane_key *key)
{
    struct lane_row row = {.type = batch->type[i]};
    struct lanes_type type;
    int status = type_get(lanes, batch->type[i], &type);
    if (status != SKEIN_OK)
        return status;
    if (type.state != STATE_RAN) {
        lanes->totals.evidence++;
        return SKEIN_OK;
    }
    key->kind = LANE_SAMPLE;
    key->number = 0;
    return lanes_row_put(lanes, key, batch->time_ns[i], 0, &row);
}

static int region_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                      const struct lane_key *key)
{
    uint64_t begin = batch->time_ns[i], length = batch->dur_ns[i];
    const struct region_row region = {.begin_ns = begin,
                                      .end_ns =
                                          length > UINT64_MAX - begin ? UINT64_MAX : begin + length,
                                      .type = batch->type[i],
                                      .depth = batch->depth != NULL ? batch->depth[i] : 0};
    return lanes_region_put(lanes, key, &region);
}

static int loss_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                    struct lane_key *key)
{
    struct lane_row row = {0};
    if (batch->more != NULL && batch->more[i] != SKEIN_NONE)
        row.type = batch->mores[batch->more[i]].loss_reason;
    key->kind = LANE_LOSS;
    key->number = 0;
    return lanes_row_put(lanes, key, batch->time_ns[i], batch->dur_ns[i], &row);
}

static int mark_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i,
                    struct lane_key *key)
{
    struct lane_row row = {.type = batch->type[i]};
    struct lanes_type type;
    int status = type_get(lanes, batch->type[i], &type);
    if (batch->kind[i] == SKEIN_ROW_LOG && batch->args != NULL && type.value == SKEIN_T_U64) {
        uint64_t level = skein_batch_args(batch, i)->u64;
        row.length = 1.0f + (float)(level < SKEIN_ERROR ? level : SKEIN_ERROR);
    }
    key->kind = LANE_MARK;
    key->number = 0;
    return status != SKEIN_OK ? status : lanes_row_put(lanes, key, batch->time_ns[i], 0, &row);
}

static int batch_row_put(struct lanes *lanes, const struct skein_batch *batch, uint32_t i)
{
    bool evidence = (batch->flags[i] & SKEIN_ROW_EVIDENCE) != 0;
    struct lane_key key = {batch->process[i], batch->thread[i], batch->type[i], 0, evidence};
    lanes->totals.rows++;
    switch (batch->kind[i]) {
    case SKEIN_ROW_REGION:
    case SKEIN_ROW_OPEN:
        return evidence ? evidence_put(lanes, batch, i, &key) : region_put(lanes, batch, i, &key);
    case SKEIN_ROW_COUNTER:
        return counter_put(lanes, batch, i, &key);
    case SKEIN_ROW_INSTANT:
        return evidence ? sample_put(lanes, batch, i, &key) : mark_put(lanes, batch, i, &key);
    case SKEIN_ROW_LOG:
        lanes->totals.evidence += evidence;
        return evidence ? SKEIN_OK : mark_put(lanes, batch, i, &key);
    case SKEIN_ROW_LOSS:
        return loss_put(lanes, batch, i, &key);
    case SKEIN_ROW_END_ONLY:
        lanes->totals.ends++;
        return SKEIN_OK;
    default: /* begins: their region follows */
        lanes->totals.rows--;
        return SKEIN_OK;
    }
}

int lanes_add(struct lanes *lanes, const struct skein_batch *batch)
{
    int status = SKEIN_OK;
    lanes->settled = false;
    for (uint32_t i = 0; i < batch->count && status == SKEIN_OK; i++)
        status = batch_row_put(lanes, batch, i);
    return status;
}

static int gap_order(const void *a, const void *b)
{
    const struct skein_gap *x = *(const struct skein_gap *const *)a;
    const struct skein_gap *y = *(const struct skein_gap *const *)b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

int lanes_add_gaps(struct lanes *lanes, const struct skein_gap *gaps, size_t count)
{
    const struct skein_gap **order = malloc((count + 1) * sizeof *order);
    int status = order == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    lanes->settled = false;
    for (size_t i = 0; i < count && order != NULL; i++)
        order[i] = &gaps[i];
    if (order != NULL)
        qsort(order, count, sizeof *order, gap_order);
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        const struct skein_gap *gap = order[i];
        struct lane_key key = {gap->process, SKEIN_NONE, 0, LANE_LOSS, false};
        struct lane_row row = {.type = LANES_GAP + (uint32_t)gap->reason};
        lanes->totals.rows++;
        if (gap->to_ns == 0 || gap->to_ns < gap->from_ns)
            lanes->totals.left_out++;
        else
            status = lanes_row_put(lanes, &key, gap->from_ns, gap->to_ns - gap->from_ns, &row);
    }
    free(order);
    return status;
}

/* ---- settled ---- */

static int lane_order(const void *a, const void *b)
{
    const struct lane *x = &(*(struct lane_own *const *)a)->lane;
    const struct lane *y = &(*(struct lane_own *const *)b)->lane;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->layer < y->layer) - (x->layer > y->layer);
}

int lanes_settle(struct lanes *lanes)
{
    int status = lanes_regions_place(lanes);
    struct lane_own **order;
    if (status != SKEIN_OK)
        return status;
    order = realloc(lanes->order, (lanes->count + 1) * sizeof(struct lane_own *));
    if (order == NULL)
        return SKEIN_NO_MEMORY;
    lanes->order = order;
    lanes->order_count = 0;
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->lanes[i]->lane.kind != LANE_WAITING)
            order[lanes->order_count++] = lanes->lanes[i];
    qsort(order, lanes->order_count, sizeof(struct lane_own *), lane_order);
    for (size_t i = 0; i < lanes->order_count; i++) {
        order[i]->lane.cell_ns = UINT64_C(1) << order[i]->base.shift;
        lane_trim(lanes, order[i]);
        if (!lane_levels_make(order[i]))
            return SKEIN_NO_MEMORY;
    }
    lanes->settled = true;
    return SKEIN_OK;
}

size_t lanes_count(const struct lanes *lanes)
{
    return lanes->settled ? lanes->order_count : 0;
}

const struct lane *lanes_at(const struct lanes *lanes, size_t i)
{
    return &lanes->order[i]->lane;
}

void lanes_totals(const struct lanes *lanes, struct lanes_totals *totals)
{
    *totals = lanes->totals;
}
