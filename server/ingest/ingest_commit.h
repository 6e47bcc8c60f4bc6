/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of partitions on their way to disk, index and acknowledgement. For ingest*.c alone; the
 * ingest thread's.
 */
#ifndef INGEST_COMMIT_H
#define INGEST_COMMIT_H

#include "ingest_int.h"

/* Whether a group has this key. */
bool groups_have(const struct ingest *in, const struct partition_key *key);

/* A free member, zeroed; waits for the writer where both groups are full. NULL while they wait for
 * the index. */
struct member *group_slot(struct ingest *in);

/* Takes the slot's member into its group. */
void group_add(struct ingest *in, struct member *member, uint64_t now_ns);
void member_fini(struct member *member);

/* Does what is due: gives a group to the writer, adds a durable one to the index and answers
 * everybody who got a result. Never waits for the disk, but once a segment. */
void groups_commit(struct ingest *in, uint64_t now_ns);
/* Whether the writer has finished a group, or is free and one is due. */
bool groups_can_move(struct ingest *in, uint64_t now_ns);
/* When groups_commit has something to do though nothing arrives and the writer says nothing. */
uint64_t groups_due(const struct ingest *in);
/* Waits for the writer and finishes what it was given and is due. True: the index has all that the
 * store has, and the store's writing half is this thread's until a group is given again. */
bool groups_settle(struct ingest *in, uint64_t now_ns);
/* The same with what is being collected. True: no group has anything. */
bool groups_flush(struct ingest *in);

#endif
