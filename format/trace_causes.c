/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what is found of causes between hosts: spans and who names them as their parent, what follows
 * of these for the clocks of hosts, and the moving of these. See trace_causes.h. One thread.
 *
 * For each pair of hosts with a parent on p and a child on c:  moved(c) - moved(p) >= the most by which
 * a child begins before its parent. Moves are the least that suffice, none is below 0. Where they do
 * not end (on a circle each would have to be later than itself), nothing is moved.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "digits.h"
#include "trace_cursor_int.h"
#include "trace_int.h"

#define HOSTS_MAX 256u /* of more, none is moved */
/* The collector knows clocks better than that: ids that say more are wrong, or made up. */
#define APART_MAX INT64_C(1000000000)
#define SPANS_MAX 65536u /* that are known by their id, and children as many */

struct span { /* that may be a parent */
    uint32_t host;
    uint64_t begin_ns;
};

struct child {
    uint32_t host;
    uint64_t begin_ns;
    uint8_t key[24]; /* of its parent: trace id and span id */
};

struct causes {
    struct skein_trace *trace;
    struct intern_table hosts, keys; /* keys: of spans */
    uint32_t *process_host;
    struct span *spans;
    size_t span_cap;
    struct child *children;
    size_t child_count, child_cap;
    int64_t *need;   /* [parent's host][child's host]: INT64_MIN: nothing known */
    uint64_t *moved; /* of each host */
};

static void causes_fini(struct causes *c)
{
    intern_table_fini(&c->hosts);
    intern_table_fini(&c->keys);
    free(c->process_host);
    free(c->spans);
    free(c->children);
    free(c->need);
    free(c->moved);
}

/* ---- whether there is anything to be found ---- */

static int hosts_number(struct causes *c)
{
    const struct skein_trace *trace = c->trace;
    c->process_host = calloc(trace->process_count + 1, sizeof *c->process_host);
    if (c->process_host == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < trace->process_count; i++) {
        const char *host = trace->processes[i]->host;
        bool fresh;
        int64_t number = intern_table_put(&c->hosts, host, strlen(host), &fresh);
        if (number < 0)
            return SKEIN_NO_MEMORY;
        c->process_host[i] = (uint32_t)number;
    }
    return SKEIN_OK;
}

/* Two hosts with trace ids in their records. */
static bool may_have_causes(const struct causes *c)
{
    const struct skein_trace *trace = c->trace;
    int64_t first = -1;
    if (c->hosts.count < 2 || c->hosts.count > HOSTS_MAX)
        return false;
    for (size_t i = 0; i < trace->part_count; i++) {
        uint32_t host = c->process_host[trace->parts[i]->facts.process];
        if (trace->parts[i]->entry->footer.trace_id_filter_words == 0)
            continue;
        if (first >= 0 && (uint32_t)first != host)
            return true;
        first = host;
    }
    return false;
}

/* ---- reading ---- */

static int arg_find(const struct skein_event_type *type, const char *name)
{
    for (int i = 0; i < type->arg_count; i++)
        if (type->args[i].type == SKEIN_T_STR && strcmp(type->args[i].name, name) == 0)
            return i;
    return -1;
}

static bool type_is_wanted(void *context, const struct skein_event_type *type)
{
    (void)context;
    return arg_find(type, "trace_id") >= 0 &&
           (arg_find(type, "span_id") >= 0 || arg_find(type, "parent_span_id") >= 0);
}

/* Hex digits, twice as many as bytes; not all of them 0. */
static bool id_get(const struct skein_arg *args, int at, uint8_t *bytes, size_t n)
{
    uint8_t any = 0;
    if (at < 0 || args[at].text == NULL || args[at].cut || args[at].len != 2 * n)
        return false;
    if (!digits_bytes(args[at].text, bytes, n))
        return false;
    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    return any != 0;
}

