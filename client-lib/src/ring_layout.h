/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that a traced process and its agent share: host page, process page, ring. Included by
 * client-lib and agent only. docs/ring.md holds the numbered rules (R-n) that code and tests cite.
 *
 * All integers are native-endian (both ends are on one host). Atomic fields are accessed through
 * skein_atomic.h only. The agent treats everything in a ring as hostile: offsets and sizes come
 * from its own struct ring_geometry, never from the ring.
 *
 *   0        process_off      slots_off              table_off[0], [1]      area_off[0], [1]
 *   +--------+----------------+----------------------+----------------------+--------------+
 *   | header | process record | thread slots, losses | table half 0, half 1 | rolling 0, 1 |
 *   +--------+----------------+----------------------+----------------------+--------------+
 *            |<-------------------------- durable -------------------------->|
 *
 *   rolling area: small chunks (4 KiB each), then big chunks (32 KiB each)
 *
 * Circular and streaming: total = header + durable + 2 * rolling. Oneshot: total = header +
 * rolling; what is "durable" above is then the front of the one rolling area (nothing ever wraps
 * there), and durable_buffer_size is 0.
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_NAME          "skein-ring"                 /* of its memfd */
#define RING_MAGIC         UINT64_C(0x312d676e6972736b) /* "skring-1" */
#define RING_VERSION       3
#define HOST_PAGE_MAGIC    UINT64_C(0x312d74736f68736b) /* "skhost-1" */
#define PROCESS_PAGE_MAGIC UINT64_C(0x312d636f7270736b) /* "skproc-1" */

#define RING_HEADER_BYTES 128
#define RING_BYTES_MIN    (UINT64_C(64) << 10)
#define RING_BYTES_MAX    (UINT64_C(1) << 30)
#define RING_SMALL_CHUNK  4096
#define RING_BIG_CHUNK    32768
#define RING_SLOT_NONE    UINT32_MAX

/* ---- host page: agent writes, producers read ---- */

enum ring_clock { RING_CLOCK_MONOTONIC = 1, RING_CLOCK_TSC = 2 };

struct host_page {
    uint64_t magic;
    uint32_t version;
    uint32_t clock; /* enum ring_clock */
    uint32_t shift; /* tick = (tsc or monotonic ns) >> shift; a tick is about 64 ns */
    uint32_t reserved;
    uint64_t ticks_per_s; /* calibration, for thresholds only; partitions carry clock snapshots */
    uint64_t generation;  /* atomic; one release store switches every process of the host */
};

/* ---- process page: agent writes, its one producer reads ---- */

struct process_page {
    uint64_t magic;
    uint32_t version;
    uint32_t privacy;          /* atomic; enum privacy: R-34 */
    uint64_t enabled;          /* atomic; bit n = event group n */
    uint64_t threshold_ns[64]; /* atomic; per group; 0: the caller's own default */
    uint64_t privacy_key[2];   /* constant */
    uint64_t stack_ns; /* atomic; what lasts as long carries a stack; 0: nothing does, as in pages
                        * of agents that know of no stacks: R-30 */
    /* atomic, BACK; how much of the ring has memory: R-35. Small chunks {low 32 bits} and big ones
     * {high 32}, from the first on; bytes of each table half. 0: the agent does not say */
    uint64_t backed_chunks, backed_table;
};

/* ---- ring header: 128 bytes, Fuchsia's trace_buffer_header ---- */

/* off 0 magic u64 | 8 version u16 | 10 buffering_mode u8 | 11 reserved1 u8 | 12 wrapped_count u32 |
 * 16 total_size u64 | 24 durable_buffer_size u64 | 32 rolling_buffer_size u64 |
 * 40 durable_data_end u64 | 48 rolling_data_end u64[2] | 64 num_records_dropped u64 |
 * 72 reserved u64[7], of which Skein uses four and keeps three zero */
