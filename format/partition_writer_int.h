/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the partition writer: partition_writer.c (calls), partition_rows.c (batches while
 * they are filled), partition_batch.c and partition_ranges.c (packing), partition_pipe.c (full
 * blocks, perhaps to another thread), partition_stacks_put.c (stacks, mappings, symbols),
 * partition_assemble.c (the whole). Included by these, partition_rename.c and a test alone.
 */
#ifndef PARTITION_WRITER_INT_H
#define PARTITION_WRITER_INT_H

#include "intern_table.h"
#include "partition_batch_int.h"
#include "partition_fill.h"
#include "partition_stacks_int.h"
#include "partition_writer.h"

#define NO_STRING UINT32_MAX

/* An event type; its rows of the batch that is being filled are in `fills`. */
struct writer_type {
    uint8_t klass, nargs, columns;
    uint8_t args[SKEIN_ARGS_MAX];
    uint8_t column_types[WRITER_COLUMNS_MAX]; /* enum skein_type by which a column is encoded */
    uint8_t sequences;                        /* sequence arguments */
    bool copied;                              /* all arguments are stored as they come */
    uint8_t trace_id_args;                    /* bit n: argument n may be a trace id (F-35) */
    uint32_t header_bytes;                    /* of its entry in a batch's header, at most */
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
    uint32_t events, opens;
    size_t bytes_max; /* what it may take, at most */
    uint64_t since;   /* when its first span began */
};

/* How many ranges a thread has open behind the batches so far; packing knows which ones. */
struct writer_depth {
    uint64_t open, last_sequence;
    bool has_sequence;
};

struct partition_writer {
    int status;
    struct partition_info info;
    char *texts[4]; /* what info points at */
    struct tick_scale scale;

    struct intern_table type_entries, thread_entries, strings, trace_ids;
    struct writer_type *types;
    struct partition_fill_type *fills; /* of the same number */
    size_t type_cap, fill_cap;
    uint64_t string_bytes;

    struct writer_stacks names;

    struct writer_batch batch;
    struct batch_rows *rows; /* of the batch */
    struct writer_depth *depths;
    size_t depth_count, depth_cap;
    uint64_t fixed_up;

    struct partition_loss *losses;
    size_t loss_count, loss_cap;
    struct partition_open *opens;
    size_t open_count, open_cap;

    struct batch_packer pack;
};
/* Behind these nothing is read before it was written, and nothing is zeroed. */
#define WRITER_ZEROED_BYTES                                                                        \
    (offsetof(struct partition_writer, pack) + offsetof(struct batch_packer, scratch))

_Static_assert(PARTITION_END_BYTES == RECORD_BYTES, "an end is a record without values");

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

/* partition_rows.c. batch_flush hands the batch over, if anything is in it. */
struct batch_rows *batch_rows_new(void);
void batch_rows_free(struct batch_rows *rows);
void batch_flush(struct partition_writer *w);
/* Makes room for one more row of the type, which may be new in the batch. */
bool batch_rows_room(struct partition_writer *w, uint32_t type);
/* NULL: no memory. */
struct writer_depth *depth_at(struct partition_writer *w, uint32_t thread);

#endif
