/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory orders among the threads of one writer, of words that no other process sees; the others
 * are in skein_atomic.h. Every ordering has a label; each function says what breaks without it.
 * Included by client-lib/src and its tests only.
 *
 *   label     release side                           acquire side (any thread of the writer)
 *   SHARE     a chunk put on the shelf               taken from it
 *   REACH     session.reach, before a CHUNK claim    before a scan of the chunks' states
 *   LOCK      table lock release                     table lock try
 *   POOL      slab.taken bit off, slab.next          bit on, slab.next
 *   SLOT      a slot's byte off                      on
 *   RULE      none: two words that prove each other  the same
 */
#ifndef WRITER_ATOMIC_H
#define WRITER_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* SHARE. What a thread wrote to a chunk that it leaves comes before whatever the next one does with
 * it, and so do the chunk's times. A place holds nothing (0), a chunk, or the mark of the lane that
 * is just giving or taking one: no chunk has two owners. */
static inline uint64_t skein_share_load(const uint64_t *place)
{
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}
static inline bool skein_share_hold(uint64_t *place, uint64_t seen, uint64_t mark)
{
    return __atomic_compare_exchange_n(place, &seen, mark, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
static inline void skein_share_put(uint64_t *place, uint64_t chunk)
{
    __atomic_store_n(place, chunk, __ATOMIC_RELEASE);
}

/* REACH. Raised before a chunk beyond it is claimed, loaded before all below it are looked at. As
 * with EPOCH, in the one order of both either the scan sees the claim, or the claimer the epoch;
 * with less, the scan could pass a chunk that is just being claimed. */
static inline void skein_reach_raise(uint32_t *reach, uint32_t to)
{
    uint32_t seen = __atomic_load_n(reach, __ATOMIC_RELAXED);
    while (seen < to && !__atomic_compare_exchange_n(reach, &seen, to, true, __ATOMIC_SEQ_CST,
                                                     __ATOMIC_RELAXED)) {
    }
}
static inline uint32_t skein_reach_load(const uint32_t *reach)
{
    return __atomic_load_n(reach, __ATOMIC_SEQ_CST);
}

/* LOCK. Ordinary mutual exclusion, but only ever tried: a signal handler may not wait. */
static inline bool skein_lock_try(uint32_t *lock)
{
    return __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) == 0;
}
static inline void skein_lock_release(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* POOL. A thread's last use of its cold half comes before the next thread's first; a slab is filled
 * in when the others find it. */
static inline bool skein_pool_take(uint64_t *taken, uint64_t *expected, uint64_t bit)
{
    return __atomic_compare_exchange_n(taken, expected, *expected | bit, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
static inline void skein_pool_leave(uint64_t *taken, uint64_t bit)
{
    __atomic_fetch_and(taken, ~bit, __ATOMIC_RELEASE);
}
static inline void *skein_pool_next(void *const *next)
{
    return __atomic_load_n(next, __ATOMIC_ACQUIRE);
}
static inline bool skein_pool_append(void **next, void *slab)
{
    void *none = 0;
    return __atomic_compare_exchange_n(next, &none, slab, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* SLOT. Who owns a slot is kept in a byte outside the ring: taking it pairs with leaving it
 * (store8), so that the next owner's fields come after the last owner's. */
static inline bool skein_slot_take8(uint8_t *taken)
{
    return __atomic_load_n(taken, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(taken, 1, __ATOMIC_ACQUIRE) == 0;
}
static inline void skein_slot_store8(uint8_t *taken, uint8_t value)
{
    __atomic_store_n(taken, value, __ATOMIC_RELEASE);
}

/* RULE. A place of the cache of unwinding rules: key and rule of two writers do not fit together,
 * so that no order is needed. */
static inline uint64_t skein_rule_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline void skein_rule_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#endif
