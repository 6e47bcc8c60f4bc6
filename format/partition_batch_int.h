/* SPDX-License-Identifier: Apache-2.0
 *
 * What the calls of the partition writer fill batch by batch, and what packs it: rows on one side,
 * columns, open ranges and blocks on the other. Full blocks go to LZ4, perhaps by another thread
 * (partition_pipe.c), which sees nothing else. Included by partition_writer_int.h and the packing
 * files.
 *
 *     calls                       rows                           packing          a second thread
 *     partition_writer_event ──▶ struct batch_rows ─ batch_pack ─▶ columns, block ─▶ `packed`
 */
#ifndef PARTITION_BATCH_INT_H
#define PARTITION_BATCH_INT_H

#include <pthread.h>

#include "partition_columns.h"
#include "partition_writer.h"

#define WRITER_BATCH_EVENTS 8192u
#define WRITER_BATCH_OPENS  RANGES_FOLLOWED_MAX
#define WRITER_COLUMNS_MAX  (1 + 2 * SKEIN_ARGS_MAX) /* duration, and two for each sequence */
#define RECORD_BYTES        12                       /* code and time of a record, at most */
#define BATCH_HEADER_BYTES  128 /* at most, with the length in front, without its lists */
#define BATCH_OPEN_BYTES    14  /* of a range in its list */
#define STACK_BYTES         32  /* of a stack's record, and of its type in the header, at most */
#define BATCH_BYTES_MAX     (PARTITION_BLOCK_RAW_MAX - STACK_BYTES)

_Static_assert(WRITER_BATCH_EVENTS < 1u << 14, "codes take two bytes, and RECORD_BYTES hold");

/* The rows of one type in a batch. */
struct rows_type {
    uint32_t type, rows, cap;
    uint8_t columns;
    uint8_t column_types[WRITER_COLUMNS_MAX]; /* enum skein_type by which a column is encoded */
    bool begins;                              /* its records begin ranges */
    uint64_t *values;                         /* column c at values + c * cap */
};

/* A filled batch. Nothing of it is read before it was written, and nothing is zeroed. */
struct batch_rows {
    uint32_t thread;
    bool late;
    uint64_t generation, sequence, last_sequence, base, last;
    uint64_t since; /* when its first span began */
    uint32_t events, opens, type_count;
    uint64_t sequences;      /* sequence arguments */
    struct rows_type *types; /* code k is types[k - 1] */
    size_t types_made, type_cap;
    /* Records that end ranges of batches before, and those that begin what stays open; by place. All
     * others end what they began in the batch itself. */
    uint32_t end_count, begin_count;
    uint16_t ends[WRITER_BATCH_EVENTS + 1], begins[WRITER_BATCH_EVENTS + 1];
    struct partition_open opens_listed[WRITER_BATCH_OPENS];
    /* a full batch still takes the stack of its last record */
    uint16_t codes[WRITER_BATCH_EVENTS + 1];
    uint64_t times[WRITER_BATCH_EVENTS + 1]; /* since the record before, the first since base */
};

/* A range that is open, and the block that tells of its begin. */
struct pack_frame {
    uint32_t type; /* + 1; 0: unknown */
    uint32_t block;
    uint64_t since;
};

/* What a reader knows of a thread behind its last batch. */
struct pack_thread {
    struct pack_frame *frames;
    size_t depth, cap;
    uint64_t deeper; /* open ranges beyond WRITER_BATCH_OPENS, not kept */
    uint64_t last_sequence;
    bool has_sequence;
    uint32_t block; /* of its last batch */
};

/* A block before it is packed, and its section then. Not zeroed. */
enum raw_state { RAW_FILLED, RAW_TAKEN, RAW_DONE };
struct raw_block {
    enum raw_state state; /* where it is queued */
    size_t raw_len;
    struct buf stored;
    uint8_t raw[PARTITION_BLOCK_RAW_MAX];
};

enum { PIPE_BLOCKS = 8 }; /* being filled, waiting, being packed: together */

struct block_pipe {
    bool shared; /* else only `status` and `appended` are used */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct partition_lend lend;
    /* ---- under the mutex ---- */
    struct raw_block *queue[PIPE_BLOCKS]; /* a ring, the oldest at `first` */
    struct raw_block *spare[PIPE_BLOCKS];
    unsigned first, queued, spares, made;
    bool over;
    size_t appended; /* blocks in `packed` */
    int status;      /* of packing */
};

struct batch_packer {
    int status;
    struct partition_block *blocks; /* offset and stored_bytes come with the packed block */
    size_t block_count, block_cap;
    struct partition_block block; /* that is being filled */
    struct raw_block *filling;
    uint64_t raw_bytes; /* of packed sections */
    uint64_t batches, sequences, events, from_ticks, to_ticks;
    struct partition_counts *counts; /* NULL: nobody counts */
    struct pack_thread *threads;
    size_t thread_count, thread_cap;
    struct block_pipe pipe;
    struct buf packed; /* finished BLOCK sections; under the pipe's mutex until it is drained */
    /* ---- not zeroed ---- */
    uint8_t scratch[PARTITION_BLOCK_RAW_MAX + COLUMN_SLACK_BYTES]; /* the batch's columns */
};

/* partition_batch.c: a batch's rows into the block, and the block to the pipe. Errors go into
 * p->status and stay. */
void batch_pack(struct batch_packer *p, const struct batch_rows *rows);
void block_flush(struct batch_packer *p);

/* partition_pipe.c. */
struct raw_block *raw_block_new(void); /* NULL: no memory */
/* Packs p->filling or hands it over, and leaves an empty one there. Its figures are the last of
 * p->blocks. */
void pipe_put(struct batch_packer *p);
/* Takes the mutex for the writer's thread, which is lent to the helper if that has it. */
void pipe_lock(struct block_pipe *pipe);
void pipe_drain(struct batch_packer *p); /* until all is in `packed`; nothing may follow */
void pipe_free(struct batch_packer *p);

/* partition_ranges.c. The thread's state, made when it is first asked for; NULL: no memory. */
struct pack_thread *pack_thread_at(struct batch_packer *p, uint32_t thread);
/* How many of the thread's open ranges the batch must list (F-42), so that the block it goes to can
 * be read without those in front. */
size_t ranges_to_list(const struct batch_packer *p, const struct batch_rows *rows,
                      const struct pack_thread *t);
/* Follows the records of the batch, which has gone into the current block. */
void ranges_follow(struct batch_packer *p, const struct batch_rows *rows, struct pack_thread *t);
/* Call it at the end: notes the ranges that stay open, and gives the first OPENS_MAX, malloc'ed. */
struct partition_open *ranges_finish(struct batch_packer *p, size_t *count);
void ranges_free(struct batch_packer *p);

#endif
