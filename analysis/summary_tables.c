/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the tables of a summary: rows under keys, their order, their bound, and how those of one
 * summary come into another. One thread enters.
 */
#include <stdlib.h>
#include <string.h>

#include "summary_int.h"

int summary_new(size_t rows, struct summary **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->limit = rows > 0 ? rows : SUMMARY_ROWS;
    if (text_intern(*out, "", 0) != 0) /* the text 0, which all-zero rows have */
        summary_free(out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static void tables_fini(struct summary *s)
{
    for (unsigned t = 0; t < SUMMARY_TABLES; t++) {
        for (size_t i = 0; i < s->tables[t].count; i++)
            row_fini(t, row_at(s, t, i));
        free(s->tables[t].rows);
        free(s->tables[t].slots);
    }
    intern_table_fini(&s->texts);
}

void summary_free(struct summary **summary)
{
    if (*summary == NULL)
        return;
    tables_fini(*summary);
    free(*summary);
    *summary = NULL;
}

int64_t text_intern(struct summary *s, const char *text, size_t n)
{
    char small[256], *copy = n < sizeof small ? small : malloc(n + 1);
    bool fresh;
    if (copy == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(copy, text, n);
    copy[n] = '\0';
    int64_t number = intern_table_put(&s->texts, copy, n + 1, &fresh);
    if (copy != small)
        free(copy);
    return number;
}

const char *summary_text(const struct summary *summary, uint32_t text)
{
    return text < summary->texts.count ? (const char *)intern_table_bytes(&summary->texts, text)
                                       : "";
}

#define X(table, singular, plural)                                                                 \
    size_t summary_##plural(const struct summary *summary, const struct summary_##singular **rows) \
    {                                                                                              \
        *rows = (const struct summary_##singular *)(void *)summary->tables[SUMMARY_##table].rows;  \
        return summary->tables[SUMMARY_##table].count;                                             \
    }
SUMMARY_TABLE_LIST(X)
#undef X

void summary_bounds(const struct summary *summary, uint64_t *from_ns, uint64_t *to_ns)
{
    *from_ns = *to_ns = 0;
    for (size_t i = 0; i < summary->tables[SUMMARY_PROCESS].count; i++) {
        const struct summary_row *row = row_at(summary, SUMMARY_PROCESS, i);
        if (row->first_ns != 0 && (*from_ns == 0 || row->first_ns < *from_ns))
            *from_ns = row->first_ns;
        *to_ns = row->last_ns > *to_ns ? row->last_ns : *to_ns;
    }
}

/* ---- rows under keys ---- */

static size_t key_hash(uint32_t of, uint32_t text, uint64_t number)
{
    uint64_t h = ((uint64_t)of << 32 | text) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 29) ^ number) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(h ^ (h >> 32));
}

static bool slots_grow(struct summary *s, enum summary_table table)
{
    struct summary_rows *rows = &s->tables[table];
    size_t slot_count = rows->slot_count > 0 ? rows->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        const struct summary_row *row = row_at(s, table, i);
        size_t at = key_hash(row->of, row->text, row->number);
        while (slots[at & (slot_count - 1)] != 0)
            at++;
        slots[at & (slot_count - 1)] = (uint32_t)i + 1;
    }
    free(rows->slots);
    rows->slots = slots;
    rows->slot_count = slot_count;
    return true;
}

static bool rows_grow(struct summary_rows *rows, size_t row_bytes)
{
    if (rows->count < rows->cap)
        return true;
    size_t cap = rows->cap > 0 ? rows->cap * 2 : 16;
    uint8_t *bytes = realloc(rows->rows, cap * row_bytes);
    if (bytes == NULL)
        return false;
    rows->rows = bytes;
    rows->cap = cap;
    return true;
}

struct summary_row *summary_row_get(struct summary *s, enum summary_table table, uint32_t of,
                                    uint32_t text, uint64_t number, bool *fresh)
{
    struct summary_rows *rows = &s->tables[table];
    *fresh = false;
    if ((rows->count + 1) * 2 > rows->slot_count && !slots_grow(s, table))
        return NULL;
    size_t at = key_hash(of, text, number), mask = rows->slot_count - 1;
    for (; rows->slots[at & mask] != 0; at++) {
        struct summary_row *row = row_at(s, table, rows->slots[at & mask] - 1);
        if (row->of == of && row->text == text && row->number == number)
            return row;
    }
    size_t row_bytes = summary_kinds[table].row_bytes;
    if (rows->count >= UINT32_MAX - 1 || !rows_grow(rows, row_bytes))
        return NULL;
    rows->slots[at & mask] = (uint32_t)++rows->count;
    struct summary_row *row = row_at(s, table, rows->count - 1);
    memset(row, 0, row_bytes);
    *row = (struct summary_row){.of = of, .text = text, .number = number};
    *fresh = true;
    return row;
}

static bool row_is_others(const struct summary_row *row)
{
    return row->of == SUMMARY_NONE && row->number == OTHERS_NUMBER;
}

bool number_is_text(enum summary_table table, const struct summary_row *row)
{
    enum summary_number number = summary_kinds[table].number;
    return !row_is_others(row) &&
           (number == NUMBER_TEXT || (number == NUMBER_HOST && row->of == SUMMARY_NONE));
}

/* ---- order: does not depend on how rows came ---- */

struct order {
    const struct summary *s;
    enum summary_table table;
};

static uint64_t weight_of(const struct summary_row *row, size_t offset)
{
    uint64_t weight;
    memcpy(&weight, (const uint8_t *)row + offset, sizeof weight);
    return weight;
}

static int numbers_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By what keys stand for: their processes' and threads' own keys. */
static int keys_compare(const struct summary *s, enum summary_table table,
                        const struct summary_row *a, const struct summary_row *b)
{
    int order = 0;
    if (a->of != b->of && (a->of == SUMMARY_NONE || b->of == SUMMARY_NONE))
        return a->of == SUMMARY_NONE ? 1 : -1;
    if (a->of != b->of && summary_kinds[table].of == OF_THREAD)
        order = keys_compare(s, SUMMARY_THREAD, row_at(s, SUMMARY_THREAD, a->of),
                             row_at(s, SUMMARY_THREAD, b->of));
    else if (a->of != b->of && summary_kinds[table].of == OF_PROCESS)
        order = keys_compare(s, SUMMARY_PROCESS, row_at(s, SUMMARY_PROCESS, a->of),
                             row_at(s, SUMMARY_PROCESS, b->of));
    if (order == 0)
        order = strcmp(summary_text(s, a->text), summary_text(s, b->text));
    if (order != 0)
        return order;
    if (number_is_text(table, a) && number_is_text(table, b))
        order = strcmp(summary_text(s, (uint32_t)a->number), summary_text(s, (uint32_t)b->number));
    else
        order = numbers_compare(a->number, b->number);
    return order != 0 ? order : numbers_compare(a->number >> 32, b->number >> 32);
}

struct placed { /* a row that is sorted */
    const struct order *order;
    uint32_t row;
};

static int rows_compare(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    const struct order *o = one->order;
    const struct summary_kind *kind = &summary_kinds[o->table];
    const struct summary_row *x = row_at(o->s, o->table, one->row);
    const struct summary_row *y = row_at(o->s, o->table, other->row);
    if (row_is_others(x) != row_is_others(y))
        return row_is_others(x) ? 1 : -1;
    int order = 0;
    for (size_t i = 0; i < 3 && order == 0; i++)
        order = numbers_compare(weight_of(y, kind->weights[i]), weight_of(x, kind->weights[i]));
    return order != 0 ? order : keys_compare(o->s, o->table, x, y);
}

/* The rows' numbers in their order; NULL: no memory. */
static uint32_t *order_of(const struct summary *s, enum summary_table table)
{
    size_t count = s->tables[table].count;
    const struct order context = {s, table};
    uint32_t *order = malloc((count + 1) * sizeof *order);
    struct placed *placed = malloc((count + 1) * sizeof *placed);
    if (order == NULL || placed == NULL) {
        free(order);
        free(placed);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){&context, (uint32_t)i};
    qsort(placed, count, sizeof *placed, rows_compare);
    for (size_t i = 0; i < count; i++)
        order[i] = placed[i].row;
    free(placed);
    return order;
}

/* ---- from one summary into another ---- */

struct transfer {
    struct summary *to;
    const struct summary *from;
    bool sorted;          /* in their order, and at most to->limit of them */
    bool by_service, one; /* processes under their services, or all as one; no threads */
    uint32_t *maps[2];    /* of processes and threads: which row of `to` one of `from` is */
};

/* Whether a row becomes one of the others: it is, or what it is of does. */
static bool row_joins_others(const struct transfer *t, enum summary_table table,
                             const struct summary_row *row)
{
    enum summary_of of = summary_kinds[table].of;
    if (of == OF_NOTHING || row->of == SUMMARY_NONE)
        return row_is_others(row);
    enum summary_table parent = of == OF_THREAD ? SUMMARY_THREAD : SUMMARY_PROCESS;
    return row_is_others(row_at(t->to, parent, t->maps[parent][row->of]));
}

static const char *service_of(const struct summary *s, const struct summary_row *process)
{
    return summary_text(s, ((const struct summary_process *)(const void *)process)->service);
}

/* The key that a row has in `to`. */
static int key_move(const struct transfer *t, enum summary_table table, bool others,
                    const struct summary_row *row, struct summary_row *key)
{
    enum summary_of of = summary_kinds[table].of;
    const char *text = summary_text(t->from, row->text);
    *key = (struct summary_row){.of = row->of, .number = row->number};
    if (others)
        *key = (struct summary_row){.of = SUMMARY_NONE, .number = OTHERS_NUMBER};
    else if (of != OF_NOTHING && row->of != SUMMARY_NONE)
        key->of = t->maps[of == OF_THREAD ? SUMMARY_THREAD : SUMMARY_PROCESS][row->of];
    if (others)
        text = SUMMARY_OTHERS;
    else if (table == SUMMARY_PROCESS && t->by_service)
        text = t->one ? "" : service_of(t->from, row);
    int64_t number = text_intern(t->to, text, strlen(text));
    if (number < 0)
        return SKEIN_NO_MEMORY;
    key->text = (uint32_t)number;
    if (others || !number_is_text(table, row))
        return SKEIN_OK;
    text = summary_text(t->from, (uint32_t)row->number);
    number = text_intern(t->to, text, strlen(text));
    key->number = (row->number & ~(uint64_t)UINT32_MAX) | (uint64_t)number;
    return number < 0 ? SKEIN_NO_MEMORY : SKEIN_OK;
}

static int row_move(struct transfer *t, enum summary_table table, bool others, size_t i)
{
    const struct summary_row *row = row_at(t->from, table, i);
    struct summary_row key;
    bool fresh;
    if (key_move(t, table, others, row, &key) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct summary_row *to = summary_row_get(t->to, table, key.of, key.text, key.number, &fresh);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    if (table == SUMMARY_PROCESS || table == SUMMARY_THREAD)
        t->maps[table][i] = (uint32_t)(((uint8_t *)to - t->to->tables[table].rows) /
                                       (ptrdiff_t)summary_kinds[table].row_bytes);
    sum_add(&to->merged, others && row->merged == 0 ? 1 : row->merged);
    return row_merge(t->to, table, to, fresh, t->from, row);
}

/* The others come behind all that stand for themselves. */
static int table_move(struct transfer *t, enum summary_table table)
{
    size_t count = t->from->tables[table].count;
    int status = SKEIN_OK;
    uint32_t *order = t->sorted ? order_of(t->from, table) : NULL;
    if (t->sorted && order == NULL)
        return SKEIN_NO_MEMORY;
    for (unsigned last = 0; last < 2; last++) {
        uint64_t kept = 0;
        for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
            size_t at = order != NULL ? order[i] : i;
            bool others = row_joins_others(t, table, row_at(t->from, table, at)) ||
                          (t->sorted && kept++ >= t->to->limit);
            if (others == (last == 1))
                status = row_move(t, table, others, at);
        }
    }
    free(order);
    return status;
}

static int tables_merge(struct transfer *t)
{
    int status = SKEIN_OK;
    for (unsigned i = 0; i < 2; i++) {
        t->maps[i] = calloc(t->from->tables[i].count + 1, sizeof *t->maps[i]);
        status = t->maps[i] == NULL ? SKEIN_NO_MEMORY : status;
    }
    for (unsigned table = 0; table < SUMMARY_TABLES && status == SKEIN_OK; table++)
        if (!t->by_service || (table != SUMMARY_THREAD && table != SUMMARY_CALL))
            status = table_move(t, table);
    free(t->maps[0]);
    free(t->maps[1]);
    return status;
}

int summary_sort(struct summary *summary)
{
    struct summary *sorted;
    if (summary_new(summary->limit, &sorted) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct transfer transfer = {.to = sorted, .from = summary, .sorted = true};
    if (tables_merge(&transfer) != SKEIN_OK) {
        summary_free(&sorted);
        return SKEIN_NO_MEMORY;
    }
    sorted->generation = summary->generation + 1;
    tables_fini(summary);
    *summary = *sorted;
    free(sorted);
    return SKEIN_OK;
}

int summary_bound(struct summary *s)
{
    for (unsigned t = 0; t < SUMMARY_TABLES; t++)
        if (s->tables[t].count / 2 > s->limit)
            return summary_sort(s);
    return SKEIN_OK;
}

int summary_merge(struct summary *summary, const struct summary *from)
{
    struct transfer transfer = {.to = summary, .from = from};
    int status = tables_merge(&transfer);
    return status == SKEIN_OK ? summary_bound(summary) : status;
}

static int processes_fold(const struct summary *summary, bool one, struct summary **out)
{
    int status = summary_new(summary->limit, out);
    if (status != SKEIN_OK)
        return status;
    struct transfer transfer = {.to = *out, .from = summary, .by_service = true, .one = one};
    status = tables_merge(&transfer);
    if (status == SKEIN_OK)
        status = summary_sort(*out);
    if (status != SKEIN_OK)
        summary_free(out);
    return status;
}

int summary_by_service(const struct summary *summary, struct summary **out)
{
    return processes_fold(summary, false, out);
}

int summary_as_one(const struct summary *summary, struct summary **out)
{
    return processes_fold(summary, true, out);
}
