/* SPDX-License-Identifier: Apache-2.0
 *
 * How recording starts, for the preload tracer and for skein_start() (options.c). Any thread.
 */
#ifndef START_H
#define START_H

#include "skein/skein.h"

#define START_SOCKET "/run/skein/agent.sock"
struct start_settings {
    const char *service, *labels, *socket_path; /* copied */
    uint64_t ring_bytes;
    enum skein_mode mode;
    unsigned young_ms;     /* attach at this age */
    bool is_service;       /* what was started, by whoever named it: no program that that starts */
    void (*prepare)(void); /* called before the process is first recorded, once; or NULL. Any
                            * thread, also in a signal handler. */
};
/* Changes nothing where recording was started before. SKEIN_INVALID: a text is too long, or labels
 * are none. */
int start_recording(const struct start_settings *settings);

/* skein_start() for a program that knows nothing of it: attaches when it is young_ms old. */
int start_when_old(const struct skein_options *options, unsigned young_ms);

void start_fork_child(void); /* in the child of a fork that the C library's handlers do not see */

#endif
