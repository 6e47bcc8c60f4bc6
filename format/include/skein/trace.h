/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein-format: reads traces (docs/format.md). A trace is one or more trace files; a cursor walks
 * over what a query asks for, in causal order, and gives it in batches of columns: the caller pulls,
 * nothing calls back for an event, and columns that are not asked for are not unpacked.
 *
 *     struct skein_batch batch;
 *     struct skein_query query = {sizeof query, .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE};
 *     skein_trace_open("out.skein", &trace, error); // and look at what it returns
 *     skein_cursor_new(trace, &query, &cursor);
 *     while (skein_cursor_next(cursor, &batch) > 0)
 *         for (uint32_t i = 0; i < batch.count; i++)
 *             puts(skein_trace_type(trace, batch.type[i])->name);
 *
 * Order. Records come by the time at which they were made, by the collector's clock, over all
 * processes and hosts; a region or span is recorded when it ends. Sequence numbers go before clocks:
 * an effect is never before its cause, and its time is raised where a clock says otherwise. Of hosts
 * whose regions name a parent on another host (docs/reading.md) all times are raised, once, when the
 * first cursor is made.
 *
 * Every byte of a trace is hostile: what is broken or missing is left out and told as a gap; all else
 * is given. Texts may hold any bytes but NUL. Arguments of OPEN and BEGIN_CLIPPED rows may be lost.
 *
 * Memory: that of one partition for each process whose time it is, and of what the trace names (types,
 * threads, processes). A trace and its cursors belong to one thread at a time; there is no I/O but
 * through the source. Statuses are those of skein/skein.h.
 */
#ifndef SKEIN_TRACE_H
#define SKEIN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/skein.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __clang__ /* struct skein_arg */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpedantic"
#endif

#define SKEIN_TRACE_ERROR_BYTES 512
#define SKEIN_BATCH_ROWS        4096u      /* at most */
#define SKEIN_NONE              UINT32_MAX /* of a number of a thread, type or process: there is none */

struct skein_trace;
struct skein_cursor;

/* ---- opening ---- */

/* Bytes of a trace file. `read` fills exactly n bytes from offset, offset + n <= bytes; SKEIN_OK or a
 * status that the caller is given. It must give the same bytes each time. */
struct skein_trace_source {
    int (*read)(void *context, uint64_t offset, void *out, size_t n);
    void *context;
    uint64_t bytes;
    const char *name; /* for sentences; copied */
};

/* An empty trace; files are added before the first cursor is made. SKEIN_OK, SKEIN_NO_MEMORY. */
int skein_trace_new(struct skein_trace **out);
void skein_trace_free(struct skein_trace **trace); /* its cursors are freed before */

/* Adds a file by its path, bytes in memory (not copied), or a source. A copy of a partition that is
 * there is left out (F-36). SKEIN_OK; SKEIN_IO; SKEIN_CORRUPT and SKEIN_VERSION where not even one
 * partition can be read; SKEIN_INVALID: there is a cursor; SKEIN_NO_MEMORY. error: a sentence. */
int skein_trace_add_file(struct skein_trace *trace, const char *path,
                         char error[SKEIN_TRACE_ERROR_BYTES]);
int skein_trace_add_memory(struct skein_trace *trace, const void *bytes, size_t n, const char *name,
                           char error[SKEIN_TRACE_ERROR_BYTES]);
int skein_trace_add_source(struct skein_trace *trace, const struct skein_trace_source *source,
                           char error[SKEIN_TRACE_ERROR_BYTES]);

/* new, and add_file. On failure *out is NULL. */
int skein_trace_open(const char *path, struct skein_trace **out,
                     char error[SKEIN_TRACE_ERROR_BYTES]);

/* ---- what can be known from footers alone ---- */

struct skein_process {
    uint8_t id[16];
    uint32_t pid;
    const char *host, *service, *labels, *exe; /* labels "k=v,…"; may be "" */
    uint64_t from_ns, to_ns;                   /* of its records; UTC by the collector's clock */
    uint64_t start_ns;                         /* 0: not read yet */
    struct {
        bool known;
        int32_t signal, status;
    } death;         /* once a partition that tells of it has been read */
    uint64_t events; /* records of the ring, by its footers; stacks are not counted */
    uint32_t partitions;
};

struct skein_partition {
    uint32_t process; /* number */
    uint64_t epoch, sequence;
    uint64_t from_ns, to_ns, window_from_ns, window_to_ns; /* collector's clock */
    uint64_t offset, bytes;                                /* in its file */
    uint32_t file;                                         /* number, in the order of adding */
    uint64_t events, lost, fixed_up, threads;
    bool evidence, slice, follows; /* follows: it was cut right behind the one in front (F-50) */
    uint64_t monotonic_ns[2], collector_ns[2]; /* the clocks at its ends; 0 until it is read */
};

