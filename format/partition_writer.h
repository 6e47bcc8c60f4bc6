/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds one partition in memory: tables, then batches of events turned into columns and packed
 * into LZ4 blocks as they fill, then the footer. One owner, one thread, and perhaps one that helps
 * (partition_writer_share); several writers may run at once. Errors are sticky and come out of partition_writer_finish.
 */
#ifndef PARTITION_WRITER_H
#define PARTITION_WRITER_H

#include "buf.h"
#include "partition.h"

struct partition_writer;

/* Copies info. SKEIN_OK, SKEIN_INVALID, SKEIN_NO_MEMORY. */
int partition_writer_new(const struct partition_info *info, struct partition_writer **out);
void partition_writer_free(struct partition_writer **writer);

/* Tables; each returns the index for later calls, equal content giving the same index, or a status
 * below 0. A type of class SKEIN_CLASS_STACK is the writer's own, and one of ranges has no place in
 * an evidence partition: SKEIN_INVALID. */
int64_t partition_writer_type(struct partition_writer *w, const struct partition_event_type *type);
int64_t partition_writer_thread(struct partition_writer *w, const struct partition_thread *thread);

/* A batch is a run of events of one thread in their order. `sequence` is the ring chunk's; a late
 * batch holds records of an older generation than the partition's. Consecutive batches of a thread
 * may be merged by the writer. */
void partition_writer_batch(struct partition_writer *w, uint32_t thread, uint64_t generation,
                            uint64_t sequence, bool late);

/* One event of the current batch, type from partition_writer_type. `ticks` is the record's time (a
 * span's end; dur_ticks its length, else 0); time never goes back inside a batch: an earlier one is
 * raised and counted. Hot. */
void partition_writer_event(struct partition_writer *w, uint32_t type, uint64_t ticks,
                            uint64_t dur_ticks, const struct partition_value *args);
void partition_writer_end(struct partition_writer *w,
                          uint64_t ticks); /* of the thread's innermost open range */

/* A range that was open when the surviving records of this batch's thread begin; before any event
 * of the batch; outermost first. */
void partition_writer_open_range(struct partition_writer *w, int64_t type_or_minus_1,
                                 uint64_t since_ticks);

void partition_writer_loss(struct partition_writer *w, const struct partition_loss *loss);
void partition_writer_open(struct partition_writer *w, const struct partition_open *open);

/* ---- stacks (section 8) ----
 *
 * Tables that are full (F-4) give SKEIN_TOO_LARGE and stay as they are; the writer goes on. */

/* Copies a stack, or finds an equal one: its id, from 1. SKEIN_TOO_LARGE (also for more frames than
 * PARTITION_FRAMES_MAX), SKEIN_NO_MEMORY. */
int64_t partition_writer_stack(struct partition_writer *w, const struct partition_stack *stack);

/* `id` is the stack of the event or end that was written just before; 0: none. Once for each. */
void partition_writer_event_stack(struct partition_writer *w, uint32_t id);

/* Copies; equal ones are kept once. SKEIN_OK; SKEIN_TOO_LARGE; SKEIN_INVALID (it ends before it
 * starts, or has too long a path or build id: nothing is changed); SKEIN_NO_MEMORY. */
int partition_writer_mapping(struct partition_writer *w, const struct partition_mapping *mapping);

/* Names an address, as partition_stack_address gives it; the first to name it is believed. Longer
 * texts than PARTITION_NAME_MAX are cut, and end in "...". SKEIN_OK; SKEIN_TOO_LARGE (also for more
 * lines than PARTITION_LINES_MAX); SKEIN_NO_MEMORY. */
int partition_writer_symbol(struct partition_writer *w, const struct partition_symbol *symbol);

/* What is in it so far: stacks from 1 to the count, mappings from 0. What a stack points at is good
 * until the next call of the writer, a mapping's path until it is freed. false: there is none. */
size_t partition_writer_stack_count(const struct partition_writer *w);
bool partition_writer_stack_at(struct partition_writer *w, uint32_t id,
                               struct partition_stack *stack);
size_t partition_writer_mapping_count(const struct partition_writer *w);
bool partition_writer_mapping_at(const struct partition_writer *w, size_t i,
                                 struct partition_mapping *mapping);

/* ---- a second thread ----
 *
 * A shared writer has its full blocks packed and checksummed by another thread that helps, while its
 * own goes on. The bytes are the same. Its own thread packs what the helper has not begun, so it never
 * depends on it, but waits for a block (less than a ms of work) that the helper has begun. */

/* Tells when the writer's thread waits for the helper (true) and when no more (false), so that the
 * helper can be given the waiting thread's turn on a processor. Called by the writer's thread. */
struct partition_lend {
    void (*fn)(void *context, bool lent);
    void *context;
};
/* Before the first event, by the writer's thread. `lend` may be NULL. SKEIN_OK, SKEIN_INVALID,
 * SKEIN_NO_MEMORY (it then stays as it was). */
int partition_writer_share(struct partition_writer *w, const struct partition_lend *lend);
/* The helper's call: packs until partition_writer_finish or _unshare. The writer may only be freed
 * once it has returned. */
void partition_writer_help(struct partition_writer *w);
/* Sends the helper away without finishing; the writer can then only be freed. */
void partition_writer_unshare(struct partition_writer *w);

/* How many of the partition's records are earlier than each of some times, which rise. The caller's,
 * until partition_writer_finish has returned; set before the first event. */
#define PARTITION_EDGES_MAX 48
struct partition_counts {
    size_t count;
    uint64_t edges[PARTITION_EDGES_MAX], before[PARTITION_EDGES_MAX]; /* ticks; records */
};
void partition_writer_count(struct partition_writer *w, struct partition_counts *counts);

/* Bytes it would take now, roughly (of a shared writer: at most); for the 16 MiB cut. */
uint64_t partition_writer_bytes(const struct partition_writer *w);

/* Completes the partition into *out (appended) and, where footer is not NULL, its footer. Returns
 * the first error of any call: SKEIN_NO_MEMORY, SKEIN_INVALID (an index out of range),
 * SKEIN_TOO_LARGE. The writer can then only be freed. */
int partition_writer_finish(struct partition_writer *w, struct buf *out,
                            struct partition_footer *footer);

#endif
