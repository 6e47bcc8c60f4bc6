/* SPDX-License-Identifier: Apache-2.0
 *
 * The session: one attached ring, the control page that leads threads to it, and the shelf.
 * Included by client-lib/src and its tests only.
 */
#ifndef SESSION_H
#define SESSION_H

#include "ring_layout.h"
#include "skein/skein.h"

#define SHELF_MAX        64
#define TABLE_RECORD_MAX 2304 /* of the tables, encoded */

/* Of the current string epoch, under the table's lock: which stacks its table holds, and which code
 * has been described there. */
#define STACK_PLACES   4096 /* a power of two */
#define STACKS_MAX     3072 /* of an epoch */
#define STACK_CODE_MAX 256
struct stack_place {
    uint32_t epoch; /* of another: free */
    uint32_t hash, id;
    uint32_t offset, bytes; /* of what follows the id, in the half's records */
};
struct stack_code {
    uint64_t start, end, identity;
};
struct stack_index {
    uint32_t epoch; /* that the rest is about */
    uint32_t count, code_count;
    uint32_t next_id;
    uint32_t table_bytes; /* of the half that stacks and mappings take */
    struct stack_code code[STACK_CODE_MAX];
    struct stack_place places[STACK_PLACES];
};

/* One attached ring. Never freed: a thread that was descheduled for a day may still hold it. */
struct session {
    /* constant once published */
    struct session *before; /* of this process; NULL: the first */
    uint8_t *base;
    struct ring_geometry geometry;
    struct ring_header *header;
    uint64_t device, inode; /* of the memfd: how an adopted ring is recognised */
    uint8_t *slot_taken;    /* one byte a slot; atomic claim flags, private to this process */
    /* shared by the writer's threads */
    uint32_t slot_hint;
    uint32_t slotless;  /* incarnations of threads without a slot */
    uint32_t exhausted; /* oneshot: no chunk will ever be free again */
    uint32_t tickets;   /* drawn so far; a lane tells its own by it */
    uint32_t shelf_hint, shelf_turn;
    uint64_t shelf[SHELF_MAX]; /* SHARE; chunks of ended threads, for others to go on in; 0: none */
    /* of small chunks and of big ones */
    uint64_t lap[2];   /* where the cursor was when the round of it that goes on began */
    uint32_t reach[2]; /* REACH; up to which they have been claimed */
    uint32_t backed;   /* chunks that had memory at the last claim */
    /* under table_lock */
    uint32_t table_lock;
    uint32_t epoch; /* also read without the lock */
    uint32_t table_used;
    uint32_t next_event, next_string;
    uint64_t blocked_at;   /* chunk claims when an epoch switch last failed, + 1; 0: none has */
    uint64_t table_backed; /* bytes of each half that had memory when the agent was last heard */
    uint8_t record[TABLE_RECORD_MAX];
    struct stack_index stacks; /* last: its pages are touched where there are stacks */
};

/* ---- session.c ---- */

/* session_control_init() and session_map(). One thread at a time; not signal-safe. */
int session_attach(int ring_fd, int host_fd, int process_fd, const char *service);

/* Takes the view away: no thread starts another record. */
void session_detach(void);

/* Makes the control page, once: before the visitor comes, not before, for a process that is never
 * recorded. One thread at a time; signal-safe. Returns SKEIN_OK or SKEIN_NO_MEMORY. */
int session_control_init(void);
extern size_t session_page_bytes; /* of the system; known with the control page */

struct session *session_current(void); /* NULL: none; signal-safe */
/* In a fork child: forgets the parent's rings. torn: a handler forked that had interrupted the
 * tracer, whose record the child will go on with: from here on it writes to private pages in the
 * rings' places. */
void session_child_reset(bool torn);
extern struct session *session_newest; /* whatever ring a thread of this process may write to */
const struct skein_view *session_view(void);

/* Without a ring: lets events of all groups come to the slow half, and from there to
 * attach_client_event(); and no longer. */
void session_lure(void);
void session_unlure(void);
bool session_is_lure(const struct skein_view *view);
/* An event came that no ring takes: when the first did is told in the ring that comes. began_ns: of
 * CLOCK_MONOTONIC; 0: now. */
void session_miss(uint64_t began_ns);
extern uint64_t session_missed; /* atomic */
static inline uint64_t session_missed_ns(void)
{
    return __atomic_load_n(&session_missed, __ATOMIC_SEQ_CST);
}
void session_missed_clear(void); /* in a fork child */
/* Moves a note of the first event that was missed back to ns: threads that miss their first events
 * at once may come in any order. */
static inline void session_missed_note(uint64_t *first_ns, uint64_t ns)
{
    uint64_t seen = __atomic_load_n(first_ns, __ATOMIC_SEQ_CST);
    while ((seen == 0 || ns < seen) &&
           !__atomic_compare_exchange_n(first_ns, &seen, ns, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        continue;
}
/* With which status the process ends, just before; signal-safe. */
void session_exit_say(int status);
static inline struct ring_process_record *session_record(const struct session *session)
{
    return (struct ring_process_record *)(void *)(session->base + session->geometry.process_off);
}
bool session_clock_is_tsc(void); /* reading it is no system call; true where there is no ring */

/* ---- session_map.c: no libc, no thread-local storage ---- */

/* Maps and checks ring, host page and process page, and publishes them to all threads. A ring that
 * is the current session's own keeps its session. The descriptors stay the caller's. Returns
 * SKEIN_OK; SKEIN_INVALID (a seal, size, magic or version is wrong; nothing changed);
 * SKEIN_NO_MEMORY. One thread at a time. */
int session_map(int ring_fd, int host_fd, int process_fd, const char *service);

/* Whether the kernel locks what is mapped from now on, as the preload library was told (mlockall): a
 * ring that comes is mapped without it, or the program would pay for all of its pages. Any thread. */
extern uint32_t session_locks; /* atomic */
static inline bool session_is_locked(void)
{
    return skein_load32(&session_locks) != 0;
}
static inline void session_lock_say(bool locked)
{
    if (session_is_locked() != locked)
        skein_store32(&session_locks, locked);
}

/* Begins the next string epoch in the other half. The table's lock must be held, or the ring not
 * yet published. */
void table_open(struct session *session);
static inline struct ring_table *table_half(const struct session *session, uint32_t epoch)
{
    return (struct ring_table *)(void *)(session->base + session->geometry.table_off[epoch % 2]);
}

#endif