/* Numbered from 0: processes as they come in the files, partitions by process, evidence first, then
 * in the order of their cuts. What is given lasts as long as the trace. */
uint32_t skein_trace_process_count(const struct skein_trace *trace);
const struct skein_process *skein_trace_process(const struct skein_trace *trace, uint32_t process);
uint32_t skein_trace_partition_count(const struct skein_trace *trace);
const struct skein_partition *skein_trace_partition(const struct skein_trace *trace, uint32_t i);

/* From the first record to the last, by footers; 0, 0: there is none. */
void skein_trace_bounds(const struct skein_trace *trace, uint64_t *from_ns, uint64_t *to_ns);

/* ---- what events name: numbered through the whole trace, as cursors come upon it ---- */

struct skein_arg_type {
    uint8_t type; /* enum skein_type; others are from the future */
    const char *name, *unit;
};

struct skein_event_type {
    const char *name, *text, *file;
    uint32_t line;
    uint8_t klass, group, arg_count; /* klass: enum skein_class */
    struct skein_arg_type args[SKEIN_ARGS_MAX];
};

#define SKEIN_STAND_IN                                                                             \
    (UINT64_C(1) << 63) /* of incarnation: no thread, but a CPU, a track (F-21) */
struct skein_thread {
    uint32_t process, tid;
    uint64_t incarnation; /* tells threads apart that had the same tid */
    bool evidence;        /* it names what evidence tells of, beside the thread's own events */
    const char *name;     /* the last one known */
};

uint32_t skein_trace_type_count(const struct skein_trace *trace);
const struct skein_event_type *skein_trace_type(const struct skein_trace *trace, uint32_t type);
uint32_t skein_trace_thread_count(const struct skein_trace *trace);
const struct skein_thread *skein_trace_thread(const struct skein_trace *trace, uint32_t thread);

/* ---- events ---- */

/* What a row is. */
enum skein_row_kind {
    SKEIN_ROW_BEGIN = 1,  /* a region opens: its REGION, OPEN or nothing follows */
    SKEIN_ROW_REGION = 2, /* a finished region or span: time_ns is its begin, dur_ns its length */
    SKEIN_ROW_INSTANT = 3,
    SKEIN_ROW_COUNTER = 4, /* argument 0 is the value */
    SKEIN_ROW_LOG = 5,     /* argument 0 the level, 1 the text */
    SKEIN_ROW_OPEN = 6,    /* in progress behind the process's last cut: dur_ns so far */
    SKEIN_ROW_LOSS = 7,    /* records are missing between time_ns and time_ns + dur_ns: `more` */
    SKEIN_ROW_END_ONLY = 8 /* an end whose begin is lost; dur_ns unknown (0) */
};

/* Bits of `flags`. */
#define SKEIN_ROW_FIXED_UP      1u /* its time was raised, so that it is not before its cause */
#define SKEIN_ROW_BEGIN_CLIPPED 2u /* it began before time_ns: that is the bound known */
#define SKEIN_ROW_END_CLIPPED   4u /* it ended later than known: dur_ns is the least */
#define SKEIN_ROW_EVIDENCE      8u /* told by the agent, of a partition of evidence */

/* An argument's value, by its type: u64, bool and pointer; i64; f64; a string; a sequence. */
struct skein_arg {
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        const char *text; /* with a NUL behind it */
        uint64_t resource;
    };
    union {
        __extension__ struct {
            uint32_t len;
            bool cut; /* the text was longer */
        };
        uint64_t number; /* of a sequence */
    };
};

/* Losses and detail of operations are rare: a row has the place of its own here, or SKEIN_NONE. */
struct skein_row_more {
    uint8_t loss_reason; /* docs/format.md F-32; text: skein_loss_text */
    uint64_t lost;       /* records; 0: unknown */
    int64_t detail;      /* OPEN: of an operation */
    bool has_detail;
};

/* Columns that a query asks for; kind, flags, thread and `more` are always there. */
#define SKEIN_COLUMN_TIME  1u /* time_ns and dur_ns */
#define SKEIN_COLUMN_TYPE  2u
#define SKEIN_COLUMN_DEPTH 4u /* regions open around it on its thread */
#define SKEIN_COLUMN_STACK 8u
#define SKEIN_COLUMN_ARGS  16u
#define SKEIN_COLUMN_ALL   31u

