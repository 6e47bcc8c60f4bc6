/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the partition writer: partition_writer.c (calls), partition_batch.c (rows to
 * columns to blocks), partition_ranges.c (which ranges are open), partition_stacks_put.c (stacks,
 * mappings, symbols), partition_assemble.c (the whole). Included by these and
 * partition_rename.c alone.
 */
#ifndef PARTITION_WRITER_INT_H
#define PARTITION_WRITER_INT_H

#include "intern_table.h"
#include "partition_columns.h"
#include "partition_int.h"
#include "partition_stacks_int.h"
#include "partition_writer.h"

#define WRITER_BATCH_EVENTS 8192u
#define WRITER_BATCH_OPENS  RANGES_FOLLOWED_MAX
#define WRITER_COLUMNS_MAX  (1 + 2 * SKEIN_ARGS_MAX) /* duration, and two for each sequence */
#define RECORD_BYTES        12                       /* code and time of a record, at most */
#define NO_STRING           UINT32_MAX
#define BATCH_HEADER_BYTES  128 /* at most, with the length in front, without its lists */
#define BATCH_OPEN_BYTES    14  /* of a range in its list */
#define STACK_BYTES         32  /* of a stack's record, and of its type in the header, at most */
#define BATCH_BYTES_MAX     (PARTITION_BLOCK_RAW_MAX - STACK_BYTES)

/* An event type and its rows of the batch that is being filled. */
struct writer_type {
    uint8_t klass, nargs, columns;
    uint8_t args[SKEIN_ARGS_MAX];
    uint8_t column_types[WRITER_COLUMNS_MAX]; /* enum skein_type by which a column is encoded */
    uint8_t sequences;                        /* sequence arguments */
    bool copied;                              /* all arguments are stored as they come */
    uint8_t trace_id_args;                    /* bit n: argument n may be a trace id (F-35) */
    uint32_t event_bytes,
        header_bytes; /* at most, in a batch: of an event; of its entry in the header */
    uint32_t local;   /* place in the batch's list from 1; 0: not in it */
    uint32_t rows, cap;
    uint64_t *values; /* column c at values + c * cap */
    uint32_t last_string[SKEIN_ARGS_MAX];
    uint64_t events; /* in all batches */
    char *name;
};

struct writer_batch {
    bool active; /* a batch was begun */
    bool fresh;  /* no record since partition_writer_batch */
    bool bare;   /* the last record may still get a stack */
    bool late;
    uint32_t thread;
    uint64_t generation, sequence, last_sequence, merged_sequence;
    uint64_t base, last;
    uint32_t events, local_types, opens;
    size_t bytes_max; /* what it may take, at most */
    size_t codes_len, times_len;
    uint64_t since; /* when its first span began */
};

/* A range that is open, and the block that tells of its begin. */
struct writer_frame {
    uint32_t type; /* + 1; 0: unknown */
    uint32_t block;
    uint64_t since;
};

/* What a reader knows of a thread behind its last batch. */
struct writer_thread {
    struct writer_frame *frames;
    size_t depth, cap;
    uint64_t deeper; /* open ranges beyond WRITER_BATCH_OPENS, not kept */
    uint64_t last_sequence;
    bool has_sequence;
    uint32_t block; /* of its last batch */
};

struct partition_writer {
    int status;
    struct partition_info info;
    char *texts[4]; /* what info points at */
    struct tick_scale scale;

    struct intern_table type_entries, thread_entries, strings, trace_ids;
    struct writer_type *types;
    size_t type_cap;
    uint64_t string_bytes;
    struct writer_thread *threads;
    size_t thread_count, thread_cap;

    struct writer_stacks names;

    struct writer_batch batch;
    size_t raw_len;
    struct partition_block block;
    struct buf packed; /* finished BLOCK sections */
    struct partition_block *blocks;
    size_t block_count, block_cap;
    uint64_t raw_bytes; /* of packed sections */

    struct partition_loss *losses;
    size_t loss_count, loss_cap;
    struct partition_open *opens;
    size_t open_count, open_cap;
    uint64_t batches, sequences;
    uint64_t events, fixed_up, from_ticks, to_ticks;

    /* ---- from here on nothing is read before it was written, and nothing is zeroed ---- */

    /* a full batch still takes the stack of its last record */
    uint32_t local_types[WRITER_BATCH_EVENTS + 1];
    struct partition_open opens_listed[WRITER_BATCH_OPENS];
    uint16_t codes[WRITER_BATCH_EVENTS + 1];
    uint64_t times[WRITER_BATCH_EVENTS + 1]; /* since the record before, the first since base */
    /* of a local type the range that its records begin, as in writer_frame; 0: of another class */
    uint32_t begins[WRITER_BATCH_EVENTS + 2];
    uint8_t scratch[PARTITION_BLOCK_RAW_MAX + COLUMN_SLACK_BYTES]; /* the batch's columns */

    uint8_t raw[PARTITION_BLOCK_RAW_MAX]; /* the block that is being filled */
};
#define WRITER_ZEROED_BYTES offsetof(struct partition_writer, local_types)

_Static_assert(WRITER_BATCH_EVENTS < 1u << 14, "codes take two bytes, and RECORD_BYTES hold");

static inline bool batch_has_room(const struct writer_batch *b, size_t need)
{
    return b->events < WRITER_BATCH_EVENTS && b->bytes_max <= BATCH_BYTES_MAX &&
           need <= BATCH_BYTES_MAX - b->bytes_max;
}

/* Keeps the first failure. */
static inline void writer_fail(struct partition_writer *w, int status)
{
    if (w->status == SKEIN_OK)
        w->status = status;
}

/* partition_writer.c: a type, also one that callers may not make. */
int64_t writer_type_make(struct partition_writer *w, const struct partition_event_type *type);

/* partition_stacks_put.c: the sections STACKS, MAPPINGS and SYMBOLS that are not empty. */
void stacks_put(struct buf *b, struct partition_writer *w);
/* SYMBOLS alone (partition_rename.c). */
void symbols_put(struct buf *b, struct partition_writer *w);
uint64_t stacks_bytes(const struct partition_writer *w);
void stacks_free(struct partition_writer *w);

/* partition_batch.c: writes the batch's rows into the block, and the block into `packed`. */
void batch_flush(struct partition_writer *w);
void block_flush(struct partition_writer *w);

/* partition_ranges.c. The thread's state, made when it is first asked for; NULL: no memory. */
struct writer_thread *writer_thread_at(struct partition_writer *w, uint32_t thread);
/* How many of the thread's open ranges the batch that is going out must list (F-42), so that the
 * block it goes to can be read without those in front. */
size_t ranges_to_list(const struct partition_writer *w, const struct writer_thread *t);
/* Follows the records of the batch, which has gone into the current block. */
void ranges_follow(struct partition_writer *w, struct writer_thread *t);
/* Call it at the end: notes the ranges that stay open, and gives the first OPENS_MAX, malloc'ed. */
struct partition_open *ranges_finish(struct partition_writer *w, size_t *count);
void ranges_free(struct partition_writer *w);

#endif
