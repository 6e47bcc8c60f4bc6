/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that sent wrong tokens lately. From an address that sends too many within a minute
 * further wrong ones are answered shortly for a while; right ones are not asked about. A bounded
 * table: when it is full, the address that was bad longest ago is forgotten, one that is not locked
 * out first. Any thread.
 */
#ifndef LOCKOUT_H
#define LOCKOUT_H

#include <stdint.h>

struct lockout;

/* NULL: no memory. */
struct lockout *lockout_new(uint64_t bad_in_a_minute, uint64_t locked_ms);
void lockout_free(struct lockout **lockout);

/* `address` as text, IPv6 by its /64. Seconds, at least 1, for which it is locked out; 0: it is
 * not. */
uint64_t lockout_left(struct lockout *l, const char *address, uint64_t now_monotonic_ns);
void lockout_bad(struct lockout *l, const char *address, uint64_t now_monotonic_ns);

#endif
