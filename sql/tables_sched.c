/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what the scheduler's records say (docs/evidence-sched.md). Constants.
 */
#include "sched_types.h"
#include "sql_int.h"

static const struct sql_column sched_columns[] = {{"id", "INTEGER", SQL_ID, 0, NULL},
                                                  {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                  {"dur", "INTEGER", SQL_DUR, 0, NULL},
                                                  {"cpu", "INTEGER", SQL_ARG, 0, "cpu"},
                                                  {"cut", "TEXT", SQL_ARG, 0, "cut"},
                                                  SQL_THREAD_COLUMNS,
                                                  SQL_COLUMNS_END};
const struct sql_table sql_sched = {.name = "sched",
                                    .columns = sched_columns,
                                    .kinds = SQL_KIND_BIT(REGION),
                                    .of = SQL_OF_EVIDENCE,
                                    .types = {SCHED_NAME_RUN}};

static const struct sql_column state_columns[] = {
    {"id", "INTEGER", SQL_ID, 0, NULL},
    {"ts", "INTEGER", SQL_TS, 0, NULL},
    {"dur", "INTEGER", SQL_DUR, 0, NULL},
    {"state", "TEXT", SQL_STATE, 0, NULL},
    {"kernel_state", "TEXT", SQL_ARG, 0, "state"},
    {"cpu", "INTEGER", SQL_ARG, 0, "cpu"},
    {"why", "TEXT", SQL_ARG, 0, "why"},
    {"instead_tid", "INTEGER", SQL_ARG, 0, "instead_tid"},
    {"instead", "TEXT", SQL_ARG, 0, "instead"},
    {"instead_ns", "INTEGER", SQL_ARG, 0, "instead_ns"},
    {"waker_tid", "INTEGER", SQL_ARG, 0, "waker_tid"},
    {"waker", "TEXT", SQL_ARG, 0, "waker"},
    {"waker_cpu", "INTEGER", SQL_ARG, 0, "waker_cpu"},
    {"context", "TEXT", SQL_ARG, 0, "context"},
    {"cut", "TEXT", SQL_ARG, 0, "cut"},
    SQL_THREAD_COLUMNS,
    SQL_COLUMNS_END};
const struct sql_table sql_thread_state = {
    .name = "thread_state",
    .columns = state_columns,
    .kinds = SQL_KIND_BIT(REGION),
    .of = SQL_OF_EVIDENCE,
    .types = {SCHED_NAME_RUN, SCHED_NAME_RUNNABLE, SCHED_NAME_BLOCKED}};
