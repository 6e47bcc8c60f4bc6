/* SPDX-License-Identifier: Apache-2.0
 *
 * One write of the catalog (a call that returns a status) in a transaction of its own.
 */
#ifndef CATALOG_NOW_H
#define CATALOG_NOW_H

#include "catalog.h"
#include "db.h"
#include "support.h"

/* Commits what was written since catalog_begin; commit false: all of it is forgotten. */
static inline int catalog_end(struct catalog *c, bool commit)
{
    struct db_batch *batch = catalog_collected(c);
    int status = commit ? catalog_commit(c, batch) : SKEIN_OK;
    db_batch_free(&batch);
    return status;
}

#define CATALOG_NOW(catalog, call)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);                                        \
        call;                                                                                      \
        ck_assert_int_eq(catalog_end(catalog, true), SKEIN_OK);                                    \
    } while (0)

#endif
