/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the partition codec: constants of docs/format.md and the helpers that writer,
 * reader, footer and trace file share; those on entries of tables are in partition_entries_int.h. Included by format/ only. Pure functions; no threads.
 */
#ifndef PARTITION_INT_H
#define PARTITION_INT_H

#include "buf.h"
#include "partition.h"
#include "partition_fault.h"

#define FORMAT_MAJOR       1
#define FORMAT_MINOR       3
#define HEAD_BYTES         32
#define TAIL_BYTES         32
#define SECTION_HEAD_BYTES 24

/* F-4 */
#define RAW_BYTES_MAX    (UINT64_C(256) << 20)
#define TYPES_MAX        65536u
#define THREADS_MAX      262144u
#define STRINGS_MAX      4194304u
#define BLOCKS_MAX       65536u
#define BATCH_EVENTS_MAX 65536u
#define BATCHES_MAX      1048576u
#define SEQUENCES_MAX    16777216u
#define LOSSES_MAX       65536u
#define OPENS_MAX        65536u
#define FILTER_WORDS_MAX 8192u
#define ENTERED_MAX      4194304u
#define STACKS_MAX       262144u
#define FRAMES_MAX       4194304u /* of all stacks */
#define MAPPINGS_MAX     65536u
#define SYMBOLS_MAX      1048576u
#define LINES_MAX        4194304u /* of all symbols */

#define RANGES_FOLLOWED_MAX 8192u               /* F-42: of a thread */
#define WRITER_LOSSES_MAX   4096u               /* F-32 */
#define READER_RANGES_MAX   262144u             /* section 4, last paragraph */
#define FILTER_HASHES       7u                  /* F-35 */
#define NS_PER_TICK_MAX     (UINT64_C(1) << 20) /* F-16 */

enum head_kind { HEAD_PARTITION = 1, HEAD_TABLE = 2 };

/* F-11, F-36 */
enum section_kind {
    SECTION_INFO = 1,
    SECTION_TYPES = 2,
    SECTION_STRINGS = 3,
    SECTION_THREADS = 4,
    SECTION_STACKS = 5,
    SECTION_MAPPINGS = 6,
    SECTION_BLOCK = 7,
    SECTION_OPEN = 8,
    SECTION_LOSS = 9,
    SECTION_FOOTER = 10,
    SECTION_TABLE = 11,
    SECTION_SYMBOLS = 12
};
enum section_packing { PACKING_RAW = 0, PACKING_LZ4 = 1 };
#define SECTION_NEEDED 1u

#define BATCH_LATE            1u
#define BATCH_FLAGS_IGNORABLE 0xffffu

enum column_encoding { COLUMN_PLAIN = 0, COLUMN_DELTA = 1, COLUMN_RAW64 = 2 };

/* A section as it lies in a partition. */
struct section {
    uint16_t kind;
    uint8_t packing, flags;
    uint32_t raw_bytes;
    uint64_t offset; /* of its head, from the start of the partition */
    const uint8_t *payload;
    uint64_t length;
    uint64_t checksum;
};

/* ---- partition_section.c: head, sections, tail ---- */

void head_put(struct buf *b, uint8_t kind, uint64_t length);

/* A section around a payload that is in place: fills in the 24 bytes at b->data + at for all that
 * follows them. */
size_t section_begin(struct buf *b, uint16_t kind);
void section_end(struct buf *b, size_t at);
void section_put(struct buf *b, uint16_t kind, const struct buf *payload);

/* The payload as one LZ4 frame, raw_bytes of raw at most PARTITION_BLOCK_RAW_MAX. */
void section_put_packed(struct buf *b, uint16_t kind, const uint8_t *raw, size_t raw_bytes);

/* The tail behind the last section, which starts at `last` of b; the whole starts at `start`. */
void tail_put(struct buf *b, size_t start, size_t last, uint8_t kind);
/* The same where not all of the whole lies in b: it has `length` bytes, tail included. */
void tail_put_length(struct buf *b, size_t last, uint64_t length, uint8_t kind);

/* The section at c (offset of c->pos from the partition's start given): SKEIN_OK, SKEIN_TRUNCATED,
 * SKEIN_CORRUPT (fields that contradict each other). The checksum is not verified; c moves behind
 * the section. */
int section_get(struct cursor *c, uint64_t offset, struct section *section);

/* Whether head and payload match the checksum (F-9). */
bool section_sound(const struct section *section, const uint8_t *head);

struct tail {
    uint64_t last_bytes, length;
    uint8_t kind;
};

/* Finds the tail that ends at bytes + n, and the last section in front of it: *last points at its
 * head. SKEIN_OK; SKEIN_TRUNCATED with *need; SKEIN_CORRUPT. */
int tail_get(const uint8_t *bytes, size_t n, struct tail *tail, const uint8_t **last, size_t *need);

/* The same, and trace_head_get (F-8), with the reason in *fault, whose byte is one of `bytes`. */
int tail_explain(const uint8_t *bytes, size_t n, struct tail *tail, const uint8_t **last,
                 size_t *need, struct partition_fault *fault);
int head_explain(const uint8_t *bytes, size_t n, uint64_t *length, bool *is_table,
                 struct partition_fault *fault);

/* ---- partition_time.c ---- */
#define FRACTION_BITS 40 /* of a factor (F-17) */
/* F-17, precomputed. */
struct tick_scale {
    uint64_t anchor_ticks, anchor_ns, factor; /* ns << 40 per tick */
};
int tick_scale_init(struct tick_scale *scale,
                    const struct partition_info *info); /* SKEIN_OK, SKEIN_INVALID (F-16) */
uint64_t tick_scale_ns(const struct tick_scale *scale, uint64_t ticks);
/* Gives times `offset_ns` later; as near as 0 to 2^64 - 1 allow. */
struct tick_scale tick_scale_shift(const struct tick_scale *scale, int64_t offset_ns);
/* From one tick's time to another's, which may differ by 1 ns from that of their difference: so what
 * ends at one tick ends at one time, however long it was. 0 where it ends before. */
uint64_t tick_scale_span_ns(const struct tick_scale *scale, uint64_t from_ticks, uint64_t to_ticks);

#endif
