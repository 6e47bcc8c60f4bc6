/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of stacks: which events have one, its frames, and samples of the CPU. Constants.
 */
#include "sql_int.h"

static const struct sql_column stack_columns[] = {{"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
                                                  {"frames", "INTEGER", SQL_PART, 0, NULL},
                                                  {"stack_end", "TEXT", SQL_PART, 1, NULL},
                                                  SQL_EVENT_COLUMNS,
                                                  SQL_THREAD_COLUMNS,
                                                  SQL_COLUMNS_END};
const struct sql_table sql_stack = {
    .name = "stack", .columns = stack_columns, .kinds = SQL_KINDS_GIVEN, .rows = SQL_ROWS_STACK};

static const struct sql_column frame_columns[] = {{"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
                                                  {"event_id", "INTEGER", SQL_ID, 0, NULL},
                                                  {"position", "INTEGER", SQL_PART, 0, NULL},
                                                  {"function", "TEXT", SQL_PART, 1, NULL},
                                                  {"file", "TEXT", SQL_PART, 2, NULL},
                                                  {"line", "INTEGER", SQL_PART, 4, NULL},
                                                  {"module", "TEXT", SQL_PART, 3, NULL},
                                                  {"module_offset", "INTEGER", SQL_PART, 6, NULL},
                                                  {"address", "INTEGER", SQL_PART, 5, NULL},
                                                  {"inlined", "INTEGER", SQL_PART, 7, NULL},
                                                  {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                  {"kind", "TEXT", SQL_KIND, 0, NULL},
                                                  {"name", "TEXT", SQL_NAME, 0, NULL},
                                                  SQL_THREAD_COLUMNS,
                                                  SQL_COLUMNS_END};
const struct sql_table sql_frame = {
    .name = "frame", .columns = frame_columns, .kinds = SQL_KINDS_GIVEN, .rows = SQL_ROWS_FRAMES};

static const struct sql_column sample_columns[] = {{"id", "INTEGER", SQL_ID, 0, NULL},
                                                   {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                   {"cpu", "INTEGER", SQL_ARG, 0, "cpu"},
                                                   {"weight", "INTEGER", SQL_ARG, 0, "weight"},
                                                   {"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
                                                   SQL_THREAD_COLUMNS,
                                                   SQL_COLUMNS_END};
const struct sql_table sql_sample = {.name = "sample",
                                     .columns = sample_columns,
                                     .kinds = SQL_KIND_BIT(INSTANT),
                                     .of = SQL_OF_EVIDENCE,
                                     .types = {"cpu.sample"}};
