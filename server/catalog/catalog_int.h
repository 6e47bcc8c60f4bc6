/* SPDX-License-Identifier: Apache-2.0
 * The inside of the catalog; for catalog*.c alone. */
#ifndef CATALOG_INT_H
#define CATALOG_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "catalog.h"
#include "catalog_loss.h"
#include "db.h"

struct catalog {
    struct db *db;   /* that writes: who asks nothing of `read` waits for nobody's commit */
    struct db *read; /* sees what is committed */
    pthread_mutex_t collecting; /* held from catalog_begin on; guards `batch` */
    struct db_batch *batch;
    char path[4096];
    uint64_t collector;
    atomic_bool damaged;
    bool made; /* this process made the file */
};

/* Row values are signed in SQLite; ids and times of the next 200 years fit as they are. */
#define I(v) ((int64_t)(v))

/* Adds a statement to the batch that catalog_begin has begun. */
void catalog_write(struct catalog *c, const char *sql, const struct db_bind *binds);

/* catalog_loss.c: defines the SQL function that its statements call. The other two give statements,
 * a sum and the ids of a page, for a look at their plans. */
int catalog_loss_define(struct db *db);
void catalog_loss_sql(enum catalog_loss_by by, char *sql, size_t bytes);
void catalog_loss_page_sql(enum catalog_loss_by by, char *sql, size_t bytes);

/* catalog_capture.c: the statement of a listing, for a look at its plan. */
struct catalog_capture_query;
void catalog_captures_sql(const struct catalog_capture_query *query, char *sql, size_t bytes);

extern const char catalog_owners_sql[]; /* catalog_ranges.c, for a look at its plan */

#endif
