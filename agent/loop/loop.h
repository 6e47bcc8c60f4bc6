/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's event loop: descriptors, timers, and work posted from other threads. One thread runs
 * loop_run; only loop_post and loop_stop may be called from others (loop_stop from a signal handler
 * too).
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>

#include "skein/status.h"

struct loop;
struct loop_timer; /* owned by the loop; valid until it fired (one-shot) or loop_timer_cancel */

typedef void loop_fd_fn(void *context, uint32_t epoll_events);
typedef void loop_fn(void *context);

int loop_new(struct loop **out);
void loop_free(struct loop **loop); /* runs nothing more; contexts stay their owners' */

int loop_fd_add(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn *fn, void *context);
/* allowed inside callbacks; no call for fd follows */
void loop_fd_remove(struct loop *loop, int fd);

/* Runs fn once after delay_ms, or every delay_ms where repeat is not 0. NULL when out of memory. */
struct loop_timer *loop_timer_add(struct loop *loop, uint64_t delay_ms, int repeat, loop_fn *fn,
                                  void *context);
void loop_timer_cancel(struct loop *loop, struct loop_timer **timer);

/* any thread; runs fn soon on the loop's */
int loop_post(struct loop *loop, loop_fn *fn, void *context);
/* Until loop_stop; what was posted before still runs. SKEIN_OK, or SKEIN_IO where the kernel's wait
 * failed. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* stays in force if it comes before loop_run */

#endif
