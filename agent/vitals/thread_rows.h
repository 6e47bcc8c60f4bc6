/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads of attached processes did from look to look, for the last VITALS_SECONDS: one ring
 * for all of them, the oldest go first. A thread that did nothing takes no room. THREAD_ROWS_MAX
 * rows of 64 bytes, 4 MB at most. One thread adds, any reads.
 */
#ifndef THREAD_ROWS_H
#define THREAD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_look.h"

#define THREAD_ROWS_MAX 65536

/* In the over_us before at_ns. Numbers that do not fit are the highest. */
struct thread_row {
    uint64_t at_ns, start_ticks; /* start_ticks: of its process */
    uint32_t pid, tid;
    uint32_t over_us;
    uint32_t run_us, wait_us; /* on a CPU; ready and not on one */
    uint32_t voluntary, involuntary;
    char name[THREAD_NAME_BYTES];
};

struct thread_rows;
int thread_rows_new(struct thread_rows **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void thread_rows_free(struct thread_rows **rows);

/* In the order of time. Where there is no memory for one more, the oldest goes. */
void thread_rows_add(struct thread_rows *rows, const struct thread_row *row);

/* A copy of a process's rows in [from_ns, to_ns], by tid and time, which the caller frees, and since
 * when the ring has all; 0: it has never let one go. SKEIN_OK, SKEIN_NO_MEMORY. */
int thread_rows_of(struct thread_rows *rows, uint32_t pid, uint64_t start_ticks, uint64_t from_ns,
                   uint64_t to_ns, struct thread_row **list, size_t *count, uint64_t *whole_ns);

size_t thread_rows_bytes(struct thread_rows *rows); /* of memory, now */

#endif
