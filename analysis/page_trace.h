/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a trace: reads it once, into a summary and lanes, and writes what they say as a page
 * (page.h), with the findings of whoever has them. Memory: that of a cursor, of a summary, and
 * `lanes_bytes`. No I/O but by the trace. One owner, one thread.
 */
#ifndef PAGE_TRACE_H
#define PAGE_TRACE_H

#include "page.h"
#include "skein/trace.h"

/* A thread that a finding is about: these stand first, in their order. */
struct page_subject {
    uint32_t process; /* number of the trace */
    uint32_t tid;
    const char *why;
};

/* Texts and arrays are the caller's; those that are NULL or empty are left out. */
struct page_ask {
    const char *title, *verdict;
    bool incomplete; /* by the verdict; what the trace itself has lost is told in any case */
    const struct page_fact *facts; /* they stand before those of the trace */
    size_t fact_count;
    const struct page_finding *findings;
    size_t finding_count;
    const struct page_subject *subjects;
    size_t subject_count;
    const struct task_list *tasks;     /* as a report has them; NULL: none */
    uint64_t from_ns, to_ns;           /* the window that is drawn; 0: the trace's */
    uint64_t read_from_ns, read_to_ns; /* what is read, as a query has it: both 0: all */
    uint64_t at_ns;                    /* of the trigger; 0: none */
    const char *at;
    uint64_t records;   /* as the report counts them; 0: all that is read */
    size_t lanes_bytes; /* 0: PAGE_LANES_BYTES */
};
#define PAGE_LANES_BYTES ((size_t)128 << 20)

/* Appends the page. SKEIN_OK; SKEIN_NO_MEMORY: what has been appended is no page. */
int page_trace_put(struct skein_trace *trace, const struct page_ask *ask, struct buf *out);

#endif