struct ring_header {
    uint64_t magic;
    uint16_t version;
    uint8_t buffering_mode; /* enum skein_mode */
    uint8_t reserved1;
    uint32_t wrapped_count; /* atomic; how often the big-chunk cursor passed the end */
    uint64_t total_size;
    uint64_t durable_buffer_size;
    uint64_t rolling_buffer_size;
    uint64_t durable_data_end;    /* atomic hint: bytes used in the current table half */
    uint64_t rolling_data_end[2]; /* atomic hints: end of the furthest chunk claimed in each area */
    uint64_t num_records_dropped; /* atomic; records lost, all of them: R-13 */
    uint64_t small_cursor;        /* atomic; next small chunk to try; runs free */
    uint64_t big_cursor;          /* atomic; next big chunk to try; runs free */
    uint64_t string_epoch;        /* atomic; current epoch e; its table is half e % 2 */
    uint64_t overwritten_ticks;   /* atomic; no record that was ever overwritten is later: R-28 */
    /* atomic, the agent's; CLOCK_MONOTONIC; what rings of the process before this one have had, for
     * an agent that adopts it: since when, 0: nothing; and until when at the latest */
    uint64_t lacks_from_ns, lacks_to_ns;
    uint64_t reserved;
};

/* ---- durable: process record, thread slots, tables ---- */

#define RING_PROCESS_RECORD_BYTES 256
struct ring_process_record {
    uint32_t pid;
    uint32_t clock;
    uint32_t shift;
    uint32_t slots;
    uint64_t start_ticks;
    char service[128];
    /* atomic; CLOCK_MONOTONIC, ns: since when events go to this ring (0: a library that does not
     * say), and when the first one came that it has not, because it was before (0: none came) */
    uint64_t began_ns, missed_ns;
    /* written at the end, the word last, by a release store: RING_EXIT_SAID */
    int32_t exit_status;
    uint32_t exit_said;
    uint64_t stacks_missed; /* atomic; stacks that the tables had no room for: R-32 */
    char reserved[72];
};
#define RING_EXIT_SAID 1u

/* What a thread is doing now; readable at any time, written only by its thread. 128 bytes. */
struct ring_slot {
    uint32_t state;       /* atomic; 0 free, 1 live, 2 retired (thread has ended) */
    uint32_t incarnation; /* atomic; counts reuse */
    uint32_t tid;         /* atomic */
    uint32_t op_type;     /* atomic; event id of the operation in progress */
    uint64_t op_start;    /* atomic; ticks, 0: none. Release store last on entry, 0 first on exit */
    int64_t op_detail;    /* atomic */
    uint64_t reserved0;
    uint64_t op_epoch; /* atomic; string epoch of op_type */
    char name[32];     /* written before state 1 and by skein_thread_name; NUL-padded hint */
    uint8_t reserved[48];
};

/* Losses by time, one array of buckets for each kind, a bucket at index
 * (ticks >> loss_shift) % loss_buckets. Ticks of `span` count from the bucket's begin. */
struct ring_bucket {
    uint64_t count; /* atomic; {ticks >> loss_shift: 36 bits, records: 28 bits} */
    uint64_t span;  /* atomic; {low 16 bits of the same time, first 24 bits, last 24 bits} */
};
enum ring_loss {
    RING_LOSS_FULL = 0,  /* no room */
    RING_LOSS_SIGNAL = 1 /* of signal handlers that interrupted the tracer */
};
#define RING_LOSS_KINDS      2
#define RING_LOSS_COUNT_BITS 28
#define RING_LOSS_COUNT_MAX  ((UINT64_C(1) << RING_LOSS_COUNT_BITS) - 1)
#define RING_LOSS_TICK_BITS  24
#define RING_LOSS_TICK_MAX   ((UINT64_C(1) << RING_LOSS_TICK_BITS) - 1)