static int span_keep(struct causes *c, const uint8_t key[24], uint32_t host, uint64_t begin_ns)
{
    bool fresh;
    if (c->keys.count >= SPANS_MAX)
        return SKEIN_OK;
    if (!array_grow(c->spans, c->keys.count + 1, &c->span_cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(&c->keys, key, 24, &fresh);
    if (at < 0)
        return SKEIN_NO_MEMORY;
    if (fresh)
        c->spans[at] = (struct span){host, begin_ns};
    return SKEIN_OK; /* one that comes twice is what it was first */
}

static int row_take(struct causes *c, const struct skein_batch *batch, uint32_t row)
{
    const struct skein_event_type *type = skein_trace_type(c->trace, batch->type[row]);
    const struct skein_arg *args = skein_batch_args(batch, row);
    uint32_t host = c->process_host[batch->process[row]];
    uint8_t key[24];
    int status = SKEIN_OK;
    /* Of one that began earlier than is known, the begin proves nothing. */
    if ((batch->flags[row] & SKEIN_ROW_BEGIN_CLIPPED) != 0 ||
        !id_get(args, arg_find(type, "trace_id"), key, 16))
        return SKEIN_OK;
    if (id_get(args, arg_find(type, "span_id"), key + 16, 8))
        status = span_keep(c, key, host, batch->time_ns[row]);
    if (status != SKEIN_OK || c->child_count >= SPANS_MAX ||
        !id_get(args, arg_find(type, "parent_span_id"), key + 16, 8))
        return status;
    if (!array_grow(c->children, c->child_count + 1, &c->child_cap))
        return SKEIN_NO_MEMORY;
    struct child *child = &c->children[c->child_count++];
    *child = (struct child){.host = host, .begin_ns = batch->time_ns[row]};
    memcpy(child->key, key, sizeof key);
    return SKEIN_OK;
}

static int spans_read(struct causes *c)
{
    const struct skein_query query = {.size = sizeof query,
                                      .columns =
                                          SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_ARGS,
                                      .kinds = 1u << SKEIN_ROW_REGION,
                                      .no_evidence = true,
                                      .by_process = true,
                                      .type = type_is_wanted};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    int more = 0, status = skein_cursor_new(c->trace, &query, &cursor);
    while (status == SKEIN_OK && (more = skein_cursor_next(cursor, &batch)) > 0)
        for (uint32_t row = 0; row < batch.count && status == SKEIN_OK; row++)
            if (batch.process[row] != SKEIN_NONE && batch.kind[row] == SKEIN_ROW_REGION)
                status = row_take(c, &batch, row);
    skein_cursor_free(&cursor);
    return status == SKEIN_OK && more < 0 ? more : status;
}

/* ---- what follows ---- */

/* As much as b is later than a; at most APART_MAX more or less. */
static int64_t later_by(uint64_t a, uint64_t b)
{
    uint64_t apart = b > a ? b - a : a - b;
    int64_t held = apart < (uint64_t)APART_MAX ? (int64_t)apart : APART_MAX;
    return b > a ? held : -held;
}

static void needs_find(struct causes *c)
{
    size_t hosts = c->hosts.count;
    for (size_t i = 0; i < hosts * hosts; i++)
        c->need[i] = INT64_MIN;
    for (size_t i = 0; i < c->child_count; i++) {
        const struct child *child = &c->children[i];
        int64_t at = intern_table_find(&c->keys, child->key, sizeof child->key);
        if (at < 0 || c->spans[at].host == child->host)
            continue;
        int64_t late = later_by(child->begin_ns, c->spans[at].begin_ns);
        if (late == APART_MAX)
            continue;
        int64_t *need = &c->need[c->spans[at].host * hosts + child->host];
        *need = late > *need ? late : *need;
        c->trace->causes_fixed += late > 0;
    }
}

/* false: they do not end. */
static bool moves_find(struct causes *c)
{
    size_t hosts = c->hosts.count;
    bool changed = true;
    for (size_t round = 0; changed && round <= hosts; round++) {
        changed = false;
        for (size_t p = 0; p < hosts; p++)
            for (size_t h = 0; h < hosts; h++) {
                int64_t need = c->need[p * hosts + h];
                if (need == INT64_MIN || (int64_t)c->moved[p] + need <= (int64_t)c->moved[h])
                    continue;
                c->moved[h] = (uint64_t)((int64_t)c->moved[p] + need);
                changed = true;
            }
    }
    return !changed;
}

static void host_move(struct causes *c)
{
    struct skein_trace *trace = c->trace;
    for (size_t i = 0; i < trace->part_count; i++) {
        struct trace_part *part = trace->parts[i];
        struct skein_partition *facts = &part->facts;
        int64_t ns = (int64_t)c->moved[c->process_host[facts->process]];
        if (ns == 0)
            continue;
        part->moved_ns = ns;
        facts->from_ns = clock_shift_ns(facts->from_ns, ns);
        facts->to_ns = clock_shift_ns(facts->to_ns, ns);
        facts->window_from_ns = clock_shift_ns(facts->window_from_ns, ns);
        facts->window_to_ns = clock_shift_ns(facts->window_to_ns, ns);
        trace_file_entry_move(part->file, part->at, ns);
    }
    for (size_t i = 0; i < trace->process_count; i++) {
        int64_t ns = (int64_t)c->moved[c->process_host[i]];
        trace->processes[i]->from_ns = clock_shift_ns(trace->processes[i]->from_ns, ns);
        trace->processes[i]->to_ns = clock_shift_ns(trace->processes[i]->to_ns, ns);
    }
}

static int causes_judge(struct causes *c)
{
    size_t hosts = c->hosts.count;
    c->need = calloc(hosts * hosts, sizeof *c->need);
    c->moved = calloc(hosts, sizeof *c->moved);
    if (c->need == NULL || c->moved == NULL)
        return SKEIN_NO_MEMORY;
    needs_find(c);
    if (moves_find(c)) {
        host_move(c);
    } else {
        c->trace->causes_circle = c->trace->causes_fixed;
        c->trace->causes_fixed = 0;
    }
    return SKEIN_OK;
}

int trace_causes_apply(struct skein_trace *trace)
{
    struct causes c = {.trace = trace};
    if (trace->causes_known)
        return SKEIN_OK;
    trace->causes_known = true; /* also for the cursor that reads for this */
    int status = hosts_number(&c);
    if (status == SKEIN_OK && may_have_causes(&c)) {
        status = spans_read(&c);
        if (status == SKEIN_OK)
            status = causes_judge(&c);
    }
    causes_fini(&c);
    trace->causes_known = status == SKEIN_OK;
    return status;
}
