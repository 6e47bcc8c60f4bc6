/* SPDX-License-Identifier: Apache-2.0
 *
 * What evidence_subject.c says of itself, in a file that it and the test map. Declarations only.
 */
#ifndef EVIDENCE_SUBJECT_H
#define EVIDENCE_SUBJECT_H

#include <stdint.h>

#define SUBJECT_TURNS 32768 /* of which the newest are there */

/* At time_ns (CLOCK_REALTIME), or just before. */
struct subject_turn {
    uint64_t time_ns;
    uint64_t thread_ns, process_ns; /* CPU time so far */
    uint64_t gave_way, preempted;   /* how often so far */
};

struct subject_turns {
    _Atomic uint64_t count; /* ever */
    struct subject_turn turns[SUBJECT_TURNS];
};

struct subject_page {
    _Atomic uint32_t ready, stop;
    uint32_t pid;
    _Atomic uint32_t burner, sleeper,
        waiter;                      /* tids; the waiter waits for a mutex of the main one */
    int32_t file, pipe[2], listener; /* descriptors */
    uint16_t port;                   /* that the listener has, on loopback */
    struct subject_turns burns, sleeps;
};

#endif
