/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread dump: evidence of kind `threads` (docs/evidence.md). A source without state; it is
 * asked when a capture begins.
 */
#ifndef THREAD_DUMP_H
#define THREAD_DUMP_H

#include "evidence.h"

/* Threads that are looked at, and those of which a stack is taken. */
#define DUMP_THREADS_MAX 4096
#define DUMP_STACKS_MAX  512
#define DUMP_STACK_BYTES (64u << 10)
#define DUMP_STOP_NS     UINT64_C(50000000)
/* A dump that goes on so long after its deadline hangs, and is given up; the longest deadline. */
#define DUMP_GRACE_NS UINT64_C(250000000)
#define DUMP_NS_MAX   UINT64_C(60000000000)

extern const struct evidence_source thread_dump_source;

/* What of a dump this process may not take of any program, or of other users' programs, and what
 * would allow it; "": it may, unless such a program is protected in its own way. Any thread. */
void thread_dump_refused(char *why, size_t bytes);

#endif
