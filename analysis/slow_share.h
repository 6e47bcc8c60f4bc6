/* SPDX-License-Identifier: Apache-2.0
 *
 * What the slow ones of a region have more often than the rest: which values of its arguments, which
 * threads, processes and hosts, by how much, and how unlikely that is by chance (docs/diff.md). One pass
 * over a cursor's batches, when it is known how long is slow. Memory: SLOW_VALUES values of each of at
 * most SLOW_ATTRIBUTES; what comes beyond is counted. No I/O. One owner, one thread.
 */
#ifndef SLOW_SHARE_H
#define SLOW_SHARE_H

#include "buf.h"
#include "skein/trace.h"

#define SLOW_VALUES     4096u /* of an attribute: the first that are met */
#define SLOW_ATTRIBUTES 16u   /* thread, process, host, and arguments by name */
#define SLOW_TEXT       64u   /* bytes of a value */
#define SLOW_LEAST      8u    /* fewer slow ones tell nothing */
#define SLOW_LIFT       1.5   /* times as often as among the rest, else it is not told */

struct slow_value {
    const char *attribute;         /* "thread" */
    char value[SLOW_TEXT];         /* "worker-3" */
    uint64_t slow, rest;           /* how many have it */
    double slow_share, rest_share; /* of all slow ones, of all others */
    double lift;                   /* the one share by the other; where that is 0, of half of one */
    double q;                      /* false discovery rate */
};

struct slow_list {
    uint64_t slow, rest;       /* regions */
    struct slow_value *values; /* sure ones, by the difference of their shares */
    size_t count, tests;
    uint64_t left_out; /* regions one of whose values had no room */
};

struct slow_share;

/* Of the regions of that name those that took longer than slow_ns are slow. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int slow_share_new(const char *name, uint64_t slow_ns, struct slow_share **out);
void slow_share_free(struct slow_share **share);

/* The batch that a cursor with all columns gave last. SKEIN_OK, SKEIN_NO_MEMORY. */
int slow_share_take(struct slow_share *share, const struct skein_trace *trace,
                    const struct skein_batch *batch);
/* After the last batch, once; *list is the share's. SKEIN_OK, SKEIN_NO_MEMORY. */
int slow_share_end(struct slow_share *share, const struct slow_list **list);

/* As one JSON object (docs/diff.md). */
void slow_share_json(const struct slow_list *list, const char *name, uint64_t slow_ns,
                     struct buf *out);

#endif
