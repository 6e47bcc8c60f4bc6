/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the writer share: the session (one attached ring), the thread's cold half, and
 * the calls between chunk, table, thread and slow path. Included by client-lib/src and its tests
 * only.
 */
#ifndef WRITER_INT_H
#define WRITER_INT_H

#include "ring_layout.h"
#include "skein/skein.h"
#include "writer_atomic.h"

#define SHELF_MAX 64

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
    /* under table_lock */
    uint32_t table_lock;
    uint32_t epoch; /* also read without the lock */
    uint32_t table_used;
    uint32_t next_event, next_string;
    uint64_t blocked_at; /* chunk claims when an epoch switch last failed, + 1; 0: none has */
};

struct lane_cold {
    const struct session *session; /* whose chunk the lane holds */
    struct ring_chunk *chunk;
    struct ring_segment *segment; /* of the chunk */
    uint32_t epoch;               /* of the chunk */
    /* What it is just taking or giving, so that a handler may jump away between any two steps: it
     * did take what bears its ticket. */
    uint32_t ticket;
    struct ring_chunk *claimed; /* NULL: none */
    uint64_t *place, word;      /* of the shelf, and the chunk it is about; NULL: none */
    uint64_t sequence;
    uint64_t lost;  /* no chunk tells of it in its place yet; atomic: deeper handlers add */
    uint32_t flags; /* of its chunks */
    bool filled;  /* it wrote the chunk before fast enough to fill it in a second: take a big one */
    bool settled; /* it had a chunk to itself before */
    struct skein_open_range open[SKEIN_OPEN_MAX];
};

enum lane_index { LANE_MAIN = 0, LANE_SIGNAL = 1 };

/* What a thread needs beside its lane; mapped on its first event, gone with it. */
struct thread_cold {
    struct skein_lane signal_lane;
    struct lane_cold lanes[2];
    const struct session *slot_session; /* set last: the signal lane looks at it */
    struct ring_slot *slot;             /* NULL: none free */
    uint32_t slot_index, incarnation, tid;
    char name[32];
    uint64_t op_frame; /* frame of the outermost operation in progress; 0: none */
    const struct session *op_session;
    struct ring_slot *op_slot;
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
/* An event came that no ring takes: when the first did is told in the ring that comes. */
void session_miss(void);
extern uint64_t session_missed; /* atomic */
static inline uint64_t session_missed_ns(void)
{
    return __atomic_load_n(&session_missed, __ATOMIC_SEQ_CST);
}
void session_missed_set(uint64_t ns); /* 0: none, in a fork child */
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

/* Begins the next string epoch in the other half. The table's lock must be held, or the ring not
 * yet published. */
void table_open(struct session *session);
static inline struct ring_table *table_half(const struct session *session, uint32_t epoch)
{
    return (struct ring_table *)(void *)(session->base + session->geometry.table_off[epoch % 2]);
}

/* ---- start.c ---- */
#define START_SOCKET "/run/skein/agent.sock"
struct start_settings {
    const char *service, *labels, *socket_path; /* copied */
    uint64_t ring_bytes;
    enum skein_mode mode;
    unsigned young_ms;     /* attach at this age */
    void (*prepare)(void); /* called before the process is first recorded, once; or NULL. Any
                            * thread, also in a signal handler. */
};
/* Changes nothing where recording was started before. SKEIN_INVALID: a text is too long, or labels
 * are none. */
int start_recording(const struct start_settings *settings);

/* ---- options.c ---- */
/* skein_start() for a program that knows nothing of it: attaches when it is young_ms old. */
int start_when_old(const struct skein_options *options, unsigned young_ms);

/* ---- start.c ---- */
void start_fork_child(void); /* in the child of a fork that the C library's handlers do not see */

/* ---- thread_cold.c ---- */
void thread_cold_prepare(void); /* makes the calling thread's cold half while it still can */
int thread_cold_init(void);     /* once per process: the exit hook */
/* The calling thread's cold half, made if need be; NULL without memory. The main lane must be held.
 */
struct thread_cold *thread_cold_get(void);
/* Gives the thread a slot of `session` if it has none and one is free. The main lane must be held.
 */
void thread_slot_join(struct thread_cold *cold, struct session *session);
/* In a fork child. Whether its one thread forked in a handler that had interrupted the tracer. */
bool thread_child_reset(void);

/* ---- chunk.c ---- */
/* Retires the lane's chunk and finds one with room for `need` payload bytes beside the open ranges;
 * begins a segment in it and commits that. False: none to be had; the lane then holds no chunk. */
bool chunk_next(struct session *session, struct thread_cold *cold, struct skein_lane *lane,
                struct lane_cold *lane_cold, const struct skein_view *view, size_t need);
/* Retires what the lane had, or was taking or giving, when a handler jumped away. */
void chunk_recover(const struct session *session, struct skein_lane *lane,
                   struct lane_cold *lane_cold);
/* The thread ends: leaves the lane's chunk to another one. */
void chunk_leave(struct session *session, struct skein_lane *lane, struct lane_cold *lane_cold);
/* Whether a chunk may still hold ids of `epoch` or of one before it. */
bool chunk_refers(const struct session *session, uint32_t epoch);

/* ---- table.c ---- */
/* The id of a site or string, registered if need be: {epoch, id}, or 0 where none is to be had now
 * (lock busy, table full and the other half still in use): then write the event self-described. */
uint64_t table_site_id(struct session *session, struct skein_site *site);
uint64_t table_string_id(struct session *session, struct skein_string *string);
bool table_knows_site(const struct session *session, const struct skein_site *site);
/* Lets go of the lock if a handler jumped out while this thread held it. */
void table_recover(void);
void table_child_reset(void); /* in a fork child */

/* ---- writer_slow.c ---- */
/* Opens a record wherever the calling code may write one; p is NULL where it may not, counted. */
struct skein_record slow_record(struct skein_site *site, size_t need);
/* The frame of the record that is being written in the lane; 0: none. */
uint64_t lane_busy(const struct skein_lane *lane);
void lane_take(struct skein_lane *lane, uint64_t frame);
void lane_drop(struct skein_lane *lane); /* closed: the next record goes the slow way */
/* Whether the record that is busy at that frame can no longer be below `frame`: a handler jumped
 * out of it. */
bool busy_is_stale(uint64_t busy, uint64_t frame);
/* A handler jumped out of a record of this lane: its chunk ends with what was committed, because
 * what the lane knows of time and place may be half a record old. The lane must be held. */
void lane_recover(struct skein_lane *lane, struct lane_cold *lane_cold);
/* Its chunk stays as it is: of a ring whose agent is gone, or the parent's. */
void lane_forget(struct skein_lane *lane, struct lane_cold *lane_cold);

uint64_t ticks_now(const struct skein_view *view);
size_t leb_put(uint8_t *to, uint64_t value); /* 1 to 10 bytes */

#endif