/* A table half: 16-byte head, then records packed without gaps up to `committed`. */
struct ring_table {
    uint64_t committed; /* atomic; {epoch:32, bytes:32}; 0 bytes for the reader if epochs differ */
    uint64_t reserved;
};
/* Table record: kind u8, LEB128 payload length, payload.
 *   STRING      id, bytes
 *   EVENT_TYPE  id, class u8, group u8, nargs u8, name, text, file, LEB128 line,
 *               nargs x (type u8, name, unit)
 *   STACK       id, end u8, LEB128 count, count x pc: LEB128, the others zigzag LEB128 of the
 *               difference to the one before
 *   MAPPING     start, end, offset LEB128, build id: length u8 and bytes, path
 * Each text is a LEB128 length and its bytes; bytes and path end with the record. Ids are LEB128
 * and unique in their epoch: event ids start at RING_EVENT_FIRST, those of strings and of stacks
 * at 1. */
enum ring_table_kind {
    RING_TABLE_STRING = 1,
    RING_TABLE_EVENT_TYPE = 2,
    RING_TABLE_STACK = 3,
    RING_TABLE_MAPPING = 4
};
#define RING_STACK_FRAMES_MAX 1024 /* a reader takes no more of one stack */
#define RING_STACK_END_MAX    2    /* 0 whole, 1 cut, 2 broken; and bit 7: the first pc is exact */
#define RING_STACK_EXACT      0x80
#define RING_BUILD_ID_MAX     32

/* ---- chunks ---- */

/* state word: bits 0-1 state, bit 2 PIN, bits 8-31 epoch (24 bits, +1 at every claim)
 *
 *            claim (writer, CAS acquire)
 *   FREE(e) ------------------------> WRITING(e+1) --retire (writer, CAS release)--> FULL(e+1)
 *                                        ^                                             |
 *                                        +------- claim, circular only, PIN clear -----+
 *
 * The agent alone sets and clears PIN (CAS): in WRITING and FULL while it copies, in FREE while the
 * chunk has no memory. Claims skip a pinned chunk. */
enum ring_chunk_state { RING_CHUNK_FREE = 0, RING_CHUNK_WRITING = 1, RING_CHUNK_FULL = 2 };
#define RING_CHUNK_STATE_MASK  3u
#define RING_CHUNK_PIN         4u
#define RING_CHUNK_EPOCH_SHIFT 8

/* What one thread wrote to a chunk: this, and its records behind it. A thread that takes the chunk
 * over from one that has ended begins another segment. */
#define RING_SEGMENT_ALIGN 64 /* where one may begin, counted from the chunk's begin: R-29 */
#define RING_SEGMENT_BYTES 88
struct ring_segment {
    uint32_t end;         /* atomic; where its records end, from the chunk's begin, once another
                             segment follows; 0: no other does yet */
    uint32_t flags;       /* RING_SEGMENT_SIGNAL */
    uint64_t sequence;    /* nth of its thread incarnation, from 0; those of handlers count apart */
    uint64_t generation;  /* host generation at the first record */
    uint64_t base_ticks;  /* absolute time that the first delta counts from */
    uint64_t lost_before; /* records this thread lost between its previous segment and this one */
    uint32_t string_epoch; /* table epoch of every id in this segment up to a RING_RECORD_EPOCH */
    uint32_t slot;         /* thread slot, or RING_SLOT_NONE */
    uint32_t incarnation;
    uint32_t tid;
    char name[32]; /* thread name when the segment was begun */
};
#define RING_SEGMENT_SIGNAL 1u /* flags: written by handlers that interrupted the tracer */

#define RING_CHUNK_HEADER_BYTES 112
struct ring_chunk {
    union {
        struct {
            uint32_t state;  /* atomic; see above */
            uint32_t ticket; /* atomic; of the claim: the writer's own, says nothing to a reader */
        };
        uint64_t claim; /* both: what a claim changes */
    };
    uint64_t committed; /* atomic; {epoch:32, bytes:32}; payload bytes after this header */
    uint64_t end_ticks; /* atomic; of the last record of the threads that have left; 0: none */
    struct ring_segment first;
};

/* Where the segment behind one that ends at `end` begins. */
static inline uint64_t ring_segment_behind(uint64_t end)
{
    return (end + RING_SEGMENT_ALIGN - 1) & ~(uint64_t)(RING_SEGMENT_ALIGN - 1);
}

