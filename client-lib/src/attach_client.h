/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's end of the agent's socket: decides when the visitor (visitor.h) comes and when it
 * leaves, and hands requests to it. Included by client-lib/src, the preload library and tests.
 *
 *             started, or forked            ATTACH_YOUNG_MS old         fork, setuid, unshare ...
 *   not asked ------------------> young ------------------------> here -------------------> away
 *       ^                           |                               ^                         |
 *       |  stop                     | the program bars it           | an event, a second later|
 *       +----------- any            +-----> never <-----------------+-------------------------+
 *
 * Young and away, each event looks at the clock (attach_client_event). A young process has no ring,
 * and its events are not recorded; one that is away goes on recording.
 */
#ifndef ATTACH_CLIENT_H
#define ATTACH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/skein_atomic.h"
#include "visitor.h"

struct start_settings;

/* A process that ends before this age costs no thread, no map and no word with the agent. The one
 * that was started as the service attaches at once (preload_main.c). */
#define ATTACH_YOUNG_MS 50
/* How long the visitor stays away at least. */
#define ATTACH_AWAY_MS 1000

/* Not 0: an event should call attach_client_event(). Relaxed. */
extern uint32_t attach_client_wanted;

/* Lets the visitor come now, or when the process is young_ms old; the texts, which fit, are copied.
 * Returns SKEIN_OK (also when it was started before), SKEIN_AGAIN (no thread to be had),
 * SKEIN_NO_MEMORY. Not signal-safe. */
int attach_client_start(const struct start_settings *settings);

/* Whether a ring may still come: started, not ended, and system calls are not barred. */
bool attach_client_asked(void);

/* Says BYE and waits until the visitor is gone. */
void attach_client_end(void);
/* The same, and no record is started any more when it returns. */
void attach_client_stop(void);

/* An event has come: time to attach? Any thread; signal-safe. */
void attach_client_event(void);

/* How long the process still is young or away: 0, no longer; -1, nothing is awaited. */
int64_t attach_client_due_ns(void);

/* The calling thread is about to wait for `ns` at most (INT64_MAX: who knows), in a young process:
 * lets the visitor come now if it would come meanwhile, if only there were an event. */
void attach_client_block(int64_t ns);

/* The same for a wait that most young processes are soon back from: the visitor is made, and sleeps
 * until the process is old. Keeps errno. */
void attach_client_ahead(int64_t ns);

/* Between these two there is no visitor: the calls nest, in any thread. hold() returns when it is
 * gone, also out of /proc/self/task. Keep errno. */
void attach_client_hold(void);
void attach_client_release(void);
/* Both: it is gone, and does not come within 50 ms, whatever is still due: the program is about to look
 * how many threads it has. Who looks all the time puts it off for two seconds at most. */
void attach_client_leave(void);

/* For a program that is about to bar system calls to itself: attaches now if that is still to be
 * done, and from then on uses none that it need not use; the visitor never comes back. In a vfork
 * child that holds until its end. Between hold() and release(). False: it was barred already. If
 * it did not come to it, unbar(). */
bool attach_client_bar(void);
void attach_client_unbar(void);

/* Not 0: barred, for good or by a child that shares the memory. */
extern uint32_t attach_client_barred, attach_client_child_barred;

/* Whether a traced thread may call no new system call. */
static inline bool attach_client_is_barred(void)
{
    return skein_load32(&attach_client_barred) || skein_load32(&attach_client_child_barred);
}

/* Whether the caller is no process of the C library's: a vfork child, most often. */
bool attach_client_is_borrower(void);

/* Around fork(). */
void attach_client_fork_before(void);
void attach_client_fork_parent(void);
void attach_client_fork_child(void);

/* Waits until a ring is attached, and does not wait to be old enough: SKEIN_OK or SKEIN_TIMEOUT. */
int attach_client_wait(unsigned timeout_ms);

/* Attaches before it returns, if an agent answers at the first attempt, and in time; else the visitor
 * goes on trying. All calls of a process together wait for ATTACH_NOW_MS: an agent that is stopped
 * must delay nobody. */
#define ATTACH_NOW_MS 5
int attach_client_now(void);

/* Hands SNAPSHOT to the agent; signal-safe; waits for the visitor to do so, some milliseconds at
 * most. Returns SKEIN_OK, SKEIN_CLOSED or SKEIN_AGAIN. */
int attach_client_snapshot(const char *reason);

/* Hands HEALTH to the visitor, unless the same was said a moment ago; signal-safe. Returns
 * SKEIN_OK, SKEIN_CLOSED, SKEIN_AGAIN or SKEIN_UNSUPPORTED. */
int attach_client_health(bool ok, const char *why);

#endif
