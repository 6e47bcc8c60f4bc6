/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as JSON, for `skein report -o json` and whoever serves one (docs/analysis.md). No state;
 * any thread.
 */
#ifndef TRACE_REPORT_JSON_H
#define TRACE_REPORT_JSON_H

#include <cjson/cJSON.h>

#include "trace_report.h"

#define TRACE_REPORT_VERSION 2 /* a member that goes or means something else makes another one */

/* Names are those of `trace`, which the report is of. NULL: no memory; members for which there was
 * none are missing, as cJSON has it. The caller frees. */
cJSON *trace_report_json(const struct trace_report *report, const struct skein_trace *trace);

#endif
