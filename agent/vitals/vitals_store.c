/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the recorder; see vitals_store.h. The writer alone looks at series without the
 * mutex, as it alone changes them.
 */
#include "vitals_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "skein/status.h"

#define KEPT_NS  (VITALS_SECONDS * NS_PER_S)
#define ROWS_MIN 1024

struct series {
    char name[STORE_NAME_BYTES];
    const char *unit;
    uint64_t put_ns; /* when it was last put */
    double pending;
    uint64_t raw, raw_of, raw_ns; /* of a rate; raw_ns 0: none yet */
    double values[VITALS_SECONDS];
};

struct vitals_store {
    pthread_mutex_t mutex;
    uint64_t times[VITALS_SECONDS];          /* of samples; 0: none */
    size_t next;                             /* slot */
    struct series *series[STORE_SERIES_MAX]; /* NULL: free */
    size_t series_end;                       /* none behind */
    uint64_t left_out;
    struct process_row *rows; /* a ring */
    size_t row_cap, row_first, row_count;
    struct top_row *tops; /* a ring of VITALS_SECONDS */
    size_t top_next;
    /* the writer's */
    uint64_t at_ns, missed;
    size_t cursor; /* the series that is probably put next */
};

int vitals_store_new(struct vitals_store **out)
{
    *out = NULL;
    struct vitals_store *store = calloc(1, sizeof *store);
    struct top_row *tops = calloc(VITALS_SECONDS, sizeof *tops);
    if (store == NULL || tops == NULL || pthread_mutex_init(&store->mutex, NULL) != 0) {
        free(store);
        free(tops);
        return SKEIN_NO_MEMORY;
    }
    store->tops = tops;
    *out = store;
    return SKEIN_OK;
}

void vitals_store_free(struct vitals_store **store_p)
{
    struct vitals_store *store = *store_p;
    *store_p = NULL;
    if (store == NULL)
        return;
    for (size_t i = 0; i < store->series_end; i++)
        free(store->series[i]);
    free(store->rows);
    free(store->tops);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

/* ---- series ---- */

void store_begin(struct vitals_store *store, uint64_t at_ns)
{
    store->at_ns = at_ns;
    store->cursor = 0;
    store->missed = 0;
}

static bool series_is(const struct vitals_store *store, size_t at, const char *name)
{
    return at < store->series_end && store->series[at] != NULL &&
           strcmp(store->series[at]->name, name) == 0;
}

/* One whose values are all too old gives its place to another name. */
static size_t place_find(const struct vitals_store *store)
{
    for (size_t i = 0; i < store->series_end; i++)
        if (store->series[i] == NULL || store->series[i]->put_ns + KEPT_NS < store->at_ns)
            return i;
    return store->series_end;
}

static struct series *series_make(struct vitals_store *store, const char *name, const char *unit)
{
    size_t at = place_find(store);
    struct series *series = at < STORE_SERIES_MAX ? calloc(1, sizeof *series) : NULL;
    if (series == NULL || strlen(name) >= sizeof series->name) {
        free(series);
        store->missed++;
        return NULL;
    }
    memcpy(series->name, name, strlen(name) + 1);
    series->unit = unit;
    series->pending = STORE_UNKNOWN;
    for (size_t i = 0; i < VITALS_SECONDS; i++)
        series->values[i] = STORE_UNKNOWN;
    pthread_mutex_lock(&store->mutex);
    free(store->series[at]);
    store->series[at] = series;
    store->series_end += at == store->series_end;
    pthread_mutex_unlock(&store->mutex);
    store->cursor = at + 1;
    return series;
}

static struct series *series_get(struct vitals_store *store, const char *name, const char *unit)
{
    size_t at = store->cursor;
    if (!series_is(store, at, name)) {
        for (at = 0; at < store->series_end && !series_is(store, at, name); at++)
            ;
        if (at == store->series_end)
            return series_make(store, name, unit);
    }
    store->cursor = at + 1;
    return store->series[at];
}

void store_gauge(struct vitals_store *store, const char *name, const char *unit, double value)
{
    struct series *series = series_get(store, name, unit);
    if (series == NULL)
        return;
    series->pending = value;
    series->put_ns = store->at_ns;
}

void store_rate(struct vitals_store *store, const char *name, const char *unit, uint64_t raw,
                double scale)
{
    struct series *series = series_get(store, name, unit);
    if (series == NULL)
        return;
    if (series->raw_ns != 0 && store->at_ns > series->raw_ns && raw >= series->raw)
        series->pending =
            (double)(raw - series->raw) * scale * 1e9 / (double)(store->at_ns - series->raw_ns);
    series->raw = raw;
    series->raw_ns = store->at_ns;
    series->put_ns = store->at_ns;
}

void store_share(struct vitals_store *store, const char *name, uint64_t raw, uint64_t of,
                 double of_each_second)
{
    struct series *series = series_get(store, name, "%");
    if (series == NULL)
        return;
    if (series->raw_ns != 0 && store->at_ns > series->raw_ns && raw >= series->raw &&
        of >= series->raw_of) {
        double whole = of_each_second * (double)(store->at_ns - series->raw_ns) / 1e9;
        double counted = (double)(of - series->raw_of);
        series->pending = 100.0 * (double)(raw - series->raw) / (counted > whole ? counted : whole);
    }
    series->raw = raw;
    series->raw_of = of;
    series->raw_ns = store->at_ns;
    series->put_ns = store->at_ns;
}

void store_ratio(struct vitals_store *store, const char *name, const char *unit, uint64_t raw,
                 uint64_t of)
{
    struct series *series = series_get(store, name, unit);
    if (series == NULL)
        return;
    if (series->raw_ns != 0 && raw >= series->raw && of > series->raw_of)
        series->pending = (double)(raw - series->raw) / (double)(of - series->raw_of);
    series->raw = raw;
    series->raw_of = of;
    series->raw_ns = store->at_ns;
    series->put_ns = store->at_ns;
}

void store_commit(struct vitals_store *store)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->series_end; i++) {
        struct series *series = store->series[i];
        if (series == NULL)
            continue;
        series->values[store->next] = series->pending;
        series->pending = STORE_UNKNOWN;
    }
    store->times[store->next] = store->at_ns;
    store->next = (store->next + 1) % VITALS_SECONDS;
    store->left_out = store->missed;
    pthread_mutex_unlock(&store->mutex);
}

