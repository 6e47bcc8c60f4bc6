/* SPDX-License-Identifier: Apache-2.0
 *
 * What is recorded of texts that name somebody's files, hosts and commands (R-34): all, a keyed
 * hash, or nothing. The agent decides (evidence.privacy), by the process page for what the preload
 * tracer says, and for what it records itself. Included by client-lib and agent only. Any thread;
 * signal-safe.
 */
#ifndef PRIVACY_H
#define PRIVACY_H

#include <stddef.h>
#include <stdint.h>

enum privacy { PRIVACY_OFF = 0, PRIVACY_HASH = 1, PRIVACY_LEAVE_OUT = 2 };
#define PRIVACY_HASH_BYTES 18 /* "#", 16 hexadecimal digits, NUL */

struct privacy_rule {
    uint32_t mode; /* enum privacy; a number above is LEAVE_OUT, as of an agent that is newer */
    uint64_t key[2];
};

/* The same text and key give the same hash: SipHash-2-4, lower case, its first byte last. */
void privacy_hash(const uint64_t key[2], const void *text, size_t bytes,
                  char out[PRIVACY_HASH_BYTES]);

#endif
