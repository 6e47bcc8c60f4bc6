/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what programs record: all events, and regions, counters, logs, arguments and tasks of
 * them. Constants. docs/sql.md says what each column holds.
 */
#include "sql_int.h"

static const struct sql_column event_columns[] = {
    {"id", "INTEGER", SQL_ID, 0, NULL},
    {"ts", "INTEGER", SQL_TS, 0, NULL},
    {"dur", "INTEGER", SQL_DUR, 0, NULL},
    {"kind", "TEXT", SQL_KIND, 0, NULL},
    {"name", "TEXT", SQL_NAME, 0, NULL},
    {"event_group", "TEXT", SQL_GROUP, 0, NULL},
    {"depth", "INTEGER", SQL_DEPTH, 0, NULL},
    {"parent_id", "INTEGER", SQL_PARENT, 0, NULL},
    {"args", "TEXT", SQL_ARGS, 0, NULL},
    {"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
    SQL_THREAD_COLUMNS,
    SQL_SOURCE_COLUMNS,
    {"evidence", "INTEGER", SQL_FLAG, SKEIN_ROW_EVIDENCE, NULL},
    SQL_TIMES_COLUMNS,
    SQL_COLUMNS_END};
const struct sql_table sql_event = {
    .name = "event", .columns = event_columns, .kinds = SQL_KINDS_GIVEN};

static const struct sql_column slice_columns[] = {{"id", "INTEGER", SQL_ID, 0, NULL},
                                                  {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                  {"dur", "INTEGER", SQL_DUR, 0, NULL},
                                                  {"name", "TEXT", SQL_NAME, 0, NULL},
                                                  {"event_group", "TEXT", SQL_GROUP, 0, NULL},
                                                  {"depth", "INTEGER", SQL_DEPTH, 0, NULL},
                                                  {"parent_id", "INTEGER", SQL_PARENT, 0, NULL},
                                                  {"self_dur", "INTEGER", SQL_SELF, 0, NULL},
                                                  {"is_open", "INTEGER", SQL_IS_OPEN, 0, NULL},
                                                  {"detail", "INTEGER", SQL_DETAIL, 0, NULL},
                                                  {"args", "TEXT", SQL_ARGS, 0, NULL},
                                                  {"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
                                                  SQL_THREAD_COLUMNS,
                                                  SQL_SOURCE_COLUMNS,
                                                  SQL_TIMES_COLUMNS,
                                                  SQL_COLUMNS_END};
const struct sql_table sql_slice = {.name = "slice",
                                    .columns = slice_columns,
                                    .kinds = SQL_KIND_BIT(REGION) | SQL_KIND_BIT(OPEN),
                                    .of = SQL_OF_RING};

static const struct sql_column counter_columns[] = {
    {"id", "INTEGER", SQL_ID, 0, NULL},
    {"ts", "INTEGER", SQL_TS, 0, NULL},
    {"name", "TEXT", SQL_NAME, 0, NULL},
    {"value", "", SQL_ARG_AT, 0, NULL},
    {"unit", "TEXT", SQL_UNIT_AT, 0, NULL},
    SQL_THREAD_COLUMNS,
    {"evidence", "INTEGER", SQL_FLAG, SKEIN_ROW_EVIDENCE, NULL},
    SQL_COLUMNS_END};
const struct sql_table sql_counter = {
    .name = "counter", .columns = counter_columns, .kinds = SQL_KIND_BIT(COUNTER)};

static const struct sql_column log_columns[] = {{"id", "INTEGER", SQL_ID, 0, NULL},
                                                {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                {"level", "INTEGER", SQL_ARG_AT, 0, NULL},
                                                {"severity", "TEXT", SQL_LEVEL, 0, NULL},
                                                {"message", "TEXT", SQL_ARG_AT, 1, NULL},
                                                {"name", "TEXT", SQL_NAME, 0, NULL},
                                                {"stack_id", "INTEGER", SQL_STACK_ID, 0, NULL},
                                                SQL_THREAD_COLUMNS,
                                                SQL_COLUMNS_END};
const struct sql_table sql_log = {
    .name = "log", .columns = log_columns, .kinds = SQL_KIND_BIT(LOG)};

static const struct sql_column args_columns[] = {{"event_id", "INTEGER", SQL_ID, 0, NULL},
                                                 {"position", "INTEGER", SQL_PART, 0, NULL},
                                                 {"name", "TEXT", SQL_PART, 1, NULL},
                                                 {"type", "TEXT", SQL_PART, 2, NULL},
                                                 {"unit", "TEXT", SQL_PART, 3, NULL},
                                                 {"value", "", SQL_PART, 4, NULL},
                                                 {"number", "INTEGER", SQL_PART, 5, NULL},
                                                 {"cut", "INTEGER", SQL_PART, 6, NULL},
                                                 {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                 {"event_name", "TEXT", SQL_NAME, 0, NULL},
                                                 SQL_THREAD_COLUMNS,
                                                 SQL_COLUMNS_END};
const struct sql_table sql_args = {
    .name = "args", .columns = args_columns, .kinds = SQL_KINDS_GIVEN, .rows = SQL_ROWS_ARGS};

static const struct sql_column task_columns[] = {{"task", "", SQL_PART, 0, NULL},
                                                 {"argument", "TEXT", SQL_PART, 1, NULL},
                                                 {"number", "INTEGER", SQL_PART, 2, NULL},
                                                 SQL_EVENT_COLUMNS,
                                                 SQL_THREAD_COLUMNS,
                                                 SQL_COLUMNS_END};
const struct sql_table sql_task = {.name = "task",
                                   .columns = task_columns,
                                   .kinds = SQL_KINDS_GIVEN,
                                   .of = SQL_OF_RING,
                                   .rows = SQL_ROWS_TASKS};
