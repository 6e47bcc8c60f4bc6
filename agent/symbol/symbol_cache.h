/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that are known: by file and place, bounded in bytes. Two halves: when the new one is full,
 * the old one goes and the new one becomes old; what is asked for moves to the new. The owner
 * locks.
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct symbol_cache;

int symbol_cache_new(uint64_t max_bytes, struct symbol_cache **out); /* SKEIN_OK, NO_MEMORY */
void symbol_cache_free(struct symbol_cache **cache);

/* What was put last, valid until the next call; NULL: nothing is known. */
const uint8_t *symbol_cache_get(struct symbol_cache *cache, uint32_t file, uint64_t place,
                                size_t *bytes);
/* Copies. What is there already stays. Where memory is short nothing is put. */
void symbol_cache_put(struct symbol_cache *cache, uint32_t file, uint64_t place,
                      const uint8_t *lines, size_t bytes);
uint64_t symbol_cache_bytes(const struct symbol_cache *cache);

#endif
