/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the values of each counter, and the sums that are made of them; see vitals_table.h.
 */
#include "vitals_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "buf.h"
#include "intern_table.h"

#define SAME_NS   UINT64_C(1000000) /* the same look, as two partitions' clocks tell it */
#define SAME_MOST 64                /* different values of one moment: no recorder has as many */

struct counter {
    struct vitals_value *values;
    size_t count, cap;
};

struct vitals_table {
    struct intern_table texts; /* all names, units, hosts: NUL-terminated */
    struct intern_table counter_keys, top_keys;
    struct counter *counters; /* with rows, by number */
    size_t counter_cap;
    struct vitals_row *rows;
    size_t row_count, row_cap;
    struct vitals_top *tops;
    size_t top_count, top_cap;
    struct vitals_state *states;
    size_t state_count, state_cap;
    char **kept; /* each text that rows point to */
    size_t kept_count, kept_cap;
    struct vitals_list list;
};

int vitals_table_new(struct vitals_table **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

void vitals_table_free(struct vitals_table **table)
{
    struct vitals_table *t = *table;
    *table = NULL;
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->row_count; i++)
        free(t->counters[i].values);
    for (size_t i = 0; i < t->kept_count; i++)
        free(t->kept[i]);
    intern_table_fini(&t->texts);
    intern_table_fini(&t->counter_keys);
    intern_table_fini(&t->top_keys);
    free(t->counters);
    free(t->rows);
    free(t->tops);
    free(t->states);
    free(t->kept);
    free(t);
}

/* ---- taking ---- */

/* Equal texts are one; NULL: no memory. */
static const char *text_keep(struct vitals_table *t, const char *text, size_t n)
{
    bool fresh;
    int64_t id = intern_table_put(&t->texts, text, n, &fresh);
    if (id < 0)
        return NULL;
    if ((size_t)id < t->kept_count)
        return t->kept[id];
    char *kept = strndup(text, n);
    if (kept == NULL || !array_grow(t->kept, t->kept_count + 1, &t->kept_cap)) {
        free(kept);
        return NULL;
    }
    t->kept[t->kept_count++] = kept;
    return kept;
}

/* `thread`: of the host, where that is NULL; of one with tid 0: of the process. */
static bool of_set(struct vitals_table *t, const struct partition_info *info,
                   const struct partition_thread *thread, struct vitals_of *of)
{
    *of = (struct vitals_of){.host = text_keep(t, info->host, strlen(info->host))};
    if (thread == NULL)
        return of->host != NULL;
    of->pid = info->pid;
    of->service = text_keep(t, info->service, strlen(info->service));
    of->tid = thread->tid;
    if (of->tid != 0)
        of->thread = text_keep(t, thread->name, strlen(thread->name));
    return of->host != NULL && of->service != NULL && (of->tid == 0 || of->thread != NULL);
}

/* A counter, as it is taken in. */
struct taken {
    const struct partition_info *info;
    const struct partition_thread *thread; /* of_set */
    const char *name, *unit;
    struct vitals_value value;
};

/* The number of a row of that name and owner, new or not; below 0: no memory. */
static int64_t row_get(struct vitals_table *t, const struct taken *taken)
{
    const struct partition_info *info = taken->info;
    struct buf key = {0};
    bool fresh;
    buf_put(&key, taken->name, strlen(taken->name) + 1);
    buf_put(&key, info->host, strlen(info->host) + 1);
    if (taken->thread != NULL) {
        buf_put(&key, info->key.process.bytes, sizeof info->key.process.bytes);
        buf_put_u64(&key, taken->thread->tid);
    }
    int64_t id = key.status == SKEIN_OK
                     ? intern_table_put(&t->counter_keys, key.data, key.len, &fresh)
                     : SKEIN_NO_MEMORY;
    buf_fini(&key);
    if (id < 0 || (size_t)id < t->row_count)
        return id;
    struct vitals_row row = {.name = text_keep(t, taken->name, strlen(taken->name)),
                             .unit = text_keep(t, taken->unit, strlen(taken->unit))};
    if (row.name == NULL || row.unit == NULL || !of_set(t, info, taken->thread, &row.of) ||
        !array_grow(t->rows, t->row_count + 1, &t->row_cap) ||
        !array_grow(t->counters, t->row_count + 1, &t->counter_cap))
        return SKEIN_NO_MEMORY;
    t->counters[t->row_count] = (struct counter){.values = NULL};
    t->rows[t->row_count++] = row;
    return id;
}

