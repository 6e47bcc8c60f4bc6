/* SPDX-License-Identifier: Apache-2.0
 *
 * What the exporters of exchange/ share, and nobody else includes: the row at hand, what is counted
 * of rows, and numbers and texts that other tools ask for.
 */
#ifndef EXPORT_INT_H
#define EXPORT_INT_H

#include <string.h>

#include "export_trace.h"
#include "intern_table.h"
#include "span_lanes.h"

#define EXPORT_ROW_KINDS 9 /* enum skein_row_kind, by number */

/* One row of a batch. */
struct export_row {
    uint8_t kind, flags;
    uint32_t process, thread, type, stack; /* numbers; SKEIN_NONE; of a stack 0 */
    uint64_t time_ns, dur_ns;
    uint64_t made_ns; /* when its record was made: at its end, if it has one */
    const struct skein_process *of;
    const struct skein_thread *on;       /* NULL: the process */
    const struct skein_event_type *what; /* NULL: none */
    const struct skein_arg *args;
    const struct skein_row_more *more; /* NULL: none */
    uint32_t number;                   /* in the batch */
    uint32_t lane; /* of a format that nests: 0, or it crosses others of its thread */
};

/* A format. Functions return SKEIN_OK or a status below 0. */
struct export_kind {
    size_t state_bytes; /* of `state`, zeroed */
    uint32_t kinds;     /* of rows that it asks for, as in struct skein_query */
    uint32_t columns;   /* the same */
    bool folder, by_process;
    bool nests; /* regions of a thread are drawn inside each other, by their times */
    int (*begin)(struct export_run *x);
    int (*row)(struct export_run *x, const struct export_row *row);
    int (*end)(struct export_run *x);
    void (*fini)(struct export_run *x);
    void (*told)(const struct export_run *x, struct buf *line); /* what it has not; or NULL */
};
extern const struct export_kind export_chrome, export_ctf, export_fxt, export_otlp;

/* Numbers by which other tools tell processes and threads apart, by those of the trace; 0: none. */
struct export_numbers {
    struct intern_table taken;
    uint32_t *pids, *tids;
    size_t pid_cap, tid_cap;
};

/* Regions of each thread and process by their times, and threads that are made up for those that cross;
 * see export_lanes.c. */
struct export_lanes {
    struct span_lanes *threads, *processes; /* by number */
    size_t thread_cap, process_cap;
    struct intern_table made;
};

struct export_run {
    struct skein_trace *trace;
    struct skein_cursor *cursor;
    const struct export_kind *kind;
    struct export_sink sink;
    struct buf out; /* of the one file; not written yet */
    void *state;
    struct export_numbers numbers;
    struct export_lanes lanes;
    uint64_t rows, expected;
    uint64_t had[EXPORT_ROW_KINDS];        /* rows by kind, all of them */
    uint64_t left[EXPORT_ROW_KINDS];       /* that are not in the export */
    uint64_t lost_records, losses_unknown; /* of rows of loss */
    uint64_t cut_texts, arguments_left;    /* of all rows that are in it */
};

/* The export fails if the buffer has; a buffer forgets that when it is emptied. */
static inline void export_needs(struct export_run *x, const struct buf *b)
{
    if (b->status != SKEIN_OK)
        x->out.status = b->status;
}

/* ---- export_names.c ---- */

/* The process's own pid and the thread's own tid where nobody in the trace has had it before, else
 * one that no Linux gives: from EXPORT_MADE_UP on. Threads of evidence always get such a one. *fresh:
 * it was not asked for before. SKEIN_OK, SKEIN_NO_MEMORY. */
#define EXPORT_MADE_UP UINT32_C(0x40000000)
int export_pid(struct export_run *x, uint32_t process, uint32_t *pid, bool *fresh);
int export_tid(struct export_run *x, uint32_t thread, uint32_t *tid, bool *fresh);

/* "shop (host-a)", "worker", "evidence: worker". */
void export_process_name(struct buf *out, const struct skein_process *process);
void export_thread_name(struct buf *out, const struct skein_thread *thread);

/* Makes *out "net"; "evidence" where the row is of it; with a NUL. */
void export_category(struct buf *out, const struct export_row *row);

/* Appends text with what is no UTF-8 replaced by U+FFFD. */
void export_utf8_put(struct buf *out, const char *text, size_t n);

/* A frame as one text: function, or file and offset, or address. */
void export_frame_put(struct buf *out, const struct skein_frame *frame);

/* The frames of the row's stack, innermost first, at most `most`; how many are given. *whole: these
 * are all, to the outermost. Without memory the export has failed (out.status). */
size_t export_stack(struct export_run *x, const struct export_row *row, struct skein_frame *frames,
                    size_t most, bool *whole);

/* Whether the row has its arguments: those of a region are its begin's, and an operation that is in
 * progress has none. */
bool export_has_args(const struct export_row *row);

/* Whether a counter's argument can be drawn as a curve; others are left out, and counted. */
bool export_is_curve(const struct skein_arg_type *type, const struct skein_arg *arg);

/* A counter with several values is of its thread, so these are told apart: its tid, else 0. */
uint32_t export_counter_id(const struct export_row *row);

/* Whether the row is a sample of the CPU with its stack. */
bool export_row_is_sample(const struct export_row *row);

/* "1 region", "2 regions", with `and` in front where the line has something already. */
void export_count_put(struct buf *line, uint64_t n, const char *one, const char *more);

/* ---- export_lanes.c ---- */

/* Sets the row's lane, and its times where others of its thread ask for that (span_lanes.h).
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int export_lane_take(struct export_run *x, struct export_row *row);
/* The number of the thread of a row whose lane is not 0. SKEIN_OK, SKEIN_NO_MEMORY. */
#define EXPORT_LANES UINT32_C(0x60000000)
int export_lane_tid(struct export_run *x, const struct export_row *row, uint32_t *tid, bool *fresh);
/* The ith of these threads; false: there is none. */
struct export_lane {
    uint32_t process, thread, lane, tid; /* thread: whose regions these are; SKEIN_NONE */
};
bool export_lane_made(const struct export_run *x, size_t i, struct export_lane *lane);
void export_lane_name(struct export_run *x, const struct export_lane *lane, struct buf *out);
void export_lanes_fini(struct export_lanes *lanes);

/* ---- export_json.c ---- */

/* A text of ours, as it is. */
static inline void export_put(struct buf *out, const char *text)
{
    buf_put(out, text, strlen(text));
}

/* Digits alone. */
void export_json_digits(struct buf *out, uint64_t v);
/* An integer as JSON: in quotes beyond 2^53, where most readers round. */
void export_json_u64(struct buf *out, uint64_t v);
void export_json_i64(struct buf *out, int64_t v);
/* A double; "NaN", "Infinity" and "-Infinity" as texts. */
void export_json_f64(struct buf *out, double v);
void export_json_text(struct buf *out, const char *text); /* quoted; hostile bytes escaped */
/* Microseconds of ns after base, with three digits after the point. */
void export_json_us(struct buf *out, uint64_t ns, uint64_t base);

#endif
