/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch of statements; see db_batch.h. A statement is one block: its binds, and behind them the
 * bytes that they point to.
 */
#include "db_batch.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein_check.h"

struct entry {
    const char *sql;
    struct db_bind *binds;
};

struct db_batch {
    struct entry *items;
    size_t count, cap;
    int status; /* SKEIN_NO_MEMORY: a statement is missing; or why somebody has refused */
};

struct db_batch *db_batch_new(void)
{
    return calloc(1, sizeof(struct db_batch));
}

void db_batch_free(struct db_batch **batch)
{
    struct db_batch *b = *batch;
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->count; i++)
        free(b->items[i].binds);
    free(b->items);
    free(b);
    *batch = NULL;
}

static size_t bytes_of(const struct db_bind *bind)
{
    if (bind->kind == DB_KIND_TEXT)
        return bind->text != NULL ? strlen(bind->text) + 1 : 0;
    return bind->n;
}

/* NULL: no memory. */
static struct db_bind *binds_copy(const struct db_bind *binds)
{
    size_t count = 0, bytes = 0;
    for (; binds != NULL && binds[count].kind != DB_KIND_END; count++) {
        skein_check(binds[count].kind != DB_KIND_POINTER);
        bytes += bytes_of(&binds[count]);
    }
    struct db_bind *copy = malloc((count + 1) * sizeof *copy + bytes);
    if (copy == NULL)
        return NULL;
    char *to = (char *)(copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t n = bytes_of(&binds[i]);
        copy[i] = binds[i];
        if (n > 0)
            memcpy(to, binds[i].kind == DB_KIND_TEXT ? binds[i].text : binds[i].bytes, n);
        if (binds[i].kind == DB_KIND_TEXT && n > 0)
            copy[i].text = to;
        else if (n > 0)
            copy[i].bytes = to;
        to += n;
    }
    copy[count] = (struct db_bind){.kind = DB_KIND_END};
    return copy;
}

void db_batch_add(struct db_batch *batch, const char *sql, const struct db_bind *binds)
{
    if (batch->status != SKEIN_OK)
        return;
    struct db_bind *copy =
        array_grow(batch->items, batch->count + 1, &batch->cap) ? binds_copy(binds) : NULL;
    if (copy != NULL)
        batch->items[batch->count++] = (struct entry){sql, copy};
    else
        batch->status = SKEIN_NO_MEMORY;
}

void db_batch_refuse(struct db_batch *batch, int status)
{
    if (batch->status == SKEIN_OK)
        batch->status = status;
}

int db_batch_run(struct db *db, const struct db_batch *batch)
{
    int status = batch->status != SKEIN_OK ? batch->status : db_begin(db);
    if (status != SKEIN_OK)
        return status;
    for (size_t i = 0; i < batch->count && status == SKEIN_OK; i++)
        status = db_write(db, batch->items[i].sql, batch->items[i].binds);
    return db_end(db, status);
}
