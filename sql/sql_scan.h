/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk over the events that a table of events needs for one statement: what SQL asks for becomes
 * a query of the reader (skein/trace.h), so that columns, threads, names and times that nobody asks
 * for are not read. For sql/ alone. One thread.
 *
 * What a filter says may let more through than is asked for, never less: SQLite looks again.
 * Ids are places among all rows of a thread, and time of one's own needs those inside: who asks for
 * them reads all rows of the threads that are asked for.
 */
#ifndef SQL_SCAN_H
#define SQL_SCAN_H

#include "sql_int.h"
#include "sql_nest.h"

enum sql_text { SQL_TEXT_NAME, SQL_TEXT_THREAD, SQL_TEXT_PROCESS, SQL_TEXT_SERVICE, SQL_TEXT_HOST };
#define SQL_TEXTS (SQL_TEXT_HOST + 1)
enum sql_number { SQL_NUMBER_TID, SQL_NUMBER_THREAD, SQL_NUMBER_PID, SQL_NUMBER_PROCESS };
#define SQL_NUMBERS (SQL_NUMBER_PROCESS + 1)

struct sql_filter { /* all-zero: everything */
    bool empty;     /* nothing can be found */
    bool by_id;     /* the rows of one event, and no other filter */
    int64_t id;
    uint64_t from_ns, to_ns; /* 0: no end */
    uint32_t kinds;          /* 0: the table's */
    char *texts[SQL_TEXTS];  /* NULL: any; the filter's */
    bool has[SQL_NUMBERS];
    int64_t numbers[SQL_NUMBERS];
};
void sql_filter_fini(struct sql_filter *filter);

#define SQL_STACKS_KEPT 64

struct sql_scan {
    struct sql_engine *engine;
    const struct sql_table *table;
    uint64_t wants; /* bit n: enum sql_what n */
    struct sql_filter filter;

    struct skein_cursor *cursor;
    struct skein_batch batch;
    uint32_t row;         /* of the batch; the one before the first: UINT32_MAX */
    uint32_t part, parts; /* of the event's rows */
    uint64_t number;      /* of the row that is given */
    bool ended, at_gap;   /* at_gap: behind all events, `part` is a gap */

    struct sql_nest nest;
    int64_t id, parent;
    uint64_t self_ns;
    uint8_t *type_fits; /* by number; 0: not looked at */
    size_t type_cap;

    struct skein_frame *frames; /* of `frames_row` */
    size_t frame_count, frame_cap;
    uint32_t frames_row;
    uint8_t stack_end;
    struct {
        uint32_t stack;
        int64_t id;
    } stacks[SQL_STACKS_KEPT]; /* of this batch */
};

/* All-zero is valid. */
void sql_scan_fini(struct sql_scan *scan);

/* To the first row; takes *filter over. A scan that was opened by an id goes on to another one that
 * lies ahead, so that a join in the order of the trace reads it once. SKEIN_OK or a status. */
int sql_scan_open(struct sql_scan *scan, uint64_t wants, struct sql_filter *filter);
int sql_scan_next(struct sql_scan *scan);
static inline bool sql_scan_ended(const struct sql_scan *scan)
{
    return scan->ended;
}

/* Of the row. */
const struct skein_event_type *sql_scan_type(const struct sql_scan *scan); /* NULL: none */
/* Its arguments that are known: none of a region whose begin is lost, and of an operation in progress
 * the first, which is its detail. sql_scan_arg wants i below the count, and the column of arguments
 * where it looks at the value. */
uint32_t sql_scan_arg_count(const struct sql_scan *scan);
struct sql_arg {
    const char *name, *unit;
    uint8_t type; /* enum skein_type */
    struct skein_arg value;
};
struct sql_arg sql_scan_arg(const struct sql_scan *scan, uint32_t i);
/* The nth argument that tells of a task: which of the event's arguments it is. */
uint32_t sql_scan_task(const struct sql_scan *scan, uint32_t n);
/* Fills scan->frames. SKEIN_OK or a status. */
int sql_scan_frames(struct sql_scan *scan);
/* A number that is the same for equal stacks of a process; 0: none. SKEIN_OK or a status. */
int sql_scan_stack_id(struct sql_scan *scan, int64_t *id);

/* What a column of the table holds: sql_columns.c. */
void sql_scan_give(sqlite3_context *to, struct sql_scan *scan, const struct sql_column *column);

#endif
