/* SPDX-License-Identifier: Apache-2.0
 *
 * What a browser's worker asks of the reader and of analysis/: handles, numbers, and answers in one
 * buffer. Built for wasm32 by build.sh, where each API function is an export, and natively for the test
 * that sets the two side by side (tests/unit/web). One thread; no I/O; bytes are the caller's memory
 * and stay where they are while a trace of them is open.
 *
 * Functions that answer return a status below 0, or a count, or SKEIN_OK; the answer is then api_answer()
 * of api_answer_bytes() bytes, until the next call of any function here. On failure it is a sentence, or
 * empty. Functions with `step` do bounded work: 1 where there is more, 0 at the end.
 * Times are ns since the trace's origin (api_trace_window), doubles; texts are hostile bytes of programs.
 */
#ifndef TRACE_API_H
#define TRACE_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __wasm__
#define API(name) __attribute__((export_name(#name)))
#else
#define API(name)
#endif

struct api_trace;
struct api_lanes;
struct api_search;
struct api_job;

API(api_memory_new) void *api_memory_new(size_t n); /* NULL: no memory */
API(api_memory_free) void api_memory_free(void *memory);
API(api_answer) const uint8_t *api_answer(void);
API(api_answer_bytes) size_t api_answer_bytes(void);

/* ---- a trace: trace_api.c ---- */

API(api_trace_new) struct api_trace *api_trace_new(void);
API(api_trace_free) void api_trace_free(struct api_trace *t); /* after all that was made of it */
/* As skein_trace_add_memory. */
API(api_trace_add)
int api_trace_add(struct api_trace *t, const void *bytes, size_t n, const char *name);
/* The window that times count from; clipped to it are lanes. Before anything is made of the trace. */
API(api_trace_window) int api_trace_window(struct api_trace *t, uint64_t from_ns, uint64_t to_ns);
/* {"from_ns","to_ns","processes":[…],"partitions":[…]}; absolute times are decimal text. */
API(api_trace_facts) int api_trace_facts(const struct api_trace *t);
/* {"types":[…],"threads":[…]} from these numbers on: what cursors have come upon. */
API(api_trace_names)
int api_trace_names(const struct api_trace *t, uint32_t first_type, uint32_t first_thread);
/* The words of a reason of lost records (F-32). */
API(api_loss_text) int api_loss_text(uint32_t reason);

/* Which rows: what touches from…to, of these processes (numbers) and threads (each the number of its
 * process, and its tid); none: of all. */
struct api_part {
    double from, to;
    const uint32_t *processes, *threads;
    uint32_t process_count, thread_count;
};

/* ---- lanes: lanes_api.c ---- */

/* NULL: no memory, or from…to is empty. most_bytes: of the lanes, 0: no bound. */
API(api_lanes_new)
struct api_lanes *api_lanes_new(struct api_trace *t, uint32_t process, double from, double to,
                                size_t most_bytes);
API(api_lanes_free) void api_lanes_free(struct api_lanes *l);
API(api_lanes_step) int api_lanes_step(struct api_lanes *l, uint32_t batches);
API(api_lanes_rows) double api_lanes_rows(const struct api_lanes *l);
/* {"lanes":[…],"totals":{…},"gaps":[…]}; of gaps those that the walk has found so far. */
API(api_lanes_list) int api_lanes_list(struct api_lanes *l);
/* Items of these lanes (numbers in the list) one behind the other; returns how many, N. Little-endian:
 * first u32[lanes + 1, padded to a multiple of 8 bytes], from f64[N], to f64[N], longest share least
 * most last f32[N] each, type u32[N], severity u8[N], row u8[N]. */
API(api_lanes_view)
int api_lanes_view(const struct api_lanes *l, const uint32_t *lanes, uint32_t count, double from,
                   double to, uint32_t pixels);

/* ---- rows: search_api.c ---- */

enum { API_BY_BEGIN = 0, API_BY_LENGTH = 1 }; /* the earliest first, the longest first */

/* Rows of the program, and samples of the CPU, that match all terms, a line each (search_terms.h), of
 * which the first `most` are kept in their order. NULL: no memory, or a line is no term: the answer is
 * a sentence. */
API(api_search_new)
struct api_search *api_search_new(struct api_trace *t, const char *terms, size_t n, double from,
                                  double to, uint32_t order, uint32_t most);
/* Before the first step: rows that begin after `bound` (by length: are shorter) are counted alone. */
API(api_search_bound) void api_search_bound(struct api_search *s, double bound);
API(api_search_free) void api_search_free(struct api_search *s);
API(api_search_step) int api_search_step(struct api_search *s, uint32_t batches);
API(api_search_total) double api_search_total(const struct api_search *s);
API(api_search_kept) uint32_t api_search_kept(const struct api_search *s);
/* After the last step. Rows that are kept, from `first` on, at most `count`; returns how many, N: begin
 * f64[N], length f64[N], process u32[N], thread u32[N], type u32[N], depth u32[N], kind u8[N]. */
API(api_search_rows) int api_search_rows(struct api_search *s, uint32_t first, uint32_t count);

/* ---- one event: details_api.c ---- */

/* The row of a process and tid (0: of the process) that fits best, as JSON: arguments, stack, what
 * encloses it and what is inside. SKEIN_NOT_FOUND. */
API(api_details)
int api_details(struct api_trace *t, uint32_t process, uint32_t tid, double begin, double length,
                uint32_t depth);

/* ---- what a stretch of time came to: jobs_api.c ---- */

enum { API_SUMMARY = 1, API_REPORT = 2 };

API(api_job_new)
struct api_job *api_job_new(struct api_trace *t, uint32_t what, const struct api_part *part);
API(api_job_free) void api_job_free(struct api_job *job);
API(api_job_step) int api_job_step(struct api_job *job, uint32_t batches);
/* At its end: the summary or report as JSON (docs/summary.md, docs/analysis.md). */
API(api_job_json) int api_job_json(struct api_job *job);
/* Two summaries, at their ends: docs/diff.md. */
API(api_jobs_diff) int api_jobs_diff(const struct api_job *before, const struct api_job *after);

#endif
