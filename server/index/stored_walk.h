/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk over stored partitions in the order of a trace: lists them, notes their processes, and
 * reads each into memory. One owner; any thread. Keeps no lock between reads.
 */
#ifndef STORED_WALK_H
#define STORED_WALK_H

#include "idmap.h"
#include "index.h"

struct partition_reader;

/* ---- which ---- */

/* A row of the index without its texts. */
struct stored_piece {
    struct partition_key key;
    struct store_place place;
    uint64_t from_ns, to_ns, spans_from_ns, spans_to_ns, events, lost;
    int64_t clock_offset_ns;
};
/* Who a process was. */
struct stored_process {
    uint32_t pid; /* 0: not known */
    const char *host, *service, *exe;
};
/* All-zero is an empty list. */
struct stored_list {
    struct stored_piece *pieces;
    size_t count, cap;
    size_t most;             /* takes no more than this; 0: no bound */
    bool more;               /* there are more than `most` */
    struct idmap *processes; /* stored_process_note notes each process here; NULL: nobody asks */
    int status;              /* why a row could not be taken */
};

/* Takes the rows that the query finds, and sorts the list. SKEIN_OK, SKEIN_NO_MEMORY, or the
 * index's status. */
int stored_list_query(struct stored_list *list, struct index *index,
                      const struct partition_query *query);
/* Adds one row at the end. SKEIN_OK, SKEIN_NO_MEMORY. */
int stored_list_add(struct stored_list *list, const struct partition_row *row);
void stored_list_fini(struct stored_list *list); /* the processes are the caller's */

/* Notes a process; one that is known stays as it is. SKEIN_OK, SKEIN_NO_MEMORY. Texts are
 * copied. */
int stored_process_note(struct idmap *processes, const struct process_uid *uid,
                        const struct stored_process *process);
void stored_processes_fini(struct idmap *processes);

/* ---- in memory ---- */

/* The partition that is being read, and the one before it. Where both are of one process, ranges
 * open at the end of the first go on in the second. All-zero: none yet. */
struct stored_pair {
    struct partition_reader *reader, *before;
    uint8_t *bytes, *before_bytes; /* of each */
    struct process_uid process;
};

/* Frees the one before, and gives room for the bytes of the next. SKEIN_OK, SKEIN_CORRUPT (larger
 * than a partition can be), SKEIN_NO_MEMORY. */
int stored_pair_room(struct stored_pair *pair, uint64_t bytes, uint8_t **room);
/* Opens the reader, once the bytes are there. SKEIN_OK or a status of partition_reader_make_within:
 * SKEIN_TOO_LARGE, here or of a later call, where it takes more than 384 MiB. */
int stored_pair_open(struct stored_pair *pair, const struct partition_key *key, uint64_t bytes);
void stored_pair_fini(struct stored_pair *pair);

#endif
