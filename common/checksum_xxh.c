/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the checksum of stored and sent bytes, over libxxhash. Any thread; never fails but
 * for memory of a sum over pieces.
 */
#include "checksum.h"

#include <xxhash.h>

uint64_t checksum64(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}

uint32_t checksum_xxh32(const void *bytes, size_t n)
{
    return XXH32(bytes, n, 0);
}

struct checksum *checksum_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL)
        (void)XXH3_64bits_reset(state);
    return (struct checksum *)state;
}

void checksum_add(struct checksum *checksum, const void *bytes, size_t n)
{
    (void)XXH3_64bits_update((XXH3_state_t *)checksum, bytes, n);
}

uint64_t checksum_end(const struct checksum *checksum)
{
    return XXH3_64bits_digest((const XXH3_state_t *)checksum);
}

void checksum_free(struct checksum **checksum)
{
    (void)XXH3_freeState((XXH3_state_t *)*checksum);
    *checksum = NULL;
}
