/* SPDX-License-Identifier: Apache-2.0
 *
 * One write of the catalog (a call that returns a status) in a transaction of its own.
 */
#ifndef CATALOG_NOW_H
#define CATALOG_NOW_H

#include "catalog.h"
#include "support.h"

#define CATALOG_NOW(catalog, call)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);                                        \
        ck_assert_int_eq(call, SKEIN_OK);                                                          \
        ck_assert_int_eq(catalog_end(catalog, true), SKEIN_OK);                                    \
    } while (0)

#endif
