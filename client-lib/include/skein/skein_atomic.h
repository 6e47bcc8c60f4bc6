/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory orders of what two processes share, and of the hot path; those among a writer's own
 * threads are in src/writer_atomic.h, and no others anywhere. Every ordering has a label; each
 * function names the label of its partner and what breaks without it. Included by the client
 * library, by skein.h's hot path and by the agent's ring reader; C11 and C++17. Builtins, because
 * the fields are plain integers in memory that two processes map.
 *
 *   label     release side (who)                     acquire side (who)
 *   COMMIT    chunk.committed (writer)               chunk.committed (reader)
 *   CHUNK     state FREE or FULL, PIN off            state claimed, PIN on (writer, reader)
 *   HORIZON   overwritten_ticks before a CHUNK claim overwritten_ticks after a CHUNK load (reader)
 *   LOSS      num_records_dropped after a bucket     the same before the buckets (reader)
 *   TABLE     table.committed (writer)               table.committed (reader)
 *   EPOCH     string_epoch, sequentially consistent  chunk claim + string_epoch (writer)
 *   SITE      site.id, string.id (writer)            site.id, string.id (any thread of the writer)
 *   VIEW      control page, .gate, .session (visitor) the same (any thread of the writer)
 *   GEN       host_page.generation (agent)           the same (writer)
 *   SLOT      slot.state, .op_start (writer)         the same (reader)
 *   BACK      process_page.backed_… (agent)          the same (writer)
 */
#ifndef SKEIN_ATOMIC_H
#define SKEIN_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* ThreadSanitizer knows no fences; what they order here is atomic, so it has nothing to report. */
#if defined(__SANITIZE_THREAD__)
#define SKEIN_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SKEIN_UNDER_TSAN 1
#endif
#endif
#ifndef SKEIN_UNDER_TSAN
#define SKEIN_UNDER_TSAN 0
#endif

