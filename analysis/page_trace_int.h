/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a trace's page: for page_trace*.c alone.
 */
#ifndef PAGE_TRACE_INT_H
#define PAGE_TRACE_INT_H

#include "page_trace.h"
#include "summary.h"

#define PAGE_TRACE_ROWS 300u /* of a table that are made ready; the page has room for fewer */

struct page_trace {
    struct skein_trace *trace;
    const struct page_ask *ask;
    struct summary *summary, *services; /* by process; by service */
    struct lanes *lanes;
    struct page page;
    struct page_fact *facts;
    struct page_region *regions;
    struct page_bucket *buckets;
    struct page_thread *threads;
    uint32_t *numbers;   /* of threads' lanes */
    uint32_t *processes; /* the trace's number of each of the summary */
    size_t process_count;
    const char **missing;
    size_t missing_cap;
    struct buf cpu, waits;
    char **texts; /* made here */
    size_t text_count, text_cap;
};

/* Keeps what `made` holds as a text, and empties it. "" and a status where there is no memory. */
const char *page_trace_text(struct page_trace *t, struct buf *made, int *status);

/* Each fills its part of the page. SKEIN_OK, SKEIN_NO_MEMORY. */
int page_trace_regions(struct page_trace *t);
int page_trace_threads(struct page_trace *t);
int page_trace_stacks(struct page_trace *t);
int page_trace_facts(struct page_trace *t);
int page_trace_missing(struct page_trace *t);

#endif
