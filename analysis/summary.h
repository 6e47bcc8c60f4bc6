/* SPDX-License-Identifier: Apache-2.0
 *
 * A compact summary of a trace, made in one pass: what each process, thread and name came to
 * (docs/summary.md). Tables of rows whose texts are numbers (summary_text). Memory is bounded: a table
 * has at most so many rows as its owner allows, those with least are merged into one "(others)", which
 * says how many they were. Summaries merge: parts of a trace, or traces of many processes. One
 * owner, one thread; no I/O but by the trace that is read.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "skein/trace.h"
#include "summary_rows.h"

#define SUMMARY_VERSION 1
#define SUMMARY_ROWS    4096u /* of each table, where nobody says how many */

struct summary;

/* rows: at most so many of each table; 0: SUMMARY_ROWS. SKEIN_OK, SKEIN_NO_MEMORY. */
int summary_new(size_t rows, struct summary **out);
void summary_free(struct summary **summary);

/* Reads what the query asks for, all columns but of its own choice. Regions count where they ended
 * from query->from_ns on and before to_ns, whole; so the summaries of parts merge into that of the
 * whole. query NULL: all. SKEIN_OK; SKEIN_NO_MEMORY: only summary_free may follow. */
int summary_read(struct summary *summary, struct skein_trace *trace,
                 const struct skein_query *query);

/* The same for who walks a cursor anyway (columns: SUMMARY_COLUMNS, kinds: all but BEGIN, and the rest
 * of the cursor's query, which lasts as long as the feed): a feed of a summary takes the batches of
 * one trace; _end takes what the cursor knows at its end (NULL: something failed), and frees. */
#define SUMMARY_COLUMNS SKEIN_COLUMN_ALL
struct summary_feed;
int summary_feed_new(struct summary *summary, const struct skein_trace *trace,
                     const struct skein_query *query, struct summary_feed **out);
int summary_feed_take(struct summary_feed *feed, struct skein_cursor *cursor,
                      const struct skein_batch *batch);
int summary_feed_end(struct summary_feed **feed, const struct skein_cursor *cursor);

/* Adds all rows of `from`. Of a host, counters and neighbours that both have count twice, or once
 * with the most. SKEIN_OK; SKEIN_NO_MEMORY: only summary_free may follow. */
int summary_merge(struct summary *summary, const struct summary *from);

/* Puts rows in their order (the weightiest first) and merges those beyond the limit. Before rows are
 * looked at or put. SKEIN_OK, SKEIN_NO_MEMORY (nothing is changed). */
int summary_sort(struct summary *summary);

/* size_t summary_names(const struct summary *, const struct summary_name **rows): how many; until the
 * summary changes. */
#define X(table, singular, plural)                                                                 \
    size_t summary_##plural(const struct summary *summary, const struct summary_##singular **rows);
SUMMARY_TABLE_LIST(X)
#undef X
const char *summary_text(const struct summary *summary, uint32_t text); /* "" for SUMMARY_NONE */
void summary_bounds(const struct summary *summary, uint64_t *from_ns, uint64_t *to_ns);

/* What each service came to: its processes merged into one, whose `text` is the service; without
 * threads and calls. SKEIN_OK, SKEIN_NO_MEMORY; *out is the caller's, and sorted. */
int summary_by_service(const struct summary *summary, struct summary **out);
/* The same of all processes together: one, whose `text` is "". */
int summary_as_one(const struct summary *summary, struct summary **out);

/* Bytes of version SUMMARY_VERSION (docs/summary.md); equal summaries have equal bytes. _get: what is
 * given back is sorted. SKEIN_OK; SKEIN_CORRUPT, SKEIN_TRUNCATED; SKEIN_VERSION; SKEIN_TOO_LARGE: a
 * table has more than `rows`; SKEIN_NO_MEMORY. */
int summary_bytes_put(const struct summary *summary, struct buf *out);
int summary_bytes_get(const void *bytes, size_t n, size_t rows, struct summary **out);

/* As one JSON object (docs/summary.md). Names of rows stand for their numbers. */
void summary_json(const struct summary *summary, struct buf *out);

#endif
