/* SPDX-License-Identifier: Apache-2.0
 *
 * Who sent wrong tokens lately, by address and by how the token begins: one client behind a proxy
 * does not count for another. After too many within a minute, further wrong ones from there get a
 * short answer for a while; right ones get in. An address that comes with ever new tokens has one
 * count for all beyond the first few. A bounded table: when it is full it forgets what was bad
 * longest ago, and first what is not locked out. Any thread.
 */
#ifndef LOCKOUT_H
#define LOCKOUT_H

#include <stdint.h>

struct lockout;

/* NULL: no memory. */
struct lockout *lockout_new(uint64_t bad_in_a_minute, uint64_t locked_ms);
void lockout_free(struct lockout **lockout);

/* How many seconds, at least 1, wrong tokens that begin as this one are still locked out there; 0:
 * they are not. `address` as text; IPv6 counts by its /64. */
uint64_t lockout_left(struct lockout *l, const char *address, const char *token,
                      uint64_t now_monotonic_ns);
void lockout_bad(struct lockout *l, const char *address, const char *token,
                 uint64_t now_monotonic_ns);

#endif
