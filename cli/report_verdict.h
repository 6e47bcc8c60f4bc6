/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector knows of captures that are reported, and their files do not: whether all is there
 * that was asked for, and each gap with its bounds. One thread.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "cli_subject.h"

/* What a report is of; files among them have no verdict. */
struct report_sources {
    const struct trace_subject *subjects;
    int count;
    const char *title;       /* of a page */
    uint64_t from_ns, to_ns; /* of these what is asked for; 0: all */
};

/* Appends a line for each capture, and below it one for each of its gaps. */
void verdict_lines_put(struct buf *out, const struct report_sources *sources);

/* Appends a line for each capture with its page in the console. */
void verdict_links_put(struct buf *out, const struct report_sources *sources);

/* Appends the verdicts as one sentence, not made safe; true where one is no good one. */
bool verdict_sentence_put(struct buf *out, const struct report_sources *sources);

/* Adds "captures" to a report where there are some: "capture", "url", "verdict" and "gaps" of
 * each. SKEIN_OK, SKEIN_NO_MEMORY. */
int verdict_json_add(cJSON *report, const struct report_sources *sources);

#endif
