/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the writer share: the thread's cold half, and the calls between chunk, table,
 * thread and slow path. Included by client-lib/src and its tests only: the preload tracer has start.h
 * and emit.h.
 */
#ifndef WRITER_INT_H
#define WRITER_INT_H

#include "bound.h"
#include "session.h"
#include "writer_atomic.h"

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

/* ---- thread_cold.c ---- */
void thread_cold_prepare(void); /* makes the calling thread's cold half while it still can */
int thread_cold_init(void);     /* once per process: the exit hook */
/* The calling thread's cold half, made if need be; NULL: no memory. The main lane must be held. */
struct thread_cold *thread_cold_get(void);
/* Gives the thread a slot of `session` if it has none and one is free, with the main lane held. */
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
 * (lock busy, table full and the other half still in use): then write the event self-described.
 * The lane must be held, and is the calling thread's. */
uint64_t table_site_id(struct session *session, const struct skein_lane *lane,
                       struct skein_site *site);
uint64_t table_string_id(struct session *session, const struct skein_lane *lane,
                         struct skein_string *string);
struct stack_frames;
/* The same of a stack, with a description of the code that it leads through. */
uint64_t table_stack_id(struct session *session, const struct skein_lane *lane,
                        const struct stack_frames *frames);
bool table_knows_site(const struct session *session, const struct skein_site *site);
/* Lets go of the lock if a handler jumped out of a record of this lane while this thread held it
 * for the lane; of the main lane: for either, as the signal lane's records lie below. */
void table_recover(const struct skein_lane *lane);
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
uint64_t ticks_of_ns(const struct skein_view *view, uint64_t ns);
size_t leb_put(uint8_t *to, uint64_t value); /* 1 to 10 bytes */

/* ---- stack_record.c ---- */
#define STACK_NEED        16 /* bytes that a STACK record takes at most */
#define STACK_TICKS_NEVER UINT64_MAX
/* From which duration on a record carries a stack. */
uint64_t stack_ticks_of(const struct skein_view *view);
/* Puts a STACK record at p, behind the record that is being written in the lane, if there is a
 * stack to be had. Frames begin with the caller of the function that `frame` is of. Returns the
 * place behind. */
uint8_t *stack_record_put(const struct skein_lane *lane, uint8_t *p, const void *frame);

#endif
