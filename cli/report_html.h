/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as one HTML page (analysis/page.h) in a file. One thread.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report_verdict.h"
#include "trace_report.h"

/* Reads the trace once more, for the page's picture and tables, in the window of the report, and
 * writes the page to path, which is there whole or not at all ("-": standard output), with the
 * verdicts of its sources. CLI_OK, or CLI_FAILED after telling why. */
int report_html_write(struct skein_trace *trace, const struct trace_report *report,
                      const struct report_sources *sources, const char *path);

#endif
