/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that match a search, of which the first in an order are kept: a heap whose root is the last of
 * them, so that memory is bounded and none that belongs there is missed. Owns the cursor. One thread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "search_terms.h"
#include "trace_api_int.h"

#define ROWS_FIRST 64u
#define SORT_ROWS  2048u /* take their places where a step would walk one batch */

struct found {
    double begin, length;
    uint32_t process, thread, type, depth;
    uint32_t number; /* of the rows that match: settles ties */
    uint8_t kind;
};

struct api_search {
    struct api_trace *t;
    struct search_terms *terms;
    struct skein_cursor *cursor; /* NULL: the walk is over */
    uint32_t order;
    size_t most, count, cap;
    struct found *rows;
    double bound;    /* begin or length behind which nothing is kept */
    size_t unsorted; /* after the walk: rows of the heap that have no place yet */
    uint64_t total;
    int status;
};

static int query_begin(struct api_search *s, double from, double to)
{
    bool type = search_terms_need_type(s->terms), thread = search_terms_need_thread(s->terms);
    struct skein_query query = {.size = sizeof query,
                                .columns =
                                    SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_DEPTH,
                                .from_ns = api_time(s->t, from),
                                .to_ns = api_time(s->t, to),
                                .process = search_terms_process,
                                .thread = thread ? search_terms_thread : NULL,
                                .type = type ? search_terms_type : NULL,
                                .context = s->terms};
    if (search_terms_need_args(s->terms))
        query.columns |= SKEIN_COLUMN_ARGS;
    return skein_cursor_new(s->t->trace, &query, &s->cursor);
}

struct api_search *api_search_new(struct api_trace *t, const char *terms, size_t n, double from,
                                  double to, uint32_t order, uint32_t most)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct api_search *s = calloc(1, sizeof *s);
    api_begin();
    if (s == NULL)
        return NULL;
    s->t = t;
    s->order = order;
    s->most = most;
    s->bound = order == API_BY_LENGTH ? 0 : (double)INFINITY;
    int status = search_terms_new(terms, n, t->trace, &s->terms, error);
    if (status == SKEIN_OK)
        status = query_begin(s, from, to);
    if (status == SKEIN_OK)
        return s;
    api_search_free(s);
    api_say(status, error);
    return NULL;
}

void api_search_bound(struct api_search *s, double bound)
{
    s->bound = bound;
}

void api_search_free(struct api_search *s)
{
    if (s == NULL)
        return;
    skein_cursor_free(&s->cursor);
    search_terms_free(&s->terms);
    free(s->rows);
    free(s);
}

/* ---- the heap ---- */

static bool is_before(const struct api_search *s, const struct found *a, const struct found *b)
{
    if (s->order == API_BY_LENGTH && a->length != b->length)
        return a->length > b->length;
    if (a->begin != b->begin)
        return a->begin < b->begin;
    return a->number < b->number;
}

static void swap(struct found *a, struct found *b)
{
    struct found c = *a;
    *a = *b;
    *b = c;
}

static void sink(const struct api_search *s, size_t at, size_t count)
{
    for (size_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && is_before(s, &s->rows[child], &s->rows[child + 1]))
            child++;
        if (!is_before(s, &s->rows[at], &s->rows[child]))
            return;
        swap(&s->rows[at], &s->rows[child]);
    }
}

static void rise(const struct api_search *s, size_t at)
{
    while (at > 0 && is_before(s, &s->rows[(at - 1) / 2], &s->rows[at])) {
        swap(&s->rows[(at - 1) / 2], &s->rows[at]);
        at = (at - 1) / 2;
    }
}

static bool is_behind(const struct api_search *s, const struct found *found)
{
    return s->order == API_BY_LENGTH ? found->length < s->bound : found->begin > s->bound;
}

/* Room for one more of those that are kept; never for more than these. */
static bool found_room(struct api_search *s)
{
    size_t cap = s->cap < s->most / 2 ? 2 * s->cap + ROWS_FIRST : s->most;
    if (s->count < s->cap)
        return true;
    struct found *rows = realloc(s->rows, (cap < s->most ? cap : s->most) * sizeof *rows);
    if (rows == NULL)
        return false;
    s->rows = rows;
    s->cap = cap < s->most ? cap : s->most;
    return true;
}

