/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions of which chunks are missing, in bounded memory. Chunks may come in any order, again,
 * and mixed with those of others. One owner, one thread (the ingest thread).
 *
 * An assembly is known by all that its chunks claim: key, capture, count, bytes and checksum. So a
 * sender that contradicts another about the same key builds an assembly of its own and spoils
 * nobody's.
 */
#ifndef ASSEMBLY_H
#define ASSEMBLY_H

#include "wire.h"

struct assembler;

/* Each assembly counts this much beside its chunks, so that there are not too many either. */
#define ASSEMBLY_BYTES_MIN (UINT64_C(64) << 10)

/* Room is taken as chunks come. A sender's share is half of max_bytes, divided by the number of
 * senders. One that stays within its share always finds room: what one beyond its own has begun
 * last goes for it. Beyond the share the younger goes for the older, whoever's; the oldest of all
 * never goes unless it is larger than half of max_bytes. One partition is let in though it is
 * larger than max_bytes, while it is alone. */
int assembler_new(uint64_t max_bytes, struct assembler **out);
void assembler_free(struct assembler **assembler);

/* Takes a chunk of `sender`. Returns
 *   1                the partition is whole: *bytes (chunk->partition_bytes long, from malloc) is
 *                    the caller's, the assembly is gone
 *   0                chunks are missing
 *   SKEIN_FULL       no room for it, or SKEIN_NO_MEMORY: the chunk was not kept
 *   SKEIN_CORRUPT    whole, but its checksum is not what its chunks claim: the assembly is gone
 * *have: chunks there are from index 0 without a gap. */
int assembler_add(struct assembler *assembler, uint64_t sender, const struct wire_chunk *chunk,
                  uint64_t now_ns, uint8_t **bytes, uint32_t *have);

/* Whether a partition with these claims is being assembled. */
bool assembler_has(const struct assembler *assembler, const struct wire_chunk *chunk);

/* Drops assemblies that got no chunk since before_ns; how many. */
size_t assembler_expire(struct assembler *assembler, uint64_t before_ns);

uint64_t assembler_bytes(const struct assembler *assembler); /* held now */
size_t assembler_count(const struct assembler *assembler);

#endif