/* Record: type LEB128, delta ticks LEB128 (since the record before it, or base_ticks), payload. The
 * payload of a SPAN starts with its duration in ticks, LEB128. Arguments:
 *   U64, BOOL, PTR  LEB128
 *   I64             zigzag LEB128
 *   F64             8 bytes
 *   STR             LEB128 v. v even: the interned id v >> 1. v odd, n = v >> 1: n bytes follow, or
 *                   from n = 2 * SKEIN_STR_MAX on: n - 2 * SKEIN_STR_MAX bytes of a longer text
 *   SEQ             two LEB128: resource, number */
enum ring_record {
    RING_RECORD_END = 1,        /* closes the innermost open range */
    RING_RECORD_GENERATION = 2, /* LEB128 generation: what follows belongs to it */
    RING_RECORD_LOST = 3,       /* LEB128 count of records lost at this place */
    RING_RECORD_INLINE = 4, /* a self-described event: class u8, group u8, nargs u8, name, nargs x
                               (type u8, name), then as any event */
    RING_RECORD_EPOCH = 5,  /* LEB128 string epoch that the following ids belong to */
    RING_RECORD_OPEN = 6,   /* only at a segment's start: a range open since base - delta: LEB128
                               event id (0: unknown) */
    RING_RECORD_STACK = 7,  /* LEB128 stack id; of the event or END just before it; moves no time */
    RING_EVENT_FIRST = 16   /* first id of an event type; below 128 they take one byte */
};

/* ---- geometry ---- */

struct ring_geometry {
    uint8_t mode;
    uint64_t total, durable, rolling;
    uint64_t process_off, slots_off, table_off[2], table_bytes; /* table_bytes includes the head */
    uint64_t loss_off[RING_LOSS_KINDS];
    uint32_t loss_buckets, loss_shift; /* a power of two; of 1 << loss_shift ticks each */
    uint32_t slots;
    uint32_t areas;       /* 1 oneshot, 2 otherwise */
    uint64_t area_off[2]; /* where the chunks of an area start */
    uint32_t small_per_area, big_per_area;
};

/* Computes the one layout that belongs to (mode, total). Returns SKEIN_OK, or SKEIN_INVALID for an
 * unknown mode, a size below RING_BYTES_MIN or above RING_BYTES_MAX, or not a multiple of 4096;
 * *geometry is then unchanged. */
int ring_geometry_init(struct ring_geometry *geometry, uint8_t mode, uint64_t total);

/* Chunk i of the ring's small or big chunks, 0 <= i < ring_*_count(): area 0 first, then area 1. */
uint32_t ring_small_count(const struct ring_geometry *geometry);
uint32_t ring_big_count(const struct ring_geometry *geometry);
uint64_t ring_small_offset(const struct ring_geometry *geometry, uint32_t i);
uint64_t ring_big_offset(const struct ring_geometry *geometry, uint32_t i);

_Static_assert(sizeof(struct ring_header) == RING_HEADER_BYTES, "R-1: the header is 128 bytes");
_Static_assert(offsetof(struct ring_header, total_size) == 16, "R-1");
_Static_assert(offsetof(struct ring_header, durable_data_end) == 40, "R-1");
_Static_assert(offsetof(struct ring_header, num_records_dropped) == 64, "R-1");
_Static_assert(offsetof(struct ring_header, overwritten_ticks) == 96, "R-28");
_Static_assert(offsetof(struct ring_header, lacks_from_ns) == 104, "R-1");
_Static_assert(sizeof(struct ring_process_record) == RING_PROCESS_RECORD_BYTES, "R-3");
_Static_assert(sizeof(struct ring_slot) == 128, "R-4");
_Static_assert(sizeof(struct ring_chunk) == RING_CHUNK_HEADER_BYTES, "R-6");
_Static_assert(sizeof(struct ring_segment) == RING_SEGMENT_BYTES, "R-6");
_Static_assert(sizeof(struct host_page) <= 4096 && sizeof(struct process_page) <= 4096, "pages");

#endif