/* Rows in columns; NULL: not asked for. Lasts until the next call with this cursor. */
struct skein_batch {
    uint32_t count;
    const uint8_t *kind;  /* enum skein_row_kind */
    const uint8_t *flags; /* SKEIN_ROW_… */
    const uint32_t *process;
    const uint32_t *thread; /* SKEIN_NONE: of the process */
    const uint64_t *time_ns, *dur_ns;
    const uint32_t *type; /* SKEIN_NONE: of a loss, and an END_ONLY of unknown type */
    const uint32_t *depth;
    const uint32_t *stack;        /* 0: none; of this trace, see below; lasts as the batch does */
    const struct skein_arg *args; /* SKEIN_ARGS_MAX of each row; those of its type are set */
    const uint32_t *more;         /* number in `mores`, or SKEIN_NONE */
    const struct skein_row_more *mores;
};

static inline const struct skein_arg *skein_batch_args(const struct skein_batch *b, uint32_t row)
{
    return b->args + (size_t)row * SKEIN_ARGS_MAX;
}

/* ---- queries ---- */

/* A projection: what is not asked for costs as little as it can. All-zero asks for everything. */
struct skein_query {
    size_t size;             /* sizeof of this struct */
    uint32_t columns;        /* SKEIN_COLUMN_…; 0: all */
    uint32_t kinds;          /* bit n: enum skein_row_kind n; 0: all but BEGIN */
    uint64_t from_ns, to_ns; /* what touches this time, both ends included; to 0: no end */
    uint64_t groups;         /* bit n: event group n; 0: all. Losses are always given */
    bool no_evidence;        /* leave out what the agent told */
    bool by_process;         /* one after the other, each in its order: memory for one alone */
    /* Which processes, threads and types: false leaves it out. Asked once for each number; NULL: all. */
    bool (*process)(void *context, const struct skein_process *process);
    bool (*thread)(void *context, const struct skein_thread *thread);
    bool (*type)(void *context, const struct skein_event_type *type);
    void *context;
};

/* query is copied. SKEIN_OK, SKEIN_INVALID, SKEIN_NO_MEMORY. */
int skein_cursor_new(struct skein_trace *trace, const struct skein_query *query,
                     struct skein_cursor **out);
void skein_cursor_free(struct skein_cursor **cursor);

/* The next rows. 1; 0 at the end; SKEIN_NO_MEMORY, then for good. What cannot be read is a gap. */
int skein_cursor_next(struct skein_cursor *cursor, struct skein_batch *batch);

/* ---- stacks of the rows of the last batch ---- */

/* A frame as people call it: an address at which functions were inlined gives several. */
struct skein_frame {
    uint64_t address;                     /* as found on the stack; 0, with looked_up: none */
    uint64_t looked_up;                   /* F-48 */
    uint64_t offset;                      /* in the module's file, of what was looked up */
    const char *function, *file, *module; /* "": unknown */
    uint32_t line;                        /* 0: unknown */
    bool inlined;                         /* into the next one */
};

/* Frames of a stack of the last batch, innermost first, into at most `most` of `frames`; *total: how
 * many there are. Texts last as the batch does. SKEIN_OK; SKEIN_NOT_FOUND; SKEIN_NO_MEMORY. end, where
 * not NULL: how the walk ended, F-44. */
int skein_cursor_stack(struct skein_cursor *cursor, uint32_t row, struct skein_frame *frames,
                       size_t most, size_t *total, uint8_t *end);

/* ---- what is not there ---- */

enum skein_gap_reason {
    SKEIN_GAP_BROKEN = 1,  /* a partition, or its rest, cannot be read: `what` says why */
    SKEIN_GAP_MISSING = 2, /* between two numbers of cuts there is none, or a slice was left out */
    SKEIN_GAP_TORN = 3     /* bytes of the file belong to no partition */
};

struct skein_gap {
    enum skein_gap_reason reason;
    uint32_t process;        /* SKEIN_NONE: unknown */
    uint32_t partition;      /* BROKEN: which; else SKEIN_NONE */
    uint64_t from_ns, to_ns; /* bounds; 0, 0: unknown */
    uint64_t bytes;          /* TORN */
    const char *what;        /* a sentence: rule (F-n) and byte */
};

/* Those found so far: missing and torn at once, broken as the cursor comes upon them. */
size_t skein_cursor_gaps(const struct skein_cursor *cursor, const struct skein_gap **gaps);

/* Counted so far: rows whose time was raised, and records that waited in a circle (F-29). */
uint64_t skein_cursor_fixed_up(const struct skein_cursor *cursor);
uint64_t skein_cursor_unordered(const struct skein_cursor *cursor);

/* "ring_full", …; "unknown" for one from the future. */
const char *skein_loss_text(uint8_t reason);

#ifdef __clang__
#pragma clang diagnostic pop
#endif
#ifdef __cplusplus
}
#endif

#endif
