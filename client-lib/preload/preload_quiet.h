/* SPDX-License-Identifier: Apache-2.0
 *
 * A stretch of a call in which the thread handles no signal but inside of the kernel's wait, which
 * is given the mask from before (ppoll, sigsuspend). A wrapper that does work of its own in front
 * of a wait needs it where that work takes long: a program that waits for a signal would not be
 * woken by one that came meanwhile. Included by the preload library's files only. Keeps errno.
 */
#ifndef PRELOAD_QUIET_H
#define PRELOAD_QUIET_H

#include <pthread.h>
#include <signal.h>

struct quiet {
    sigset_t before;
};

static inline void quiet_begin(struct quiet *quiet)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &quiet->before);
}

/* Also where the thread is cancelled in the wait. */
static inline void quiet_end(const struct quiet *quiet)
{
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

#endif
