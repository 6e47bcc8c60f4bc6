/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored partitions that were found damaged, in state.db: a new index does not know of them.
 */
#ifndef CATALOG_DAMAGE_H
#define CATALOG_DAMAGE_H

#include "catalog.h"
#include "partition.h"

/* fn for each until it returns not 0; the number, or a status. */
typedef int catalog_damage_fn(void *context, const struct partition_key *key, uint64_t from_ns,
                              uint64_t to_ns);
int64_t catalog_damages(struct catalog *c, catalog_damage_fn *fn, void *context);
int catalog_add_damage(struct catalog *c, const struct partition_key *key, uint64_t from_ns,
                       uint64_t to_ns);
int catalog_drop_damage(struct catalog *c, const struct partition_key *key);

#endif
