/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the agent's log that processes can cause as often as they like: a few of each kind a
 * minute, then their number. Loop thread only.
 */
#ifndef AGENT_LOG_H
#define AGENT_LOG_H

#include "log_limit.h"
#include "process.h"

/* kind, the line's words, lines a minute */
#define AGENT_LINE_LIST(X)                                                                         \
    X(ATTACHED, "attached", 60)                                                                    \
    X(WATCHED, "watched from outside", 60)                                                         \
    X(ENDED, "ended", 60)                                                                          \
    X(CRASHED, "crashed", 60)                                                                      \
    X(REFUSED, "refused", 20)                                                                      \
    X(CRASH_HELD, "crash within the cooldown: not captured", 20)                                   \
    X(CRASH_REFUSED, "crash not captured", 20)                                                     \
    X(EXIT_HELD, "a failing end that is no service's: not captured", 20)
enum agent_line {
#define X(kind, words, most) AGENT_LINE_##kind,
    AGENT_LINE_LIST(X)
#undef X
        AGENT_LINES
};

struct agent_log {
    struct log_limit limits[AGENT_LINES];
};

/* Writes a line about the process, or counts it; reason NULL: none. */
void agent_log_process(struct agent_log *log, enum agent_line kind, const struct process *p,
                       const char *reason);

/* The same for a process's requests for snapshots that are not taken: one line a minute of each. */
void agent_log_snapshot(struct process *p, const char *why, const char *reason);

/* Tell the number of lines that were held back, once their minute is over; `last`: at once.
 * _process: of the process's snapshots. */
void agent_log_tell(struct agent_log *log, bool last);
void agent_log_tell_process(struct process *p, bool last);

#endif