static double number_of(const struct trace_event *event, size_t arg)
{
    switch (event->type->args[arg].type) {
    case SKEIN_T_F64:
        return event->args[arg].f64;
    case SKEIN_T_I64:
        return (double)event->args[arg].i64;
    default:
        return (double)event->args[arg].u64;
    }
}

static int value_add(struct vitals_table *t, const struct taken *taken)
{
    int64_t id = row_get(t, taken);
    if (id < 0)
        return SKEIN_NO_MEMORY;
    struct counter *counter = &t->counters[id];
    if (!isfinite(taken->value.value))
        return SKEIN_OK;
    if (!array_grow(counter->values, counter->count + 1, &counter->cap))
        return SKEIN_NO_MEMORY;
    counter->values[counter->count++] = taken->value;
    return SKEIN_OK;
}

/* The index of an argument of that name and type, or -1. */
static int arg_find(const struct partition_event_type *type, const char *name, uint8_t of)
{
    for (int i = 0; i < type->nargs; i++)
        if (type->args[i].type == of && strcmp(type->args[i].name, name) == 0)
            return i;
    return -1;
}

static struct vitals_value value_of(const struct trace_event *event, size_t arg)
{
    int over = arg_find(event->type, "over", SKEIN_T_U64);
    return (struct vitals_value){event->time_ns, over < 0 ? 0 : event->args[over].u64,
                                 number_of(event, arg)};
}

static int counter_add(struct vitals_table *t, const struct partition_info *info,
                       const struct trace_event *event, bool host)
{
    const struct partition_event_type *type = event->type;
    if (type->nargs < 1 || type->args[0].type > SKEIN_T_F64)
        return SKEIN_OK;
    return value_add(t, &(struct taken){info, host ? NULL : event->thread, type->name,
                                        type->args[0].unit, value_of(event, 0)});
}

static int top_add(struct vitals_table *t, const struct partition_info *info,
                   const struct trace_event *event, const char *kind)
{
    int pid = arg_find(event->type, "pid", SKEIN_T_U64),
        name = arg_find(event->type, "name", SKEIN_T_STR),
        value = arg_find(event->type, kind, SKEIN_T_F64);
    struct buf key = {0};
    bool fresh;
    if (pid < 0 || name < 0 || value < 0 || !isfinite(event->args[value].f64))
        return SKEIN_OK;
    const struct partition_value *said = &event->args[name];
    buf_put(&key, kind, strlen(kind) + 1);
    buf_put(&key, info->host, strlen(info->host) + 1);
    buf_put_u64(&key, event->args[pid].u64);
    buf_put(&key, said->str.text, said->str.len);
    int64_t id = key.status == SKEIN_OK ? intern_table_put(&t->top_keys, key.data, key.len, &fresh)
                                        : SKEIN_NO_MEMORY;
    buf_fini(&key);
    if (id < 0)
        return SKEIN_NO_MEMORY;
    if ((size_t)id == t->top_count) {
        struct vitals_top top = {.host = text_keep(t, info->host, strlen(info->host)),
                                 .kind = text_keep(t, kind, strlen(kind)),
                                 .unit = text_keep(t, event->type->args[value].unit,
                                                   strlen(event->type->args[value].unit)),
                                 .pid = event->args[pid].u64,
                                 .name = text_keep(t, said->str.text, said->str.len),
                                 .most = -1};
        if (top.host == NULL || top.kind == NULL || top.unit == NULL || top.name == NULL ||
            !array_grow(t->tops, t->top_count + 1, &t->top_cap))
            return SKEIN_NO_MEMORY;
        t->tops[t->top_count++] = top;
    }
    struct vitals_top *top = &t->tops[id];
    top->times++;
    if (event->args[value].f64 > top->most) {
        top->most = event->args[value].f64;
        top->at_ns = event->time_ns;
    }
    return SKEIN_OK;
}

static int state_add(struct vitals_table *t, const struct partition_info *info,
                     const struct trace_event *event)
{
    int state = arg_find(event->type, "state", SKEIN_T_STR),
        at_least = arg_find(event->type, "at_least", SKEIN_T_U64),
        at_most = arg_find(event->type, "at_most", SKEIN_T_U64);
    if (state < 0 || at_least < 0)
        return SKEIN_OK;
    struct vitals_state row = {
        .state = text_keep(t, event->args[state].str.text, event->args[state].str.len),
        .at_ns = event->time_ns,
        .at_least_ns = event->args[at_least].u64,
        .at_most_ns = at_most < 0 ? 0 : event->args[at_most].u64};
    if (row.state == NULL || !of_set(t, info, event->thread, &row.of) ||
        !array_grow(t->states, t->state_count + 1, &t->state_cap))
        return SKEIN_NO_MEMORY;
    t->states[t->state_count++] = row;
    return SKEIN_OK;
}

