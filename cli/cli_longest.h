/* SPDX-License-Identifier: Apache-2.0
 *
 * The N longest regions among any number of events: a heap that keeps N. One owner, one thread.
 */
#ifndef CLI_LONGEST_H
#define CLI_LONGEST_H

#include "partition_reader.h"

struct longest;

/* `json`: keep them as lines of JSON; else as rows of a table, with the stack below each, if it has
 * one. SKEIN_OK, SKEIN_NO_MEMORY. */
int longest_new(uint64_t wanted, bool json, struct longest **out);
void longest_free(struct longest **longest);

/* Evidence of the process whose regions come next, event by event: it says what their descriptors
 * are, who the holders of locks, and where a thread was in one that has no stack of its own, because
 * it had not ended: as the thread dump found it. SKEIN_OK, SKEIN_NO_MEMORY. */
int longest_evidence(struct longest *longest, struct partition_reader *reader,
                     const struct trace_event *event);

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int longest_add(struct longest *longest, struct partition_reader *reader,
                const struct trace_event *event);

/* Longest first. CLI_OK or CLI_FAILED. The heap is then no heap any more. */
int longest_print(struct longest *longest);

#endif
