/* SPDX-License-Identifier: Apache-2.0
 *
 * What rows are searched for: terms that must all hold. Each is a line of
 *
 *     [!] field TAB operator TAB value          "!" : must not hold
 *
 *   name, thread, host, service, kind    : contains, = is; without regard to case of ASCII
 *   process, tid, group, depth           = > < >= <= a number (process: of the trace)
 *   dur                                  the same, ns
 *   arg/NAME                             the same as a number (whole ones of 64 bits, also 0x7f, exactly);
 *                                        : and = as a text; a number's value is
 *                                        `number/ns` for a time, which the argument's unit then scales
 *
 * web/src/trace/search.ts writes them; every byte is checked all the same. One owner, one thread.
 */
#ifndef SEARCH_TERMS_H
#define SEARCH_TERMS_H

#include <stdbool.h>

#include "skein/trace.h"

struct search_terms;

/* SKEIN_OK; SKEIN_INVALID and a sentence; SKEIN_NO_MEMORY. */
int search_terms_new(const char *lines, size_t n, const struct skein_trace *trace,
                     struct search_terms **out, char error[SKEIN_TRACE_ERROR_BYTES]);
void search_terms_free(struct search_terms **terms);

/* Of a query: context is the terms. */
bool search_terms_process(void *terms, const struct skein_process *process);
bool search_terms_thread(void *terms, const struct skein_thread *thread);
bool search_terms_type(void *terms, const struct skein_event_type *type);

bool search_terms_need_type(const struct search_terms *terms);
bool search_terms_need_thread(const struct search_terms *terms);
bool search_terms_need_args(const struct search_terms *terms);
/* The rest, of a row whose process, thread and type were asked for. */
bool search_terms_row(const struct search_terms *terms, const struct skein_batch *batch,
                      uint32_t i);

#endif
