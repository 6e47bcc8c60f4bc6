/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a secret may be kept: its hash, and a comparison whose time says nothing. Beside seal.h,
 * which makes and wipes secrets, the only door to libsodium. Any thread, after seal_init.
 */
#ifndef SECRET_H
#define SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_HASH_BYTES 32

/* BLAKE2b with 256 bits. */
void secret_hash(const void *bytes, size_t n, uint8_t out[SECRET_HASH_BYTES]);
bool secret_equal(const void *a, const void *b, size_t n);

#endif
