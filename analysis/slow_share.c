/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the counts of values among slow regions and among the rest. One thread enters.
 */
#include "slow_share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "intern_table.h"
#include "json.h"
#include "statistics.h"

#define SURE_Q .05

struct count {
    uint64_t slow, rest;
};

struct attribute {
    char name[SLOW_TEXT];
    struct intern_table values;
    struct count *counts;
    size_t cap;
};

struct slow_share {
    char name[SLOW_TEXT];
    uint64_t slow_ns;
    struct attribute attributes[SLOW_ATTRIBUTES];
    size_t attribute_count;
    int8_t *types; /* of each number: 0 unknown, 1 it is the one, -1 it is not */
    size_t type_count, type_cap;
    struct slow_list list;
    size_t value_cap;
};

int slow_share_new(const char *name, uint64_t slow_ns, struct slow_share **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    (*out)->slow_ns = slow_ns;
    return SKEIN_OK;
}

void slow_share_free(struct slow_share **share)
{
    struct slow_share *s = *share;
    *share = NULL;
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->attribute_count; i++) {
        intern_table_fini(&s->attributes[i].values);
        free(s->attributes[i].counts);
    }
    free(s->types);
    free(s->list.values);
    free(s);
}

/* ---- counting ---- */

/* NULL: there is no room for one more. */
static struct attribute *attribute_find(struct slow_share *s, const char *name)
{
    for (size_t i = 0; i < s->attribute_count; i++)
        if (strncmp(s->attributes[i].name, name, SLOW_TEXT - 1) == 0)
            return &s->attributes[i];
    if (s->attribute_count == SLOW_ATTRIBUTES)
        return NULL;
    struct attribute *a = &s->attributes[s->attribute_count++];
    snprintf(a->name, sizeof a->name, "%s", name);
    return a;
}

