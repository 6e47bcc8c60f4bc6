/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of made incidents: threads of processes that do what the preload tracer would have recorded
 * (docs/what-is-recorded.md), and what an agent would have told beside it (docs/evidence.md). All
 * randomness is of one seed. Failures end the test. One owner.
 *
 * Times are nanoseconds since the trace's begin. Events may be added in any order.
 */
#ifndef INCIDENT_MAKE_H
#define INCIDENT_MAKE_H

#include "buf.h"
#include "partition_writer.h"

#define INCIDENT_T0_NS UINT64_C(1795254000000000000) /* 2026-11-21T09:40:00Z */
#define INCIDENT_MS    UINT64_C(1000000)
#define INCIDENT_S     UINT64_C(1000000000)

struct incident;

struct incident_event {
    const struct partition_event_type *type;
    const char *thread; /* name; NULL: of evidence on `process` or `host`, by the type */
    uint32_t tid;
    uint64_t from_ns, dur_ns;
    struct partition_value args[8];
    bool open, evidence;
    bool stands_in; /* its thread is none (F-21) */
    bool stack;     /* it has one: work, serve, main */
};

struct incident *incident_new(uint64_t seed);
void incident_free(struct incident **incident);

uint64_t incident_random(struct incident *in, uint64_t from, uint64_t to); /* both included */
/* So much, give or take a quarter. */
uint64_t incident_about(struct incident *in, uint64_t ns);

/* A process: its number. start_ns: before the trace's begin. */
size_t incident_process(struct incident *in, const char *service, uint32_t pid, uint64_t age_ns);
/* A part of its record is left out, when there are cuts; its wall clock steps then. */
void incident_lose(struct incident *in, size_t process, uint64_t from_ns, uint64_t to_ns);
void incident_step(struct incident *in, size_t process, uint64_t at_ns, int64_t by_ns);
void incident_die(struct incident *in, size_t process, int32_t signal);
void incident_exe(struct incident *in, size_t process, const char *exe);
/* From now on all threads stand for something else. */
void incident_stand_ins(struct incident *in);

void incident_add(struct incident *in, size_t process, const struct incident_event *event);

/* The trace: cuts of each process each cut_ns, then its evidence. The incident's. */
const struct buf *incident_finish(struct incident *in, uint64_t cut_ns);

/* ---- types, as they are recorded ---- */

extern const struct partition_event_type incident_read, incident_write, incident_fsync,
    incident_recv, incident_send, incident_connect, incident_epoll, incident_accept, incident_mutex,
    incident_cond, incident_sleep, incident_loop, incident_request, incident_queue, incident_memory,
    incident_fd, incident_runnable, incident_run, incident_blocked, incident_neighbour,
    incident_await, incident_disk_queue, incident_load;

/* A call or wait on a thread. */
void incident_call(struct incident *in, size_t process, uint32_t tid,
                   const struct partition_event_type *type, uint64_t from_ns, uint64_t dur_ns,
                   int64_t a, int64_t result, int64_t more);

#endif
