/* SPDX-License-Identifier: Apache-2.0
 *
 * skein report: the slowest tasks and where their time went, as text, made from the report's JSON. No
 * state; one thread.
 */
#ifndef REPORT_TASKS_H
#define REPORT_TASKS_H

#include <cjson/cJSON.h>

#include "buf.h"

/* Appends nothing where there is no task. */
void report_tasks_put(struct buf *out, const cJSON *report);

#endif
