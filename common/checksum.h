/* SPDX-License-Identifier: Apache-2.0
 * XXH3 checksums (64-bit) of stored and sent bytes; the only module that knows libxxhash. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum64(const void *bytes, size_t n);
static inline uint32_t checksum32(const void *bytes, size_t n)
{
    return (uint32_t)checksum64(bytes, n);
}

/* XXH3 over pieces. NULL without memory; the rest never fails. */
struct checksum;
struct checksum *checksum_new(void);
void checksum_add(struct checksum *checksum, const void *bytes, size_t n);
uint64_t checksum_end(const struct checksum *checksum); /* of all so far */
void checksum_free(struct checksum **checksum);

/* XXH32, which LZ4's frames have. */
uint32_t checksum_xxh32(const void *bytes, size_t n);

#endif
