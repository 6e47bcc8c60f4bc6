/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the checksum of stored and sent bytes, over libxxhash. Any thread; pure; never fails.
 */
#include "checksum.h"

#include <xxhash.h>

uint64_t checksum64(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}
