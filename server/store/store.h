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

/* Called for every record found, oldest first: at open for those behind `from` and by store_scan
 * for all. `footer` is the partition's. */
typedef int store_scan_fn(void *context, const struct store_record *record,
                          const struct store_place *place, const struct partition_footer *footer);
/* A tombstone: of a capture or, where that is zero, of the key's partition. */
typedef int store_tombstone_fn(void *context, const struct store_record *record, uint64_t segment);

/* Opens the folder (made where absent), cuts a torn tail off the last segment, finishes an
 * unfinished close. SKEIN_OK; SKEIN_IO; SKEIN_CORRUPT; SKEIN_BUSY (another collector has it) with
 * words in error. */
int store_open(const struct store_settings *settings, struct store **out, char *error,
               size_t error_bytes);
void store_close(struct store **store);

/* `checksum` is checksum64 of the partition, as it came with it: what memory damages on the way is
 * found when it is read. SKEIN_OK; SKEIN_FULL, SKEIN_NO_MEMORY, SKEIN_INVALID (no partition, or too
 * large): nothing was written; SKEIN_IO (the segment is abandoned and a new one begun; what was
 * appended since the last sync must be appended again). */
int store_append(struct store *store, const struct store_record *record, const void *partition,
                 size_t bytes, uint64_t checksum, struct store_place *place);
int store_sync(struct store *store);

/* Appends a partition that lies at *place again, its record as it is there, and sets *place to the
 * new one; may use half of the room that min_free_bytes keeps, because its first segment goes then;
 * the other half is for tombstones and the databases. As store_append; also SKEIN_NOT_FOUND and
 * SKEIN_CORRUPT (what lies there is damaged). */
int store_copy(struct store *store, const struct partition_key *key, struct store_place *place);

/* Notes, durably and in one segment, what is deleted: each record a capture or, where that is zero,
 * the key's partition. Where it fails, the first *done of them are noted all the same. May use the
 * room that min_free_bytes keeps. Segments that hold nothing else are the caller's to remove. */
int store_append_tombstones(struct store *store, const struct store_record *records, size_t count,
                            size_t *done);

/* Removes a closed segment. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_BUSY (it is the open one), SKEIN_IO.
 */
int store_remove_segment(struct store *store, uint64_t segment);

/* Walks records behind (segment, offset), both 0 for all. Returns SKEIN_OK, the callback's first
 * not-0 value, or an error. */
int store_scan(struct store *store, uint64_t segment, uint64_t offset, store_scan_fn *fn,
               store_tombstone_fn *tombstone, void *context);

/* Reads part of a partition into out. SKEIN_OK, SKEIN_NOT_FOUND (segment gone), SKEIN_IO,
 * SKEIN_INVALID (outside). */
int store_read(struct store *store, const struct store_place *place, uint64_t from, void *out,
               size_t n);

/* Whether what lies there is the key's partition, byte for byte as it was stored: reads all of it,
 * by pieces. SKEIN_OK; SKEIN_CORRUPT (it is not, or cannot be read); SKEIN_NOT_FOUND,
 * SKEIN_NO_MEMORY. */
int store_verify(struct store *store, const struct partition_key *key,
                 const struct store_place *place);

/* What is free on the store's disk, and how much of it is left free: below, no partition is taken.
 * SKEIN_OK; SKEIN_IO. Any thread. */
int store_space(struct store *store, uint64_t *free_bytes, uint64_t *min_free_bytes);

/* Room set aside for deletions (store_reserve.c), where min_free_bytes is not 0: makes it, or
 * more of it, again where there is some; gives it up where the disk is all but full: true. Any
 * thread. */
void store_set_aside(struct store *store);
bool store_make_room(struct store *store);

/* Whether the segment's file is there. Any thread. */
bool store_has_segment(struct store *store, uint64_t segment);

/* end_segment, end_offset: where the last durable record ends; 0 and 0 in an empty store. */
void store_totals(struct store *store, uint64_t *segments, uint64_t *bytes, uint64_t *end_segment,
                  uint64_t *end_offset);

#endif
