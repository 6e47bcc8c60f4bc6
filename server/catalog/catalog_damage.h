/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored partitions that were found damaged, kept in state.db: a rebuilt index does not know them.
 */
#ifndef CATALOG_DAMAGE_H
#define CATALOG_DAMAGE_H

#include "catalog.h"
#include "partition.h"

/* Calls fn for each until it returns not 0. Returns how many, or a status. */
typedef int catalog_damage_fn(void *context, const struct partition_key *key, uint64_t from_ns,
                              uint64_t to_ns);
int64_t catalog_damages(struct catalog *c, catalog_damage_fn *fn, void *context);
void catalog_add_damage(struct catalog *c, const struct partition_key *key, uint64_t from_ns,
                        uint64_t to_ns);
void catalog_drop_damage(struct catalog *c, const struct partition_key *key);

#endif
