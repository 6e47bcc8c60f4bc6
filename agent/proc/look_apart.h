/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at processes on a thread apart, as a look may hang in the kernel for as long as somebody likes:
 * a page of a process may be of a file system whose server never answers (FUSE) or be filled by another
 * process (userfaultfd), and a process may stand still in the middle of exec, where it holds locks that
 * /proc and ptrace wait for. Who asks waits for a time, and goes on without what he asked for; the thread
 * stays until the kernel lets it go, and has no descriptors but the first three.
 *
 *     asker     apart_run ──────────────┬─ SKEIN_OK: the context is his again
 *                                       └─ SKEIN_TIMEOUT: it stays the thread's, which drops it
 *     thread    look: apart_at … apart_at … apart_tell, then what it has to do for itself alone
 *
 * What hangs is shared out. A process whose look hung is not looked at while it hangs, and then for
 * twenty times as long as it hung, at most a minute. The same holds for all processes of a user of whom
 * APART_USER_MAX hang, and for all but root's when APART_MAX - APART_ROOT do. Any thread.
 */
#ifndef LOOK_APART_H
#define LOOK_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/status.h"

#define APART_MAX      64
#define APART_ROOT     16
#define APART_USER_MAX 4

struct apart;

/* Calls look on a new thread and waits until it tells, or returns. SKEIN_OK; SKEIN_TIMEOUT: it has been
 * at one process for patience_ns, and drop is called when it returns; SKEIN_NO_MEMORY: look was not
 * called. */
typedef void apart_look_fn(struct apart *apart, void *context);
typedef void apart_drop_fn(void *context);
int apart_run(apart_look_fn *look, apart_drop_fn *drop, void *context, uint64_t patience_ns);

/* In look, before each process: patience begins anew. False: it is to be left out, as it hangs, or nobody
 * waits any more. */
bool apart_at(struct apart *apart, pid_t pid);
/* In look: the asker has what he asked for. The context is his from here on. */
void apart_tell(struct apart *apart);

/* Looks that were given up since the start. */
uint64_t apart_given_up(void);

#endif
