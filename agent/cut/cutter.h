/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts a process's ring into partitions: one generation store, a safe copy of every committed
 * prefix, decoding of the private copy, packing. Entered by worker threads; calls for the same
 * process must not overlap (the caller serialises them). Never trusts a byte of the ring.
 */
#ifndef CUTTER_H
#define CUTTER_H

#include "buf.h"
#include "host_page.h"
#include "partition_writer.h"
#include "process.h"
#include "symbolizer.h"

/* How much of each chunk was taken already, so that the next cut brings only what came since. */
struct cut_marks;
int cut_marks_new(const struct process *p, struct cut_marks **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void cut_marks_free(struct cut_marks **marks);
/* Whether they were made for the process's ring. */
bool cut_marks_are_of(const struct cut_marks *marks, const struct process *p);

struct cut_request {
    struct process *process;
    /* The window, realtime. Records that end before it are left out. Records behind it come along
     * where a chunk of the window holds them. With marks, each later cut begins where the one
     * before ended. */
    uint64_t from_ns, to_ns;
    /* Updated on SKEIN_OK and SKEIN_NOT_FOUND; begun anew for another ring. NULL: there is one
     * partition, and what does not fit is lost (SIZE). */
    struct cut_marks *marks;
    uint64_t epoch; /* of this agent run */
    int64_t clock_offset_ns;
    const char *host;
    uint64_t max_bytes; /* ring bytes in a partition; 0 or more than 16 MiB: 16 MiB */
    /* Looks only: no generation ends, and the process's next sequence stays. Captures are cut as if
     * this cut had not been. */
    bool look;
    /* Tells again which ranges are open, also of threads that have written nothing since an earlier
     * cut by the marks: for a capture that does not list that cut. For example, a thread has been
     * in a range since 12, and captures are of [10,20] and [20,30]:
     *
     *     time    ---- 10 ---- 20 ---- 30 ---->
     *     thread        begins . . . . . .        writes no more
     *     cut 1        |========|                 for the first: it has the begin
     *     cut 2                 |=======|         for the second: it restates, else nothing there
     *                                             would say that the thread is in the range */
    bool restate;
    /* Of which times the result says how many records are earlier: rising, PARTITION_EDGES_MAX at
     * most. */
    const uint64_t *edges_ns;
    size_t edge_count;
    /* Names the addresses of its stacks, for names_ns at most; NULL: they stay raw. */
    struct symbolizer *symbolizer;
    uint64_t names_ns;
};

struct cut_gap {
    uint64_t from_ns, to_ns;
    uint8_t reason; /* enum partition_loss_reason */
};

/* What the steps of a cut took, one after the other. */
struct cut_times {
    uint64_t copy_ns;  /* looking at the ring, and copying what was chosen */
    uint64_t pack_ns;  /* records to columns and blocks */
    uint64_t names_ns; /* of the addresses of stacks */
    uint64_t end_ns;   /* the last block, and all in one piece */
};

struct cut_result {
    struct buf bytes; /* one whole partition */
    struct cut_times times;
    struct partition_key key;
    uint64_t from_ns, to_ns, events;
    uint64_t before[PARTITION_EDGES_MAX]; /* the request's edges: records that are earlier */
    uint64_t lost[8];                     /* by enum partition_loss_reason */
    struct cut_gap *gaps;
    size_t gap_count;
    bool more; /* the size limit was reached: cut again, with the same marks, for the rest */
};

/* Returns SKEIN_OK with one partition; SKEIN_NOT_FOUND when nothing new lies in the window
 * (result->gaps may say why); SKEIN_NO_MEMORY, SKEIN_IO. The caller calls cut_result_fini after any
 * result. */
int partition_cut(struct host_page_owner *host, const struct cut_request *request,
                  struct cut_result *result);
void cut_result_fini(struct cut_result *result);

/* When, at the latest, the last record or loss of a ring was. Nobody may have written to the ring
 * since end_ns. SKEIN_OK; SKEIN_NOT_FOUND: it had none; SKEIN_NO_MEMORY, SKEIN_IO. Threads as
 * partition_cut. */
int cut_last(struct host_page_owner *host, struct process *p, uint64_t end_ns, uint64_t *last_ns);

#endif
