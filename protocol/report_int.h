/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of REPORT share; for report*.c alone.
 */
#ifndef REPORT_INT_H
#define REPORT_INT_H

#include "control_body_int.h"
#include "report_clock.h"

cJSON *report_begin(uint64_t agent, const char *kind);

void report_add_clock(cJSON *root, const struct report_clock *clock);
struct report_clock report_read_clock(struct json_reader *r, const cJSON *json);

#endif
