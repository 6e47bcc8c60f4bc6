/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of partitions on their way to disk, index and acknowledgement. Included by ingest*.c only;
 * runs on the ingest thread.
 */
#ifndef INGEST_COMMIT_H
#define INGEST_COMMIT_H

#include "ingest_int.h"

/* Whether a group has this key. */
bool groups_have(const struct ingest *in, const struct partition_key *key);

/* A free member, zeroed. Where both groups are full, waits for the writer. NULL: both are full and
 * wait for the index. */
struct member *group_slot(struct ingest *in);

/* What a partition is told whose key is stored, or was sent for a deleted capture: a repeat was stored
 * before; one of another checksum is rejected. Counts it. */
enum wire_ack_status ingest_repeat_result(struct ingest *in, const struct partition_key *key,
                                          uint64_t checksum);

/* Adds the member that group_slot gave to its group. */
void group_add(struct ingest *in, struct member *member, uint64_t now_ns);
void member_fini(struct member *member);

/* Does what is due: gives a group to the writer, adds a durable one to the index and answers its
 * senders. Waits for the disk only once a segment. */
void groups_commit(struct ingest *in, uint64_t now_ns);
/* Whether the writer has finished a group, or is free and one is due. */
bool groups_can_move(struct ingest *in, uint64_t now_ns);
/* When groups_commit must run even if nothing arrives and the writer does not wake the thread. */
uint64_t groups_due(const struct ingest *in);
/* Waits for the writer and finishes the groups it was given that are due. True: the index has all
 * that the store has, and this thread may append to the store until a group is given again. */
bool groups_settle(struct ingest *in, uint64_t now_ns);
/* The same, and the collecting group goes, too. True: both groups are empty. */
bool groups_flush(struct ingest *in);

#endif
