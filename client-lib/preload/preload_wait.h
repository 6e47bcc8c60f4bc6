/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait: the region around one call that may block. Opened before the real call, closed when it
 * returns, when the thread is cancelled in it, or when a signal handler jumps out of it. Included
 * by the preload library's files only.
 *
 *     ssize_t read(int fd, void *buffer, size_t bytes)
 *     {
 *         WAIT(read, fd);
 *         return wait_size(&wait, REAL(read)(fd, buffer, bytes));
 *     }
 *
 * Nothing here changes errno.
 */
#ifndef PRELOAD_WAIT_H
#define PRELOAD_WAIT_H

#include <errno.h>
#include <sys/types.h>

#include "bound.h"
#include "preload_real.h"
#include "preload_site.h"

/* The one set of symbols that leave the library: the wrappers. */
#define EXPORT __attribute__((visibility("default")))

struct wait;
struct words;
typedef void words_fn(struct wait *wait, struct words *words); /* see preload_words.h */

struct wait {
    struct skein_op op; /* start == 0: not recorded */
    unsigned jumps;     /* of the thread, when it began */
    int64_t result;     /* what the call returned; -errno where it failed */
    /* Arguments 2 and 3 of the event, where it has them; or what words_of() makes them of. */
    union skein_value more[2];
    words_fn *words_of; /* NULL: they are as they are */
};

/* `caller` is the wrapper's return address: calls that this library makes itself are not traced. */
void wait_begin(struct wait *wait, enum site site, int64_t detail, const void *caller);
void wait_end(struct wait *wait);

/* Closes the waits of this thread, innermost first, because it is about to jump out of them. */
void wait_abandon_all(void);

/* Whether `caller` lies in this library. */
bool caller_is_own(const void *caller);

/* The stack of a recorded process's waits: how to walk it. Any thread, also in a signal handler. */
void wait_stacks_prepare(void);

/* ---- event loops: the work between two polls (see preload_wait.c) ---- */
void loop_before_poll(const void *caller);
void loop_after_poll(const void *caller, int ready);

/* Ends the loop's region with its thread. */
void loop_end(void);

/* ---- process ---- */

/* Sets the thresholds that hold where the agent has set none. Before wait_enable(). */
void wait_thresholds(uint64_t io_ns);

/* Until it is called, wrappers only pass on. */
void wait_enable(void);

/* In the child of a fork: its one thread starts with no wait and no loop. */
void wait_forked(void);

/* The calling thread is one of ours: nothing it does is traced. */
void wait_ignore_thread(void);

/* Some thread's name was set by another thread; each looks its own up when it next waits. */
void names_changed(void);

#define CALLER __builtin_return_address(0)

#define WAIT_FROM(name, detail, caller)                                                            \
    struct wait wait __attribute__((cleanup(wait_end)));                                           \
    wait_begin(&wait, SITE_##name, (int64_t)(detail), caller)
#define WAIT(name, detail) WAIT_FROM(name, detail, CALLER)

#define ADDRESS(pointer) ((int64_t)(uintptr_t)(pointer))

/* A system call by its number, as a wait where it is one (preload_raw.c). */
long numbered_call(long number, const long a[6], const void *caller);

/* The same for those that change who the program is; see preload_identity.c. */
long identity_call(long number, const long a[6]);

/* Where the path is one that tells threads (/proc/PID/task), the visitor is gone when this returns:
 * true. */
bool tasks_leave(const char *path);

/* Remember what the call returned, and return it: -1 with errno, or an error number. */
static inline ssize_t wait_size(struct wait *wait, ssize_t result)
{
    wait->result = result < 0 ? -errno : result;
    return result;
}

static inline int wait_int(struct wait *wait, int result)
{
    wait->result = result < 0 ? -errno : result;
    return result;
}

#define RESULT_ssize_t wait_size
#define RESULT_int     wait_int

static inline int wait_error(struct wait *wait, int error)
{
    wait->result = -error;
    return error;
}

#endif
