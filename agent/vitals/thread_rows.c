/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring of threads' rows; see thread_rows.h.
 */
#include "thread_rows.h"

#include <pthread.h>
#include <stdlib.h>

#include "skein/status.h"
#include "vitals_store.h"

#define KEPT_NS  (VITALS_SECONDS * UINT64_C(1000000000))
#define ROWS_MIN 256

struct thread_rows {
    pthread_mutex_t mutex;
    struct thread_row *ring;
    size_t cap, first, count;
    uint64_t whole_ns; /* of the newest that went before its time; 0: none */
};

int thread_rows_new(struct thread_rows **out)
{
    struct thread_rows *rows = calloc(1, sizeof *rows);
    *out = NULL;
    if (rows == NULL || pthread_mutex_init(&rows->mutex, NULL) != 0) {
        free(rows);
        return SKEIN_NO_MEMORY;
    }
    *out = rows;
    return SKEIN_OK;
}

void thread_rows_free(struct thread_rows **rows_p)
{
    struct thread_rows *rows = *rows_p;
    *rows_p = NULL;
    if (rows == NULL)
        return;
    pthread_mutex_destroy(&rows->mutex);
    free(rows->ring);
    free(rows);
}

static struct thread_row *row_at(const struct thread_rows *rows, size_t i)
{
    return &rows->ring[(rows->first + i) % rows->cap];
}

static void oldest_drop(struct thread_rows *rows)
{
    rows->first = (rows->first + 1) % rows->cap;
    rows->count--;
}

/* False: as large as it may be, or no memory. */
static bool ring_grow(struct thread_rows *rows)
{
    size_t cap = rows->cap == 0 ? ROWS_MIN : rows->cap * 2;
    if (rows->cap == THREAD_ROWS_MAX)
        return false;
    struct thread_row *ring = malloc(cap * sizeof *ring);
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < rows->count; i++)
        ring[i] = *row_at(rows, i);
    free(rows->ring);
    rows->ring = ring;
    rows->cap = cap;
    rows->first = 0;
    return true;
}

void thread_rows_add(struct thread_rows *rows, const struct thread_row *row)
{
    pthread_mutex_lock(&rows->mutex);
    while (rows->count > 0 && row_at(rows, 0)->at_ns + KEPT_NS < row->at_ns)
        oldest_drop(rows);
    bool full = rows->count == rows->cap && !ring_grow(rows);
    if (full) /* what is lost is the oldest, or this one where there is no room at all */
        rows->whole_ns = rows->cap > 0 ? row_at(rows, 0)->at_ns : row->at_ns;
    if (full && rows->cap > 0)
        oldest_drop(rows);
    if (rows->cap > 0)
        *row_at(rows, rows->count++) = *row;
    pthread_mutex_unlock(&rows->mutex);
}

static int rows_compare(const void *a, const void *b)
{
    const struct thread_row *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static bool row_is(const struct thread_row *row, uint32_t pid, uint64_t start_ticks,
                   uint64_t from_ns, uint64_t to_ns)
{
    return row->pid == pid && row->start_ticks == start_ticks && row->at_ns >= from_ns &&
           row->at_ns <= to_ns;
}

int thread_rows_of(struct thread_rows *rows, uint32_t pid, uint64_t start_ticks, uint64_t from_ns,
                   uint64_t to_ns, struct thread_row **list, size_t *count, uint64_t *whole_ns)
{
    size_t n = 0;
    pthread_mutex_lock(&rows->mutex);
    for (size_t i = 0; i < rows->count; i++)
        n += row_is(row_at(rows, i), pid, start_ticks, from_ns, to_ns);
    *count = 0;
    *whole_ns = rows->whole_ns;
    *list = malloc((n + 1) * sizeof **list);
    for (size_t i = 0; *list != NULL && i < rows->count; i++)
        if (row_is(row_at(rows, i), pid, start_ticks, from_ns, to_ns))
            (*list)[(*count)++] = *row_at(rows, i);
    pthread_mutex_unlock(&rows->mutex);
    if (*count > 0)
        qsort(*list, *count, sizeof **list, rows_compare);
    return *list != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

size_t thread_rows_bytes(struct thread_rows *rows)
{
    pthread_mutex_lock(&rows->mutex);
    size_t bytes = sizeof *rows + rows->cap * sizeof *rows->ring;
    pthread_mutex_unlock(&rows->mutex);
    return bytes;
}
