/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as one HTML page (analysis/page.h) in a file. One thread.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "trace_report.h"

/* Reads the trace once more, for the page's picture and tables, in the window of the report, and
 * writes the page to path, which is there whole or not at all. title: what was read. CLI_OK, or
 * CLI_FAILED after telling why. */
int report_html_write(struct skein_trace *trace, const struct trace_report *report,
                      const char *title, const char *path);

#endif
