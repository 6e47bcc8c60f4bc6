/* SPDX-License-Identifier: Apache-2.0
 *
 * What a ring's writers counted as lost, by time (docs/ring.md R-13). Reads the shared buckets,
 * each once; keeps nothing between two calls, so that every window is answered for itself. Any
 * thread that holds the process.
 */
#ifndef RING_LOSS_H
#define RING_LOSS_H

#include <stdbool.h>

#include "host_page.h"
#include "process.h"

/* A stretch of time without a longer pause between two losses. */
struct ring_loss_run {
    uint64_t from_ticks, to_ticks, records;
};

struct ring_losses {
    struct ring_loss_run *runs; /* of one kind, by time */
    size_t run_count;
    uint64_t records;
};

/* The losses of a kind between two times, both included. A bucket that reaches beyond them gives
 * its share. SKEIN_OK: ring_losses_fini frees. SKEIN_NO_MEMORY. */
int ring_losses_read(const uint8_t *ring, const struct ring_geometry *geometry, enum ring_loss kind,
                     uint64_t from_ticks, uint64_t to_ticks, struct ring_losses *out);
void ring_losses_fini(struct ring_losses *losses);

/* Before this there were losses whose time is not known any more, as later ones took their
 * buckets; 0: there were none. */
uint64_t ring_losses_unplaced(const uint8_t *ring, const struct ring_geometry *geometry,
                              uint64_t now);

enum partition_loss_reason ring_loss_reason(enum ring_loss kind);

/* A run in real time; reason: enum partition_loss_reason. */
struct process_loss_run {
    uint64_t from_ns, to_ns, records;
    uint8_t reason;
};
typedef void process_loss_fn(void *context, const struct process_loss_run *run);

/* Tells what the process lost from *until, or from from_ns if that is 0, to to_ns. *until becomes
 * where the next call goes on. But for the last call, that is where a bucket ends, so that none is
 * split. SKEIN_OK, SKEIN_NO_MEMORY. */
int process_losses_take(const struct process *p, struct host_page_owner *host, uint64_t from_ns,
                        uint64_t to_ns, bool last, uint64_t *until, process_loss_fn *fn,
                        void *context);

#endif
