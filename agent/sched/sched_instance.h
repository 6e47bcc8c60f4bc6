/* SPDX-License-Identifier: Apache-2.0
 *
 * A tracefs instance of the agent's own, in which the kernel keeps the newest scheduler records of
 * each CPU. Nobody reads it until a capture asks. It is named skein-<pid>-<random>; whoever lives
 * holds a lock (flock) on its folder, so that one without is of an agent that was killed, and is
 * removed. Main thread: open, close; evidence thread: read.
 */
#ifndef SCHED_INSTANCE_H
#define SCHED_INSTANCE_H

#include "sched_layout.h"
#include "sched_page.h"

#define SCHED_TRACEFS "/sys/kernel/tracing"

struct sched_instance;

/* In the tracefs at `root`, `kib` for each CPU. SKEIN_OK; SKEIN_DENIED or SKEIN_UNSUPPORTED with a
 * sentence that says what would allow it; SKEIN_NO_MEMORY. */
int sched_instance_open(const char *root, uint64_t kib, struct sched_instance **out, char *why,
                        size_t why_bytes);
/* Ends the recording and removes the folder. */
void sched_instance_close(struct sched_instance **instance);

const char *sched_instance_folder(const struct sched_instance *i);
const struct sched_layout *sched_instance_layout(const struct sched_instance *i);
const struct page_shape *sched_instance_shape(const struct sched_instance *i);
uint32_t sched_instance_cpus(const struct sched_instance *i); /* from 0; some may be off */
uint64_t sched_instance_kib(const struct sched_instance *i);  /* of each CPU, as granted */
uint64_t sched_instance_since_ns(const struct sched_instance *i);

/* Takes what CPU `cpu` has recorded since the last call, oldest first, a page at a time: what is
 * taken is no longer in the kernel. False from `page` stops. SKEIN_OK; SKEIN_IO. */
typedef bool sched_page_fn(void *context, const uint8_t *page, size_t n);
int sched_instance_read(struct sched_instance *i, uint32_t cpu, sched_page_fn *page, void *context);

#endif
