/* SPDX-License-Identifier: Apache-2.0
 *
 * What sampled time came to: a row for each service and for each of its names, in a bucket of time.
 * Numbers that add up, and how long regions lasted; so rows merge, and become bytes and again rows.
 * A set of rows, made of a summary, sorted and bounded. One owner; no I/O.
 */
#ifndef SERIES_ROW_H
#define SERIES_ROW_H

#include "histogram.h"
#include "summary.h"

#define SERIES_STEP_S     600u  /* of the fine buckets */
#define SERIES_HOUR_S     3600u /* of the others */
#define SERIES_NAMES      200u  /* of one service in one bucket: the rest is in the others */
#define SERIES_NAME_BYTES 200u  /* longer ones are cut */
#define SERIES_OTHERS     SUMMARY_OTHERS

/* Of a name: count to merged. Of a service, whose name is "": all but count to merged; regions and
 * instants are counts of all its names. */
#define SERIES_NUMBER_LIST(X)                                                                      \
    X(COUNT) /* that ended */                                                                      \
    X(TOTAL_NS)                                                                                    \
    X(SELF_NS)                                                                                     \
    X(OPEN)      /* in progress at the end of a sample */                                          \
    X(CLIPPED)   /* of the count: longer than known */                                             \
    X(MERGED)    /* names that are in this row beside the one it is named after */                 \
    X(SEEN_NS)   /* of processes' time */                                                          \
    X(FLEET_NS)  /* of the time of all its processes that were known, which samples are of */      \
    X(PROCESSES) /* samples of one process each */                                                 \
    X(EVENTS)                                                                                      \
    X(REGIONS)                                                                                     \
    X(ERRORS) /* log lines of the level error */                                                   \
    X(WAIT_NET_NS)                                                                                 \
    X(WAIT_IO_NS)                                                                                  \
    X(WAIT_LOCK_NS)                                                                                \
    X(WAIT_THREAD_NS)                                                                              \
    X(WAIT_SLEEP_NS)                                                                               \
    X(IDLE_NS)    /* waits for whatever comes; in none of the others */                            \
    X(SAMPLED_NS) /* on a CPU, by samples */                                                       \
    X(SAMPLES)                                                                                     \
    X(WINDOW_NS) /* on a CPU, by cpu.window; of ROOM_NS that its host had */                       \
    X(ROOM_NS)

enum series_number {
#define X(name) SERIES_##name,
    SERIES_NUMBER_LIST(X)
#undef X
        SERIES_NUMBERS
};

struct series_row {
    uint64_t at_s; /* the bucket's begin, since 1970 */
    char *service, *name;
    uint32_t group; /* as number in summary_rows.h; of a service 0 */
    uint64_t n[SERIES_NUMBERS];
    struct histogram lasted; /* without examples */
};

/* All-zero is an empty set. */
struct series_set {
    struct series_row *rows;
    size_t count, cap;
};
void series_set_fini(struct series_set *set);

/* A new row at the end, all zero but for its key; texts are copied, cut, and made UTF-8. NULL: no
 * memory. */
struct series_row *series_set_add(struct series_set *set, uint64_t at_s, const char *service,
                                  const char *name, uint32_t group);

/* Adds what a summary has of each process, which belongs to the bucket of `step_s` in which its last
 * event was; one whose time is none between from_ns and to_ns to that of from_ns. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int series_set_take(struct series_set *set, const struct summary *summary, uint32_t step_s,
                    uint64_t from_ns, uint64_t to_ns);

/* Sorts by bucket, service, group and name; equal ones become one; of each service in a bucket at most
 * `names` names are kept (0: all), those with most time and then most often, beside its others.
 * SKEIN_OK, SKEIN_NO_MEMORY: only series_set_fini may follow. */
int series_set_settle(struct series_set *set, size_t names);

int series_row_compare(const struct series_row *a, const struct series_row *b);
/* Numbers and histogram. SKEIN_OK, SKEIN_NO_MEMORY. */
int series_row_merge(struct series_row *row, const struct series_row *from);

/* Numbers and histogram as bytes; numbers of a later collector are passed over, those of an earlier
 * one are 0 where it had none. _get: SKEIN_OK; SKEIN_CORRUPT, SKEIN_TRUNCATED, SKEIN_NO_MEMORY. */
void series_row_put(const struct series_row *row, struct buf *out);
int series_row_get(const void *bytes, size_t n, struct series_row *row);

/* a + b, at most UINT64_MAX. */
static inline uint64_t series_sum(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

#endif
