/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements that are put together now and run later, in one transaction, on another thread maybe:
 * what they are bound to is copied. No lock; one thread at a time.
 */
#ifndef DB_BATCH_H
#define DB_BATCH_H

#include "db.h"

struct db_batch;

struct db_batch *db_batch_new(void); /* NULL: no memory */
void db_batch_free(struct db_batch **batch);

/* As db_run, without rows. `sql` must outlive the batch; no pointers are bound. Where memory ends,
 * the batch is refused: it never runs, and what is bound to later statements is not read. */
void db_batch_add(struct db_batch *batch, const char *sql, const struct db_bind *binds);
void db_batch_refuse(struct db_batch *batch, int status); /* unless status is SKEIN_OK */
/* All of them or none. SKEIN_OK, why it was refused, or a status of db_begin, db_run or db_end. */
int db_batch_run(struct db *db, const struct db_batch *batch);

#endif
