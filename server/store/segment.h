/* SPDX-License-Identifier: Apache-2.0
 *
 * One segment file of docs/store.md (rules S-n): its bytes, its writer, its readers. Included by
 * the store (store_files.c, segment*.c) and their tests only.
 *
 *   segment.c          bytes of header, record, tail entry and trailer; pure functions
 *   segment_write.c    the open segment: create, append, sync, close, abandon
 *   segment_recover.c  walking records, loading tails, repairing what a crash left
 */
#ifndef SEGMENT_H
#define SEGMENT_H

#include "buf.h"
#include "store.h"

#define SEGMENT_VERSION       1
#define SEGMENT_HEADER_BYTES  64
#define SEGMENT_RECORD_BYTES  96
#define SEGMENT_ENTRY_BYTES   (16 + SEGMENT_RECORD_BYTES)
#define SEGMENT_TRAILER_BYTES 32
#define SEGMENT_NAME_BYTES    32
#define SEGMENT_TAIL_MAX      (UINT64_C(1) << 30) /* S-9 */
/* S-8: a walk looks no farther for the next record behind damage. */
#define SEGMENT_RESYNC_MAX (UINT64_C(256) << 20)

static inline uint64_t segment_pad(uint64_t n)
{
    return (n + 7) & ~UINT64_C(7);
}

/* ---- bytes ---- */

enum segment_kind { SEGMENT_PARTITION = 1, SEGMENT_TOMBSTONE = 2, SEGMENT_TAIL = 3 };

struct segment_header {
    uint64_t number, created_ns;
    uint64_t abandoned, abandoned_end; /* S-6: a failed segment, and its durable end; or 0 */
};

struct segment_record {
    uint8_t kind; /* enum segment_kind */
    struct store_record about;
    uint64_t length, checksum; /* of the payload */
};

struct segment_trailer {
    uint64_t tail_offset, entries;
};

/* A segment's file name, and back: SKEIN_OK or SKEIN_INVALID (it is not a segment's name). */
void segment_name(uint64_t number, char out[SEGMENT_NAME_BYTES]);
int segment_name_parse(const char *name, uint64_t *number);

/* The gets return SKEIN_OK, SKEIN_CORRUPT or SKEIN_VERSION and change nothing on failure. A
 * record's checksum covers its segment's number and its offset. */
void segment_header_put(uint8_t out[SEGMENT_HEADER_BYTES], const struct segment_header *header);
int segment_header_get(const uint8_t bytes[SEGMENT_HEADER_BYTES], struct segment_header *header);
void segment_record_put(uint8_t out[SEGMENT_RECORD_BYTES], const struct segment_record *record,
                        uint64_t number, uint64_t offset);
int segment_record_get(const uint8_t bytes[SEGMENT_RECORD_BYTES], uint64_t number, uint64_t offset,
                       struct segment_record *record);
void segment_trailer_put(uint8_t out[SEGMENT_TRAILER_BYTES], const struct segment_trailer *trailer,
                         uint64_t number);
int segment_trailer_get(const uint8_t bytes[SEGMENT_TRAILER_BYTES], uint64_t number,
                        struct segment_trailer *trailer);

/* One record's entry in the tail. A tombstone has no footer: NULL and 0. Get returns 1; 0 at the
 * end; SKEIN_CORRUPT. */
void segment_entry_put(struct buf *tail, const struct segment_record *record, uint64_t number,
                       uint64_t offset, const uint8_t *footer, size_t footer_bytes);
int segment_entry_get(struct cursor *tail, uint64_t number, struct segment_record *record,
                      uint64_t *offset, const uint8_t **footer, size_t *footer_bytes);

/* How many of a partition's last bytes are its footer. SKEIN_OK or SKEIN_CORRUPT (no partition). */
int segment_footer_size(const uint8_t *partition, size_t n, size_t *footer_bytes);

/* ---- the open segment ---- */

struct segment_writer {
    int fd; /* -1: none is open */
    uint64_t number, end, durable_end;
    struct buf tail; /* entries of all records so far */
    uint64_t entries;
};

void segment_writer_init(struct segment_writer *w);
/* Creates the file with its header, durably. SKEIN_OK, or a status of segment_io: no segment is
 * open then. */
int segment_create(struct segment_writer *w, int folder, const struct segment_header *header);
/* Writes one record at the end. SKEIN_OK; SKEIN_FULL, SKEIN_NO_MEMORY, SKEIN_CORRUPT (not a
 * partition): nothing was written. SKEIN_IO: the end is unknown, so abandon the segment. */
int segment_append(struct segment_writer *w, const struct segment_record *record,
                   const void *payload, uint64_t *offset);
int segment_sync(struct segment_writer *w);
/* Writes tail and trailer, syncs and closes the file. After a failure the file is still open:
 * abandon it. */
int segment_finish(struct segment_writer *w);
/* Closes the file, cut to its durable end if that works. */
void segment_abandon(struct segment_writer *w);
void segment_writer_fini(struct segment_writer *w);

/* ---- reading ---- */

struct segment_walk {
    int fd;
    uint64_t number;
    uint64_t at, limit; /* next offset; bytes from `limit` on are not read */
    bool check;         /* read each payload into `payload` and verify it */
    struct buf payload;
    uint64_t end;     /* where the last good record ends */
    uint64_t damaged; /* bytes between good records that belong to none */
    uint64_t bad_payloads;
};

void segment_walk_init(struct segment_walk *w, int fd, uint64_t number, uint64_t limit, bool check);
void segment_walk_fini(struct segment_walk *w);
/* Finds the next whole record; skips damaged bytes. 1; 0 at the end; SKEIN_IO; SKEIN_NO_MEMORY. */
int segment_walk_next(struct segment_walk *w, struct segment_record *record, uint64_t *offset);

/* Reads the trailer. SKEIN_OK (closed), SKEIN_NOT_FOUND (not closed), SKEIN_IO. */
int segment_trailer_load(int fd, uint64_t number, uint64_t size, struct segment_trailer *trailer);
/* Reads and verifies the tail of a closed segment. SKEIN_OK, SKEIN_CORRUPT, SKEIN_IO,
 * SKEIN_NO_MEMORY. */
int segment_tail_load(int fd, uint64_t number, uint64_t size, struct buf *payload);
/* Reads the footer at the end of a partition. SKEIN_OK, SKEIN_CORRUPT, SKEIN_IO,
 * SKEIN_NO_MEMORY. */
int segment_footer_load(int fd, uint64_t offset, uint64_t bytes, struct buf *scratch,
                        struct partition_footer *footer);

/* What segment_recover found and did. */
struct segment_recovery {
    uint64_t torn_bytes, damaged_bytes, bad_payloads;
};

/* Takes over a segment file that was not closed (S-5): verifies every record up to `limit`, cuts
 * off what follows the last good one, syncs, and leaves it in w as the open segment. SKEIN_OK;
 * SKEIN_IO, SKEIN_FULL, SKEIN_NO_MEMORY (no segment is open). */
int segment_recover(struct segment_writer *w, int folder, uint64_t number, uint64_t limit,
                    struct segment_recovery *found);

#endif
