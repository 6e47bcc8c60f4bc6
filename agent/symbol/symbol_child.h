/* SPDX-License-Identifier: Apache-2.0
 *
 * The program skein-symbolizer as a child: begun when it is needed, ended when it hangs, begun anew
 * after a pause that doubles. The symbolizer's thread. Its answers are hostile bytes.
 *
 * It has the agent's priority while somebody waits for it, and a much lower one otherwise: on a busy
 * machine that one gets a hundredth of a processor, and a walk of 50 ms took longer than its caller
 * waited. An agent that may not raise a priority again (RLIMIT_NICE) leaves it low.
 */
#ifndef SYMBOL_CHILD_H
#define SYMBOL_CHILD_H

#include <stdbool.h>

#include "child.h"
#include "symbol_wire.h"

struct symbol_child {
    const char *program; /* the owner's */
    uint64_t memory_bytes, hang_ns;
    bool hurries; /* somebody waits for it */
    struct child process;
    uint32_t failures;   /* since the last good answer */
    uint64_t pause_ns;   /* monotonic; none is begun before */
    uint64_t used_bytes; /* of memory, as it says */
    uint64_t life;       /* how many were begun: another one knows nothing of what one was told */
    uint64_t crashed, hung;
};

void symbol_child_init(struct symbol_child *child, const char *program, uint64_t memory_bytes,
                       uint64_t hang_ns);
void symbol_child_stop(struct symbol_child *child);

/* Whether somebody waits for what it does next. */
void symbol_child_hurry(struct symbol_child *child, bool hurries);

/* One that runs, begun now if need be. SKEIN_OK; SKEIN_AGAIN: it failed lately, and there is a pause;
 * SKEIN_NOT_FOUND: there is no such program; SKEIN_IO. */
int symbol_child_ready(struct symbol_child *child);

/* Sends a request (of symbol_begin and symbol_end) with its descriptors, which stay the caller's,
 * and waits for the answer. *answer is in *reply's bytes, behind memory and status. Returns its
 * status; SKEIN_CLOSED: the child died of it; SKEIN_TIMEOUT: it hung, and was ended; both also where
 * its answer was none. One that has not had a processor for so long does not hang. *reply is cleared
 * first. */
int symbol_child_ask(struct symbol_child *child, const struct buf *request, const int *fds,
                     size_t fd_count, struct buf *reply, struct cursor *answer);

#endif
