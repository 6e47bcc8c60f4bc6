/* SPDX-License-Identifier: Apache-2.0
 *
 * Works out the answer to a task from traces that are read through a port. skein-analyst only, which
 * may die of it: what is read is hostile. One owner.
 */
#ifndef ANALYST_SERVE_H
#define ANALYST_SERVE_H

#include "analyst_wire.h"

/* Fills exactly n bytes of a trace from offset; SKEIN_OK or a status. */
struct analyst_port {
    int (*read)(void *context, uint32_t trace, uint64_t offset, void *out, size_t n);
    void *context;
};

/* Appends to `answer`. Statuses as analyst_run's; SKEIN_TOO_LARGE also where there is no memory. */
int analyst_answer(const struct analyst_task *task, const struct analyst_port *port,
                   struct buf *answer, char error[ANALYST_ERROR_BYTES]);

/* analyst_sql.c */
int analyst_sql_answer(const struct analyst_task *task, struct skein_trace *trace,
                       struct buf *answer, char error[ANALYST_ERROR_BYTES]);

#endif
