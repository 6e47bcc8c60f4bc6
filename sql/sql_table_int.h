/* SPDX-License-Identifier: Apache-2.0
 *
 * How a table is described: its columns, and which rows it has. For sql/ alone. A table of events
 * gives rows as a scan of the trace comes upon them; a table of a list is held by the trace
 * (processes, threads, partitions) or by the engine (stats). Declarations only.
 */
#ifndef SQL_TABLE_INT_H
#define SQL_TABLE_INT_H

#include <sqlite3.h>

#include "sql.h"

/* What a column holds. */
enum sql_what {
    SQL_ID = 1,
    SQL_TS,
    SQL_DUR,
    SQL_KIND,
    SQL_NAME,
    SQL_GROUP,
    SQL_DEPTH,
    SQL_PARENT,
    SQL_SELF,
    SQL_ARGS,
    SQL_STACK_ID,
    SQL_FLAG,    /* `at`: bit of skein_batch.flags */
    SQL_IS_OPEN, /* an operation or region in progress */
    SQL_DETAIL,
    SQL_SOURCE_FILE,
    SQL_SOURCE_LINE,
    SQL_EVIDENCE,
    SQL_THREAD,
    SQL_TID,
    SQL_THREAD_ID,
    SQL_PROCESS,
    SQL_PID,
    SQL_SERVICE,
    SQL_HOST,
    SQL_PROCESS_ID,
    SQL_ARG,     /* `arg`: the argument of that name */
    SQL_ARG_AT,  /* `at`: the argument of that place */
    SQL_UNIT_AT, /* and its unit */
    SQL_LEVEL,   /* of a log, as a word */
    SQL_STATE,   /* of a thread */
    SQL_PART,    /* of a table with several rows for an event: `at` says what of it */
    SQL_REASON,
    SQL_RECORDS,
    SQL_BYTES,
    SQL_SENTENCE,
    SQL_FIELD /* of a list: `at` */
};

struct sql_column {
    const char *name, *type;
    enum sql_what what;
    int at;
    const char *arg;
};

/* How many rows an event gives. */
enum sql_rows {
    SQL_ROWS_ONE,
    SQL_ROWS_ARGS,   /* one for each argument */
    SQL_ROWS_STACK,  /* one, if it has a stack */
    SQL_ROWS_FRAMES, /* one for each frame of it */
    SQL_ROWS_TASKS,  /* one for each trace id and sequence among its arguments */
    SQL_ROWS_LOSSES  /* one, and behind all events one for each gap */
};

enum sql_of { SQL_OF_ALL, SQL_OF_RING, SQL_OF_EVIDENCE };

struct sql_list {
    int (*begin)(struct sql_engine *engine); /* may read the trace; SKEIN_OK or a status */
    size_t (*count)(const struct sql_engine *engine);
    void (*value)(sqlite3_context *to, const struct sql_engine *engine, size_t row, int field);
};

struct sql_table {
    const char *name;
    const struct sql_column *columns; /* name NULL at the end */
    const struct sql_list *list;      /* NULL: of events, and this counts: */
    uint32_t kinds;                   /* bit n: enum skein_row_kind n */
    enum sql_of of;
    enum sql_rows rows;
    const char *types[4]; /* names of its events' types, NULL-terminated; none: all */
};
#define SQL_COLUMNS_MAX    40
#define SQL_KIND_BIT(kind) (UINT32_C(1) << SKEIN_ROW_##kind)
#define SQL_KINDS_ALL      UINT32_C(0x1fe) /* BEGIN, too */
#define SQL_KINDS_GIVEN    (SQL_KINDS_ALL & ~SQL_KIND_BIT(BEGIN))

#define SQL_PROCESS_COLUMNS                                                                        \
    {"process", "TEXT", SQL_PROCESS, 0, NULL}, {"pid", "INTEGER", SQL_PID, 0, NULL},               \
        {"service", "TEXT", SQL_SERVICE, 0, NULL}, {"host", "TEXT", SQL_HOST, 0, NULL},            \
    {                                                                                              \
        "process_id", "INTEGER", SQL_PROCESS_ID, 0, NULL                                           \
    }
#define SQL_THREAD_COLUMNS                                                                         \
    {"thread", "TEXT", SQL_THREAD, 0, NULL}, {"tid", "INTEGER", SQL_TID, 0, NULL},                 \
        {"thread_id", "INTEGER", SQL_THREAD_ID, 0, NULL}, SQL_PROCESS_COLUMNS
/* Of what an event is, in tables whose rows are parts of events. */
#define SQL_EVENT_COLUMNS                                                                          \
    {"event_id", "INTEGER", SQL_ID, 0, NULL}, {"ts", "INTEGER", SQL_TS, 0, NULL},                  \
        {"dur", "INTEGER", SQL_DUR, 0, NULL}, {"kind", "TEXT", SQL_KIND, 0, NULL},                 \
    {                                                                                              \
        "name", "TEXT", SQL_NAME, 0, NULL                                                          \
    }
/* Where its type stands in the program, and what of its times is not as it was recorded. */
#define SQL_SOURCE_COLUMNS                                                                         \
    {"source_file", "TEXT", SQL_SOURCE_FILE, 0, NULL},                                             \
    {                                                                                              \
        "source_line", "INTEGER", SQL_SOURCE_LINE, 0, NULL                                         \
    }
#define SQL_TIMES_COLUMNS                                                                          \
    {"fixed_up", "INTEGER", SQL_FLAG, SKEIN_ROW_FIXED_UP, NULL},                                   \
        {"begin_clipped", "INTEGER", SQL_FLAG, SKEIN_ROW_BEGIN_CLIPPED, NULL},                     \
    {                                                                                              \
        "end_clipped", "INTEGER", SQL_FLAG, SKEIN_ROW_END_CLIPPED, NULL                            \
    }
#define SQL_COLUMNS_END                                                                            \
    {                                                                                              \
        NULL, NULL, SQL_ID, 0, NULL                                                                \
    }

/* By table family: tables_events.c, tables_sched.c, tables_stacks.c, tables_trace.c. */
extern const struct sql_table sql_event, sql_slice, sql_counter, sql_log, sql_args, sql_task,
    sql_sched, sql_thread_state, sql_stack, sql_frame, sql_sample, sql_process, sql_thread,
    sql_partition, sql_loss, sql_stats;
extern const struct sql_table *const sql_tables[]; /* NULL-terminated */

#endif
