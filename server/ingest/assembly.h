/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembles partitions from their chunks, in bounded memory. Chunks may come in any order, more
 * than once, and mixed with those of other partitions. One owner, one thread (the ingest thread).
 *
 * An assembly is found by everything its chunks claim: key, capture, count, bytes and checksum. A
 * sender that contradicts another about one key builds its own assembly and spoils nobody's.
 */
#ifndef ASSEMBLY_H
#define ASSEMBLY_H

#include "wire.h"

struct assembler;

/* Each assembly counts this much besides its chunks; this bounds their number. */
#define ASSEMBLY_BYTES_MIN (UINT64_C(64) << 10)

/* Each chunk takes room when it comes. A sender's share is max_bytes / 2 / number of senders.
 *   - A chunk within its sender's share always finds room: it displaces the youngest assembly of a
 *     sender that is beyond its own share.
 *   - A chunk beyond the share displaces only assemblies younger than its own, of any sender.
 *   - The oldest assembly is never displaced, unless its partition is larger than max_bytes / 2.
 *   - A partition larger than max_bytes is taken only while it is alone. */
int assembler_new(uint64_t max_bytes, struct assembler **out);
void assembler_free(struct assembler **assembler);

/* Takes a chunk of `sender`. Returns
 *   1                the partition is whole: *bytes (chunk->partition_bytes long, from malloc) now
 *                    belongs to the caller; the assembly is gone
 *   0                chunks are missing
 *   SKEIN_FULL       no room; the chunk was not kept
 *   SKEIN_NO_MEMORY  the chunk was not kept; or no memory for the whole: the assembly is gone
 *   SKEIN_CORRUPT    whole, but the checksum differs from the claim: the assembly is gone
 * *have: how many chunks there are from index 0 on without a gap. */
int assembler_add(struct assembler *assembler, uint64_t sender, const struct wire_chunk *chunk,
                  uint64_t now_ns, uint8_t **bytes, uint32_t *have);

/* Whether a partition with these claims is being assembled. */
bool assembler_has(const struct assembler *assembler, const struct wire_chunk *chunk);

/* Drops assemblies that got no chunk since before_ns. Returns how many. */
size_t assembler_expire(struct assembler *assembler, uint64_t before_ns);

uint64_t assembler_bytes(const struct assembler *assembler); /* held now */
size_t assembler_count(const struct assembler *assembler);

#endif
