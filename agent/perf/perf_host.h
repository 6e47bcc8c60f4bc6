/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings of all CPUs of this host, as many as are online, within a bound of memory. Opens them,
 * and again when CPUs come; the ring of one that went is kept, for what it holds, until it is back.
 * The loop's thread makes and looks, one other reads; a mutex of its own, which the loop never
 * waits for.
 */
#ifndef PERF_HOST_H
#define PERF_HOST_H

#include "perf_record.h"

#define PERF_HOST_WHY_BYTES 160

struct perf_host_settings {
    unsigned hz;         /* 0: nothing is opened */
    uint64_t reach_ms;   /* of a CPU that is busy all the time */
    uint64_t memory_max; /* of all rings together, bytes */
    const char *online;  /* file that lists the CPUs; NULL: the kernel's */
};

struct perf_host;

/* SKEIN_OK, also where the kernel refuses: perf_host_state tells; SKEIN_NO_MEMORY. */
int perf_host_new(const struct perf_host_settings *settings, struct perf_host **out);
void perf_host_free(struct perf_host **host);

/* Looks which CPUs came and went; to be called every few seconds. */
void perf_host_look(struct perf_host *host);

struct perf_host_state {
    unsigned hz, cpus;             /* cpus: with a ring */
    unsigned refused;              /* online, but without one */
    size_t ring_bytes;             /* the smallest ring's */
    uint64_t bytes;                /* of all rings */
    uint64_t reach_ms;             /* of the smallest ring, its CPU being busy all the time */
    char why[PERF_HOST_WHY_BYTES]; /* of those refused: the error, and what would allow it; or "" */
};
void perf_host_state(struct perf_host *host, struct perf_host_state *out);

struct perf_reach {
    uint64_t from_ns;  /* since when nothing is missing, CLOCK_MONOTONIC */
    uint64_t busy_ns;  /* CPU time of all samples in the window */
    uint64_t room_ns;  /* time of the CPUs that were read, in the window */
    uint64_t lost;     /* samples that the kernel could not write */
    uint64_t unread;   /* records that did not read */
    unsigned cpus;     /* that were read */
    unsigned not_read; /* as the deadline was over, or for want of memory */
};

/* Gives the samples of [from_ns, to_ns] to fn, of one CPU after the other, each newest first. A
 * deadline that is over ends it between CPUs. `from_ns` in *out is to_ns where nothing was read. */
void perf_host_collect(struct perf_host *host, uint64_t from_ns, uint64_t to_ns,
                       uint64_t deadline_ns, perf_sample_fn *fn, void *context,
                       struct perf_reach *out);

/* Bytes of a ring that reaches so far back on a busy CPU: a power of two. */
size_t perf_host_ring_bytes(unsigned hz, uint64_t reach_ms);

/* A sentence on an errno of perf_event_open: what failed, and what would allow it. */
void perf_host_why(int error, char out[PERF_HOST_WHY_BYTES]);

#endif
