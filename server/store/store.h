/* SPDX-License-Identifier: Apache-2.0
 *
 * Where partitions lie: append-only segments on disk (store_files.c). A record is durable when
 * store_sync has returned after its append. One thread at a time (ingest's) appends and syncs; any
 * thread reads.
 */
#ifndef STORE_H
#define STORE_H

#include "buf.h"
#include "ids.h"
#include "partition.h"

struct store_place {
    uint64_t segment; /* segment number, from 1 */
    uint64_t offset;  /* of the partition's first byte in the segment file */
    uint64_t bytes;   /* of the partition */
};

/* What is kept beside a partition's bytes. */
struct store_record {
    struct partition_key key;
    struct capture_id capture;
    uint64_t agent;
    uint64_t received_ns;
};

struct store;

struct store_settings {
    const char *folder;
    uint64_t segment_bytes;  /* a segment is closed when it is larger; default 64 MiB */
    uint64_t min_free_bytes; /* partitions are refused with SKEIN_FULL below this much free disk */
};

/* store_scan calls it for each partition, oldest first, with the partition's footer. */
typedef int store_scan_fn(void *context, const struct store_record *record,
                          const struct store_place *place, const struct partition_footer *footer);
/* A tombstone: of a capture, or, where the capture is zero, of the key's partition. */
typedef int store_tombstone_fn(void *context, const struct store_record *record, uint64_t segment);

/* Opens the folder (created where absent), cuts a torn tail off the last segment, closes what was
 * not closed. SKEIN_OK; SKEIN_IO; SKEIN_NO_MEMORY; SKEIN_BUSY (another collector has it); with
 * words in error. */
int store_open(const struct store_settings *settings, struct store **out, char *error,
               size_t error_bytes);
void store_close(struct store **store);

/* Appends a partition. `checksum` is its checksum64 as it was sent: if memory damages the bytes on
 * the way, reading finds that. SKEIN_OK; SKEIN_FULL, SKEIN_NO_MEMORY, SKEIN_INVALID (not a
 * partition, or too large): nothing was written; SKEIN_IO: the segment is abandoned, and everything
 * appended since the last sync must be appended again, to a new one. */
int store_append(struct store *store, const struct store_record *record, const void *partition,
                 size_t bytes, uint64_t checksum, struct store_place *place);
int store_sync(struct store *store);

/* Appends the partition at *place again, with its record, and sets *place to the new place. The
 * caller will remove the old segment, so this may use half of what min_free_bytes keeps; the other
 * half is for tombstones and the databases. Statuses as store_append; also SKEIN_NOT_FOUND and
 * SKEIN_CORRUPT (the bytes are damaged). */
int store_copy(struct store *store, const struct partition_key *key, struct store_place *place);

/* Appends tombstones, durably, all in one segment. A record names a capture, or, where that is
 * zero, the key's partition. On failure the first *done of them are durable all the same. May use
 * all of what min_free_bytes keeps. The caller removes segments that hold nothing any more. */
int store_append_tombstones(struct store *store, const struct store_record *records, size_t count,
                            size_t *done);

/* Removes a closed segment. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_BUSY (it is the open one),
 * SKEIN_IO. */
int store_remove_segment(struct store *store, uint64_t segment);

/* Walks records from (segment, offset) on; both 0: all. Returns SKEIN_OK, the callback's first
 * not-0 value, or an error. */
int store_scan(struct store *store, uint64_t segment, uint64_t offset, store_scan_fn *fn,
               store_tombstone_fn *tombstone, void *context);

/* Reads part of a partition into out. SKEIN_OK, SKEIN_NOT_FOUND (segment gone), SKEIN_IO,
 * SKEIN_INVALID (outside). */
int store_read(struct store *store, const struct store_place *place, uint64_t from, void *out,
               size_t n);

/* The checksum64 that the partition was stored with. Statuses as store_read; SKEIN_CORRUPT. */
int store_checksum(struct store *store, const struct store_place *place, uint64_t *checksum);

/* Reads the whole partition, piece by piece, and checks that it is the key's and byte for byte what
 * was stored. SKEIN_OK; SKEIN_CORRUPT (it is not, or cannot be read); SKEIN_NOT_FOUND,
 * SKEIN_NO_MEMORY. */
int store_verify(struct store *store, const struct partition_key *key,
                 const struct store_place *place);

/* How much is free on the store's disk, and below how much no partition is taken. SKEIN_OK;
 * SKEIN_IO. Any thread. */
int store_space(struct store *store, uint64_t *free_bytes, uint64_t *min_free_bytes);

/* The file set aside for deletions (store_reserve.c); none where min_free_bytes is 0.
 * store_set_aside makes it, or makes it larger, as far as the disk has room. store_make_room
 * deletes it if the disk is all but full, and says whether it was. Any thread. */
void store_set_aside(struct store *store);
bool store_make_room(struct store *store);

/* Whether the segment's file is there. Any thread. */
bool store_has_segment(struct store *store, uint64_t segment);

/* end_segment, end_offset: where the last durable record ends; both 0 in an empty store. */
void store_totals(struct store *store, uint64_t *segments, uint64_t *bytes, uint64_t *end_segment,
                  uint64_t *end_offset);

#endif