/* Hints, counters, and fields whose order another label already gives. */
static inline uint64_t skein_load64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline void skein_store64(uint64_t *p, uint64_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
static inline uint32_t skein_load32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline void skein_store32(uint32_t *p, uint32_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
static inline uint64_t skein_add64(uint64_t *p, uint64_t n)
{
    return __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}
static inline uint32_t skein_add32(uint32_t *p, uint32_t n)
{
    return __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}

/* Moves a shared cursor, unless somebody has. */
static inline bool skein_cursor_cas(uint64_t *cursor, uint64_t expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(cursor, &expected, desired, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Keeps the compiler from moving accesses across; for a thread and the signal handlers on it. */
static inline void skein_signal_fence(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* COMMIT. Without the release a reader could copy bytes that are not yet written; without the
 * acquire it could copy before it looked. */
static inline void skein_commit_store(uint64_t *committed, uint64_t epoch_and_bytes)
{
    __atomic_store_n(committed, epoch_and_bytes, __ATOMIC_RELEASE);
}
static inline uint64_t skein_commit_load(const uint64_t *committed)
{
    return __atomic_load_n(committed, __ATOMIC_ACQUIRE);
}

/* CHUNK. Acquire: the claimer's writes (and a reader's copy) must not start before the chunk is its
 * own (pinned). Release: the owner's writes (the reader's copy) must be over when it is let go. The
 * order is sequentially consistent because EPOCH compares a claim with a load that follows it. */
static inline bool skein_chunk_cas(uint32_t *state, uint32_t *expected, uint32_t desired)
{
    return __atomic_compare_exchange_n(state, expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}
static inline uint32_t skein_chunk_load(const uint32_t *state)
{
    return __atomic_load_n(state, __ATOMIC_SEQ_CST);
}
static inline bool skein_claim_cas(uint64_t *claim, uint64_t expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(claim, &expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}
static inline uint64_t skein_claim_load(const uint64_t *claim)
{
    return __atomic_load_n(claim, __ATOMIC_SEQ_CST);
}

/* HORIZON. Who claims a chunk that holds records raises the horizon to the last of them, then
 * claims (CHUNK). Who sees the claim sees the horizon: a reader that finds a chunk used again, and
 * loads the horizon after that, is told of what is gone. Raised after the claim, a writer that is
 * stopped between the two would hide it. Relaxed, because CHUNK orders it on both sides. */
static inline void skein_horizon_raise(uint64_t *horizon, uint64_t ticks)
{
    uint64_t seen = __atomic_load_n(horizon, __ATOMIC_RELAXED);
    while (seen < ticks && !__atomic_compare_exchange_n(horizon, &seen, ticks, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
static inline uint64_t skein_horizon_load(const uint64_t *horizon)
{
    return __atomic_load_n(horizon, __ATOMIC_RELAXED);
}

/* LOSS. A bucket first, the total after it: a reader that loads the total first finds at least as
 * many in the buckets, but for those that a later time has taken the place of. A bucket is {time,
 * count: count_bits}; one of a later time counts also what comes late. */
static inline void skein_bucket_add(uint64_t *bucket, uint64_t time, unsigned count_bits)
{
    uint64_t seen = __atomic_load_n(bucket, __ATOMIC_RELAXED), next;
    const uint64_t full = (UINT64_C(1) << count_bits) - 1;
    do {
        next = seen >> count_bits < time ? time << count_bits | 1 : seen + ((seen & full) != full);
    } while (!__atomic_compare_exchange_n(bucket, &seen, next, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}
static inline bool skein_word_cas(uint64_t *word, uint64_t *expected, uint64_t desired)
{
    return __atomic_compare_exchange_n(word, expected, desired, true, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}
static inline void skein_total_add(uint64_t *total)
{
    __atomic_fetch_add(total, 1, __ATOMIC_RELEASE);
}
static inline uint64_t skein_total_load(const uint64_t *total)
{
    return __atomic_load_n(total, __ATOMIC_ACQUIRE);
}

/* TABLE. As COMMIT, for the records of a table half. */
static inline void skein_table_store(uint64_t *committed, uint64_t epoch_and_bytes)
{
    __atomic_store_n(committed, epoch_and_bytes, __ATOMIC_RELEASE);
}
static inline uint64_t skein_table_load(const uint64_t *committed)
{
    return __atomic_load_n(committed, __ATOMIC_ACQUIRE);
}

/* EPOCH. A writer claims a chunk (CHUNK), then loads the epoch; who recycles a table half stores
 * the epoch, then scans the chunks' states. In one total order either the claimer sees the new
 * epoch or the scan sees the claim; with less, ids of a recycled half could enter a chunk unseen.
 * Who loads the epoch makes no more ids of one before it. */
static inline void skein_epoch_store(uint64_t *epoch, uint64_t value)
{
    __atomic_store_n(epoch, value, __ATOMIC_SEQ_CST);
}
static inline uint64_t skein_epoch_load(const uint64_t *epoch)
{
    return __atomic_load_n(epoch, __ATOMIC_SEQ_CST);
}

/* SITE. Chains the table record to every record that uses its id: table store, id release, another
 * thread's id acquire, its COMMIT, the reader. Relaxed would let a reader meet an id that the table
 * does not hold yet. */
static inline void skein_site_store(uint64_t *id, uint64_t value)
{
    __atomic_store_n(id, value, __ATOMIC_RELEASE);
}
static inline uint64_t skein_site_load(const uint64_t *id)
{
    return __atomic_load_n(id, __ATOMIC_ACQUIRE);
}

/* VIEW. Without it a thread could follow the pointer into what is not yet filled in. The pointers
 * are read as part of the thread's own control page, which a fork wipes. */
struct skein_control;
static inline void skein_control_store(struct skein_control **page, struct skein_control *value)
{
    __atomic_store_n(page, value, __ATOMIC_RELEASE);
}
static inline struct skein_control *skein_control_load(struct skein_control *const *page)
{
    return __atomic_load_n(page, __ATOMIC_ACQUIRE);
}
static inline void skein_gate_store(uint64_t *gate, uint64_t value)
{
    __atomic_store_n(gate, value, __ATOMIC_RELEASE);
}
/* True: the gate was `from`. */
static inline bool skein_gate_move(uint64_t *gate, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(gate, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
static inline uint64_t skein_gate_load(const uint64_t *gate)
{
    return __atomic_load_n(gate, __ATOMIC_ACQUIRE);
}
static inline void skein_session_store(void **session, void *value)
{
    __atomic_store_n(session, value, __ATOMIC_RELEASE);
}
static inline void *skein_session_load(void *const *session)
{
    return __atomic_load_n(session, __ATOMIC_ACQUIRE);
}

/* GEN. The agent's store is a release so that what it did before the switch (a clock snapshot) is
 * visible with it. The hot path needs no acquire: read-read coherence already gives causally
 * consistent cuts, and a late record is tagged with its own generation. */
static inline void skein_generation_store(uint64_t *generation, uint64_t value)
{
    __atomic_store_n(generation, value, __ATOMIC_RELEASE);
}
static inline uint64_t skein_generation_load(const uint64_t *generation)
{
    return __atomic_load_n(generation, __ATOMIC_RELAXED);
}

/* SLOT. Name and incarnation are there when state says live; what an operation is, is there when
 * its start is. A reader takes op_start, the rest, and op_start again: equal means consistent. */
static inline void skein_slot_store32(uint32_t *field, uint32_t value)
{
    __atomic_store_n(field, value, __ATOMIC_RELEASE);
}
static inline uint32_t skein_slot_load32(const uint32_t *field)
{
    return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}
static inline void skein_slot_store64(uint64_t *field, uint64_t value)
{
    __atomic_store_n(field, value, __ATOMIC_RELEASE);
}
static inline uint64_t skein_slot_load64(const uint64_t *field)
{
    return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}
/* BACK. The agent has given the pages their memory before it says so; who sees the bound finds them.
 * Without it a writer could be the first to touch a page, and its cgroup would pay for it. */
static inline void skein_backed_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline uint64_t skein_backed_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
/* Between op_start = 0 and the fields of the next operation: a reader that sees one of these sees
 * the 0 too when it looks again. */
static inline void skein_writer_fence(void)
{
#if !SKEIN_UNDER_TSAN
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
/* Between a reader's loads and its second look at op_start or at a chunk's state. */
static inline void skein_reader_fence(void)
{
#if !SKEIN_UNDER_TSAN
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

#endif