/* What a thread ran and waited since the look before, in one event. */
static int load_add(struct vitals_table *t, const struct partition_info *info,
                    const struct trace_event *event)
{
    static const struct {
        const char *arg, *name;
    } counters[] = {{"run", "thread.run"}, {"wait", "thread.wait"}};
    int status = SKEIN_OK;
    for (size_t i = 0; i < sizeof counters / sizeof *counters && status == SKEIN_OK; i++) {
        int arg = arg_find(event->type, counters[i].arg, SKEIN_T_F64);
        if (arg >= 0)
            status = value_add(t, &(struct taken){info, event->thread, counters[i].name,
                                                  event->type->args[arg].unit,
                                                  value_of(event, (size_t)arg)});
    }
    return status;
}

int vitals_table_add(struct vitals_table *table, const struct partition_info *info,
                     const struct trace_event *event)
{
    static const char host[] = "host.", process[] = "proc.", top[] = "host.top.";
    if (event->type == NULL || event->thread == NULL)
        return SKEIN_OK;
    const char *name = event->type->name;
    if (event->thread->tid != 0)
        return event->kind == TRACE_COUNTER && strcmp(name, "thread.load") == 0
                   ? load_add(table, info, event)
                   : SKEIN_OK;
    bool is_host = strncmp(name, host, sizeof host - 1) == 0;
    if (!is_host && strncmp(name, process, sizeof process - 1) != 0)
        return SKEIN_OK;
    if (event->kind == TRACE_COUNTER)
        return counter_add(table, info, event, is_host);
    if (event->kind == TRACE_INSTANT && strncmp(name, top, sizeof top - 1) == 0)
        return top_add(table, info, event, name + sizeof top - 1);
    if (event->kind == TRACE_INSTANT && strcmp(name, "proc.state") == 0)
        return state_add(table, info, event);
    return SKEIN_OK;
}

/* ---- judging ---- */

static int times_compare(const void *a, const void *b)
{
    const struct vitals_value *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* A look at the host is in the partition of each process that was captured. */
static void doubles_drop(struct counter *counter)
{
    size_t kept = 0;
    qsort(counter->values, counter->count, sizeof *counter->values, times_compare);
    for (size_t i = 0; i < counter->count; i++) {
        const struct vitals_value *value = &counter->values[i];
        bool known = false;
        for (size_t k = kept; k > 0 && kept - k < SAME_MOST && !known; k--) {
            if (value->at_ns - counter->values[k - 1].at_ns > SAME_NS)
                break;
            known = counter->values[k - 1].value == value->value;
        }
        if (!known)
            counter->values[kept++] = *value;
    }
    counter->count = kept;
}

static int doubles_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double median_of(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, doubles_compare);
    double upper = numbers[count / 2];
    return count % 2 == 1 ? upper : numbers[count / 2 - 1] / 2 + upper / 2;
}

/* A distance of less than this is nobody's concern. */
static double unit_matter(const char *unit)
{
    static const struct {
        const char *unit;
        double matters;
    } units[] = {{"bytes", 1 << 20}, {"bytes/s", 64 << 10}, {"/s", 10}, {"pages/s", 10}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].matters;
    return 1;
}

static bool row_judge(struct vitals_row *row, struct counter *counter)
{
    if (counter->count == 0)
        return true;
    doubles_drop(counter);
    row->values = counter->values;
    row->samples = counter->count;
    double *numbers = calloc(counter->count, sizeof *numbers);
    if (numbers == NULL)
        return false;
    for (size_t i = 0; i < counter->count; i++)
        numbers[i] = counter->values[i].value;
    row->median = median_of(numbers, counter->count);
    row->least = numbers[0];
    row->most = numbers[counter->count - 1];
    double distance = 0, sum = 0;
    for (size_t i = 0; i < counter->count; i++) {
        const struct vitals_value *value = &counter->values[i];
        double far = fabs(value->value - row->median);
        sum += far;
        if (i == 0 || far > distance) {
            distance = far;
            row->farthest = value->value;
            row->farthest_ns = value->at_ns;
        }
    }
    double usual = fmax(sum / (double)counter->count, fabs(row->median) / 100);
    row->deviation = distance / fmax(usual, unit_matter(row->unit));
    free(numbers);
    return true;
}

static int rows_compare(const void *a, const void *b)
{
    const struct vitals_row *x = a, *y = b;
    if (x->deviation != y->deviation)
        return x->deviation > y->deviation ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names != 0 ? names : strcmp(x->of.host, y->of.host);
}