static int found_put(struct api_search *s, const struct found *found)
{
    if (is_behind(s, found))
        return SKEIN_OK;
    if (s->count < s->most) {
        if (!found_room(s))
            return SKEIN_NO_MEMORY;
        s->rows[s->count] = *found;
        rise(s, s->count++);
    } else if (s->count > 0 && is_before(s, found, &s->rows[0])) {
        s->rows[0] = *found;
        sink(s, 0, s->count);
    }
    return SKEIN_OK;
}

/* What the agent tells is no event of the program: of it samples of the CPU are found alone. */
static bool is_shown(const struct api_search *s, const struct skein_batch *b, uint32_t i)
{
    const struct skein_event_type *type;
    if ((b->flags[i] & SKEIN_ROW_EVIDENCE) == 0)
        return true;
    type = b->kind[i] == SKEIN_ROW_INSTANT ? skein_trace_type(s->t->trace, b->type[i]) : NULL;
    return type != NULL && strcmp(type->name, LANES_SAMPLE) == 0;
}

static int batch_take(struct api_search *s, const struct skein_batch *b)
{
    int status = SKEIN_OK;
    for (uint32_t i = 0; i < b->count && status == SKEIN_OK; i++) {
        if (!is_shown(s, b, i) || !search_terms_row(s->terms, b, i))
            continue;
        struct found found = {.begin = api_since(s->t, b->time_ns[i]),
                              .length = (double)b->dur_ns[i],
                              .process = b->process[i],
                              .thread = b->thread[i],
                              .type = b->type[i],
                              .depth = b->depth[i],
                              .number = (uint32_t)s->total++,
                              .kind = b->kind[i]};
        status = found_put(s, &found);
    }
    return status;
}

/* One batch. 1: there is more to do. */
static int rows_walk(struct api_search *s)
{
    struct skein_batch batch;
    int status = skein_cursor_next(s->cursor, &batch);
    if (status == 1)
        status = batch_take(s, &batch) == SKEIN_OK ? 1 : SKEIN_NO_MEMORY;
    if (status == 1)
        return 1;
    skein_cursor_free(&s->cursor);
    s->unsorted = s->count;
    return status < 0 ? status : s->unsorted > 1;
}

/* A heap becomes a row in order: the root is the last each time. 1: there is more to do. */
static int rows_sort(struct api_search *s)
{
    for (size_t i = 0; i < SORT_ROWS && s->unsorted > 1; i++) {
        swap(&s->rows[0], &s->rows[s->unsorted - 1]);
        sink(s, 0, --s->unsorted);
    }
    return s->unsorted > 1;
}

int api_search_step(struct api_search *s, uint32_t batches)
{
    int status = s->status < 0 ? s->status : s->cursor != NULL || s->unsorted > 1;
    api_begin();
    for (uint32_t i = 0; i < batches && status == 1; i++)
        status = s->cursor != NULL ? rows_walk(s) : rows_sort(s);
    s->status = status < 0 ? status : 0;
    return status;
}

double api_search_total(const struct api_search *s)
{
    return (double)s->total;
}

uint32_t api_search_kept(const struct api_search *s)
{
    return (uint32_t)s->count;
}

/* ---- the answer ---- */

struct row_columns {
    double *begin, *length;
    uint32_t *process, *thread, *type, *depth;
    uint8_t *kind;
};

static bool columns_place(struct buf *b, size_t n, struct row_columns *c)
{
    size_t bytes = n * (2 * sizeof(double) + 4 * sizeof(uint32_t) + 1);
    uint8_t *at = buf_reserve(b, bytes);
    if (at == NULL)
        return false;
    b->len = bytes;
    c->begin = (double *)(void *)at;
    c->length = c->begin + n;
    c->process = (uint32_t *)(void *)(c->length + n);
    c->thread = c->process + n;
    c->type = c->thread + n;
    c->depth = c->type + n;
    c->kind = (uint8_t *)(c->depth + n);
    return true;
}

int api_search_rows(struct api_search *s, uint32_t first, uint32_t count)
{
    struct buf *b = api_begin();
    struct row_columns c;
    if (s->cursor != NULL || s->unsorted > 1)
        return SKEIN_BUSY;
    size_t left = first < s->count ? s->count - first : 0;
    size_t n = count < left ? count : left;
    if (!columns_place(b, n, &c))
        return api_end(SKEIN_NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        const struct found *found = &s->rows[first + i];
        c.begin[i] = found->begin;
        c.length[i] = found->length;
        c.process[i] = found->process;
        c.thread[i] = found->thread;
        c.type[i] = found->type;
        c.depth[i] = found->depth;
        c.kind[i] = found->kind;
    }
    return api_end((int)n);
}