void store_values_each(struct vitals_store *store, uint64_t from_ns, uint64_t to_ns,
                       store_value_fn *fn, void *context)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->series_end; i++) {
        const struct series *series = store->series[i];
        for (size_t k = 0; series != NULL && k < VITALS_SECONDS; k++) {
            size_t slot = (store->next + k) % VITALS_SECONDS;
            uint64_t at_ns = store->times[slot];
            if (at_ns != 0 && at_ns >= from_ns && at_ns <= to_ns &&
                STORE_IS_KNOWN(series->values[slot]))
                fn(context, series->name, series->unit, at_ns, series->values[slot]);
        }
    }
    pthread_mutex_unlock(&store->mutex);
}

/* ---- rows ---- */

/* Room for one more: older ones go first. False: no memory, and the oldest is to go. */
static bool rows_grow(struct vitals_store *store)
{
    size_t cap = store->row_cap == 0 ? ROWS_MIN : store->row_cap * 2;
    if (store->row_cap == STORE_ROWS_MAX)
        return false;
    cap = cap < STORE_ROWS_MAX ? cap : STORE_ROWS_MAX;
    struct process_row *rows = malloc(cap * sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < store->row_count; i++)
        rows[i] = store->rows[(store->row_first + i) % store->row_cap];
    free(store->rows);
    store->rows = rows;
    store->row_cap = cap;
    store->row_first = 0;
    return true;
}

void store_row_add(struct vitals_store *store, const struct process_row *row)
{
    pthread_mutex_lock(&store->mutex);
    while (store->row_count > 0 && store->rows[store->row_first].at_ns + KEPT_NS < row->at_ns) {
        store->row_first = (store->row_first + 1) % store->row_cap;
        store->row_count--;
    }
    if (store->row_count == store->row_cap && !rows_grow(store) && store->row_cap > 0) {
        store->row_first = (store->row_first + 1) % store->row_cap;
        store->row_count--;
    }
    if (store->row_cap > 0)
        store->rows[(store->row_first + store->row_count++) % store->row_cap] = *row;
    pthread_mutex_unlock(&store->mutex);
}

void store_rows_each(struct vitals_store *store, uint32_t pid, uint64_t start_ticks,
                     uint64_t from_ns, uint64_t to_ns, store_row_fn *fn, void *context)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->row_count; i++) {
        const struct process_row *row = &store->rows[(store->row_first + i) % store->row_cap];
        if (row->pid == pid && row->start_ticks == start_ticks && row->at_ns >= from_ns &&
            row->at_ns <= to_ns)
            fn(context, row);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* ---- tops ---- */

void store_top_add(struct vitals_store *store, const struct top_row *top)
{
    pthread_mutex_lock(&store->mutex);
    store->tops[store->top_next] = *top;
    store->top_next = (store->top_next + 1) % VITALS_SECONDS;
    pthread_mutex_unlock(&store->mutex);
}

void store_tops_each(struct vitals_store *store, uint64_t from_ns, uint64_t to_ns, store_top_fn *fn,
                     void *context)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < VITALS_SECONDS; i++) {
        const struct top_row *top = &store->tops[(store->top_next + i) % VITALS_SECONDS];
        if (top->at_ns != 0 && top->at_ns >= from_ns && top->at_ns <= to_ns)
            fn(context, top);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* ---- what there is ---- */

bool store_bounds(struct vitals_store *store, uint64_t *first_ns, uint64_t *last_ns)
{
    pthread_mutex_lock(&store->mutex);
    uint64_t first = store->times[store->next],
             last = store->times[(store->next + VITALS_SECONDS - 1) % VITALS_SECONDS];
    first = first != 0 ? first : store->times[0];
    pthread_mutex_unlock(&store->mutex);
    *first_ns = first;
    *last_ns = last;
    return last != 0;
}

uint64_t store_left_out(struct vitals_store *store)
{
    pthread_mutex_lock(&store->mutex);
    uint64_t left_out = store->left_out;
    pthread_mutex_unlock(&store->mutex);
    return left_out;
}

size_t store_bytes(struct vitals_store *store)
{
    pthread_mutex_lock(&store->mutex);
    size_t bytes =
        sizeof *store + VITALS_SECONDS * sizeof *store->tops + store->row_cap * sizeof *store->rows;
    for (size_t i = 0; i < store->series_end; i++)
        bytes += store->series[i] != NULL ? sizeof *store->series[i] : 0;
    pthread_mutex_unlock(&store->mutex);
    return bytes;
}
