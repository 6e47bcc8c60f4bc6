/* SPDX-License-Identifier: Apache-2.0
 *
 * secret.h over libsodium. No state of its own; any thread.
 */
#include "secret.h"

#include <sodium.h>

void secret_hash(const void *bytes, size_t n, uint8_t out[SECRET_HASH_BYTES])
{
    crypto_generichash(out, SECRET_HASH_BYTES, bytes, n, NULL, 0);
}

bool secret_equal(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}
