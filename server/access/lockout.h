/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that sent wrong tokens lately. After too many within a minute, further wrong tokens
 * from that address get a short answer for a while; right ones get in. A bounded table: when it is
 * full it forgets the address that was bad longest ago, and one that is not locked out first. Any
 * thread.
 */
#ifndef LOCKOUT_H
#define LOCKOUT_H

#include <stdint.h>

struct lockout;

/* NULL: no memory. */
struct lockout *lockout_new(uint64_t bad_in_a_minute, uint64_t locked_ms);
void lockout_free(struct lockout **lockout);

/* How many seconds, at least 1, the address is still locked out; 0: it is not. `address` as text;
 * IPv6 counts by its /64. */
uint64_t lockout_left(struct lockout *l, const char *address, uint64_t now_monotonic_ns);
void lockout_bad(struct lockout *l, const char *address, uint64_t now_monotonic_ns);

#endif