/* 1; 0: it had no room; SKEIN_NO_MEMORY. */
static int value_count(struct slow_share *s, const char *name, const char *text, size_t n,
                       bool slow)
{
    struct attribute *a = attribute_find(s, name);
    bool fresh;
    if (a == NULL)
        return 0;
    n = n < SLOW_TEXT ? n : SLOW_TEXT - 1;
    if (a->values.count == SLOW_VALUES && intern_table_find(&a->values, text, n) < 0)
        return 0;
    if (!array_grow(a->counts, a->values.count + 1, &a->cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(&a->values, text, n, &fresh);
    if (at < 0)
        return SKEIN_NO_MEMORY;
    if (fresh)
        a->counts[at] = (struct count){0, 0};
    a->counts[at].slow += slow;
    a->counts[at].rest += !slow;
    return 1;
}

/* As text; 0: it is of no type that is compared. */
static size_t arg_text(const struct skein_arg_type *type, const struct skein_arg *arg,
                       char out[SLOW_TEXT])
{
    int n = 0;
    switch (type->type) {
    case SKEIN_T_U64:
        n = snprintf(out, SLOW_TEXT, "%" PRIu64, arg->u64);
        break;
    case SKEIN_T_I64:
        n = snprintf(out, SLOW_TEXT, "%" PRId64, arg->i64);
        break;
    case SKEIN_T_PTR:
        n = snprintf(out, SLOW_TEXT, "0x%" PRIx64, arg->u64);
        break;
    case SKEIN_T_BOOL:
        n = snprintf(out, SLOW_TEXT, "%s", arg->u64 != 0 ? "true" : "false");
        break;
    case SKEIN_T_STR:
        n = (int)(arg->len < SLOW_TEXT ? arg->len : SLOW_TEXT - 1);
        memcpy(out, arg->text, (size_t)n);
        break;
    default: /* real numbers and sequences hardly come twice */
        break;
    }
    return n > 0 ? (size_t)n : 0;
}

static int args_count(struct slow_share *s, const struct skein_event_type *type,
                      const struct skein_arg *args, bool slow, bool *whole)
{
    int status = 1;
    for (unsigned i = 0; i < type->arg_count && i < SKEIN_ARGS_MAX && status >= 0; i++) {
        char name[SLOW_TEXT], text[SLOW_TEXT];
        size_t n = arg_text(&type->args[i], &args[i], text);
        if (n == 0)
            continue;
        snprintf(name, sizeof name, "argument %.50s", type->args[i].name);
        status = value_count(s, name, text, n, slow);
        *whole &= status != 0;
    }
    return status;
}

static int region_count(struct slow_share *s, const struct skein_trace *trace,
                        const struct skein_batch *batch, uint32_t row, bool *whole)
{
    const struct skein_process *process = skein_trace_process(trace, batch->process[row]);
    const struct skein_thread *thread = skein_trace_thread(trace, batch->thread[row]);
    bool slow = batch->dur_ns[row] > s->slow_ns;
    char number[24];
    s->list.slow += slow;
    s->list.rest += !slow;
    snprintf(number, sizeof number, "%u", process->pid);
    const struct {
        const char *name, *text;
    } values[] = {{"host", process->host}, {"process", number}, {"thread", thread->name}};
    int status = 1;
    for (size_t i = 0; i < sizeof values / sizeof values[0] && status >= 0; i++) {
        status = value_count(s, values[i].name, values[i].text, strlen(values[i].text), slow);
        *whole &= status != 0;
    }
    if (status >= 0)
        status = args_count(s, skein_trace_type(trace, batch->type[row]),
                            skein_batch_args(batch, row), slow, whole);
    return status < 0 ? status : SKEIN_OK;
}

static bool is_it(struct slow_share *s, const struct skein_trace *trace, uint32_t type)
{
    if (s->types[type] == 0)
        s->types[type] =
            strncmp(skein_trace_type(trace, type)->name, s->name, SLOW_TEXT - 1) == 0 ? 1 : -1;
    return s->types[type] > 0;
}

int slow_share_take(struct slow_share *s, const struct skein_trace *trace,
                    const struct skein_batch *batch)
{
    size_t types = skein_trace_type_count(trace);
    int status = SKEIN_OK;
    if (!array_grow(s->types, types + 1, &s->type_cap))
        return SKEIN_NO_MEMORY;
    for (; s->type_count < types; s->type_count++)
        s->types[s->type_count] = 0;
    for (uint32_t row = 0; row < batch->count && status == SKEIN_OK; row++) {
        bool whole = true;
        if (batch->kind[row] != SKEIN_ROW_REGION || batch->thread[row] == SKEIN_NONE ||
            (batch->flags[row] & SKEIN_ROW_EVIDENCE) != 0 || batch->type[row] >= types ||
            !is_it(s, trace, batch->type[row]))
            continue;
        status = region_count(s, trace, batch, row, &whole);
        s->list.left_out += !whole;
    }
    return status;
}

/* ---- judging ---- */

static int value_take(struct slow_share *s, const struct attribute *a, size_t i)
{
    struct slow_list *list = &s->list;
    const struct count *c = &a->counts[i];
    if (!array_grow(list->values, list->count + 1, &s->value_cap))
        return SKEIN_NO_MEMORY;
    double half = .5 / (double)list->rest;
    struct slow_value *v = &list->values[list->count++];
    *v = (struct slow_value){
        .attribute = a->name,
        .slow = c->slow,
        .rest = c->rest,
        .slow_share = (double)c->slow / (double)list->slow,
        .rest_share = (double)c->rest / (double)list->rest,
        .q = counts_test(c->rest, (double)list->rest, c->slow, (double)list->slow)};
    memcpy(v->value, intern_table_bytes(&a->values, i), a->values.entries[i].len);
    v->lift = v->slow_share / (v->rest_share > half ? v->rest_share : half);
    return SKEIN_OK;
}

static int value_order(const void *left, const void *right)
{
    const struct slow_value *a = left, *b = right;
    double one = a->slow_share - a->rest_share, other = b->slow_share - b->rest_share;
    if (one != other)
        return one > other ? -1 : 1;
    int order = strcmp(a->attribute, b->attribute);
    return order != 0 ? order : strcmp(a->value, b->value);
}

/* Tests all, keeps the sure ones. */
static int values_judge(struct slow_list *list)
{
    double *p = calloc(list->count + 1, sizeof *p);
    size_t kept = 0;
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < list->count; i++)
        p[i] = list->values[i].q;
    int status = discoveries_adjust(p, list->count);
    list->tests = list->count;
    for (size_t i = 0; i < list->count && status == SKEIN_OK; i++) {
        struct slow_value v = list->values[i];
        v.q = p[i];
        if (v.q <= SURE_Q && v.lift >= SLOW_LIFT)
            list->values[kept++] = v;
    }
    list->count = kept;
    free(p);
    return status;
}

int slow_share_end(struct slow_share *s, const struct slow_list **list)
{
    int status = SKEIN_OK;
    bool enough = s->list.slow >= SLOW_LEAST && s->list.rest >= SLOW_LEAST;
    for (size_t k = 0; k < s->attribute_count && enough; k++) {
        const struct attribute *a = &s->attributes[k];
        /* what all have tells nothing */
        for (size_t i = 0; i < a->values.count && a->values.count > 1 && status == SKEIN_OK; i++)
            if (a->counts[i].slow > 0)
                status = value_take(s, a, i);
    }
    if (status == SKEIN_OK)
        status = values_judge(&s->list);
    if (status == SKEIN_OK && s->list.count > 0)
        qsort(s->list.values, s->list.count, sizeof *s->list.values, value_order);
    *list = &s->list;
    return status;
}

/* ---- for programs ---- */

void slow_share_json(const struct slow_list *list, const char *name, uint64_t slow_ns,
                     struct buf *out)
{
    buf_printf(out, "{\"version\":1,\"name\":");
    json_put_text(out, name, strlen(name));
    buf_printf(out,
               ",\"slow_ns\":%" PRIu64 ",\"slow\":%" PRIu64 ",\"rest\":%" PRIu64
               ",\"tests\":%zu,\"left_out\":%" PRIu64 ",\"sure_at_q\":%g,\"values\":[",
               slow_ns, list->slow, list->rest, list->tests, list->left_out, SURE_Q);
    for (size_t i = 0; i < list->count; i++) {
        const struct slow_value *v = &list->values[i];
        buf_printf(out, "%s{\"attribute\":", i > 0 ? "," : "");
        json_put_text(out, v->attribute, strlen(v->attribute));
        buf_printf(out, ",\"value\":");
        json_put_text(out, v->value, strlen(v->value));
        buf_printf(out,
                   ",\"slow\":%" PRIu64 ",\"rest\":%" PRIu64
                   ",\"slow_share\":%.6g,\"rest_share\":%.6g,\"lift\":%.6g,\"q\":%.6g}",
                   v->slow, v->rest, v->slow_share, v->rest_share, v->lift, v->q);
    }
    buf_printf(out, "]}");
}
