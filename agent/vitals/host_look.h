/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the host: from the kernel's files to counters of the store. A file that is not there
 * leaves its counters out. One thread.
 */
#ifndef HOST_LOOK_H
#define HOST_LOOK_H

#include "vitals_store.h"

struct host_look;
/* `proc` must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. */
int host_look_new(const char *proc, struct host_look **out);
void host_look_free(struct host_look **look);

/* One sample, with store_begin and store_commit. */
void host_look_take(struct host_look *look, struct vitals_store *store, uint64_t now_ns);

#endif