static int tops_compare(const void *a, const void *b)
{
    const struct vitals_top *x = a, *y = b;
    int hosts = strcmp(x->host, y->host), kinds = strcmp(x->kind, y->kind);
    if (hosts != 0 || kinds != 0)
        return hosts != 0 ? hosts : kinds;
    return x->most > y->most ? -1 : x->most < y->most;
}

/* By process, and then by time. */
static int states_compare(const void *a, const void *b)
{
    const struct vitals_state *x = *(struct vitals_state *const *)a;
    const struct vitals_state *y = *(struct vitals_state *const *)b;
    int host = strcmp(x->of.host, y->of.host);
    if (host != 0 || x->of.pid != y->of.pid)
        return host != 0 ? host : x->of.pid < y->of.pid ? -1 : 1;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static uint64_t added(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A state ends where the next one begins: between the last look that still found it, which is
 * at_most in front of that one's instant, and that instant. */
static void state_end(struct vitals_state *state, const struct vitals_state *next)
{
    uint64_t apart_ns = next->at_ns - state->at_ns;
    if (state->at_most_ns != 0)
        state->lasted_most_ns = added(state->at_most_ns, apart_ns);
    if (next->at_most_ns != 0 && next->at_most_ns < apart_ns)
        state->lasted_least_ns = added(state->at_least_ns, apart_ns - next->at_most_ns);
}

static bool states_end(struct vitals_table *table)
{
    struct vitals_state **by_process = calloc(table->state_count + 1, sizeof *by_process);
    if (by_process == NULL)
        return false;
    for (size_t i = 0; i < table->state_count; i++) {
        by_process[i] = &table->states[i];
        by_process[i]->lasted_least_ns = by_process[i]->at_least_ns;
        by_process[i]->lasted_most_ns = 0;
    }
    qsort(by_process, table->state_count, sizeof *by_process, states_compare);
    /* The same instant may stand in several partitions. */
    for (size_t i = 0, next; i < table->state_count; i = next) {
        for (next = i + 1;
             next < table->state_count && states_compare(&by_process[i], &by_process[next]) == 0;
             next++)
            continue;
        if (next == table->state_count || by_process[next]->of.pid != by_process[i]->of.pid ||
            strcmp(by_process[next]->of.host, by_process[i]->of.host) != 0)
            continue;
        for (size_t k = i; k < next; k++)
            state_end(by_process[k], by_process[next]);
    }
    free(by_process);
    return true;
}

int vitals_table_end(struct vitals_table *table, const struct vitals_list **list)
{
    struct vitals_list *l = &table->list;
    *l = (struct vitals_list){.from_ns = UINT64_MAX};
    for (size_t i = 0; i < table->row_count; i++) {
        const struct counter *counter = &table->counters[i];
        if (!row_judge(&table->rows[i], &table->counters[i]))
            return SKEIN_NO_MEMORY;
        if (counter->count == 0)
            continue;
        l->from_ns = counter->values[0].at_ns < l->from_ns ? counter->values[0].at_ns : l->from_ns;
        l->to_ns = counter->values[counter->count - 1].at_ns > l->to_ns
                       ? counter->values[counter->count - 1].at_ns
                       : l->to_ns;
    }
    l->from_ns = l->to_ns == 0 ? 0 : l->from_ns;
    if (!states_end(table))
        return SKEIN_NO_MEMORY;
    if (table->row_count > 0)
        qsort(table->rows, table->row_count, sizeof *table->rows, rows_compare);
    if (table->top_count > 0)
        qsort(table->tops, table->top_count, sizeof *table->tops, tops_compare);
    l->rows = table->rows;
    l->row_count = table->row_count;
    l->tops = table->tops;
    l->top_count = table->top_count;
    l->states = table->states;
    l->state_count = table->state_count;
    *list = l;
    return SKEIN_OK;
}

uint64_t vitals_share_ns(const struct vitals_row *row, uint64_t from_ns, uint64_t to_ns)
{
    double ns = 0;
    for (size_t i = 0; i < row->samples; i++) {
        const struct vitals_value *v = &row->values[i];
        uint64_t begin = v->at_ns > v->over_ns ? v->at_ns - v->over_ns : 0;
        uint64_t from = begin > from_ns ? begin : from_ns, to = v->at_ns < to_ns ? v->at_ns : to_ns;
        if (to > from && v->value > 0)
            ns += fmin(v->value, 100) / 100 * (double)(to - from);
    }
    return (uint64_t)ns;
}
