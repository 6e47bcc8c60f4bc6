/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the threads of a process were when they were dumped: name, state, system call and stack of
 * each, as text or as JSON. Takes the events of evidence partitions of one process at a time. One
 * owner, one thread.
 */
#ifndef CLI_DUMPED_H
#define CLI_DUMPED_H

#include "buf.h"
#include "partition_reader.h"

struct dumped;

struct dumped_thread {
    uint32_t tid;
    uint64_t at_ns;
    const char *name, *state, *call; /* call: of the system, "" in none */
    uint32_t holder;                 /* the thread that has what it waits for; 0: not known */
    struct buf stack; /* lines, or the members of an object of JSON; empty: it has none */
};

/* `indent`: of the lines. SKEIN_OK, SKEIN_NO_MEMORY. */
int dumped_new(bool json, unsigned indent, struct dumped **out);
void dumped_free(struct dumped **dumped);

void dumped_clear(struct dumped *dumped);

/* SKEIN_OK, SKEIN_NO_MEMORY. Events that are no thread's state are passed over. */
int dumped_add(struct dumped *dumped, struct partition_reader *reader,
               const struct trace_event *event);

/* The thread as it was found between both times; NULL: it was not looked at then. Until the next
 * call that changes anything. */
const struct dumped_thread *dumped_find(const struct dumped *dumped, uint32_t tid, uint64_t from_ns,
                                        uint64_t to_ns);

#endif
