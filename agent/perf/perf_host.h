/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings of all CPUs of this host, as many as are online, within a bound of memory: of samples,
 * or of some of the kernel's events. Opens them, and again when CPUs come; the ring of one that went
 * is kept, for what it holds, until it is back. The loop's thread makes and looks, one other reads; a
 * mutex of its own, which the loop never waits for.
 */
#ifndef PERF_HOST_H
#define PERF_HOST_H

#include "buf.h"
#include "perf_record.h"
#include "perf_ring.h"

#define PERF_HOST_WHY_BYTES 160

struct perf_host_settings {
    unsigned hz;         /* 0, and no watches: nothing is opened, now or later */
    uint64_t reach_ms;   /* of a CPU that is busy all the time */
    uint64_t memory_max; /* of all rings together, bytes */
    const char *online;  /* file that lists the CPUs; NULL: the kernel's */
    /* In place of samples; copied, but for their texts. hz and reach_ms are not looked at. */
    struct perf_watch watches[PERF_WATCHES_MAX];
    size_t watch_count;
    size_t watch_bytes; /* of a ring: a power of two */
};

struct perf_host;

/* SKEIN_OK, also where the kernel refuses: perf_host_state tells; SKEIN_NO_MEMORY. */
int perf_host_new(const struct perf_host_settings *settings, struct perf_host **out);
void perf_host_free(struct perf_host **host);

/* How often the CPUs are sampled from the next look on. A ring that changes begins anew, of a size
 * for its rate; where the kernel refuses that, it stays as it was, which perf_host_state tells. Who
 * calls it is who looks. */
void perf_host_set_hz(struct perf_host *host, unsigned hz);

/* Looks which CPUs came and went; to be called every few seconds. */
void perf_host_look(struct perf_host *host);

struct perf_host_state {
    unsigned hz, cpus; /* the slowest ring's; with a ring */
    unsigned refused;  /* online, but without one */
    size_t ring_bytes; /* the smallest ring's */
    uint64_t bytes;    /* of all rings */
    uint64_t reach_ms; /* of the smallest ring, its CPU being busy all the time; not of watches */
    /* Of those refused, or not sampled as often as they should be: the error, and what would allow
     * it; or "" */
    char why[PERF_HOST_WHY_BYTES];
};
void perf_host_state(struct perf_host *host, struct perf_host_state *out); /* waits for nobody */

struct perf_reach {
    uint64_t from_ns;  /* since when nothing is missing, CLOCK_MONOTONIC */
    uint64_t busy_ns;  /* CPU time of all samples in the window */
    uint64_t room_ns;  /* time of the CPUs that were read, in the window */
    uint64_t lost;     /* samples that the kernel could not write */
    uint64_t unread;   /* records that are no samples */
    unsigned cpus;     /* that were read */
    unsigned not_read; /* as the deadline was over, or for want of memory */
};

/* What is wished of a window, CLOCK_MONOTONIC. A deadline that is over ends it between CPUs. */
struct perf_wish {
    uint64_t from_ns, to_ns, deadline_ns;
    uint32_t pid;  /* of its samples, all is wished; of others, how long who ran */
    bool everyone; /* all is wished of everyone's; `pid` and `other` are not looked at */
    /* The records of its samples on one CPU, newest first; the host's memory, for the call. */
    void (*own)(void *context, const uint8_t *records, size_t n);
    void (*other)(void *context, uint32_t pid, uint64_t ns); /* the rings' mutex is held */
    void *context;
};

/* Gives what is wished, one CPU after the other, own() once for each. `from_ns` in *out is to_ns
 * where nothing was read. */
void perf_host_collect(struct perf_host *host, const struct perf_wish *wish,
                       struct perf_reach *out);

/* Narrows [*from_ns, *to_ns] to the time in which the process ran the program that it ran at at_ns:
 * between two of its calls of exec, as far as the rings know of them. */
void perf_host_program(struct perf_host *host, uint32_t pid, uint64_t at_ns, uint64_t *from_ns,
                       uint64_t *to_ns);

/* Bytes of a ring that reaches so far back on a busy CPU: a power of two. */
size_t perf_host_ring_bytes(unsigned hz, uint64_t reach_ms);

/* A sentence on an errno of perf_event_open: what failed, and what would allow it. */
void perf_host_why(int error, char out[PERF_HOST_WHY_BYTES]);

#endif
