/* SPDX-License-Identifier: Apache-2.0
 * What the tests of reports share: a report of a made trace. */
#ifndef REPORT_READING_H
#define REPORT_READING_H

#include <check.h>
#include <stdio.h>

#include "incident_make.h"
#include "support.h"
#include "trace_report.h"

struct reading {
    struct skein_trace *trace;
    struct skein_cursor *cursor;
    struct trace_report_builder *builder;
    const struct trace_report *report;
};

static inline void reading_open(struct reading *r, const struct buf *bytes,
                                const struct trace_report_limits *limits)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_batch batch;
    const struct skein_query query = {.size = sizeof query};
    int next;
    *r = (struct reading){.trace = NULL};
    ck_assert_int_eq(skein_trace_new(&r->trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_memory(r->trace, bytes->data, bytes->len, "made", error) ==
                      SKEIN_OK,
                  "%s", error);
    ck_assert_int_eq(skein_cursor_new(r->trace, &query, &r->cursor), SKEIN_OK);
    ck_assert_int_eq(trace_report_new(limits, &r->builder), SKEIN_OK);
    while ((next = skein_cursor_next(r->cursor, &batch)) > 0)
        ck_assert_int_eq(trace_report_add(r->builder, r->trace, r->cursor, &batch), SKEIN_OK);
    ck_assert_int_eq(next, 0);
    ck_assert_int_eq(trace_report_end(r->builder, r->trace, r->cursor, &r->report), SKEIN_OK);
}

static inline void reading_close(struct reading *r)
{
    trace_report_free(&r->builder);
    skein_cursor_free(&r->cursor);
    skein_trace_free(&r->trace);
}

static inline void findings_print(const struct trace_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++)
        printf("  %-7s %-16s %8.2f  %s\n", report_severity_text(report->findings[i].severity),
               report->findings[i].rule, report->findings[i].score, report->findings[i].sentence);
}

#endif
